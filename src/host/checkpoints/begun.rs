//! What is on disk of a turn that has begun: the manifest it began with, in a file of the slot that is removed when the turn is
//! logged. If the program is killed, the next one logs the turn by it, so that it can be undone.

use super::covered::{Covered, seconds};
use super::entry::{Entry, Kind, Skipped};
use super::journal::PendingTurn;
use super::manifest::Manifest;
use super::read::RACY;
use super::scan::now;
use super::tree_path::TreePath;
use super::turns::{Coverage, TurnSummary};
use super::undo;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Begins the names of the files.
const PREFIX: &str = "begun-";

/// Stands for the prompt, which nobody knows any more.
const PROMPT: &str = "A turn that was cut off";

/// A turn that a program had begun when it was killed.
#[derive(Debug)]
pub(super) struct Begun {
    file: PathBuf,
    before: Manifest,
    /// When the folder was last looked at, in nanoseconds since 1970. What has changed since may be somebody else's.
    looked: i64,
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

impl Covered {
    /// When something was last put into, or taken from, the closest folder above a path, in nanoseconds since 1970.
    fn last_change_around(&self, path: &TreePath) -> i64 {
        let mut at = path.clone();
        while let Some((folder, _)) = at.split() {
            if let Ok(metadata) = folder.under(&self.root).symlink_metadata() {
                return metadata.mtime().saturating_mul(1_000_000_000) + metadata.mtime_nsec();
            }
            at = folder;
        }
        i64::MAX
    }

    /// Logs the turns that were running when a program was killed.
    pub(super) fn log_begun(&mut self, begun: Vec<Begun>, manifest: &Manifest) {
        for Begun { file, before, looked } in begun {
            let mut changes = before.changes_of_turn(manifest);
            for change in &mut changes {
                // File systems have coarse clocks.
                change.shared = match manifest.get(&change.path) {
                    Some(entry) if entry.kind == Kind::Folder => false,
                    Some(entry) => entry.ctime > looked - RACY,
                    None => self.last_change_around(&change.path) > looked - RACY,
                };
            }
            let summary = TurnSummary {
                id: self.next_turn(),
                time: seconds(looked),
                agent: String::new(),
                session: String::new(),
                prompt: PROMPT.to_owned(),
                undoes: None,
                failed: 0,
                coverage: Coverage::of(&before, false),
                files: 0,
                added: 0,
                removed: 0,
            };
            match undo::log(&mut self.stored, PendingTurn { summary, changes }) {
                Ok(_) => drop(fs::remove_file(&file)),
                Err(error) => tracing::error!(%error, "a turn that was cut off is not kept"),
            }
        }
    }
}
