//! NumPy array files (`.npy`): any rank, C and Fortran order.
//!
//! In: bytes. Out: a [`DenseArray`]. `f4 f8 i4 i8` and `b1` are kept, shorter and unsigned integers
//! become the smallest type that holds them all.

use std::io::{self, Read, Write};

use super::lines::read_failed;
use super::loaded::Loaded;
use super::npy_header::{self, ElementType, NpyHeader, bad};
use super::written::Written;
use crate::diagnostic::{Diagnostic, Result};
use crate::tensor::{DenseArray, ValueType, Values, array_room, element_count};

/// Bytes decoded at once; a multiple of every element size.
const CHUNK: usize = 64 * 1024;
/// Bytes written at once: more than buffers take, so that these do not copy them again.
const BLOCK: usize = 1 << 20;

/// Reads an array and checks that nothing follows.
///
/// # Errors
/// [`Code::Data`](crate::diagnostic::Code::Data) if it is malformed, truncated or of an element
/// type that is not supported, or those of reading.
pub(super) fn read(source: &mut dyn Read, name: &str) -> Result<DenseArray> {
    let header = npy_header::read(source, name)?;
    let values = read_values(source, &header, name)?;
    if header.fortran_order {
        DenseArray::from_column_major(header.dims, values)
    } else {
        DenseArray::new(header.dims, values)
    }
}

/// Reads the elements, in the order they are stored in, and checks that nothing follows.
fn read_values(source: &mut dyn Read, header: &NpyHeader, name: &str) -> Result<Values> {
    let n = element_count(&header.dims)?;
    let kept_as = match (header.element.kind, header.element.size) {
        (b'b', _) => ValueType::Bool,
        (b'u', 1) => ValueType::U8,
        (_, 8) | (b'u', 4) => ValueType::I64,
        _ => ValueType::I32,
    };
    array_room(&header.dims, kept_as).map_err(|e| e.note(format!("in `{name}`")))?;
    let big = header.element.big_endian;
    macro_rules! elements {
        ($stored:ty, kept as $kept:ty) => {{
            const SIZE: usize = size_of::<$stored>();
            let mut values: Vec<$kept> = Vec::new();
            each_chunk(source, n, SIZE, name, |chunk| {
                values.extend(chunk.chunks_exact(SIZE).map(|bytes| {
                    let mut element = [0; SIZE];
                    element.copy_from_slice(bytes);
                    let x = if big {
                        <$stored>::from_be_bytes(element)
                    } else {
                        <$stored>::from_le_bytes(element)
                    };
                    <$kept>::from(x)
                }));
                Ok(())
            })?;
            Values::from(values)
        }};
    }
    let values = match (header.element.kind, header.element.size) {
        (b'f', 8) => elements!(f64, kept as f64),
        (b'f', 4) => elements!(f32, kept as f32),
        (b'i', 8) => elements!(i64, kept as i64),
        (b'i', 4) => elements!(i32, kept as i32),
        (b'i', 2) => elements!(i16, kept as i32),
        (b'i', 1) => elements!(i8, kept as i32),
        (b'u', 4) => elements!(u32, kept as i64),
        (b'u', 2) => elements!(u16, kept as i32),
        (b'u', 1) => elements!(u8, kept as u8),
        (b'u', 8) => read_u64(source, n, big, name)?,
        (b'b', 1) => {
            let mut values = Vec::new();
            each_chunk(source, n, 1, name, |chunk| {
                values.extend(chunk.iter().map(|&byte| byte != 0));
                Ok(())
            })?;
            Values::Bool(values)
        }
        _ => return Err(unsupported(&header.element, name)),
    };
    expect_end(source, name)?;
    Ok(values)
}

fn read_u64(source: &mut dyn Read, n: usize, big: bool, name: &str) -> Result<Values> {
    let mut values = Vec::new();
    each_chunk(source, n, 8, name, |chunk| {
        for bytes in chunk.chunks_exact(8) {
            let mut element = [0; 8];
            element.copy_from_slice(bytes);
            let x = if big { u64::from_be_bytes(element) } else { u64::from_le_bytes(element) };
            values.push(i64::try_from(x).map_err(|_| {
                bad(name, format!("element {} is {x}, which does not fit in i64", values.len() + 1))
                    .help("save it as float64: `numpy.save(file, a.astype('f8'))`")
            })?);
        }
        Ok(())
    })?;
    Ok(Values::I64(values))
}

fn unsupported(element: &ElementType, name: &str) -> Box<Diagnostic> {
    bad(name, format!("NumPy arrays of type `{}` are not supported", element.text))
        .help("convert it first, e.g. `numpy.save(file, a.astype('f8'))`")
}

/// Reads `n` elements of `size` bytes; memory grows with what is read, not with what is declared.
fn each_chunk(
    source: &mut dyn Read,
    n: usize,
    size: usize,
    name: &str,
    mut decode: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    // No overflow: `element_count` leaves room for 8 bytes each.
    let mut left = n * size;
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK)];
        source.read_exact(chunk).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                bad(name, format!("the array is truncated: {n} elements are declared"))
                    .help("write or fetch the file again")
            }
            _ => read_failed(name, &error),
        })?;
        decode(chunk)?;
        left -= chunk.len();
    }
    Ok(())
}

/// Also makes a checksum behind the last byte be verified.
fn expect_end(source: &mut dyn Read, name: &str) -> Result<()> {
    match source.read_exact(&mut [0]) {
        Ok(()) => Err(bad(name, "bytes follow the last element of the array")
            .help("is the header's `shape` right?")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        Err(error) => Err(read_failed(name, &error)),
    }
}

/// Reads an array that holds one word, such as `format.npy` in an archive: bytes or characters.
///
/// # Errors
/// Those of [`read`].
pub(super) fn read_word(source: &mut dyn Read, name: &str) -> Result<String> {
    let NpyHeader { element, dims, .. } = npy_header::read(source, name)?;
    let width = match element.kind {
        b'S' => 1,
        b'U' => 4,
        _ => return Err(unsupported(&element, name)),
    };
    if element_count(&dims)? != 1 || element.size > 64 {
        return Err(bad(name, "expected one short word"));
    }
    let mut word = String::new();
    each_chunk(source, element.size, width, name, |chunk| {
        for bytes in chunk.chunks_exact(width) {
            // ASCII: the lowest byte is the character; strings are padded with zeros.
            let byte = if element.big_endian { bytes[width - 1] } else { bytes[0] };
            if byte != 0 {
                word.push(char::from(byte));
            }
        }
        Ok(())
    })?;
    expect_end(source, name)?;
    Ok(word)
}

/// Writes an array in C order, little endian.
///
/// # Errors
/// [`Code::Shape`](crate::diagnostic::Code::Shape) if the entries do not fit in memory as a dense
/// array; those of writing.
pub(super) fn write(out: &mut dyn Write, data: &Loaded) -> Written {
    let converted;
    let array = match data {
        Loaded::Dense(array) => array,
        Loaded::Entries(entries) => {
            converted = DenseArray::from_entries(entries)?;
            &converted
        }
    };
    Ok(write_array(out, array.dims(), array.values())?)
}

/// Writes header and elements.
pub(super) fn write_array(out: &mut dyn Write, dims: &[usize], values: &Values) -> io::Result<()> {
    out.write_all(&npy_header::bytes(element_name(values.value_type()), dims)?)?;
    match values {
        Values::F64(v) => write_elements(out, v, |x| x.to_le_bytes()),
        Values::F32(v) => write_elements(out, v, |x| x.to_le_bytes()),
        Values::I64(v) => write_elements(out, v, |x| x.to_le_bytes()),
        Values::I32(v) => write_elements(out, v, |x| x.to_le_bytes()),
        Values::U8(v) => write_elements(out, v, |x| [x]),
        Values::Bool(v) => write_elements(out, v, |x| [u8::from(x)]),
    }
}

fn element_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::F64 => "<f8",
        ValueType::F32 => "<f4",
        ValueType::I64 => "<i8",
        ValueType::I32 => "<i4",
        ValueType::U8 => "|u1",
        ValueType::Bool => "|b1",
    }
}

fn write_elements<T: Copy, const SIZE: usize>(
    out: &mut dyn Write,
    elements: &[T],
    bytes: impl Fn(T) -> [u8; SIZE],
) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK.min(elements.len() * SIZE)];
    for chunk in elements.chunks(BLOCK / SIZE) {
        let block = &mut buffer[..chunk.len() * SIZE];
        for (element, &x) in block.chunks_exact_mut(SIZE).zip(chunk) {
            element.copy_from_slice(&bytes(x));
        }
        out.write_all(block)?;
    }
    Ok(())
}
