//! The index of sessions: one small file for each folder agents work in, which is replaced atomically under a lock, so
//! that two Neovims do not overwrite each other's sessions.

use super::names::escaped;
use crate::session::saved::SavedSession;
use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Version of the file format. A file of another version is not changed.
const VERSION: u32 = 1;

/// How many sessions are listed for a folder; older ones are dropped.
const MAX_SESSIONS: usize = 100;

#[derive(Serialize, Deserialize)]
struct Index {
    version: u32,
    #[serde(default)]
    sessions: Vec<SavedSession>,
}

/// The field that every version of the format has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Returns the sessions of `cwd`; empty if it has no index. `folder` is that of the store.
pub(super) fn read(folder: &Path, cwd: &Path) -> io::Result<Vec<SavedSession>> {
    let bytes = match fs::read(file_of(folder, cwd)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let Version { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(io::Error::other(format!("version {version} of another rat.nvim")));
    }
    let index: Index = serde_json::from_slice(&bytes).map_err(damaged)?;
    Ok(index.sessions)
}

/// Updates the sessions of `cwd` and returns those that were dropped because there were more than [`MAX_SESSIONS`]. A
/// damaged index is renamed and replaced.
pub(super) fn update(
    folder: &Path,
    cwd: &Path,
    change: impl FnOnce(&mut Vec<SavedSession>),
) -> io::Result<Vec<SavedSession>> {
    let file = file_of(folder, cwd);
    create_private_folder(file.parent().unwrap_or(folder))?;
    let lock =
        private(File::options().create(true).append(true)).open(file.with_extension("lock"))?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
    let mut sessions = match read(folder, cwd) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            // For whoever wants to repair it.
            fs::rename(&file, file.with_extension("damaged"))?;
            Vec::new()
        }
        sessions => sessions?,
    };
    change(&mut sessions);
    let dropped = sessions.split_off(sessions.len().min(MAX_SESSIONS));
    let mut written = AtomicWriteFile::options().mode(0o600).preserve_mode(false).open(&file)?;
    written.write_all(&serde_json::to_vec_pretty(&Index { version: VERSION, sessions })?)?;
    written.commit()?;
    Ok(dropped)
}

/// Creates a folder that only its owner can read, and missing parent folders with the same mode.
pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a file that is created only readable by its owner.
pub(super) fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options.mode(0o600)
}

fn file_of(folder: &Path, cwd: &Path) -> PathBuf {
    let name = escaped(&cwd.to_string_lossy());
    folder.join("projects").join(name + ".json")
}
