//! Data that fits a layout: not every layout holds every tensor.
//!
//! A packed triangle holds no entry above the diagonal, a symmetric half only what is mirrored.
//! Where packing refuses the entries of a case, parts of them are offered, until one is taken. The
//! expected result is that of the part.

use std::collections::BTreeMap;

/// Coordinates and a value.
pub type Entry = (Vec<usize>, f64);

/// A part of a tensor; the first is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    General,
    /// Entries of which no coordinate is larger than the one before it.
    Lower,
    /// Every entry at all permutations of its coordinates; extents must be equal.
    Symmetric,
    /// Every second entry of each row.
    Alternating,
    Diagonal,
}

pub const VARIANTS: [Variant; 5] =
    [Variant::General, Variant::Lower, Variant::Symmetric, Variant::Alternating, Variant::Diagonal];

impl Variant {
    /// The entries of this variant; `None` if the extents do not allow it.
    pub fn of(self, dims: &[usize], entries: &[Entry]) -> Option<Vec<Entry>> {
        let filtered = |keep: &dyn Fn(&[usize]) -> bool| {
            Some(entries.iter().filter(|(at, _)| keep(at)).cloned().collect())
        };
        match self {
            Variant::General => Some(entries.to_vec()),
            Variant::Lower => filtered(&|at| at.is_sorted_by(|a, b| a >= b)),
            Variant::Alternating => filtered(&|at| at.iter().sum::<usize>() % 2 == 0),
            Variant::Diagonal => filtered(&|at| at.iter().all(|c| *c == at[0])),
            Variant::Symmetric => {
                if !dims.iter().all(|n| *n == dims[0]) {
                    return None;
                }
                let mut sums: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
                for (at, value) in entries {
                    for mirrored in permutations(at) {
                        *sums.entry(mirrored).or_default() += value;
                    }
                }
                Some(sums.into_iter().collect())
            }
        }
    }
}

/// All orders of `at`, each once.
fn permutations(at: &[usize]) -> Vec<Vec<usize>> {
    if at.is_empty() {
        return vec![Vec::new()];
    }
    let mut out: Vec<Vec<usize>> = Vec::new();
    for (k, first) in at.iter().enumerate() {
        let rest: Vec<usize> = at[..k].iter().chain(&at[k + 1..]).copied().collect();
        for mut order in permutations(&rest) {
            order.insert(0, *first);
            if !out.contains(&order) {
                out.push(order);
            }
        }
    }
    out
}
