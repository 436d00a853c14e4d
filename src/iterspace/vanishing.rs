//! Which operands make what is combined vanish.

use super::{Source, Space};
use crate::formula::Name;
use crate::operators::algebra::{Derived, derive};
use crate::operators::{Region, Value};
use crate::tensor::ValueType;

impl Space {
    /// Whether what is combined changes nothing if the element at a position is zero, and all others are finite: it
    /// is the identity of how it is combined.
    ///
    /// `y[i] += A[i,j] * x[j]` vanishes with both factors, `y[i] min= A[i,j] * x[j]` with none.
    pub fn vanishes_with(&self, position: &Name) -> bool {
        let Some(owner) = self.owner(position) else { return false };
        let known = |source: &Source| match source {
            Source::Operand(k) if self.operands[*k].label == owner.label => {
                Derived::constant(Value::zero(owner.value_type))
            }
            Source::Operand(k) => Derived::unknown(self.operands[*k].value_type),
            Source::Index(_) => Derived::unknown(ValueType::I64),
        };
        let Ok(value) = derive(&self.value, &known, true) else { return false };
        let ty = self.output().value_type;
        let identity = self.op.identity(ty, 1);
        value.region == Region::Nothing
            && value.fill.zip(identity).is_some_and(|(fill, identity)| fill.cast(ty).same(identity))
    }
}
