//! Ratios: competitors take turns, so that a drifting clock or a busy neighbour meets all of them, and none is always
//! behind the same other (what was before is felt for longer than three calls: 1.5 times the time was seen);
//! each turn warms up with three calls, then times a batch. The first quartile of the turns counts:
//! on a quiet machine it is close to the median, on a shared one the slower turns tell of others.

use std::time::{Duration, Instant};

/// Calls before the clock starts, in every turn.
const WARM_UP: usize = 3;
/// A batch is long enough for the clock's resolution to vanish.
const BATCH: Duration = Duration::from_micros(300);
/// Turns of each competitor: as many as fit this time.
const BUDGET: Duration = Duration::from_millis(400);
const TURNS: std::ops::RangeInclusive<u128> = 5..=16;

/// Computes into the given output.
type Run<'a> = Box<dyn FnMut(&mut [f64]) + 'a>;

/// Something to time: adds its result to an output.
pub struct Competitor<'a> {
    pub name: &'static str,
    run: Run<'a>,
}

impl<'a> Competitor<'a> {
    pub fn new(name: &'static str, run: impl FnMut(&mut [f64]) + 'a) -> Competitor<'a> {
        Competitor { name, run: Box::new(run) }
    }
}

/// Seconds of one call of each competitor, whose outputs have `len` elements and must agree:
/// a fast wrong kernel must not win.
pub fn compare(case: &str, len: usize, competitors: &mut [Competitor<'_>]) -> Vec<f64> {
    let mut outputs = vec![vec![0.0; len]; competitors.len()];
    for (c, y) in competitors.iter_mut().zip(&mut outputs) {
        (c.run)(y);
    }
    for (c, y) in competitors.iter().zip(&outputs).skip(1) {
        assert_close(&format!("{case}: {} and {}", c.name, competitors[0].name), y, &outputs[0]);
    }
    let mut batches = Vec::with_capacity(competitors.len());
    let mut turns = *TURNS.end();
    for (c, y) in competitors.iter_mut().zip(&mut outputs) {
        let start = Instant::now();
        (c.run)(y);
        let once = start.elapsed().max(Duration::from_nanos(20));
        let batch = (BATCH.as_nanos() / once.as_nanos()).clamp(1, 100_000);
        let turn = once.as_nanos() * (batch + WARM_UP as u128);
        turns = turns.min(BUDGET.as_nanos() / turn).max(*TURNS.start());
        batches.push(batch);
    }
    let mut seconds = vec![Vec::new(); competitors.len()];
    for round in 0..turns as usize {
        for k in in_order(competitors.len(), round) {
            let (c, y) = (&mut competitors[k], &mut outputs[k]);
            for _ in 0..WARM_UP {
                (c.run)(y);
            }
            let start = Instant::now();
            for _ in 0..batches[k] {
                (c.run)(y);
            }
            seconds[k].push(start.elapsed().as_secs_f64() / batches[k] as f64);
        }
    }
    seconds.into_iter().map(first_quartile).collect()
}

/// The order of a round among `n`: each round begins with another one, and goes on in other steps.
fn in_order(n: usize, round: usize) -> Vec<usize> {
    fn common_divisor(a: usize, b: usize) -> usize {
        if b == 0 { a } else { common_divisor(b, a % b) }
    }
    let steps: Vec<usize> = (1..=n).filter(|step| common_divisor(n, *step) == 1).collect();
    let step = steps[round % steps.len()];
    (0..n).map(|k| (k * step + round) % n).collect()
}

fn first_quartile(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 4]
}

pub fn geometric_mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for n in numbers {
        sum += n.ln();
        count += 1;
    }
    assert!(count > 0, "a mean of nothing");
    (sum / f64::from(count)).exp()
}

/// A wanted ratio beside the measured one.
pub fn verdict(what: &str, measured: f64, wanted: &str, met: bool) {
    let mark = if met { "met" } else { "MISSED" };
    println!("{what:<56} {measured:>8.2}   wanted {wanted:<8} {mark}");
}

/// Panics unless two results agree up to the order of summation.
fn assert_close(what: &str, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = a.iter().fold(0.0f64, |m, v| m.max(v.abs())).max(1e-300);
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-11 * scale, "{what}: element {i} is {a}, expected {b}");
    }
}
