//! Which piece of a union relation stores an entry.
//!
//! In: the domains of the pieces, and the entries. Out: the number of the first piece whose domain
//! has the entry's coordinates.

use super::columns::Columns;
use super::part::{Forms, Part};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::layout::Layout;
use crate::tensor::Entries;

/// The piece of each entry, `None` if all belong to the first.
///
/// # Errors
/// [`Code::NotPackable`] for an entry that no piece covers.
pub(super) fn pieces(
    part: &Part,
    entries: &Entries,
    columns: &Columns<'_>,
) -> Result<Option<Vec<u8>>> {
    let Some(piece_of) = first_domain(part.pieces.iter(), columns)? else { return Ok(None) };
    covered(&part.layout, entries, &piece_of)?;
    Ok((part.pieces.len() > 1).then_some(piece_of))
}

/// The part of each entry: the first that has a piece for it.
///
/// # Errors
/// [`Code::NotPackable`] for an entry that no part covers.
pub(super) fn parts(
    parts: &[Part],
    layout: &Layout,
    entries: &Entries,
    columns: &Columns<'_>,
) -> Result<Vec<u8>> {
    let pieces = || parts.iter().flat_map(|part| part.pieces.iter());
    let part_of: Vec<u8> = parts
        .iter()
        .enumerate()
        .flat_map(|(k, part)| part.pieces.iter().map(move |_| k as u8))
        .collect();
    let Some(piece_of) = first_domain(pieces(), columns)? else {
        return Ok(vec![0; entries.len()]);
    };
    covered(layout, entries, &piece_of)?;
    Ok(piece_of.into_iter().map(|piece| part_of[usize::from(piece)]).collect())
}

/// Whether each entry is in the domain of a piece of the part.
pub(super) fn is_covered(part: &Part, columns: &Columns<'_>) -> Result<Vec<bool>> {
    Ok(match first_domain(part.pieces.iter(), columns)? {
        None => vec![true; columns.len],
        Some(piece_of) => piece_of.into_iter().map(|piece| piece != NONE).collect(),
    })
}

/// An entry without a piece.
const NONE: u8 = u8::MAX;

/// For each entry the first piece whose domain has it; `None` if that is the first for all.
fn first_domain<'f>(
    pieces: impl Iterator<Item = &'f Forms>,
    columns: &Columns<'_>,
) -> Result<Option<Vec<u8>>> {
    let mut piece_of = vec![NONE; columns.len];
    for (piece, forms) in pieces.enumerate() {
        let open = |p: &&mut u8| **p == NONE;
        match &forms.domain {
            None if piece == 0 => return Ok(None),
            None => piece_of.iter_mut().filter(open).for_each(|p| *p = piece as u8),
            Some(domain) => {
                for conjunction in domain {
                    let inside = columns.all(conjunction)?;
                    for (p, inside) in piece_of.iter_mut().zip(inside) {
                        if inside && *p == NONE {
                            *p = piece as u8;
                        }
                    }
                }
            }
        }
    }
    Ok(Some(piece_of))
}

fn covered(layout: &Layout, entries: &Entries, piece_of: &[u8]) -> Result<()> {
    let Some(k) = piece_of.iter().position(|&p| p == NONE) else { return Ok(()) };
    let point: Vec<String> = entries.point(k).iter().map(usize::to_string).collect();
    Err(Diagnostic::new(
        Code::NotPackable,
        format!(
            "entry ({}) has no place in layout `{}`, whose relation excludes it",
            point.join(", "),
            layout.name
        ),
    )
    .help("choose a layout that stores every coordinate, or remove such entries"))
}
