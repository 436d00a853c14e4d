//! A zip archive whose members are stored as they are, with fixed dates: the same members give the
//! same bytes.
//!
//! In: members, one after the other. Out: an archive that any zip reader opens.

use std::io::{self, Write};

use flate2::Crc;

/// 1980-01-01, the first date that zip can write (day 1, month 1, year 0).
const DATE: u16 = (1 << 5) | 1;
/// Version 2.0 of the format suffices to read it.
const VERSION: u16 = 20;

/// An archive being written.
pub(super) struct StoredZip<'a> {
    out: &'a mut dyn Write,
    /// Bytes written so far.
    offset: u32,
    /// The directory that goes to the end.
    directory: Vec<u8>,
    members: u16,
}

/// What an archive of this kind cannot hold.
pub(super) fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "archives over 4 GiB are not supported; use a text file",
    )
}

impl<'a> StoredZip<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        StoredZip { out, offset: 0, directory: Vec::new(), members: 0 }
    }

    /// Adds a member; `name` must be short and ASCII.
    ///
    /// # Errors
    /// Those of writing, and an archive over 4 GiB.
    pub fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let size = u32::try_from(content.len()).map_err(|_| too_large())?;
        let name_length = u16::try_from(name.len()).map_err(|_| too_large())?;
        let mut crc = Crc::new();
        crc.update(content);

        // The fields that the local header and the directory share: version, flags, method
        // (stored), time, date, checksum, both sizes, lengths of name and extra field.
        let mut common = Vec::new();
        for short in [VERSION, 0, 0, 0, DATE] {
            common.extend(short.to_le_bytes());
        }
        for long in [crc.sum(), size, size] {
            common.extend(long.to_le_bytes());
        }
        for short in [name_length, 0] {
            common.extend(short.to_le_bytes());
        }

        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(&common);
        // Comment length, disk, internal and external attributes: nothing.
        self.directory.extend([0; 10]);
        self.directory.extend(self.offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.members += 1;

        let header = [&b"PK\x03\x04"[..], &common, name.as_bytes()].concat();
        self.put(&header)?;
        self.put(content)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let n = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        self.offset = self.offset.checked_add(n).ok_or_else(too_large)?;
        self.out.write_all(bytes)
    }

    /// Writes the directory.
    ///
    /// # Errors
    /// Those of writing, and an archive over 4 GiB.
    pub fn finish(mut self) -> io::Result<()> {
        let start = self.offset;
        let directory = std::mem::take(&mut self.directory);
        self.put(&directory)?;
        let mut end = b"PK\x05\x06".to_vec();
        for short in [0, 0, self.members, self.members] {
            end.extend(short.to_le_bytes());
        }
        end.extend((self.offset - start).to_le_bytes());
        end.extend(start.to_le_bytes());
        end.extend([0; 2]);
        self.put(&end)
    }
}
