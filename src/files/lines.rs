//! The lines at the head of a text file, as a stream: the text is never held, only a window of it.
//!
//! In: any reader. Out: one [`Line`] at a time, numbered, that knows how to report itself; then the
//! [`Rest`], which is read in blocks.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use crate::diagnostic::{Code, Diagnostic, Result};

/// Bytes read at once.
const WINDOW: usize = 256 * 1024;
/// Longer "lines" are binary data or damage; this bounds the memory they take.
pub(super) const LONGEST_LINE: usize = 1024 * 1024;

/// How large a text can be, so that a wrong count in it does not reserve memory for nothing.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub text_bytes: u64,
}

impl Room {
    /// At most `count` items of at least `shortest` bytes.
    pub fn plausible(self, count: usize, shortest: u64) -> usize {
        count.min(usize::try_from(self.text_bytes / shortest + 1).unwrap_or(usize::MAX))
    }
}

/// Who is told how much of a file is done.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    /// Bytes of the file that were read, on whatever thread.
    pub position: &'a AtomicU64,
    /// Called with those whose lines are done.
    pub callback: &'a dyn Fn(u64),
}

impl Watch<'_> {
    pub fn report(&self, done: u64) {
        (self.callback)(done);
    }

    /// Nobody.
    #[cfg(test)]
    pub fn none() -> Watch<'static> {
        static NOWHERE: AtomicU64 = AtomicU64::new(0);
        Watch { position: &NOWHERE, callback: &|_| {} }
    }
}

/// A stream of lines.
pub(super) struct Lines<'a, R> {
    source: R,
    name: &'a str,
    window: Vec<u8>,
    /// The part of `window` not yet given out.
    start: usize,
    end: usize,
    /// Number of the line last given out.
    number: usize,
    at_end: bool,
    watch: Watch<'a>,
}

/// What is left of a text.
pub(super) struct Rest<'a, R> {
    pub name: &'a str,
    /// What was read already.
    pub text: Vec<u8>,
    /// What was not.
    pub source: R,
    /// Lines before.
    pub number: usize,
    pub watch: Watch<'a>,
}

/// One line, without its end.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub text: &'a [u8],
    /// Counted from 1.
    pub number: usize,
    pub name: &'a str,
}

impl<'a> Line<'a> {
    /// A [`Code::Data`] diagnostic that points at this line.
    pub fn error(&self, message: impl Into<String>, label: impl Into<String>) -> Box<Diagnostic> {
        // Only the beginning is shown; a line may be long.
        let shown = &self.text[..self.text.len().min(1000)];
        let shown = String::from_utf8_lossy(shown);
        Diagnostic::new(Code::Data, message).at_line(
            self.name,
            self.number,
            shown.trim_end(),
            label,
        )
    }
}

impl<'a, R: Read> Lines<'a, R> {
    /// `name` is the path that diagnostics show; `watch` is for who reads the rest.
    pub fn new(source: R, name: &'a str, watch: Watch<'a>) -> Self {
        let window = Vec::new();
        Lines { source, name, window, start: 0, end: 0, number: 0, at_end: false, watch }
    }

    /// What no line was given out of.
    pub fn rest(mut self) -> Rest<'a, R> {
        self.window.truncate(self.end);
        self.window.drain(..self.start);
        let Lines { source, name, window: text, number, watch, .. } = self;
        Rest { name, text, source, number, watch }
    }

    /// A [`Code::Data`] diagnostic about the end of the file.
    pub fn error_at_end(&self, message: impl Into<String>) -> Box<Diagnostic> {
        error_at_end(self.name, self.number, message)
    }

    /// The next line.
    ///
    /// # Errors
    /// [`Code::Io`] or [`Code::Data`] (see [`read_failed`]); [`Code::Data`] for a line that is too
    /// long to be one.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        Ok(self.advance()?.map(|range| self.line(range)))
    }

    /// The next line that is neither blank nor a comment, which begins with `comment`.
    ///
    /// # Errors
    /// Those of [`Lines::next_line`].
    #[inline]
    pub fn next_content_line(&mut self, comment: u8) -> Result<Option<Line<'_>>> {
        while let Some(range) = self.advance()? {
            let first = self.window[range.clone()].iter().find(|b| !b.is_ascii_whitespace());
            if first.is_some_and(|&b| b != comment) {
                return Ok(Some(self.line(range)));
            }
        }
        Ok(None)
    }

    fn line(&self, range: Range<usize>) -> Line<'_> {
        Line { text: &self.window[range], number: self.number, name: self.name }
    }

    /// Moves to the next line and says where in the window it is.
    #[inline]
    fn advance(&mut self) -> Result<Option<Range<usize>>> {
        let mut searched = self.start;
        loop {
            if let Some(at) = self.window[searched..self.end].iter().position(|&b| b == b'\n') {
                let range = self.start..searched + at;
                self.start = range.end + 1;
                self.number += 1;
                return Ok(Some(range));
            }
            if self.at_end {
                if self.start == self.end {
                    return Ok(None);
                }
                let range = self.start..self.end;
                self.start = self.end;
                self.number += 1;
                return Ok(Some(range));
            }
            searched = self.end - self.start;
            self.refill()?;
        }
    }

    /// Moves the unfinished line to the front of the window and reads on behind it.
    fn refill(&mut self) -> Result<()> {
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end > LONGEST_LINE {
            let line = Line { text: &self.window[..80], number: self.number + 1, name: self.name };
            return Err(too_long(&line));
        }
        if self.window.len() < self.end + WINDOW {
            self.window.resize(self.end + WINDOW, 0);
        }
        loop {
            match self.source.read(&mut self.window[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(read_failed(self.name, &error)
                        .note(format!("after line {} of the text", self.number)));
                }
            }
            return Ok(());
        }
    }
}

/// A [`Code::Data`] diagnostic about the end of a file of so many lines.
pub(super) fn error_at_end(
    name: &str,
    lines: usize,
    message: impl Into<String>,
) -> Box<Diagnostic> {
    Diagnostic::new(Code::Data, message).at_line(name, lines.max(1), "", "the file ends here")
}

/// The diagnostic for a line that is beyond [`LONGEST_LINE`].
pub(super) fn too_long(line: &Line<'_>) -> Box<Diagnostic> {
    let shown = Line { text: &line.text[..line.text.len().min(80)], ..*line };
    shown
        .error("a line is longer than 1 MiB", "starts here")
        .help("is this a text file of this format?")
}

/// The diagnostic for a failed read: [`Code::Data`] when the bytes are at fault (a damaged or
/// truncated compressed file), else [`Code::Io`].
pub(super) fn read_failed(name: &str, error: &io::Error) -> Box<Diagnostic> {
    let (code, message, help) = match error.kind() {
        io::ErrorKind::UnexpectedEof => (
            Code::Data,
            "the file is truncated".to_owned(),
            "it ends before its content does; fetch or write it again",
        ),
        // `Other` is what decoders report, e.g. a wrong checksum; the system's errors have kinds.
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => (
            Code::Data,
            format!("the file is damaged: {error}"),
            "is it of the format that its extension says? if so, fetch or write it again",
        ),
        _ => (
            Code::Io,
            format!("cannot read `{name}`: {error}"),
            "check the path and its permissions",
        ),
    };
    let diagnostic = Diagnostic::new(code, message).help(help);
    if code == Code::Data { diagnostic.note(format!("in `{name}`")) } else { diagnostic }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: impl Read) -> Vec<(usize, String)> {
        let mut lines = Lines::new(source, "t", Watch::none());
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.number, String::from_utf8(line.text.to_vec()).unwrap()));
        }
        found
    }

    /// Gives one byte per call.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(1);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        let text = "one\n\nthree\nlast without end";
        let lines = all(text.as_bytes());
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[3], (4, "last without end".to_owned()));
        assert_eq!(all(Slow(text.as_bytes())), lines);
        assert_eq!(all("a\n".as_bytes()), [(1, "a".to_owned())]);
        assert_eq!(all("".as_bytes()), []);
    }

    #[test]
    fn lines_across_the_window_are_whole() {
        let line = "x".repeat(WINDOW - 3);
        let text = format!("{line}\n{line}\n{line}\n");
        let lines = all(text.as_bytes());
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|(_, text)| *text == line));
    }

    #[test]
    fn an_endless_line_is_refused_before_it_fills_memory() {
        let mut lines = Lines::new(io::repeat(b'7'), "t", Watch::none());
        let Err(error) = lines.next_line() else { panic!("accepted") };
        assert_eq!(error.code, Code::Data);
        assert!(error.message.contains("1 MiB"), "{error}");
    }
}
