//! The constants with which formulas come closest to what was measured.

use siskin::diagnostic::Result;
use siskin::synth::{Constant, Machine, constants};

use super::observe::Observation;

/// By how much a constant that differs from its default must pay for that: a few kernels tell little of it.
const PRIOR: f64 = 0.1;

/// What is measured is kept in so many digits.
const DIGITS: usize = 3;

/// The constants that some kernel depends on.
pub fn fitted(observations: &[Observation]) -> Result<Machine> {
    let mut named: Vec<&str> = Vec::new();
    for term in observations.iter().flat_map(|o| &o.terms) {
        named.extend(term.formula.names());
    }
    let all = constants()?.iter().filter(|c| named.contains(&c.name.as_str()));
    let mut own: Vec<(&Constant, f64)> = all.map(|constant| (constant, 0.0)).collect();
    let mut least = distance(observations, &own);
    // Steps in logarithms: first by half, then by less and less.
    let mut step = 0.5_f64;
    while step > 0.01 {
        let before = least;
        for k in 0..own.len() {
            for change in [step, -step] {
                let kept = own[k].1;
                own[k].1 += change;
                let admitted = own[k].0.admits(value(own[k]));
                let found = distance(observations, &own);
                match admitted && found < least {
                    true => {
                        least = found;
                        break;
                    }
                    false => own[k].1 = kept,
                }
            }
        }
        if least >= before {
            step /= 1.6;
        }
    }
    Ok(machine(&own))
}

fn value((constant, logarithm): (&Constant, f64)) -> f64 {
    constant.default * logarithm.exp()
}

fn machine(own: &[(&Constant, f64)]) -> Machine {
    own.iter()
        .fold(Machine::default(), |machine, one| machine.with(&one.0.name, rounded(value(*one))))
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// How far times are from what is expected, by their ratios; kernels that no formula describes count less.
fn distance(observations: &[Observation], own: &[(&Constant, f64)]) -> f64 {
    let machine =
        own.iter().fold(Machine::default(), |machine, one| machine.with(&one.0.name, value(*one)));
    let ratios = observations.iter().map(|o| (o.time.max(1.0) / o.expected(&machine)).ln());
    let far: f64 = ratios.map(|r| (r * r + 0.01).sqrt()).sum();
    far + PRIOR * own.iter().map(|(_, logarithm)| logarithm * logarithm).sum::<f64>()
}

/// The factor between a time and what is expected that half of all kernels exceed.
pub fn typical_factor(observations: &[Observation], machine: &Machine) -> f64 {
    let mut factors: Vec<f64> =
        observations.iter().map(|o| (o.time.max(1.0) / o.expected(machine)).ln().abs()).collect();
    factors.sort_by(f64::total_cmp);
    factors.get(factors.len() / 2).copied().unwrap_or(0.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use siskin::kernel::Term;
    use siskin::synth::CostFormula;

    /// Kernels whose times are those of a machine.
    fn kernels(text: &str, truth: &Machine) -> Vec<Observation> {
        let names: Vec<&str> = constants().unwrap().iter().map(|c| c.name.as_str()).collect();
        let known: Vec<&str> = names.iter().copied().chain(["length"]).collect();
        let formula = CostFormula::parse(text, &known).unwrap();
        let kernel = |length: f64| {
            let terms = vec![Term {
                label: String::new(),
                formula: formula.clone(),
                memory: None,
                quantities: vec![("length", length)],
            }];
            let mut out = Observation {
                statement: String::new(),
                strategy: String::new(),
                data: String::new(),
                time: 0.0,
                terms,
            };
            out.time = out.expected(truth);
            out
        };
        [1e3, 1e4, 1e5, 1e6, 1e7].map(kernel).into()
    }

    #[test]
    fn constants_are_found_again_from_times() {
        let all = constants().unwrap();
        let (time, size) = (&all[0], all.iter().find(|c| c.unit == "bytes").unwrap());
        let truth = Machine::default()
            .with(&time.name, 2.5 * time.default)
            .with(&size.name, 0.5 * size.default);
        let formula =
            format!("1e3 + length * {} * (1 + 9 * length / (length + {}))", time.name, size.name);
        let observations = kernels(&formula, &truth);
        let found = fitted(&observations).unwrap();
        for constant in [time, size] {
            let ratio = found.value(&constant.name).unwrap() / truth.value(&constant.name).unwrap();
            assert!((0.8..1.25).contains(&ratio), "{}: {ratio}", constant.name);
        }
        assert_eq!(found.measured().count(), 2, "what no formula names is not measured");
        assert!(typical_factor(&observations, &found) < 1.1);
        assert!(typical_factor(&observations, &Machine::default()) > 1.5);
    }
}
