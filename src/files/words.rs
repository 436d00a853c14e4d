//! Numbers in text: the words of a line, read without copying.
//!
//! In: a text whose first line is read. Out: integers, floats and values, or the [`Fault`] that says what is wrong with
//! the word. Floats are always the nearest ones: short decimals go a fast way that rounds only
//! once, all others go to the standard library.
//!
//! What is usual is inlined where it is read; what is not is another function, which gets a copy of the
//! words, so that those of the reader can stay in registers.

use std::fmt;

use super::decimal::Decimal;
use crate::tensor::{Values, exact_integer};

/// What is wrong with the next word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// There is none.
    Missing,
    /// A count or coordinate below zero.
    Negative,
    NotANumber(String),
    NotAnInteger(String),
    OutOfRange(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing => f.write_str("is missing"),
            Fault::Negative => f.write_str("is negative"),
            Fault::NotANumber(word) => write!(f, "is not a number: `{word}`"),
            Fault::NotAnInteger(word) => write!(f, "is not an integer: `{word}`"),
            Fault::OutOfRange(word) => write!(f, "is out of range: `{word}`"),
        }
    }
}

/// The words of a line not yet read.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// Those of the first line of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Words { rest: text }
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        while let [first, rest @ ..] = self.rest
            && first.is_ascii_whitespace()
            && *first != b'\n'
        {
            self.rest = rest;
        }
    }

    /// Whether no word is left.
    #[inline(always)]
    pub fn at_end(&mut self) -> bool {
        self.skip_blanks();
        matches!(self.rest, [] | [b'\n', ..])
    }

    /// Whether the next word begins with this byte.
    #[inline]
    pub fn begin_with(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        self.rest.first() == Some(&byte)
    }

    /// Bytes not yet read, of the line and behind it.
    #[inline]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next word; empty at the end.
    pub fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let n = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(n);
        self.rest = rest;
        word
    }

    /// Number of words left.
    pub fn count(mut self) -> usize {
        let mut n = 0;
        while !self.word().is_empty() {
            n += 1;
        }
        n
    }

    /// The next word as a count or coordinate.
    #[inline(always)]
    pub fn unsigned(&mut self) -> Result<u64, Fault> {
        self.skip_blanks();
        match self.usual_unsigned() {
            Some((value, n)) => {
                self.rest = &self.rest[n..];
                Ok(value)
            }
            None => self.read_unusual(Self::unusual_unsigned),
        }
    }

    /// A few digits, and how many.
    #[inline(always)]
    fn usual_unsigned(&self) -> Option<(u64, usize)> {
        let mut n = 0;
        let mut value = 0u64;
        // 18 digits cannot overflow; longer ones are rare enough for the slow way.
        while n < 18
            && let Some(&byte) = self.rest.get(n)
            && byte.is_ascii_digit()
        {
            value = value * 10 + u64::from(byte - b'0');
            n += 1;
        }
        let whole = n > 0 && self.rest.get(n).is_none_or(u8::is_ascii_whitespace);
        whole.then_some((value, n))
    }

    /// Reads with a copy.
    #[inline(always)]
    fn read_unusual<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let mut words = *self;
        let value = read(&mut words);
        *self = words;
        value
    }

    #[cold]
    fn unusual_unsigned(&mut self) -> Result<u64, Fault> {
        let word = self.word();
        match integer(word) {
            Ok(wide) if wide < 0 => Err(Fault::Negative),
            Ok(wide) => u64::try_from(wide).map_err(|_| Fault::OutOfRange(shown(word))),
            Err(fault) => Err(fault),
        }
    }

    /// The next word as an integer: also an integral float such as `2.0` or `1e3`.
    pub fn signed(&mut self) -> Result<i64, Fault> {
        let word = self.word();
        match integer(word) {
            Ok(wide) => i64::try_from(wide).map_err(|_| Fault::OutOfRange(shown(word))),
            Err(Fault::NotAnInteger(_)) => {
                let x: f64 = standard_parse(word)?;
                exact_integer(x).ok_or_else(|| Fault::NotAnInteger(shown(word)))
            }
            Err(fault) => Err(fault),
        }
    }

    /// The next word as the nearest `f64`.
    #[inline(always)]
    pub fn float(&mut self) -> Result<f64, Fault> {
        match self.usual_float() {
            Some(x) => Ok(x),
            None => self.read_unusual(Self::unusual_float),
        }
    }

    /// A short decimal.
    #[inline(always)]
    fn usual_float(&mut self) -> Option<f64> {
        self.skip_blanks();
        let (decimal, n) = Decimal::scan(self.rest)?;
        let x = decimal.to_f64()?;
        self.rest = &self.rest[n..];
        Some(x)
    }

    #[cold]
    fn unusual_float(&mut self) -> Result<f64, Fault> {
        let word = self.word();
        finite_unless_said(word, standard_parse(word)?, f64::is_infinite)
    }

    /// The next word as the nearest `f32` (not the nearest `f64` rounded again).
    pub fn float32(&mut self) -> Result<f32, Fault> {
        self.skip_blanks();
        if let Some((decimal, n)) = Decimal::scan(self.rest)
            && let Some(x) = decimal.to_f32()
        {
            self.rest = &self.rest[n..];
            return Ok(x);
        }
        let word = self.word();
        finite_unless_said(word, standard_parse(word)?, f32::is_infinite)
    }

    /// Appends the next word to `values`, read as their type (`Bool`: whether it is not zero).
    #[inline(always)]
    pub fn push_value(&mut self, values: &mut Values) -> Result<(), Fault> {
        if let Values::F64(v) = values
            && let Some(x) = self.usual_float()
        {
            v.push(x);
            return Ok(());
        }
        self.read_unusual(|words| words.push_unusual_value(values))
    }

    fn push_unusual_value(&mut self, values: &mut Values) -> Result<(), Fault> {
        match values {
            Values::F64(v) => v.push(self.unusual_float()?),
            Values::F32(v) => v.push(self.float32()?),
            Values::I64(v) => v.push(self.signed()?),
            Values::I32(v) => {
                let wide = self.signed()?;
                v.push(i32::try_from(wide).map_err(|_| Fault::OutOfRange(wide.to_string()))?);
            }
            Values::U8(v) => {
                let wide = self.signed()?;
                v.push(u8::try_from(wide).map_err(|_| Fault::OutOfRange(wide.to_string()))?);
            }
            Values::Bool(v) => v.push(self.float()? != 0.0),
        }
        Ok(())
    }
}

/// An integer with optional sign. A number that is none is [`Fault::NotAnInteger`].
fn integer(word: &[u8]) -> Result<i128, Fault> {
    if word.is_empty() {
        return Err(Fault::Missing);
    }
    let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
    if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        return str::from_utf8(word)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Fault::OutOfRange(shown(word)));
    }
    match standard_parse::<f64>(word) {
        Ok(x) if !x.is_nan() => Err(Fault::NotAnInteger(shown(word))),
        _ => Err(Fault::NotANumber(shown(word))),
    }
}

fn standard_parse<T: std::str::FromStr>(word: &[u8]) -> Result<T, Fault> {
    if word.is_empty() {
        return Err(Fault::Missing);
    }
    str::from_utf8(word)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Fault::NotANumber(shown(word)))
}

/// Refuses a number with digits that is beyond all finite floats of its type.
fn finite_unless_said<T: Copy>(
    word: &[u8],
    number: T,
    is_infinite: fn(T) -> bool,
) -> Result<T, Fault> {
    match is_infinite(number) && word.iter().any(u8::is_ascii_digit) {
        true => Err(Fault::OutOfRange(shown(word))),
        false => Ok(number),
    }
}

/// A word for a message: words of binary garbage may be long.
pub(super) fn shown(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(200)]);
    let mut short: String = text.chars().take(40).map(printable).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn printable(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Words<'_> {
        Words::new(text.as_bytes())
    }

    #[test]
    fn words_are_read_in_order_and_counted() {
        let mut w = words("  12\t-3.5 x \r");
        assert_eq!(w.count(), 3);
        assert_eq!(w.unsigned(), Ok(12));
        assert_eq!(w.float(), Ok(-3.5));
        assert_eq!(w.word(), b"x");
        assert!(w.at_end());
        assert_eq!(w.unsigned(), Err(Fault::Missing));
        assert_eq!(w.float(), Err(Fault::Missing));
    }

    #[test]
    fn each_kind_of_wrong_number_is_told_apart() {
        let long = "9".repeat(30);
        let cases = [
            ("-1", Fault::Negative),
            ("1.5", Fault::NotAnInteger("1.5".into())),
            ("nan", Fault::NotANumber("nan".into())),
            ("4x", Fault::NotANumber("4x".into())),
            ("\u{1b}[", Fault::NotANumber("\u{fffd}[".into())),
            (&long, Fault::OutOfRange(long.clone())),
        ];
        for (text, fault) in cases {
            assert_eq!(words(text).unsigned(), Err(fault), "{text}");
        }
        assert_eq!(words("+7").unsigned(), Ok(7));
        assert_eq!(words("18446744073709551615").unsigned(), Ok(u64::MAX));
        assert_eq!(words("-9223372036854775808").signed(), Ok(i64::MIN));
        assert_eq!(words("1e3").signed(), Ok(1000));
        assert_eq!(words("0.5").signed(), Err(Fault::NotAnInteger("0.5".into())));
    }

    #[test]
    fn usual_and_unusual_floats_are_accepted() {
        for text in [
            ".0625",
            "5.",
            "-0",
            "1e22",
            "1e23",
            "1e-400",
            "inf",
            "-Infinity",
            "3.14159",
            "8.3208769837292e-02",
            "0.1e+1",
            "00012.50",
            "123456789012345678901234567890",
            "9007199254740993",
            "2.2250738585072014e-308",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(words(text).float().unwrap().to_bits(), expected.to_bits(), "{text}");
        }
        assert!(words("nan").float().unwrap().is_nan());
        for text in ["1e400", "-1e400", "1e99999", "1e309"] {
            assert!(matches!(words(text).float(), Err(Fault::OutOfRange(_))), "{text}");
            assert!(matches!(words(text).float32(), Err(Fault::OutOfRange(_))), "{text}");
        }
        assert!(matches!(words("1e39").float32(), Err(Fault::OutOfRange(_))));
        for text in [".", "-", "+", "e5", "1e", "1e+", "1.2.3", "0x10", "1_000", "1,5"] {
            assert!(matches!(words(text).float(), Err(Fault::NotANumber(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn floats_are_what_the_standard_library_reads(
            text in "[-+]?([0-9]{1,20}(\\.[0-9]{0,20})?|\\.[0-9]{1,20})([eE][-+]?[0-9]{1,3})?",
        ) {
            let expected: f64 = text.parse().unwrap();
            let read = words(&text).float().ok().map(f64::to_bits);
            prop_assert_eq!(read, expected.is_finite().then_some(expected.to_bits()));
            let expected: f32 = text.parse().unwrap();
            let read = words(&text).float32().ok().map(f32::to_bits);
            prop_assert_eq!(read, expected.is_finite().then_some(expected.to_bits()));
        }

        #[test]
        fn printed_floats_read_back(bits: u64, bits32: u32) {
            let x = f64::from_bits(bits);
            prop_assume!(!x.is_nan());
            prop_assert_eq!(words(&format!("{x:?}")).float().unwrap().to_bits(), bits);
            let x = f32::from_bits(bits32);
            prop_assume!(!x.is_nan());
            prop_assert_eq!(words(&format!("{x:?}")).float32().unwrap().to_bits(), bits32);
        }
    }
}
