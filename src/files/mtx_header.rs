//! The first line of a Matrix Market file: `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`.

use super::lines::Line;
use super::words::{Words, shown};
use crate::diagnostic::{Diagnostic, Result};

/// How the entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// One line `i j value` per entry.
    Coordinate,
    /// All elements, column by column.
    Array,
}

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Real,
    Integer,
    /// None: every entry is 1.
    Pattern,
}

/// Which entries stand for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    General,
    /// `a[j,i] = a[i,j]`; only the lower triangle is written.
    Symmetric,
    /// `a[j,i] = -a[i,j]`; only the strictly lower triangle is written.
    SkewSymmetric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub storage: Storage,
    pub field: Field,
    pub symmetry: Symmetry,
    /// It began with a single `%`.
    pub single_percent: bool,
}

const FORM: &str = "the first line must read `%%MatrixMarket matrix <coordinate|array> \
                    <real|integer|pattern> <general|symmetric|skew-symmetric>`";

/// Reads the header line.
///
/// # Errors
/// [`Code::Data`](crate::diagnostic::Code::Data), pointing at the line.
pub(super) fn parse(line: &Line<'_>) -> Result<Header> {
    let bad = |message: String, label: &str| -> Box<Diagnostic> {
        line.error(format!("bad Matrix Market header: {message}"), label).help(FORM)
    };
    let mut words = Words::new(line.text);
    let mut next = || words.word().to_ascii_lowercase();

    let banner = next();
    let single_percent = match banner.as_slice() {
        b"%%matrixmarket" => false,
        b"%matrixmarket" => true,
        _ => return Err(bad("it does not begin with `%%MatrixMarket`".into(), "the first line")),
    };
    let object = next();
    if object != b"matrix" {
        return Err(bad(
            format!("the object is `{}`, not `matrix`", shown(&object)),
            "only matrices can be read",
        ));
    }
    let storage = match next().as_slice() {
        b"coordinate" => Storage::Coordinate,
        b"array" => Storage::Array,
        b"" => return Err(bad("the format is missing".into(), "ends too early")),
        other => {
            return Err(bad(
                format!("unknown format `{}`", shown(other)),
                "expected `coordinate` or `array`",
            ));
        }
    };
    let field = match next().as_slice() {
        b"real" | b"double" => Field::Real,
        b"integer" | b"unsigned-integer" => Field::Integer,
        b"pattern" => Field::Pattern,
        b"complex" => {
            return Err(line
                .error("complex matrices are not supported", "the field is `complex`")
                .help("save the real part, or the real and imaginary parts as two files"));
        }
        b"" => return Err(bad("the field is missing".into(), "ends too early")),
        other => {
            return Err(bad(
                format!("unknown field `{}`", shown(other)),
                "expected `real`, `integer` or `pattern`",
            ));
        }
    };
    let symmetry = match next().as_slice() {
        b"general" => Symmetry::General,
        b"symmetric" => Symmetry::Symmetric,
        b"skew-symmetric" => Symmetry::SkewSymmetric,
        b"hermitian" => {
            return Err(line
                .error("Hermitian matrices are not supported", "the symmetry is `hermitian`")
                .help("a real Hermitian matrix is `symmetric`"));
        }
        b"" => return Err(bad("the symmetry is missing".into(), "ends too early")),
        other => {
            return Err(bad(
                format!("unknown symmetry `{}`", shown(other)),
                "expected `general`, `symmetric` or `skew-symmetric`",
            ));
        }
    };
    let junk = next();
    if !junk.is_empty() {
        return Err(bad(format!("`{}` after the symmetry", shown(&junk)), "has too many words"));
    }
    if field == Field::Pattern && storage == Storage::Array {
        return Err(bad("an `array` cannot have the field `pattern`".into(), "has no values"));
    }
    if field == Field::Pattern && symmetry == Symmetry::SkewSymmetric {
        return Err(bad(
            "a `pattern` cannot be `skew-symmetric`".into(),
            "has no values that could change sign",
        ));
    }
    Ok(Header { storage, field, symmetry, single_percent })
}
