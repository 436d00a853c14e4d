//! Proved plans against plain scanning, on thousands of small concrete index arrays.
//!
//! Nothing is compiled here: the nest becomes code with the shipped templates themselves, which runs
//! in the interpreter of code. Its result tells the visited points, as all values are large random
//! numbers; it is compared with the points that plain loops visit.

use std::collections::HashMap;
use std::rc::Rc;

use crate::study::execute::{Weights, code, scan};
use crate::study::instance::Instance;
use crate::study::random::Random;
use crate::study::{Study, quick_study, scanned, study_with};

use siskin::formula::Formula;
use siskin::synth::{Plan, Proved, Template, templates};

const CASES: &[(&str, &str, &str)] = &[
    ("s += a[i] * b[i]", "a=sparse b=sparse", ""),
    ("s += a[i] * b[i]", "a=@decreasing b=@decreasing", ""),
    ("s += a[i] * b[i]", "a=sparse b=@decreasing", ""),
    ("s += a[i] * b[i]", "a=@unsorted b=sparse", ""),
    ("s += a[i] * b[i]", "a=@weak b=sparse", ""),
    ("s += a[i] * b[i]", "a=@weak b=@weak", ""),
    ("s += a[i] * b[i]", "a=@bag b=@bag", ""),
    ("s += a[i] * b[i]", "a=sparse b=@even", ""),
    ("s += a[i] * b[i]", "a=@weak b=run-length", ""),
    ("s += a[i] * b[i]", "a=sparse b=vbl", ""),
    ("s += a[i] * b[i] * c[i]", "a=sparse b=@decreasing c=@unsorted", ""),
    ("y[i] += A[i,j] * x[j]", "A=csr x=sparse", ""),
    ("y[i] += A[i,j] * x[j]", "A=csr x=@weak", ""),
    ("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "pA0,px"),
    ("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "px,pA0"),
    ("y[i] += A[i,j] * x[j]", "A=csr x=@decreasing", "px,pA0"),
    ("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "pA0,pA1 pA1,pA0"),
    ("y[i] += A[i,j] * x[j]", "A=csr x=@decreasing", "pA0,pA1 pA1,px,pA0"),
    ("y[i] += A[i,j] * x[j]", "A=bcsr(2,2) x=sparse", "pA0,pA1 pA1,pA0"),
    ("y[i] += A[i,j] * x[j]", "A=csr", "pA0,pA1 "),
    ("y[i] += A[i,j,k] * x[k]", "A=csf x=sparse", "pA1,pA2 pA0,pA2,pA1"),
    ("y[i] += A[i,j] * x[j]", "A=csr", "j"),
    ("y[i] += A[i,j] * x[j]", "A=coo", "j,i"),
    ("y[i] += A[i,j] * x[j]", "A=coo x=sparse", ""),
    ("y[i] += A[i,j] * x[j]", "A=csc", "i,j"),
    ("y[i] += A[i,j] * x[j]", "A=bcsr(2,2) x=sparse", ""),
    ("y[i] += A[i,j] * x[j]", "A=bcsr(2,2)", "j,i"),
    ("y[i] += A[i,j] * x[j]", "A=dia", "i"),
    ("y[i] += A[i,j] * x[j]", "A=dia x=sparse", "pA0"),
    ("y[i] += A[i,j] * x[j]", "A=ell x=sparse", ""),
    ("y[i] += A[i,j] * x[j]", "A=skyline x=sparse", ""),
    ("y[i] += A[i,j] * x[j] if i <= j", "A=csr", ""),
    ("y[i] += A[i,j] * x[j] if j < i", "A=csr x=sparse", ""),
    ("s += A[i,i]", "A=csr", ""),
    ("s += A[i,i] * x[i]", "A=coo x=sparse", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=coo B=coo", ""),
    ("C[i,j] += A[i,j] * B[j,i]", "A=coo B=coo", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=coo B=dcsr", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=coo-unsorted B=coo", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=coo B=csr", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=csr B=coo", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=csr B=csr", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=csr B=csc", ""),
    ("C[i,j] += A[i,j] * B[j,i]", "A=csr B=csr", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=dcsr B=dcsr", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=dcsr B=dcsc", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=csr B=bcsr(2,2)", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=bcsr(2,2) B=csr", ""),
    ("C[i,j] += A[i,j] * B[i,j]", "A=bcsr(2,2) B=bcsr(3,3)", ""),
    ("C[i,j] += A[i,k] * B[k,j]", "A=csr B=dcsr", ""),
    ("C[i,j] += A[i,k] * B[k,j]", "A=csr B=csc", ""),
    ("C[i,j] += A[i,k] * A[k,j]", "A=dcsr", ""),
    ("C[i,j] += A[i,k,l] * B[k,j] * x[l]", "A=csf B=dcsr x=sparse", ""),
    ("s += a[i] * b[2*i + 1]", "a=sparse b=sparse", ""),
    ("s += a[i] * b[i + 1]", "a=sparse b=@decreasing", ""),
];

/// Instances per case and seconds are bounded: this runs with every build.
const INSTANCES: usize = 60;
const MOST: usize = 4;

fn instances(study: &Study, count: usize, seed: u64) -> Vec<Instance> {
    let mut random = Random(seed);
    let mut out = Vec::new();
    for _ in 0..40 * count {
        out.extend(Instance::random(&study.space, MOST, &mut random));
        if out.len() == count {
            break;
        }
    }
    out
}

fn proved(study: &Study) -> Vec<(usize, &Proved<Plan>)> {
    let finds = study.finds.iter().filter(|f| !f.problem.upper.is_empty());
    finds.flat_map(|f| f.plans().map(move |p| (f.problem.level, p))).collect()
}

#[test]
fn proved_plans_visit_what_a_scan_visits() {
    let (mut runs, mut visits) = (0, 0);
    for (case, (expression, layouts, order)) in CASES.iter().enumerate() {
        let study = quick_study(expression, layouts, order);
        let plans = proved(&study);
        let instances = instances(&study, INSTANCES, case as u64);
        assert!(instances.len() > INSTANCES / 2, "{expression} {layouts}: {}", instances.len());
        let mut bodies = Vec::new();
        for (level, plan) in &plans {
            bodies.push((*plan, code(&study, &HashMap::from([(*level, *plan)]))));
        }
        let mut busy = 0;
        for (number, instance) in instances.iter().enumerate() {
            let visited = scan(&study.nest, instance);
            busy += usize::from(!visited.is_empty());
            visits += visited.len();
            let weights = Weights::of(&study, instance, number as u64);
            let expected = weights.sum(&study, instance, &visited);
            for (plan, body) in &bodies {
                let got = weights.run(&study, body, instance);
                assert_eq!(
                    got.as_ref(),
                    Ok(&expected),
                    "{expression} {layouts}\n{plan}\n{instance:?}\n{body}"
                );
                runs += 1;
            }
        }
        assert!(busy > 5, "{expression} {layouts}: only {busy} instances visit anything");
    }
    assert!(runs > 5_000 && visits > 3_000, "{runs} runs, {visits} visits");
}

#[test]
fn scans_visit_every_point_of_the_space_once_in_order() {
    let mut points = 0;
    for (case, (expression, layouts, order)) in CASES.iter().enumerate() {
        let study = scanned(expression, layouts, order);
        let dims = &study.schedule.dims();
        if dims.len() > 5 {
            continue;
        }
        for instance in instances(&study, 6, 1_000 + case as u64) {
            let got = scan(&study.nest, &instance);
            assert!(got.is_sorted(), "{expression} {layouts} is not in loop order");
            let mut expected = Vec::new();
            let side = 2 * MOST + 2;
            for number in 0..side.pow(dims.len() as u32) {
                let mut at = instance.clone();
                let mut point = Vec::new();
                for (d, name) in dims.iter().enumerate() {
                    let place = side.pow((dims.len() - 1 - d) as u32);
                    let value = (number / place % side) as i64;
                    at.vars.insert(name.clone(), value);
                    point.push(value);
                }
                if study.space.constraints.iter().all(|c| c.holds(&at) == Some(true)) {
                    expected.push(point);
                }
            }
            assert_eq!(got, expected, "{expression} {layouts}\n{}\n{instance:?}", study.nest);
            points += got.len();
        }
    }
    assert!(points > 200, "{points}");
}

/// True if some instance tells the plan from a scan.
fn is_caught(study: &Study, position: &str, plan: &Proved<Plan>) -> bool {
    let level = study.find(position).problem.level;
    let body = code(study, &HashMap::from([(level, plan)]));
    instances(study, 200, 7).iter().enumerate().any(|(number, instance)| {
        let weights = Weights::of(study, instance, number as u64);
        let expected = weights.sum(study, instance, &scan(&study.nest, instance));
        weights.run(study, &body, instance) != Ok(expected)
    })
}

/// The shipped templates, but that nothing refutes these obligations of template `name`.
fn without(name: &str, obligations: &[&str]) -> Vec<Rc<Template>> {
    let mut left_out = 0;
    let shipped = templates().expect("the shipped templates");
    let changed = shipped.iter().map(|t| {
        let mut t = Template::clone(t);
        let same = t.name == name;
        for o in t.obligations.iter_mut().filter(|o| same && obligations.contains(&o.name.as_str()))
        {
            o.formula = Formula::truth(false);
            left_out += 1;
        }
        Rc::new(t)
    });
    let changed = changed.collect();
    assert_eq!(left_out, obligations.len(), "{name}: {obligations:?}");
    changed
}

#[test]
fn a_template_that_forgets_an_obligation_is_caught() {
    for (expression, layouts, position, template, obligations) in [
        // Resumes after a match that is needed again.
        ("s += a[i] * b[i]", "a=@weak b=sparse", "pb", "seq", &["postinc"][..]),
        // Keeps one state for all rows.
        ("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "px", "seq", &["advance"]),
        // Takes the range to be in order.
        ("s += a[i] * b[i]", "a=sparse b=@unsorted", "pb", "bsearch", &["partition", "stop"]),
        ("s += a[i] * b[i]", "a=sparse b=@unsorted", "pb", "seq", &["stop"]),
    ] {
        let study = quick_study(expression, layouts, "");
        if let Some(right) = study.attempt(position, template).verdict.plan() {
            assert!(!is_caught(&study, position, right), "{template}");
        }
        let study = study_with(expression, layouts, &without(template, obligations));
        let plan = study.plan(position, template);
        assert!(is_caught(&study, position, plan), "{template} without {obligations:?}: {plan}");
    }
}
