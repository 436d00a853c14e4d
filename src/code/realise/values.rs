//! Values: where they are loaded or looked up, what is computed from them, and where it is stored.

use super::super::ir::{Access, Assign, BinaryOp, Block, Expr, Load, Stmt, Type};
use super::{Found, Realiser};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::iterspace::Value;
use crate::loops::{Lookup, Place, Take, Term};
use crate::operators::Region;
use crate::program::{AssignOp, Coefficient, Op, Scalar};
use crate::tensor::ValueType;

impl Realiser<'_, '_> {
    /// An element at the current position.
    pub(super) fn place(&mut self, place: &Place) -> Load {
        let array = self.array_of(&place.array);
        let mut subscripts = Vec::new();
        for s in &place.index {
            let s = self.here_arith(s);
            subscripts.push(self.arith(&s));
        }
        if subscripts.is_empty() {
            subscripts.push(Expr::int(0));
        }
        Load { array, subscripts, access: Access::Checked }
    }

    /// What is computed, from left to right; the numbers of a product come first, as one.
    pub(super) fn computed(&mut self, value: &Value<Term>, text: &str) -> Result<Expr> {
        let ty = self.value_type;
        let (op, args) = match value {
            Value::Leaf(Term::Element(place)) => {
                return Ok(match self.hoisted.iter().find(|(p, _)| p == place) {
                    Some((_, var)) => Expr::Var(*var),
                    None => Expr::Load(self.place(place)),
                });
            }
            Value::Leaf(Term::Found(name)) => {
                return Ok(self.lookups[name].value.map_or(Expr::zero(ty), Expr::Var));
            }
            Value::Apply(apply) => (apply.op, &apply.args),
            Value::Literal(_) => (Op::Mul, &Vec::new()),
        };
        if matches!(op, Op::Mul | Op::Neg) {
            let (mut coefficient, mut factors) = (Coefficient::default(), Vec::new());
            flatten(value, &mut coefficient, &mut factors);
            let mut product = spelled(ty, &coefficient, text)?;
            for factor in factors {
                let factor = self.computed(factor, text)?;
                product = Some(match product {
                    None => factor,
                    Some(all) => Expr::binary(BinaryOp::Mul, all, factor),
                });
            }
            return Ok(product.unwrap_or_else(|| Expr::one(ty)));
        }
        let lacks = |what: &str| {
            let place = value.place().unwrap_or_default();
            Diagnostic::new(Code::Program, format!("type {} has no {what}", ty.rust_name()))
                .at(place, "used here")
                .within("<expression>", text)
                .help("use another type of values")
        };
        let boolean = ty == ValueType::Bool;
        let op = match op {
            Op::Add | Op::Max if boolean => BinaryOp::Add,
            Op::Min if boolean => BinaryOp::Mul,
            Op::Add => BinaryOp::Add,
            Op::Sub if boolean => return Err(lacks("differences")),
            Op::Sub => BinaryOp::Sub,
            Op::Div if !matches!(ty, ValueType::F64 | ValueType::F32) => {
                return Err(lacks("division in kernels"));
            }
            Op::Div => BinaryOp::Div,
            Op::Min => BinaryOp::Min,
            Op::Max => BinaryOp::Max,
            Op::Mul | Op::Neg => unreachable!("products are taken apart above"),
        };
        let mut out: Option<Expr> = None;
        for arg in args {
            let arg = self.computed(arg, text)?;
            out = Some(match out {
                None => arg,
                Some(before) => Expr::binary(op, before, arg),
            });
        }
        Ok(out.unwrap_or_else(|| Expr::zero(ty)))
    }

    /// `value` combined into what is there.
    pub(super) fn combined(&self, op: AssignOp, before: Expr, value: Expr) -> Expr {
        let boolean = self.value_type == ValueType::Bool;
        let op = match op {
            AssignOp::Mul => BinaryOp::Mul,
            AssignOp::Min if boolean => BinaryOp::Mul,
            AssignOp::Min => BinaryOp::Min,
            AssignOp::Max if !boolean => BinaryOp::Max,
            AssignOp::Max | AssignOp::Add | AssignOp::Assign => BinaryOp::Add,
        };
        Expr::binary(op, before, value)
    }

    /// The variables of a lookup and the code that sets them.
    pub(super) fn lookup(&mut self, l: &Lookup, out: &mut Block) -> Result<()> {
        let ty = self.value_type;
        let value = l.read.then(|| self.body.variable(&l.name, Type::Value(ty)));
        let asked = l.asked.then(|| self.body.variable(&format!("has_{}", l.name), Type::Bool));
        // Nothing is stored in any of the pieces.
        let mutable = !l.body.is_empty();
        out.extend(value.map(|var| Stmt::Let { var, mutable, value: Expr::zero(ty) }));
        out.extend(asked.map(|var| Stmt::Let { var, mutable, value: Expr::Bool(false) }));
        self.lookups.insert(l.name.clone(), Found { value, asked });
        let inner = self.block(&l.body)?;
        if !inner.is_empty() {
            out.push(Stmt::Scope(inner));
        }
        Ok(())
    }

    pub(super) fn take(&mut self, take: &Take, out: &mut Block) {
        if let Some(var) = self.lookups[&take.name].value {
            let value = Expr::Load(self.place(&take.place));
            let op = if take.sums { Assign::Add } else { Assign::Set };
            out.push(Stmt::Assign { var, op, value });
        }
        let found = &self.lookups[&take.name];
        let is_there = Expr::Bool(true);
        out.extend(found.asked.map(|var| Stmt::Assign { var, op: Assign::Set, value: is_there }));
    }

    /// Whether lookups have found what the region asks for.
    pub(super) fn region(&self, region: &Region<Name>) -> Expr {
        match region {
            Region::All => Expr::Bool(true),
            Region::Nothing => Expr::Bool(false),
            Region::Stored(name) => match self.lookups[name].asked {
                Some(var) => Expr::Var(var),
                None => Expr::Bool(true),
            },
            Region::Not(inner) => self.region(inner).negated(),
            Region::Both(parts) => Expr::and(parts.iter().map(|p| self.region(p))),
            Region::Either(parts) => Expr::or(parts.iter().map(|p| self.region(p))),
        }
    }

    /// Adds `value` to an output element.
    pub(super) fn store(&mut self, target: &Place, value: Expr) -> Stmt {
        Stmt::Store { place: self.place(target), op: Assign::Add, value }
    }
}

/// Numbers and signs of a product, and its other factors.
fn flatten<'v>(
    value: &'v Value<Term>,
    coefficient: &mut Coefficient,
    factors: &mut Vec<&'v Value<Term>>,
) {
    match value {
        Value::Literal(literal) => coefficient.literals.push(literal.clone()),
        Value::Apply(apply) if matches!(apply.op, Op::Mul | Op::Neg) => {
            if apply.op == Op::Neg {
                coefficient.minuses.push(apply.span.0.clone());
            }
            apply.args.iter().for_each(|arg| flatten(arg, coefficient, factors));
        }
        other => factors.push(other),
    }
}

/// A literal factor in the arithmetic of the type; `None` when it is the identity.
fn spelled(t: ValueType, coefficient: &Coefficient, source: &str) -> Result<Option<Expr>> {
    fn text<T: Scalar>(coefficient: &Coefficient, source: &str) -> Result<Option<String>> {
        let value = coefficient.fold::<T>().map_err(|e| e.within("<expression>", source))?;
        Ok((value != T::ONE).then(|| format!("{value:?}")))
    }
    let text = match t {
        ValueType::F64 => text::<f64>(coefficient, source),
        ValueType::F32 => text::<f32>(coefficient, source),
        ValueType::I64 => text::<i64>(coefficient, source),
        ValueType::I32 => text::<i32>(coefficient, source),
        ValueType::U8 => text::<u8>(coefficient, source),
        ValueType::Bool => text::<bool>(coefficient, source),
    };
    // A product of literals may be beyond the type.
    let named = |text: String| {
        let name = t.rust_name();
        text.replace("inf", &format!("{name}::INFINITY")).replace("NaN", &format!("{name}::NAN"))
    };
    Ok(text?.map(|text| Expr::number(&named(text), t)))
}
