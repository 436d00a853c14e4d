//! Decimal numbers in text, as the nearest floats.
//!
//! In: bytes that begin with a number. Out: the float and how many bytes it took, or nothing for what is
//! unusual — words, very many digits, very large exponents, numbers too close to the middle of two
//! floats —, which the standard library reads then.

/// A decimal number `± mantissa × 10^exponent` whose digits all fit in the mantissa.
pub(super) struct Decimal {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

/// So many digits always fit in the mantissa.
const MOST_DIGITS: usize = 19;

impl Decimal {
    /// Scans a decimal that ends at a blank or the end of the text; also gives its length.
    #[inline(always)]
    pub fn scan(text: &[u8]) -> Option<(Decimal, usize)> {
        let negative = text.first() == Some(&b'-');
        let mut at = usize::from(negative || text.first() == Some(&b'+'));
        let begin = at;
        at = skip_zeros(text, at);
        let first = at;
        let mut mantissa = digits(text, &mut at, 0);
        let mut significant = at - first;
        let mut n_digits = at - begin;
        let mut after_point = 0;
        if text.get(at) == Some(&b'.') {
            at += 1;
            let begin = at;
            if significant == 0 {
                at = skip_zeros(text, at);
            }
            let first = at;
            mantissa = digits(text, &mut at, mantissa);
            significant += at - first;
            after_point = at - begin;
            n_digits += after_point;
        }
        if n_digits == 0 || significant > MOST_DIGITS {
            return None;
        }
        let mut exponent = 0i32;
        if let Some(b'e' | b'E') = text.get(at) {
            at += 1;
            let negative = text.get(at) == Some(&b'-');
            at += usize::from(negative || text.get(at) == Some(&b'+'));
            let first = at;
            while let Some(&byte) = text.get(at)
                && byte.is_ascii_digit()
                && at < first + 4
            {
                exponent = exponent * 10 + i32::from(byte - b'0');
                at += 1;
            }
            if at == first {
                return None;
            }
            if negative {
                exponent = -exponent;
            }
        }
        if !text.get(at).is_none_or(u8::is_ascii_whitespace) {
            return None;
        }
        let exponent = exponent.checked_sub(i32::try_from(after_point).ok()?)?;
        Some((Decimal { negative, mantissa, exponent }, at))
    }

    /// The nearest `f64`, if that is certain.
    #[inline(always)]
    pub fn to_f64(&self) -> Option<f64> {
        let (significand, exponent) = self.nearest::<53>()?;
        // The powers of ten of the table keep the exponent far from the ends of its range.
        let power = f64::from_bits(((exponent + 1023) as u64) << 52);
        let x = significand as f64 * power;
        Some(if self.negative { -x } else { x })
    }

    /// The nearest `f32` (not the nearest `f64` rounded again), if that is certain.
    #[inline]
    pub fn to_f32(&self) -> Option<f32> {
        let (significand, exponent) = self.nearest::<24>()?;
        // Beyond, an `f32` has fewer bits, or is infinite.
        if significand != 0 && !(-126..=126).contains(&(exponent + 23)) {
            return None;
        }
        let power = f64::from_bits(((exponent + 1023) as u64) << 52);
        let x = (significand as f64 * power) as f32;
        Some(if self.negative { -x } else { x })
    }

    /// `significand × 2^exponent`, the nearest one of `BITS` bits (or the next power of two), if that is
    /// certain.
    ///
    /// The mantissa is shifted up to `w` of 64 bits, and the power of five is `s × 2^e`, where `s` has 64
    /// bits, and up to 1 more that is cut off. So the exact product lies between `w s` and `w s + 2^64`: of
    /// its upper half `high`, it is between `high + low / 2^64` and one more than that. Where all of this
    /// is on one side of the middle between two floats, rounding is certain.
    #[inline]
    fn nearest<const BITS: u32>(&self) -> Option<(u64, i32)> {
        if self.mantissa == 0 {
            return Some((0, 0));
        }
        let at = usize::try_from(self.exponent.checked_add(LARGEST_POWER)?).ok()?;
        let &(power, power_exponent) = POWERS_OF_FIVE.get(at)?;
        let up = self.mantissa.leading_zeros();
        let product = u128::from(self.mantissa << up) * u128::from(power);
        let (high, low) = ((product >> 64) as u64, product as u64);
        let shift = 64 - high.leading_zeros() - BITS;
        let (kept, rest) = (high >> shift, high & ((1 << shift) - 1));
        let half = 1 << (shift - 1);
        let significand = if rest + 2 <= half {
            kept
        } else if rest > half || (rest == half && low > 0) {
            kept + 1
        } else {
            return None;
        };
        let exponent = shift as i32 + 64 + power_exponent - up as i32 + self.exponent;
        Some((significand, exponent))
    }
}

#[inline]
fn skip_zeros(text: &[u8], mut at: usize) -> usize {
    while text.get(at) == Some(&b'0') {
        at += 1;
    }
    at
}

/// Appends the digits at `at` to a mantissa, which wraps around if there are too many.
#[inline]
fn digits(text: &[u8], at: &mut usize, mut mantissa: u64) -> u64 {
    while let Some(eight) = text[*at..].first_chunk::<8>()
        && let Some(number) = eight_digits(*eight)
    {
        mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(number);
        *at += 8;
    }
    while let Some(&byte) = text.get(*at)
        && byte.is_ascii_digit()
    {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        *at += 1;
    }
    mantissa
}

/// The number that eight digits make, computed in the eight bytes of a word at once.
#[inline]
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    let bytes = u64::from_le_bytes(text);
    let digits = bytes.wrapping_sub(0x3030_3030_3030_3030);
    // A byte above `9` overflows into its upper bit here, and one below `0` has borrowed there.
    if (bytes.wrapping_add(0x4646_4646_4646_4646) | digits) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // Neighbours become one number: pairs, then fours, then all; the first digit is the lowest byte.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// 5^54 is the last one that can be halved and doubled in 128 bits.
const LARGEST_POWER: i32 = 54;

/// 5^-54 to 5^54: the leading 64 bits, and the exponent of two of the last of them.
static POWERS_OF_FIVE: [(u64, i32); 2 * LARGEST_POWER as usize + 1] = powers_of_five();

const fn powers_of_five() -> [(u64, i32); 2 * LARGEST_POWER as usize + 1] {
    let middle = LARGEST_POWER as usize;
    let mut powers = [(0, 0); 2 * LARGEST_POWER as usize + 1];
    let mut five: u128 = 1;
    let mut k = 0;
    while k <= middle {
        let bits = u128::BITS - five.leading_zeros();
        let exponent = bits as i32 - 64;
        let leading = if exponent > 0 { five >> exponent } else { five << -exponent };
        powers[middle + k] = (leading as u64, exponent);
        if k > 0 {
            // 2^(bits + 63) / 5^k, digit by digit: it is below 2^64, since 5^k is above 2^(bits - 1).
            let mut rest: u128 = 1 << (bits - 1);
            let mut quotient: u64 = 0;
            let mut digit = 0;
            while digit < 64 {
                rest *= 2;
                quotient *= 2;
                if rest >= five {
                    rest -= five;
                    quotient += 1;
                }
                digit += 1;
            }
            powers[middle - k] = (quotient, -(bits as i32 + 63));
        }
        if k < middle {
            five *= 5;
        }
        k += 1;
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let Some((decimal, n)) = Decimal::scan(text.as_bytes()) else { return };
        assert_eq!(n, text.len());
        let (expected, narrow) = (text.parse::<f64>().unwrap(), text.parse::<f32>().unwrap());
        if let Some(x) = decimal.to_f64() {
            assert_eq!(x.to_bits(), expected.to_bits(), "{text}");
        }
        if let Some(x) = decimal.to_f32() {
            assert_eq!(x.to_bits(), narrow.to_bits(), "{text}");
        }
    }

    #[test]
    fn numbers_beside_the_middle_of_two_floats_are_not_guessed() {
        for text in [
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "9007199254740995",
            "9007199254740993.001",
            "16777217",
            "16777219",
            "16777217.0000001",
            "1.00000005960464477539",
            "0.1000000014901161194",
            "3.4028235677973366e38",
            "1.17549435e-38",
            "1.1754942e-38",
            "18446744073709551615",
            "9999999999999999999",
            "0",
            "-0.0",
            "0e54",
            "5e-324",
            "1e54",
            "1e-54",
            "9999999999999999999e54",
        ] {
            check(text);
        }
    }

    #[test]
    fn random_numbers_are_read_the_fast_way() {
        let mut state = 1_u64;
        let mut fast = 0;
        for _ in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let x = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let text = format!("{x:?}");
            check(&text);
            let (decimal, _) = Decimal::scan(text.as_bytes()).unwrap();
            fast += usize::from(decimal.to_f64().is_some());
        }
        assert!(fast > 9_900, "{fast}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_fast_way_agrees_with_the_standard_library(
            mantissa: u64, bits in 0_u32..64, exponent in -70..70,
        ) {
            check(&format!("{}e{exponent}", mantissa >> bits));
        }

        #[test]
        fn floats_and_what_lies_between_them_are_read_right(bits: u64, narrow: u32, more: bool) {
            let x = f64::from_bits(bits >> 2 | 0x3000_0000_0000_0000);
            check(&format!("{x:e}"));
            let x = f64::from(f32::from_bits(narrow >> 1));
            // The middle of two `f32` has one bit more.
            let middle = f64::from_bits(x.to_bits() | 1 << 28);
            check(&format!("{:e}", if more { middle } else { x }));
        }

        #[test]
        fn eight_digits_are_told_from_other_bytes(text: [u8; 8], number in 0_u64..100_000_000) {
            let is_number = text.iter().all(u8::is_ascii_digit);
            prop_assert_eq!(eight_digits(text).is_some(), is_number);
            let digits = format!("{number:08}");
            prop_assert_eq!(eight_digits(digits.as_bytes().try_into().unwrap()), Some(number));
        }
    }
}
