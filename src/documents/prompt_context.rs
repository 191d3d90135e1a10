//! What an agent cannot see of documents: text that is not saved, and what others made of the files it wrote. It saves
//! what it is told to and changes no text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex as Queue;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::Files;
use super::document::{Document, Made, Open, beside};
use super::editor::Then;
use super::error::FileError;
use super::on_disk::OnDisk;
use crate::core::event::{ChangedFile, Told, UnsavedFile};
use crate::edit::Text;
use crate::edit::unified::FileDiff;
use crate::session::author::SessionKey;

/// What a session knows of a file it wrote, where that is more than `Known::text`.
///
/// That one stays what the session read or sent: it is what writes refer to. An agent that was told of a change, or made
/// one with a shell command, may still send a text made from what it read before; with the newer text as the base of
/// the merge, that would take the change back without a word.
#[derive(Debug)]
pub(super) struct Aware {
    /// `Known::text` when this was noted: once the agent has read or sent another text, that counts.
    known: Option<Arc<Text>>,
    /// `None`: that there is no file.
    text: Option<Arc<Text>>,
}

/// What is found out of a file, in a task of its own.
type Finding<T> = JoinHandle<Result<Option<T>, FileError>>;

/// A file with unsaved changes, and why it could not be saved, if it was to be.
type Unsaved = (UnsavedFile, Option<String>);

impl Files {
    fn turn_over_of(&self, session: &SessionKey) -> Arc<Queue<()>> {
        Arc::clone(self.turns_over.lock().entry(session.clone()).or_default())
    }

    /// A folder by its real path, where that can be had.
    async fn real(&self, folder: &Path) -> PathBuf {
        let own = folder.to_owned();
        let real = self.disks.call(folder, move |_| own.canonicalize()).await;
        real.ok().and_then(Result::ok).unwrap_or_else(|| folder.to_owned())
    }

    /// The unsaved changes of these files (real paths), shown as seen from `cwd`. With `save` the buffers are saved:
    /// only those where that fails are left, each with a line that says why. What is not there by the deadline is left
    /// out.
    pub async fn unsaved(
        &self,
        paths: Vec<PathBuf>,
        cwd: &Path,
        save: bool,
        deadline: Instant,
    ) -> (Vec<UnsavedFile>, Vec<String>) {
        let cwd = self.real(cwd).await;
        let task = |path: PathBuf| {
            let (document, label) = (self.document(&path), label(&path, &cwd));
            let work =
                tokio::spawn(async move { document.lock().await.unsaved(&label, save).await });
            (path, work)
        };
        let (files, problems): (Vec<_>, Vec<_>) =
            by(deadline, paths.into_iter().map(task).collect()).await.into_iter().unzip();
        (files, problems.into_iter().flatten().collect())
    }

    /// What became of the files that `session` wrote since it last saw them: in their buffers for an agent that reads
    /// those, else on disk. What is not there by the deadline is left out.
    pub async fn changed(
        &self,
        session: &SessionKey,
        cwd: &Path,
        reads_buffers: bool,
        deadline: Instant,
    ) -> Vec<ChangedFile> {
        // What the turn before has left is noted first.
        let Ok(_turn_over) = timeout_at(deadline, self.turn_over_of(session).lock_owned()).await
        else {
            return Vec::new();
        };
        let cwd = self.real(cwd).await;
        let tasks = self.of(session).into_iter().map(|(path, document)| {
            let (session, label) = (session.clone(), label(&path, &cwd));
            let work = tokio::spawn(async move {
                document.lock().await.changed(&session, &label, reads_buffers).await
            });
            (path, work)
        });
        by(deadline, tasks.collect()).await
    }

    /// The turn of `session` is over: it knows what it was told, if it has taken that in, and what is on disk is its
    /// own doing, but for what Neovim wrote there and what it was to be told.
    pub async fn turn_over(
        &self,
        session: &SessionKey,
        told: Vec<Told>,
        taken: bool,
        reads_buffers: bool,
    ) {
        let _turn_over = self.turn_over_of(session).lock_owned().await;
        let missed: Vec<PathBuf> =
            told.iter().filter(|_| !taken).map(|told| told.path.clone()).collect();
        for told in told.into_iter().filter(|_| taken) {
            self.touch(&told.path, session).lock().await.take_told(session, told);
        }
        for (path, document) in
            self.of(session).into_iter().filter(|(path, _)| !missed.contains(path))
        {
            if let Err(error) = document.lock().await.take_stock(session, reads_buffers).await {
                tracing::debug!(path = %path.display(), %error, "not known at the end of a turn");
            }
        }
    }
}

/// What the tasks gave by the deadline; the others go on, and the log says so.
async fn by<T>(deadline: Instant, tasks: Vec<(PathBuf, Finding<T>)>) -> Vec<T> {
    let mut found = Vec::new();
    for (path, task) in tasks {
        match timeout_at(deadline, task).await {
            Ok(Ok(Ok(one))) => found.extend(one),
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
    found
}

fn label(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned()
}

impl Document {
    async fn unsaved(&mut self, label: &str, save: bool) -> Result<Option<Unsaved>, FileError> {
        let Some((open, file)) = self.open_with_disk().await? else { return Ok(None) };
        if !open.buffer.modified {
            return Ok(None);
        }
        let (path, old) = (label.to_owned(), file.as_ref().map(|file| Arc::clone(&file.text)));
        let new = Arc::clone(&open.text);
        let diff = beside(move || FileDiff::new(&path, old.as_deref(), Some(&new))).await?;
        let Some(diff) = diff else { return Ok(None) };
        let problem = if save {
            match self.save(&open, file.as_ref()).await {
                Ok(()) => return Ok(None),
                Err(FileError::Refused { reason, .. }) => Some(reason),
                Err(error) => Some(error.to_string()),
            }
        } else {
            None
        };
        let problem =
            problem.map(|why| format!("{label} was not saved ({why}): the agent gets a note"));
        let uri = Url::from_file_path(&self.path).map(String::from).unwrap_or_default();
        Ok(Some((UnsavedFile { diff, uri, text: open.text }, problem)))
    }

    /// Saves the buffer as it is, unless somebody else has written the file.
    async fn save(&mut self, open: &Open, file: Option<&OnDisk>) -> Result<(), FileError> {
        let refused = |reason: &str| FileError::Refused {
            path: self.path.clone(),
            reason: reason.to_owned(),
        };
        if let Some(reason) = &open.buffer.locked {
            return Err(refused(reason));
        }
        let changed = refused("the file has changed on disk");
        if let Some(file) = file
            && (open.buffer.stamp.is_none() || !self.is_synced(open, file).await?)
        {
            return Err(changed);
        }
        let then = Then::Save { eol: open.text.shape().final_newline };
        match self.make(open, Vec::new(), then).await? {
            Made::Done { after, stamp, .. } => {
                let facts = self.facts().await?.map(|facts| facts.as_stamped(stamp));
                let encoding = open.buffer.encoding.clone();
                self.synced = facts.map(|facts| OnDisk { text: after, facts, encoding });
                Ok(())
            }
            Made::Failed { reason, .. } => {
                Err(FileError::Refused { path: self.path.clone(), reason })
            }
            Made::Again => Err(FileError::Busy(self.path.clone())),
        }
    }

    /// Notes that `session` has sent a text of this file.
    pub(super) fn note_written(&mut self, session: &SessionKey) {
        let known = self.read_or_sent(session).cloned();
        self.written.insert(session.clone(), Aware { text: known.clone(), known });
    }

    /// Notes that `session` has brought the file into this state on disk itself; `None` is no file.
    pub(super) fn note_on_disk(&mut self, session: &SessionKey, text: Option<&Arc<Text>>) {
        let known = self.read_or_sent(session).cloned();
        self.written.insert(session.clone(), Aware { known, text: text.cloned() });
    }

    fn read_or_sent(&self, session: &SessionKey) -> Option<&Arc<Text>> {
        self.known.get(session).and_then(|known| known.text.as_ref())
    }

    /// What a session that has written this file knows of it; `None` is no file.
    fn knows(&self, session: &SessionKey) -> Option<Arc<Text>> {
        let known = self.read_or_sent(session);
        match self.written.get(session) {
            Some(aware) if same(aware.known.as_ref(), known) => aware.text.clone(),
            _ => known.cloned(),
        }
    }

    async fn changed(
        &mut self,
        session: &SessionKey,
        label: &str,
        reads_buffers: bool,
    ) -> Result<Option<ChangedFile>, FileError> {
        if !self.written.contains_key(session) {
            return Ok(None);
        }
        let was = self.knows(session);
        let now = match self.find().await? {
            Some(found) if reads_buffers => Some(self.text_of(found).await?.text),
            found => {
                let buffer = found.as_ref().map(|found| &found.buffer);
                self.on_disk(buffer).await?.map(|file| file.text)
            }
        };
        let (path, old, new) = (label.to_owned(), was.clone(), now.clone());
        let diff = beside(move || FileDiff::new(&path, old.as_deref(), new.as_deref())).await?;
        let told = Told { path: self.path.clone(), was, now };
        Ok(diff.map(|diff| ChangedFile { diff, told }))
    }

    /// The session has taken in what it was told, unless it has learned something newer meanwhile.
    fn take_told(&mut self, session: &SessionKey, told: Told) {
        if same(self.knows(session).as_ref(), told.was.as_ref()) {
            self.note_on_disk(session, told.now.as_ref());
        }
    }

    /// What is on disk at the end of a turn and was not written by Neovim or by us, the session has written.
    async fn take_stock(
        &mut self,
        session: &SessionKey,
        reads_buffers: bool,
    ) -> Result<(), FileError> {
        if !self.written.contains_key(session) {
            return Ok(());
        }
        let facts = self.facts().await?;
        if facts.is_some() && facts == self.synced.as_ref().map(|synced| synced.facts) {
            return Ok(());
        }
        let found = self.find().await?;
        if found.is_some() && reads_buffers {
            // What its commands wrote comes into the buffer, and is noted then.
            return Ok(());
        }
        let file = self.on_disk(found.as_ref().map(|found| &found.buffer)).await?;
        if let (Some(found), Some(file)) = (found, &file) {
            let open = self.text_of(found).await?;
            if self.is_synced(&open, file).await? {
                return Ok(());
            }
        }
        self.note_on_disk(session, file.as_ref().map(|file| &file.text));
        Ok(())
    }
}

fn same(a: Option<&Arc<Text>>, b: Option<&Arc<Text>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}
