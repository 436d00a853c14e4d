//! Expressions on numbers: what generated code will compute, computed here.
//!
//! In: an expression and its arguments' values, of the types it was read for. Out: its value, or
//! none if its loops take more than [`STEPS`] turns.

use super::expr::{Binary, Checked, Method, OpExpr, Stmt};
use super::value::Value;

/// Turns of loops after which an expression is given up. Algorithms on one number need as many as
/// it has bits, or a small multiple.
pub const STEPS: usize = 10_000;

/// The value of an expression; `None` if it loops for too long, or the arguments do not fit it.
///
/// `a.wrapping_add(b)` of `i32::MAX` and 1 is `i32::MIN`.
pub fn eval(expr: &OpExpr, arguments: &[Value]) -> Option<Value> {
    let mut run = Run { arguments, locals: Vec::new(), steps: STEPS };
    run.expr(expr)
}

struct Run<'a> {
    arguments: &'a [Value],
    locals: Vec<Option<Value>>,
    steps: usize,
}

impl Run<'_> {
    fn expr(&mut self, expr: &OpExpr) -> Option<Value> {
        Some(match expr {
            OpExpr::Argument(k, t) => {
                self.arguments.get(*k).copied().filter(|v| v.value_type() == *t)?
            }
            OpExpr::Local(k, _) => self.locals.get(*k).copied().flatten()?,
            OpExpr::Literal(value) => *value,
            OpExpr::Neg(x) => match self.expr(x)? {
                Value::F64(x) => Value::F64(-x),
                Value::F32(x) => Value::F32(-x),
                _ => return None,
            },
            OpExpr::Not(x) => match self.expr(x)? {
                Value::I64(x) => Value::I64(!x),
                Value::I32(x) => Value::I32(!x),
                Value::U8(x) => Value::U8(!x),
                Value::Bool(x) => Value::Bool(!x),
                _ => return None,
            },
            OpExpr::Binary(Binary::And, a, b) => Value::Bool(self.truth(a)? && self.truth(b)?),
            OpExpr::Binary(Binary::Or, a, b) => Value::Bool(self.truth(a)? || self.truth(b)?),
            OpExpr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                binary(*op, a, b)?
            }
            OpExpr::Call(method, parts) => {
                let parts: Vec<Value> =
                    parts.iter().map(|p| self.expr(p)).collect::<Option<_>>()?;
                call(*method, &parts)?
            }
            OpExpr::Checked(op, parts) => {
                let [a, b, otherwise] = &**parts;
                let (a, b, otherwise) = (self.expr(a)?, self.expr(b)?, self.expr(otherwise)?);
                checked(*op, a, b).unwrap_or(otherwise)
            }
            OpExpr::Cast(t, x) => self.expr(x)?.cast(*t),
            OpExpr::If(condition, a, b) => {
                if self.truth(condition)? {
                    self.expr(a)?
                } else {
                    self.expr(b)?
                }
            }
            OpExpr::Block(statements, value) => {
                self.statements(statements)?;
                self.expr(value)?
            }
        })
    }

    fn truth(&mut self, expr: &OpExpr) -> Option<bool> {
        match self.expr(expr)? {
            Value::Bool(x) => Some(x),
            _ => None,
        }
    }

    fn statements(&mut self, statements: &[Stmt]) -> Option<()> {
        for statement in statements {
            match statement {
                Stmt::Let { local, value, .. } | Stmt::Set { local, value } => {
                    let value = self.expr(value)?;
                    if self.locals.len() <= *local {
                        self.locals.resize(*local + 1, None);
                    }
                    self.locals[*local] = Some(value);
                }
                Stmt::While { condition, body } => {
                    while self.truth(condition)? {
                        self.steps = self.steps.checked_sub(1)?;
                        self.statements(body)?;
                    }
                }
                Stmt::If { condition, then, otherwise } => {
                    let branch = if self.truth(condition)? { then } else { otherwise };
                    self.statements(branch)?;
                }
            }
        }
        Some(())
    }
}

/// An operator on two numbers of one type; `None` if the type lacks it.
fn binary(op: Binary, a: Value, b: Value) -> Option<Value> {
    if op.compares() {
        return compare(op, a, b).map(Value::Bool);
    }
    macro_rules! float {
        ($a:ident, $b:ident) => {
            match op {
                Binary::Add => $a + $b,
                Binary::Sub => $a - $b,
                Binary::Mul => $a * $b,
                Binary::Div => $a / $b,
                Binary::Rem => $a % $b,
                _ => return None,
            }
        };
    }
    macro_rules! bits {
        ($a:ident, $b:ident) => {
            match op {
                Binary::BitAnd => $a & $b,
                Binary::BitOr => $a | $b,
                Binary::BitXor => $a ^ $b,
                _ => return None,
            }
        };
    }
    Some(match (a, b) {
        (Value::F64(a), Value::F64(b)) => Value::F64(float!(a, b)),
        (Value::F32(a), Value::F32(b)) => Value::F32(float!(a, b)),
        (Value::I64(a), Value::I64(b)) => Value::I64(bits!(a, b)),
        (Value::I32(a), Value::I32(b)) => Value::I32(bits!(a, b)),
        (Value::U8(a), Value::U8(b)) => Value::U8(bits!(a, b)),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(bits!(a, b)),
        _ => return None,
    })
}

fn compare(op: Binary, a: Value, b: Value) -> Option<bool> {
    macro_rules! order {
        ($($variant:ident)*) => {
            match (a, b) {
                $((Value::$variant(a), Value::$variant(b)) => match op {
                    Binary::Eq => a == b,
                    Binary::Ne => a != b,
                    Binary::Lt => a < b,
                    Binary::Le => a <= b,
                    Binary::Gt => a > b,
                    Binary::Ge => a >= b,
                    _ => return None,
                },)*
                _ => return None,
            }
        };
    }
    Some(order!(F64 F32 I64 I32 U8 Bool))
}

fn checked(op: Checked, a: Value, b: Value) -> Option<Value> {
    macro_rules! divide {
        ($($variant:ident)*) => {
            match (a, b) {
                $((Value::$variant(a), Value::$variant(b)) => Value::$variant(match op {
                    Checked::Div => a.checked_div(b)?,
                    Checked::Rem => a.checked_rem(b)?,
                    Checked::DivEuclid => a.checked_div_euclid(b)?,
                    Checked::RemEuclid => a.checked_rem_euclid(b)?,
                }),)*
                _ => return None,
            }
        };
    }
    Some(divide!(I64 I32 U8))
}

/// A method, its receiver first; `None` if the type lacks it.
fn call(method: Method, parts: &[Value]) -> Option<Value> {
    match *parts {
        [Value::F64(x)] => float64(method, x),
        [Value::F32(x)] => float32(method, x),
        [Value::I64(x)] => integer64(method, x),
        [Value::I32(x)] => integer32(method, x),
        [Value::U8(x)] => (method == Method::WrappingNeg).then(|| Value::U8(x.wrapping_neg())),
        [a, b] => call_with(method, a, b),
        _ => None,
    }
}

macro_rules! of_float {
    ($name:ident, $float:ident, $variant:ident) => {
        fn $name(method: Method, x: $float) -> Option<Value> {
            let number = match method {
                Method::Abs => x.abs(),
                Method::Sqrt => x.sqrt(),
                Method::Cbrt => x.cbrt(),
                Method::Exp => x.exp(),
                Method::Exp2 => x.exp2(),
                Method::ExpM1 => x.exp_m1(),
                Method::Ln => x.ln(),
                Method::Ln1p => x.ln_1p(),
                Method::Log2 => x.log2(),
                Method::Log10 => x.log10(),
                Method::Sin => x.sin(),
                Method::Cos => x.cos(),
                Method::Tan => x.tan(),
                Method::Asin => x.asin(),
                Method::Acos => x.acos(),
                Method::Atan => x.atan(),
                Method::Sinh => x.sinh(),
                Method::Cosh => x.cosh(),
                Method::Tanh => x.tanh(),
                Method::Floor => x.floor(),
                Method::Ceil => x.ceil(),
                Method::Trunc => x.trunc(),
                Method::Round => x.round(),
                Method::RoundTiesEven => x.round_ties_even(),
                Method::Signum => x.signum(),
                Method::Recip => x.recip(),
                Method::IsNan => return Some(Value::Bool(x.is_nan())),
                Method::IsFinite => return Some(Value::Bool(x.is_finite())),
                Method::IsInfinite => return Some(Value::Bool(x.is_infinite())),
                Method::IsSignNegative => return Some(Value::Bool(x.is_sign_negative())),
                _ => return None,
            };
            Some(Value::$variant(number))
        }
    };
}
of_float!(float64, f64, F64);
of_float!(float32, f32, F32);

macro_rules! of_integer {
    ($name:ident, $integer:ident, $variant:ident) => {
        fn $name(method: Method, x: $integer) -> Option<Value> {
            Some(Value::$variant(match method {
                Method::WrappingAbs => x.wrapping_abs(),
                Method::SaturatingAbs => x.saturating_abs(),
                Method::SignumInt => x.signum(),
                Method::WrappingNeg => x.wrapping_neg(),
                Method::IsNegative => return Some(Value::Bool(x.is_negative())),
                Method::IsPositive => return Some(Value::Bool(x.is_positive())),
                _ => return None,
            }))
        }
    };
}
of_integer!(integer64, i64, I64);
of_integer!(integer32, i32, I32);

fn call_with(method: Method, a: Value, b: Value) -> Option<Value> {
    macro_rules! float {
        ($variant:ident, $a:ident, $b:ident) => {
            Value::$variant(match method {
                Method::Powf => $a.powf($b),
                Method::Copysign => $a.copysign($b),
                Method::Atan2 => $a.atan2($b),
                Method::Hypot => $a.hypot($b),
                Method::Min => $a.min($b),
                Method::Max => $a.max($b),
                _ => return None,
            })
        };
    }
    macro_rules! integer {
        ($variant:ident, $a:ident, $b:ident) => {
            Value::$variant(match method {
                Method::WrappingAdd => $a.wrapping_add($b),
                Method::WrappingSub => $a.wrapping_sub($b),
                Method::WrappingMul => $a.wrapping_mul($b),
                Method::SaturatingAdd => $a.saturating_add($b),
                Method::SaturatingSub => $a.saturating_sub($b),
                Method::SaturatingMul => $a.saturating_mul($b),
                Method::Min => $a.min($b),
                Method::Max => $a.max($b),
                Method::UnboundedShl => $a.unbounded_shl($b as u32),
                Method::UnboundedShr => $a.unbounded_shr($b as u32),
                _ => return None,
            })
        };
    }
    macro_rules! shift {
        ($variant:ident, $a:ident, $b:ident) => {
            Value::$variant(match method {
                Method::UnboundedShl => $a.unbounded_shl($b as u32),
                Method::UnboundedShr => $a.unbounded_shr($b as u32),
                _ => return None,
            })
        };
    }
    Some(match (a, b) {
        (Value::F64(a), Value::F64(b)) => float!(F64, a, b),
        (Value::F32(a), Value::F32(b)) => float!(F32, a, b),
        (Value::F64(a), Value::I32(b)) if method == Method::Powi => Value::F64(a.powi(b)),
        (Value::F32(a), Value::I32(b)) if method == Method::Powi => Value::F32(a.powi(b)),
        (Value::I64(a), Value::I64(b)) => integer!(I64, a, b),
        (Value::I32(a), Value::I32(b)) => integer!(I32, a, b),
        (Value::U8(a), Value::U8(b)) => integer!(U8, a, b),
        (Value::I64(a), Value::I32(b)) => shift!(I64, a, b),
        (Value::I64(a), Value::U8(b)) => shift!(I64, a, b),
        (Value::I32(a), Value::I64(b)) => shift!(I32, a, b),
        (Value::I32(a), Value::U8(b)) => shift!(I32, a, b),
        (Value::U8(a), Value::I64(b)) => shift!(U8, a, b),
        (Value::U8(a), Value::I32(b)) => shift!(U8, a, b),
        _ => return None,
    })
}
