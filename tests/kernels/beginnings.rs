//! Results that are written whole, and so begin with nothing.

use std::sync::Arc;

use siskin::check::stores_coordinates_once;
use siskin::layout::shipped;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, ValueType, Values};
use siskin::{Kernel, Layout};

/// How the module fills the result before the loops, and what its loops store.
fn beginning(kernel: &Kernel) -> (String, Vec<String>) {
    let text = kernel.plan().unwrap().render().unwrap().text().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let filled = lines.iter().position(|line| line.contains(".val.fill("));
    let filled = match filled {
        None => "never".to_string(),
        Some(at) if lines[at - 1].ends_with('{') && lines[at - 1].starts_with("if ") => {
            lines[at - 1].trim_start_matches("if ").trim_end_matches(" {").to_string()
        }
        Some(_) => "always".to_string(),
    };
    let stored = lines.iter().filter(|line| line.starts_with("*at_mut(val_"));
    let sign = |line: &&str| line.split_whitespace().find(|w| w.ends_with('=')).map(str::to_string);
    (filled, stored.filter_map(sign).collect())
}

fn kernel(expression: &str, layouts: &[(&str, &str)]) -> Kernel {
    let kernel = Kernel::new(expression).only_way().values(ValueType::F64);
    layouts.iter().fold(kernel, |kernel, (tensor, layout)| kernel.layout(tensor, layout))
}

#[test]
fn what_is_written_once_is_set() {
    for (expression, layouts, filled, stored) in [
        ("y[i] = A[i,j] * x[j]", &[("A", "csr")][..], "never", &["="][..]),
        // Rows are visited unless there is nothing to look for.
        (
            "y[i] = A[i,j] * x[j]",
            &[("A", "csr"), ("x", "sparse")],
            "size_I >= 1 && size_NNZ_x == 0",
            &["="],
        ),
        ("y[i] = A[i,j] * x[j]", &[("A", "dense")], "never", &["="]),
        ("y[i] = max(x[i], z[i])", &[], "never", &["="]),
        ("s[] = x[i]", &[], "never", &["="]),
        // One store after the other to an element is one store.
        ("y[i] = x[i]; y[i] min= z[i]", &[], "never", &["="]),
        ("y[i] = x[i]; y[i] += z[i]; y[i] max= w[i]", &[], "never", &["="]),
        ("B[j,i] = A[i,j]", &[("A", "dense")], "never", &["="]),
        ("B[i,j] = x[i]", &[("B", "Dense(Dense(Element(0.0)))")], "never", &["="]),
        // Rows meet at a column.
        ("y[j] = A[i,j]", &[("A", "csr")], "always", &["+="]),
        // In blocks of the result, or by whole rows if there are many.
        ("y[j] = A[i,j]", &[("A", "dense")], "always", &["+=", "+="]),
        // What is not stored is not visited. Index arrays say where the rest is, each place once.
        ("B[i,j] = A[i,j]", &[("A", "csr")], "always", &["="]),
        ("B[i,j] = A[i,j]", &[("A", "dcsr")], "always", &["="]),
        ("B[i,j] = A[i,j]", &[("A", "coo")], "always", &["="]),
        ("B[i,j] = A[i,j]", &[("A", "bcsr(2,3)")], "always", &["="]),
        ("B[i,j] = A[i,j]", &[("A", "dia")], "always", &["="]),
        ("y[i] = x[i]", &[("x", "sparse")], "always", &["="]),
        ("y[i] = A[i,j] * x[j]", &[("A", "dcsr")], "always", &["="]),
        ("C[i,j,r] = A[i,j,k] * B[k,r]", &[("A", "csf")], "always", &["="; 5]),
        // A place may be there twice, or be that of another row.
        ("B[i,j] = A[i,j]", &[("A", "coo-unsorted")], "always", &["+="]),
        ("y[i] = A[i,j]", &[("A", "coo")], "always", &["=", "=", "+="]),
        ("C[i,r] = A[i,j,k] * B[k,r]", &[("A", "coo")], "always", &["+="]),
        // The statement adds.
        ("y[i] += x[i]", &[], "never", &["+="]),
        // Of a sum, terms are added one after the other.
        ("y[i] = A[i,j] + B[i,j]", &[("A", "csr"), ("B", "csr")], "always", &["+=", "+="]),
    ] {
        let found = beginning(&kernel(expression, layouts));
        let expected = stored.iter().map(|s| s.to_string()).collect();
        assert_eq!(found, (filled.to_string(), expected), "{expression}, {layouts:?}");
    }
}

/// A set in place of an addition loses entries, where an element is written twice.
#[test]
fn only_what_is_stored_once_is_set() {
    let mut set = 0;
    for (name, _) in shipped() {
        let Ok(layout) = Layout::named_for_rank(&name, 2) else { continue };
        let layout = Arc::new(layout);
        let kernel = Kernel::new("B[i,j] = A[i,j]").declared("A", &layout).only_way();
        let Ok(planned) = kernel.plan() else { continue };
        let text = planned.render().unwrap().text().to_string();
        let is_set = text.lines().any(|line| {
            let line = line.trim();
            line.starts_with("*at_mut(val_B") && !line.contains("+=")
        });
        if is_set {
            set += 1;
            assert!(stores_coordinates_once(&layout), "{}:\n{text}", layout.name);
        }
    }
    assert!(set > 12, "{set}");
}

#[test]
fn pieces_that_divide_the_result_are_set() {
    for (expression, filled) in [
        ("y[i] = x[i-1] if i >= 1; y[i] += 2 * x[i] if i < 1", "never"),
        ("y[i] = x[i] if i >= 5; y[i] += 2 * x[i] if i < 3", "size_I >= 4"),
        ("y[i] = x[i] if i < 4; y[i] += 2 * x[i] if i >= 2", "always"),
    ] {
        let (found, stored) = beginning(&kernel(expression, &[]));
        println!("{found} {stored:?}");
        assert_eq!(found, filled, "{expression}");
        let sign = if filled == "always" { "+=" } else { "=" };
        assert!(stored.iter().all(|s| s == sign), "{expression}: {stored:?}");
    }
}

/// Debug builds of the library let results begin with something else than zeros.
#[test]
fn at_every_size_all_that_is_left_out_is_zero() {
    let expression = "y[i] = x[i] if i >= 5; y[i] += 2 * x[i] if i < 3";
    let compiled = kernel(expression, &[]).compile().unwrap();
    let dense = Arc::new(Layout::named_for_rank("dense", 1).unwrap());
    for n in 0..9 {
        let given = Values::F64((0..n).map(|k| k as f64 + 1.0).collect());
        let places = IndexData::U32((0..n as u32).collect());
        let entries = Entries::new(vec![n], vec![places], given).unwrap();
        let x = pack(&dense, &entries, &PackOptions::default()).unwrap();
        let y = compiled.run([("x", &x)]).unwrap();
        let expected = (0..n).map(|k| match k {
            0..3 => 2.0 * (k as f64 + 1.0),
            3..5 => 0.0,
            _ => k as f64 + 1.0,
        });
        assert_eq!(y.values().as_slice::<f64>().unwrap(), expected.collect::<Vec<f64>>(), "{n}");
    }
}
