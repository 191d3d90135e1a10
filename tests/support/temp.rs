//! Temporary folders that are gone when the test is, passed or failed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder of its own under the system's folder for temporary files, removed on drop.
///
/// Its real path is short (sockets have at most some hundred bytes) and always of the same length, so that a
/// screen that shows it keeps its columns.
pub struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// Makes the folder.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Makes the folder where confined agents may not write, unlike in `/tmp`.
    pub fn apart() -> Self {
        Self::below(Path::new("/var/tmp"))
    }

    fn below(parent: &Path) -> Self {
        // A killed test leaves its folder behind, and a later process may have the same number.
        let path = loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("rat{:07}{number:03}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("make the temporary folder {}: {error}", path.display()),
            }
        };
        let path = path.canonicalize().expect("the real path of a temporary folder");
        Self { path }
    }

    /// Its real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file below the folder, with the parent folders it needs, and gives its path.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        write_file(&self.path, name, text)
    }

    /// Makes a folder below it and gives its path.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).expect("make a folder");
        path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // Something may still be writing while a failed test unwinds: what is left is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Writes a file below `folder`, with the parent folders it needs, and gives its path.
pub(super) fn write_file(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("make a folder");
    std::fs::write(&path, text).expect("write a file");
    path
}

/// Every file below a folder, in order; none where there is no such folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    entries.sort();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.into_iter().flat_map(below).collect()
}
