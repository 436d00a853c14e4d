//! Arithmetic on values in generated code, by value type.

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::ValueType;

/// The additive identity as a Rust literal.
pub fn zero(t: ValueType) -> &'static str {
    match t {
        ValueType::F64 | ValueType::F32 => "0.0",
        ValueType::I64 | ValueType::I32 => "0",
        ValueType::Bool => "false",
    }
}

/// `a * b * …`; integers wrap, booleans conjoin.
pub fn product(t: ValueType, factors: &[String]) -> String {
    match t {
        ValueType::F64 | ValueType::F32 => factors.join(" * "),
        ValueType::I64 | ValueType::I32 => {
            let mut out = factors[0].clone();
            for f in &factors[1..] {
                out = format!("{}.wrapping_mul({f})", receiver(&out));
            }
            out
        }
        ValueType::Bool => factors.join(" & "),
    }
}

/// `target += value` as a statement.
pub fn accumulate(t: ValueType, target: &str, value: &str) -> String {
    match t {
        ValueType::F64 | ValueType::F32 => format!("{target} += {value};"),
        ValueType::I64 | ValueType::I32 => {
            format!("{target} = {}.wrapping_add({value});", receiver(target))
        }
        ValueType::Bool => format!("{target} |= {value};"),
    }
}

/// `a + b` as an expression.
pub fn sum(t: ValueType, a: &str, b: &str) -> String {
    match t {
        ValueType::F64 | ValueType::F32 => format!("{a} + {b}"),
        ValueType::I64 | ValueType::I32 => format!("{}.wrapping_add({b})", receiver(a)),
        ValueType::Bool => format!("{a} | {b}"),
    }
}

/// Parenthesised when a method call would bind to a part of it only.
fn receiver(e: &str) -> String {
    if e.starts_with('*') || e.starts_with('-') { format!("({e})") } else { e.to_string() }
}

/// The literal factor of a product; `None` when it is the identity.
pub fn coefficient(t: ValueType, value: f64) -> Result<Option<String>> {
    if value == 1.0 {
        return Ok(None);
    }
    let text = match t {
        ValueType::F64 | ValueType::F32 => format!("{value:?}"),
        ValueType::I64 | ValueType::I32 => {
            if value.fract() != 0.0 || value.abs() > 9e15 {
                return Err(Diagnostic::new(
                    Code::Program,
                    format!("literal {value} is not an integer, but the values are {}", t.as_str()),
                )
                .help("compute with `--type f64`"));
            }
            format!("{}", value as i64)
        }
        ValueType::Bool => (value != 0.0).to_string(),
    };
    Ok(Some(if text.starts_with('-') { format!("({text})") } else { text }))
}
