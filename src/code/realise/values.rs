//! Values: where they are loaded or looked up, what is computed from them, and where it is stored.

use std::sync::Arc;

use super::super::ir::{Access, Assign, BinaryOp, Block, Element, Expr, Load, Stmt, Type, VarId};
use super::{Found, Realiser};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::loops::{Lookup, Place, Take, Term};
use crate::operators::{Apply, Given, OpExpr, Operator, Region, Simplified, Tree, Value, simplify};
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

    /// What is computed, from left to right.
    pub(super) fn computed(&mut self, value: &Tree<Term>) -> Result<Expr> {
        Ok(match value {
            Tree::Leaf(Term::Element(place)) => {
                let hoisted = self.hoisted.iter().find(|(p, _)| p == place);
                match hoisted.map(|(_, var)| *var).or(self.single(place)) {
                    Some(var) => Expr::Var(var),
                    None => Expr::Load(self.place(place)),
                }
            }
            Tree::Leaf(Term::Found(name)) => {
                let found = &self.lookups[name];
                found.value.map_or(Expr::Number(found.fill), Expr::Var)
            }
            Tree::Leaf(Term::Index(index)) => {
                let index = self.here(&Affine::var(index.clone()));
                Expr::Cast { to: ValueType::I64, value: Box::new(self.value(&index)) }
            }
            Tree::Number(number) => Expr::Number(*number),
            Tree::Cast(to, inner) => Expr::Cast { to: *to, value: Box::new(self.computed(inner)?) },
            Tree::If(choice) => {
                let then = self.computed(&choice.then)?;
                match self.region(&choice.region, Term::lookup) {
                    Expr::Bool(true) => then,
                    condition => Expr::Choose {
                        condition: Box::new(condition),
                        then: Box::new(then),
                        otherwise: Box::new(Expr::Number(choice.otherwise)),
                    },
                }
            }
            Tree::Apply(Apply { op, args }) => {
                if let Some(decided) = self.decided(op, args)? {
                    return Ok(decided);
                }
                let args =
                    args.iter().map(|arg| self.computed(arg)).collect::<Result<Vec<Expr>>>()?;
                let types = args.iter().map(|arg| self.value_type(arg)).collect::<Vec<_>>();
                let generic = op.signature(&types)?.generic;
                let mut args = args.into_iter();
                let first = args.by_ref().take(op.arity()).collect();
                let first = applied(op, generic, first);
                args.fold(first, |all, next| applied(op, generic, vec![all, next]))
            }
        })
    }

    /// A use of an operator that one of two numbers decides, by which of them it is:
    /// `select(if(A, true, false), x, y)` is `if A { x } else { y }`.
    fn decided(&mut self, op: &Operator, args: &[Tree<Term>]) -> Result<Option<Expr>> {
        let asks = |arg: &Tree<Term>| match arg {
            Tree::If(choice) => match choice.then {
                Tree::Number(then) => Some((then, choice.otherwise, choice.region.clone())),
                _ => None,
            },
            _ => None,
        };
        let Some((at, (then, otherwise, region))) =
            args.iter().enumerate().find_map(|(k, arg)| Some((k, asks(arg)?)))
        else {
            return Ok(None);
        };
        let values: Vec<Expr> = args.iter().map(|arg| self.computed(arg)).collect::<Result<_>>()?;
        let types: Vec<ValueType> = values.iter().map(|value| self.value_type(value)).collect();
        let Ok(signature) = op.signature(&types) else { return Ok(None) };
        let with = |number| {
            let given = (0..args.len()).map(|k| match k == at {
                true => Given::Known(number),
                false => Given::Unknown(k),
            });
            let given: Vec<Given> = given.collect();
            match simplify(op, &types, &given, false) {
                Simplified::Constant(number) => Some(Expr::Number(number)),
                Simplified::Argument(k) if types[k] == signature.result => Some(values[k].clone()),
                Simplified::Argument(_) | Simplified::Nothing => None,
            }
        };
        let (Some(then), Some(otherwise)) = (with(then), with(otherwise)) else { return Ok(None) };
        Ok(Some(match self.region(&region, Term::lookup) {
            Expr::Bool(true) => then,
            condition => Expr::Choose {
                condition: Box::new(condition),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            },
        }))
    }

    /// The type of what is computed.
    pub(super) fn value_type(&self, e: &Expr) -> ValueType {
        match self.body.type_of(e) {
            Ok(Type::Value(ty)) => ty,
            other => unreachable!("a value is of type {other:?}"),
        }
    }

    /// The type of the elements of an array of values.
    pub(super) fn element_type(&self, place: &Place) -> ValueType {
        if let Some(var) = self.single(place)
            && let Type::Value(ty) = self.body.var(var).ty
        {
            return ty;
        }
        match self.body.arr(self.array_of(&place.array)).element {
            Element::Value(ty) => ty,
            other => unreachable!("values are in an array of {}", other.rust_name()),
        }
    }

    /// `value` combined into what is there.
    pub(super) fn combined(&self, op: &Arc<Operator>, before: Expr, value: Expr) -> Expr {
        let ty = self.value_type(&value);
        applied(op, ty, vec![before, value])
    }

    /// `value` combined into what an element begins with: the value itself, unless that holds of finite numbers only
    /// (of minus infinity and NaN, the greatest is minus infinity).
    pub(super) fn combined_first(&self, op: &Arc<Operator>, value: Expr) -> Expr {
        match op.finite_beginning(self.value_type(&value)) {
            Some(begins) => self.combined(op, Expr::Number(begins), value),
            None => value,
        }
    }

    /// `value` combined into a variable.
    pub(super) fn combine_into(&self, op: &Arc<Operator>, var: VarId, value: Expr) -> Stmt {
        match op.is_sum() {
            true => Stmt::Assign { var, op: Assign::Add, value },
            false => {
                let value = self.combined(op, Expr::Var(var), value);
                Stmt::Assign { var, op: Assign::Set, value }
            }
        }
    }

    /// The variables of a lookup and the code that sets them.
    pub(super) fn lookup(&mut self, l: &Lookup, out: &mut Block) -> Result<()> {
        let (fill, ty) = (l.fill, l.fill.value_type());
        let value = l.read.then(|| self.body.variable(&l.name, Type::Value(ty)));
        let asked = l.asked.then(|| self.body.variable(&format!("has_{}", l.name), Type::Bool));
        // Where nobody asks, it makes no difference.
        let is_there = asked.map_or(Expr::Bool(true), Expr::Var);
        self.lookups.insert(l.name.clone(), Found { fill, value, is_there });
        let inner = self.block(&l.body)?;
        let is_found =
            |stmt: &Stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Assign { op: Assign::Set, .. });
        if !inner.is_empty() && inner.iter().all(is_found) {
            // It is stored wherever it is looked up.
            out.extend(inner.into_iter().map(|stmt| match stmt {
                Stmt::Assign { var, value, .. } => Stmt::Let { var, mutable: false, value },
                stmt => stmt,
            }));
            return Ok(());
        }
        // Nothing is stored in any of the pieces.
        let mutable = !inner.is_empty();
        out.extend(value.map(|var| Stmt::Let { var, mutable, value: Expr::Number(fill) }));
        out.extend(asked.map(|var| Stmt::Let { var, mutable, value: Expr::Bool(false) }));
        if !inner.is_empty() {
            out.push(Stmt::Scope(inner));
        }
        Ok(())
    }

    pub(super) fn take(&mut self, take: &Take, out: &mut Block) {
        if let Some(var) = self.lookups[&take.name].value {
            let value = match self.constant(&take.place.array) {
                Some(constant) => Expr::Number(constant),
                None => Expr::Load(self.place(&take.place)),
            };
            let op = if take.sums { Assign::Add } else { Assign::Set };
            out.push(Stmt::Assign { var, op, value });
        }
        if let Expr::Var(var) = self.lookups[&take.name].is_there {
            out.push(Stmt::Assign { var, op: Assign::Set, value: Expr::Bool(true) });
        }
    }

    /// What each element of an array is, if they are all the same.
    fn constant(&self, array: &Name) -> Option<Value> {
        self.body.constants.get(&self.body.array_named(array)?).copied()
    }

    /// Whether lookups have found what the region asks for; `lookup` is the one for an operand.
    pub(super) fn region<K>(
        &self,
        region: &Region<K>,
        lookup: impl Fn(&K) -> Option<&Name> + Copy,
    ) -> Expr {
        match region {
            Region::All => Expr::Bool(true),
            Region::Nothing => Expr::Bool(false),
            Region::Stored(k) => match lookup(k) {
                Some(name) => self.lookups[name].is_there.clone(),
                None => Expr::Bool(true),
            },
            Region::Not(inner) => self.region(inner, lookup).negated(),
            Region::Both(parts) => Expr::and(parts.iter().map(|p| self.region(p, lookup))),
            Region::Either(parts) => Expr::or(parts.iter().map(|p| self.region(p, lookup))),
        }
    }

    /// Adds `value` to an output element.
    pub(super) fn store(&mut self, target: &Place, value: Expr) -> Stmt {
        Stmt::Store { place: self.place(target), op: Assign::Add, value }
    }
}

/// A use of an operator for arguments that meet in a type: as an operation of the language, if it is one.
pub(super) fn applied(op: &Arc<Operator>, generic: ValueType, mut args: Vec<Expr>) -> Expr {
    use crate::operators::{Binary, Method};
    let is_argument = |e: &OpExpr, k: usize| matches!(e, OpExpr::Argument(n, _) if *n == k);
    let operation = match op.rust(generic) {
        Some(OpExpr::Binary(binary, a, b)) if is_argument(a, 0) && is_argument(b, 1) => {
            match binary {
                Binary::Add => Some(BinaryOp::Add),
                Binary::Sub => Some(BinaryOp::Sub),
                Binary::Mul => Some(BinaryOp::Mul),
                Binary::Div => Some(BinaryOp::Div),
                Binary::BitOr if generic == ValueType::Bool => Some(BinaryOp::Add),
                Binary::BitAnd if generic == ValueType::Bool => Some(BinaryOp::Mul),
                _ => None,
            }
        }
        Some(OpExpr::Call(method, parts)) => match parts.as_slice() {
            [a, b] if is_argument(a, 0) && is_argument(b, 1) => match method {
                Method::WrappingAdd => Some(BinaryOp::Add),
                Method::WrappingSub => Some(BinaryOp::Sub),
                Method::WrappingMul => Some(BinaryOp::Mul),
                Method::Min => Some(BinaryOp::Min),
                Method::Max => Some(BinaryOp::Max),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    match operation {
        Some(operation) if args.len() == 2 => {
            let right = args.remove(1);
            Expr::binary(operation, args.remove(0), right)
        }
        _ => Expr::Operator { op: op.clone(), generic, args },
    }
}
