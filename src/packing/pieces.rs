//! Which piece of a union relation stores an entry.
//!
//! In: the domains of the pieces, and the entries. Out: the number of the first piece whose domain
//! has the entry's coordinates.

use super::columns::Columns;
use super::plan::Plan;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::Layout;
use crate::tensor::Entries;

/// The piece of each entry, `None` if all belong to the first.
///
/// # Errors
/// [`Code::NotPackable`] for an entry that no piece covers.
pub(super) fn pieces(
    plan: &Plan,
    layout: &Layout,
    entries: &Entries,
    columns: &Columns<'_>,
) -> Result<Option<Vec<u8>>> {
    let n = entries.len();
    let mut piece_of = vec![u8::MAX; n];
    for (piece, forms) in plan.pieces.iter().enumerate() {
        match &forms.domain {
            None if piece == 0 => return Ok(None),
            None => piece_of.iter_mut().filter(|p| **p == u8::MAX).for_each(|p| *p = piece as u8),
            Some(domain) => {
                for conjunction in domain {
                    let inside = columns.all(conjunction)?;
                    for (p, inside) in piece_of.iter_mut().zip(inside) {
                        if inside && *p == u8::MAX {
                            *p = piece as u8;
                        }
                    }
                }
            }
        }
    }
    if let Some(k) = piece_of.iter().position(|&p| p == u8::MAX) {
        let point: Vec<String> = entries.point(k).iter().map(usize::to_string).collect();
        return Err(Diagnostic::new(
            Code::NotPackable,
            format!(
                "entry ({}) has no place in layout `{}`, whose relation excludes it",
                point.join(", "),
                layout.name
            ),
        )
        .help("choose a layout that stores every coordinate, or remove such entries"));
    }
    Ok((plan.pieces.len() > 1).then_some(piece_of))
}
