//! What is kept on disk of a root that is covered: its manifest, and which turns have begun.

use super::begun;
use super::covered::{Covered, Running, seconds};
use super::limits::Limits;
use super::scan::now;
use super::slot;

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

    /// Saves the manifest.
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
}
