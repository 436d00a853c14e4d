//! Sums of rows that are kept in registers: for which kernels, and that they are what they should be, however
//! long a row is.

use std::sync::Arc;

use indexmap::IndexMap;
use siskin::formula::Name;
use siskin::packing::{PackOptions, pack};
use siskin::program::{OracleTensor, Program, interpret, resolve};
use siskin::tensor::Entries;

use siskin::{Kernel, Layout, Tensor};

use crate::study::random::Random;

fn kernel(expression: &str, layouts: &[(&str, &str)]) -> Kernel {
    layouts.iter().fold(Kernel::new(expression), |k, (tensor, layout)| k.layout(tensor, layout))
}

/// The lengths of the arrays of sums, in the order of the text.
fn kept(expression: &str, layouts: &[(&str, &str)]) -> Vec<usize> {
    let planned = kernel(expression, layouts).plan().unwrap();
    let text = planned.render().unwrap().text().to_string();
    let lengths = text.lines().filter_map(|line| {
        let (_, array) = line.trim().strip_prefix("let mut sums")?.split_once("= [")?;
        let lengths = array.split_once("; ")?.1.trim_end_matches("];").split(" * ");
        lengths.map(|length| length.parse::<usize>().ok()).product()
    });
    lengths.collect()
}

#[test]
fn sums_are_kept_where_a_segment_updates_the_same_row() {
    for (expression, layouts, expected) in [
        ("C[i,k] += A[i,j] * B[j,k]", &[("A", "csr")][..], &[32, 16, 8, 4][..]),
        ("C[i,k] += A[i,j] * B[j,k]", &[("A", "dcsr")], &[32, 16, 8, 4]),
        ("C[i,k] += A[i,j] * B[j,k]", &[("A", "dense")], &[32, 16, 8, 4]),
        ("M[i,r] += A[i,k,l] * B[k,r] * C[l,r]", &[("A", "csf")], &[32, 16, 8, 4]),
        ("y[i] += A[i,j] * x[j]", &[("A", "bcsr(4,4)")], &[16, 4]),
        ("y[i] += A[i,j] * x[j]", &[("A", "bcsr(3,2)")], &[6, 3]),
        ("y[i] += 2 * A[i,j]", &[("A", "bcsr(4,3)")], &[12, 4]),
        ("y[i] += A[i,j] * x[j]", &[("A", "bcsr(8,4)")], &[8, 8]),
        ("y[i] += A[i,j] * x[j]", &[("A", "bcsr(3,5)")], &[3, 3]),
    ] {
        assert_eq!(kept(expression, layouts), expected, "{expression}, {layouts:?}");
    }
}

#[test]
fn sums_are_not_kept_where_the_row_is_another_each_time() {
    for (expression, layouts, why) in [
        ("C[i,k] += A[i,j] * B[j,k]", &[("A", "csc")][..], "a column updates all rows"),
        ("C[i,k] += A[i,j] * B[j,k]", &[("A", "coo")], "each entry says its row"),
        ("y[i] += A[i,j] * x[j]", &[("A", "csr")], "one sum"),
        (
            "y[i] += A[i,j] * x[j]",
            &[("A", "bcsr(40,4)")],
            "a block is higher than there are registers",
        ),
        ("C[i,k] max= A[i,j] * B[j,k]", &[("A", "csr")], "no sum"),
        ("C[i,k] += 2 * B[i,k]", &[], "nothing is summed"),
    ] {
        assert_eq!(kept(expression, layouts), [0; 0], "{expression}: {why}");
    }
}

/// Small whole numbers, so that sums are exact in any order; a third of them there.
fn values(random: &mut Random, dims: &[usize], percent: usize) -> Vec<f64> {
    let mut one = |_| if random.chance(percent) { 1.0 + random.below(4) as f64 } else { 0.0 };
    (0..dims.iter().product()).map(&mut one).collect()
}

fn packed(layout: &str, dims: &[usize], values: &[f64]) -> Tensor {
    let mut points = Vec::new();
    for (at, value) in values.iter().enumerate().filter(|(_, v)| **v != 0.0) {
        let mut point = vec![0; dims.len()];
        let mut rest = at;
        for (c, extent) in point.iter_mut().zip(dims).rev() {
            (*c, rest) = (rest % extent, rest / extent);
        }
        points.push((point, *value));
    }
    let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (&p[..], *v)).collect();
    let entries = Entries::from_points(dims, &points).unwrap();
    let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

/// Rows of every length up to beyond two tiles, some that are usual, and blocks that the matrix does not fill.
#[test]
fn kept_sums_are_those_of_the_interpreter() {
    let mut random = Random(11);
    for (expression, layout) in [
        ("C[i,k] += A[i,j] * B[j,k]", "csr"),
        ("C[i,k] += A[i,j] * B[j,k]", "dense"),
        ("C[i,k] += A[i,j] * B[j,k]", "bcsr(2,3)"),
        ("M[i,k] += A[i,j,l] * B[j,k] * D[l,k]", "csf"),
        ("y[i] += A[i,j] * x[j]", "bcsr(4,4)"),
        ("y[i] += A[i,j] * x[j]", "bcsr(3,2)"),
        ("y[i] += A[i,j] * x[j]", "bcsr(2,3)"),
        ("y[i] += A[i,j] * x[j]", "bcsr(8,3)"),
        ("y[i] += A[i,j] * x[j]", "bcsr(16,2)"),
    ] {
        let program = Program::parse(expression).unwrap();
        let kernel = kernel(expression, &[("A", layout)]).compile().unwrap();
        for k in (1..35).chain([40, 48, 63, 64, 127, 128]) {
            let (i, j, l) = (random.below(20), random.below(20), random.below(6));
            let extent = |name: char| match name {
                'i' => i,
                'j' => j,
                'l' => l,
                _ => k,
            };
            let mut given: IndexMap<Name, OracleTensor> = IndexMap::new();
            for part in expression.split(&['=', '*'][..]).skip(1) {
                let (name, indices) = part.trim().trim_end_matches(']').split_once('[').unwrap();
                let dims: Vec<usize> = indices.chars().filter(|c| *c != ',').map(extent).collect();
                let values = values(&mut random, &dims, if name == "A" { 30 } else { 100 });
                given.insert(Name::from(name), OracleTensor { dims, values });
            }
            let dims = given.iter().map(|(name, t)| (name.clone(), t.dims.clone())).collect();
            let extents = resolve(&program, &dims, &IndexMap::new()).unwrap();
            let expected = interpret(&program, &given, &extents).unwrap();
            let layout_of = |name: &Name| if &**name == "A" { layout } else { "dense" };
            let tensors: Vec<(&str, Tensor)> = given
                .iter()
                .map(|(n, t)| (&**n, packed(layout_of(n), &t.dims, &t.values)))
                .collect();
            let result = kernel.run(tensors.iter().map(|(n, t)| (*n, t))).unwrap();
            let got = result.values().as_slice::<f64>().unwrap();
            assert_eq!(got, expected, "{expression}, {layout}: {i} {j} {k} {l}");
        }
    }
}
