//! The expressions of operators: a small typed tree.
//!
//! ```text
//! e    := argument | local | literal | -e | !e | e op e | method(e, …) | checked(e, e, e)
//!       | e as type | if e { block } else { block } | block
//! block := { stmt* e }
//! stmt := let v = e | v = e | while e { stmt* } | if e { stmt* } else { stmt* }
//! ```
//! Every expression has one type, known from the tree; there is no implicit conversion. Whatever
//! the arguments are, no expression panics: integers add by methods that say what happens at the
//! ends of their range, and divide only by [`Checked`], which has a value for every divisor.

use crate::tensor::ValueType;

use super::value::Value;

/// An expression, typed: the arguments' types are the operator's for the types it was read for.
#[derive(Clone, Debug, PartialEq)]
pub enum OpExpr {
    /// The argument with this number, counted from 0.
    Argument(usize, ValueType),
    /// A variable of [`Stmt::Let`]; numbers are unique in the whole expression.
    Local(usize, ValueType),
    /// A literal or a constant.
    Literal(Value),
    /// `-x`, of floats.
    Neg(Box<OpExpr>),
    /// `!x`, of integers and `bool`.
    Not(Box<OpExpr>),
    /// Both sides have one type.
    Binary(Binary, Box<OpExpr>, Box<OpExpr>),
    /// A method of Rust's scalars, the receiver first.
    Call(Method, Vec<OpExpr>),
    /// `a.checked_div(b).unwrap_or(otherwise)`, of integers.
    Checked(Checked, Box<[OpExpr; 3]>),
    /// `x as type`, with Rust's meaning; never to `bool`.
    Cast(ValueType, Box<OpExpr>),
    /// The branches have one type.
    If(Box<OpExpr>, Box<OpExpr>, Box<OpExpr>),
    /// Statements, then a value.
    Block(Vec<Stmt>, Box<OpExpr>),
}

/// A statement inside an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `let local = value;`
    Let {
        /// Its number.
        local: usize,
        /// Whether it is assigned to.
        mutable: bool,
        /// Its first value, of its type.
        value: OpExpr,
    },
    /// `local = value;`
    Set {
        /// A local that is mutable.
        local: usize,
        /// Of the local's type.
        value: OpExpr,
    },
    /// `while condition { body }`
    While {
        /// Of type `bool`.
        condition: OpExpr,
        /// Repeated.
        body: Vec<Stmt>,
    },
    /// `if condition { then } else { otherwise }`
    If {
        /// Of type `bool`.
        condition: OpExpr,
        /// Where it holds.
        then: Vec<Stmt>,
        /// Where it does not.
        otherwise: Vec<Stmt>,
    },
}

/// Operators that Rust writes between their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`, of floats.
    Add,
    /// `-`, of floats.
    Sub,
    /// `*`, of floats.
    Mul,
    /// `/`, of floats.
    Div,
    /// `%`, of floats.
    Rem,
    /// `&`, of integers and `bool`.
    BitAnd,
    /// `|`, of integers and `bool`.
    BitOr,
    /// `^`, of integers and `bool`.
    BitXor,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Binary {
    /// All, with their spelling.
    pub const ALL: [(Binary, &'static str); 16] = [
        (Binary::Add, "+"),
        (Binary::Sub, "-"),
        (Binary::Mul, "*"),
        (Binary::Div, "/"),
        (Binary::Rem, "%"),
        (Binary::BitAnd, "&"),
        (Binary::BitOr, "|"),
        (Binary::BitXor, "^"),
        (Binary::And, "&&"),
        (Binary::Or, "||"),
        (Binary::Eq, "=="),
        (Binary::Ne, "!="),
        (Binary::Lt, "<"),
        (Binary::Le, "<="),
        (Binary::Gt, ">"),
        (Binary::Ge, ">="),
    ];

    /// Rust's spelling.
    pub fn symbol(self) -> &'static str {
        Binary::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, text)| text)
    }

    /// Whether the result is `bool` whatever the operands are.
    pub fn compares(self) -> bool {
        use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// Whether operands of the type may stand beside it.
    pub fn takes(self, t: ValueType) -> bool {
        use Binary::{Add, And, BitAnd, BitOr, BitXor, Div, Mul, Or, Rem, Sub};
        let float = t.is_float();
        match self {
            Add | Sub | Mul | Div | Rem => float,
            BitAnd | BitOr | BitXor => !float,
            And | Or => t == ValueType::Bool,
            _ => true,
        }
    }
}

/// What arguments a method takes beside its receiver, and on which types it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A float to a float.
    Float,
    /// Two floats to a float.
    Floats,
    /// A float to `bool`.
    Test,
    /// A float and an exponent of type `i32` to a float.
    Power,
    /// A signed integer to one.
    Signed,
    /// A signed integer to `bool`.
    SignedTest,
    /// An integer to one.
    Integer,
    /// Two integers to one.
    Integers,
    /// Two integers or floats to one.
    Numbers,
    /// An integer and an amount, of any integer type, to an integer. Rust takes the amount `as u32`.
    Shift,
}

macro_rules! methods {
    ($($shape:ident { $($variant:ident $name:ident)* })*) => {
        /// The methods of Rust's scalars that expressions may call.
        #[allow(missing_docs, reason = "each is the method of that name")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Method { $($($variant,)*)* }

        impl Method {
            /// All, in the order of their shapes.
            pub const ALL: &'static [Method] = &[$($(Method::$variant,)*)*];

            /// Rust's name.
            pub fn name(self) -> &'static str {
                match self { $($(Method::$variant => stringify!($name),)*)* }
            }

            /// What it takes.
            pub fn shape(self) -> Shape {
                match self { $($(Method::$variant => Shape::$shape,)*)* }
            }
        }
    };
}
methods! {
    Float {
        Abs abs Sqrt sqrt Cbrt cbrt Exp exp Exp2 exp2 ExpM1 exp_m1 Ln ln Ln1p ln_1p Log2 log2
        Log10 log10 Sin sin Cos cos Tan tan Asin asin Acos acos Atan atan Sinh sinh Cosh cosh
        Tanh tanh Floor floor Ceil ceil Trunc trunc Round round RoundTiesEven round_ties_even
        Signum signum Recip recip
    }
    Floats { Powf powf Copysign copysign Atan2 atan2 Hypot hypot }
    Test { IsNan is_nan IsFinite is_finite IsInfinite is_infinite IsSignNegative is_sign_negative }
    Power { Powi powi }
    Signed { WrappingAbs wrapping_abs SaturatingAbs saturating_abs SignumInt signum }
    SignedTest { IsNegative is_negative IsPositive is_positive }
    Integer { WrappingNeg wrapping_neg }
    Integers {
        WrappingAdd wrapping_add WrappingSub wrapping_sub WrappingMul wrapping_mul
        SaturatingAdd saturating_add SaturatingSub saturating_sub SaturatingMul saturating_mul
    }
    Numbers { Min min Max max }
    Shift { UnboundedShl unbounded_shl UnboundedShr unbounded_shr }
}

impl Method {
    /// The method of that name on receivers of that type.
    pub fn named(name: &str, receiver: ValueType) -> Option<Method> {
        Method::ALL.iter().copied().find(|m| m.name() == name && m.shape().takes(receiver))
    }
}

impl Shape {
    /// Whether the receiver may have the type.
    pub fn takes(self, t: ValueType) -> bool {
        let float = t.is_float();
        let signed = matches!(t, ValueType::I64 | ValueType::I32);
        match self {
            Shape::Float | Shape::Floats | Shape::Test | Shape::Power => float,
            Shape::Signed | Shape::SignedTest => signed,
            Shape::Integer | Shape::Integers | Shape::Shift => signed || t == ValueType::U8,
            Shape::Numbers => t != ValueType::Bool,
        }
    }

    /// Number of arguments beside the receiver.
    pub fn arguments(self) -> usize {
        match self {
            Shape::Float | Shape::Test | Shape::Signed | Shape::SignedTest | Shape::Integer => 0,
            _ => 1,
        }
    }

    /// The type of the result, given the receiver's.
    pub fn result(self, receiver: ValueType) -> ValueType {
        match self {
            Shape::Test | Shape::SignedTest => ValueType::Bool,
            _ => receiver,
        }
    }
}

/// Divisions that have no result for some operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Towards zero.
    Div,
    /// With the sign of the dividend.
    Rem,
    /// The remainder is not negative.
    DivEuclid,
    /// Not negative.
    RemEuclid,
}

impl Checked {
    /// All, with Rust's names.
    pub const ALL: [(Checked, &'static str); 4] = [
        (Checked::Div, "checked_div"),
        (Checked::Rem, "checked_rem"),
        (Checked::DivEuclid, "checked_div_euclid"),
        (Checked::RemEuclid, "checked_rem_euclid"),
    ];

    /// Rust's name.
    pub fn name(self) -> &'static str {
        Checked::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, text)| text)
    }
}

impl OpExpr {
    /// The type of the value.
    pub fn value_type(&self) -> ValueType {
        match self {
            OpExpr::Argument(_, t) | OpExpr::Local(_, t) | OpExpr::Cast(t, _) => *t,
            OpExpr::Literal(value) => value.value_type(),
            OpExpr::Neg(x) | OpExpr::Not(x) => x.value_type(),
            OpExpr::Binary(op, ..) if op.compares() => ValueType::Bool,
            OpExpr::Binary(_, x, _) | OpExpr::If(_, x, _) | OpExpr::Block(_, x) => x.value_type(),
            OpExpr::Call(method, v) => method.shape().result(v[0].value_type()),
            OpExpr::Checked(_, v) => v[0].value_type(),
        }
    }
}
