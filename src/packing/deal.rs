//! Dealing computed items into buckets, all cores at work.
//!
//! In: how many items there are, what computes those of a range, and the bucket of an item. Out: all
//! items by their buckets, each bucket in the order of the items, and where each ends. Items are
//! computed twice, first to count them: a place for all of them before they are dealt would cost more,
//! most of all the system, which has to clear it.

use rayon::prelude::*;

/// So many items are computed at once: they stay in the first cache.
pub(super) const AT_ONCE: usize = 1 << 12;

/// Deals `n` items. `compute` fills a slice with the items from a number on.
pub(super) fn deal<T: Copy + Send + Sync>(
    n: usize,
    buckets: usize,
    zero: T,
    compute: &(impl Fn(usize, &mut [T]) + Sync),
    bucket: &(impl Fn(&T) -> usize + Sync),
) -> (Vec<T>, Vec<usize>) {
    let share = n.div_ceil(rayon::current_num_threads()).max(1);
    let each = |number: usize, take: &mut dyn FnMut(&[T])| {
        let (mut first, end) = (number * share, n.min((number + 1) * share));
        let mut items = vec![zero; AT_ONCE.min(share)];
        while first < end {
            let count = items.len().min(end - first);
            compute(first, &mut items[..count]);
            take(&items[..count]);
            first += count;
        }
    };
    let shares = n.div_ceil(share).max(1);
    let count = |number| {
        let mut counts = vec![0; buckets];
        each(number, &mut |items| items.iter().for_each(|x| counts[bucket(x)] += 1));
        counts
    };
    let counts: Vec<Vec<usize>> = (0..shares).into_par_iter().map(count).collect();
    // Of each bucket first what the first share puts there, then what the second does, …
    let mut end = 0;
    let in_order = (0..buckets).flat_map(|b| counts.iter().map(move |c| c[b]));
    let ends: Vec<usize> = in_order
        .map(|count| {
            end += count;
            end
        })
        .collect();
    let mut dealt = vec![zero; n];
    let mut places: Vec<Vec<_>> = (0..shares).map(|_| Vec::with_capacity(buckets)).collect();
    for (k, place) in split(&mut dealt, &ends).into_iter().enumerate() {
        places[k % shares].push(place.iter_mut());
    }
    places.into_par_iter().enumerate().for_each(|(number, mut places)| {
        each(number, &mut |items| {
            for x in items {
                *places[bucket(x)].next().expect("as many places as were counted") = *x;
            }
        });
    });
    let ends = ends.chunks_exact(shares).map(|of_bucket| of_bucket[shares - 1]).collect();
    (dealt, ends)
}

/// The slices that end there, one behind the other.
pub(super) fn split<'a, T>(mut items: &'a mut [T], ends: &[usize]) -> Vec<&'a mut [T]> {
    let mut start = 0;
    let next = |&end: &usize| {
        let (slice, rest) = std::mem::take(&mut items).split_at_mut(end - start);
        (items, start) = (rest, end);
        slice
    };
    ends.iter().map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_are_dealt_in_their_order(
            items in prop::collection::vec((0..7_usize, 0..99_u8), 0..3 * AT_ONCE),
        ) {
            let compute = |first: usize, part: &mut [(usize, u8)]| {
                part.copy_from_slice(&items[first..first + part.len()]);
            };
            let (dealt, ends) = deal(items.len(), 7, (0, 0), &compute, &|x| x.0);
            let mut expected = items.clone();
            expected.sort_by_key(|x| x.0);
            prop_assert_eq!(dealt, expected);
            let end = |b: usize| items.iter().filter(|x| x.0 <= b).count();
            prop_assert_eq!(ends, (0..7).map(end).collect::<Vec<_>>());
        }
    }
}
