//! Matrix Market files (`.mtx`): coordinate and array, real, integer and pattern, general,
//! symmetric and skew-symmetric.
//!
//! In: lines. Out: [`Entries`] (1-based coordinates become 0-based, the other triangle of a
//! symmetric matrix is added, the diagonal once) or a [`DenseArray`].

use std::io::{self, Read, Write};

use super::blocks::{BlockLines, Body, read_body};
use super::lines::{Line, Lines, Room};
use super::loaded::Loaded;
use super::mtx_header::{self, Field, Header, Storage, Symmetry};
use super::options::ReadOptions;
use super::printed::{Printed, print_unsigned, write_lines};
use super::words::{Fault, Words};
use super::written::Written;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::tensor::{DenseArray, Entries, IndexData, IndexType, ValueType, Values, with_values};

/// The shortest line of an entry: `1 1` and its end.
const SHORTEST_ENTRY: u64 = 4;
/// The shortest line of an array element.
const SHORTEST_ELEMENT: u64 = 2;

/// Reads a matrix; the warnings say what was accepted although the format forbids it.
///
/// # Errors
/// [`Code::Data`] with the line, or those of reading.
pub(super) fn read<R: Read + Send>(
    mut lines: Lines<'_, R>,
    options: &ReadOptions<'_>,
    room: Room,
) -> Result<(Loaded, Vec<String>)> {
    let header = match lines.next_line()? {
        Some(line) => mtx_header::parse(&line)?,
        None => {
            return Err(lines
                .error_at_end("the Matrix Market file is empty")
                .help("a Matrix Market file begins with `%%MatrixMarket`"));
        }
    };
    let mut warnings = Vec::new();
    if header.single_percent {
        warnings.push("line 1: the header begins with a single `%` instead of `%%`".to_owned());
    }
    let value_type = match (header.field, options.value_type) {
        // As what they are: integers that are no floats are refused afterwards.
        (Field::Integer, None | Some(ValueType::F64 | ValueType::F32)) => ValueType::I64,
        (_, Some(asked)) => asked,
        (Field::Real | Field::Pattern, None) => ValueType::F64,
    };
    let loaded = match header.storage {
        Storage::Coordinate => {
            Loaded::Entries(read_coordinates(lines, header, value_type, room, &mut warnings)?)
        }
        Storage::Array => Loaded::Dense(read_array(lines, header, value_type, room)?),
    };
    Ok((loaded, warnings))
}

/// What comments begin with.
const COMMENT: u8 = b'%';

/// Reads the `N` counts of the size line, rows and columns first; also gives its line number.
fn sizes<const N: usize, R: Read>(
    lines: &mut Lines<'_, R>,
    symmetry: Symmetry,
    names: [&str; N],
) -> Result<([usize; N], usize)> {
    let form = format!("expected `{}`", names.join(" "));
    let Some(line) = lines.next_content_line(COMMENT)? else {
        return Err(lines.error_at_end("the size line is missing").help(form));
    };
    let mut words = Words::new(line.text);
    let mut numbers = [0; N];
    for (number, name) in numbers.iter_mut().zip(names) {
        let count = words.unsigned().map_err(|fault| {
            line.error(format!("the {name} in the size line {fault}"), form.clone())
                .help("the size line follows the header and comments")
        })?;
        *number =
            usize::try_from(count).ok().filter(|&n| i64::try_from(n).is_ok()).ok_or_else(|| {
                line.error(format!("the {name} in the size line is out of range"), "too large")
            })?;
    }
    if !words.at_end() {
        return Err(line.error("the size line has too many numbers", form));
    }
    if symmetry != Symmetry::General && numbers[0] != numbers[1] {
        return Err(line
            .error("a symmetric or skew-symmetric matrix must be square", "extents that differ")
            .help("declare it `general` in the header"));
    }
    Ok((numbers, line.number))
}

/// Reads the entries of a coordinate file.
fn read_coordinates<R: Read + Send>(
    mut lines: Lines<'_, R>,
    header: Header,
    value_type: ValueType,
    room: Room,
    warnings: &mut Vec<String>,
) -> Result<Entries> {
    let ([m, n, count], size_line) = sizes(
        &mut lines,
        header.symmetry,
        ["number of rows", "number of columns", "number of entries"],
    )?;
    let reader = Coordinates { header, value_type, m, n, count, size_line };
    let expected = room.plausible(count, SHORTEST_ENTRY);
    let mut all = reader.part();
    all.reserve(if reader.mirrored() { expected.saturating_mul(2) } else { expected });
    let done = read_body(lines, &reader, |part: &CoordinatesPart, lines| {
        all.rows.append(&part.rows);
        all.columns.append(&part.columns);
        all.values.append(&part.values);
        all.above_diagonal = all.above_diagonal.or(part.above_diagonal.map(|line| lines + line));
    })?;
    if done.count < count {
        return Err(done
            .error_at_end(format!(
                "too few entries: the size line declares {count}, the file has {}",
                done.count
            ))
            .note(format!("the size line is line {size_line}"))
            .help("the file may be truncated"));
    }
    if let Some(number) = all.above_diagonal {
        warnings.push(format!(
            "line {number}: an entry above the diagonal, although only the lower triangle of \
             such a matrix should be given; it is mirrored like the others"
        ));
    }
    Ok(Entries::from_checked(vec![m, n], vec![all.rows, all.columns], all.values))
}

/// Reads the lines of entries.
struct Coordinates {
    header: Header,
    value_type: ValueType,
    m: usize,
    n: usize,
    count: usize,
    size_line: usize,
}

/// Some of the entries.
struct CoordinatesPart {
    rows: IndexData,
    columns: IndexData,
    values: Values,
    /// Lines, without what is mirrored.
    count: usize,
    /// Number of the first line above the diagonal, if only what is below should be there.
    above_diagonal: Option<usize>,
}

impl CoordinatesPart {
    fn reserve(&mut self, entries: usize) {
        self.rows.reserve(entries);
        self.columns.reserve(entries);
        self.values.reserve(entries);
    }
}

impl Coordinates {
    fn mirrored(&self) -> bool {
        self.header.symmetry != Symmetry::General
    }

    /// The other half of the entry that was read last.
    fn mirror(
        &self,
        part: &mut CoordinatesPart,
        i: u64,
        j: u64,
        lines: &BlockLines<'_>,
    ) -> Result<()> {
        if i < j && part.above_diagonal.is_none() {
            part.above_diagonal = Some(lines.number);
        }
        let skew = self.header.symmetry == Symmetry::SkewSymmetric;
        if i != j {
            part.values.push_last_again();
            if skew && !part.values.negate(part.values.len() - 1) {
                return Err(lines.line().error(
                    format!("the negated value does not fit in {}", self.value_type),
                    "mirrored with the opposite sign",
                ));
            }
            part.rows.push_coordinate(j);
            part.columns.push_coordinate(i);
        } else if skew && !part.values.is_zero(part.values.len() - 1) {
            return Err(lines
                .line()
                .error(
                    "a skew-symmetric matrix has a nonzero on its diagonal",
                    "must be zero or absent",
                )
                .help("is the matrix `symmetric`?"));
        }
        Ok(())
    }

    #[cold]
    fn too_many(&self, line: &Line<'_>) -> Box<Diagnostic> {
        let Coordinates { count, size_line, .. } = self;
        line.error(format!("too many entries: the size line declares {count}"), "one entry more")
            .note(format!("the size line is line {size_line}"))
    }

    #[cold]
    fn trailing_words(&self, line: &Line<'_>) -> Box<Diagnostic> {
        let junk = line.error("trailing words after the entry", "expected the end of the line");
        match self.header.field {
            Field::Pattern => junk.help("the header says `pattern`: entries have no value"),
            _ => junk,
        }
    }
}

impl Body for Coordinates {
    type Part = CoordinatesPart;

    fn part(&self) -> CoordinatesPart {
        let index_type = IndexType::for_extents(&[self.m, self.n]);
        CoordinatesPart {
            rows: IndexData::empty(index_type),
            columns: IndexData::empty(index_type),
            values: Values::empty(self.value_type),
            count: 0,
            above_diagonal: None,
        }
    }

    fn clear(part: &mut CoordinatesPart) {
        part.rows.clear();
        part.columns.clear();
        part.values.clear();
        part.count = 0;
        part.above_diagonal = None;
    }

    fn parse(
        &self,
        lines: &mut BlockLines<'_>,
        before: usize,
        part: &mut CoordinatesPart,
    ) -> Result<()> {
        while let Some(mut words) = lines.next_content_line(COMMENT)? {
            if before + part.count == self.count {
                return Err(self.too_many(&lines.line()));
            }
            if part.count == 0 {
                part.reserve(lines.expected() * (1 + usize::from(self.mirrored())));
            }
            let i = coordinate(lines, &mut words, "row", self.m)?;
            let j = coordinate(lines, &mut words, "column", self.n)?;
            let value = match self.header.field {
                Field::Pattern => Words::new(b"1").push_value(&mut part.values),
                _ => words.push_value(&mut part.values),
            };
            value.map_err(|fault| bad_value(&lines.line(), &fault))?;
            if !lines.finish(words) {
                return Err(self.trailing_words(&lines.line()));
            }
            part.rows.push_coordinate(i);
            part.columns.push_coordinate(j);
            part.count += 1;
            if self.mirrored() {
                self.mirror(part, i, j, lines)?;
            }
        }
        Ok(())
    }

    fn count(part: &CoordinatesPart) -> usize {
        part.count
    }

    fn most(&self) -> usize {
        self.count
    }
}

/// Reads a 1-based coordinate, gives the 0-based one.
#[inline(always)]
fn coordinate(
    lines: &BlockLines<'_>,
    words: &mut Words<'_>,
    name: &str,
    extent: usize,
) -> Result<u64> {
    match words.unsigned() {
        Ok(c) if c > 0 && c <= extent as u64 => Ok(c - 1),
        other => Err(bad_coordinate(&lines.line(), name, extent, other)),
    }
}

#[cold]
pub(super) fn bad_coordinate(
    line: &Line<'_>,
    name: &str,
    extent: usize,
    read: Result<u64, Fault>,
) -> Box<Diagnostic> {
    match read {
        Ok(0) => line
            .error(format!("the {name} coordinate is 0"), "coordinates are counted from 1")
            .help("add 1 to every coordinate"),
        Ok(c) => line.error(
            format!("the {name} coordinate {c} is beyond the extent {extent}"),
            "out of range",
        ),
        Err(fault) => line.error(format!("the {name} coordinate {fault}"), "in this entry"),
    }
}

#[cold]
pub(super) fn bad_value(line: &Line<'_>, fault: &Fault) -> Box<Diagnostic> {
    let error = line.error(format!("the value {fault}"), "in this entry");
    match fault {
        Fault::OutOfRange(word) if word.parse().is_ok_and(f64::is_infinite) => {
            error.help("it is beyond the largest f64: infinity is written `inf`")
        }
        Fault::NotAnInteger(_) | Fault::OutOfRange(_) => error.help("read it with f64 values"),
        _ => error,
    }
}

fn read_array<R: Read + Send>(
    mut lines: Lines<'_, R>,
    header: Header,
    value_type: ValueType,
    room: Room,
) -> Result<DenseArray> {
    let ([m, n], size_line) =
        sizes(&mut lines, header.symmetry, ["number of rows", "number of columns"])?;
    let (wide_m, wide_n) = (m as u128, n as u128);
    let packed = match header.symmetry {
        Symmetry::General => wide_m * wide_n,
        Symmetry::Symmetric => wide_m * (wide_m + 1) / 2,
        Symmetry::SkewSymmetric => wide_m * wide_m.saturating_sub(1) / 2,
    };
    // A count that no file can have leads to "too few values".
    let count = usize::try_from(packed).unwrap_or(usize::MAX);
    let likely = room.plausible(count, SHORTEST_ELEMENT);
    let bytes = (likely as u64).saturating_mul(value_type.size_bytes() as u64);
    let what = || format!("the dense array of {m}×{n} elements in the file");
    crate::tensor::room(bytes, &what, "write its nonzero entries as coordinates, and read those")?;
    let mut values = Values::empty(value_type);
    values.reserve(likely);
    let elements = Elements { value_type, m, n, count, size_line };
    let done = read_body(lines, &elements, |part: &Values, _| values.append(part))?;
    if done.count < count {
        return Err(done
            .error_at_end(format!(
                "too few values: {m}×{n} need {count}, the file has {}",
                done.count
            ))
            .note(format!("the size line is line {size_line}"))
            .help("the file may be truncated"));
    }
    match header.symmetry {
        Symmetry::General => DenseArray::from_column_major(vec![m, n], values),
        _ => unpack_triangle(m, &values, header.symmetry == Symmetry::SkewSymmetric),
    }
}

/// Reads the lines of an array.
struct Elements {
    value_type: ValueType,
    m: usize,
    n: usize,
    count: usize,
    size_line: usize,
}

impl Body for Elements {
    type Part = Values;

    fn part(&self) -> Values {
        Values::empty(self.value_type)
    }

    fn clear(part: &mut Values) {
        part.clear();
    }

    fn parse(&self, lines: &mut BlockLines<'_>, before: usize, values: &mut Values) -> Result<()> {
        while let Some(mut words) = lines.next_content_line(COMMENT)? {
            if before + values.len() == self.count {
                let Elements { m, n, count, size_line, .. } = self;
                return Err(lines
                    .line()
                    .error(format!("too many values: {m}×{n} need {count}"), "one value more")
                    .note(format!("the size line is line {size_line}")));
            }
            if values.is_empty() {
                values.reserve(lines.expected());
            }
            words.push_value(values).map_err(|fault| bad_value(&lines.line(), &fault))?;
            if !lines.finish(words) {
                return Err(lines
                    .line()
                    .error("trailing words after the value", "expected one value per line"));
            }
        }
        Ok(())
    }

    fn count(part: &Values) -> usize {
        part.len()
    }

    fn most(&self) -> usize {
        self.count
    }
}

/// The full matrix of a lower triangle given column by column, without the diagonal when `skew`.
fn unpack_triangle(n: usize, lower: &Values, skew: bool) -> Result<DenseArray> {
    let mut values = DenseArray::zeros(&[n, n], lower.value_type())?.into_values();
    let mut upper = lower.clone();
    if skew && !(0..upper.len()).all(|k| upper.negate(k)) {
        return Err(Diagnostic::new(
            Code::Data,
            format!("a negated value does not fit in {}", lower.value_type()),
        )
        .help("read it with f64 values"));
    }
    let below = usize::from(skew);
    let places = (0..n).flat_map(|j| (j + below..n).map(move |i| (i, j)));
    for (k, (i, j)) in places.enumerate() {
        values.set_from(j * n + i, &upper, k);
        values.set_from(i * n + j, lower, k);
    }
    DenseArray::new(vec![n, n], values)
}

/// Writes a matrix, `general`: entries in coordinate format, a dense array in array format. A
/// vector is written as one column, a scalar as 1×1.
///
/// # Errors
/// [`Code::Shape`] for rank above 2; those of writing.
pub(super) fn write(out: &mut dyn Write, data: &Loaded) -> Written {
    let (rows, columns) = match *data.dims() {
        [] => (1, 1),
        [m] => (m, 1),
        [m, n] => (m, n),
        ref dims => return Ok(check_rank(dims.len())?),
    };
    match data {
        Loaded::Entries(entries) => write_entries(out, entries, rows, columns)?,
        Loaded::Dense(array) => write_array(out, array, rows, columns)?,
    }
    Ok(())
}

/// # Errors
/// [`Code::Shape`] if a tensor of this rank is no matrix, vector or scalar.
pub(super) fn check_rank(rank: usize) -> Result<()> {
    match rank {
        0..=2 => Ok(()),
        _ => Err(Diagnostic::new(
            Code::Shape,
            format!("a tensor of rank {rank} does not fit in a Matrix Market file"),
        )
        .help("use a .tns or .npy file")),
    }
}

fn field_of(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::F64 | ValueType::F32 => "real",
        ValueType::I64 | ValueType::I32 | ValueType::U8 | ValueType::Bool => "integer",
    }
}

fn write_entries(
    out: &mut dyn Write,
    entries: &Entries,
    rows: usize,
    columns: usize,
) -> io::Result<()> {
    // A pattern has no way to say `false`.
    let pattern = entries.values().as_slice::<bool>().is_some_and(|v| v.iter().all(|&x| x));
    let field = if pattern { "pattern" } else { field_of(entries.values().value_type()) };
    writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
    writeln!(out, "{rows} {columns} {}", entries.len())?;
    let coordinate = |d: usize, k: usize, text: &mut Vec<u8>| {
        let number = entries.coords().get(d).map_or(0, |column| column.get(k)) + 1;
        print_unsigned(number as u64, text);
    };
    with_values!(entries.values(), v => write_lines(out, v.len(), |k, text| {
        coordinate(0, k, text);
        text.push(b' ');
        coordinate(1, k, text);
        if !pattern {
            text.push(b' ');
            v[k].print(text);
        }
        text.push(b'\n');
    }))
}

fn write_array(
    out: &mut dyn Write,
    array: &DenseArray,
    rows: usize,
    columns: usize,
) -> io::Result<()> {
    writeln!(out, "%%MatrixMarket matrix array {} general", field_of(array.values().value_type()))?;
    writeln!(out, "{rows} {columns}")?;
    with_values!(array.values(), v => write_lines(out, v.len(), |k, text| {
        let (j, i) = (k / rows, k % rows);
        v[i * columns + j].print(text);
        text.push(b'\n');
    }))
}
