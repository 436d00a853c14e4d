//! Rust's spellings of operators and constants.

use super::expr::Binary;
use super::value::Value;
use crate::tensor::ValueType;

/// The constant of a type, e.g. `f64::INFINITY`.
pub(super) fn named_constant(t: ValueType, name: &str) -> Option<Value> {
    let float64 = match name {
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        _ => 0.0,
    };
    match (t, name) {
        (ValueType::F64 | ValueType::F32, "INFINITY" | "NEG_INFINITY" | "NAN") => {
            Some(Value::F64(float64).cast(t))
        }
        (ValueType::F64, "MAX") => Some(Value::F64(f64::MAX)),
        (ValueType::F64, "MIN") => Some(Value::F64(f64::MIN)),
        (ValueType::F64, "EPSILON") => Some(Value::F64(f64::EPSILON)),
        (ValueType::F32, "MAX") => Some(Value::F32(f32::MAX)),
        (ValueType::F32, "MIN") => Some(Value::F32(f32::MIN)),
        (ValueType::F32, "EPSILON") => Some(Value::F32(f32::EPSILON)),
        (ValueType::I64 | ValueType::I32 | ValueType::U8, "MAX") => Some(Value::greatest(t)),
        (ValueType::I64 | ValueType::I32 | ValueType::U8, "MIN") => Some(Value::least(t)),
        _ => None,
    }
}

/// The operator of `x + y`.
pub(super) fn operator(op: &syn::BinOp) -> Option<Binary> {
    use syn::BinOp as B;
    Some(match op {
        B::Add(_) => Binary::Add,
        B::Sub(_) => Binary::Sub,
        B::Mul(_) => Binary::Mul,
        B::Div(_) => Binary::Div,
        B::Rem(_) => Binary::Rem,
        B::BitAnd(_) => Binary::BitAnd,
        B::BitOr(_) => Binary::BitOr,
        B::BitXor(_) => Binary::BitXor,
        B::And(_) => Binary::And,
        B::Or(_) => Binary::Or,
        B::Eq(_) => Binary::Eq,
        B::Ne(_) => Binary::Ne,
        B::Lt(_) => Binary::Lt,
        B::Le(_) => Binary::Le,
        B::Gt(_) => Binary::Gt,
        B::Ge(_) => Binary::Ge,
        _ => return None,
    })
}

/// The operator of `x += y`.
pub(super) fn compound(op: &syn::BinOp) -> Option<Binary> {
    use syn::BinOp as B;
    Some(match op {
        B::AddAssign(_) => Binary::Add,
        B::SubAssign(_) => Binary::Sub,
        B::MulAssign(_) => Binary::Mul,
        B::DivAssign(_) => Binary::Div,
        B::RemAssign(_) => Binary::Rem,
        B::BitAndAssign(_) => Binary::BitAnd,
        B::BitOrAssign(_) => Binary::BitOr,
        B::BitXorAssign(_) => Binary::BitXor,
        _ => return None,
    })
}
