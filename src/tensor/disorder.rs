//! Where an array breaks an order, a range, or repeats a number.
//!
//! Each search first asks block by block, without branches, whether anything is wrong; only then
//! it looks for the place.

use crate::check::validation::Relation;

/// Elements of index arrays, compared as the `i64` they stand for.
pub(super) trait Element: Copy {
    fn value(self) -> i64;
}

macro_rules! element {
    ($($integer:ty),*) => { $(
        impl Element for $integer {
            #[inline]
            fn value(self) -> i64 {
                // A `u64` beyond `i64` turns negative, which every declared range excludes.
                self as i64
            }
        }
    )* };
}
element!(u32, u64, i32, i64);

/// Elements looked at together: enough to pay for the branch, few enough to search twice.
const BLOCK: usize = 1024;

/// The first element outside the inclusive bounds.
pub(super) fn outside<T: Element>(v: &[T], least: i64, most: i64) -> Option<usize> {
    let wrong = |x: T| (x.value() < least) | (x.value() > most);
    v.chunks(BLOCK).position(|block| block.iter().fold(false, |any, &x| any | wrong(x))).and_then(
        |block| {
            let start = block * BLOCK;
            v[start..].iter().position(|&x| wrong(x)).map(|at| start + at)
        },
    )
}

/// The first `k` for which elements `k` and `k + 1` compare like this.
pub(super) fn first_pair_that_is<T: Element>(v: &[T], relation: Relation) -> Option<usize> {
    match relation {
        Relation::Gt => first_pair(v, |a, b| a > b),
        Relation::Ge => first_pair(v, |a, b| a >= b),
        Relation::Lt => first_pair(v, |a, b| a < b),
        Relation::Le => first_pair(v, |a, b| a <= b),
    }
}

fn first_pair<T: Element>(v: &[T], wrong: impl Fn(i64, i64) -> bool) -> Option<usize> {
    let pairs = v.len().saturating_sub(1);
    let mut start = 0;
    while start < pairs {
        let end = (start + BLOCK).min(pairs);
        let (left, right) = (&v[start..end], &v[start + 1..end + 1]);
        let any =
            left.iter().zip(right).fold(false, |any, (&a, &b)| any | wrong(a.value(), b.value()));
        if any {
            return (start..end).find(|&k| wrong(v[k].value(), v[k + 1].value()));
        }
        start = end;
    }
    None
}

/// Two places with the same number, those of the first repetition in order of the number.
pub(super) fn repeated<T: Element>(v: &[T]) -> Option<(usize, usize)> {
    // Strictly increasing numbers, the usual case, need no copy.
    first_pair(v, |a, b| a >= b)?;
    let mut sorted: Vec<(i64, usize)> = v.iter().enumerate().map(|(k, x)| (x.value(), k)).collect();
    sorted.sort_unstable();
    let at = sorted.windows(2).position(|w| w[0].0 == w[1].0)?;
    Some((sorted[at].1, sorted[at + 1].1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_found_beyond_the_first_block() {
        let mut v: Vec<u32> = (0..5000).collect();
        assert_eq!(first_pair_that_is(&v, Relation::Ge), None);
        v[1024] = 1023;
        v[4000] = 9999;
        assert_eq!(first_pair_that_is(&v, Relation::Ge), Some(1023));
        assert_eq!(outside(&v, 0, 4999), Some(4000));
        assert_eq!(repeated(&v), Some((1023, 1024)));
        assert_eq!(outside(&[u64::MAX], 0, i64::MAX), Some(0));
        assert_eq!(first_pair_that_is(&[3_i32, 3, -1], Relation::Lt), None);
        assert_eq!(first_pair_that_is::<u32>(&[], Relation::Ge), None);
    }
}
