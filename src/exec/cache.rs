//! Compiled kernels by content hash.
//!
//! An entry is two files in one folder: `KEY.so` (or what the system calls a library) and `KEY.txt`,
//! which holds a checksum of the library, and the whole identity: compiler, flags, processor and
//! text. A hit compares the identity byte by byte, so equal hashes of different texts do no harm, and
//! the checksum, so a damaged library is never loaded. Both files are written beside their place
//! and renamed: processes that share the folder never see half of one.
//!
//! The folder is bounded: beyond [`MAX_ENTRIES`] the entries that were used longest ago go. It may be
//! deleted at any time.

use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::FxHasher;

use crate::temporary;

/// Entries that are kept, of some hundred kilobytes each.
pub const MAX_ENTRIES: usize = 256;

/// A folder of compiled kernels. Without a folder nothing is kept.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// `$SISKIN_CACHE`, or `siskin` in the user's cache directory.
    pub fn of_user() -> Cache {
        let stated = std::env::var_os("SISKIN_CACHE").filter(|p| !p.is_empty()).map(PathBuf::from);
        Cache { folder: stated.or_else(|| Some(dirs::cache_dir()?.join("siskin"))) }
    }

    pub fn at(folder: &Path) -> Cache {
        Cache { folder: Some(folder.to_path_buf()) }
    }

    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The library for `identity`, if it is there and whole.
    pub fn get(&self, identity: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        let key = key(identity);
        let note = fs::read_to_string(folder.join(note_name(&key))).ok()?;
        let (sum, of) = note.split_once('\n')?;
        if of != identity {
            return None;
        }
        let path = folder.join(library_name(&key));
        let bytes = fs::read(&path).ok()?;
        if checksum(&bytes) != sum {
            tracing::warn!("`{}` is damaged and will be built again", path.display());
            return None;
        }
        // The time of use decides what is dropped; a folder that cannot be written keeps its times.
        if let Ok(file) = fs::File::options().append(true).open(folder.join(note_name(&key))) {
            let _ = file.set_modified(SystemTime::now());
        }
        absolute(&path).ok()
    }

    /// Keeps a copy of the library at `built`, and returns its place.
    ///
    /// # Errors
    /// If there is no folder or it cannot be written.
    pub fn put(&self, identity: &str, built: &Path) -> io::Result<PathBuf> {
        let folder = self.folder.as_ref().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, "no cache directory; set SISKIN_CACHE")
        })?;
        fs::create_dir_all(folder)?;
        let key = key(identity);
        let bytes = fs::read(built)?;
        let path = folder.join(library_name(&key));
        // The note last: with it the entry counts.
        temporary::replace(&path, &[&bytes])?;
        let note = format!("{}\n{identity}", checksum(&bytes));
        temporary::replace(&folder.join(note_name(&key)), &[note.as_bytes()])?;
        self.drop_oldest(folder);
        absolute(&path)
    }

    /// Best effort: another process may be doing the same.
    fn drop_oldest(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut notes: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "txt"))
            .filter_map(|p| Some((fs::metadata(&p).ok()?.modified().ok()?, p)))
            .collect();
        if notes.len() <= MAX_ENTRIES {
            return;
        }
        notes.sort();
        for (_, note) in &notes[..notes.len() - MAX_ENTRIES] {
            let _ = fs::remove_file(note);
            let _ = fs::remove_file(note.with_extension(std::env::consts::DLL_EXTENSION));
        }
    }
}

/// The loader searches system folders for a name without a folder.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

fn library_name(key: &str) -> String {
    format!("{key}.{}", std::env::consts::DLL_EXTENSION)
}

fn note_name(key: &str) -> String {
    format!("{key}.txt")
}

/// Two differently seeded 64-bit hashes: readable, and collisions are checked for anyway.
fn key(identity: &str) -> String {
    let hash = |seed: u64| {
        let mut h = FxHasher::default();
        h.write_u64(seed);
        h.write(identity.as_bytes());
        h.finish()
    };
    format!("{:016x}{:016x}", hash(1), hash(2))
}

fn checksum(bytes: &[u8]) -> String {
    let mut h = FxHasher::default();
    h.write(bytes);
    format!("{} bytes, {:016x}", bytes.len(), h.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_used_longest_ago_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let built = folder.path().join("built");
        fs::write(&built, b"library").unwrap();
        for k in 0..MAX_ENTRIES {
            cache.put(&format!("kernel {k}"), &built).unwrap();
        }
        // The first was used again; the second is now the oldest.
        let past = SystemTime::now() - std::time::Duration::from_secs(60);
        let note = folder.path().join(note_name(&key("kernel 1")));
        fs::File::options().append(true).open(note).unwrap().set_modified(past).unwrap();
        assert!(cache.get("kernel 0").is_some());
        cache.put("one more", &built).unwrap();
        assert!(cache.get("kernel 0").is_some() && cache.get("one more").is_some());
        assert!(cache.get("kernel 1").is_none());
    }

    #[test]
    fn an_entry_of_another_identity_is_no_hit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let built = folder.path().join("built");
        fs::write(&built, b"library").unwrap();
        let path = cache.put("a", &built).unwrap();
        assert_eq!(cache.get("a"), Some(path));
        // As if the texts had the same hash.
        let (a, b) = (key("a"), key("b"));
        for name in [note_name, library_name] {
            fs::copy(folder.path().join(name(&a)), folder.path().join(name(&b))).unwrap();
        }
        assert_eq!(cache.get("b"), None);
    }
}
