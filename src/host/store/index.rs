//! Which sessions a folder has: one small file for each folder, replaced as a whole under a lock, so that two Neovims lose
//! nothing of each other's.

use super::names::escaped;
use crate::session::remembered::Remembered;
use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder's file of another version is left alone.
const VERSION: u32 = 1;

/// So many sessions of a folder are remembered.
const MOST: usize = 100;

#[derive(Serialize, Deserialize)]
struct Index {
    version: u32,
    #[serde(default)]
    sessions: Vec<Remembered>,
}

/// What every version has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// The sessions of a folder; none where nothing is known of it.
pub(super) fn read(folder: &Path, cwd: &Path) -> io::Result<Vec<Remembered>> {
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

/// Changes the sessions of a folder. Gives those that are not remembered any more because there are too many.
pub(super) fn change(
    folder: &Path,
    cwd: &Path,
    change: impl FnOnce(&mut Vec<Remembered>),
) -> io::Result<Vec<Remembered>> {
    let file = file_of(folder, cwd);
    private_folder(file.parent().unwrap_or(folder))?;
    let lock =
        private(File::options().create(true).append(true)).open(file.with_extension("lock"))?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
    let mut sessions = match read(folder, cwd) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            // Nobody can read it any more, but somebody may want to look.
            fs::rename(&file, file.with_extension("damaged"))?;
            Vec::new()
        }
        sessions => sessions?,
    };
    change(&mut sessions);
    let dropped = sessions.split_off(sessions.len().min(MOST));
    let mut written = AtomicWriteFile::options().mode(0o600).preserve_mode(false).open(&file)?;
    written.write_all(&serde_json::to_vec_pretty(&Index { version: VERSION, sessions })?)?;
    written.commit()?;
    Ok(dropped)
}

/// A folder that only its owner can read, with those above it.
pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A file that only its owner can read.
pub(super) fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options.mode(0o600)
}

fn file_of(folder: &Path, cwd: &Path) -> PathBuf {
    let name = escaped(&cwd.to_string_lossy());
    folder.join("projects").join(name + ".json")
}
