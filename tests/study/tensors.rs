//! Random tensors for a statement.

use std::sync::Arc;

use siskin::packing::{PackOptions, pack};
use siskin::tensor::Entries;
use siskin::{Layout, Tensor};

use super::random::Random;

/// A tensor that stores each element with a chance, in percent.
pub fn stored(
    random: &mut Random,
    layout: &str,
    dims: &[usize],
    percent: usize,
    value: impl Fn(&mut Random) -> f64,
) -> Tensor {
    let mut points = Vec::new();
    for at in 0..dims.iter().product() {
        let mut point = vec![0; dims.len()];
        let mut rest = at;
        for (c, extent) in point.iter_mut().zip(dims).rev() {
            (*c, rest) = (rest % extent, rest / extent);
        }
        if random.chance(percent) {
            points.push((point, value(random)));
        }
    }
    let points: Vec<(&[usize], f64)> = points.iter().map(|(p, v)| (&p[..], *v)).collect();
    let entries = Entries::from_points(dims, &points).unwrap();
    let layout = Arc::new(Layout::named_for_rank(layout, dims.len()).unwrap());
    pack(&layout, &entries, &PackOptions::default()).unwrap()
}

/// The extents of a tensor whose subscripts in a statement are some of `i`, `j` and `k`.
pub fn dims_of(expression: &str, tensor: &str, extents: [usize; 3]) -> Vec<usize> {
    let subscripts = expression.split(&format!("{tensor}[")).nth(1).unwrap();
    let subscripts = subscripts.split(']').next().unwrap();
    let extent = |n: char| extents["ijk".find(n).unwrap()];
    subscripts.chars().filter(|c| *c != ',').map(extent).collect()
}
