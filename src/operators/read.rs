//! Rust expressions of declarations, read into typed trees.
//!
//! In: a text such as `if a < b { a } else { b }`, and the arguments' types. Out: an [`OpExpr`] in
//! which every part has a type, by the rules of Rust: nothing is converted implicitly, literals
//! take the type that stands beside them. In a text for several types, `T` is the type at hand.
//!
//! What Rust would accept and the language lacks is refused with its place: loops other than
//! `while`, calls of functions, and whatever may panic (`+` on integers, indexing, `unwrap`).

use syn::spanned::Spanned;

use super::expr::{Binary, Checked, Method, OpExpr, Shape, Stmt};
use super::place::{byte_range, check_size};
use super::spelling::{compound, named_constant, operator};
use super::value::{Value, is_integer};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::nearest;
use crate::tensor::ValueType;

/// Reads an expression for arguments of the given names and types.
///
/// `a + 1.0` with `a: f32` is `Binary(Add, Argument(0, F32), Literal(F32(1.0)))`.
///
/// # Errors
/// [`Code::Operator`] with the place in `text`, if it is no expression of the language, or its type
/// is not `result`.
pub fn read(
    text: &str,
    arguments: &[(&str, ValueType)],
    generic: ValueType,
    result: ValueType,
) -> Result<OpExpr> {
    check_size(text)?;
    let block: syn::Block = syn::parse_str(&format!("{{{text}}}")).map_err(|e| {
        Diagnostic::new(Code::Operator, format!("this is no expression of Rust: {e}"))
            .at(byte_range(text, e.span()), "here")
            .help("write an expression such as `a.wrapping_add(b)`, or statements that end in one")
    })?;
    let mut reader = Reader { text, arguments, generic, scope: Vec::new(), locals: 0 };
    let tree = reader.block(&block, Some(result))?;
    // Braces are ours if the text has no statements.
    let tree = match tree {
        OpExpr::Block(statements, value) if statements.is_empty() => *value,
        tree => tree,
    };
    match tree.value_type() == result {
        true => Ok(tree),
        false => Err(Diagnostic::new(
            Code::Operator,
            format!("the expression is of type {}, the result of type {result}", tree.value_type()),
        )
        .at(0..text.len(), format!("this is {}", tree.value_type()))
        .help(format!("convert it: `(…) as {result}`; a comparison gives `bool`"))),
    }
}

struct Variable {
    name: String,
    number: usize,
    ty: ValueType,
    mutable: bool,
}

struct Reader<'a> {
    text: &'a str,
    arguments: &'a [(&'a str, ValueType)],
    /// What `T` stands for.
    generic: ValueType,
    scope: Vec<Variable>,
    locals: usize,
}

impl Reader<'_> {
    fn error(&self, at: &impl Spanned, message: impl Into<String>) -> Box<Diagnostic> {
        Diagnostic::new(Code::Operator, message).at(byte_range(self.text, at.span()), "here")
    }

    fn unsupported(&self, at: &impl Spanned, what: &str) -> Box<Diagnostic> {
        self.error(at, format!("{what} is not part of the language of operators")).help(
            "expressions have arguments, literals, arithmetic, methods of numbers, `as`, `if`, `let` and `while`",
        )
    }

    fn block(&mut self, block: &syn::Block, hint: Option<ValueType>) -> Result<OpExpr> {
        let before = self.scope.len();
        let Some((syn::Stmt::Expr(value, None), statements)) = block.stmts.split_last() else {
            return Err(self
                .error(block, "the block has no value")
                .help("end it with an expression, without a semicolon"));
        };
        if matches!(value, syn::Expr::While(_)) {
            return Err(self
                .error(value, "a loop has no value")
                .help("end with an expression, e.g. the variable that the loop computes"));
        }
        let statements = self.statements(statements)?;
        let value = self.expr(value, hint)?;
        self.scope.truncate(before);
        Ok(match statements.is_empty() {
            true => value,
            false => OpExpr::Block(statements, Box::new(value)),
        })
    }

    /// Statements whose variables end with them.
    fn body(&mut self, block: &syn::Block) -> Result<Vec<Stmt>> {
        let before = self.scope.len();
        let out = self.statements(&block.stmts);
        self.scope.truncate(before);
        out
    }

    fn statements(&mut self, statements: &[syn::Stmt]) -> Result<Vec<Stmt>> {
        statements.iter().map(|s| self.statement(s)).collect()
    }

    fn statement(&mut self, statement: &syn::Stmt) -> Result<Stmt> {
        match statement {
            syn::Stmt::Local(local) => self.declare(local),
            syn::Stmt::Expr(e, _) => self.effect(e),
            other => Err(self.unsupported(other, "this")),
        }
    }

    fn declare(&mut self, local: &syn::Local) -> Result<Stmt> {
        let (pattern, ty) = match &local.pat {
            syn::Pat::Type(p) => (&*p.pat, Some(self.value_type(&p.ty)?)),
            pattern => (pattern, None),
        };
        let syn::Pat::Ident(name) = pattern else {
            return Err(self.unsupported(pattern, "a pattern"));
        };
        let Some(init) = local.init.as_ref().filter(|i| i.diverge.is_none()) else {
            return Err(self
                .error(local, "the variable has no value")
                .help("write `let name = value;`"));
        };
        let value = self.expr(&init.expr, ty)?;
        if let Some(ty) = ty {
            self.expect(&init.expr, &value, ty)?;
        }
        let number = self.locals;
        self.locals += 1;
        let mutable = name.mutability.is_some();
        let ty = value.value_type();
        self.scope.push(Variable { name: name.ident.to_string(), number, ty, mutable });
        Ok(Stmt::Let { local: number, mutable, value })
    }

    /// A statement that is an expression of Rust: an assignment, a loop, a case.
    fn effect(&mut self, e: &syn::Expr) -> Result<Stmt> {
        match e {
            syn::Expr::Assign(a) => {
                let (local, ty) = self.place(&a.left)?;
                let value = self.expr(&a.right, Some(ty))?;
                self.expect(&a.right, &value, ty)?;
                Ok(Stmt::Set { local, value })
            }
            syn::Expr::Binary(b) => {
                let op = compound(&b.op).ok_or_else(|| self.no_effect(e))?;
                let (local, ty) = self.place(&b.left)?;
                let right = self.expr(&b.right, Some(ty))?;
                let value = self.binary(e, op, OpExpr::Local(local, ty), right, &b.right)?;
                Ok(Stmt::Set { local, value })
            }
            syn::Expr::While(w) if w.label.is_none() => {
                let condition = self.condition(&w.cond)?;
                Ok(Stmt::While { condition, body: self.body(&w.body)? })
            }
            syn::Expr::If(i) => {
                let condition = self.condition(&i.cond)?;
                let then = self.body(&i.then_branch)?;
                let otherwise = match &i.else_branch {
                    None => Vec::new(),
                    Some((_, e)) => match &**e {
                        syn::Expr::Block(b) => self.body(&b.block)?,
                        other => vec![self.effect(other)?],
                    },
                };
                Ok(Stmt::If { condition, then, otherwise })
            }
            _ => Err(self.no_effect(e)),
        }
    }

    fn no_effect(&self, e: &syn::Expr) -> Box<Diagnostic> {
        self.error(e, "this is no statement of the language of operators")
            .help("a statement is `let x = …;`, `x = …;`, `while … { … }` or `if … { … }`")
    }

    /// A variable that is assigned to.
    fn place(&self, e: &syn::Expr) -> Result<(usize, ValueType)> {
        let name = match e {
            syn::Expr::Path(p) => p.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let Some(name) = name else { return Err(self.unsupported(e, "this place")) };
        match self.scope.iter().rev().find(|v| v.name == name) {
            Some(v) if v.mutable => Ok((v.number, v.ty)),
            Some(_) => Err(self
                .error(e, format!("`{name}` is not mutable"))
                .help(format!("declare it with `let mut {name}`"))),
            None => Err(self
                .error(e, format!("there is no variable `{name}` to assign to"))
                .help(format!("declare it: `let mut {name} = …;`; arguments cannot be changed"))),
        }
    }

    fn condition(&mut self, e: &syn::Expr) -> Result<OpExpr> {
        let condition = self.expr(e, Some(ValueType::Bool))?;
        self.expect(e, &condition, ValueType::Bool)?;
        Ok(condition)
    }

    fn expect(&self, at: &impl Spanned, found: &OpExpr, wanted: ValueType) -> Result<()> {
        let found = found.value_type();
        if found == wanted {
            return Ok(());
        }
        let error = self.error(at, format!("this is of type {found}, where {wanted} is needed"));
        Err(match (found, wanted) {
            (_, ValueType::Bool) => error.help("compare it: `x != 0`"),
            _ => error.help(format!("nothing is converted by itself: write `… as {wanted}`")),
        })
    }

    /// `hint` is the type that a literal takes; the caller checks the result's type.
    fn expr(&mut self, e: &syn::Expr, hint: Option<ValueType>) -> Result<OpExpr> {
        match e {
            syn::Expr::Paren(p) => self.expr(&p.expr, hint),
            syn::Expr::Group(g) => self.expr(&g.expr, hint),
            syn::Expr::Lit(l) => self.literal(l, "", hint),
            syn::Expr::Path(p) if p.qself.is_none() => self.name(p),
            syn::Expr::Unary(u) => self.unary(u, hint),
            syn::Expr::Binary(b) => {
                let Some(op) = operator(&b.op) else {
                    return Err(self.unsupported(e, "this operator"));
                };
                let hint = if op.compares() { None } else { hint };
                let (left, right) = match is_literal(&b.left) && !is_literal(&b.right) {
                    true => {
                        let right = self.expr(&b.right, hint)?;
                        (self.expr(&b.left, Some(right.value_type()))?, right)
                    }
                    false => {
                        let left = self.expr(&b.left, hint)?;
                        let right = self.expr(&b.right, Some(left.value_type()))?;
                        (left, right)
                    }
                };
                self.binary(e, op, left, right, &b.right)
            }
            syn::Expr::MethodCall(m) => self.method(m, hint),
            syn::Expr::Cast(c) => {
                let to = self.value_type(&c.ty)?;
                let value = self.expr(&c.expr, Some(to))?;
                self.cast(e, value, to)
            }
            syn::Expr::If(i) => {
                let condition = self.condition(&i.cond)?;
                let then = self.block(&i.then_branch, hint)?;
                let Some((_, otherwise)) = &i.else_branch else {
                    return Err(self.error(e, "this `if` has no `else`").help("give both values"));
                };
                let other = self.expr(otherwise, Some(then.value_type()))?;
                self.expect(otherwise, &other, then.value_type())?;
                Ok(OpExpr::If(Box::new(condition), Box::new(then), Box::new(other)))
            }
            syn::Expr::Block(b) if b.label.is_none() => self.block(&b.block, hint),
            syn::Expr::Macro(_) => Err(self.unsupported(e, "a macro")),
            syn::Expr::Call(_) => Err(self
                .unsupported(e, "a call of a function")
                .help("call methods of the number: `a.max(b)`, not `max(a, b)`")),
            other => Err(self.unsupported(other, "this")),
        }
    }

    fn name(&self, p: &syn::ExprPath) -> Result<OpExpr> {
        let parts: Vec<String> = p.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts[..] {
            [name] => {
                if let Some(v) = self.scope.iter().rev().find(|v| v.name == name) {
                    return Ok(OpExpr::Local(v.number, v.ty));
                }
                if let Some(k) = self.arguments.iter().position(|(a, _)| *a == name) {
                    return Ok(OpExpr::Argument(k, self.arguments[k].1));
                }
                let known = self.scope.iter().map(|v| v.name.as_str());
                let known: Vec<&str> = known.chain(self.arguments.iter().map(|(a, _)| *a)).collect();
                let near = nearest(name, known.iter().copied());
                let near = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
                Err(self
                    .error(p, format!("there is nothing called `{name}`"))
                    .help(format!("{near}the arguments are {}", names(self.arguments))))
            }
            [of, constant] => self
                .named_type(of)
                .and_then(|t| named_constant(t, constant))
                .map(OpExpr::Literal)
                .ok_or_else(|| {
                    self.error(p, format!("there is no constant `{of}::{constant}`")).help(
                        "constants are `MIN`, `MAX`, and of floats `INFINITY`, `NEG_INFINITY`, `NAN`, `EPSILON`",
                    )
                }),
            _ => Err(self.unsupported(p, "a path")),
        }
    }

    fn unary(&mut self, u: &syn::ExprUnary, hint: Option<ValueType>) -> Result<OpExpr> {
        if let (syn::UnOp::Neg(_), syn::Expr::Lit(l)) = (&u.op, &*u.expr) {
            return self.literal(l, "-", hint);
        }
        let x = self.expr(&u.expr, hint)?;
        let t = x.value_type();
        match u.op {
            syn::UnOp::Neg(_) if t.is_float() => Ok(OpExpr::Neg(Box::new(x))),
            syn::UnOp::Neg(_) if is_integer(t) => Err(self
                .error(u, format!("`-` on {t} may overflow"))
                .help("say what happens then: `x.wrapping_neg()`")),
            syn::UnOp::Not(_) if !t.is_float() => Ok(OpExpr::Not(Box::new(x))),
            _ => Err(self
                .error(u, format!("type {t} has no such operator"))
                .help("`-` is for floats, `!` for integers and bool")),
        }
    }

    fn binary(
        &self,
        at: &syn::Expr,
        op: Binary,
        left: OpExpr,
        right: OpExpr,
        place: &syn::Expr,
    ) -> Result<OpExpr> {
        let t = left.value_type();
        self.expect(place, &right, t)?;
        if op.takes(t) {
            return Ok(OpExpr::Binary(op, Box::new(left), Box::new(right)));
        }
        let method = match op {
            Binary::Add => "wrapping_add",
            Binary::Sub => "wrapping_sub",
            Binary::Mul => "wrapping_mul",
            Binary::Div => "checked_div",
            Binary::Rem => "checked_rem",
            _ => "",
        };
        if is_integer(t) && !method.is_empty() {
            let end = if method.starts_with('c') { ".unwrap_or(0)" } else { "" };
            return Err(self
                .error(at, format!("`{}` on {t} may overflow or panic", op.symbol()))
                .help(format!("say what happens then: `x.{method}(y){end}`")));
        }
        Err(self
            .error(at, format!("type {t} has no `{}`", op.symbol()))
            .help("`+ - * / %` are for floats, `& | ^` for integers and bool, `&& ||` for bool"))
    }

    fn method(&mut self, m: &syn::ExprMethodCall, hint: Option<ValueType>) -> Result<OpExpr> {
        let name = m.method.to_string();
        if name == "unwrap_or" {
            return self.checked(m, hint);
        }
        if Checked::ALL.iter().any(|(_, text)| *text == name) {
            return Err(self
                .error(m, format!("`{name}` may have no value"))
                .help(format!("say which it has then: `.{name}(…).unwrap_or(0)`")));
        }
        let receiver_hint = if is_literal(&m.receiver) { None } else { hint };
        let receiver = self.expr(&m.receiver, receiver_hint)?;
        let t = receiver.value_type();
        let Some(method) = Method::named(&name, t) else {
            let known = Method::ALL.iter().filter(|m| m.shape().takes(t)).map(|m| m.name());
            let near = nearest(&name, known.clone());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if t == ValueType::Bool => "bool has `&`, `|`, `^`, `!`".to_string(),
                None => format!("{t} has {}", known.collect::<Vec<_>>().join(", ")),
            };
            return Err(self
                .error(&m.method, format!("{t} has no method `{name}` here"))
                .help(help));
        };
        let wanted = method.shape().arguments();
        if m.args.len() != wanted {
            return Err(self
                .error(m, format!("`{name}` has {} arguments, not {wanted}", m.args.len()))
                .help("count them as Rust's documentation does"));
        }
        let mut parts = vec![receiver];
        if let Some(argument) = m.args.first() {
            parts.push(match method.shape() {
                Shape::Shift => self.amount(argument)?,
                shape => {
                    let wanted = if shape == Shape::Power { ValueType::I32 } else { t };
                    let argument_value = self.expr(argument, Some(wanted))?;
                    self.expect(argument, &argument_value, wanted)?;
                    argument_value
                }
            });
        }
        Ok(OpExpr::Call(method, parts))
    }

    /// `x as u32`, where `x` is any integer: the amount of a shift.
    fn amount(&mut self, e: &syn::Expr) -> Result<OpExpr> {
        let help = "write it as Rust takes it: `a.unbounded_shl(b as u32)`";
        match e {
            syn::Expr::Paren(p) => self.amount(&p.expr),
            syn::Expr::Cast(c) if is_named(&c.ty, "u32") => {
                let amount = self.expr(&c.expr, Some(ValueType::I32))?;
                match is_integer(amount.value_type()) {
                    true => Ok(amount),
                    false => Err(self.error(e, "the amount of a shift is an integer").help(help)),
                }
            }
            syn::Expr::Lit(l) => self.literal(l, "", Some(ValueType::I32)),
            _ => Err(self.error(e, "the amount of a shift is a `u32`").help(help)),
        }
    }

    /// `a.checked_div(b).unwrap_or(c)`.
    fn checked(&mut self, m: &syn::ExprMethodCall, hint: Option<ValueType>) -> Result<OpExpr> {
        let inner = match &*m.receiver {
            syn::Expr::MethodCall(inner) => {
                let name = inner.method.to_string();
                Checked::ALL.iter().find(|(_, text)| *text == name).map(|(op, _)| (inner, *op))
            }
            _ => None,
        };
        let (Some((inner, op)), Some(otherwise)) = (inner, m.args.first()) else {
            return Err(self
                .error(m, "`unwrap_or` stands behind a checked division only")
                .help("e.g. `a.checked_rem(b).unwrap_or(0)`"));
        };
        if inner.args.len() != 1 || m.args.len() != 1 {
            return Err(self
                .error(m, "each of these methods has one argument")
                .help("e.g. `a.checked_rem(b).unwrap_or(0)`"));
        }
        let a = self.expr(&inner.receiver, hint)?;
        let t = a.value_type();
        if !is_integer(t) {
            return Err(self
                .error(inner, format!("{t} has no `{}`", op.name()))
                .help("floats divide with `/` and `%`"));
        }
        let b = self.expr(&inner.args[0], Some(t))?;
        self.expect(&inner.args[0], &b, t)?;
        let c = self.expr(otherwise, Some(t))?;
        self.expect(otherwise, &c, t)?;
        Ok(OpExpr::Checked(op, Box::new([a, b, c])))
    }

    fn cast(&self, at: &syn::Expr, value: OpExpr, to: ValueType) -> Result<OpExpr> {
        let from = value.value_type();
        if to == ValueType::Bool && from != to {
            return Err(self.error(at, "Rust does not cast to bool").help("compare: `x != 0`"));
        }
        if from == ValueType::Bool && to.is_float() {
            return Err(self
                .error(at, "Rust does not cast bool to a float")
                .help("go through an integer: `(x as i32) as f64`"));
        }
        Ok(match value {
            _ if from == to => value,
            value => OpExpr::Cast(to, Box::new(value)),
        })
    }

    fn literal(&self, l: &syn::ExprLit, sign: &str, hint: Option<ValueType>) -> Result<OpExpr> {
        let (digits, suffix, float) = match &l.lit {
            syn::Lit::Bool(b) if sign.is_empty() => {
                return Ok(OpExpr::Literal(Value::Bool(b.value)));
            }
            syn::Lit::Int(i) => (i.base10_digits(), i.suffix(), false),
            syn::Lit::Float(f) => (f.base10_digits(), f.suffix(), true),
            _ => return Err(self.unsupported(l, "this literal")),
        };
        let stated = match suffix {
            "" => None,
            suffix => Some(self.named_type(suffix).filter(|_| suffix != "T").ok_or_else(|| {
                self.error(l, format!("there is no type `{suffix}` here"))
                    .help("the types are f64, f32, i64, i32 and u8")
            })?),
        };
        let fits = |t: &ValueType| if float { t.is_float() } else { is_integer(*t) };
        let Some(t) = stated.or(hint.filter(fits)) else {
            let error = self.error(l, "the type of this literal is not clear");
            return Err(match hint {
                Some(t) if t.is_float() => {
                    error.help(format!("{t} is needed here: write `{digits}.0`"))
                }
                Some(t) => error.help(format!("{t} is needed here")),
                None => error.help("write it with its type, as `1.0_f64`, or as `(1.0 as T)`"),
            });
        };
        let text = format!("{sign}{digits}");
        let value = match t {
            ValueType::F64 => text.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::F64),
            ValueType::F32 => text.parse().ok().filter(|x: &f32| x.is_finite()).map(Value::F32),
            ValueType::I64 => text.parse().ok().map(Value::I64),
            ValueType::I32 => text.parse().ok().map(Value::I32),
            ValueType::U8 => text.parse().ok().map(Value::U8),
            ValueType::Bool => None,
        };
        value.map(OpExpr::Literal).ok_or_else(|| {
            self.error(l, format!("the literal is no value of {t}"))
                .help(format!("the greatest is `{t}::MAX`"))
        })
    }

    fn named_type(&self, name: &str) -> Option<ValueType> {
        match name {
            "T" => Some(self.generic),
            name => ValueType::ALL.into_iter().find(|t| t.rust_name() == name),
        }
    }

    fn value_type(&self, ty: &syn::Type) -> Result<ValueType> {
        let name = match ty {
            syn::Type::Path(p) if p.qself.is_none() => p.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        name.and_then(|n| self.named_type(&n)).ok_or_else(|| {
            self.error(ty, "there is no such type here").help(
                "the types are f64, f32, i64, i32, u8 and bool, and `T`, the type of the arguments",
            )
        })
    }
}

fn names(arguments: &[(&str, ValueType)]) -> String {
    arguments.iter().map(|(a, _)| format!("`{a}`")).collect::<Vec<_>>().join(", ")
}

fn is_named(ty: &syn::Type, name: &str) -> bool {
    matches!(ty, syn::Type::Path(p) if p.path.is_ident(name))
}

/// A number without a type of its own.
fn is_literal(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::Lit(_) => true,
        syn::Expr::Paren(p) => is_literal(&p.expr),
        syn::Expr::Unary(u) => is_literal(&u.expr),
        _ => false,
    }
}
