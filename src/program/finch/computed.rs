//! Subscripts that values decide.
//!
//! Before → after, for `bins` of 16 elements:
//!
//! ```text
//! let b = quot(img[y,x], 16) { bins[b] += 1 }   ⟼   at[y,x] = quot(img[y,x], 16)
//!                                                   there: at[y,x] of 16, as a tensor
//!                                                   bins[k] += select(there[y,x,k], 1, 0)
//! ```
//! The places are computed first. As a tensor `there`, which is true where the last subscript is the place, they
//! are checked as the index array of any tensor is: a kernel then reads and writes at them without asking. Where
//! every element has a place of its own, they need not be stored (`compared.rs`).

use std::ops::Range;

use indexmap::IndexMap;

use super::locate::Locate;
use super::operations::{NOWHERE, all, below, call, element, form, guarded, index, literal, zero};
use super::outside::Reach;
use super::statements::{Maker, Put, State, Step, mentioned};
use crate::diagnostic::Result;
use crate::formula::{Affine, Formula, Name};
use crate::program::ir::{Access, Apply, Expr};
use crate::tensor::ValueType;

/// What holds around an expression.
#[derive(Clone)]
pub(super) struct Scope {
    pub loops: Vec<Name>,
    pub formulas: Vec<Formula>,
    pub conditions: Vec<Expr>,
    /// As the program writes them.
    pub values: IndexMap<Name, Expr>,
}

impl Maker<'_> {
    pub(super) fn is_computed(&self, subscript: &Affine) -> bool {
        let mut computed = false;
        subscript.visit_vars(&mut |v| computed |= !self.indices.contains_key(v));
        computed
    }

    /// An expression in terms of what the tensors are now, and with indices only as subscripts.
    pub fn resolved(&mut self, e: &Expr, scope: &Scope) -> Result<Expr> {
        match e {
            Expr::Access(access) if access.subscripts.iter().any(|s| self.is_computed(s)) => {
                self.gathered(access, scope)
            }
            Expr::Access(access) => {
                let ty = self.types[&access.tensor];
                let fresh = matches!(self.states.get(&access.tensor), Some(State::Fresh(_)));
                // A number would take the type of what it stands beside.
                if fresh && !matches!(ty, ValueType::F64 | ValueType::Bool) {
                    self.stored(&access.tensor)?;
                }
                self.read(access)
            }
            Expr::Apply(apply) => {
                let args: Result<Vec<Expr>> =
                    apply.args.iter().map(|arg| self.resolved(arg, scope)).collect();
                Ok(Expr::Apply(Apply {
                    op: apply.op.clone(),
                    args: args?,
                    span: apply.span.clone(),
                }))
            }
            Expr::Within(within)
                if within.access.subscripts.iter().any(|s| self.is_computed(s)) =>
            {
                let holds = self.lies_inside(&within.access, scope)?;
                let (inside, outside) = match all(&holds)? {
                    None => return self.resolved(&within.inside, scope),
                    Some(condition) => (condition.clone(), call("!", vec![condition])?),
                };
                let mut under = |condition: &Expr, value: &Expr| {
                    let mut own = scope.clone();
                    own.conditions.push(condition.clone());
                    self.resolved(value, &own)
                };
                let a = under(&inside, &within.inside)?;
                let b = under(&outside, &within.outside)?;
                call("select", vec![inside, a, b])
            }
            Expr::Within(within) => {
                let reach = Reach { indices: &self.indices, tensors: &self.tensors };
                let condition = reach.inside(&within.access);
                let mut out = within.clone();
                // What is asked for its dimensions is there.
                if !matches!(self.states.get(&within.access.tensor), Some(State::Given) | None) {
                    out.access.tensor = self.stored(&within.access.tensor)?;
                }
                let mut under = |condition: Formula, value: &Expr| {
                    let mut own = scope.clone();
                    if !condition.is_true() {
                        own.formulas.push(condition);
                    }
                    self.resolved(value, &own)
                };
                out.inside = under(condition.clone(), &within.inside)?;
                out.outside = under(condition.not(), &within.outside)?;
                Ok(Expr::Within(out))
            }
            Expr::Name(..) | Expr::Literal(_) | Expr::Index(..) => Ok(e.clone()),
        }
    }

    /// The linear form of a subscript as a value.
    pub(super) fn number(&mut self, subscript: &Affine, scope: &Scope) -> Result<Expr> {
        let mut values: IndexMap<Name, Expr> = IndexMap::new();
        let mut names = Vec::new();
        subscript.visit_vars(&mut |name| names.push(name.clone()));
        for name in names {
            let value = match scope.values.get(&name) {
                None => index(&name),
                Some(value) => {
                    let value = self.resolved(value, scope)?;
                    self.converted(value, ValueType::I64, &scope.loops, &scope.formulas)?
                }
            };
            values.insert(name, value);
        }
        form(subscript, &|name| values[name].clone())
    }

    /// That all subscripts lie inside.
    fn lies_inside(&mut self, access: &Access, scope: &Scope) -> Result<Vec<Expr>> {
        let mut out = Vec::new();
        let dims = self.tensors[&access.tensor].clone();
        for (subscript, extent) in access.subscripts.iter().zip(dims) {
            let number = self.number(subscript, scope)?;
            out.extend(below(number, extent)?);
        }
        Ok(out)
    }

    /// Where a computed subscript goes: the index along its dimension, and what is true where that is it.
    fn located(
        &mut self,
        subscript: &Affine,
        extent: usize,
        place: &Range<usize>,
        scope: &Scope,
        at_once: bool,
    ) -> Result<(Name, Expr)> {
        if at_once && let Some(found) = self.compared(subscript, extent, place, scope)? {
            return Ok(found);
        }
        let number = self.number(subscript, scope)?;
        let nowhere = literal(NOWHERE.to_string());
        let below = call("min", vec![number, literal((NOWHERE - 1).to_string())])?;
        let value = guarded(&scope.conditions, below, nowhere)?;
        let loops = mentioned(&value, &scope.formulas, &scope.loops);
        let dims: Vec<usize> = loops.iter().map(|i| self.indices[i]).collect();
        let from = self.tensor("at", ValueType::I64, dims.clone());
        let output = element(&from, &loops);
        let formulas = scope.formulas.clone();
        let used = loops.clone();
        self.put(&Put { output, op: None, value, formulas, loops: used })?;
        let along = self.index("k", extent);
        let tensor = self.tensor("there", ValueType::Bool, [dims, vec![extent]].concat());
        let there = element(&tensor, &[loops, vec![along.clone()]].concat());
        self.steps.push(Step::Locate(Locate { tensor, from, extent, place: place.clone() }));
        Ok((along, Expr::Access(there)))
    }

    /// The element at computed subscripts, as one of a tensor of its own.
    fn gathered(&mut self, access: &Access, scope: &Scope) -> Result<Expr> {
        let mut at = access.clone();
        let mut conditions = Vec::new();
        let dims = self.tensors[&access.tensor].clone();
        let mut along = Vec::new();
        let at_once = self.is_at_hand(&access.tensor);
        for (d, extent) in dims.into_iter().enumerate() {
            if self.is_computed(&access.subscripts[d]) {
                let subscript = &access.subscripts[d];
                let (index, there) =
                    self.located(subscript, extent, &access.span, scope, at_once)?;
                at.subscripts[d] = Affine::var(index.clone());
                conditions.push(there);
                along.push(index);
            }
        }
        let value = self.read(&at)?;
        let ty = self.types[&access.tensor];
        if at_once {
            conditions.extend(scope.conditions.iter().cloned());
        }
        let value = guarded(&conditions, value, zero(ty)?)?;
        let outer = mentioned(&value, &[], &scope.loops);
        let dims = outer.iter().map(|i| self.indices[i]).collect();
        let name = self.tensor("of", ty, dims);
        let output = element(&name, &outer);
        let loops = [outer.clone(), along].concat();
        self.put(&Put { output: output.clone(), op: None, value, formulas: Vec::new(), loops })?;
        Ok(Expr::Access(output))
    }

    /// An output with indices only: what is computed becomes a loop with a condition.
    pub fn place(&mut self, access: &Access, scope: &mut Scope, at_once: bool) -> Result<Access> {
        let mut out = access.clone();
        let dims = self.tensors[&access.tensor].clone();
        let mut found = Vec::new();
        for (d, extent) in dims.into_iter().enumerate() {
            if self.is_computed(&access.subscripts[d]) {
                let subscript = &access.subscripts[d];
                let (index, there) =
                    self.located(subscript, extent, &access.span, scope, at_once)?;
                out.subscripts[d] = Affine::var(index.clone());
                found.push((index, there));
            }
        }
        for (index, there) in found {
            scope.loops.push(index);
            scope.conditions.insert(0, there);
        }
        Ok(out)
    }
}
