//! Small JSON files that several programs share: replaced as a whole, atomically and under a lock, so that no program
//! overwrites what another has written.

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use nix::fcntl::{Flock, FlockArg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Version of the file format. A file of another version is not changed.
const VERSION: u32 = 1;

/// What a file has: its version beside the fields of `T`.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// The field that every version of the format has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// What to do with a file that cannot be read as what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damaged {
    /// It is renamed, for whoever wants to repair it, and replaced.
    Replaced,
    /// It stays, and nothing is written.
    Stays,
}

/// Returns the content of a file; that of an empty one if there is no file.
pub(super) fn read<T: DeserializeOwned + Default>(file: &Path) -> io::Result<T> {
    let bytes = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        bytes => bytes?,
    };
    let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let Version { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(io::Error::other(format!("version {version} of another rat.nvim")));
    }
    let Versioned { content, .. } = serde_json::from_slice(&bytes).map_err(damaged)?;
    Ok(content)
}

/// Changes the content of a file, and returns what `change` does.
pub(super) fn update<T: Serialize + DeserializeOwned + Default, R>(
    file: &Path,
    damaged: Damaged,
    change: impl FnOnce(&mut T) -> R,
) -> io::Result<R> {
    create_private_folder(file.parent().unwrap_or(Path::new("/")))?;
    let lock =
        private(File::options().create(true).append(true)).open(file.with_extension("lock"))?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
    let mut content = match read::<T>(file) {
        Err(error)
            if error.kind() == io::ErrorKind::InvalidData && damaged == Damaged::Replaced =>
        {
            fs::rename(file, file.with_extension("damaged"))?;
            T::default()
        }
        content => content?,
    };
    let result = change(&mut content);
    let mut written = AtomicWriteFile::options().mode(0o600).preserve_mode(false).open(file)?;
    written.write_all(&serde_json::to_vec_pretty(&Versioned { version: VERSION, content })?)?;
    written.commit()?;
    Ok(result)
}

/// Creates a folder that only its owner can read, and missing parent folders with the same mode.
pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a file that is created only readable by its owner.
pub(super) fn private(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    options.mode(0o600)
}
