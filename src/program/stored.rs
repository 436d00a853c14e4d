//! Which elements of its results a program stores, as the interpreter runs it: those to which something was assigned.
//!
//! What an operand does not store is known before the program runs, and so is what operators make of that alone:
//! `A[i] * x[i]` is zero where `A` stores nothing, whatever `x` holds. To assign what is known, and leaves the element
//! as it is, is to assign nothing. Zeros that only come about are stored (the dirty bits of Finch).

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use super::bind::{BoundExpr, BoundLeaf, BoundValue, LetId, TensorId};
use super::point::Place;
use crate::formula::Name;
use crate::operators::{Operator, SpecialResult, Value};
use crate::tensor::Values;

/// By tensor, whether each of its elements is stored, row-major; of others all are.
pub type Elements = IndexMap<Name, Vec<bool>>;

/// What is stored of the tensors of a program.
#[derive(Default)]
pub(super) struct Stored {
    /// By the number of a tensor. Empty if nobody asks.
    elements: Vec<Option<Vec<bool>>>,
    /// What elements begin with that are declared.
    begins: Vec<Option<Value>>,
    /// The values of `let` that are known.
    lets: Vec<Option<Value>>,
}

/// Where the program is, and what its tensors hold.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub at: &'a [i64],
    pub tensors: &'a [Cow<'a, Values>],
}

impl Stored {
    pub(super) fn of(elements: Vec<Option<Vec<bool>>>) -> Stored {
        Stored { begins: vec![None; elements.len()], elements, lets: Vec::new() }
    }

    pub(super) fn into_elements(self) -> Vec<Option<Vec<bool>>> {
        self.elements
    }

    /// A tensor begins anew.
    pub(super) fn begin(&mut self, k: usize, fill: Value) {
        if let Some(Some(elements)) = self.elements.get_mut(k) {
            elements.fill(false);
            self.begins[k] = Some(fill);
        }
    }

    /// Notes that an element is combined with a value, or becomes it.
    pub(super) fn note(
        &mut self,
        (k, at): (usize, usize),
        op: Option<&Arc<Operator>>,
        value: &BoundValue,
        here: Point,
    ) {
        if !matches!(self.elements.get(k), Some(Some(_))) {
            return;
        }
        let known = self.known(&value.expr, &value.reads, here);
        let nothing = known.and_then(|known| match op {
            Some(op) => Some(op.identity(known.value_type(), 1)?.same(known)),
            None => Some(self.begins[k]?.same(known)),
        });
        if nothing != Some(true)
            && let Some(Some(elements)) = self.elements.get_mut(k)
        {
            elements[at] = true;
        }
    }

    /// Notes what is known of a `let`.
    pub(super) fn note_let(&mut self, LetId(k): LetId, value: &BoundValue, here: Point) {
        if !self.elements.is_empty() {
            let known = self.known(&value.expr, &value.reads, here);
            self.lets.resize(self.lets.len().max(k + 1), None);
            self.lets[k] = known;
        }
    }

    /// The value of an expression, if that follows from what is not stored.
    fn known(&self, e: &BoundExpr, reads: &[(TensorId, Place)], here: Point) -> Option<Value> {
        let lies_inside = |k: usize| reads[k].1.offset(here.at).is_some();
        match e {
            BoundExpr::Leaf(BoundLeaf::Read(k)) => {
                let (TensorId(tensor), place) = &reads[*k];
                let at = place.offset(here.at)?;
                let stored = self.elements.get(*tensor)?.as_ref()?;
                (!stored[at]).then(|| Value::element(&here.tensors[*tensor], at))
            }
            BoundExpr::Leaf(BoundLeaf::Inside(k)) => Some(Value::Bool(lies_inside(*k))),
            BoundExpr::Leaf(BoundLeaf::Let(LetId(k))) => *self.lets.get(*k)?,
            BoundExpr::Leaf(BoundLeaf::Index(_)) => None,
            BoundExpr::Number(value) => Some(*value),
            BoundExpr::Cast(ty, inner) => Some(self.known(inner, reads, here)?.cast(*ty)),
            BoundExpr::Within(k, values) => {
                let [inside, outside] = &**values;
                self.known(if lies_inside(*k) { inside } else { outside }, reads, here)
            }
            BoundExpr::Apply(op, generic, args) => {
                let args: Vec<Option<Value>> =
                    args.iter().map(|a| self.known(a, reads, here)).collect();
                if let Some(all) = args.iter().copied().collect::<Option<Vec<Value>>>() {
                    return op.apply(*generic, &all);
                }
                let specials = op.specials(*generic);
                let arg = |k: usize| args.get(k).copied().flatten();
                let met =
                    specials.iter().filter(|s| arg(s.argument).is_some_and(|v| v.same(s.value)));
                met.map(|s| &s.result).find_map(|result| match result {
                    SpecialResult::Argument(m) => arg(*m),
                    SpecialResult::Value(value) => Some(*value),
                })
            }
        }
    }
}
