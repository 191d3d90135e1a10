//! The content store of a slot: one file that is only appended to, with each content once, compressed. What a kill has
//! left half written is cut off when the file is opened again. `pack_index` knows where each content is.

use super::ids::ContentId;
use super::pack_index::{PackIndex, Place};
use super::private;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Begins each file; the last byte is the version of the format. Eight bytes that differ in each file follow.
const MAGIC: [u8; 8] = *b"ratpack\x01";
const FILE_HEADER: usize = 16;
const FILE_HEADER_LEN: u64 = FILE_HEADER as u64;

/// The header of a record: stored length, length, id, checksum of these.
const HEADER: usize = 44;
const HEADER_LEN: u64 = HEADER as u64;

/// The bit of the stored length that says that the content is compressed.
const IS_COMPRESSED: u32 = 1 << 31;

/// How many bytes are collected before they are written.
const FLUSH_ABOVE: usize = 1 << 20;

/// A content ready to be appended: only the lock for that is needed then.
#[derive(Debug)]
pub(super) struct Record {
    id: ContentId,
    bytes: Vec<u8>,
    length: u32,
    stored: u32,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Pack {
    folder: PathBuf,
    file: File,
    /// How much of the file has been written, and is whole.
    written: u64,
    /// What follows, and the ids in it.
    pending: Vec<u8>,
    pending_ids: Vec<ContentId>,
    index: PackIndex,
    is_read_only: bool,
}

impl Record {
    /// Compresses a content.
    ///
    /// # Errors
    /// If it has 2 GiB or more.
    pub(super) fn new(id: ContentId, content: &[u8]) -> io::Result<Self> {
        let too_large = |_| io::Error::other("a content is too large");
        let length = u32::try_from(content.len()).map_err(too_large)?;
        if length >= IS_COMPRESSED {
            return Err(io::Error::other("a content is too large"));
        }
        let most = lz4_flex::block::get_maximum_output_size(content.len());
        let mut bytes = vec![0; HEADER + most];
        let compressed = lz4_flex::block::compress_into(content, &mut bytes[HEADER..]);
        let mut stored = match compressed {
            Ok(stored) if stored < content.len() => stored,
            _ => {
                bytes[HEADER..][..content.len()].copy_from_slice(content);
                content.len()
            }
        };
        bytes.truncate(HEADER + stored);
        if stored < content.len() {
            stored |= IS_COMPRESSED as usize;
        }
        let stored = u32::try_from(stored).map_err(too_large)?;
        bytes[..4].copy_from_slice(&stored.to_le_bytes());
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        bytes[8..40].copy_from_slice(id.as_bytes());
        let checksum = checksum(&bytes[..40]);
        bytes[40..HEADER].copy_from_slice(&checksum);
        Ok(Self { id, bytes, length, stored })
    }
}

impl Pack {
    /// Opens the pack in the folder of a slot, or creates it. What is not whole at its end is cut off.
    ///
    /// # Errors
    /// If it cannot be read or written, or is of another version.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join("pack");
        let file = private::open_file(&path)?;
        if file.metadata()?.len() < FILE_HEADER_LEN {
            file.set_len(0)?;
            file.write_all_at(&new_header(), 0)?;
        }
        let pack = Self::of_file(folder, file, false)?;
        let length = pack.file.metadata()?.len();
        if length > pack.written {
            let cut = length - pack.written;
            tracing::warn!(path = %path.display(), cut, "bytes were cut off the end of a pack");
            pack.file.set_len(pack.written)?;
        }
        Ok(pack)
    }

    /// Opens the pack of another slot, which another program may be writing.
    ///
    /// # Errors
    /// If it cannot be read, or is of another version.
    pub(super) fn open_read_only(folder: &Path) -> io::Result<Self> {
        Self::of_file(folder, File::open(folder.join("pack"))?, true)
    }

    fn of_file(folder: &Path, file: File, is_read_only: bool) -> io::Result<Self> {
        let mut header = [0; FILE_HEADER];
        file.read_exact_at(&mut header, 0)?;
        if header[..8] != MAGIC {
            return Err(io::Error::other("they are of another version of rat.nvim"));
        }
        let generation = u64::from_le_bytes(*header.last_chunk().unwrap_or(&[0; 8]));
        let length = file.metadata()?.len();
        let index = PackIndex::load(folder, generation).filter(|index| index.covered <= length);
        let index = index.unwrap_or_else(|| PackIndex::new(generation, FILE_HEADER_LEN));
        let written = index.covered;
        let folder = folder.to_owned();
        let (pending, pending_ids) = (Vec::new(), Vec::new());
        let mut pack = Self { folder, file, written, pending, pending_ids, index, is_read_only };
        pack.scan(length)?;
        Ok(pack)
    }

    /// Adds the records that the index does not know yet. As they may not have reached the disk when the machine
    /// stopped, their contents are checked, too.
    fn scan(&mut self, length: u64) -> io::Result<()> {
        let mut header = [0; HEADER];
        while self.written + HEADER_LEN <= length {
            self.file.read_exact_at(&mut header, self.written)?;
            let Some((id, place)) = decode(&header, self.written) else { break };
            let end = place.offset + u64::from(place.stored & !IS_COMPRESSED);
            if end > length || self.read_place(place, &id)?.is_none() {
                break;
            }
            self.index.places.insert(id, place);
            self.written = end;
        }
        Ok(())
    }

    /// Whether it has a content.
    pub(super) fn has(&self, id: &ContentId) -> bool {
        self.index.places.contains_key(id)
    }

    /// Its length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// How many of its bytes hold the contents that `is_live` is true for.
    pub(super) fn live_length(&self, live: &HashSet<ContentId>) -> u64 {
        let places = self.index.places.iter().filter(|(id, _)| live.contains(id));
        places.map(|(_, place)| HEADER_LEN + u64::from(place.stored & !IS_COMPRESSED)).sum()
    }

    /// Appends a content unless it has it.
    ///
    /// # Errors
    /// If it could not be written, nor what was appended since the last [`Self::flush`]. All that is lost, and what was
    /// written before is whole.
    pub(super) fn append(&mut self, record: &Record) -> io::Result<()> {
        if self.has(&record.id) {
            return Ok(());
        }
        let offset = self.length() + HEADER_LEN;
        let place = Place { offset, stored: record.stored, length: record.length };
        self.index.places.insert(record.id, place);
        self.pending.extend_from_slice(&record.bytes);
        self.pending_ids.push(record.id);
        if self.pending.len() > FLUSH_ABOVE { self.flush() } else { Ok(()) }
    }

    /// Writes what was appended.
    ///
    /// # Errors
    /// As of [`Self::append`].
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all_at(&self.pending, self.written);
        match written {
            Ok(()) => self.written += self.pending.len() as u64,
            Err(_) => {
                for id in &self.pending_ids {
                    self.index.places.remove(id);
                }
                if let Err(error) = self.file.set_len(self.written) {
                    tracing::error!(%error, "half a content stays at the end of a pack");
                }
            }
        }
        self.pending.clear();
        self.pending_ids.clear();
        written
    }

    /// Waits until everything is on the disk, then saves where it is, so that opening costs little.
    ///
    /// # Errors
    /// As of [`Self::append`].
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        if self.is_read_only || self.index.covered == self.written {
            return Ok(());
        }
        self.file.sync_data()
    }

    /// Saves where each content is. Call [`Self::sync`] before.
    ///
    /// # Errors
    /// If the file cannot be written. It is only missed when the pack is opened again.
    pub(super) fn save_index(&mut self) -> io::Result<()> {
        if self.is_read_only || self.index.covered == self.written {
            return Ok(());
        }
        self.index.covered = self.written;
        self.index.save(&self.folder)
    }

    /// Reads a content. `None` if it does not have it, or it is damaged.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(&mut self, id: &ContentId) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.index.places.get(id).copied() else { return Ok(None) };
        self.flush()?;
        let content = self.read_place(place, id)?;
        if content.is_none() {
            tracing::error!(?id, folder = %self.folder.display(), "a content is damaged");
            // It will be stored anew if a file has it.
            self.index.places.remove(id);
        }
        Ok(content)
    }

    fn read_place(&self, place: Place, id: &ContentId) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; (place.stored & !IS_COMPRESSED) as usize];
        self.file.read_exact_at(&mut bytes, place.offset)?;
        if place.stored & IS_COMPRESSED != 0 {
            match lz4_flex::block::decompress(&bytes, place.length as usize) {
                Ok(content) => bytes = content,
                Err(_) => return Ok(None),
            }
        }
        Ok((ContentId::of(&bytes) == *id).then_some(bytes))
    }

    /// Rewrites the file without the contents that are not `live`. The old one is replaced when the new one is whole.
    ///
    /// # Errors
    /// If the new file could not be written. The old one is still there.
    pub(super) fn compact(&mut self, live: &HashSet<ContentId>) -> io::Result<()> {
        self.flush()?;
        let path = self.folder.join("pack.new");
        let file = private::open_file(&path)?;
        file.set_len(0)?;
        let copied = self.copy_to(&file, live);
        let replaced = copied.and_then(|index| {
            file.sync_data()?;
            fs::rename(&path, self.folder.join("pack"))?;
            Ok(index)
        });
        match replaced {
            Ok(index) => {
                self.written = file.metadata()?.len();
                (self.file, self.index) = (file, index);
                self.save_index()
            }
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    fn copy_to(&self, file: &File, live: &HashSet<ContentId>) -> io::Result<PackIndex> {
        let header = new_header();
        file.write_all_at(&header, 0)?;
        let generation = u64::from_le_bytes(*header.last_chunk().unwrap_or(&[0; 8]));
        let mut index = PackIndex::new(generation, FILE_HEADER_LEN);
        let mut kept: Vec<(ContentId, Place)> =
            self.index.places.iter().map(|(id, place)| (*id, *place)).collect();
        kept.retain(|(id, _)| live.contains(id));
        kept.sort_unstable_by_key(|(_, place)| place.offset);
        let (mut end, mut buffer) = (FILE_HEADER_LEN, Vec::new());
        for (id, place) in kept {
            let length = HEADER + (place.stored & !IS_COMPRESSED) as usize;
            let start = buffer.len();
            buffer.resize(start + length, 0);
            self.file.read_exact_at(&mut buffer[start..], place.offset - HEADER_LEN)?;
            let offset = end + start as u64 + HEADER_LEN;
            index.places.insert(id, Place { offset, ..place });
            if buffer.len() > FLUSH_ABOVE {
                file.write_all_at(&buffer, end)?;
                end += buffer.len() as u64;
                buffer.clear();
            }
        }
        file.write_all_at(&buffer, end)?;
        Ok(index)
    }
}

/// The header of a new file.
fn new_header() -> [u8; FILE_HEADER] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut header = [0; FILE_HEADER];
    header[..8].copy_from_slice(&MAGIC);
    let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or_default();
    header[8..].copy_from_slice(&nanoseconds.to_le_bytes());
    header
}

/// Reads the header of a record that begins at `at`; `None` if it is not whole.
fn decode(header: &[u8; HEADER], at: u64) -> Option<(ContentId, Place)> {
    let number = |at: usize| Some(u32::from_le_bytes(*header[at..].first_chunk()?));
    let is_whole = checksum(&header[..40]) == header[40..];
    let id = ContentId::from_bytes(*header[8..].first_chunk()?);
    let place = Place { offset: at + HEADER_LEN, stored: number(0)?, length: number(4)? };
    is_whole.then_some((id, place))
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let hash = blake3::hash(bytes);
    [0, 1, 2, 3].map(|at| hash.as_bytes()[at])
}
