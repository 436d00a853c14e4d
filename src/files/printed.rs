//! Numbers and lines as text.
//!
//! In: values. Out: the bytes of a text file, many lines at once: cores write lines into buffers that
//! are used again and again, which are put out in the order of the lines.

use std::io::{self, Write};

use rayon::prelude::*;

/// Lines of a buffer.
const LINES: usize = 1 << 13;

/// Writes the lines of these numbers, each as `line` puts it behind what is there.
pub(super) fn write_lines(
    out: &mut dyn Write,
    n: usize,
    line: impl Fn(usize, &mut Vec<u8>) + Sync,
) -> io::Result<()> {
    let fill = |first: usize, buffer: &mut Vec<u8>| {
        buffer.clear();
        (first..n.min(first + LINES)).for_each(|k| line(k, buffer));
    };
    // Files of a few lines are not worth waking others.
    let several = if n <= LINES { 1 } else { 2 * rayon::current_num_threads() };
    let mut buffers = vec![Vec::new(); several];
    for first in (0..n).step_by(LINES * several) {
        match buffers.as_mut_slice() {
            [only] => fill(first, only),
            all => all
                .par_iter_mut()
                .enumerate()
                .for_each(|(b, buffer)| fill(first + b * LINES, buffer)),
        }
        for buffer in &buffers {
            out.write_all(buffer)?;
        }
    }
    Ok(())
}

/// A number as text files have it.
pub(super) trait Printed: Copy + Send + Sync {
    /// Appends it: floats so that they read back exactly, `true` as 1.
    fn print(self, text: &mut Vec<u8>);
}

macro_rules! printed_float {
    ($($float:ty, $exact:expr);*) => { $(
        impl Printed for $float {
            fn print(self, text: &mut Vec<u8>) {
                // Sums of small integers are as usual as they are easy.
                if self.abs() < $exact && self.fract() == 0.0 && self.to_bits() != (-0.0 as $float).to_bits() {
                    (self as i64).print(text);
                    text.extend_from_slice(b".0");
                } else if self.is_nan() {
                    // `Debug` has `NaN`, the one word other readers may not know.
                    text.extend_from_slice(b"nan");
                } else {
                    // The shortest text that reads back, with an exponent when that is shorter.
                    formatted(text, format_args!("{self:?}"));
                }
            }
        }
    )* };
}
// Beyond, `Debug` has an exponent, or the float has more digits than it is exact to.
printed_float!(f64, 9_007_199_254_740_992.0; f32, 16_777_216.0);

macro_rules! printed_integer {
    ($($integer:ty),*) => { $(
        impl Printed for $integer {
            fn print(self, text: &mut Vec<u8>) {
                let wide = i64::from(self);
                if wide < 0 {
                    text.push(b'-');
                }
                print_unsigned(wide.unsigned_abs(), text);
            }
        }
    )* };
}
printed_integer!(i64, i32, u8, bool);

/// Appends a count or coordinate.
pub(super) fn print_unsigned(mut number: u64, text: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first..]);
}

fn formatted(text: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    // Memory is all that writing to a vector can lack, and that does not return.
    let _ = text.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: impl Printed) -> String {
        let mut text = Vec::new();
        value.print(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn edges_of_every_type_are_printed() {
        assert_eq!(text(i64::MIN), i64::MIN.to_string());
        assert_eq!(text(i64::MAX), i64::MAX.to_string());
        assert_eq!((text(0_u8), text(true), text(-7_i32)), ("0".into(), "1".into(), "-7".into()));
        assert_eq!(
            (text(-0.0), text(0.0), text(f64::NAN)),
            ("-0.0".into(), "0.0".into(), "nan".into())
        );
        assert_eq!((text(f64::INFINITY), text(-f32::INFINITY)), ("inf".into(), "-inf".into()));
        let largest = [9_007_199_254_740_991.0, 9_007_199_254_740_992.0, 1e16, 1e300, 5e-324, 1e-5];
        for x in largest {
            assert_eq!((text(x), text(-x)), (format!("{x:?}"), format!("{:?}", -x)));
        }
        for x in [16_777_215.0_f32, 16_777_216.0, 33_554_432.0, 1e16, f32::MAX] {
            assert_eq!(text(x), format!("{x:?}"));
        }
    }

    #[test]
    fn lines_come_in_order_however_many_there_are() {
        for n in [0, 1, LINES, LINES + 1, 20 * LINES + 7] {
            let mut out = Vec::new();
            write_lines(&mut out, n, |k, text| {
                // Some lines are empty: elements that are left out.
                if k % 3 > 0 {
                    print_unsigned(k as u64, text);
                    text.push(b'\n');
                }
            })
            .unwrap();
            let expected: String = (0..n).filter(|k| k % 3 > 0).map(|k| format!("{k}\n")).collect();
            assert!(out == expected.as_bytes(), "{n}");
        }
    }

    proptest! {
        #[test]
        fn floats_are_printed_as_they_are_shown(bits: u64, narrow: u32, integer: i32) {
            let (x, y) = (f64::from_bits(bits), f32::from_bits(narrow));
            prop_assume!(!x.is_nan() && !y.is_nan());
            prop_assert_eq!(text(x), format!("{x:?}"));
            prop_assert_eq!(text(y), format!("{y:?}"));
            let x = f64::from(integer);
            prop_assert_eq!(text(x), format!("{x:?}"));
            prop_assert_eq!(text(x as f32), format!("{:?}", x as f32));
        }
    }
}
