//! The lines behind the head of a text file, read on all cores.
//!
//! In: [`Lines`] that have given out the head. Out: the parts that a [`Body`] reads from blocks of whole
//! lines, in the order of the file. One thread reads (and decompresses) blocks while all others parse
//! those that have come. No block knows its line numbers while it is parsed: one that cannot be read is
//! parsed again when all before it are done, by the same code, and then its diagnostic is exact.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use rayon::prelude::*;

use super::lines::{LONGEST_LINE, Line, Lines, error_at_end, read_failed, too_long};
use super::words::Words;
use crate::diagnostic::{Code, Diagnostic, Result};

/// Bytes of a block: large beside what it costs to hand it on, small beside the caches.
const BLOCK: usize = 1 << 20;
/// What is no larger is read without further threads.
const SMALL: usize = 1 << 17;

/// How the lines of a file are read.
pub(super) trait Body: Sync {
    /// What is read from a block.
    type Part: Send;

    /// Reads all lines of a block, before which the file has `before` entries.
    ///
    /// # Errors
    /// [`Code::Data`] with the line.
    fn parse(&self, lines: &mut BlockLines<'_>, before: usize) -> Result<Self::Part>;

    /// How many entries a part is read from.
    fn count(part: &Self::Part) -> usize;

    /// How many entries the file may have: `parse` refuses those beyond.
    fn most(&self) -> usize {
        usize::MAX
    }
}

/// How far the blocks are read.
pub(super) struct Done<'a> {
    name: &'a str,
    /// Lines of the file.
    lines: usize,
    /// Entries of the body.
    pub count: usize,
}

/// What the reading thread hands on.
enum Piece {
    /// Bytes, and how many of them are whole lines.
    Lines(Vec<u8>, usize),
    /// A line without an end.
    Endless(Vec<u8>),
    Failed(io::Error),
}

/// How filling a buffer ended: it is full, or the file is at its end.
enum Filled {
    Full,
    End,
    Failed(io::Error),
}

/// Reads all that is left of a file; `take` gets the parts in order, with the number of lines before each.
///
/// # Errors
/// Those of the body, for the first line that is wrong; those of reading.
pub(super) fn read_body<'a, R: Read + Send, B: Body>(
    lines: Lines<'a, R>,
    body: &B,
    mut take: impl FnMut(B::Part, usize),
) -> Result<Done<'a>> {
    let (mut source, mut text, mut done, watch) = {
        let rest = lines.rest();
        let done = Done { name: rest.name, lines: rest.number, count: 0 };
        (rest.source, rest.text, done, rest.watch)
    };
    let mut filled = text.len();
    text.resize(filled.max(SMALL), 0);
    let how = fill(&mut source, &mut text, &mut filled);
    if !matches!(how, Filled::Full) {
        text.truncate(filled);
        let whole = whole_lines(&text, &how);
        done.block(body, &text[..whole], None, &mut take)?;
        watch();
        return match how {
            Filled::Failed(error) => Err(done.failed(&error)),
            _ => Ok(done),
        };
    }
    thread::scope(|scope| {
        let most = 2 * rayon::current_num_threads();
        // They end with this closure: a reader that is still busy then stops.
        let (sender, pieces) = mpsc::sync_channel(most);
        let (give_back, spare) = mpsc::channel();
        thread::Builder::new()
            .spawn_scoped(scope, move || cut(source, text, &sender, &spare))
            .map_err(|error| {
                Diagnostic::new(Code::Io, format!("cannot start a thread: {error}"))
            })?;
        while let Ok(first) = pieces.recv() {
            let mut batch = vec![first];
            while batch.len() < most
                && let Ok(next) = pieces.try_recv()
            {
                batch.push(next);
            }
            let parsed: Vec<Option<B::Part>> = match batch.as_slice() {
                [only] => vec![attempt(body, only)],
                _ => batch.par_iter().map(|piece| attempt(body, piece)).collect(),
            };
            for (piece, part) in batch.into_iter().zip(parsed) {
                match piece {
                    Piece::Lines(bytes, whole) => {
                        done.block(body, &bytes[..whole], part, &mut take)?;
                        // If nobody wants it, nothing is left to be read.
                        let _ = give_back.send(bytes);
                    }
                    Piece::Endless(text) => {
                        let line = Line { text: &text, number: done.lines + 1, name: done.name };
                        return Err(too_long(&line));
                    }
                    Piece::Failed(error) => return Err(done.failed(&error)),
                }
            }
            watch();
        }
        Ok(done)
    })
}

/// Parses a block without knowing what is before it.
fn attempt<B: Body>(body: &B, piece: &Piece) -> Option<B::Part> {
    match piece {
        Piece::Lines(bytes, whole) => {
            body.parse(&mut BlockLines::new(&bytes[..*whole], "", 0), 0).ok()
        }
        _ => None,
    }
}

impl<'a> Done<'a> {
    /// Takes the next block, parsed or not.
    fn block<B: Body>(
        &mut self,
        body: &B,
        text: &[u8],
        parsed: Option<B::Part>,
        take: &mut impl FnMut(B::Part, usize),
    ) -> Result<()> {
        let fits = |part: &B::Part| self.count.saturating_add(B::count(part)) <= body.most();
        let part = match parsed.filter(fits) {
            Some(part) => part,
            None => {
                let mut lines = BlockLines::new(text, self.name, self.lines);
                body.parse(&mut lines, self.count)?
            }
        };
        self.count += B::count(&part);
        take(part, self.lines);
        self.lines += count_lines(text);
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Box<Diagnostic> {
        read_failed(self.name, error).note(format!("after line {} of the text", self.lines))
    }

    /// A [`Code::Data`] diagnostic about the end of the file.
    pub fn error_at_end(&self, message: impl Into<String>) -> Box<Diagnostic> {
        error_at_end(self.name, self.lines, message)
    }
}

/// The number of lines, the last of which may have no end.
fn count_lines(text: &[u8]) -> usize {
    // Bytes are added in bytes, as many as cannot overflow: that takes vectors of them.
    let ends = |part: &[u8]| part.iter().map(|&b| u8::from(b == b'\n')).sum::<u8>();
    let ends: usize = text.chunks(255).map(|part| usize::from(ends(part))).sum();
    ends + usize::from(text.last().is_some_and(|&b| b != b'\n'))
}

/// How much of a text that was read is whole lines.
fn whole_lines(text: &[u8], how: &Filled) -> usize {
    match how {
        Filled::End => text.len(),
        _ => text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1),
    }
}

/// Reads until the buffer is full.
fn fill(source: &mut impl Read, buffer: &mut [u8], filled: &mut usize) -> Filled {
    while *filled < buffer.len() {
        match source.read(&mut buffer[*filled..]) {
            Ok(0) => return Filled::End,
            Ok(n) => *filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Filled::Failed(error),
        }
    }
    Filled::Full
}

/// Cuts a text into blocks of whole lines, until it ends or nobody wants more.
fn cut(
    mut source: impl Read,
    mut carried: Vec<u8>,
    pieces: &SyncSender<Piece>,
    spare: &Receiver<Vec<u8>>,
) {
    loop {
        let mut bytes = spare.try_recv().unwrap_or_default();
        let mut filled = carried.len();
        if bytes.len() < filled + BLOCK {
            bytes.resize(filled + BLOCK, 0);
        }
        bytes[..filled].copy_from_slice(&carried);
        let how = fill(&mut source, &mut bytes, &mut filled);
        let whole = whole_lines(&bytes[..filled], &how);
        carried.clear();
        carried.extend_from_slice(&bytes[whole..filled]);
        if whole > 0 && pieces.send(Piece::Lines(bytes, whole)).is_err() {
            return;
        }
        let last = match how {
            Filled::End => return,
            Filled::Failed(error) => Piece::Failed(error),
            Filled::Full if carried.len() > LONGEST_LINE => Piece::Endless(carried),
            Filled::Full => continue,
        };
        // Who does not want it has an error already.
        let _ = pieces.send(last);
        return;
    }
}

/// The lines of a block. A line is read as [`Words`], which end with it, and then finished.
pub(super) struct BlockLines<'a> {
    text: &'a [u8],
    name: &'a str,
    /// Where the line begins that was given out last.
    start: usize,
    /// Where the next one begins.
    next: usize,
    /// Lines before the block.
    before: usize,
    /// Number of the line that was given out last, in the block.
    pub number: usize,
}

impl<'a> BlockLines<'a> {
    /// The lines of a text, behind so many.
    pub fn new(text: &'a [u8], name: &'a str, before: usize) -> Self {
        BlockLines { text, name, start: 0, next: 0, before, number: 0 }
    }

    /// The next line that is neither blank nor a comment, which begins with `comment`. The one before is
    /// finished.
    ///
    /// # Errors
    /// [`Code::Data`] if a line is too long to be one.
    #[inline]
    pub fn next_content_line(&mut self, comment: u8) -> Result<Option<Words<'a>>> {
        loop {
            if self.next - self.start > LONGEST_LINE {
                return Err(too_long(&self.line()));
            }
            if self.next >= self.text.len() {
                return Ok(None);
            }
            self.start = self.next;
            self.number += 1;
            let rest = &self.text[self.start..];
            let mut words = Words::new(rest);
            if words.at_end() {
                self.finish(words);
            } else if words.begin_with(comment) {
                let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                self.next = self.start + length + 1;
            } else {
                return Ok(Some(words));
            }
        }
    }

    /// Goes on behind the line whose words are read; false if some are left.
    #[inline]
    pub fn finish(&mut self, mut words: Words<'a>) -> bool {
        let at_end = words.at_end();
        self.next = self.text.len() - words.left() + 1;
        at_end
    }

    /// The line that was given out last.
    pub fn line(&self) -> Line<'a> {
        let rest = &self.text[self.start..];
        let length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        Line { text: &rest[..length], number: self.before + self.number, name: self.name }
    }

    /// About how many lines a block has that begins with this one.
    pub fn expected(&self) -> usize {
        let line = self.line().text.len() + 1;
        let lines = (self.text.len() - self.start) / line;
        lines + lines / 8 + 1
    }
}
