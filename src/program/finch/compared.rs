//! Computed subscripts that are compared with an index where they are used.
//!
//! Before → after, for `bins` of 16 elements and `img` of bytes:
//!
//! ```text
//! let b = quot(img[y,x], 16) { bins[b] += 1 }   ⟼   bins[k] += select(k == quot(img[y,x], 16), 1, 0)
//! ```
//! The code has no loop over `k`: it goes to the place, if there is one (`code/one_iteration.rs`). That all places lie
//! inside follows from the type of what is read, or from a condition that holds there; else it is asked first, by a
//! statement that goes through the same points and keeps a place that lies outside.

use std::ops::Range;

use super::computed::Scope;
use super::functions::operator;
use super::locate::Locate;
use super::operations::{NOWHERE, below, call, element, guarded, index, literal};
use super::statements::{Maker, Put, State, Step, mentioned};
use crate::diagnostic::Result;
use crate::formula::{Affine, Name};
use crate::operators::{Operator, Operators};
use crate::program::ir::{Apply, Expr};
use crate::tensor::ValueType;

/// The least and the greatest number that a value can be.
type Interval = (i128, i128);

impl Maker<'_> {
    /// Whether elements are where their subscripts say, from the beginning.
    pub(super) fn is_at_hand(&self, tensor: &Name) -> bool {
        let given = matches!(self.states.get(tensor), Some(State::Given));
        given && !self.tree.searched.contains(tensor)
    }

    /// Whether an update changes nothing where its value is the operator's identity, whatever is there.
    pub(super) fn goes_to_places(&self, op: &Operator, tensor: &Name) -> bool {
        let ty = self.types[tensor];
        let whole = matches!(ty, ValueType::I64 | ValueType::I32 | ValueType::U8);
        let leaves = match op.name() {
            "min" | "max" => whole,
            "or" => ty == ValueType::Bool,
            _ => op.is_sum() && ty != ValueType::Bool,
        };
        leaves && op.is_reduction() && !self.tree.searched.contains(tensor)
    }

    /// The index along the dimension, and that it is what the subscript computes; none if types do not allow to
    /// compare them.
    pub(super) fn compared(
        &mut self,
        subscript: &Affine,
        extent: usize,
        place: &Range<usize>,
        scope: &Scope,
    ) -> Result<Option<(Name, Expr)>> {
        let mut types = Vec::new();
        let mut names = Vec::new();
        subscript.visit_vars(&mut |name| names.push(name.clone()));
        for name in &names {
            let Some(value) = scope.values.get(name) else { continue };
            let mut named = false;
            value.visit(&mut |e| named |= matches!(e, Expr::Name(..)));
            match self.type_of(value)? {
                Some(ty) if !named => types.push(ty),
                _ => return Ok(None),
            }
        }
        let offset = subscript.offset();
        let (value, offset) = match (types.as_slice(), names.as_slice()) {
            (all, _) if all.iter().all(|ty| *ty == ValueType::I64) => {
                (self.number(subscript, scope)?, 0)
            }
            ([ValueType::U8 | ValueType::I32], [name])
                if subscript.coefficient_of_var(name) == 1 && (-4096..=4096).contains(&offset) =>
            {
                let value = self.resolved(&scope.values[name], scope)?;
                (value, offset)
            }
            _ => return Ok(None),
        };
        let offset128 = i128::from(offset);
        let fits = |(lo, hi): Interval| lo + offset128 >= 0 && hi + offset128 < extent as i128;
        if !self.interval(&value)?.is_some_and(fits) {
            let number = match types.iter().all(|ty| *ty == ValueType::I64) {
                true => value.clone(),
                false => self.number(subscript, scope)?,
            };
            let inside = below(number.clone(), extent)?;
            let mut known = Vec::new();
            scope.conditions.iter().for_each(|c| parts(c, &mut known));
            if !inside.iter().all(|c| known.contains(&c)) {
                self.ask(number, inside, extent, place, scope)?;
            }
        }
        let along = self.index("k", extent);
        let number = match offset {
            0 => index(&along),
            _ if offset < 0 => {
                call("+", vec![index(&along), literal(offset.unsigned_abs().to_string())])?
            }
            _ => call("-", vec![index(&along), literal(offset.to_string())])?,
        };
        let is_it = call("==", vec![number, value])?;
        Ok(Some((along, is_it)))
    }

    /// That a number lies inside, wherever its place is used: of those that do not, the least is found.
    fn ask(
        &mut self,
        number: Expr,
        inside: [Expr; 2],
        extent: usize,
        place: &Range<usize>,
        scope: &Scope,
    ) -> Result<()> {
        let nowhere = || literal(NOWHERE.to_string());
        let outside = call("min", vec![number, literal((NOWHERE - 1).to_string())])?;
        let value = call("ifelse", vec![call("&&", inside.to_vec())?, nowhere(), outside])?;
        let value = guarded(&scope.conditions, value, nowhere())?;
        let formulas = scope.formulas.clone();
        let loops = mentioned(&value, &formulas, &scope.loops);
        let from = self.tensor("at", ValueType::I64, Vec::new());
        let min = operator("min", Operators::shipped()?, &Default::default())?;
        let output = element(&from, &[]);
        self.put_new(nowhere(), Put { output, op: Some(min), value, formulas, loops })?;
        let is_written = |s: &Step| matches!(s, Step::Statement(s) if s.output.tensor == from);
        if !self.steps.iter().any(is_written) {
            // No iteration goes there.
            self.fill(&from, nowhere())?;
        }
        let tensor = self.tensor("there", ValueType::Bool, vec![extent]);
        self.steps.push(Step::Locate(Locate { tensor, from, extent, place: place.clone() }));
        Ok(())
    }

    /// What a value can be, by the types of what is read.
    fn interval(&self, e: &Expr) -> Result<Option<Interval>> {
        let found = match e {
            Expr::Literal(literal) => {
                return Ok(literal.digits().parse::<i64>().ok().map(|n| (n.into(), n.into())));
            }
            Expr::Index(name, _) => {
                let extent = self.indices.get(name).copied().unwrap_or(0);
                (extent > 0).then(|| (0, extent as i128 - 1))
            }
            Expr::Apply(apply) => self.of_operator(apply)?,
            Expr::Access(_) | Expr::Name(..) | Expr::Within(_) => None,
        };
        let all: Interval = match self.type_of(e)? {
            Some(ValueType::U8) => (0, u8::MAX.into()),
            Some(ValueType::I32) => (i32::MIN.into(), i32::MAX.into()),
            // What is not known is said by nothing.
            Some(ValueType::I64) => {
                let inside = |(lo, hi): &Interval| {
                    *lo >= i128::from(i64::MIN) && *hi <= i128::from(i64::MAX)
                };
                return Ok(found.filter(inside));
            }
            _ => return Ok(None),
        };
        // It may wrap.
        Ok(Some(found.filter(|(lo, hi)| *lo >= all.0 && *hi <= all.1).unwrap_or(all)))
    }

    fn of_operator(&self, apply: &Apply) -> Result<Option<Interval>> {
        let [a, b] = apply.args.as_slice() else { return Ok(None) };
        let (Some(a), Some(b)) = (self.interval(a)?, self.interval(b)?) else { return Ok(None) };
        let natural = a.0 >= 0 && b.0 > 0;
        Ok(match apply.op.name() {
            "add" => Some((a.0 + b.0, a.1 + b.1)),
            "sub" => Some((a.0 - b.1, a.1 - b.0)),
            "min" => Some((a.0.min(b.0), a.1.min(b.1))),
            "max" => Some((a.0.max(b.0), a.1.max(b.1))),
            "mul" if natural => a.1.checked_mul(b.1).map(|most| (a.0 * b.0, most)),
            "quot" | "fld" if natural => Some((a.0 / b.1, a.1 / b.0)),
            "rem" | "mod" if natural => Some((0, a.1.min(b.1 - 1))),
            "shr" if natural && b.1 < 64 => Some((a.0 >> b.1, a.1 >> b.0)),
            "band" if a.0 >= 0 && b.0 >= 0 => Some((0, a.1.min(b.1))),
            _ => None,
        })
    }
}

/// What must hold for a condition to hold.
fn parts<'e>(condition: &'e Expr, out: &mut Vec<&'e Expr>) {
    match condition {
        Expr::Apply(apply) if apply.op.name() == "and" => {
            apply.args.iter().for_each(|arg| parts(arg, out));
        }
        other => out.push(other),
    }
}
