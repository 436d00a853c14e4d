//! Statements whose iteration space has no point, whatever the data.

use std::sync::Arc;

use siskin::diagnostic::Result;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Values};
use siskin::{Kernel, Layout, Tensor};

fn tensor(layout: &str, dims: &[usize], entries: &[(&[usize], f64)]) -> Tensor {
    let mut text = String::new();
    for (at, value) in entries {
        let at: Vec<String> = at.iter().map(|i| (i + 1).to_string()).collect();
        text.push_str(&format!("{} {value}\n", at.join(" ")));
    }
    let file = tempfile::Builder::new().suffix(".tns").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let layout = Layout::named_for_rank(layout, dims.len()).unwrap();
    Tensor::read(file.path()).unwrap().pack(&layout).unwrap()
}

fn plan_finds(expression: &str, layouts: &[(&str, &str)]) -> Result<usize> {
    let mut kernel = Kernel::new(expression);
    for (tensor, layout) in layouts {
        kernel = kernel.layout(tensor, layout);
    }
    Ok(kernel.plan()?.statements().iter().map(|s| s.finds().len()).sum())
}

#[test]
fn a_kernel_without_points_only_initialises_its_output() {
    let triangle = [(&[0, 0][..], 1.0), (&[1, 0], 2.0), (&[1, 1], 3.0), (&[2, 2], 4.0)];
    let l = tensor("lower-triangular", &[3, 3], &triangle);
    let x = tensor("sparse", &[3], &[(&[0], 2.0), (&[2], 5.0)]);
    for (expression, order) in [
        ("y[i] = L[i,j] * x[j] if i < j", vec![]),
        ("y[i] += L[i,j] * x[j] if i < j", vec!["j", "i"]),
    ] {
        let kernel = Kernel::new(expression)
            .layout("L", "lower-triangular")
            .layout("x", "sparse")
            .order(&order)
            .compile()
            .unwrap();
        let y = kernel.run([("L", &l), ("x", &x)]).unwrap();
        assert_eq!(y.values().as_slice(), Some(&[0.0; 3][..]), "{expression}");
    }
}

#[test]
fn a_size_that_is_read_before_the_first_element_is_that_of_no_entries() {
    // The number of entries is the last element of a `pos` with as many rows as the level above has
    // positions, `pos2(P0 - 1, J)`: there are none.
    let layout = "[i,j,k] compressed(k), dense(j), compressed(i, unique=false)";
    let nothing = (0..3).map(|_| IndexData::U32(Vec::new())).collect();
    let nothing = Entries::new(vec![3, 4, 5], nothing, Values::F64(Vec::new())).unwrap();
    let declared = Arc::new(Layout::named(layout).unwrap());
    let a = pack(&declared, &nothing, &PackOptions::default()).unwrap();
    let kernel = Kernel::new("s[] += A[i,j,k]").layout("A", layout).compile().unwrap();
    let s = kernel.run([("A", &a)]).unwrap();
    assert_eq!(s.values().as_slice(), Some(&[0.0][..]));
}

#[test]
fn only_the_choices_of_pieces_that_can_meet_have_a_nest() {
    let nests = |expression: &str| {
        let kernel = Kernel::new(expression).layout("C", "symmetric-csr");
        kernel.plan().unwrap().statements().len()
    };
    assert_eq!(nests("a[] += C[i,j]"), 2);
    assert_eq!(nests("a[] += C[i,i]"), 1);
    assert_eq!(nests("y[i] += C[i,j] * x[j] if i = j"), 1);
    assert_eq!(nests("a[] += C[i,j] * C[j,i]"), 3);
    assert_eq!(nests("a[] += C[i,j] * C[i,j]"), 2);
}

#[test]
fn nothing_is_searched_where_nothing_can_match() {
    let layouts = [("L", "lower-triangular"), ("x", "sparse")];
    assert_eq!(plan_finds("y[i] = L[i,j] * x[j] if i < j", &layouts).unwrap(), 0);
    assert!(plan_finds("y[i] = L[i,j] * x[j] if i > j", &layouts).unwrap() > 0);
}

#[test]
fn what_a_read_element_says_does_not_show_that_it_is_there() {
    // `perm(0) < I` would imply that there is a row; without one nothing is read.
    let layout = "tests/layouts/first-row.toml";
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout).compile().unwrap();
    for rows in [0, 1] {
        let entries: &[(&[usize], f64)] = if rows > 0 { &[(&[0, 1], 3.0)] } else { &[] };
        let a = tensor_of(layout, &[rows, 2], entries);
        let x = tensor_of("dense", &[2], &[(&[0], 5.0), (&[1], 7.0)]);
        let y = kernel.run([("A", &a), ("x", &x)]).unwrap();
        assert_eq!(y.values().as_slice(), Some(&[21.0][..rows]));
    }
}

#[test]
fn a_loop_keeps_the_bounds_that_an_array_needs() {
    // `2*p0 < I` follows from inner dimensions only, but `pos(p0 + 1)` is read before they are known.
    let layout = "tests/layouts/few-columns.toml";
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout).compile().unwrap();
    for (rows, expected) in [(0, &[][..]), (1, &[21.0][..]), (3, &[21.0, 0.0, 0.0])] {
        let entries: &[(&[usize], f64)] = if rows > 0 { &[(&[0, 1], 3.0)] } else { &[] };
        let a = tensor_of(layout, &[rows, 2], entries);
        let x = tensor_of("dense", &[2], &[(&[0], 5.0), (&[1], 7.0)]);
        let y = kernel.run([("A", &a), ("x", &x)]).unwrap();
        assert_eq!(y.values().as_slice(), Some(expected));
    }
}

#[test]
fn a_search_keeps_the_bounds_that_an_array_needs() {
    // `i < j` says that there are two columns, but `row(1)` is read to find that out.
    let layout = "tests/layouts/two-rows.toml";
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout).compile().unwrap();
    for (size, expected) in [(0, &[][..]), (1, &[0.0]), (2, &[14.0, 0.0]), (3, &[14.0, 33.0, 0.0])]
    {
        let entries = [(&[0, 1][..], 2.0), (&[1, 2], 3.0)];
        let a = tensor_of(layout, &[size, size], &entries[..size.saturating_sub(1)]);
        let x = [(&[0][..], 5.0), (&[1], 7.0), (&[2], 11.0)];
        let x = tensor_of("dense", &[size], &x[..size]);
        let y = kernel.run([("A", &a), ("x", &x)]).unwrap();
        assert_eq!(y.values().as_slice(), Some(expected), "{size}");
    }
}

#[test]
fn what_an_array_needs_of_outer_positions_is_tested_before_it_is_searched() {
    // That there is a pair of rows follows from the rows, which are visited last.
    let layout = "tests/layouts/paired-rows.toml";
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", layout).compile().unwrap();
    for (rows, expected) in [(0, &[][..]), (1, &[7.0]), (3, &[7.0, 0.0, 22.0])] {
        let entries = [(&[0, 1][..], 1.0), (&[2, 2], 2.0)];
        let a = tensor_of(layout, &[rows, 5], &entries[..rows.div_ceil(2)]);
        let x = [(&[0][..], 5.0), (&[1], 7.0), (&[2], 11.0)];
        let x = tensor_of("dense", &[5], &x);
        let y = kernel.run([("A", &a), ("x", &x)]).unwrap();
        assert_eq!(y.values().as_slice(), Some(expected), "{rows}");
    }
}

#[test]
fn a_property_of_an_element_does_not_show_that_it_is_there() {
    let layout = "tests/layouts/first-start.toml";
    let kernel = Kernel::new("y[i] += A[i,j,k] * x[j]").layout("A", layout).compile().unwrap();
    let y = |dims: &[usize; 3], entries: &[(&[usize], f64)]| -> Vec<f64> {
        let a = tensor_of(layout, dims, entries);
        let x: Vec<_> = (0..dims[1]).map(|j| ([j], 1.0 + j as f64)).collect();
        let x: Vec<(&[usize], f64)> = x.iter().map(|(j, v)| (&j[..], *v)).collect();
        let y = kernel.run([("A", &a), ("x", &tensor_of("dense", &[dims[1]], &x))]).unwrap();
        let values: &[f64] = y.values().as_slice().unwrap();
        values.to_vec()
    };
    assert_eq!(y(&[0, 0, 0], &[]), [0.0; 0]);
    assert_eq!(y(&[0, 0, 2], &[]), [0.0; 0]);
    assert_eq!(y(&[2, 2, 2], &[]), [0.0; 2]);
}

fn tensor_of(layout: &str, dims: &[usize], entries: &[(&[usize], f64)]) -> Tensor {
    let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
    let entries = Entries::from_points(dims, entries).unwrap();
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}
