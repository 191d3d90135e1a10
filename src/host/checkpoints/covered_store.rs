//! What is kept on disk of a root that is covered: its manifest, and which turns have begun.

use super::begun::{self, Begun};
use super::covered::{Covered, Running, seconds};
use super::entry::Kind;
use super::journal::PendingTurn;
use super::limits::Limits;
use super::manifest::Manifest;
use super::read::RACY;
use super::scan::now;
use super::slot;
use super::tree_path::TreePath;
use super::turns::{Coverage, TurnSummary};
use super::undo;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Stands for the prompt, which nobody knows any more.
const PROMPT: &str = "A turn that was cut off";

impl Covered {
    /// Does what nobody needs to wait for: saves, and forgets what is old.
    pub(super) fn tidy(&mut self) {
        self.note_begun();
        if !self.is_stale {
            return;
        }
        self.is_stale = false;
        let is_first = self.saved.is_empty();
        self.save();
        let Limits { turns, age, stored, .. } = self.limits;
        if self.running.is_empty()
            && let Some(manifest) = &self.manifest
        {
            let oldest = seconds(now()).saturating_sub(age.as_secs());
            if let Err(error) = self.stored.forget(manifest, turns, oldest, stored) {
                tracing::error!(%error, root = %self.root.display(), "old checkpoints stay");
            }
        }
        if is_first {
            slot::remove_old(&self.store, age);
        }
    }

    /// Notes on disk which turns have begun.
    fn note_begun(&mut self) {
        let manifest = self.manifest.clone();
        // One that began late does not know what it began with.
        let is_new = |running: &&mut Running| {
            running.noted.is_none()
                && !running.is_late
                && Some(&running.before) == manifest.as_ref()
        };
        if !self.running.values_mut().any(|running| is_new(&running)) {
            return;
        }
        self.save();
        if self.manifest.as_ref() != Some(&self.saved) {
            return;
        }
        let (slot, saved) = (self.stored.slot.folder.clone(), self.stored.manifest_file());
        for running in self.running.values_mut().filter(is_new) {
            match begun::note(&slot, &saved) {
                Ok(file) => running.noted = Some(file),
                Err(error) => tracing::warn!(%error, "a turn is not kept if it is cut off"),
            }
        }
    }

    /// Saves the manifest if it has changed; a failure is logged.
    pub(super) fn save(&mut self) {
        let Some(manifest) = self.manifest.as_ref().filter(|it| **it != self.saved) else { return };
        match self.stored.save(manifest) {
            Ok(()) => self.saved = manifest.clone(),
            Err(error) => {
                let root = self.root.display();
                tracing::error!(%error, %root, "a manifest was not saved");
            }
        }
    }

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
