//! Lowering expressions: to values of the tree of statements, with what must lie inside for them to exist.
//!
//! What may be missing is a number with what it needs to be there (`absent.rs`):
//!
//! ```text
//! coalesce(A[~(i+1)] + 1, 0)   ⟼   within(A[i + 1], A[i + 1] + 1, 0)
//! ```
//! A tuple is as many values; a tensor of tuples is as many tensors.

use std::sync::Arc;

use super::context::{Lowered, Lowering, Part, Place};
use super::functions::operator;
use super::linear::affine;
use super::needs::{Need, Needs, Why};
use super::refusal::wrong;
use super::subscript::Subscript;
use super::syntax::{self, Expr, Ident, Literal};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::operators::Operator;
use crate::program::ir::{self, Access, Apply, Span};

pub(super) fn literal(text: impl Into<String>, span: &Span) -> ir::Expr {
    ir::Expr::Literal(ir::Literal { text: text.into(), span: span.0.clone() })
}

pub(super) fn apply(op: Arc<Operator>, args: Vec<ir::Expr>, span: &Span) -> ir::Expr {
    ir::Expr::Apply(Apply { op, args, span: span.clone() })
}

impl Lowering<'_> {
    pub fn value(&mut self, e: &Expr) -> Result<Lowered> {
        let span = Span(e.span());
        let scalar = |e: ir::Expr| Ok(Lowered::Scalar(e, Needs::default()));
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
            return Ok(Lowered::Scalar(index, Needs::default()));
        }
        let op = operator(if low > 0 { "+" } else { "-" }, self.host.operators, span)?;
        let shifted = apply(op, vec![index, literal(low.unsigned_abs().to_string(), span)], span);
        Ok(Lowered::Scalar(shifted, Needs::default()))
    }

    fn read(&mut self, access: &syntax::Access) -> Result<Lowered> {
        let place = self.place(access)?;
        let at = |tensor: &Name| Access {
            tensor: tensor.clone(),
            subscripts: place.subscripts.clone(),
            windows: Vec::new(),
            span: access.span.0.clone(),
        };
        let mut parts = Vec::new();
        for part in self.parts_of(&access.tensor.name().name) {
            parts.push(self.element(&part, &at, place.permissive, &access.span)?);
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Lowered::Tuple(parts),
        })
    }

    /// An element, and whether it is there.
    pub fn element(
        &self,
        part: &Part,
        at: &dyn Fn(&Name) -> Access,
        permissive: bool,
        span: &Span,
    ) -> Result<Lowered> {
        let value = at(&part.value);
        let inside = match permissive {
            true => vec![Need::Inside(value.clone())],
            false => Vec::new(),
        };
        let mut needs = Needs::of(Why::Missing, inside.clone());
        for flag in &part.flags {
            let mut there = ir::Expr::Access(at(&flag.tensor));
            if !flag.there {
                let not = operator("!", self.host.operators, span)?;
                there = apply(not, vec![there], span);
            }
            // What lies outside is missing, and not nothing.
            if flag.why == Why::Nothing {
                there = self.where_there(&inside, there, &literal("true", span), span)?;
            }
            needs.add(&Needs::of(flag.why, vec![Need::Holds(there)]));
        }
        Ok(Lowered::Scalar(ir::Expr::Access(value), needs))
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
            Lowered::Scalar(_, needs) => {
                let missing = needs.get(Why::Missing);
                let (kind, instead) = match missing.is_empty() {
                    true => ("nothing", "something"),
                    false => ("missing", "coalesce"),
                };
                let out = wrong(format!("{what} may be {kind}"), span);
                let out = match needs.all().first() {
                    Some(Need::Inside(access)) => {
                        out.note(format!("`{}` may lie outside", self.shown(access)))
                    }
                    Some(Need::Holds(e)) => match e.accesses().first() {
                        Some(access) => out.note(format!("`{}` may be {kind}", self.shown(access))),
                        None => out,
                    },
                    None => out,
                };
                Err(out.help(format!("say what stands for it: `{instead}(…, 0)`")))
            }
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

    pub fn applied(&mut self, name: &str, args: &[&Expr], span: &Span) -> Result<Lowered> {
        let op = operator(name, self.host.operators, span)?;
        let mut values = Vec::new();
        for arg in args {
            values.push((self.value(arg)?, Span(arg.span())));
        }
        self.combined(op, values, span)
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
        let op = self.with_parameters_of(name, parameters.len(), span)?;
        let mut values = Vec::new();
        for e in args.iter().chain(parameters) {
            values.push((self.value(e)?, Span(e.span())));
        }
        self.combined(op, values, span)
    }

    /// The operator that takes so many parameters: `choose(z)` takes one.
    pub fn with_parameters_of(
        &self,
        name: &str,
        count: usize,
        span: &Span,
    ) -> Result<Arc<Operator>> {
        let op = operator(name, self.host.operators, span)?;
        if op.parameters() == count {
            return Ok(op);
        }
        let all = self.host.operators.all().filter(|op| op.parameters() > 0);
        let all: Vec<&str> = all.map(|op| op.name()).collect();
        let message = match op.parameters() {
            0 => format!("`{name}` has no parameters"),
            n => format!("`{name}` has {n} parameter(s), not {count}"),
        };
        Err(wrong(message, span)
            .help(format!("functions with parameters are {}: `choose(0)(a, b)`", all.join(", "))))
    }
}
