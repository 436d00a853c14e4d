//! Where a statement has something to compute (Array §5).
//!
//! In: a value over operands, of which some are stored everywhere. Out: the points at which the value may
//! differ from what it is where nothing is stored.
//!
//! ```text
//! a * b          →  a and b
//! a + b          →  a or b
//! (a + b) * c    →  (a or b) and c
//! ```

use super::value::{Apply, Value};
use crate::operators::Region;
use crate::program::Op;

/// Where `value` may differ from zero; `total` operands are stored everywhere. Zeros that nobody
/// stores annihilate what they are multiplied by.
pub(super) fn region(value: &Value<usize>, total: &impl Fn(usize) -> bool) -> Region {
    let Apply { op, args, .. } = match value {
        Value::Leaf(k) if total(*k) => return Region::All,
        Value::Leaf(k) => return Region::Stored(*k),
        Value::Literal(literal) if literal.value == 0.0 => return Region::Nothing,
        Value::Literal(_) => return Region::All,
        Value::Apply(apply) => apply,
    };
    let mut parts = args.iter().map(|arg| region(arg, total));
    match op {
        Op::Mul => Region::all_of(parts),
        Op::Neg | Op::Add | Op::Sub | Op::Min | Op::Max => Region::any_of(parts),
        // Nothing by nothing is not a number, so that only the divisor's being everywhere helps.
        Op::Div => match (parts.next(), parts.next()) {
            (Some(dividend), Some(Region::All)) => dividend,
            _ => Region::All,
        },
    }
}
