//! Seeded random numbers: splitmix64 (Steele, Lea, Flood 2014), the same on every machine.

/// A generator of 64-bit numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n`; the bias is below `n / 2^64`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of a matrix: uniform in `[-1, 1)`.
    pub fn value(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// `count` different numbers below `n`, in order.
    pub fn subset(&mut self, count: usize, n: usize) -> Vec<u32> {
        // Selection sampling (Knuth, algorithm S): one pass, ordered, without duplicates.
        let mut out = Vec::with_capacity(count);
        for k in 0..n {
            if self.below(n - k) < count - out.len() {
                out.push(k as u32);
            }
        }
        out
    }
}
