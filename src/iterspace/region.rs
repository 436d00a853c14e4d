//! Where a statement has something to compute (Array §5).
//!
//! In: a value over operands, of which some are stored everywhere. Out: by the algebra of its operators, the
//! points at which it may do something.
//!
//! ```text
//! a * b          →  a and b
//! a + b          →  a or b
//! (a + b) * c    →  (a or b) and c
//! ```

use super::Operand;
use super::source::Source;
use crate::diagnostic::Result;
use crate::operators::algebra::{Derived, derive, region_for};
use crate::operators::{Operator, Region, Tree};
use crate::tensor::ValueType;

/// A value over operands.
pub(super) type Value = Tree<Source>;

/// What is known of the leaves of a value.
#[derive(Clone, Copy)]
pub(super) struct Leaves<'a> {
    pub operands: &'a [Operand],
    /// Whether an operand is stored everywhere.
    pub is_total: &'a dyn Fn(usize) -> bool,
    /// What annihilates finite floats annihilates all.
    pub fast_math: bool,
}

impl Leaves<'_> {
    pub fn value_type(self, source: &Source) -> ValueType {
        match source {
            Source::Operand(k) => self.operands[*k].value_type,
            Source::Index(_) => ValueType::I64,
        }
    }

    pub fn derived(self, source: &Source) -> Derived {
        match source {
            Source::Operand(k) if !(self.is_total)(*k) => {
                Derived::operand(*k, self.operands[*k].fill)
            }
            source => Derived::unknown(self.value_type(source)),
        }
    }
}

/// Where combining `value` into elements by `op` may change them. What nobody stores annihilates what it
/// is multiplied by.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub(super) fn region(value: &Value, op: &Operator, leaves: Leaves<'_>) -> Result<Region> {
    let derived = derive(value, &|source| leaves.derived(source), leaves.fast_math)?;
    Ok(match op.identity(derived.value_type, 1) {
        Some(identity) => by_presence(&region_for(&derived, identity)),
        None => Region::All,
    })
}

/// The region in terms of what is found. An entry that holds the fill is found, and yet may be in `not A`.
pub(super) fn by_presence(region: &Region) -> Region {
    match region {
        Region::Not(_) => Region::All,
        Region::All | Region::Nothing | Region::Stored(_) => region.clone(),
        Region::Both(parts) => Region::all_of(parts.iter().map(by_presence)),
        Region::Either(parts) => Region::any_of(parts.iter().map(by_presence)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use indexmap::IndexMap;

    use super::*;
    use crate::formula::Name;
    use crate::iterspace::compose;
    use crate::layout::Layout;
    use crate::operators::Operators;
    use crate::program::{Expr, Program, typed};

    pub const NAMES: [&str; 5] = ["y", "a", "b", "c", "d"];

    /// Operands of vectors, of which `d` is dense; the output is the first.
    pub fn operands_of(ty: ValueType) -> Vec<Operand> {
        let program = Program::parse("y[i] = a[i] * b[i] * c[i] * d[i]").unwrap();
        let layout = |name: &str| {
            let layout = if "abc".contains(name) { "sparse" } else { "dense" };
            (Name::from(name), Arc::new(Layout::named_for_rank(layout, 1).unwrap()))
        };
        let layouts: IndexMap<Name, Arc<Layout>> = NAMES.iter().map(|n| layout(n)).collect();
        let mut operands = compose(&program, &layouts, None).unwrap().remove(0).operands;
        for o in &mut operands {
            o.value_type = ty;
            o.fill = o.fill.cast(ty);
        }
        operands
    }

    pub fn value(text: &str, ty: ValueType) -> Value {
        let program = Program::parse(&format!("y[i] = {text}")).unwrap();
        let mut leaf = |leaf: &Expr| {
            let k = NAMES.iter().position(|n| leaf.to_string().starts_with(n)).unwrap();
            Ok((Source::Operand(k), ty))
        };
        typed(program.assignment().unwrap().value, ty, "y", &mut leaf).unwrap()
    }

    fn shown(text: &str, ty: ValueType, op: &str) -> String {
        let operands = operands_of(ty);
        let leaves = Leaves { operands: &operands, is_total: &|k| k == 4, fast_math: false };
        let op = Operators::shipped().unwrap().named(op).unwrap();
        let region = region(&value(text, ty), op, leaves).unwrap();
        region.map(&|k: &usize| NAMES[*k]).to_string()
    }

    #[test]
    fn regions_follow_from_the_operators() {
        for (text, expected) in [
            ("a[i] * b[i]", "a and b"),
            ("a[i] + b[i] - c[i]", "a or b or c"),
            ("(a[i] + b[i]) * c[i]", "c and (a or b)"),
            ("max(a[i], b[i]) * -d[i]", "a or b"),
            ("a[i] / d[i]", "a"),
            ("a[i] / b[i]", "a"),
            ("a[i] + d[i]", "everywhere"),
            ("min(a[i], 2)", "a"),
            ("min(a[i], 0 - 2)", "everywhere"),
            ("2 * a[i] + 1", "everywhere"),
            ("max(a[i] - 2, 0)", "a"),
            ("sqrt(abs(a[i]))", "a"),
            ("select(a[i] > b[i], c[i], 0)", "c and (a or b)"),
            ("exp(a[i]) * b[i]", "b"),
        ] {
            assert_eq!(shown(text, ValueType::F64, "add"), expected, "{text}");
        }
        // The zeros of `u8` are followed by 254.
        assert_eq!(shown("max(a[i] - 2, 0)", ValueType::U8, "add"), "everywhere");
        assert_eq!(shown("bxor(a[i], b[i])", ValueType::U8, "add"), "a or b");
        assert_eq!(shown("and(a[i], b[i])", ValueType::Bool, "or"), "a and b");
        // Zeros change products, and may be the least.
        assert_eq!(shown("a[i]", ValueType::F64, "min"), "everywhere");
        assert_eq!(shown("a[i]", ValueType::U8, "max"), "a");
    }
}
