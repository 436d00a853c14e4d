//! Windows of what is stored in order: the part of a segment that passes its tests is sought, and appended as a whole.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::formula::Name;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, IndexData, Value, Values};
use siskin::{Kernel, Layout};

use crate::study::random::Random;

fn text(expression: &str, layout: &str) -> String {
    let kernel = Kernel::new(expression).layout("A", layout);
    kernel.plan().unwrap().render().unwrap().text().to_string()
}

#[test]
fn windows_of_segments_in_order_are_sought() {
    let sought =
        |expression: &str, layout: &str| text(expression, layout).contains("while ahead < ");
    for (expression, layout) in [
        ("y[i] = A[i,j+5] * x[j]", "csr"),
        ("y[i] = A[i,(2:40)(j)] * x[j]", "dcsr"),
        ("y[i] = A[i,j-3] * x[j]", "csr"),
        ("y[j] = A[i+7,j] * x[i]", "csc"),
        ("y[i] = A[i,j,k+2] * x[j] * z[k]", "csf"),
        ("y[i] = A[i,j,k+2] * x[j] * z[k]", "SparseList(SparseList(SparseList(Element(0.0))))"),
    ] {
        assert!(sought(expression, layout), "{expression} in {layout}");
    }
    for (expression, layout, why) in [
        ("y[i] = A[i,j] * x[j]", "csr", "there is no window"),
        ("y[i] = A[i,j+5] * x[j]", "coo-unsorted", "columns come in no order"),
        ("y[i] = A[i,j+5] * x[j]", "symmetric-csr", "half of it is not along rows"),
        ("y[i] = A[i,2*j] * x[j]", "ell", "padding comes in no order"),
    ] {
        assert!(!sought(expression, layout), "{expression} in {layout}: {why}");
    }
}

#[test]
fn a_part_of_a_window_is_one_of_it() {
    // What is asked of `j` and of `k`, one in the other, is asked of one array.
    let statement = "s[] += M[w,j+1] * C[w,j,k] * M[w,w] if k = j";
    for (m, c) in [("dcsc", "csf"), ("csc", "csf"), ("dcsc", "coo"), ("csr", "csf")] {
        let kernel = Kernel::new(statement).layout("M", m).layout("C", c);
        kernel.plan().unwrap().render().unwrap_or_else(|e| panic!("{m}, {c}: {}", e.message));
    }
}

#[test]
fn only_rows_that_an_index_comes_to_are_visited() {
    for (expression, layout, row) in [
        ("y[i] = A[3*i,j] * x[j]", "csr", "let pA0 = 3 * i;"),
        ("y[i] = A[2*i+1,j] * x[j]", "csr", "let pA0 = 2 * i + 1;"),
        ("y[j] = A[i,5*j] * x[i]", "csc", "let pA0 = 5 * j;"),
    ] {
        assert!(text(expression, layout).contains(row), "{expression} in {layout}");
    }
    let blocks = text("y[i] = A[3*i,j] * x[j]", "bcsr(2,2)");
    assert!(!blocks.contains("let pA0 = 3 * i;"), "rows of blocks are no rows");
}

#[test]
fn rows_are_appended_as_a_whole() {
    let loops = |expression: &str| {
        let kernel = Kernel::new(expression).layout("A", "csr").layout("C", "csr");
        let text = kernel.plan().unwrap().render().unwrap().text().to_string();
        (text.matches(".extend(").count(), text.matches("_C.push(").count())
    };
    assert_eq!(loops("C[i,j] = 2 * A[i,j]"), (2, 0));
    assert_eq!(loops("C[i,j] = A[(2:9)(i),j]"), (2, 0));
    // One for a window that is sought, one entry after the other where rows are short.
    assert_eq!(loops("C[i,j] = A[i,(2:9)(j)]"), (2, 2));
    assert_eq!(
        loops("C[i,j] = A[i,2*j]"),
        (0, 0),
        "every second entry is pushed under a condition"
    );
    assert_eq!(loops("C[i,j] = A[i,j] * A[i,j]"), (2, 0));
    let kernel = Kernel::new("C[i,j] = A[i,(1:90:3)(j)]").layout("A", "csr").layout("C", "csr");
    let text = kernel.plan().unwrap().render().unwrap().text().to_string();
    assert_eq!(text.matches("_C.push_if(kept, ").count(), 2, "in the window, columns are natural");
}

/// Rows without entries, with few, and with many that follow each other or not.
fn tensor(random: &mut Random, dims: &[usize]) -> Entries {
    let (last, outer) = dims.split_last().unwrap();
    let mut coords: Vec<Vec<u64>> = vec![Vec::new(); dims.len()];
    let mut values = Vec::new();
    for row in 0..outer.iter().product() {
        let percent = [0, 3, 30, 100][random.below(4)];
        let (from, to) = (random.below(*last), 1 + random.below(*last));
        for k in (from..to).filter(|_| random.chance(percent)).collect::<Vec<_>>() {
            let mut rest: usize = row;
            for (column, extent) in coords.iter_mut().zip(outer).rev() {
                column.push((rest % extent) as u64);
                rest /= extent;
            }
            coords[outer.len()].push(k as u64);
            values.push(1.0 + random.below(9) as f64);
        }
    }
    let coords = coords.into_iter().map(IndexData::U64).collect();
    Entries::new(dims.to_vec(), coords, Values::F64(values)).unwrap()
}

#[test]
fn windows_compute_the_same_in_all_layouts() {
    let mut random = Random(5);
    for case in 0..18 {
        let three = case % 3 == 0;
        let extent = [1, 9, 40, 300][random.below(4)];
        let dims = if three { vec![3, 4, extent] } else { vec![1 + random.below(30), extent] };
        let a = tensor(&mut random, &dims);
        let offset = random.below(extent + 3) as i64 - extent as i64 / 2;
        let along = match random.below(3) {
            0 => format!("j{offset:+}"),
            1 => format!("({}:{extent})(j)", random.below(extent)),
            _ => format!("{}*j{offset:+}", 2 + random.below(2)),
        };
        let outer = if three { "i,l" } else { "i" };
        let value = format!("A[{outer},{along}]");
        let (target, assembled) = match random.below(3) {
            0 => (format!("y[i] += {value}"), false),
            1 => (format!("y[i] max= {value}"), false),
            _ => (format!("C[{outer},j] = 2 * {value}"), true),
        };
        let inside = 1 + extent / 2;
        let run = |layout: &str, result: Option<&str>| {
            let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
            let a = pack(&layout, &a, &PackOptions::default()).unwrap();
            let kernel = Kernel::new(&target).declared("A", &layout);
            let kernel = match (result, assembled) {
                (Some(result), true) => kernel.layout("C", result),
                _ => kernel,
            };
            let compiled = kernel.compile().unwrap();
            // A window has an extent of its own.
            let extents = match along.contains(':') {
                true => IndexMap::new(),
                false => [(Name::from("j"), inside)].into_iter().collect(),
            };
            let mut call = compiled.call([("A", &a)], &extents).unwrap();
            call.run();
            let result = call.into_output().unwrap();
            result.dense_else(Value::F64(0.0)).unwrap()
        };
        let expected = run("dense", None);
        let layouts: &[(&str, &str)] = match three {
            true => &[("csf", "csf"), ("coo", "coo"), ("coo-unsorted", "csf")],
            false => {
                &[("csr", "csr"), ("dcsr", "dcsr"), ("coo", "csr"), ("csc", "coo"), ("ell", "csr")]
            }
        };
        for _ in 0..2 {
            let (layout, result) = layouts[random.below(layouts.len())];
            assert_eq!(
                run(layout, Some(result)),
                expected,
                "{target} in {layout}, {result}, {dims:?}"
            );
        }
    }
}
