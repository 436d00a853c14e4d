//! Operators as data: what is shipped computes what NumPy would, wrong files are refused, and no
//! point that an iteration algebra leaves out matters.

#[path = "operators/expected.rs"]
mod expected;
#[path = "operators/refusals.rs"]
mod refusals;
#[path = "operators/regions.rs"]
mod regions;

use siskin::operators::{OpExpr, Operators, eval, read, rust, samples};

/// The shipped operators.
fn shipped() -> &'static Operators {
    Operators::shipped().unwrap_or_else(|e| panic!("{e:#?}"))
}

#[test]
fn every_claim_of_every_shipped_operator_holds_on_samples_and_is_proved_if_it_is_defined() {
    let (mut proved, mut sampled) = (0, 0);
    for op in shipped().all() {
        let evidence = shipped().evidence(op.name()).unwrap_or_else(|e| panic!("{e:#?}"));
        for e in evidence {
            assert_eq!(e.unproved, [], "{}: {}", op.name(), e.claim);
            assert!(e.samples > 0, "{}: {}", op.name(), e.claim);
            proved += e.proved.len();
            sampled += e.samples;
        }
    }
    assert!(proved > 60 && sampled > 10_000, "{proved} proofs, {sampled} samples");
}

#[test]
fn expressions_read_back_as_they_are_printed() {
    let mut count = 0;
    for op in shipped().all() {
        for t in op.types() {
            let tree: &OpExpr = op.rust(t).expect("it exists for its types");
            let names: Vec<&str> = op.arguments().iter().map(|a| a.name.as_str()).collect();
            let types: Vec<_> = op.arguments().iter().map(|a| a.exact.unwrap_or(t)).collect();
            let typed: Vec<_> = names.iter().copied().zip(types.iter().copied()).collect();
            let printed = rust(tree, &names);
            let again = read(&printed, &typed, t, tree.value_type());
            let again = again.unwrap_or_else(|e| panic!("{printed}\n{e:#?}"));
            assert_eq!(&again, tree, "{printed}");
            let arguments: Vec<_> = types.iter().map(|t| samples(*t)[1]).collect();
            assert!(eval(&again, &arguments).is_some());
            count += 1;
        }
    }
    assert!(count > 100);
}
