//! FROSTT files (`.tns`): one line per entry, 1-based coordinates and a value.
//!
//! In: lines. Out: [`Entries`]. The file does not say how large the tensor is: the extents are the
//! largest coordinates, unless they are given.

use std::io::{self, Read, Write};

use super::lines::{Line, Lines, Room};
use super::loaded::Loaded;
use super::mtx::{bad_coordinate, bad_value};
use super::options::ReadOptions;
use super::words::{Words, value_text};
use super::written::Written;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::{
    DenseArray, Entries, IndexData, IndexType, ValueType, Values, for_each_nonzero, with_values,
};

/// What comments begin with.
const COMMENT: u8 = b'#';
/// More dimensions than this are a sign of another kind of file.
const HIGHEST_RANK: usize = 64;

/// The entries read so far.
struct Found {
    coords: Vec<IndexData>,
    values: Values,
    /// Largest coordinate, 1-based, that each dimension may have: as given, else anything.
    limits: Vec<usize>,
    /// Largest coordinate, 1-based, that each dimension has.
    largest: Vec<u64>,
    /// Where the rank was decided.
    first_line: usize,
}

/// Reads a tensor.
///
/// # Errors
/// [`Code::Data`] with the line, [`Code::Shape`] if `options.dims` has another rank, or those of
/// reading.
pub(super) fn read<R: Read>(
    mut lines: Lines<'_, R>,
    options: &ReadOptions<'_>,
    room: Room,
) -> Result<Entries> {
    let value_type = options.value_type.unwrap_or(ValueType::F64);
    let given = options.dims.as_deref();
    let mut found: Option<Found> = None;
    while let Some(line) = lines.next_content_line(COMMENT)? {
        let found = match &mut found {
            Some(found) => found,
            none => none.insert(Found::begin(&line, given, value_type, room)?),
        };
        found.push(&line)?;
    }
    match (found, given) {
        (Some(found), _) => Ok(found.finish(given)),
        (None, Some(dims)) => Ok(Entries::empty(dims, value_type)),
        (None, None) => Err(lines
            .error_at_end("the file has no entries, so the tensor's extents are unknown")
            .help("give the extents, e.g. `--dims NAME=4,5,6`")),
    }
}

impl Found {
    /// Decides the rank by the first line.
    fn begin(
        line: &Line<'_>,
        given: Option<&[usize]>,
        value_type: ValueType,
        room: Room,
    ) -> Result<Found> {
        let n_words = Words::new(line.text).count();
        if !(2..=HIGHEST_RANK + 1).contains(&n_words) {
            let message = match n_words {
                0 | 1 => "an entry needs at least one coordinate and a value".to_owned(),
                _ => format!("an entry of rank {} (at most {HIGHEST_RANK})", n_words - 1),
            };
            return Err(line
                .error(message, format!("{n_words} words"))
                .help("a .tns file has lines of 1-based coordinates and a value"));
        }
        let rank = n_words - 1;
        if let Some(dims) = given
            && dims.len() != rank
        {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{} extents are given for a tensor of rank {rank}", dims.len()),
            )
            .help("the rank of a .tns file is the number of words in its first line less one"));
        }
        let index_type = given.map_or(IndexType::U32, IndexType::for_extents);
        let mut coords = vec![IndexData::empty(index_type); rank];
        let mut values = Values::empty(value_type);
        // Lines rarely are as short as they could be; this is a guess, and arrays grow anyway.
        let guess = room.plausible(usize::MAX, 2 * line.text.len() as u64);
        coords.iter_mut().for_each(|column| column.reserve(guess));
        values.reserve(guess);
        let limits = given.map_or_else(|| vec![i64::MAX as usize; rank], <[usize]>::to_vec);
        Ok(Found { coords, values, limits, largest: vec![0; rank], first_line: line.number })
    }

    #[inline]
    fn push(&mut self, line: &Line<'_>) -> Result<()> {
        let mut words = Words::new(line.text);
        for d in 0..self.coords.len() {
            match words.unsigned() {
                Ok(c) if c > 0 && c <= self.limits[d] as u64 => {
                    self.coords[d].push_coordinate(c - 1);
                    self.largest[d] = self.largest[d].max(c);
                }
                other => {
                    self.check_rank(line)?;
                    let name = format!("dimension-{}", d + 1);
                    return Err(bad_coordinate(line, &name, self.limits[d], other));
                }
            }
        }
        if let Err(fault) = words.push_value(&mut self.values) {
            self.check_rank(line)?;
            return Err(bad_value(line, &fault));
        }
        if !words.at_end() {
            self.check_rank(line)?;
        }
        Ok(())
    }

    /// A wrong number of words explains all that follows from it.
    #[cold]
    fn check_rank(&self, line: &Line<'_>) -> Result<()> {
        let expected = self.coords.len() + 1;
        let n_words = Words::new(line.text).count();
        if n_words == expected {
            return Ok(());
        }
        let what =
            if n_words > expected { "trailing words after the entry" } else { "too few words" };
        Err(line
            .error(format!("{what}: expected {expected}, found {n_words}"), "in this line")
            .note(format!(
                "line {} made it a tensor of rank {}",
                self.first_line,
                self.coords.len()
            )))
    }

    fn finish(mut self, given: Option<&[usize]>) -> Entries {
        let dims = match given {
            Some(dims) => dims.to_vec(),
            // No truncation: they are at most `i64::MAX`.
            None => self.largest.iter().map(|&n| n as usize).collect(),
        };
        if IndexType::for_extents(&dims) == IndexType::U64 {
            self.coords.iter_mut().for_each(IndexData::widen);
        }
        Entries::from_checked(dims, self.coords, self.values)
    }
}

/// Writes the entries (of a dense array: those that are not zero). The extents are not written.
///
/// # Errors
/// [`Code::Shape`] for rank 0; those of writing.
pub(super) fn write(out: &mut dyn Write, data: &Loaded) -> Written {
    check_rank(data.dims().len())?;
    match data {
        Loaded::Entries(entries) => write_entries(out, entries)?,
        Loaded::Dense(array) => write_nonzeros(out, array)?,
    }
    Ok(())
}

/// # Errors
/// [`Code::Shape`] for a scalar.
pub(super) fn check_rank(rank: usize) -> Result<()> {
    match rank {
        0 => Err(Diagnostic::new(Code::Shape, "a scalar does not fit in a .tns file")
            .help("use a .npy or .mtx file")),
        _ => Ok(()),
    }
}

fn write_nonzeros(out: &mut dyn Write, array: &DenseArray) -> io::Result<()> {
    with_values!(array.values(), v => {
        for_each_nonzero(array.dims(), array.values(), |point, at| {
            for c in point {
                write!(out, "{} ", c + 1)?;
            }
            writeln!(out, "{}", value_text(v[at]))
        })
    })
}

fn write_entries(out: &mut dyn Write, entries: &Entries) -> io::Result<()> {
    with_values!(entries.values(), v => {
        for (k, &value) in v.iter().enumerate() {
            for column in entries.coords() {
                write!(out, "{} ", column.get(k) + 1)?;
            }
            writeln!(out, "{}", value_text(value))?;
        }
        Ok(())
    })
}
