//! Expressions as Rust source.

use crate::tensor::ValueType;

use super::expr::{OpExpr, Stmt};
use super::value::Value;

/// The expression as Rust reads it. Arguments have the given names, locals `t0`, `t1`, ….
///
/// `If(Lt(Argument 0, Literal 0), …)` is printed as `if a < 0_i32 { … } else { … }`.
pub fn rust(expr: &OpExpr, arguments: &[&str]) -> String {
    Printer { arguments }.expr(expr)
}

struct Printer<'a> {
    arguments: &'a [&'a str],
}

impl Printer<'_> {
    fn expr(&self, expr: &OpExpr) -> String {
        match expr {
            OpExpr::Argument(k, _) => self.arguments.get(*k).copied().unwrap_or("_").to_string(),
            OpExpr::Local(k, _) => format!("t{k}"),
            OpExpr::Literal(value) => rust_literal(*value),
            OpExpr::Neg(x) => format!("-{}", self.operand(x)),
            OpExpr::Not(x) => format!("!{}", self.operand(x)),
            OpExpr::Binary(op, a, b) => {
                format!("{} {} {}", self.operand(a), op.symbol(), self.operand(b))
            }
            OpExpr::Call(method, parts) => {
                use super::expr::Shape;
                let rest: Vec<String> = parts[1..]
                    .iter()
                    .map(|p| match method.shape() {
                        Shape::Shift => format!("{} as u32", self.operand(p)),
                        _ => self.expr(p),
                    })
                    .collect();
                format!("{}.{}({})", self.operand(&parts[0]), method.name(), rest.join(", "))
            }
            OpExpr::Checked(op, parts) => {
                let [a, b, otherwise] = &**parts;
                format!(
                    "{}.{}({}).unwrap_or({})",
                    self.operand(a),
                    op.name(),
                    self.expr(b),
                    self.expr(otherwise)
                )
            }
            OpExpr::Cast(t, x) => format!("{} as {t}", self.operand(x)),
            OpExpr::If(condition, a, b) => format!(
                "if {} {} else {}",
                self.condition(condition),
                self.braces(a),
                self.braces(b)
            ),
            OpExpr::Block(..) => self.braces(expr),
        }
    }

    /// In parentheses unless it is a name or a call.
    fn operand(&self, expr: &OpExpr) -> String {
        let text = self.expr(expr);
        let plain = match expr {
            OpExpr::Argument(..) | OpExpr::Local(..) | OpExpr::Call(..) | OpExpr::Checked(..) => {
                true
            }
            OpExpr::Literal(_) => !text.starts_with('-'),
            _ => false,
        };
        if plain { text } else { format!("({text})") }
    }

    /// Without a brace at its beginning.
    fn condition(&self, expr: &OpExpr) -> String {
        match expr {
            OpExpr::Block(..) | OpExpr::If(..) => self.operand(expr),
            _ => self.expr(expr),
        }
    }

    fn braces(&self, expr: &OpExpr) -> String {
        match expr {
            OpExpr::Block(statements, value) => {
                format!("{{ {}{} }}", self.statements(statements), self.expr(value))
            }
            _ => format!("{{ {} }}", self.expr(expr)),
        }
    }

    /// Each followed by a space.
    fn statements(&self, statements: &[Stmt]) -> String {
        let one = |statement: &Stmt| match statement {
            Stmt::Let { local, mutable, value } => {
                let mutable = if *mutable { "mut " } else { "" };
                format!("let {mutable}t{local}: {} = {}; ", value.value_type(), self.expr(value))
            }
            Stmt::Set { local, value } => format!("t{local} = {}; ", self.expr(value)),
            Stmt::While { condition, body } => {
                format!("while {} {{ {}}} ", self.condition(condition), self.statements(body))
            }
            Stmt::If { condition, then, otherwise } => format!(
                "if {} {{ {}}} else {{ {}}} ",
                self.condition(condition),
                self.statements(then),
                self.statements(otherwise)
            ),
        };
        statements.iter().map(one).collect()
    }
}

/// With its type, so that it stands anywhere: `2.0_f64`, `i64::MIN`, `f32::NAN`.
pub fn rust_literal(value: Value) -> String {
    let t = value.value_type();
    match value {
        Value::Bool(x) => x.to_string(),
        v if v.is_nan() => format!("{t}::NAN"),
        v if !v.is_finite() && v == Value::greatest(t) => format!("{t}::INFINITY"),
        v if !v.is_finite() => format!("{t}::NEG_INFINITY"),
        v if matches!(t, ValueType::I64 | ValueType::I32) && v == Value::least(t) => {
            format!("{t}::MIN")
        }
        v => format!("{v}_{t}"),
    }
}
