//! Accesses that may lie outside of their tensor.
//!
//! `within(A[i - 1], A[i - 1] * 2, 0)` asks where `A[i - 1]` is: that restricts no index. The question is an
//! operand of its own, a tensor that is true everywhere inside the extents of `A` and has no arrays; what is read
//! behind it is looked up there. Both are stored at some of the points, like all that is sparse.
//!
//! ```text
//! within(A[i - 1], A[i - 1] * 2, 0)   ⟼   select(if(inside_A, true, false), A[i - 1] * 2, 0)
//! ```

use super::operand::{Operand, Role};
use super::region::Value;
use super::source::Source;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::operators::{self, Region, Tree};
use crate::program::{Access, Expr};

/// The accesses that are read only where they lie inside. The subscripts of all others hold everywhere.
///
/// # Errors
/// [`Code::Space`] if an access with such subscripts is read in one case of a question, but not where its own
/// tensor is asked for.
pub(super) fn permissive(value: &Expr) -> Result<Vec<Access>> {
    let mut reads = Reads::default();
    reads.visit(value, &mut Vec::new())?;
    let Reads { guarded, bare } = reads;
    let is_bare = |access: &Access| bare.iter().any(|other| same(other, access));
    Ok(guarded.into_iter().filter(|access| !is_bare(access)).cloned().collect())
}

/// Whether two accesses are of one element.
pub(super) fn same(a: &Access, b: &Access) -> bool {
    a.tensor == b.tensor && a.subscripts == b.subscripts
}

#[derive(Default)]
struct Reads<'a> {
    /// Asked for, or read where they are known to lie inside.
    guarded: Vec<&'a Access>,
    bare: Vec<&'a Access>,
}

impl<'a> Reads<'a> {
    fn visit(&mut self, e: &'a Expr, inside: &mut Vec<Option<&'a Access>>) -> Result<()> {
        match e {
            Expr::Access(access) if inside.iter().flatten().any(|known| same(known, access)) => {
                self.guarded.push(access);
            }
            Expr::Access(access) => {
                let is_plain = (0..access.rank()).all(|d| access.plain(d).is_some());
                if !inside.is_empty() && !is_plain {
                    return Err(Diagnostic::new(
                        Code::Space,
                        format!("`{access}` may lie outside of its tensor here"),
                    )
                    .at(access.span.clone(), "read in one case of `within`")
                    .help(format!("ask for it, too: `within({access}, {access}, 0)`")));
                }
                self.bare.push(access);
            }
            Expr::Within(within) => {
                self.guarded.push(&within.access);
                inside.push(Some(&within.access));
                self.visit(&within.inside, inside)?;
                inside.pop();
                inside.push(None);
                self.visit(&within.outside, inside)?;
                inside.pop();
            }
            Expr::Apply(apply) => {
                for arg in &apply.args {
                    self.visit(arg, inside)?;
                }
            }
            Expr::Literal(_) | Expr::Index(..) | Expr::Name(..) => {}
        }
        Ok(())
    }
}

/// A value in which the bounds of tensors are no longer read but asked for; they are known where they are stored
/// at every point.
pub(super) fn answered(value: Value, operands: &[Operand], stored: &[usize]) -> Value {
    let is_bounds = |k: usize| operands[k].role == Role::Bounds;
    value.bind(&|source| match source {
        Source::Operand(k) if is_bounds(*k) => {
            let region = match stored.contains(k) {
                true => Region::All,
                false => Region::Stored(source.clone()),
            };
            let (yes, no) = (operators::Value::Bool(true), operators::Value::Bool(false));
            Tree::Number(yes).within(region, no)
        }
        source => Tree::Leaf(source.clone()),
    })
}
