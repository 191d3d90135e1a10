//! The file of the log: only its owner can read it, and its size is bounded.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A file that is renamed to `.log.old` when it has more bytes than its limit. Several Neovims may write to it.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    limit: u64,
    /// What was written since it was opened, and what was in it then.
    bytes: u64,
}

impl LogFile {
    /// Opens a file of at most about `limit` bytes, and creates it and its folder if they are not there.
    pub(super) fn open(path: PathBuf, limit: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let (file, bytes) = opened(&path, limit)?;
        Ok(Self { path, file, limit, bytes })
    }
}

impl Write for LogFile {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        if self.bytes > self.limit {
            // Where that fails, the old file is better than none.
            match opened(&self.path, self.limit) {
                Ok((file, bytes)) => (self.file, self.bytes) = (file, bytes),
                Err(_) => self.bytes = 0,
            }
        }
        self.file.write_all(event)?;
        self.bytes += u64::try_from(event.len()).unwrap_or(u64::MAX);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Opens a file and returns its size. One that is too large makes room for a new one.
fn opened(path: &Path, limit: u64) -> io::Result<(File, u64)> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > limit) {
        std::fs::rename(path, path.with_extension("log.old"))?;
    }
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // It may be one that others can read, from before.
    file.set_permissions(Permissions::from_mode(0o600))?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    /// Holds (Hostile agents): The log is readable by its owner only, and bounded however much is written.
    #[test]
    fn a_log_is_private_and_bounded() {
        let folder = std::env::temp_dir().join(format!("rat-log-{}", std::process::id()));
        let path = folder.join("a.log");
        let mut log = LogFile::open(path.clone(), 1000).unwrap();
        assert_eq!(mode(&path), 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let mut other = LogFile::open(path.clone(), 1000).unwrap();
        assert_eq!(mode(&path), 0o600, "one from before is still readable by others");
        for number in 0..1000 {
            writeln!(log, "line {number}").unwrap();
            writeln!(other, "line {number} of another").unwrap();
        }
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
        assert_eq!(files.len(), 2, "{files:?}");
        let total: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!(total < 5000, "{total} bytes");
        let last = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(last.ends_with("line 999 of another\n"), "{last}");
    }
}
