//! The folder on disk for a root: `<hash of its path>/<number>`. A program takes the first number that no other has
//! locked, so that two never write the same files; the system gives the lock back however the program ends.

use super::private;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How many programs can cover one root at once.
const MAX_SLOTS: u32 = 64;

/// A slot this program has locked.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) folder: PathBuf,
    pub(super) number: u32,
    _lock: Flock<File>,
}

impl Slot {
    /// Takes a slot for a root, which is a real path, in the folder of all checkpoints.
    ///
    /// # Errors
    /// If its folder cannot be created or all slots are taken.
    pub(super) fn take(store: &Path, root: &Path) -> io::Result<Self> {
        let hash = blake3::hash(root.as_os_str().as_bytes()).to_hex();
        let above = store.join(&hash.as_str()[..32]);
        private::create_folder(&above)?;
        let file = above.join("root");
        if fs::read(&file).ok().as_deref() != Some(root.as_os_str().as_bytes()) {
            private::replace_file(&file, root.as_os_str().as_bytes())?;
        }
        for number in 1..=MAX_SLOTS {
            let folder = above.join(number.to_string());
            private::create_folder(&folder)?;
            if let Some(lock) = lock(&folder)? {
                return Ok(Self { folder, number, _lock: lock });
            }
        }
        Err(io::Error::other("too many programs have this folder open"))
    }

    /// A text for the names of temporary files that belong to a slot of the root.
    pub(super) fn tag(&self, number: u32) -> String {
        let root = self.folder.parent().and_then(Path::file_name).unwrap_or_default();
        let root: String = root.to_string_lossy().chars().take(8).collect();
        format!("{root}-{number}")
    }

    /// The other slots of the root, with their numbers.
    pub(super) fn others(&self) -> Vec<(u32, PathBuf)> {
        let folder = self.folder.parent().unwrap_or(&self.folder);
        let mut others = slots(folder);
        others.retain(|(number, _)| *number != self.number);
        others
    }
}

/// The slots in the folder of a root.
fn slots(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse().ok();
    let mut slots: Vec<(u32, PathBuf)> =
        entries.filter_map(|entry| Some((number(&entry.path())?, entry.path()))).collect();
    slots.sort();
    slots
}

/// Locks a slot. `None` if another program has it.
///
/// # Errors
/// If it cannot be opened.
pub(super) fn lock(slot: &Path) -> io::Result<Option<Flock<File>>> {
    let path = slot.join("lock");
    match Flock::lock(private::open_file(&path)?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => {
            // Another program may have removed the folder meanwhile.
            let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
            let is_there = fs::metadata(&path).map(inode).ok() == lock.metadata().map(inode).ok();
            Ok(is_there.then_some(lock))
        }
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Removes everything of roots that no program has used for `age`.
pub(super) fn remove_old(store: &Path, age: Duration) {
    let now = SystemTime::now();
    for entry in fs::read_dir(store).into_iter().flatten().flatten() {
        let folder = entry.path();
        let slots = slots(&folder);
        let used = |slot: &Path| fs::metadata(slot.join("manifest"))?.modified();
        let is_old = |(_, slot): &(u32, PathBuf)| {
            used(slot).is_ok_and(|used| now.duration_since(used).is_ok_and(|since| since > age))
        };
        if slots.is_empty() || !slots.iter().all(is_old) {
            continue;
        }
        let locks: Vec<_> =
            slots.iter().filter_map(|(_, slot)| lock(slot).ok().flatten()).collect();
        if locks.len() == slots.len()
            && let Err(error) = fs::remove_dir_all(&folder)
        {
            tracing::warn!(folder = %folder.display(), %error, "old checkpoints stay");
        }
    }
}
