//! Numbers that a format states: what the leaf says of elements which are not stored.
//!
//! ```text
//! literal := 'true' | 'false' | ['-'] number
//! number  := digits                          i64
//!          | digits '.' digits [exponent]    f64; with `f` for `e` (`0.0f0`): f32
//!          | 'Inf' | 'NaN' | 'Inf32' | 'NaN32'
//!          | type '(' ['-'] number ')'       Float64, Float32, Int64, Int32, UInt8, Bool
//! ```
//! As Julia writes them, and therefore Finch.

use std::fmt;

/// A number with its type.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `0.0`
    F64(f64),
    /// `0.0f0`
    F32(f32),
    /// `0`
    I64(i64),
    /// `Int32(0)`
    I32(i32),
    /// `UInt8(0)`
    U8(u8),
    /// `false`
    Bool(bool),
}

impl Literal {
    /// Reads a literal; `None` if it is none, or does not fit its type.
    pub fn parse(text: &str) -> Option<Literal> {
        let text = text.trim();
        if let Some((ty, rest)) = text.split_once('(') {
            return Literal::parse(rest.strip_suffix(')')?)?.of_type(ty.trim_end());
        }
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1.0, digits.trim_start()),
            None => (1.0, text),
        };
        match digits {
            "true" | "false" if sign > 0.0 => return Some(Literal::Bool(digits == "true")),
            "Inf" | "Inf64" => return Some(Literal::F64(sign * f64::INFINITY)),
            "NaN" | "NaN64" => return Some(Literal::F64(f64::NAN)),
            "Inf32" => return Some(Literal::F32(sign as f32 * f32::INFINITY)),
            "NaN32" => return Some(Literal::F32(f32::NAN)),
            _ => {}
        }
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        if digits.chars().all(|c| c.is_ascii_digit()) {
            let minus = if sign < 0.0 { "-" } else { "" };
            return format!("{minus}{digits}").parse().ok().map(Literal::I64);
        }
        match digits.split_once('f') {
            Some((number, exponent)) => {
                let exponent = if exponent.is_empty() { "0" } else { exponent };
                let x: f32 = format!("{number}e{exponent}").parse().ok()?;
                x.is_finite().then_some(Literal::F32(sign as f32 * x))
            }
            None => {
                let x: f64 = digits.parse().ok()?;
                x.is_finite().then_some(Literal::F64(sign * x))
            }
        }
    }

    /// The same number in the type that Julia calls so, if it has it.
    fn of_type(self, ty: &str) -> Option<Literal> {
        let number = match self {
            Literal::F64(x) => x,
            Literal::F32(x) => f64::from(x),
            Literal::I64(n) if ty == "Int64" => return Some(Literal::I64(n)),
            Literal::I64(n) => n as f64,
            Literal::I32(n) => f64::from(n),
            Literal::U8(n) => f64::from(n),
            Literal::Bool(b) => f64::from(u8::from(b)),
        };
        let whole = |low: f64, high: f64| {
            (number.fract() == 0.0 && (low..=high).contains(&number)).then_some(number)
        };
        match ty {
            "Float64" => Some(Literal::F64(number)),
            "Float32" => Some(Literal::F32(number as f32)),
            "Int64" => whole(-9e15, 9e15).map(|n| Literal::I64(n as i64)),
            "Int32" => {
                whole(f64::from(i32::MIN), f64::from(i32::MAX)).map(|n| Literal::I32(n as i32))
            }
            "UInt8" => whole(0.0, 255.0).map(|n| Literal::U8(n as u8)),
            "Bool" => whole(0.0, 1.0).map(|n| Literal::Bool(n == 1.0)),
            _ => None,
        }
    }
}

/// The same number of the same type; NaN equals itself, and the zeros differ.
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::F64(a), Literal::F64(b)) => a.to_bits() == b.to_bits(),
            (Literal::F32(a), Literal::F32(b)) => a.to_bits() == b.to_bits(),
            (Literal::I64(a), Literal::I64(b)) => a == b,
            (Literal::I32(a), Literal::I32(b)) => a == b,
            (Literal::U8(a), Literal::U8(b)) => a == b,
            (Literal::Bool(a), Literal::Bool(b)) => a == b,
            _ => false,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::F64(x) if x.is_nan() => f.write_str("NaN"),
            Literal::F64(x) if x.is_infinite() => {
                f.write_str(if *x > 0.0 { "Inf" } else { "-Inf" })
            }
            Literal::F64(x) => write!(f, "{x:?}"),
            Literal::F32(x) if x.is_nan() => f.write_str("NaN32"),
            Literal::F32(x) if x.is_infinite() => {
                f.write_str(if *x > 0.0 { "Inf32" } else { "-Inf32" })
            }
            Literal::F32(x) => match format!("{x:?}").split_once('e') {
                Some((number, exponent)) => write!(f, "{number}f{exponent}"),
                None => write!(f, "{x:?}f0"),
            },
            Literal::I64(n) => write!(f, "{n}"),
            Literal::I32(n) => write!(f, "Int32({n})"),
            Literal::U8(n) => write!(f, "UInt8({n})"),
            Literal::Bool(b) => write!(f, "{b}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_reads_back_from_what_is_printed() {
        let texts = [
            "0.0",
            "-0.0",
            "1.5e-7",
            "1e300",
            "Inf",
            "-Inf",
            "NaN",
            "0.0f0",
            "2.5f-9",
            "-Inf32",
            "NaN32",
            "0",
            "-7",
            "Int32(-3)",
            "UInt8(255)",
            "true",
            "false",
        ];
        for text in texts {
            let literal = Literal::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(Literal::parse(&literal.to_string()), Some(literal), "{text}: {literal}");
        }
        assert_eq!(Literal::parse("Float32(1)"), Some(Literal::F32(1.0)));
        assert_eq!(Literal::parse(".5"), Some(Literal::F64(0.5)));
    }

    #[test]
    fn what_does_not_fit_is_no_literal() {
        for text in [
            "",
            "x",
            "-true",
            "UInt8(256)",
            "Int32(0.5)",
            "1e999",
            "inf",
            "1_0",
            "--1",
            "99999999999999999999",
            "Foo(1)",
            "0x1",
            "Bool(2)",
        ] {
            assert_eq!(Literal::parse(text), None, "{text}");
        }
    }
}
