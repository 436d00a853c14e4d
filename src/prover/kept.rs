//! Questions that were decided in earlier runs of the same program.
//!
//! ```text
//! file := 'siskin decided' IDENTITY '\n' checksum digest*
//! ```
//! A question is known by 128 bits of its formulas, whose lowest one says what it was found to be: 1 if unsatisfiable.
//! Digests are sorted. The identity is that of the program: another build starts anew, as it may ask the same and mean
//! something else. Answers that depended on the limit of resources are not kept.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use rustc_hash::FxHashMap;

use crate::temporary;

/// Beyond so many, what was decided longest ago goes: all of the runs before.
const MOST: usize = 50_000;

/// Bytes of a digest.
const WIDTH: usize = 16;

/// The file in use, if any is.
static IN_USE: Mutex<Option<Kept>> = Mutex::new(None);

struct Kept {
    path: PathBuf,
    header: Vec<u8>,
    /// Sorted digests.
    before: Vec<u8>,
    /// What was decided since.
    new: FxHashMap<u128, bool>,
}

/// What is decided from now on is remembered in a file of this folder, and what it remembers is not decided again.
/// Without effect if the program cannot tell which build it is.
pub fn keep_in(folder: &Path) {
    let Some(identity) = identity() else { return };
    let path = folder.join("decided");
    let header = format!("siskin decided {identity}\n").into_bytes();
    let before = read(&path, &header);
    let kept = Kept { path, header, before, new: FxHashMap::default() };
    *in_use() = Some(kept);
}

/// Writes what was decided since [`keep_in`].
///
/// # Errors
/// If the folder cannot be written.
pub fn save() -> io::Result<()> {
    match in_use().take() {
        Some(kept) if !kept.new.is_empty() => kept.write(),
        _ => Ok(()),
    }
}

fn in_use() -> MutexGuard<'static, Option<Kept>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something is remembered from run to run.
pub(super) fn is_in_use() -> bool {
    with(|_| ()).is_some()
}

/// Whether a question is unsatisfiable, if that is remembered.
pub(super) fn is_unsat(question: u128) -> Option<bool> {
    with(|kept| kept.find(question))?
}

/// Remembers whether a question is unsatisfiable, if it does not yet.
pub(super) fn keep(question: u128, unsat: bool) {
    with(|kept| {
        if kept.find(question).is_none() {
            kept.new.insert(question & !1, unsat);
        }
    });
}

fn with<T>(what: impl FnOnce(&mut Kept) -> T) -> Option<T> {
    in_use().as_mut().map(what)
}

/// 128 bits of something; equal in all runs of a program.
pub(super) fn digest(of: &impl Hash) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        of.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

impl Kept {
    fn find(&self, question: u128) -> Option<bool> {
        let question = question & !1;
        if let Some(unsat) = self.new.get(&question) {
            return Some(*unsat);
        }
        let digests = self.before.as_chunks::<WIDTH>().0;
        let at = digests.partition_point(|d| u128::from_le_bytes(*d) < question);
        let found = u128::from_le_bytes(*digests.get(at)?);
        (found & !1 == question).then_some(found & 1 == 1)
    }

    /// Together with what others have written meanwhile.
    fn write(mut self) -> io::Result<()> {
        let before = read(&self.path, &self.header);
        let kept = before.as_chunks::<WIDTH>().0.iter().map(|d| u128::from_le_bytes(*d));
        if kept.len() + self.new.len() <= MOST {
            for digest in kept {
                self.new.entry(digest & !1).or_insert(digest & 1 == 1);
            }
        }
        let mut all: Vec<u128> = self.new.iter().map(|(d, unsat)| d | u128::from(*unsat)).collect();
        all.sort_unstable();
        let digests: Vec<u8> = all.iter().flat_map(|d| d.to_le_bytes()).collect();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        temporary::replace(&self.path, &[&self.header, &checksum(&digests), &digests])
    }
}

/// The digests of a file of this program; none if it is damaged.
fn read(path: &Path, header: &[u8]) -> Vec<u8> {
    let Ok(mut bytes) = std::fs::read(path) else { return Vec::new() };
    let begins = header.len() + WIDTH;
    let whole = bytes.len() >= begins
        && bytes.starts_with(header)
        && (bytes.len() - begins).is_multiple_of(WIDTH)
        && bytes[header.len()..begins] == checksum(&bytes[begins..]);
    match whole {
        true => bytes.split_off(begins),
        false => Vec::new(),
    }
}

fn checksum(digests: &[u8]) -> [u8; WIDTH] {
    digest(&digests).to_le_bytes()
}

/// Which build of the program this is.
fn identity() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let made = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), made.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, identity: &str) -> Kept {
        let header = format!("siskin decided {identity}\n").into_bytes();
        let before = read(path, &header);
        Kept { path: path.to_path_buf(), header, before, new: FxHashMap::default() }
    }

    #[test]
    fn what_was_decided_is_known_to_the_same_program_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not yet there").join("decided");
        let questions: Vec<u128> = (0..1000_u32).map(|k| digest(&k)).collect();
        let (some, others) = questions.split_at(400);
        // Two programs at once: neither loses what the other has found.
        let (mut first, mut second) = (open(&path, "a"), open(&path, "a"));
        for (k, question) in some.iter().enumerate() {
            let one = if k % 2 == 0 { &mut first } else { &mut second };
            one.new.insert(question & !1, k % 3 == 0);
        }
        first.write().unwrap();
        second.write().unwrap();
        let again = open(&path, "a");
        for (k, question) in some.iter().enumerate() {
            assert_eq!(again.find(*question), Some(k % 3 == 0), "question {k}");
        }
        assert!(others.iter().all(|question| again.find(*question).is_none()));
        assert!(some.iter().all(|question| open(&path, "b").find(*question).is_none()));
        assert!(open(&path, "").before.is_empty());
    }

    #[test]
    fn a_damaged_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decided");
        let mut kept = open(&path, "a");
        kept.new.extend((0..50_u32).map(|k| (digest(&k) & !1, true)));
        kept.write().unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(!open(&path, "a").before.is_empty());
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert!(open(&path, "a").before.is_empty(), "byte {at} differs");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(open(&path, "a").before.is_empty(), "{at} bytes");
        }
    }

    #[test]
    fn too_much_makes_room_for_what_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decided");
        for part in 0..3_u32 {
            let mut kept = open(&path, "a");
            let new = (0..MOST as u32 / 2).map(|k| (digest(&(part, k)) & !1, false));
            kept.new.extend(new);
            kept.write().unwrap();
        }
        let kept = open(&path, "a");
        assert_eq!(kept.before.len(), MOST / 2 * WIDTH);
        assert_eq!(kept.find(digest(&(2_u32, 7_u32))), Some(false));
        assert_eq!(kept.find(digest(&(1_u32, 7_u32))), None);
    }
}
