//! The generator of all that is random.

/// Steele, Lea and Flood, *Fast splittable pseudorandom number generators* (2014).
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// What begins with a number and a name.
    pub fn of(seed: u64, name: &str) -> SplitMix64 {
        name.bytes().fold(SplitMix64(seed), |mut generator, byte| {
            SplitMix64(generator.next() ^ u64::from(byte))
        })
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// In `(0, 1]`: what is stored is not zero.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut generator = SplitMix64(1234567);
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!([0; 3].map(|_| generator.next()), expected);
    }
}
