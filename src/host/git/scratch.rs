//! Folders of our own that are removed when nobody needs them any more.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What their names begin with; the id of our process and a number follow.
const PREFIX: &str = ".git-";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder that only the user can read.
#[derive(Debug)]
pub(in crate::host) struct Scratch(PathBuf);

impl Scratch {
    /// Creates one below a folder, and removes what a program that was killed has left there.
    pub(in crate::host) fn below(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        sweep(folder);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{PREFIX}{}-{number}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// A path in it.
    pub(in crate::host) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        let process = process.and_then(|(id, _)| id.parse().ok());
        if process.is_some_and(|id| kill(Pid::from_raw(id), None) == Err(Errno::ESRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_program_has_left_is_removed() {
        let folder = std::env::temp_dir().join(format!("rat-scratch-{}", std::process::id()));
        let own = Scratch::below(&folder).unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = folder.join(format!("{PREFIX}{}-0", ended.id()));
        let other = folder.join("project-1");
        fs::create_dir_all(left.join("x")).unwrap();
        fs::create_dir(&other).unwrap();
        let next = Scratch::below(&folder).unwrap();
        assert!(!left.exists() && other.exists() && own.0.exists());
        drop((own, next));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
