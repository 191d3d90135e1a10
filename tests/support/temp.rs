//! Temporary folders that are gone when the test is, passed or failed.

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
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rat{:07}{number:03}", std::process::id()));
        std::fs::create_dir_all(&path).expect("make a temporary folder");
        let path = path.canonicalize().expect("the real path of a temporary folder");
        Self { path }
    }

    /// Its real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file below the folder, with the parent folders it needs, and gives its path.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder"))
            .expect("make a folder");
        std::fs::write(&path, text).expect("write a file");
        path
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
