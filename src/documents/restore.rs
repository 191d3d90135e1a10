//! Documents and checkpoints: the text of a file before an agent changed it unnoticed, and buffers that get back what a turn
//! has changed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::blocking::run_blocking;
use super::change::Origin;
use super::disk_text::DiskText;
use super::document::{Document, LoadedBuffer, MAX_TRIES};
use super::error::DocumentError;
use super::facts::DiskFacts;
use super::registry::{Documents, run_to_completion};
use super::review::choose;
use crate::core::messages::review::ChangeScope;
use crate::edit::{Record, Snapshot, Text, Version, apply, diff, merge, without_own};
use crate::session::author::Author;

/// What is known of who changed a file in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// Nothing: the file is not text, or was never looked at.
    Unknown,
    /// The agent did not: Neovim has saved the file, or somebody else has changed it.
    No,
    /// The agent did.
    Yes {
        /// When it did so last.
        by: Author,
        /// Whether it said so: it wrote the file through us, or while a tool call ran. Otherwise somebody else may have changed
        /// the file at the same time.
        is_certain: bool,
    },
}

/// What a file would be without a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Without {
    /// The text.
    pub text: Snapshot,
    /// Whether there would be a file.
    pub exists: bool,
    /// How many places would change.
    pub hunks: usize,
    /// How many places would stay, because somebody has changed them since.
    pub conflicts: usize,
}

/// What an agent and others have made of a file on disk in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it would be without the agent.
    pub without: WithoutAgent,
}

/// What a file on disk would be without what an agent did in a turn, but with what others have changed meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithoutAgent {
    /// What it was before: nobody else has changed it.
    AsBefore,
    /// There would be no file.
    Nothing,
    /// It would have these bytes.
    Bytes(Vec<u8>),
}

/// What came of replacing the text of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// It was replaced.
    Done,
    /// There was nothing to replace.
    AsBefore,
    /// The same lines have changed, or the file is not loaded any more. Nothing was replaced.
    Contested,
}

/// Whether to replace the text of a buffer, or only to find out what would come of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Replacement<'a> {
    Planned,
    /// As a change of this agent, if it is one's.
    By(Option<&'a Author>),
}

impl Document {
    /// Returns what is known of who changed the file in a turn. The tool call in `by` does not count.
    pub(super) async fn touched(&mut self, by: &Author) -> Result<Touched, DocumentError> {
        if let Some(origin) = self.deleted_by().await?
            && turn_of(by).includes(&origin.author())
        {
            return Ok(Touched::Yes { is_certain: origin.is_certain, by: origin.by });
        }
        let is_followed = self.is_followed().await?;
        let no = if is_followed { Touched::No } else { Touched::Unknown };
        let Some(record) = &self.record else { return Ok(no) };
        let scope = turn_of(by);
        let steps = || record.origins().filter(|origin| scope.includes(&origin.author()));
        let is_certain = steps().all(|origin| origin.is_certain);
        let last = steps().last();
        Ok(last.map_or(no, |origin| Touched::Yes { by: origin.by.clone(), is_certain }))
    }

    /// Whether what is there now is known, so that an agent that has not made it would be known not to have.
    async fn is_followed(&mut self) -> Result<bool, DocumentError> {
        self.record_baseline().await?;
        // Nobody tells who has changed a file that is not open and has no record.
        if self.record.is_none() && self.find().await?.is_none() {
            return Ok(false);
        }
        let known = self.baseline.as_ref().map(|baseline| baseline.facts);
        Ok(match self.facts().await? {
            None => {
                let is_gone = self.record.as_ref().is_some_and(|record| !record.form().exists);
                is_gone && self.is_missing().await?
            }
            now => now == known,
        })
    }

    /// Returns who has deleted the file while it was loaded, if it has not come back since.
    pub(super) async fn deleted_by(&mut self) -> Result<Option<Origin>, DocumentError> {
        if self.deleted_by.is_some() && !self.is_missing().await? {
            self.deleted_by = None;
        }
        Ok(self.deleted_by.clone())
    }

    /// Returns what the file would be without these changes, as far as they are still pending. `None` if there are none.
    pub(super) async fn without(
        &mut self,
        scope: ChangeScope,
    ) -> Result<Option<Without>, DocumentError> {
        let Some(record) = self.present_record().await? else { return Ok(None) };
        let revisions = Arc::clone(&self.revisions);
        run_blocking(move || {
            let (planned, choice) = choose(record.clone(), &scope);
            if choice.is_empty() {
                return None;
            }
            let rejection = planned.plan_rejection(&choice);
            let form = rejection.form.unwrap_or(record.form());
            let text = apply(&rejection.hunks, record.current()).with_shape(form.shape);
            let text = revisions.snapshot(text);
            let hunks = rejection.hunks.len().max(usize::from(rejection.form.is_some()));
            let conflicts = rejection.conflicts.len();
            Some(Without { text, exists: form.exists, hunks, conflicts })
        })
        .await
    }

    /// Returns what became of the file on disk in a turn in which it was `before`, whether what the agent did was kept or not.
    /// `None` if that is not known.
    pub(super) async fn turn_file(
        &mut self,
        before: Option<Vec<u8>>,
        by: &Author,
    ) -> Result<Option<TurnFile>, DocumentError> {
        let loaded = self.buffer_with_text().await?;
        let buffer = loaded.as_ref().map(|loaded| &loaded.buffer);
        let Some(file) = self.read_file(buffer).await? else { return Ok(None) };
        let of_file = || Version::of_file(file.text.clone());
        self.update_record(loaded.as_ref().map_or_else(of_file, LoadedBuffer::version)).await?;
        let Some(record) = self.record.clone() else { return Ok(None) };
        let before = match before {
            Some(bytes) => self.decode_file(bytes, DiskFacts::MISSING, buffer).await?.text,
            None => self.revisions.snapshot(Text::default()),
        };
        let (scope, disk) = (turn_of(by), file.text.clone());
        let without = run_blocking(move || {
            let is_chosen = |origin: &Origin| scope.includes(&origin.author());
            let others = without_own(&before, &disk, &record.turnover(is_chosen))?;
            if !record.current().same_lines(&disk) {
                return Some(Some(others));
            }
            let record = Record::clone(&record).as_if_pending(|_| true);
            let rejection = record.plan_rejection(&record.choose(None, is_chosen));
            let form = rejection.form.unwrap_or(record.form());
            let text = apply(&rejection.hunks, &disk).with_shape(form.shape);
            Some(form.exists.then_some(text))
        });
        let without = match without.await? {
            None => WithoutAgent::AsBefore,
            Some(None) => WithoutAgent::Nothing,
            Some(Some(text)) => {
                let text = self.revisions.snapshot(text);
                WithoutAgent::Bytes(self.encode_file(text, &file.encoding).await?)
            }
        };
        let bytes = self.encode_file(file.text, &file.encoding).await?;
        Ok(Some(TurnFile { bytes, without }))
    }

    /// Returns the bytes that saving the buffer would write, and whether it has unsaved changes. `None` if the file is not
    /// loaded.
    pub(super) async fn buffer_bytes(&mut self) -> Result<Option<(Vec<u8>, bool)>, DocumentError> {
        let Some(loaded) = self.buffer_with_text().await? else { return Ok(None) };
        let bytes = self.encode_file(loaded.text, &loaded.buffer.encoding).await?;
        Ok(Some((bytes, loaded.buffer.modified)))
    }

    /// Whether these are the bytes of a file with this text.
    pub(super) async fn is_text_of(
        &self,
        text: &Snapshot,
        bytes: Vec<u8>,
    ) -> Result<bool, DocumentError> {
        let decoded = self.decode_file(bytes, DiskFacts::MISSING, None).await?;
        Ok(decoded.text == *text)
    }

    /// Whether what a file that is not loaded would be without a turn has every line that is there and that the turn had found:
    /// `found` are its bytes then.
    pub(super) async fn agrees(
        &mut self,
        without: Snapshot,
        found: Vec<u8>,
    ) -> Result<bool, DocumentError> {
        let now = self.present_version().await?.text;
        let found = self.decode_file(found, DiskFacts::MISSING, None).await?.text;
        run_blocking(move || {
            let mut lines: HashMap<&str, [usize; 3]> = HashMap::new();
            for (at, text) in [&without, &now, &found].into_iter().enumerate() {
                text.lines().for_each(|line| lines.entry(line).or_default()[at] += 1);
            }
            lines.values().all(|&[without, now, found]| without >= now.min(found))
        })
        .await
    }

    /// Turns the text of a loaded buffer from that of `base` into that of `target`, and keeps what else has changed since
    /// `base`. Saves it if it was not modified.
    pub(super) async fn replace_text(
        &mut self,
        (base, target): (Vec<u8>, Vec<u8>),
        replacement: Replacement<'_>,
    ) -> Result<Replaced, DocumentError> {
        for _ in 0..MAX_TRIES {
            let Some((loaded, file)) = self.buffer_and_file().await? else {
                return Ok(Replaced::Contested);
            };
            let buffer = Some(&loaded.buffer);
            let base = self.decode_file(base.clone(), DiskFacts::MISSING, buffer).await?.text;
            let target = self.decode_file(target.clone(), DiskFacts::MISSING, buffer).await?.text;
            let live = loaded.text.clone();
            let merged = run_blocking(move || {
                let merged = merge(&base, &live, &target).ok()?;
                let is_live = live.same_lines(&base);
                let shape = if is_live { target.shape() } else { live.shape() };
                Some((merged.hunks, shape))
            });
            let Some((hunks, shape)) = merged.await? else { return Ok(Replaced::Contested) };
            if hunks.is_empty() && shape == loaded.text.shape() {
                return Ok(Replaced::AsBefore);
            }
            let Replacement::By(by) = replacement else { return Ok(Replaced::Done) };
            let before = loaded.version();
            let Some(after) = self.change_loaded(loaded, file, &hunks, shape, false).await? else {
                continue;
            };
            match by {
                Some(by) => {
                    let hunks = diff(&before.text, &after.text);
                    let origin = self.on_disk(by);
                    self.record_change(origin, before, after, &hunks).await?;
                }
                None => self.update_record(after).await?,
            }
            return Ok(Replaced::Done);
        }
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Returns the bytes of the file with what leads from `base` to `target` made in it, too. `None` if somebody has changed
    /// the same lines.
    pub(super) async fn merged_bytes(
        &mut self,
        base: Vec<u8>,
        target: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, DocumentError> {
        let Some(DiskText { text: live, encoding, .. }) = self.read_file(None).await? else {
            return Ok(None);
        };
        let base = self.decode_file(base, DiskFacts::MISSING, None).await?.text;
        let target = self.decode_file(target, DiskFacts::MISSING, None).await?.text;
        let merged = run_blocking(move || -> Option<Text> {
            let merged = merge(&base, &live, &target).ok()?;
            Some(apply(&merged.hunks, &live).with_shape(live.shape()))
        });
        let Some(text) = merged.await? else { return Ok(None) };
        self.encode_file(self.revisions.snapshot(text), &encoding).await.map(Some)
    }

    /// Whether the file is loaded, and whether its buffer has unsaved changes.
    pub(super) async fn loaded_state(&mut self) -> Result<Option<bool>, DocumentError> {
        Ok(self.find().await?.map(|found| found.buffer.modified))
    }
}

impl Documents {
    /// Returns what is known of who changed a file in a turn. The tool call in `by` does not count.
    pub async fn touched(&self, path: &Path, by: &Author) -> Result<Touched, DocumentError> {
        let Some(document) = self.known_document(path) else { return Ok(Touched::Unknown) };
        let by = by.clone();
        run_to_completion(async move { document.lock().await.touched(&by).await }).await
    }

    /// Whether a file was deleted while it was loaded, so that its lines are still in the buffer.
    pub async fn is_deleted_under_buffer(&self, path: &Path) -> bool {
        let Some(document) = self.known_document(path) else { return false };
        let deleted =
            run_to_completion(async move { document.lock().await.deleted_by().await }).await;
        deleted.is_ok_and(|by| by.is_some())
    }

    /// Returns what a file would be without these changes, as far as they are still pending. `None` if there are none.
    pub async fn without(
        &self,
        path: &Path,
        changes: ChangeScope,
    ) -> Result<Option<Without>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.without(changes).await }).await
    }

    /// Returns what became of a file on disk in a turn in which it was `before`, whether what the agent did was kept or not.
    /// `None` if that is not known.
    pub async fn turn_file(
        &self,
        path: &Path,
        before: Option<Vec<u8>>,
        by: &Author,
    ) -> Result<Option<TurnFile>, DocumentError> {
        let document = self.document(path);
        let by = by.clone();
        run_to_completion(async move { document.lock().await.turn_file(before, &by).await }).await
    }

    /// Returns the bytes that saving the buffer of a file would write, and whether it has unsaved changes. `None` if the file
    /// is not loaded.
    pub async fn buffer_bytes(
        &self,
        path: &Path,
    ) -> Result<Option<(Vec<u8>, bool)>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.buffer_bytes().await }).await
    }

    /// Whether these are the bytes of a file with this text.
    pub async fn is_text_of(
        &self,
        path: &Path,
        text: &Snapshot,
        bytes: Vec<u8>,
    ) -> Result<bool, DocumentError> {
        let document = self.document(path);
        let text = text.clone();
        run_to_completion(async move { document.lock().await.is_text_of(&text, bytes).await }).await
    }

    /// Whether what a file that is not loaded would be without a turn agrees with the bytes that the turn had found.
    pub async fn agrees(
        &self,
        path: &Path,
        without: &Without,
        found: Vec<u8>,
    ) -> Result<bool, DocumentError> {
        let (document, without) = (self.document(path), without.text.clone());
        run_to_completion(async move { document.lock().await.agrees(without, found).await }).await
    }

    /// Turns the text of a loaded buffer from that of `base` into that of `target`, and keeps what else has changed since
    /// `base`. Saves it if it was not modified. `by` is the agent whose change this is, if it is one's.
    pub async fn replace_text(
        &self,
        path: &Path,
        (base, target): (Vec<u8>, Vec<u8>),
        by: Option<&Author>,
    ) -> Result<Replaced, DocumentError> {
        let document = self.document(path);
        let by = by.cloned();
        run_to_completion(async move {
            let replacement = Replacement::By(by.as_ref());
            document.lock().await.replace_text((base, target), replacement).await
        })
        .await
    }

    /// Returns what [`Self::replace_text`] would come to.
    pub async fn can_replace_text(
        &self,
        path: &Path,
        (base, target): (Vec<u8>, Vec<u8>),
    ) -> Result<Replaced, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move {
            document.lock().await.replace_text((base, target), Replacement::Planned).await
        })
        .await
    }

    /// Returns the bytes of a file with what leads from `base` to `target` made in it, too. `None` if somebody has changed the
    /// same lines.
    pub async fn merged_bytes(
        &self,
        path: &Path,
        base: Vec<u8>,
        target: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.merged_bytes(base, target).await })
            .await
    }

    /// Whether a file is loaded, and whether its buffer has unsaved changes then.
    pub async fn loaded_state(&self, path: &Path) -> Result<Option<bool>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.loaded_state().await }).await
    }
}

/// Everything that an agent did in a turn.
pub(super) fn turn_of(by: &Author) -> ChangeScope {
    let (session, turn) = (Some(by.session.clone()), Some(by.turn));
    ChangeScope { session, turn, ..ChangeScope::default() }
}
