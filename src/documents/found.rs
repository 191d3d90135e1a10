//! What a turn finds on disk when it begins, where no document has followed that yet: the user has changed a file outside the
//! editor, say. That is not of the turn, so the record begins the turn's changes with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::time::{Instant, timeout_at};

use super::disk_text::DiskText;
use super::document::Document;
use super::error::DocumentError;
use super::facts::DiskFacts;
use super::found_by_turn::FoundByTurn;
use super::registry::{Documents, run_to_completion};
use crate::edit::{Hunk, Text, Version, apply, diff};
use crate::session::author::{Author, SessionKey};

/// How many files are looked at for one turn at once.
const AT_ONCE: usize = 32;

impl Document {
    /// Notes what the turn of a session finds on disk, as it begins.
    async fn note_found(&mut self, session: &SessionKey, turn: u64) -> Result<(), DocumentError> {
        self.found_by_turns.remove(session);
        let (facts, since) = (self.facts().await?, self.followed_facts());
        if facts.is_some() && facts == since {
            return Ok(());
        }
        let found = self.find().await?;
        let is_known = since.is_some() || self.was_missing || self.record.is_some();
        let is_folder = facts.is_none() && !self.is_missing().await?;
        if found.is_none() && !is_known || is_folder {
            return Ok(());
        }
        let file = match self.read_file(found.as_ref().map(|found| &found.buffer)).await {
            Err(DocumentError::NotText { .. } | DocumentError::Large { .. }) if found.is_none() => {
                // What is known of it is about another file.
                (self.record, self.baseline, self.unopened_change) = (None, None, None);
                (self.was_missing, self.preloaded) = (false, None);
                return Ok(());
            }
            file => file?,
        };
        if let Some(found) = found {
            let loaded = self.text_of(found).await?;
            let is_followed = match &file {
                Some(file) => self.is_baseline(&loaded, file).await?,
                // Its buffer is all that is left of it.
                None => true,
            };
            if is_followed {
                return Ok(());
            }
        }
        let since = self.followed_facts();
        self.found_by_turns.insert(session.clone(), FoundByTurn { turn, since, file });
        Ok(())
    }

    /// Follows a file that is not loaded as nobody's, before something is brought into it that is somebody's.
    async fn follow_as_nobodys(&mut self) -> Result<(), DocumentError> {
        if self.record.is_none() || self.find().await?.is_some() {
            return Ok(());
        }
        let (facts, followed) = (self.facts().await?, self.followed_facts());
        if facts.is_some() && facts == followed {
            return Ok(());
        }
        let file = self.read_file(None).await?;
        if file.is_none() && !self.is_missing().await? {
            return Ok(());
        }
        let of_file = |file: &DiskText| Version::of_file(file.text.clone());
        self.update_record(file.as_ref().map_or_else(|| self.no_file(), of_file)).await?;
        self.was_missing = file.is_none();
        (self.baseline, self.preloaded) = (file, None);
        Ok(())
    }

    pub(super) fn followed_facts(&self) -> Option<DiskFacts> {
        self.baseline.as_ref().map(|baseline| baseline.facts)
    }

    /// What a turn had found in the file, as far as it has not been followed.
    pub(super) fn found_by(&self, by: &Author) -> Option<&FoundByTurn> {
        let found = self.found_by_turns.get(&by.session)?;
        (found.turn == by.turn && found.since == self.followed_facts()).then_some(found)
    }

    /// Begins with what a turn had found in a file that is not loaded. Returns whether the file is as it was then.
    pub(super) async fn begin_as_found(&mut self, by: &Author) -> Result<bool, DocumentError> {
        if self.found_by(by).is_none() {
            return Ok(false);
        }
        let Some(found) = self.found_by_turns.remove(&by.session) else { return Ok(false) };
        let of_file = |file: &DiskText| Version::of_file(file.text.clone());
        let version = found.file.as_ref().map_or_else(|| self.no_file(), of_file);
        self.update_record(version).await?;
        self.was_missing = found.file.is_none();
        (self.baseline, self.preloaded) = (found.file, None);
        let known = self.followed_facts();
        Ok(match self.facts().await? {
            None => known.is_none() && self.is_missing().await?,
            now => now == known,
        })
    }
}

impl Documents {
    /// Follows a file that is known and not loaded as nobody's, before something is brought into it that is somebody's.
    pub async fn follow_as_nobodys(&self, path: &Path) -> Result<(), DocumentError> {
        let Some(document) = self.known_document(path) else { return Ok(()) };
        run_to_completion(async move { document.lock().await.follow_as_nobodys().await }).await
    }

    /// Notes what a turn finds on disk in these files and in those that are known, before its agent may change them. What is
    /// not done by the deadline is left out.
    pub async fn note_found(
        &self,
        paths: impl IntoIterator<Item = PathBuf>,
        (session, turn): (&SessionKey, u64),
        deadline: Instant,
    ) {
        let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
        self.unseen.begin(session, turn, paths.clone());
        self.call_times.begin(session, turn, SystemTime::now());
        let mut looking = tokio::task::JoinSet::new();
        let saw = |path: Option<PathBuf>| {
            if let Some(path) = path {
                self.unseen.saw(session, turn, &path);
            }
        };
        for path in paths {
            if looking.len() >= AT_ONCE
                && let Ok(Some(Ok(path))) = timeout_at(deadline, looking.join_next()).await
            {
                saw(path);
            }
            let (document, session) = (self.document(&path), session.clone());
            looking.spawn(async move {
                match document.lock().await.note_found(&session, turn).await {
                    Ok(()) => Some(path),
                    Err(error) => {
                        tracing::debug!(path = %path.display(), %error, "what a turn has found is not known");
                        None
                    }
                }
            });
        }
        while let Ok(Some(seen)) = timeout_at(deadline, looking.join_next()).await {
            saw(seen.ok().flatten());
        }
        // A file that takes longer is looked at all the same, but not waited for.
        looking.detach_all();
    }
}

/// Returns a buffer's text with what was found on disk, but for the places where the turn has left the buffer's lines: that is
/// no change of a turn that has written the file from the text of the buffer.
pub(super) fn found_and_kept(live: &Text, found: &Text, after: &Text) -> Text {
    let changed: Vec<_> = diff(live, after).iter().map(Hunk::old).collect();
    let touches = |hunk: &Hunk| {
        let old = hunk.old();
        changed.iter().any(|other| other.start <= old.end && old.start <= other.end)
    };
    let kept: Vec<Hunk> = diff(live, found).into_iter().filter(touches).collect();
    apply(&kept, live).with_shape(found.shape())
}
