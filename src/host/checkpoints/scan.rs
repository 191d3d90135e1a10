//! A scan: walks a root on two threads, reads what differs from the last manifest, and returns the new one.

use super::entry::{Entry, Skipped};
use super::limits::{Limits, Watch};
use super::manifest::{Entries, Manifest};
use super::memory::Memory;
use super::pack::Pack;
use super::queue;
use super::read::ReadFiles;
use super::tree_path::TreePath;
use super::walk::{Read, Walk};
use crate::host::ignored::{RuleFiles, Rules};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many threads walk, read and compress.
const THREADS: usize = 2;

/// A task that reads files ends when it has this many files or bytes, so that both threads have work.
const READS: usize = 64;
const READ_BYTES: u64 = 1 << 20;

/// Everything a scan needs.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    /// The real path of the root.
    pub(super) root: &'a Path,
    /// The folder of all checkpoints.
    pub(super) own: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) files: &'a RuleFiles,
    pub(super) memory: &'a Memory,
    pub(super) pack: &'a Mutex<Pack>,
    pub(super) watch: &'a Watch,
    /// What running turns began with: what they have covered is covered on, even if it becomes ignored.
    pub(super) begun: &'a [Manifest],
}

/// Why there is no manifest.
#[derive(Debug)]
pub(super) enum ScanError {
    TooManyFiles,
    /// The root cannot be read.
    Unreadable(io::Error),
    /// A content could not be stored.
    Store(io::Error),
    Cancelled,
}

enum Task {
    List { folder: TreePath, rules: Rules, at: Option<EntryPlace> },
    Read { folder: TreePath, number: usize, reads: Vec<(Read, Box<[u8]>, Entry)> },
}

/// A place in a listing: the number of the folder, and the place of the entry.
type EntryPlace = (usize, usize);

/// What has become of an entry after it was listed.
enum Outcome {
    Read(Entry),
    Gone,
    UnreadableFolder,
}

/// What a thread has found.
#[derive(Default)]
struct Found {
    listed: Vec<(usize, TreePath, Entries)>,
    outcomes: Vec<(EntryPlace, Outcome)>,
    buffer: Vec<u8>,
}

impl Scan<'_> {
    /// Compares the root with `old` and returns its manifest as it is now.
    ///
    /// # Errors
    /// See [`ScanError`]. Contents may have been stored, which does no harm.
    pub(super) fn run(&self, old: &Manifest) -> Result<Manifest, ScanError> {
        let device = self.root.metadata().map_err(ScanError::Unreadable)?.dev();
        let covered: u64 = old.entries().filter(|it| it.content.is_some()).map(|it| it.size).sum();
        let room = AtomicU64::new(self.limits.total.saturating_sub(covered));
        let Self { root, own, limits, files, memory, pack, begun, .. } = *self;
        let walk = Walk { root, device, own, limits, files, memory, begun };
        let reader = ReadFiles { limits, memory, pack, began: now(), room };
        let (numbers, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let first =
            Task::List { folder: TreePath::default(), rules: Rules::above(root, files), at: None };
        let work = |task, found: &mut Found, new: &mut Vec<Task>| match task {
            Task::Read { folder, number, reads } => {
                self.read(&reader, &folder, number, reads, found)
            }
            Task::List { folder, rules, at } => {
                if self.watch.cancel.load(Ordering::Relaxed) {
                    return Err(ScanError::Cancelled);
                }
                let listed = walk.list(&folder, rules, old.folder(&folder).map(|it| &**it));
                let mut listing = match (listed, at) {
                    (Ok(listing), _) => listing,
                    (Err(error), None) => return Err(ScanError::Unreadable(error)),
                    (Err(error), Some(at)) => {
                        let outcome = match error.kind() {
                            io::ErrorKind::NotFound => Outcome::Gone,
                            _ => Outcome::UnreadableFolder,
                        };
                        found.outcomes.push((at, outcome));
                        return Ok(());
                    }
                };
                if count.fetch_add(listing.entries.len(), Ordering::Relaxed) + listing.entries.len()
                    > limits.files
                {
                    return Err(ScanError::TooManyFiles);
                }
                let number = numbers.fetch_add(1, Ordering::Relaxed);
                self.watch.found.fetch_add(listing.reads.len(), Ordering::Relaxed);
                for (entry, rules) in listing.folders {
                    let inner = folder.join(&listing.entries[entry].0);
                    new.push(Task::List { folder: inner, rules, at: Some((number, entry)) });
                }
                let reads = std::mem::take(&mut listing.reads);
                push_reads(&folder, number, &reads, &listing.entries, new);
                found.listed.push((number, folder, listing.entries));
                Ok(())
            }
        };
        let found = queue::work_off(first, THREADS, work)?;
        pack.lock().flush().map_err(ScanError::Store)?;
        Ok(merged(found, old))
    }

    fn read(
        &self,
        reader: &ReadFiles<'_>,
        folder: &TreePath,
        number: usize,
        reads: Vec<(Read, Box<[u8]>, Entry)>,
        found: &mut Found,
    ) -> Result<(), ScanError> {
        let mut path = folder.under(self.root);
        for (read, name, entry) in reads {
            if self.watch.cancel.load(Ordering::Relaxed) {
                return Err(ScanError::Cancelled);
            }
            path.push(OsStr::from_bytes(&name));
            let entry = reader.read(&path, entry, read.is_ignored, &mut found.buffer);
            path.pop();
            let outcome = entry.map_err(ScanError::Store)?.map_or(Outcome::Gone, Outcome::Read);
            found.outcomes.push(((number, read.at), outcome));
            self.watch.read.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Makes tasks of what is to be read in a folder.
fn push_reads(
    folder: &TreePath,
    number: usize,
    reads: &[Read],
    entries: &Entries,
    new: &mut Vec<Task>,
) {
    let mut rest = reads;
    while !rest.is_empty() {
        let (mut count, mut bytes) = (0, 0);
        while count < rest.len().min(READS) && bytes < READ_BYTES {
            bytes += entries[rest[count].at].1.size;
            count += 1;
        }
        let (now, later) = rest.split_at(count);
        let reads = now.iter().map(|read| {
            let (name, entry) = &entries[read.at];
            (*read, name.clone(), entry.clone())
        });
        new.push(Task::Read { folder: folder.clone(), number, reads: reads.collect() });
        rest = later;
    }
}

/// The manifest of what all threads have found. Folders that are as in `old` are shared with it.
fn merged(found: Vec<Found>, old: &Manifest) -> Manifest {
    let count = found.iter().map(|found| found.listed.len()).sum();
    let mut listed: Vec<Option<(TreePath, Entries)>> = Vec::new();
    listed.resize_with(count, || None);
    let mut outcomes = Vec::new();
    for found in found {
        for (number, folder, entries) in found.listed {
            listed[number] = Some((folder, entries));
        }
        outcomes.extend(found.outcomes);
    }
    // From the end of each folder, so that the places of the others stay right when one goes.
    outcomes.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
    for ((number, at), outcome) in outcomes {
        let Some((_, entries)) = &mut listed[number] else { continue };
        match outcome {
            Outcome::Read(entry) => entries[at].1 = entry,
            Outcome::UnreadableFolder => entries[at].1.skipped = Some(Skipped::Unreadable),
            Outcome::Gone => {
                entries.remove(at);
            }
        }
    }
    let shared = |(folder, entries): (TreePath, Entries)| {
        let same = old.folder(&folder).filter(|old| ***old == entries).cloned();
        (folder, same.unwrap_or_else(|| Arc::new(entries)))
    };
    let mut folders: Vec<_> = listed.into_iter().flatten().map(shared).collect();
    folders.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Manifest::new(folders.into_iter().collect::<BTreeMap<_, _>>())
}

/// Nanoseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
