//! Reads one file or symbolic link, and puts its content into the pack or, if git ignores it, into memory. Never opens
//! what is no regular file, and never waits for another program.

use super::entry::{Entry, Kind, Skipped};
use super::ids::ContentId;
use super::limits::Limits;
use super::memory::Memory;
use super::pack::{Pack, Record};
use nix::fcntl::OFlag;
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that changed less than this before a scan may change again without a new time: file systems have coarse
/// clocks. Nanoseconds.
pub(super) const RACY: i64 = 20_000_000;

/// A time that lies further in the future than a scan takes was set by somebody, and says nothing. Nanoseconds.
const FUTURE: i64 = 600_000_000_000;

/// How often a file that changes while it is read is read again.
const TRIES: usize = 3;

/// Where contents go.
#[derive(Debug)]
pub(super) struct ReadFiles<'a> {
    pub(super) limits: &'a Limits,
    pub(super) memory: &'a Memory,
    pub(super) pack: &'a Mutex<Pack>,
    /// When the scan began, in nanoseconds since 1970.
    pub(super) began: i64,
    /// How many more bytes may be covered.
    pub(super) room: AtomicU64,
}

/// What opening a file has come to.
enum Opened {
    File(File, Entry),
    Gone,
    Unreadable,
    /// It is something else now.
    Replaced,
}

impl ReadFiles<'_> {
    /// Reads what `entry` was made of. Returns the entry as it is now; `None` if there is nothing any more. `buffer` is
    /// only there to be used again.
    ///
    /// # Errors
    /// If the content cannot be stored.
    pub(super) fn read(
        &self,
        path: &Path,
        mut entry: Entry,
        is_ignored: bool,
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<Entry>> {
        for _ in 0..TRIES {
            match entry.kind {
                Kind::Symlink => {
                    if let Ok(target) = fs::read_link(path) {
                        let target = target.into_os_string().into_vec();
                        return self.keep(entry, &target, is_ignored).map(Some);
                    }
                }
                Kind::File => match open(path) {
                    Opened::Gone => return Ok(None),
                    Opened::Unreadable => {
                        entry.skipped = Some(Skipped::Unreadable);
                        return Ok(Some(self.dated(entry)));
                    }
                    Opened::Replaced => {}
                    Opened::File(file, opened) if opened.size > self.limits.file => {
                        drop(file);
                        let skipped = Some(Skipped::TooLarge);
                        return Ok(Some(self.dated(Entry { skipped, ..opened })));
                    }
                    Opened::File(mut file, opened) => {
                        if read_whole(&mut file, &opened, buffer) {
                            return self.keep(opened, buffer, is_ignored).map(Some);
                        }
                    }
                },
                Kind::Folder | Kind::Other => return Ok(Some(self.dated(entry))),
            }
            match fs::symlink_metadata(path) {
                Ok(metadata) => entry = Entry::of(&metadata),
                Err(_) => return Ok(None),
            }
        }
        // It never stops changing, so the next scan tries again.
        entry.skipped.get_or_insert(Skipped::Unreadable);
        Ok(Some(Entry { is_racy: true, ..entry }))
    }

    fn keep(&self, mut entry: Entry, content: &[u8], is_ignored: bool) -> io::Result<Entry> {
        let length = content.len() as u64;
        let take = |room: u64| room.checked_sub(length);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            entry.skipped = Some(Skipped::TooMuch);
            return Ok(self.dated(entry));
        }
        entry.content = if is_ignored {
            self.memory.put(content)
        } else {
            let id = ContentId::of(content);
            let has = self.pack.lock().has(&id);
            if !has {
                let record = Record::new(id, content)?;
                self.pack.lock().append(&record)?;
            }
            Some(id)
        };
        if entry.content.is_none() {
            entry.skipped = Some(Skipped::TooMuch);
        }
        Ok(self.dated(entry))
    }

    fn dated(&self, entry: Entry) -> Entry {
        let recent = self.began - RACY..self.began + FUTURE;
        let is_racy = [entry.mtime, entry.ctime].iter().any(|time| recent.contains(time));
        Entry { is_racy, ..entry }
    }
}

fn open(path: &Path) -> Opened {
    // Should it be a FIFO by now, opening it does not wait for a writer.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_NOCTTY;
    let file = match File::options().read(true).custom_flags(flags.bits()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Opened::Gone,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Opened::Unreadable,
        Err(_) => return Opened::Replaced,
        Ok(file) => file,
    };
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Opened::File(file, Entry::of(&metadata)),
        _ => Opened::Replaced,
    }
}

/// Reads a file into the buffer. Returns `false` if it has changed meanwhile or cannot be read.
fn read_whole(file: &mut File, opened: &Entry, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    // One byte more shows that it has grown.
    buffer.reserve(usize::try_from(opened.size + 1).unwrap_or_default());
    let read = file.by_ref().take(opened.size + 1).read_to_end(buffer);
    let is_whole = read.is_ok_and(|read| read as u64 == opened.size);
    let now = file.metadata().map(|metadata| Entry::of(&metadata));
    is_whole && now.is_ok_and(|now| now.has_same_stamps(opened))
}
