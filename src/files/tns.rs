//! FROSTT files (`.tns`): one line per entry, 1-based coordinates and a value.
//!
//! In: lines. Out: [`Entries`]. The file does not say how large the tensor is: the extents are the
//! largest coordinates, unless they are given.

use std::io::{self, Read, Write};

use super::blocks::{BlockLines, Body, read_body};
use super::lines::{Line, Lines, Room};
use super::loaded::Loaded;
use super::mtx::{bad_coordinate, bad_value};
use super::options::ReadOptions;
use super::printed::{Printed, print_unsigned, write_lines};
use super::words::{Fault, Words};
use super::written::Written;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::{DenseArray, Entries, IndexData, IndexType, ValueType, Values, with_values};

/// What comments begin with.
const COMMENT: u8 = b'#';
/// More dimensions than this are a sign of another kind of file.
const HIGHEST_RANK: usize = 64;

/// What the first line decides, and what is given.
struct Tensors {
    rank: usize,
    /// Largest coordinate, 1-based, that each dimension may have: as given, else anything.
    limits: Vec<usize>,
    /// Of coordinates, as long as no larger ones come.
    index_type: IndexType,
    value_type: ValueType,
    /// Where the rank was decided.
    first_line: usize,
}

/// Some of the entries.
struct Part {
    coords: Vec<IndexData>,
    values: Values,
    /// Largest coordinate, 1-based, that each dimension has.
    largest: Vec<u64>,
}

/// Reads a tensor.
///
/// # Errors
/// [`Code::Data`] with the line, [`Code::Shape`] if `options.dims` has another rank, or those of
/// reading.
pub(super) fn read<R: Read + Send>(
    mut lines: Lines<'_, R>,
    options: &ReadOptions<'_>,
    room: Room,
) -> Result<Entries> {
    let value_type = options.value_type.unwrap_or(ValueType::F64);
    let given = options.dims.as_deref();
    let Some(line) = lines.next_content_line(COMMENT)? else {
        return match given {
            Some(dims) => Ok(Entries::empty(dims, value_type)),
            None => Err(lines
                .error_at_end("the file has no entries, so the tensor's extents are unknown")
                .help("give the extents: `--dims NAME=4,5,6`, or `--dims 4,5,6` where it is the only tensor")),
        };
    };
    let tensors = Tensors::begin(&line, given, value_type)?;
    // Lines rarely are as short as they could be; this is a guess, and arrays grow anyway.
    let mut all = tensors.part();
    all.reserve(room.plausible(usize::MAX, 2 * line.text.len() as u64));
    tensors.push(&mut all, &mut Words::new(line.text), &line)?;
    read_body(lines, &tensors, |part: &Part, _| all.append(part))?;
    Ok(all.finish(given))
}

impl Tensors {
    /// Decides the rank by the first line.
    fn begin(line: &Line<'_>, given: Option<&[usize]>, value_type: ValueType) -> Result<Tensors> {
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
        let limits = given.map_or_else(|| vec![i64::MAX as usize; rank], <[usize]>::to_vec);
        Ok(Tensors { rank, limits, index_type, value_type, first_line: line.number })
    }

    /// Reads an entry, without the end of its line; `Err` if it is none.
    #[inline]
    fn entry(&self, part: &mut Part, words: &mut Words<'_>) -> std::result::Result<(), Wrong> {
        for d in 0..self.rank {
            match words.unsigned() {
                Ok(c) if c > 0 && c <= self.limits[d] as u64 => {
                    part.coords[d].push_coordinate(c - 1);
                    part.largest[d] = part.largest[d].max(c);
                }
                other => return Err(Wrong::Coordinate(d, other)),
            }
        }
        words.push_value(&mut part.values).map_err(Wrong::Value)
    }

    /// Reads the entry of a line.
    fn push(&self, part: &mut Part, words: &mut Words<'_>, line: &Line<'_>) -> Result<()> {
        self.entry(part, words).map_err(|wrong| self.diagnostic(wrong, line))?;
        if words.at_end() { Ok(()) } else { Err(self.wrong_rank(line)) }
    }

    #[cold]
    fn diagnostic(&self, wrong: Wrong, line: &Line<'_>) -> Box<Diagnostic> {
        // A wrong number of words explains all that follows from it.
        if Words::new(line.text).count() != self.rank + 1 {
            return self.wrong_rank(line);
        }
        match wrong {
            Wrong::Coordinate(d, read) => {
                let name = format!("dimension-{}", d + 1);
                bad_coordinate(line, &name, self.limits[d], read)
            }
            Wrong::Value(fault) => bad_value(line, &fault),
        }
    }

    #[cold]
    fn wrong_rank(&self, line: &Line<'_>) -> Box<Diagnostic> {
        let expected = self.rank + 1;
        let n_words = Words::new(line.text).count();
        let what =
            if n_words > expected { "trailing words after the entry" } else { "too few words" };
        line.error(format!("{what}: expected {expected}, found {n_words}"), "in this line")
            .note(format!("line {} made it a tensor of rank {}", self.first_line, self.rank))
    }
}

/// What is wrong with an entry.
enum Wrong {
    /// Of which dimension, and what was read.
    Coordinate(usize, std::result::Result<u64, Fault>),
    Value(Fault),
}

impl Body for Tensors {
    type Part = Part;

    fn part(&self) -> Part {
        Part {
            coords: vec![IndexData::empty(self.index_type); self.rank],
            values: Values::empty(self.value_type),
            largest: vec![0; self.rank],
        }
    }

    fn clear(part: &mut Part) {
        part.coords.iter_mut().for_each(IndexData::clear);
        part.values.clear();
        part.largest.fill(0);
    }

    fn parse(&self, lines: &mut BlockLines<'_>, _before: usize, part: &mut Part) -> Result<()> {
        while let Some(mut words) = lines.next_content_line(COMMENT)? {
            if part.values.is_empty() {
                part.reserve(lines.expected());
            }
            self.entry(part, &mut words).map_err(|wrong| self.diagnostic(wrong, &lines.line()))?;
            if !lines.finish(words) {
                return Err(self.wrong_rank(&lines.line()));
            }
        }
        Ok(())
    }

    fn count(part: &Part) -> usize {
        part.values.len()
    }
}

impl Part {
    fn reserve(&mut self, entries: usize) {
        self.coords.iter_mut().for_each(|column| column.reserve(entries));
        self.values.reserve(entries);
    }

    fn append(&mut self, next: &Part) {
        for (column, more) in self.coords.iter_mut().zip(&next.coords) {
            column.append(more);
        }
        self.values.append(&next.values);
        for (largest, more) in self.largest.iter_mut().zip(&next.largest) {
            *largest = (*largest).max(*more);
        }
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
    let dims = array.dims();
    let strides: Vec<usize> =
        (0..dims.len()).map(|d| dims[d + 1..].iter().product::<usize>().max(1)).collect();
    with_values!(array.values(), v => write_lines(out, v.len(), |at, text| {
        if array.values().is_zero(at) {
            return;
        }
        for (stride, extent) in strides.iter().zip(dims) {
            print_unsigned((at / stride % extent) as u64 + 1, text);
            text.push(b' ');
        }
        v[at].print(text);
        text.push(b'\n');
    }))
}

fn write_entries(out: &mut dyn Write, entries: &Entries) -> io::Result<()> {
    with_values!(entries.values(), v => write_lines(out, v.len(), |k, text| {
        for column in entries.coords() {
            print_unsigned(column.get(k) as u64 + 1, text);
            text.push(b' ');
        }
        v[k].print(text);
        text.push(b'\n');
    }))
}
