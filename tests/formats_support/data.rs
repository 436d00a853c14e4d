//! Small tensors of every kind that formats are made for.

use std::collections::BTreeMap;

use super::random::Random;

/// Dimensions, and entries in the order in which they are given.
#[derive(Clone, Debug)]
pub struct Data {
    pub dims: Vec<usize>,
    pub entries: Vec<(Vec<usize>, f64)>,
}

const EXTENTS: &[usize] = &[0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7];

pub fn data(random: &mut Random, rank: usize) -> Data {
    let square = random.chance(60).then(|| *random.pick(EXTENTS));
    let dims: Vec<usize> =
        (0..rank).map(|_| square.unwrap_or_else(|| *random.pick(EXTENTS))).collect();
    let all = points(&dims);
    let kind = random.below(10);
    let density = *random.pick(&[0, 10, 30, 60, 100]);
    let mut entries: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for (k, at) in all.iter().enumerate() {
        let ordered = at.is_sorted_by(|a, b| a >= b);
        let (low, high) =
            (at.iter().min().copied().unwrap_or(0), at.iter().max().copied().unwrap_or(0));
        let kept = match kind {
            0 | 1 => random.chance(density),
            2 => ordered && random.chance(density),
            3 => high - low <= 1,
            4 => at.iter().all(|c| *c == at[0]),
            5 => at.first().is_some_and(|c| c % 2 == 0) && random.chance(density),
            6 | 7 | 9 => true,
            _ => random.chance(density),
        };
        if kept {
            let value = match kind {
                // Equal along diagonals.
                6 => {
                    at.first().copied().unwrap_or(0) as f64 - at.last().copied().unwrap_or(0) as f64
                        + 9.0
                }
                7 => 1.0,
                // Equal along diagonals that go round.
                9 => {
                    let n = dims.first().copied().unwrap_or(1);
                    let first = at.first().copied().unwrap_or(0);
                    1.0 + ((at.last().copied().unwrap_or(0) + n - first) % n) as f64
                }
                _ => 1.0 + k as f64,
            };
            entries.insert(at.clone(), value);
        }
    }
    if kind == 8 {
        // Mirrored.
        let mut mirrored = entries.clone();
        for (at, value) in &entries {
            let mut other = at.clone();
            other.reverse();
            if other.iter().zip(&dims).all(|(c, n)| c < n) {
                mirrored.insert(other, *value);
                mirrored.insert(at.clone(), *value);
            }
        }
        entries = mirrored;
    }
    let mut entries: Vec<(Vec<usize>, f64)> = entries.into_iter().collect();
    if random.chance(50) {
        random.shuffle(&mut entries);
    }
    if random.chance(10) && !entries.is_empty() {
        // A duplicate.
        let twice = random.pick(&entries).clone();
        entries.push(twice);
    }
    Data { dims, entries }
}

fn points(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![Vec::new()], |points, &n| {
        let longer =
            |at: &Vec<usize>| (0..n).map(|c| [at.as_slice(), &[c]].concat()).collect::<Vec<_>>();
        points.iter().flat_map(longer).collect()
    })
}

/// What the entries add up to, zeros left out.
pub fn sums<'e>(
    entries: impl IntoIterator<Item = (Vec<usize>, f64)> + 'e,
) -> BTreeMap<Vec<usize>, f64> {
    let mut out: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for (at, value) in entries {
        *out.entry(at).or_default() += value;
    }
    out.retain(|_, v| *v != 0.0);
    out
}
