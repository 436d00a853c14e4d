//! Walks of regions that may have no position at all: a column outside of a band; and windows of windows.

use siskin::kernel::Coiterate;

use super::Inputs;
use super::together::{Batch, Case, Stopped};

/// That all ways of bringing operands together that there are compute what the interpreter does; how many there are.
fn agree(batch: &mut Batch, text: &str, formats: &[(&str, &str)], inputs: &Inputs) -> usize {
    let mut ran = 0;
    for scheme in Coiterate::ALL {
        let case = Case::new(text, formats, scheme);
        match batch.agrees_interpreted(&case, inputs) {
            Ok(()) => ran += 1,
            Err(Stopped::Refused(_)) if scheme != Coiterate::Auto => {}
            Err(Stopped::Refused(e)) => panic!("{case}\n{e}"),
            Err(Stopped::Failed(e)) => panic!("{case}\n{e}"),
        }
    }
    ran
}

#[test]
fn a_column_may_lie_outside_of_a_band() {
    let mut batch = Batch::default();
    let band = |columns: &[usize]| {
        let values: Vec<f64> = (0..12)
            .map(|k| if columns.contains(&(k % 4)) { 1.0 + k as f64 } else { 0.0 })
            .collect();
        Inputs::default().floats("A", &[3, 4], &values).floats("x", &[3], &[0.0, 2.0, 0.0])
    };
    let inner = ["SparseList", "SparseRunList", "RunList", "Dense"];
    for columns in [&[][..], &[0], &[2], &[1, 2], &[3], &[0, 1, 2, 3]] {
        for (k, inner) in inner.into_iter().enumerate() {
            let format = format!("SparseBand({inner}(Element(0.0)))");
            let result = ["SparseList(Element(0.0))", "dense"][k % 2];
            for value in ["A[i, 2] + x[i]", "A[i, 2] * A[i, 3] + A[i, 1]", "max(A[i, 4], x[i])"] {
                let text = format!("y .= 0\nfor i = _\n y[i] = {value}\nend\nreturn y");
                let formats = [("A", &*format), ("x", "SparseList(Element(0.0))"), ("y", result)];
                assert!(agree(&mut batch, &text, &formats, &band(columns)) >= 3, "{text}");
            }
        }
    }
}

#[test]
fn sparse_vectors_are_convolved_in_every_way() {
    let mut batch = Batch::default();
    let inputs = Inputs::default()
        .floats("x", &[6], &[0.0, 1.0, 0.0, 2.0, 3.0, 0.0])
        .floats("f", &[3], &[0.0, 3.0, 5.0])
        .size("y", &[5]);
    let formats = ["SparseList", "SparseDict", "SparseCOO{1}", "SparseRunList", "SparseBlockList"];
    for value in [
        "coalesce(x[i + j], 0) * f[i]",
        "coalesce(x[~(i - j + 3)], 0) * f[i]",
        "x[i + j - 1] * f[i]",
    ] {
        let text = format!("y .= 0\nfor j = _, i = _\n y[j] += {value}\nend\nreturn y");
        for (k, format) in formats.into_iter().enumerate() {
            let other = formats[(k + 2) % formats.len()];
            let (x, f) = (format!("{format}(Element(0.0))"), format!("{other}(Element(0.0))"));
            let ran = agree(&mut batch, &text, &[("x", &x), ("f", &f)], &inputs);
            assert!(ran >= 2, "{text} {format} {other}: {ran}");
        }
    }
}
