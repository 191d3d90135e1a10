//! Collects what an agent cannot see of documents, to be sent along with a prompt: unsaved text, and changes others
//! have made to files the agent wrote. May save buffers if asked to, but changes no text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex as Queue;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::agent_view::Acknowledged;
use super::blocking::run_blocking;
use super::disk_text::DiskText;
use super::document::{ChangeOutcome, Document, LoadedBuffer};
use super::editor::Then;
use super::error::DocumentError;
use super::registry::Documents;
use crate::core::messages::files::{ChangedFile, ReportedChange, UnsavedFile};
use crate::edit::Snapshot;
use crate::edit::unified::FileDiff;
use crate::session::author::SessionKey;

/// A task that examines one file.
type Task<T> = JoinHandle<Result<Option<T>, DocumentError>>;

/// A file with unsaved changes, and if it could not be saved, a message for the user.
type Unsaved = (UnsavedFile, Option<String>);

impl Documents {
    /// Returns the lock that is held while the end of a session's turn is processed.
    fn turn_end_lock(&self, session: &SessionKey) -> Arc<Queue<()>> {
        Arc::clone(self.turn_ends.lock().entry(session.clone()).or_default())
    }

    /// Resolves a folder to its real path, or returns it as it is if that fails or is not done in time.
    async fn real_folder(&self, folder: &Path, deadline: Instant) -> PathBuf {
        let own = folder.to_owned();
        let resolving = self.disks().call(folder, move |_| own.canonicalize());
        let real = timeout_at(deadline, resolving).await.ok().and_then(Result::ok);
        real.and_then(Result::ok).unwrap_or_else(|| folder.to_owned())
    }

    /// Collects the unsaved changes of these files, given by real path; the diffs name them relative to `cwd`. With
    /// `save`, the buffers are saved, and only those for which that fails are returned, along with one message each.
    /// Files that take longer than the deadline are omitted.
    pub async fn unsaved(
        &self,
        paths: Vec<PathBuf>,
        cwd: &Path,
        save: bool,
        deadline: Instant,
    ) -> (Vec<UnsavedFile>, Vec<String>) {
        let cwd = self.real_folder(cwd, deadline).await;
        let task = |path: PathBuf| {
            let (document, label) = (self.document(&path), label(&path, &cwd));
            let work =
                tokio::spawn(async move { document.lock().await.unsaved(&label, save).await });
            (path, work)
        };
        let (files, problems): (Vec<_>, Vec<_>) =
            collect(deadline, paths.into_iter().map(task).collect()).await.into_iter().unzip();
        (files, problems.into_iter().flatten().collect())
    }

    /// Collects the changes that others have made to files `session` wrote, since it last knew them. With
    /// `reads_buffers`, that is, for an agent that reads files through us, those are changes in buffers, otherwise on
    /// disk. Files that take longer than the deadline are omitted.
    pub async fn changed(
        &self,
        session: &SessionKey,
        cwd: &Path,
        reads_buffers: bool,
        deadline: Instant,
    ) -> Vec<ChangedFile> {
        // Wait until the end of the previous turn has been processed.
        let Ok(_lock) = timeout_at(deadline, self.turn_end_lock(session).lock_owned()).await else {
            return Vec::new();
        };
        let cwd = self.real_folder(cwd, deadline).await;
        let tasks = self.documents_of(session).into_iter().map(|(path, document)| {
            let (session, label) = (session.clone(), label(&path, &cwd));
            let work = tokio::spawn(async move {
                document.lock().await.changed(&session, &label, reads_buffers).await
            });
            (path, work)
        });
        collect(deadline, tasks.collect()).await
    }

    /// Processes the end of a turn of `session`. If the agent accepted the prompt (`taken`), it now knows the changes
    /// it was told of. Everything on disk that Neovim did not write counts as the agent's own work, except in files it
    /// was to be told of and was not.
    pub async fn turn_ended(
        &self,
        session: &SessionKey,
        told: Vec<ReportedChange>,
        taken: bool,
        reads_buffers: bool,
    ) {
        let _lock = self.turn_end_lock(session).lock_owned().await;
        let not_told: Vec<PathBuf> =
            told.iter().filter(|_| !taken).map(|report| report.path.clone()).collect();
        for report in told.into_iter().filter(|_| taken) {
            self.document_for(&report.path, session)
                .lock()
                .await
                .acknowledge_report(session, report);
        }
        let documents = self.documents_of(session).into_iter();
        for (path, document) in documents.filter(|(path, _)| !not_told.contains(path)) {
            if let Err(error) = document.lock().await.record_turn_end(session, reads_buffers).await
            {
                tracing::debug!(path = %path.display(), %error, "not known at the end of a turn");
            }
        }
    }
}

/// Returns the results of the tasks that finish by the deadline. Failures are logged; the other tasks go on running.
async fn collect<T>(deadline: Instant, tasks: Vec<(PathBuf, Task<T>)>) -> Vec<T> {
    let mut results = Vec::new();
    for (path, task) in tasks {
        match timeout_at(deadline, task).await {
            Ok(Ok(Ok(result))) => results.extend(result),
            Ok(Ok(Err(error))) => {
                tracing::warn!(path = %path.display(), %error, "not told to the agent");
            }
            Ok(Err(error)) => {
                tracing::error!(path = %path.display(), %error, "not told to the agent");
            }
            Err(_) => {
                tracing::warn!(path = %path.display(), "not told to the agent: it took too long");
            }
        }
    }
    results
}

/// Returns the path relative to `cwd` if it is below that.
fn label(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned()
}

impl Document {
    /// Returns the unsaved changes of this file, or saves them if asked to. `None` if there are none, or they were
    /// saved.
    async fn unsaved(&mut self, label: &str, save: bool) -> Result<Option<Unsaved>, DocumentError> {
        let Some((loaded, file)) = self.buffer_and_file().await? else { return Ok(None) };
        if !loaded.buffer.modified {
            return Ok(None);
        }
        let (path, old) = (label.to_owned(), file.as_ref().map(|file| file.text.clone()));
        let new = loaded.text.clone();
        let diff = run_blocking(move || FileDiff::new(&path, old.as_deref(), Some(&new))).await?;
        let Some(diff) = diff else { return Ok(None) };
        let problem = if save {
            match self.save(&loaded, file.as_ref()).await {
                Ok(()) => return Ok(None),
                Err(DocumentError::Refused { reason, .. }) => Some(reason),
                Err(error) => Some(error.to_string()),
            }
        } else {
            None
        };
        let problem = problem
            .map(|why| format!("Could not save {label}: {why}. The agent gets a note instead."));
        let uri = Url::from_file_path(&self.path).map(String::from).unwrap_or_default();
        Ok(Some((UnsavedFile { diff, uri, text: loaded.text.into_text() }, problem)))
    }

    /// Saves the buffer unchanged, unless somebody else has written the file.
    async fn save(
        &mut self,
        loaded: &LoadedBuffer,
        file: Option<&DiskText>,
    ) -> Result<(), DocumentError> {
        let refused = |reason: &str| DocumentError::Refused {
            path: self.path.clone(),
            reason: reason.to_owned(),
        };
        if let Some(reason) = &loaded.buffer.locked {
            return Err(refused(reason));
        }
        let changed = refused("the file has changed on disk");
        if let Some(file) = file
            && (loaded.buffer.stamp.is_none() || !self.is_baseline(loaded, file).await?)
        {
            return Err(changed);
        }
        let then = Then::Save { eol: loaded.text.shape().final_newline };
        match self.apply_edits(loaded, Vec::new(), then).await? {
            ChangeOutcome::Done { after, stamp, .. } => {
                let facts = self.facts().await?.map(|facts| facts.as_stamped(stamp));
                let encoding = loaded.buffer.encoding.clone();
                self.baseline = facts.map(|facts| DiskText { text: after, facts, encoding });
                Ok(())
            }
            ChangeOutcome::Failed { reason, .. } => {
                Err(DocumentError::Refused { path: self.path.clone(), reason })
            }
            ChangeOutcome::Retry => Err(DocumentError::Busy(self.path.clone())),
        }
    }

    /// Records that `session` knows the file as it has just sent it.
    pub(super) fn acknowledge_sent(&mut self, session: &SessionKey) {
        let text = self.merge_base(session).cloned();
        let merge_base = text.as_ref().map(Snapshot::revision);
        self.acknowledged.insert(session.clone(), Acknowledged { merge_base, text });
    }

    /// Records that `session` knows the file with this text on disk, usually since it has written that itself. `None`
    /// means that there is no file.
    pub(super) fn acknowledge_disk(&mut self, session: &SessionKey, text: Option<&Snapshot>) {
        let merge_base = self.merge_base(session).map(Snapshot::revision);
        let text = text.cloned();
        self.acknowledged.insert(session.clone(), Acknowledged { merge_base, text });
    }

    fn merge_base(&self, session: &SessionKey) -> Option<&Snapshot> {
        self.views.get(session).and_then(|view| view.merge_base.as_ref())
    }

    /// Returns the text that a session which has written this file knows. `None` means that there is no file.
    fn known_text(&self, session: &SessionKey) -> Option<Snapshot> {
        let merge_base = self.merge_base(session);
        match self.acknowledged.get(session) {
            Some(newer) if newer.merge_base == merge_base.map(Snapshot::revision) => {
                newer.text.clone()
            }
            _ => merge_base.cloned(),
        }
    }

    /// Compares what a session knows of this file with what is there. `None` if nothing has changed, or the session has
    /// not written the file.
    async fn changed(
        &mut self,
        session: &SessionKey,
        label: &str,
        reads_buffers: bool,
    ) -> Result<Option<ChangedFile>, DocumentError> {
        if !self.acknowledged.contains_key(session) {
            return Ok(None);
        }
        let was = self.known_text(session);
        let now = match self.find().await? {
            Some(found) if reads_buffers => Some(self.text_of(found).await?.text),
            found => {
                let buffer = found.as_ref().map(|found| &found.buffer);
                self.read_file(buffer).await?.map(|file| file.text)
            }
        };
        let revision = was.as_ref().map(Snapshot::revision);
        let (path, new) = (label.to_owned(), now.clone());
        let diff =
            run_blocking(move || FileDiff::new(&path, was.as_deref(), new.as_deref())).await?;
        let told = ReportedChange { path: self.path.clone(), was: revision, now };
        Ok(diff.map(|diff| ChangedFile { diff, report: told }))
    }

    /// Records that a session knows a change it was told of, unless it has read or written something newer since the
    /// report was made.
    fn acknowledge_report(&mut self, session: &SessionKey, report: ReportedChange) {
        if self.known_text(session).map(|text| text.revision()) == report.was {
            self.acknowledge_disk(session, report.now.as_ref());
        }
    }

    /// At the end of a turn, records the file on disk as the session's own work if neither Neovim nor we have written
    /// it.
    async fn record_turn_end(
        &mut self,
        session: &SessionKey,
        reads_buffers: bool,
    ) -> Result<(), DocumentError> {
        if !self.acknowledged.contains_key(session) {
            return Ok(());
        }
        let facts = self.facts().await?;
        if facts.is_some() && facts == self.baseline.as_ref().map(|baseline| baseline.facts) {
            return Ok(());
        }
        let found = self.find().await?;
        if found.is_some() && reads_buffers {
            // What its commands have written is recorded when the buffer follows the disk.
            return Ok(());
        }
        let file = self.read_file(found.as_ref().map(|found| &found.buffer)).await?;
        if let (Some(found), Some(file)) = (found, &file) {
            let loaded = self.text_of(found).await?;
            if self.is_baseline(&loaded, file).await? {
                return Ok(());
            }
        }
        self.acknowledge_disk(session, file.as_ref().map(|file| &file.text));
        Ok(())
    }
}
