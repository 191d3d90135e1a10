//! What is on disk of a turn that has begun: the manifest it began with, in a file of the slot that is removed when the turn is
//! logged. If the program is killed, the next one logs the turn by it, so that it can be undone.

use super::entry::{Entry, Kind, Skipped};
use super::manifest::Manifest;
use super::scan::now;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Begins the names of the files.
const PREFIX: &str = "begun-";

/// A turn that a program had begun when it was killed.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) file: PathBuf,
    pub(super) before: Manifest,
    /// When the folder was last looked at, in nanoseconds since 1970. What has changed since may be somebody else's.
    pub(super) looked: i64,
}

/// Notes that a turn begins with the manifest that is saved. Returns the file.
///
/// # Errors
/// If it cannot be noted.
pub(super) fn note(slot: &Path, manifest: &Path) -> io::Result<PathBuf> {
    let file = slot.join(format!("{PREFIX}{}", now()));
    // It is the same file until the next manifest takes its place, so this costs no copy.
    fs::hard_link(manifest, &file)?;
    looked(&file)?;
    Ok(file)
}

/// Notes that the folder has been looked at.
///
/// # Errors
/// If it cannot be noted.
pub(super) fn looked(file: &Path) -> io::Result<()> {
    File::open(file)?.set_modified(SystemTime::now())
}

/// The turns that had begun in a slot.
pub(super) fn read(slot: &Path) -> Vec<Begun> {
    let entries = fs::read_dir(slot).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    files.sort();
    let mut begun = Vec::new();
    for file in files {
        let manifest = fs::read(&file).ok().and_then(|bytes| Manifest::decode(&bytes));
        let looked = fs::metadata(&file).and_then(|of| of.modified()).ok();
        let looked = looked.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (Some(manifest), Some(looked)) = (manifest, looked) else {
            let _ = fs::remove_file(&file);
            continue;
        };
        // Contents that were in memory only are nobody's change.
        let before = manifest.map(|entry| {
            let is_lost = entry.content.is_none()
                && entry.skipped.is_none()
                && matches!(entry.kind, Kind::File | Kind::Symlink);
            is_lost.then(|| Entry { skipped: Some(Skipped::Ignored), ..entry.clone() })
        });
        let looked = i64::try_from(looked.as_nanos()).unwrap_or(i64::MAX);
        begun.push(Begun { file, before, looked });
    }
    begun
}
