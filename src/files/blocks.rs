//! The lines behind the head of a text file, read on all cores.
//!
//! In: [`Lines`] that have given out the head. Out: the parts that a [`Body`] reads from blocks of whole
//! lines, in the order of the file. One thread reads (and decompresses) blocks while all others parse
//! those that have come. No block knows its line numbers while it is parsed: one that cannot be read is
//! parsed again when all before it are done, by the same code, and then its diagnostic is exact.

use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use rayon::prelude::*;

use super::lines::{LONGEST_LINE, Line, Lines, Rest, error_at_end, read_failed, too_long};
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

    /// A part in which nothing is yet.
    fn part(&self) -> Self::Part;

    /// Makes a part as good as a new one; it keeps its memory, whose pages are the system's work.
    fn clear(part: &mut Self::Part);

    /// Reads all lines of a block, before which the file has `before` entries.
    ///
    /// # Errors
    /// [`Code::Data`] with the line.
    fn parse(&self, lines: &mut BlockLines<'_>, before: usize, part: &mut Self::Part)
    -> Result<()>;

    /// How many entries a part is read from.
    fn count(part: &Self::Part) -> usize;

    /// How many entries the file may have: `parse` refuses those beyond.
    fn most(&self) -> usize {
        usize::MAX
    }
}

/// How far the blocks are read.
#[derive(Clone, Copy)]
pub(super) struct Done<'a> {
    name: &'a str,
    /// Lines of the file.
    lines: usize,
    /// Entries of the body.
    pub count: usize,
}

/// What the reading thread hands on.
enum Piece {
    /// Bytes, how many of them are whole lines, and how far in the file they end.
    Lines(Vec<u8>, usize, u64),
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
    take: impl FnMut(&B::Part, usize),
) -> Result<Done<'a>> {
    read_in_blocks(lines, body, take, SMALL, BLOCK)
}

/// [`read_body`] by blocks of another size.
fn read_in_blocks<'a, R: Read + Send, B: Body>(
    lines: Lines<'a, R>,
    body: &B,
    take: impl FnMut(&B::Part, usize),
    small: usize,
    block: usize,
) -> Result<Done<'a>> {
    let Rest { name, mut text, mut source, number, watch } = lines.rest();
    let done = Done { name, lines: number, count: 0 };
    let mut reading = Reading { body, done, spare: Mutex::default(), take };
    let mut filled = text.len();
    text.resize(filled.max(small), 0);
    let how = fill(&mut source, &mut text, &mut filled);
    if !matches!(how, Filled::Full) {
        text.truncate(filled);
        let whole = whole_lines(&text, &how);
        reading.block(&text[..whole], None)?;
        watch.report(watch.position.load(Ordering::Relaxed));
        return match how {
            Filled::Failed(error) => Err(reading.done.failed(&error)),
            _ => Ok(reading.done),
        };
    }
    thread::scope(|scope| {
        let most = 2 * rayon::current_num_threads();
        // They end with this closure: a reader that is still busy then stops.
        let (sender, pieces) = mpsc::sync_channel(most);
        let (give_back, spare) = mpsc::channel();
        thread::Builder::new()
            .spawn_scoped(scope, move || cut(source, text, block, watch.position, &sender, &spare))
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
                [only] => vec![attempt(body, &reading.spare, only)],
                _ => batch.par_iter().map(|piece| attempt(body, &reading.spare, piece)).collect(),
            };
            for (piece, part) in batch.into_iter().zip(parsed) {
                let Done { name, lines, .. } = reading.done;
                match piece {
                    Piece::Lines(bytes, whole, position) => {
                        reading.block(&bytes[..whole], part)?;
                        watch.report(position);
                        // If nobody wants it, nothing is left to be read.
                        let _ = give_back.send(bytes);
                    }
                    Piece::Endless(text) => {
                        return Err(too_long(&Line { text: &text, number: lines + 1, name }));
                    }
                    Piece::Failed(error) => return Err(reading.done.failed(&error)),
                }
            }
        }
        Ok(reading.done)
    })
}

/// Parts that are read, to be used again.
type Spare<P> = Mutex<Vec<P>>;

/// Parses a block without knowing what is before it.
fn attempt<B: Body>(body: &B, spare: &Spare<B::Part>, piece: &Piece) -> Option<B::Part> {
    let Piece::Lines(bytes, whole, _) = piece else { return None };
    // Poisoned only by a panic, after which nothing is read.
    let kept = spare.lock().ok().and_then(|mut spare| spare.pop());
    let mut part = kept.unwrap_or_else(|| body.part());
    body.parse(&mut BlockLines::new(&bytes[..*whole], "", 0), 0, &mut part).ok().map(|()| part)
}

/// What has been read, and what is done with it.
struct Reading<'a, 'b, B: Body, F> {
    body: &'b B,
    done: Done<'a>,
    spare: Spare<B::Part>,
    take: F,
}

impl<B: Body, F: FnMut(&B::Part, usize)> Reading<'_, '_, B, F> {
    /// Takes the next block, parsed or not.
    fn block(&mut self, text: &[u8], parsed: Option<B::Part>) -> Result<()> {
        let Done { name, lines, count } = self.done;
        let fits = |part: &B::Part| count.saturating_add(B::count(part)) <= self.body.most();
        let mut part = match parsed.filter(fits) {
            Some(part) => part,
            None => {
                let mut part = self.body.part();
                self.body.parse(&mut BlockLines::new(text, name, lines), count, &mut part)?;
                part
            }
        };
        (self.take)(&part, lines);
        self.done.count += B::count(&part);
        self.done.lines += count_lines(text);
        B::clear(&mut part);
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(part);
        }
        Ok(())
    }
}

impl Done<'_> {
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
    block: usize,
    position: &AtomicU64,
    pieces: &SyncSender<Piece>,
    spare: &Receiver<Vec<u8>>,
) {
    loop {
        let mut bytes = spare.try_recv().unwrap_or_default();
        let mut filled = carried.len();
        if bytes.len() < filled + block {
            bytes.resize(filled + block, 0);
        }
        bytes[..filled].copy_from_slice(&carried);
        let how = fill(&mut source, &mut bytes, &mut filled);
        let whole = whole_lines(&bytes[..filled], &how);
        carried.clear();
        carried.extend_from_slice(&bytes[whole..filled]);
        let position = position.load(Ordering::Relaxed);
        if whole > 0 && pieces.send(Piece::Lines(bytes, whole, position)).is_err() {
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
    #[inline(always)]
    pub fn next_content_line(&mut self, comment: u8) -> Result<Option<Words<'a>>> {
        loop {
            // With the end of the line.
            if self.next - self.start > LONGEST_LINE + 1 {
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
    #[inline(always)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lines::Watch;
    use proptest::prelude::*;

    /// Lines of words; those with a `!` are wrong.
    struct Listed {
        most: usize,
    }

    impl Body for Listed {
        type Part = Vec<(usize, Vec<u8>)>;

        fn part(&self) -> Self::Part {
            Vec::new()
        }

        fn clear(part: &mut Self::Part) {
            part.clear();
        }

        fn parse(
            &self,
            lines: &mut BlockLines<'_>,
            before: usize,
            part: &mut Self::Part,
        ) -> Result<()> {
            while let Some(mut words) = lines.next_content_line(b'%')? {
                if before + part.len() == self.most {
                    return Err(lines.line().error("too many", ""));
                }
                let word = words.word();
                if word.contains(&b'!') {
                    return Err(lines.line().error("wrong", ""));
                }
                if !lines.finish(words) {
                    return Err(lines.line().error("trailing", ""));
                }
                part.push((lines.number, word.to_vec()));
            }
            Ok(())
        }

        fn count(part: &Self::Part) -> usize {
            part.len()
        }

        fn most(&self) -> usize {
            self.most
        }
    }

    /// Gives some bytes at a time, and fails behind them if it is asked to.
    struct Slow<'a>(&'a [u8], usize, Option<io::ErrorKind>);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(self.1).min(buffer.len());
            if let (0, Some(kind)) = (n, self.2) {
                return Err(kind.into());
            }
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    type Outcome = std::result::Result<(Vec<(usize, String)>, usize), String>;

    /// Behind one line as the head.
    fn read_all(source: Slow<'_>, most: usize, small: usize, block: usize) -> Outcome {
        let mut lines = Lines::new(source, "t", Watch::none());
        lines.next_line().map_err(|e| e.to_string())?;
        let mut all = Vec::new();
        let take = |part: &Vec<(usize, Vec<u8>)>, before: usize| {
            let shown = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
            all.extend(part.iter().map(|(number, word)| (before + number, shown(word))));
        };
        let done = read_in_blocks(lines, &Listed { most }, take, small, block);
        let done = done.map_err(|e| format!("{e:?}"))?;
        Ok((all, done.lines))
    }

    fn one_by_one(text: &str, most: usize) -> Outcome {
        let mut all = Vec::new();
        let mut lines = 0;
        for line in text.split_inclusive('\n') {
            lines += 1;
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let failed = |message: &str| {
                let line = line.strip_suffix('\n').unwrap_or(line);
                let line = Line { text: line.as_bytes(), number: lines, name: "t" };
                Err(format!("{:?}", line.error(message, "")))
            };
            match words.as_slice() {
                _ if lines == 1 => {}
                [] => {}
                [first, ..] if first.starts_with('%') => {}
                _ if all.len() == most => return failed("too many"),
                [first, ..] if first.contains('!') => return failed("wrong"),
                [first] => all.push((lines, first.to_string())),
                _ => return failed("trailing"),
            }
        }
        Ok((all, lines))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn blocks_give_what_lines_one_by_one_do(
            lines in prop::collection::vec("[ \t]?(%[a!\u{e9}]{0,9}|[a-z\u{e9}0-9]{0,12}( [b ]{0,3})?\r?)", 1..60),
            wrong in prop::collection::vec(0_usize..120, 0..3),
            ended: bool,
            most in prop::sample::select(vec![usize::MAX, 20, 5]),
            at_once in 1_usize..40,
            block in 1_usize..60,
        ) {
            let mut lines = lines;
            for at in wrong {
                if let Some(line) = lines.get_mut(at) {
                    *line = "wrong!".to_string();
                }
            }
            let text = lines.join("\n") + if ended { "\n" } else { "" };
            let expected = one_by_one(&text, most);
            for small in [0, 1 << 10] {
                let source = Slow(text.as_bytes(), at_once, None);
                prop_assert_eq!(&read_all(source, most, small, block), &expected, "{:?}", text);
            }
        }

        #[test]
        fn what_comes_before_a_failure_is_looked_at_first(
            lines in prop::collection::vec("[a-z]{0,9}", 1..40),
            wrong in 0_usize..80,
            at_once in 1_usize..40,
            block in 1_usize..60,
        ) {
            let mut lines = lines;
            let is_wrong = wrong > 0 && wrong < lines.len();
            if is_wrong {
                lines[wrong] = "wrong!".to_string();
            }
            let text = lines.join("\n") + "\nhalf a li";
            for small in [0, 1 << 10] {
                let source = Slow(text.as_bytes(), at_once, Some(io::ErrorKind::UnexpectedEof));
                let error = read_all(source, usize::MAX, small, block).unwrap_err();
                let said = match is_wrong {
                    true => format!("first_line: {}", wrong + 1),
                    false => format!("after line {} of the text", lines.len()),
                };
                prop_assert!(error.contains(&said), "{said} is not in {error}");
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_wherever_it_ends() {
        for (length, small) in [(LONGEST_LINE + 1, 0), (LONGEST_LINE + 1, 1 << 22), (5 << 20, 0)] {
            let text = format!("head\na\n{}\nb\n", "x".repeat(length));
            let error =
                read_all(Slow(text.as_bytes(), 1 << 16, None), 9, small, BLOCK).unwrap_err();
            assert!(error.contains("1 MiB") && error.contains("first_line: 3"), "{error}");
        }
        let text = format!("head\na\n{}\nb\n", "x".repeat(LONGEST_LINE));
        assert!(read_all(Slow(text.as_bytes(), 1 << 16, None), 9, 0, BLOCK).is_ok());
    }

    #[test]
    fn lines_are_counted_with_one_that_has_no_end() {
        assert_eq!([count_lines(b""), count_lines(b"a"), count_lines(b"a\nb\n")], [0, 1, 2]);
        assert_eq!(count_lines(&[b'\n'; 1000]), 1000);
    }
}
