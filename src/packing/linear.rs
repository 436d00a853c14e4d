//! Row-major linearisation of arguments and subscripts.
//!
//! In: one column for each argument, and the extents. Out: the column of element numbers.

use std::borrow::Cow;

use super::columns::{Column, Columns};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Affine;

/// The linear element numbers of an array's arguments.
pub(super) fn slots<'c, 'a>(
    columns: &'c Columns<'a>,
    args: &[Affine],
    shape: &[i64],
) -> Result<Cow<'c, Column<'a>>> {
    let args: Result<Vec<Cow<'c, Column<'a>>>> = args.iter().map(|a| columns.eval(a)).collect();
    linear(args?, shape, columns.len, "an index array")
}

/// Row-major linearisation. A single column is its own.
pub(super) fn linear<'c, 'a>(
    columns: Vec<Cow<'c, Column<'a>>>,
    shape: &[i64],
    n: usize,
    what: &str,
) -> Result<Cow<'c, Column<'a>>> {
    let mut columns = columns.into_iter().zip(shape);
    let Some((first, _)) = columns.next() else { return Ok(Cow::Owned(Column::constant(0))) };
    columns.try_fold(first, |outer, (inner, &extent)| {
        let bound = |a: i64, b: i64| a.checked_mul(extent).and_then(|x| x.checked_add(b));
        let ends = bound(outer.least, inner.least).zip(bound(outer.most, inner.most));
        let Some((least, most)) = ends else {
            return Err(Diagnostic::new(Code::Shape, format!("{what} exceeds 64 bits"))
                .help("choose a sparser layout"));
        };
        // Beyond its extent, an argument would mean an element of another row.
        if (inner.least < 0 || inner.most >= extent)
            && let Some(beyond) = inner.find(n, |x| !(0..extent).contains(&x))
        {
            return Err(beyond_row(what, extent, beyond));
        }
        let numbers = (0..n).map(|k| outer.get(k) * extent + inner.get(k)).collect();
        Ok(Cow::Owned(Column::of_i64(numbers, least, most)))
    })
}

pub(super) fn beyond_row(what: &str, extent: i64, element: i64) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::NotPackable,
        format!("{what} has rows of {extent} elements, but packing needs element {element}"),
    )
    .help("declare a larger extent, or an order that adds up duplicates")
}
