//! Templates by themselves: what is proved of them, and which are refused.

use super::*;
use crate::prover::Z3Prover;
use crate::synth::templates;

#[test]
fn every_shipped_template_stays_inside_its_range_in_every_variant() {
    let mut prover = Z3Prover::new().with_any_model();
    let mut proved = 0;
    for template in templates().unwrap() {
        let start = std::time::Instant::now();
        let n = check(&template, &mut prover).unwrap_or_else(|e| panic!("{e:#?}"));
        println!("{}: {n} variants, {:?}", template.name, start.elapsed());
        proved += n;
    }
    assert!(proved > 20, "{proved}");
}
