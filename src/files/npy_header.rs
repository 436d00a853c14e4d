//! The header of a NumPy array file: a magic number, a version, and a Python dictionary with the
//! keys `descr`, `fortran_order` and `shape`.
//!
//! Read by hand, with a bound on every size it declares: the file may be anything.

use std::io::{self, Read};

use crate::diagnostic::{Code, Diagnostic, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Far more than NumPy writes for any plain array.
const LONGEST_HEADER: usize = 64 * 1024;

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NpyHeader {
    pub element: ElementType,
    /// The first coordinate varies fastest.
    pub fortran_order: bool,
    pub dims: Vec<usize>,
}

/// An element type such as `<f8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ElementType {
    /// `f`, `i`, `u`, `b`, `S`, `U`, …
    pub kind: u8,
    /// In bytes (`U`: in characters of 4 bytes).
    pub size: usize,
    pub big_endian: bool,
    /// As written.
    pub text: String,
}

/// A [`Code::Data`] diagnostic about `name`.
pub(super) fn bad(name: &str, message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Data, message).note(format!("in `{name}`"))
}

/// Reads the header; the reader then stands at the first element.
///
/// # Errors
/// [`Code::Data`] if it is malformed, or those of reading.
pub(super) fn read(source: &mut dyn Read, name: &str) -> Result<NpyHeader> {
    let mut fill = |bytes: &mut [u8]| {
        source.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => bad(name, "the NumPy header is truncated")
                .help("is this a file that `numpy.save` wrote?"),
            _ => super::lines::read_failed(name, &error),
        })
    };
    let mut start = [0; 8];
    fill(&mut start)?;
    if &start[..6] != MAGIC {
        return Err(bad(name, "the file does not begin as a NumPy array does")
            .help("is this a file that `numpy.save` wrote?"));
    }
    let length = match start[6] {
        1 => {
            let mut bytes = [0; 2];
            fill(&mut bytes)?;
            usize::from(u16::from_le_bytes(bytes))
        }
        2 | 3 => {
            let mut bytes = [0; 4];
            fill(&mut bytes)?;
            u32::from_le_bytes(bytes) as usize
        }
        version => return Err(bad(name, format!("unknown NumPy format version {version}"))),
    };
    if length > LONGEST_HEADER {
        return Err(bad(name, format!("a NumPy header of {length} bytes")));
    }
    let mut text = vec![0; length];
    fill(&mut text)?;
    Dictionary { rest: &text, name }.header()
}

/// Reads the dictionary.
struct Dictionary<'a> {
    rest: &'a [u8],
    name: &'a str,
}

impl<'a> Dictionary<'a> {
    fn header(mut self) -> Result<NpyHeader> {
        let (mut element, mut fortran_order, mut dims) = (None, None, None);
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                b"descr" => element = Some(self.element_type()?),
                b"fortran_order" => fortran_order = Some(self.boolean()?),
                b"shape" => dims = Some(self.shape()?),
                _ => return Err(self.malformed("an unknown key")),
            }
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        match (element, fortran_order, dims) {
            (Some(element), Some(fortran_order), Some(dims)) => {
                Ok(NpyHeader { element, fortran_order, dims })
            }
            _ => Err(self.malformed("`descr`, `fortran_order` or `shape` is missing")),
        }
    }

    fn malformed(&self, what: &str) -> Box<Diagnostic> {
        bad(self.name, format!("malformed NumPy header: {what}"))
            .help("is this a file that `numpy.save` wrote?")
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) {
            return Ok(());
        }
        Err(self.malformed(&format!("expected `{}`", char::from(byte))))
    }

    /// A quoted string without escapes (no key or element type has any).
    fn string(&mut self) -> Result<&'a [u8]> {
        self.skip_blanks();
        let Some((&quote @ (b'\'' | b'"'), rest)) = self.rest.split_first() else {
            return Err(self.malformed("expected a string"));
        };
        let end = rest
            .iter()
            .position(|&b| b == quote)
            .ok_or_else(|| self.malformed("a string does not end"))?;
        self.rest = &rest[end + 1..];
        Ok(&rest[..end])
    }

    fn boolean(&mut self) -> Result<bool> {
        self.skip_blanks();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.malformed("`fortran_order` is not a boolean"))
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut dims = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            self.skip_blanks();
            let n = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let extent = str::from_utf8(&self.rest[..n])
                .ok()
                .and_then(|digits| digits.parse().ok())
                .filter(|&extent: &usize| i64::try_from(extent).is_ok())
                .ok_or_else(|| self.malformed("an extent of `shape` is not a count"))?;
            dims.push(extent);
            self.rest = &self.rest[n..];
            // Python 2 wrote long integers like this.
            let _ = self.take(b'L');
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(dims)
    }

    fn element_type(&mut self) -> Result<ElementType> {
        self.skip_blanks();
        if self.rest.first() == Some(&b'[') {
            return Err(bad(self.name, "arrays of records are not supported")
                .help("save one field of it: `numpy.save(file, a['field'])`"));
        }
        let written = self.string()?;
        let text = String::from_utf8_lossy(written).into_owned();
        let bare = written.strip_prefix(b"<").or(written.strip_prefix(b"|"));
        let bare = bare.or(written.strip_prefix(b"="));
        let big = written.strip_prefix(b">");
        let (&kind, size) = bare
            .or(big)
            .unwrap_or(written)
            .split_first()
            .ok_or_else(|| self.malformed("the element type is empty"))?;
        let size = str::from_utf8(size).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        Ok(ElementType { kind, size, big_endian: big.is_some(), text })
    }
}

/// The bytes before the first element, a multiple of 64 long as NumPy aligns them.
pub(super) fn bytes(element: &str, dims: &[usize]) -> io::Result<Vec<u8>> {
    let mut shape: Vec<String> = dims.iter().map(usize::to_string).collect();
    if shape.len() == 1 {
        // A Python tuple of one needs its comma.
        shape.push(String::new());
    }
    let mut text = format!(
        "{{'descr': '{element}', 'fortran_order': False, 'shape': ({}), }}",
        shape.join(", ").trim_end()
    );
    while !(MAGIC.len() + 4 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|_| io::Error::other("too many dimensions for a NumPy header"))?;
    Ok([MAGIC, &[1, 0][..], &length.to_le_bytes(), text.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NpyHeader> {
        Dictionary { rest: text.as_bytes(), name: "t" }.header()
    }

    #[test]
    fn what_numpy_writes_is_read() {
        let h = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   \n").unwrap();
        assert_eq!((h.element.kind, h.element.size, h.element.big_endian), (b'f', 8, false));
        assert_eq!((h.fortran_order, h.dims), (false, vec![3, 4]));
        let h = parse("{\"shape\": (5L,), 'fortran_order': True, 'descr': '>i4'}").unwrap();
        assert!(h.element.big_endian && h.fortran_order);
        assert_eq!(h.dims, [5]);
        assert_eq!(
            parse("{'descr': '|b1', 'fortran_order': False, 'shape': ()}").unwrap().dims,
            [0usize; 0]
        );
    }

    #[test]
    fn malformed_headers_say_what_is_wrong() {
        for (text, fragment) in [
            ("", "expected `{`"),
            ("{'descr': '<f8'}", "missing"),
            ("{'shape': (-1,)}", "not a count"),
            ("{'shape': (99999999999999999999,)}", "not a count"),
            ("{'fortran_order': 1}", "not a boolean"),
            ("{'descr': '<f8", "does not end"),
            ("{'descr': [('a', '<f8')]}", "records"),
            ("{'color': 1}", "unknown key"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code, Code::Data);
            assert!(error.message.contains(fragment), "{text}: {error}");
        }
    }

    #[test]
    fn written_headers_read_back_and_are_aligned() {
        for dims in [vec![], vec![7], vec![2, 3], vec![1; 12]] {
            let bytes = bytes("<i8", &dims).unwrap();
            assert_eq!(bytes.len() % 64, 0);
            let header = read(&mut bytes.as_slice(), "t").unwrap();
            assert_eq!((header.dims, header.fortran_order), (dims, false));
        }
    }
}
