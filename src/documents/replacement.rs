//! [`Replacement`], a new content for a file, which takes its place when it is complete. Where the system can do that (Linux,
//! `man 2 open`, `O_TMPFILE`), it has no name until then, so that no part of it is left if this program is killed.

use atomic_write_file::AtomicWriteFile;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, renameat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// How the name begins that it has for a moment before it takes the place of the file. The pid and a number follow.
pub(super) const PREFIX: &str = ".rat-";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The new content of a file, with the mode and owner of the present one. Dropping it changes nothing.
#[derive(Debug)]
pub(super) struct Replacement(AtomicWriteFile);

impl Replacement {
    /// Begins one for the file at a path, which need not exist.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        AtomicWriteFile::open(path).map(Self)
    }

    /// Sets the time at which it was modified.
    pub(super) fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.0.as_file().set_modified(time)
    }

    /// Puts it in the place of the file.
    pub(super) fn commit(self, path: &Path) -> io::Result<()> {
        let file = self.0.as_file();
        let is_unnamed = file.metadata()?.nlink() == 0;
        match (self.0.directory(), path.file_name()) {
            (Some(folder), Some(name)) if is_unnamed => {
                // Not between the two names, as it may take long.
                file.sync_all()?;
                name_file(file, &folder, Path::new(name))?;
                // Btrfs does not sync what has no name.
                file.sync_data()
            }
            _ => self.0.commit(),
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Gives a file without a name one that another may have. Only a new name can be given, so it is renamed after that.
fn name_file(file: &File, folder: &impl AsFd, name: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    let temporary = loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{PREFIX}{}-{number}", std::process::id());
        let follow = AtFlags::AT_SYMLINK_FOLLOW;
        match linkat(folder, open.as_str(), folder, temporary.as_str(), follow) {
            Ok(()) => break temporary,
            // A program with the same pid was killed here.
            Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
    };
    renameat(folder, temporary.as_str(), folder, name).map_err(|error| {
        let _ = unlinkat(folder, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
        error.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_takes_the_place_of_the_file_when_it_is_complete() {
        let folder = std::env::temp_dir().join(format!("rat-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        fs::write(&path, "old").unwrap();
        // What was left by a killed program with the same pid is not overwritten.
        let next = NEXT.load(Ordering::Relaxed);
        let left = format!("{PREFIX}{}-{next}", std::process::id());
        fs::write(folder.join(&left), "left").unwrap();
        for (text, commits) in [("dropped", false), ("new", true), ("newer", true)] {
            let mut replacement = Replacement::of(&path).unwrap();
            replacement.write_all(text.as_bytes()).unwrap();
            if cfg!(target_os = "linux") {
                assert_eq!(names(&folder), [&left, "a.txt"], "it has a name");
            }
            let before = fs::read_to_string(&path).unwrap();
            if commits {
                replacement.commit(&path).unwrap();
            } else {
                drop(replacement);
            }
            let wanted = if commits { text } else { &before };
            assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
            assert_eq!(names(&folder), [&left, "a.txt"]);
        }
        assert_eq!(fs::read_to_string(folder.join(left)).unwrap(), "left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_is_left_where_it_cannot_take_its_place() {
        let folder = std::env::temp_dir().join(format!("rat-replace-no-{}", std::process::id()));
        fs::create_dir_all(folder.join("a.txt/inside")).unwrap();
        let path = folder.join("a.txt");
        let commit = || {
            let mut replacement = Replacement::of(&path)?;
            replacement.write_all(b"new")?;
            replacement.commit(&path)
        };
        assert!(commit().is_err());
        assert_eq!(names(&folder), ["a.txt"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
