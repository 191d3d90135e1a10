//! Files and folders that only their owner can read.

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Creates a folder and the missing ones above it.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Opens a file for reading and writing, and creates it if it is not there.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

/// Replaces a file as a whole, and returns when the new one is on the disk.
pub(super) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::options().mode(0o600).preserve_mode(false).open(path)?;
    file.write_all(content)?;
    file.commit()
}
