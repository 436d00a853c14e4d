//! From numbers to places on the page.

use serde::Serialize;

/// A line across the plot, with what it stands for.
#[derive(Debug, PartialEq, Serialize)]
pub struct Tick {
    pub at: f64,
    pub label: String,
}

/// A range of numbers between two places.
#[derive(Clone, Copy)]
pub struct Axis {
    least: f64,
    most: f64,
    is_log: bool,
    start: f64,
    end: f64,
}

impl Axis {
    /// All positive numbers, by their logarithms, with some room around them.
    pub fn log(numbers: impl Iterator<Item = f64>, start: f64, end: f64) -> Axis {
        let (least, most) = bounds(numbers.filter(|x| *x > 0.0), 1.0, 10.0);
        let room = (most / least).powf(0.06).max(1.15);
        Axis { least: least / room, most: most * room, is_log: true, start, end }
    }

    /// From `least`, which is at its end, to the largest of the numbers or `most`.
    pub fn linear(
        least: f64,
        most: f64,
        numbers: impl Iterator<Item = f64>,
        start: f64,
        end: f64,
    ) -> Axis {
        let (_, found) = bounds(numbers, least, most);
        let most = least + (found.max(most) - least) * 1.06;
        Axis { least, most, is_log: false, start, end }
    }

    pub fn ends(&self) -> [f64; 2] {
        [self.least, self.most]
    }

    pub fn at(&self, x: f64) -> f64 {
        let part = match self.is_log {
            true => (x / self.least).ln() / (self.most / self.least).ln(),
            false => (x - self.least) / (self.most - self.least),
        };
        rounded(self.start + part * (self.end - self.start))
    }

    /// Round numbers, at most about ten.
    pub fn ticks(&self, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let numbers = if self.is_log { self.log_ticks() } else { self.linear_ticks() };
        numbers.into_iter().map(|x| Tick { at: self.at(x), label: label(x) }).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.most / self.least).log10();
        let steps: &[f64] = match decades {
            d if d < 2.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let (first, last) = (self.least.log10().floor() as i32, self.most.log10().ceil() as i32);
        let every = 1 + (last - first) / 10;
        let powers = (first..=last).filter(|e| e % every == 0);
        let all = powers.flat_map(|e| steps.iter().map(move |s| decimal(*s, e)));
        all.filter(|x| (self.least..=self.most).contains(x)).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.most - self.least) / 6.0;
        let power = rough.log10().floor() as i32;
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| decimal(s, power));
        let step = step.into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let count = ((self.most - self.least) / step) as usize;
        (0..=count).map(|k| self.least + step * k as f64).collect()
    }
}

fn bounds(numbers: impl Iterator<Item = f64>, least: f64, most: f64) -> (f64, f64) {
    let found = numbers.filter(|x| x.is_finite());
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (a, b) = found.fold(none, |(a, b), x| (a.min(x), b.max(x)));
    if a <= b { (a, b) } else { (least, most) }
}

/// Exact, as it is written.
fn decimal(digit: f64, power: i32) -> f64 {
    format!("{digit}e{power}").parse().unwrap_or(digit)
}

/// Tenths of a pixel are enough.
pub fn rounded(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

/// `20 µs`
pub fn seconds(s: f64) -> String {
    let (unit, name) = match s {
        _ if s < 0.999e-6 => (1e-9, "ns"),
        _ if s < 0.999e-3 => (1e-6, "µs"),
        _ if s < 0.999 => (1e-3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {name}", plain(s / unit))
}

/// `0.02`, `2·10⁻⁴`
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e5).contains(&x.abs()) {
        return plain(x);
    }
    let text = format!("{x:.2e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let raised = |c: char| match c {
        '-' => '⁻',
        c => c
            .to_digit(10)
            .map_or(c, |d| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][d as usize]),
    };
    let power: String = power.chars().map(raised).collect();
    if digits == "1" { format!("10{power}") } else { format!("{digits}·10{power}") }
}

/// To four digits.
fn plain(x: f64) -> String {
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::log([2e-5, 3e-3].into_iter(), 0.0, 100.0);
        let labels: Vec<String> = axis.ticks(seconds).into_iter().map(|t| t.label).collect();
        assert_eq!(labels, ["20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]);
        let axis = Axis::linear(1.0, 1.5, [1.2, 3.0].into_iter(), 100.0, 0.0);
        let ticks = axis.ticks(number);
        assert_eq!(ticks[0], Tick { at: 100.0, label: "1".to_string() });
        assert!(ticks.len() > 3 && ticks.iter().all(|t| (0.0..=100.0).contains(&t.at)));
        // Without numbers, and with one.
        for numbers in [&[][..], &[0.5], &[0.0]] {
            let axis = Axis::log(numbers.iter().copied(), 0.0, 100.0);
            assert!(!axis.ticks(number).is_empty(), "{numbers:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1e-4, 2.236e-4, 0.01, 1.0].map(number), ["10⁻⁴", "2.24·10⁻⁴", "0.01", "1"]);
        assert_eq!([1e-6, 2.5e-3, 1.0, 5e-9].map(seconds), ["1 µs", "2.5 ms", "1 s", "5 ns"]);
    }
}
