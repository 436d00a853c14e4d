//! Lowering expressions: to values of the tree of statements, with what must lie inside for them to exist.
//!
//! `missing` is what reads outside of a tensor give, and what every function of it gives but `coalesce`.
//! Which accesses may lie outside is known, so a value is an expression with the accesses that it needs:
//!
//! ```text
//! coalesce(A[~(i+1)] + 1, 0)   ⟼   within(A[i + 1], A[i + 1] + 1, 0)
//! ```
//! A tuple is as many values; a tensor of tuples is as many tensors.

use std::sync::Arc;

use super::context::{Lowered, Lowering, Place};
use super::functions::{operator, passes_missing};
use super::linear::affine;
use super::refusal::wrong;
use super::subscript::Subscript;
use super::syntax::{self, Expr, Ident, Literal};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::operators::Operator;
use crate::program::ir::{self, Access, Apply, Span, Within};

pub(super) fn literal(text: impl Into<String>, span: &Span) -> ir::Expr {
    ir::Expr::Literal(ir::Literal { text: text.into(), span: span.0.clone() })
}

pub(super) fn apply(op: Arc<Operator>, args: Vec<ir::Expr>, span: &Span) -> ir::Expr {
    ir::Expr::Apply(Apply { op, args, span: span.clone() })
}

/// `value` where all accesses lie inside, else `outside`.
pub(super) fn within(
    needs: &[Access],
    value: ir::Expr,
    outside: &ir::Expr,
    span: &Span,
) -> ir::Expr {
    needs.iter().rev().fold(value, |inside, access| {
        let (access, outside) = (access.clone(), outside.clone());
        ir::Expr::Within(Box::new(Within { access, inside, outside, span: span.clone() }))
    })
}

impl Lowering<'_> {
    pub fn value(&mut self, e: &Expr) -> Result<Lowered> {
        let span = Span(e.span());
        let scalar = |e: ir::Expr| Ok(Lowered::Scalar(e, Vec::new()));
        match e {
            Expr::Literal(l, _) => match l {
                Literal::Integer(text) | Literal::Float(text) => scalar(literal(text, &span)),
                Literal::Bool(value) => scalar(literal(value.to_string(), &span)),
                Literal::Inf => scalar(literal("inf", &span)),
                Literal::Nan => scalar(literal("nan", &span)),
                Literal::Missing => Ok(Lowered::Missing),
                Literal::Nothing => Ok(Lowered::Nothing),
            },
            Expr::Name(ident) => self.name(ident),
            Expr::Operator(..) => Err(wrong("an operator without operands", &span)
                .help("write e.g. `a + b`; an operator alone stands in `<<+>>=`")),
            Expr::Access(access) => self.read(access),
            Expr::Prefix("+", a, _) => self.value(a),
            Expr::Prefix("-", a, _) => self.applied("neg", &[a], &span),
            Expr::Prefix("!", a, _) => self.applied("!", &[a], &span),
            Expr::Prefix(op, ..) => Err(wrong(format!("`{op}` stands in subscripts only"), &span)
                .help("write `A[~(i + 1)]`; bits are flipped by `xor(x, -1)`")),
            Expr::Infix("=>", a, b) => {
                let parts = vec![self.value(a)?, self.value(b)?];
                Ok(Lowered::Tuple(parts))
            }
            Expr::Infix(op, a, b) => self.applied(op, &[a, b], &span),
            Expr::Chain(first, rest) => self.chain(first, rest, &span),
            Expr::Call(f, args, _) => self.call(f, args, &span),
            Expr::Window(..) => {
                Err(wrong("a window stands in subscripts only", &span).help("write `A[(2:4)(i)]`"))
            }
            Expr::Tuple(parts, _) if parts.len() == 1 => Err(wrong("a tuple of one", &span)
                .help("tuples have at least two parts; write the part alone")),
            Expr::Tuple(parts, _) => {
                let parts: Result<Vec<Lowered>> = parts.iter().map(|p| self.value(p)).collect();
                parts.map(Lowered::Tuple)
            }
        }
    }

    /// The value of an index counts from 1, that of a loop of the tree from 0.
    fn name(&mut self, ident: &Ident) -> Result<Lowered> {
        let span = &ident.span;
        let name = Name::from(ident.name.as_str());
        if let Some(value) = self.values.get(&ident.name) {
            return Ok(value.clone());
        }
        let low = self.known.indices[&ident.name].low;
        let index = ir::Expr::Index(name, span.clone());
        if low == 0 {
            return Ok(Lowered::Scalar(index, Vec::new()));
        }
        let op = operator(if low > 0 { "+" } else { "-" }, self.host.operators, span)?;
        let shifted = apply(op, vec![index, literal(low.unsigned_abs().to_string(), span)], span);
        Ok(Lowered::Scalar(shifted, Vec::new()))
    }

    fn read(&mut self, access: &syntax::Access) -> Result<Lowered> {
        let place = self.place(access)?;
        let parts: Vec<Lowered> = self
            .parts_of(&access.tensor.name().name)
            .into_iter()
            .map(|tensor| {
                let subscripts = place.subscripts.clone();
                let span = access.span.0.clone();
                let access = Access { tensor, subscripts, windows: Vec::new(), span };
                let needs = if place.permissive { vec![access.clone()] } else { Vec::new() };
                Lowered::Scalar(ir::Expr::Access(access), needs)
            })
            .collect();
        Ok(match parts.len() {
            1 => parts.into_iter().next().unwrap_or(Lowered::Nothing),
            _ => Lowered::Tuple(parts),
        })
    }

    /// Where an access goes, counted from 0.
    pub fn place(&mut self, access: &syntax::Access) -> Result<Place> {
        let dims = self.known.tensors[&access.tensor.name().name].clone();
        let mut out = Place { subscripts: Vec::new(), permissive: false };
        let mut promised = false;
        for (e, size) in access.subscripts.iter().zip(dims) {
            let place = match self.known.subscript(e)? {
                Subscript::Along { index, shift } | Subscript::Window { index, shift, .. } => {
                    Affine::var(index) + Affine::constant(shift)
                }
                Subscript::Permissive(e) => {
                    out.permissive |= self.known.inside(&e, size) != Some(true);
                    self.computed(&e)?
                }
                Subscript::Computed(e) => {
                    let place = self.computed(&e)?;
                    place.visit_vars(&mut |v| promised |= !self.known.indices.contains_key(&**v));
                    place
                }
            };
            let place = place.substitute(&|name| {
                let low = self.known.indices.get(&**name)?.low;
                Some(Affine::var(name.clone()) + Affine::constant(low))
            });
            out.subscripts.push(place - Affine::constant(1));
        }
        if out.permissive && promised {
            let message = "one subscript may lie outside, and a value decides another";
            return Err(wrong(message, &access.span).help("write `~` before both"));
        }
        Ok(out)
    }

    /// A subscript that is computed, counted from 1: what is not linear gets a name in front of the
    /// statement.
    fn computed(&mut self, e: &Expr) -> Result<Affine> {
        let is_linear = |name: &str| {
            let bound = matches!(
                self.values.get(name),
                Some(Lowered::Scalar(ir::Expr::Name(..), needs)) if needs.is_empty()
            );
            bound || self.known.indices.contains_key(name)
        };
        if let Some(form) = affine(e, &is_linear, false) {
            return Ok(form);
        }
        if let Expr::Infix(op @ ("+" | "-"), a, b) = e {
            let (a, b) = (self.computed(a)?, self.computed(b)?);
            return Ok(if *op == "+" { a + b } else { a - b });
        }
        let span = Span(e.span());
        let value = self.value(e)?;
        let value = self.number(value, &span, "a subscript")?;
        let name = self.fresh("at");
        self.before.push((name.clone(), value, span));
        Ok(Affine::var(name))
    }

    /// A number that is there.
    pub fn number(&self, value: Lowered, span: &Span, what: &str) -> Result<ir::Expr> {
        match value {
            Lowered::Scalar(e, needs) if needs.is_empty() => Ok(e),
            Lowered::Scalar(_, needs) => Err(wrong(format!("{what} may be missing"), span)
                .note(format!("`{}` may lie outside", self.shown(&needs[0])))
                .help("say what stands for it: `coalesce(…, 0)`")),
            Lowered::Missing => {
                Err(wrong(format!("{what} is missing"), span).help("write `coalesce(…, 0)`"))
            }
            Lowered::Nothing => {
                Err(wrong(format!("{what} is nothing"), span).help("write `something(…, 0)`"))
            }
            Lowered::Tuple(_) => Err(wrong(format!("{what} is a tuple"), span)
                .help("take a part: `first(…)` or `last(…)`")),
        }
    }

    /// An access as the program writes it.
    fn shown(&self, access: &Access) -> String {
        self.text.get(access.span.clone()).map_or(access.to_string(), ToString::to_string)
    }

    fn applied(&mut self, name: &str, args: &[&Expr], span: &Span) -> Result<Lowered> {
        let op = operator(name, self.host.operators, span)?;
        let mut values = Vec::new();
        for arg in args {
            values.push((self.value(arg)?, Span(arg.span())));
        }
        self.combined(op, values, span)
    }

    fn combined(
        &self,
        op: Arc<Operator>,
        values: Vec<(Lowered, Span)>,
        span: &Span,
    ) -> Result<Lowered> {
        op.accepts(values.len()).map_err(|e| {
            let out = wrong(e.message.clone(), span);
            out.help(e.help.unwrap_or_default())
        })?;
        let (mut args, mut needs) = (Vec::new(), Vec::new());
        let mut missing = false;
        for (value, place) in values {
            match value {
                Lowered::Scalar(e, accesses) if accesses.is_empty() => args.push(e),
                Lowered::Scalar(e, accesses) if passes_missing(&op) => {
                    args.push(e);
                    for access in accesses {
                        if !needs.contains(&access) {
                            needs.push(access);
                        }
                    }
                }
                Lowered::Missing if passes_missing(&op) => missing = true,
                other => {
                    let what = format!("an argument of `{}`", op.name());
                    args.push(self.number(other, &place, &what)?);
                }
            }
        }
        if missing {
            return Ok(Lowered::Missing);
        }
        Ok(Lowered::Scalar(apply(op, args, span), needs))
    }

    /// `a < b <= c`: each operand is written twice at most.
    fn chain(
        &mut self,
        first: &Expr,
        rest: &[(&'static str, Expr)],
        span: &Span,
    ) -> Result<Lowered> {
        let mut left = first;
        let mut out: Option<Lowered> = None;
        for (op, right) in rest {
            let part = self.applied(op, &[left, right], span)?;
            out = Some(match out {
                None => part,
                Some(before) => {
                    let and = operator("&&", self.host.operators, span)?;
                    let parts = vec![(before, span.clone()), (part, span.clone())];
                    self.combined(and, parts, span)?
                }
            });
            left = right;
        }
        out.ok_or_else(|| wrong("a comparison without operands", span).help("write `a < b`"))
    }

    fn call(&mut self, f: &Expr, args: &[Expr], span: &Span) -> Result<Lowered> {
        let name = match f {
            Expr::Name(ident) => ident.name.as_str(),
            Expr::Operator(symbol, _) => symbol,
            Expr::Call(inner, parameters, _) => {
                return self.with_parameters(inner, parameters, args, span);
            }
            other => {
                let place = Span(other.span());
                return Err(wrong("this is no function", &place).help("write `f(a, b)`"));
            }
        };
        let count = |n: usize| {
            if args.len() == n {
                return Ok(());
            }
            Err(wrong(format!("`{name}` has {n} arguments, not {}", args.len()), span)
                .help("give each of them"))
        };
        match name {
            "coalesce" => self.coalesce(args, span),
            "something" => {
                for arg in args {
                    match self.value(arg)? {
                        Lowered::Nothing => {}
                        value => return Ok(value),
                    }
                }
                Ok(Lowered::Nothing)
            }
            "identity" => {
                count(1)?;
                self.value(&args[0])
            }
            "tuple" if args.len() > 1 => {
                let parts: Result<Vec<Lowered>> = args.iter().map(|p| self.value(p)).collect();
                parts.map(Lowered::Tuple)
            }
            "first" | "last" => {
                count(1)?;
                match self.value(&args[0])? {
                    Lowered::Tuple(mut parts) if name == "first" => Ok(parts.swap_remove(0)),
                    Lowered::Tuple(mut parts) => Ok(parts.pop().unwrap_or(Lowered::Nothing)),
                    other => Ok(other),
                }
            }
            "overwrite" => {
                count(2)?;
                self.value(&args[1])
            }
            "minby" | "maxby" => {
                count(2)?;
                let (a, b) = (self.value(&args[0])?, self.value(&args[1])?);
                self.least(name, a, b, span)
            }
            "-" if args.len() == 1 => self.applied("neg", &[&args[0]], span),
            "walk" | "gallop" | "follow" | "extrude" | "laminate" => {
                Err(wrong(format!("`{name}` stands in subscripts only"), span)
                    .help(format!("write `A[{name}(i)]`")))
            }
            _ => self.applied(name, &args.iter().collect::<Vec<_>>(), span),
        }
    }

    /// `choose(z)(a, b)`, `filterop(z)(c, x)`, `initwrite(z)(a, b)`
    fn with_parameters(
        &mut self,
        f: &Expr,
        parameters: &[Expr],
        args: &[Expr],
        span: &Span,
    ) -> Result<Lowered> {
        let Expr::Name(Ident { name, .. }) = f else {
            return Err(wrong("this is no function", span).help("write `choose(0)(a, b)`"));
        };
        let ([z], [a, b]) = (parameters, args) else {
            return Err(wrong(format!("`{name}` has one number and two arguments"), span)
                .help(format!("write `{name}(0)(a, b)`")));
        };
        match name.as_str() {
            "choose" => self.applied("choose", &[a, b, z], span),
            "filterop" => self.applied("ifelse", &[a, b, z], span),
            "initwrite" => self.value(b),
            _ => Err(wrong(format!("there is no function `{name}` with parameters"), span)
                .help("these are `choose(z)`, `filterop(z)` and `initwrite(z)`")),
        }
    }

    fn coalesce(&mut self, args: &[Expr], span: &Span) -> Result<Lowered> {
        let mut out = Lowered::Missing;
        for arg in args.iter().rev() {
            out = match (self.value(arg)?, out) {
                (Lowered::Missing, rest) => rest,
                (Lowered::Scalar(e, needs), _) if needs.is_empty() => {
                    Lowered::Scalar(e, Vec::new())
                }
                (value @ Lowered::Scalar(..), Lowered::Missing) => value,
                (Lowered::Scalar(e, needs), rest) => {
                    let rest = self.number(rest, span, "what stands for `missing`")?;
                    Lowered::Scalar(within(&needs, e, &rest, span), Vec::new())
                }
                (other, _) => return self.number(other, span, "this").map(|_| Lowered::Nothing),
            };
        }
        Ok(out)
    }

    /// The tuple whose first part is least or greatest; the first of equal ones.
    fn least(&self, name: &str, a: Lowered, b: Lowered, span: &Span) -> Result<Lowered> {
        let (Lowered::Tuple(a), Lowered::Tuple(b)) = (a, b) else {
            return Err(wrong(format!("`{name}` compares tuples"), span)
                .help(format!("write `{name}(a => i, b => j)`")));
        };
        if a.len() != b.len() {
            return Err(
                wrong("tuples of different length", span).help("give them equally many parts")
            );
        }
        let replaces = self.replaces(name, &a[0], &b[0], span)?;
        let select = operator("ifelse", self.host.operators, span)?;
        let parts = a.into_iter().zip(b).map(|(a, b)| {
            let values = vec![
                (Lowered::Scalar(replaces.clone(), Vec::new()), span.clone()),
                (b, span.clone()),
                (a, span.clone()),
            ];
            self.combined(select.clone(), values, span)
        });
        parts.collect::<Result<Vec<Lowered>>>().map(Lowered::Tuple)
    }

    /// Whether `b` takes the place of `a`.
    pub fn replaces(&self, name: &str, a: &Lowered, b: &Lowered, span: &Span) -> Result<ir::Expr> {
        let op = operator(if name == "minby" { "<" } else { ">" }, self.host.operators, span)?;
        let values = vec![(b.clone(), span.clone()), (a.clone(), span.clone())];
        let value = self.combined(op, values, span)?;
        self.number(value, span, "the first part of a tuple")
    }
}
