//! Who runs when, and how often: so that neither a neighbour nor the clock decides who is faster.

use std::time::{Duration, Instant};

/// A run that takes less is too short for one reading of the clock: a sample then is the mean of several.
const SHORT: Duration = Duration::from_micros(100);

/// A run that takes less is shorter than what caches and branch predictors need to forget who ran before: some runs
/// come before those that are timed.
const FORGETTING: Duration = Duration::from_millis(5);
const WARMING: usize = 3;

/// More runs in a sample take long where the result is large, and has to be reset between them.
const MOST_RUNS: usize = 100;

/// The order of a round among `n`. In `n` rounds each is at every place once, and, if `n` is even, comes once behind
/// each other one; if it is odd, twice in `2 n` rounds (Williams 1949, designs balanced for the effect of what was
/// before).
///
/// ```text
/// n = 4:   0 3 1 2,   1 0 2 3,   2 1 3 0,   3 2 0 1
/// ```
pub fn turns(n: usize, round: usize) -> Vec<usize> {
    let place = |k: usize| if k.is_multiple_of(2) { k / 2 } else { n - 1 - k / 2 };
    let mut out: Vec<usize> = (0..n).map(|k| (place(k) + round) % n).collect();
    if n % 2 == 1 && round / n % 2 == 1 {
        out.reverse();
    }
    out
}

/// How many runs of this length a sample takes.
pub fn runs(one: Duration) -> usize {
    match one < SHORT {
        true => (SHORT.as_nanos() / one.as_nanos().max(1)).min(MOST_RUNS as u128) as usize,
        false => 1,
    }
}

/// How many runs of this length come before those of a sample, whose times do not count.
pub fn warming(one: Duration) -> usize {
    if one < FORGETTING { WARMING } else { 0 }
}

/// What it takes to read the clock twice, which is part of every time.
pub fn clock() -> Duration {
    let mut all: Vec<Duration> = (0..999).map(|_| Instant::now().elapsed()).collect();
    all.sort();
    all[all.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_first_once_and_behind_every_other_as_often() {
        for n in 1..8 {
            let rounds = if n % 2 == 1 { 2 * n } else { n };
            let mut behind = vec![vec![0; n]; n];
            let mut first = vec![0; n];
            for order in (0..rounds).map(|round| turns(n, round)) {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..n), "{order:?}");
                first[order[0]] += 1;
                order.windows(2).for_each(|pair| behind[pair[0]][pair[1]] += 1);
            }
            assert!(first.iter().all(|times| *times == rounds / n), "{n}: {first:?}");
            for (a, row) in behind.iter().enumerate() {
                let fair = |b: usize| if a == b { 0 } else { rounds / n };
                assert!((0..n).all(|b| row[b] == fair(b)), "{n}: {behind:?}");
            }
        }
        assert!(turns(0, 0).is_empty());
    }

    #[test]
    fn what_is_short_runs_several_times_in_a_sample() {
        let of = |nanoseconds| runs(Duration::from_nanos(nanoseconds));
        assert_eq!([0, 100, 2_000, 50_000, 60_000, 1_000_000].map(of), [100, 100, 50, 2, 1, 1]);
        assert_eq!([0, 4_000, 50_000].map(|us| warming(Duration::from_micros(us))), [3, 3, 0]);
        assert!(clock() < SHORT);
    }
}
