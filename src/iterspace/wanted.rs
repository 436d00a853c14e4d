//! What is asked of the spaces of a statement, beside its layouts.

use indexmap::IndexMap;

use super::passes::Union;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::operators::Value;
use crate::program::Types;
use crate::tensor::ValueType;

/// Types, fills and choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The input whose positions the output writes at.
    pub shares: Option<Name>,
    /// How the points of a sum are visited.
    pub union: Union,
    /// What annihilates finite floats is taken to annihilate infinities and NaN, too: 0 * inf is 0.
    pub fast_math: bool,
    /// Sums of floats keep the order in which the loops visit their terms.
    pub strict_fp: bool,
    /// What is visited may be counted, to visit nothing where nothing is stored: the kernel has one thread.
    pub counts: bool,
    /// The output is assembled: it has no elements before.
    pub assembles: bool,
    /// The types of the tensors.
    pub types: Types,
    /// What tensors hold where they store nothing, unless it is zero; of any type that holds it.
    pub fills: IndexMap<Name, Value>,
    /// Tensors whose walks seek.
    pub gallops: Vec<Name>,
    /// Results that hold what their first operator begins with when the kernel runs.
    pub fresh: Vec<Name>,
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted {
            shares: None,
            union: Union::default(),
            fast_math: false,
            strict_fp: false,
            counts: false,
            assembles: false,
            types: Types::all(ValueType::F64),
            fills: IndexMap::new(),
            gallops: Vec::new(),
            fresh: Vec::new(),
        }
    }
}

impl Wanted {
    /// What a tensor holds where it stores nothing.
    ///
    /// # Errors
    /// [`Code::Data`] if its type has no such value.
    pub fn fill_of(&self, tensor: &Name) -> Result<Value> {
        let ty = self.types.of(tensor);
        let Some(fill) = self.fills.get(tensor) else { return Ok(Value::zero(ty)) };
        let converted = fill.cast(ty);
        let rounds = ty.is_float() && converted.is_finite() && fill.is_finite();
        match rounds || converted.cast(fill.value_type()).same(*fill) {
            true => Ok(converted),
            false => Err(Diagnostic::new(
                Code::Data,
                format!("the fill {fill} of `{tensor}` is not a value of {ty}"),
            )
            .help(format!("give `{tensor}` another fill, or another type: `--type {tensor}=…`"))),
        }
    }
}
