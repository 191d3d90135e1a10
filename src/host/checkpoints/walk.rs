//! Lists one folder: what is in it, which of it must be read since it may have changed, and which folders to go on with.
//! Opens no file.

use super::entry::{Entry, Kind, Skipped};
use super::limits::Limits;
use super::manifest::{Entries, Manifest, find};
use super::memory::Memory;
use super::tree_path::TreePath;
use crate::host::ignored::{RuleFiles, Rules, Verdict};
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What stays the same during a scan.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) root: &'a Path,
    /// The device of the root.
    pub(super) device: u64,
    /// The folder of all checkpoints, which is never covered.
    pub(super) own: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) files: &'a RuleFiles,
    /// Has the contents of ignored files.
    pub(super) memory: &'a Memory,
    /// What running turns began with: what they have covered is covered on, even if it becomes ignored.
    pub(super) begun: &'a [Manifest],
}

/// What is in a folder. The numbers are places in `entries`.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Sorted by name; those to be read have no content yet.
    pub(super) entries: Entries,
    pub(super) reads: Vec<Read>,
    /// The folders to list, with the rules for what is in them, but for those they have themselves.
    pub(super) folders: Vec<(usize, Rules)>,
}

/// An entry to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) at: usize,
    /// Its content is only held in memory.
    pub(super) is_ignored: bool,
}

impl Walk<'_> {
    /// Lists a folder. `old` is what was in it at the last scan.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn list(
        &self,
        folder: &TreePath,
        rules: Rules,
        old: Option<&Entries>,
    ) -> io::Result<Listing> {
        let mut path = folder.under(self.root);
        let mut found: Vec<(Box<[u8]>, DirEntry)> = Vec::new();
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            found.push((entry.file_name().into_vec().into(), entry));
        }
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let has = |name: &[u8]| found.binary_search_by(|(other, _)| (**other).cmp(name)).is_ok();
        let (has_git, has_patterns) = (has(b".git"), has(b".gitignore"));
        let rules = rules.enter(&path, has_git, has_patterns, self.files);
        let mut listing = Listing::default();
        listing.entries.reserve_exact(found.len());
        for (name, entry) in found {
            if *name == *b".git" {
                continue;
            }
            let metadata = match entry.metadata() {
                // It has gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let entry = Entry::of(&metadata);
            let old = old.and_then(|old| find(old, &name));
            path.push(OsStr::from_bytes(&name));
            if entry.kind == Kind::Folder {
                let (path, device) = (&path, metadata.dev());
                self.add_folder(&mut listing, (name, entry), path, device, &rules);
            } else {
                self.add_file(&mut listing, (name, entry), &path, old, &rules);
            }
            path.pop();
        }
        Ok(listing)
    }

    /// Whether a running turn began with a path that was covered.
    fn was_covered(&self, path: &Path) -> bool {
        let Some(path) = TreePath::below(self.root, path) else { return false };
        let is_covered = |entry: &Entry| !entry.is_ignored();
        self.begun.iter().any(|begun| begun.get(&path).is_some_and(is_covered))
    }

    fn add_folder(
        &self,
        listing: &mut Listing,
        (name, mut entry): (Box<[u8]>, Entry),
        path: &PathBuf,
        device: u64,
        rules: &Rules,
    ) {
        if path == self.own {
            return;
        }
        let inner = match rules.verdict(path, true) {
            _ if device != self.device => {
                entry.skipped = Some(Skipped::OtherDevice);
                None
            }
            Verdict::Ignored if !self.was_covered(path) => {
                entry.skipped = Some(Skipped::Ignored);
                None
            }
            Verdict::OnlyTracked => Some(rules.only_tracked()),
            Verdict::Covered | Verdict::Ignored => Some(rules.clone()),
        };
        if let Some(inner) = inner {
            listing.folders.push((listing.entries.len(), inner));
        }
        listing.entries.push((name, entry));
    }

    fn add_file(
        &self,
        listing: &mut Listing,
        (name, mut entry): (Box<[u8]>, Entry),
        path: &Path,
        old: Option<&Entry>,
        rules: &Rules,
    ) {
        let is_ignored = rules.verdict(path, false) == Verdict::Ignored;
        let is_known = |old: &&Entry| {
            old.has_same_stamps(&entry)
                && !old.is_racy
                && !matches!(old.skipped, Some(Skipped::Ignored | Skipped::Late))
                // What is ignored no longer is kept on disk.
                && (is_ignored || !old.content.is_some_and(|id| self.memory.has(&id)))
        };
        let is_small = !rules.are_only_tracked() && entry.size <= self.limits.ignored_file;
        if is_ignored && !is_small && !self.was_covered(path) {
            entry.skipped = Some(Skipped::Ignored);
        } else if let Some(old) = old.filter(is_known) {
            entry = old.clone();
        } else if entry.skipped.is_none() {
            listing.reads.push(Read { at: listing.entries.len(), is_ignored });
        }
        listing.entries.push((name, entry));
    }
}
