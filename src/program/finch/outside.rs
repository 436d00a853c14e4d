//! What may lie outside of its tensor: by regions in which it does or does not.
//!
//! Before → after, for `x` of 4 elements:
//!
//! ```text
//! within(x[i + 1], x[i + 1], 0) + x[i]   ⟼   x[i + 1] + x[i]   if i + 1 <= 3
//!                                            0 + x[i]          if i + 1 > 3
//! ```
//! The regions do not overlap and cover everything. Those without points, as far as that is seen of one index
//! at a time, are left out.

use indexmap::IndexMap;

use super::refusal::not_compiled;
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Formula, Name, Relop};
use crate::operators::{CaseKind, Operator, Special, SpecialResult};
use crate::program::ir::{Access, Apply, Expr, Within};
use crate::program::reach::range;
use crate::program::{Window, number};
use crate::tensor::ValueType;

/// More are not worth their code.
const MAX_REGIONS: usize = 64;

/// So many are worth a loop for each end.
const FEW_REGIONS: usize = 8;

/// How far indices and tensors reach.
pub(super) struct Reach<'a> {
    pub indices: &'a IndexMap<Name, usize>,
    pub tensors: &'a IndexMap<Name, Vec<usize>>,
}

/// A part of an expression that holds in a region.
type Piece<T> = (T, Vec<Formula>);

impl Reach<'_> {
    /// Whether index notation may ask the same itself: where an index alone is a subscript, it runs along the whole
    /// dimension.
    pub fn fits(&self, e: &Expr) -> bool {
        let extent = |access: &Access, d: usize| Some(*self.tensors.get(&access.tensor)?.get(d)?);
        e.accesses().into_iter().all(|access| {
            (0..access.rank()).all(|d| match access.plain(d) {
                Some(index) => self.indices.get(index).copied() == extent(access, d),
                // Whether a number lies inside is known.
                None => access.windows.is_empty() && access.subscripts[d].as_constant().is_none(),
            })
        })
    }

    /// An index alone in a subscript that does not run along the whole dimension becomes a window without an end,
    /// which says nothing of how far it runs: `x[(1:2)(i)]` and `x[~i]` of the language.
    pub fn open(&self, access: &mut Access) {
        let Some(dims) = self.tensors.get(&access.tensor) else { return };
        for (dimension, extent) in dims.iter().enumerate() {
            let Some(index) = access.plain(dimension).cloned() else { continue };
            if self.indices.get(&index).is_some_and(|own| own != extent) {
                access.windows.push(Window { dimension, index, from: 0, to: None, step: 1 });
            }
        }
    }

    /// [`Reach::open`] of all accesses of an expression.
    pub fn open_all(&self, e: &mut Expr) {
        match e {
            Expr::Access(access) => self.open(access),
            Expr::Apply(apply) => apply.args.iter_mut().for_each(|arg| self.open_all(arg)),
            Expr::Within(within) => {
                self.open(&mut within.access);
                self.open_all(&mut within.inside);
                self.open_all(&mut within.outside);
            }
            Expr::Literal(_) | Expr::Index(..) | Expr::Name(..) => {}
        }
    }

    /// An expression without such questions, in each of its regions.
    pub fn regions(&self, e: &Expr, around: &[Formula]) -> Result<Vec<Piece<Expr>>> {
        let mut found = self.apart(self.pieces(e, around)?, around);
        for (_, formulas) in &mut found {
            formulas.splice(0..0, around.iter().cloned());
        }
        Ok(found)
    }

    /// Regions beyond either end of a dimension as one for each, while they are few: the ends are bounds of loops then, and
    /// no tests.
    fn apart(&self, found: Vec<Piece<Expr>>, around: &[Formula]) -> Vec<Piece<Expr>> {
        let mut split = Vec::new();
        for (value, formulas) in &found {
            let mut own: Vec<Vec<Formula>> = vec![Vec::new()];
            for formula in formulas {
                let ends = ends(formula);
                let each = |before: Vec<Formula>| {
                    let with = |end: &Vec<Formula>| before.iter().chain(end).cloned().collect();
                    ends.iter().map(with).collect::<Vec<_>>()
                };
                own = own.into_iter().flat_map(each).collect();
            }
            let has_points = |own: &Vec<Formula>| self.has_points(&[around, own].concat());
            split.extend(own.into_iter().filter(has_points).map(|own| (value.clone(), own)));
        }
        if split.len() <= FEW_REGIONS { split } else { found }
    }

    fn pieces(&self, e: &Expr, around: &[Formula]) -> Result<Vec<Piece<Expr>>> {
        match e {
            Expr::Within(within) => {
                let Within { access, inside, outside, .. } = &**within;
                let condition = self.inside(access);
                let mut out = Vec::new();
                for (value, condition) in [(inside, condition.clone()), (outside, condition.not())]
                {
                    if condition.is_false() {
                        continue;
                    }
                    let mut around = around.to_vec();
                    // Values are often asked for more than once.
                    let is_known = condition.is_true() || around.contains(&condition);
                    let own = if is_known { Vec::new() } else { vec![condition] };
                    around.extend(own.iter().cloned());
                    if !self.has_points(&around) {
                        continue;
                    }
                    for (value, formulas) in self.pieces(value, &around)? {
                        out.push((value, own.iter().cloned().chain(formulas).collect()));
                    }
                }
                Ok(out)
            }
            Expr::Apply(apply) => {
                let mut all: Vec<Piece<Vec<Expr>>> = vec![(Vec::new(), Vec::new())];
                for arg in &apply.args {
                    let mut next = Vec::new();
                    for (args, formulas) in &all {
                        let around: Vec<Formula> = around.iter().chain(formulas).cloned().collect();
                        for (value, own) in self.pieces(arg, &around)? {
                            let mut args = args.clone();
                            args.push(value);
                            next.push((args, formulas.iter().cloned().chain(own).collect()));
                        }
                    }
                    if next.len() > MAX_REGIONS {
                        let what = "what may lie outside of its tensor in so many ways";
                        return Err(not_compiled(what, apply.span.0.clone()));
                    }
                    all = next;
                }
                let whole = |(args, formulas): Piece<Vec<Expr>>| match taken(&apply.op, &args) {
                    Some(k) => (args[k].clone(), formulas),
                    None => {
                        let (op, span) = (apply.op.clone(), apply.span.clone());
                        (Expr::Apply(Apply { op, args, span }), formulas)
                    }
                };
                Ok(all.into_iter().map(whole).collect())
            }
            other => Ok(vec![(other.clone(), Vec::new())]),
        }
    }

    /// That an access lies inside its tensor; what always holds is left out.
    pub fn inside(&self, access: &Access) -> Formula {
        let dims = self.tensors.get(&access.tensor).map_or(&[][..], Vec::as_slice);
        let mut parts = Vec::new();
        for (subscript, extent) in access.subscripts.iter().zip(dims) {
            let last = Affine::constant(*extent as i64 - 1);
            for holds in [
                Constraint::le(Affine::zero(), subscript.clone()),
                Constraint::le(subscript.clone(), last),
            ] {
                let least = range(&holds.affine, self.indices).map_or(0, |(least, _)| least);
                match holds.as_bool() {
                    Some(true) => {}
                    _ if least >= 0 && holds.as_bool().is_none() => {}
                    _ => parts.push(Formula::Constraint(holds)),
                }
            }
        }
        Formula::and(parts).folded()
    }

    /// False if one index can have no value. It may be true for a region without points.
    fn has_points(&self, formulas: &[Formula]) -> bool {
        Formula::and(formulas.to_vec()).to_dnf().iter().any(|conjunction| {
            let mut bounds: IndexMap<&Name, (i64, i64)> = IndexMap::new();
            let holds = |c: &Constraint| c.as_bool() != Some(false);
            if !conjunction.iter().all(holds) {
                return false;
            }
            for c in conjunction {
                let mut names = Vec::new();
                c.affine.visit_vars(&mut |n| names.push(n.clone()));
                let [name] = names.as_slice() else { continue };
                let Some((name, extent)) = self.indices.get_key_value(name) else { continue };
                let (coefficient, offset) = (c.affine.coefficient_of_var(name), c.affine.offset());
                let (low, high) = bounds.entry(name).or_insert((0, *extent as i64 - 1));
                match (c.relop, coefficient) {
                    (Relop::Ge, 1) => *low = (*low).max(-offset),
                    (Relop::Ge, -1) => *high = (*high).min(offset),
                    (Relop::Eq, 1) => (*low, *high) = ((*low).max(-offset), (*high).min(-offset)),
                    (Relop::Eq, -1) => (*low, *high) = ((*low).max(offset), (*high).min(offset)),
                    _ => {}
                }
            }
            bounds.values().all(|(low, high)| low <= high)
        })
    }
}

/// `not (a and b)` as `not a`, and `a and not b`, which do not overlap.
fn ends(formula: &Formula) -> Vec<Vec<Formula>> {
    if let Formula::Not(inner) = formula
        && let Formula::And(parts) = &**inner
    {
        let end = |k: usize| [&parts[..k], &[parts[k].clone().not()]].concat();
        return (0..parts.len()).map(end).collect();
    }
    vec![vec![formula.clone()]]
}

/// The argument that an operator takes, where a literal says which: the others, which may lie outside of their tensors
/// where they are not taken, are not read.
fn taken(op: &Operator, args: &[Expr]) -> Option<usize> {
    let chosen = |special: Special| {
        let Expr::Literal(literal) = args.get(special.argument)? else { return None };
        let is_value = number(literal, special.value.value_type())?.identical(special.value);
        match special.result {
            SpecialResult::Argument(k) if is_value && special.kind == CaseKind::Fill => Some(k),
            _ => None,
        }
    };
    op.specials(ValueType::F64).into_iter().find_map(chosen)
}
