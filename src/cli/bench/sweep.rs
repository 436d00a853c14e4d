//! `--sweep x.density=1e-4..0.5`: a tensor that is made up, at densities whose logarithms are evenly spaced.

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::program::Program;

use super::super::generated::{Family, Generated};
use super::super::options::wrong;
use super::super::tensor_argument::{FileArgument, Place, named};
use super::super::tensors::TensorOptions;

/// More are a slip.
const MOST: usize = 1000;

/// A tensor, and its densities.
#[derive(Debug)]
pub struct Sweep {
    text: String,
    pub tensor: String,
    pub densities: Vec<f64>,
}

impl Sweep {
    /// # Errors
    /// [`Code::Usage`].
    pub fn parse(text: &str, points: usize) -> Result<Sweep> {
        if !(2..=MOST).contains(&points) {
            let what = format!("`--sweep-points {points}`");
            return Err(Diagnostic::new(Code::Usage, what)
                .help(format!("a sweep has from 2 to {MOST} points")));
        }
        let example = |tensor: &str| format!("e.g. `--sweep {tensor}.density=1e-4..0.5`");
        let refused = |at: usize, what: String| wrong("--sweep", text, at, what).help(example("x"));
        let Some((what, range)) = text.split_once('=') else {
            return Err(refused(0, "a sweep is written NAME.density=FROM..TO".to_string()));
        };
        let Some((tensor, property)) = what.split_once('.').filter(|(t, _)| !t.trim().is_empty())
        else {
            return Err(refused(0, format!("`{what}` does not say what changes")));
        };
        if property.trim() != "density" {
            let what = format!("`{}` is nothing that can be swept", property.trim());
            return Err(wrong("--sweep", text, tensor.len() + 1, what)
                .help(format!("the density is, {}", example(tensor.trim()))));
        }
        let at = what.len() + 1;
        let Some((from, to)) = range.split_once("..") else {
            return Err(refused(at, format!("`{range}` is no range")));
        };
        let density = |at: usize, part: &str| match part.trim().parse::<f64>() {
            Ok(d) if d > 0.0 && d <= 1.0 => Ok(d),
            _ => Err(refused(at, format!("`{}` is no density above 0 and at most 1", part.trim()))),
        };
        let least = density(at, from)?;
        let most = density(at + from.len() + 2, to)?;
        if least >= most {
            return Err(refused(at, format!("{least} is not below {most}")));
        }
        let last = points - 1;
        let between = |k: usize| match k {
            0 => least,
            k if k == last => most,
            k => rounded(least * (most / least).powf(k as f64 / last as f64)),
        };
        let mut densities: Vec<f64> = (0..points).map(between).collect();
        densities.dedup();
        Ok(Sweep { text: text.to_string(), tensor: tensor.trim().to_string(), densities })
    }

    /// The tensors with this one at a density; it is made up anywhere if nothing is said of it.
    ///
    /// # Errors
    /// [`Code::Usage`] if the statement has no such tensor, or it has no density that could change.
    pub fn at(
        &self,
        density: f64,
        given: &TensorOptions,
        program: &Program,
    ) -> Result<TensorOptions> {
        let known: Vec<String> = program.tensors().keys().map(ToString::to_string).collect();
        let name = &self.tensor;
        if !known.contains(name) {
            let what = format!("the expression has no tensor `{name}`");
            return Err(wrong("--sweep", &self.text, 0, what)
                .help(format!("its tensors are {}", known.join(", "))));
        }
        let mut out = given.clone();
        let mut found = false;
        for text in &mut out.tensors {
            let (other, rest) = named("-t", text, "FILE[:LAYOUT]")?;
            if other != name {
                continue;
            }
            let file = FileArgument::input(rest)?;
            let family = match file.place {
                Place::Generated(Generated::Random(family)) => family.with_density(density),
                _ => None,
            };
            let Some(family) = family else {
                let what = format!("`{}` has no density that could change", file.name);
                return Err(Diagnostic::new(Code::Usage, what)
                    .at(0..text.len(), "this tensor")
                    .within("-t", text)
                    .help(format!("leave it out, or write `-t {name}=random:0.01[:LAYOUT]`")));
            };
            *text = of_family(name, family, file.layout.as_deref());
            found = true;
        }
        if !found {
            out.tensors.push(of_family(name, Family::Uniform(density), None));
        }
        Ok(out)
    }
}

fn of_family(name: &str, family: Family, layout: Option<&str>) -> String {
    let layout = layout.map_or(String::new(), |layout| format!(":{layout}"));
    format!("{name}=random:{family}{layout}")
}

/// To four digits, which are enough to say which point it is.
fn rounded(density: f64) -> f64 {
    format!("{density:.3e}").parse().unwrap_or(density)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_are_evenly_spaced_by_their_logarithms() {
        let sweep = Sweep::parse("x.density=1e-4..1e-1", 4).unwrap();
        assert_eq!((sweep.tensor.as_str(), sweep.densities), ("x", vec![1e-4, 1e-3, 1e-2, 1e-1]));
        assert_eq!(Sweep::parse("x.density=0.1..0.4", 3).unwrap().densities, [0.1, 0.2, 0.4]);
    }

    #[test]
    fn wrong_sweeps_are_refused_with_their_place() {
        for (text, at) in [
            ("x", 0),
            ("x=1..2", 0),
            (".density=0.1..0.2", 0),
            ("x.size=1..2", 2),
            ("x.density=0.1", 10),
            ("x.density=0.2..0.1", 10),
            ("x.density=0..0.1", 10),
            ("x.density=0.1..2", 15),
            ("x.density=0.1..nan", 15),
        ] {
            let e = Sweep::parse(text, 8).unwrap_err();
            assert_eq!((e.code, e.span.unwrap().0.start), (Code::Usage, at), "{text}");
        }
        assert!(Sweep::parse("x.density=0.1..0.2", 1).is_err());
    }

    #[test]
    fn the_family_and_the_layout_of_the_tensor_stay() {
        let program = Program::parse("y[i] += A[i,j] * x[j]").unwrap();
        let sweep = Sweep::parse("A.density=0.1..0.2", 2).unwrap();
        let given = |texts: &[&str]| TensorOptions {
            tensors: texts.iter().map(ToString::to_string).collect(),
            formats: Vec::new(),
            seed: 0,
            read: Default::default(),
        };
        let at = |texts: &[&str]| sweep.at(0.2, &given(texts), &program).map(|t| t.tensors);
        assert_eq!(at(&["A=random:blocks(2,0.1):f(2,2)"]).unwrap_err().code, Code::UnknownLayout);
        assert_eq!(
            at(&["x=ones", "A=random:blocks(2,0.1):csr"]).unwrap(),
            ["x=ones", "A=random:blocks(2,0.2):csr"]
        );
        assert_eq!(at(&["x=ones"]).unwrap(), ["x=ones", "A=random:0.2"]);
        for fixed in ["A=random:grid", "A=ones", "A=m.mtx:csr"] {
            assert_eq!(at(&[fixed]).unwrap_err().code, Code::Usage, "{fixed}");
        }
        let other = Sweep::parse("B.density=0.1..0.2", 2).unwrap();
        assert!(other.at(0.1, &given(&[]), &program).is_err());
    }
}
