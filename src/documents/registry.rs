//! [`Documents`]: the documents that agents have accessed, with a queue for each, and the sessions that have accessed
//! them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Mutex as Queue;
use tokio::time::Instant;

use super::call_times::CallTimes;
use super::change::{AgentChange, Origin};
use super::disks::Disks;
use super::document::Document;
use super::editor::Editor;
use super::error::DocumentError;
use super::found_by_turn::Unseen;
use super::requests::{ReadRequest, WriteRequest};
use super::review::Decided;
use super::revisions::Revisions;
use super::scans::{DiskScan, DiskScans};
use super::session_documents::SessionDocuments;
use crate::core::messages::files::BufferEvent;
use crate::core::messages::review::{ChangeScope, ChangedFile, PendingFile};
use crate::edit::{PendingHunk, Record};
use crate::session::author::{Author, SessionKey};
use crate::session::ids::ToolCallId;

/// All documents that agents have accessed. Each has a queue: requests for one file are processed in the order they are
/// made.
///
/// A request that has been started is completed even if its future is dropped.
#[derive(Debug)]
pub struct Documents {
    editor: Arc<dyn Editor>,
    disks: Arc<Disks>,
    revisions: Arc<Revisions>,
    pub(super) unseen: Arc<Unseen>,
    pub(super) call_times: Arc<CallTimes>,
    by_path: Mutex<HashMap<PathBuf, Arc<Queue<Document>>>>,
    /// A lock for each session, held while the end of its turn is processed.
    pub(super) turn_ends: Mutex<HashMap<SessionKey, Arc<Queue<()>>>>,
    by_session: Mutex<SessionDocuments>,
    scans: DiskScans,
}

impl Documents {
    /// Creates an empty set of documents, which may be loaded in `editor`.
    pub fn new(editor: Arc<dyn Editor>) -> Self {
        Self::with_disks(editor, Disks::default())
    }

    /// Like [`Self::new`], with other timeouts or mount points for file systems.
    pub fn with_disks(editor: Arc<dyn Editor>, disks: Disks) -> Self {
        Self {
            editor,
            disks: Arc::new(disks),
            revisions: Arc::default(),
            unseen: Arc::default(),
            call_times: Arc::default(),
            by_path: Mutex::default(),
            turn_ends: Mutex::default(),
            by_session: Mutex::default(),
            scans: DiskScans::default(),
        }
    }

    /// Returns the file systems, for other calls that may block on them.
    pub fn disks(&self) -> &Arc<Disks> {
        &self.disks
    }

    /// Returns the text of a file as saving it now would write it: with unsaved changes, without a byte order mark.
    /// With `line` and `limit` only those lines, each with its line end; an empty text past the end of the file.
    pub async fn read(&self, request: ReadRequest) -> Result<String, DocumentError> {
        let document = self.document_for(&request.path, &request.session);
        let (again, editor) = (Arc::clone(&document), Arc::clone(&self.editor));
        run_to_completion(async move {
            let (content, partial) = document.lock().await.read(&request).await?;
            if let Some(id) = partial {
                // The answer need not wait until the whole text has been fetched.
                tokio::spawn(async move {
                    let snapshot = editor.snapshot(id).await;
                    again.lock().await.finish_partial_read(snapshot);
                });
            }
            Ok(content)
        })
        .await
    }

    /// Writes a whole new text to a file. If the file is loaded, its buffer is changed by minimal edits, as one undo
    /// block (`:help undo-blocks`), and saved; otherwise the file is written, with missing parent folders. A text that
    /// the file already has changes nothing.
    pub async fn write(&self, request: WriteRequest) -> Result<AgentChange, DocumentError> {
        let document = self.document_for(&request.path, &request.by.session);
        run_to_completion(async move { document.lock().await.write(&request).await }).await
    }

    /// Merges what an agent may have written to the disk itself into the buffer of the file, if one is loaded. `path`
    /// is a real path. `None` if nothing has changed.
    pub async fn disk_changed(
        &self,
        path: &Path,
        by: &Author,
    ) -> Result<Option<AgentChange>, DocumentError> {
        let (document, by) = (self.document_for(path, &by.session), by.clone());
        run_to_completion(async move { document.lock().await.disk_noticed(&by).await }).await
    }

    /// Returns all changes of a file since an agent first changed it, and who made them. `None` if no agent has.
    pub async fn record(&self, path: &Path) -> Result<Option<Arc<Record<Origin>>>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.record().await }).await
    }

    /// Returns what is pending in a file, in the order of its text.
    pub async fn pending(&self, path: &Path) -> Result<Vec<PendingHunk>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.pending().await }).await
    }

    /// Like [`Self::pending`], for a file that is loaded and was changed by an agent; `None` for any other.
    pub async fn pending_lines(&self, path: &Path) -> Result<Option<PendingFile>, DocumentError> {
        let Some(document) = self.known_document(path) else { return Ok(None) };
        run_to_completion(async move { document.lock().await.pending_lines().await }).await
    }

    /// Returns what is pending in a file with its texts and authors; `None` if nothing is.
    pub async fn changes(&self, path: &Path) -> Result<Option<ChangedFile>, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.changes().await }).await
    }

    /// Returns the files that agents have changed since their sessions began.
    pub async fn changed_by_agents(&self) -> Vec<PathBuf> {
        let all: Vec<_> = self.by_path.lock().values().cloned().collect();
        let mut changed = Vec::new();
        for document in all {
            let document = document.lock().await;
            changed.extend(document.has_record().then(|| document.path.clone()));
        }
        changed.sort_unstable();
        changed
    }

    /// Keeps what is pending in a file, so that it is pending no more. Returns how many hunks were.
    pub async fn keep(&self, path: &Path, scope: ChangeScope) -> Result<Decided, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.keep(&scope).await }).await
    }

    /// Keeps the pending hunks of a file that a base with these lines would not have.
    pub async fn keep_as_base(
        &self,
        path: &Path,
        base: Vec<String>,
    ) -> Result<Decided, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.keep_as_base(base).await }).await
    }

    /// Rejects what is pending in a file: its text is as if that had never been changed. Lines of others never go; where
    /// others have changed what is pending, everything stays, and that is reported.
    pub async fn reject(&self, path: &Path, scope: ChangeScope) -> Result<Decided, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.reject(&scope).await }).await
    }

    /// Whether a file, or its buffer, has the lines of a file with these bytes.
    pub async fn has_lines_of(&self, path: &Path, bytes: Vec<u8>) -> Result<bool, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.has_lines_of(bytes).await }).await
    }

    /// Records that `session` has read the file on disk itself: its next write is based on that text.
    pub async fn agent_read_disk(
        &self,
        path: &Path,
        session: &SessionKey,
    ) -> Result<(), DocumentError> {
        let (document, session) = (self.document_for(path, session), session.clone());
        run_to_completion(async move { document.lock().await.agent_read_disk(&session).await })
            .await
    }

    /// Like [`Self::agent_read_disk`], for an agent whose model reads the disk while its tools read through us: what a
    /// tool reads right before a write says nothing about what the model knows.
    pub async fn model_read_disk(
        &self,
        path: &Path,
        session: &SessionKey,
    ) -> Result<(), DocumentError> {
        let (document, session) = (self.document_for(path, session), session.clone());
        run_to_completion(async move { document.lock().await.model_read_disk(&session).await })
            .await
    }

    /// Records the file that Neovim last read or wrote, before an agent may change it on disk. Does nothing for a file
    /// that is not loaded.
    pub async fn record_baseline(&self, path: &Path) -> Result<(), DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.record_baseline().await }).await
    }

    /// Processes an event of the buffer of a file.
    pub async fn buffer(&self, path: &Path, fact: BufferEvent) -> Result<(), DocumentError> {
        let document = self.document(path);
        run_to_completion(async move {
            let mut document = document.lock().await;
            match fact {
                BufferEvent::Read => document.was_read().await,
                BufferEvent::Saved => document.record_baseline().await,
                BufferEvent::Clean => document.became_unmodified().await,
                BufferEvent::Changed => Ok(()),
            }
        })
        .await
    }

    /// Fetches the text of a file that an agent is likely to read or write soon. If the file is not loaded, its present
    /// text is recorded instead, so that a change on disk can be reported.
    pub async fn preload(&self, path: &Path) -> Result<(), DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.preload().await }).await
    }

    /// The files that anything is known of.
    pub fn known_paths(&self) -> Vec<PathBuf> {
        self.by_path.lock().keys().cloned().collect()
    }

    /// Returns the document of a real path if there is one.
    pub(super) fn known_document(&self, path: &Path) -> Option<Arc<Queue<Document>>> {
        self.by_path.lock().get(path).cloned()
    }

    /// Returns the document of a real path.
    pub(super) fn document(&self, path: &Path) -> Arc<Queue<Document>> {
        let mut documents = self.by_path.lock();
        let document = documents.entry(path.to_owned()).or_insert_with(|| {
            let (editor, disks) = (Arc::clone(&self.editor), Arc::clone(&self.disks));
            let revisions = Arc::clone(&self.revisions);
            let of_turns = (Arc::clone(&self.unseen), Arc::clone(&self.call_times));
            Arc::new(Queue::new(Document::new(path.to_owned(), editor, disks, revisions, of_turns)))
        });
        Arc::clone(document)
    }
}

/// Runs `work` in its own task, so that a write is not left half done if the agent cancels its request.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, DocumentError>> + Send + 'static,
) -> Result<T, DocumentError> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(DocumentError::Editor(error.to_string())),
    }
}

impl Documents {
    /// Returns the document of a real path and records that `session` accesses it. If the session has accessed too
    /// many, the texts it knows of the least recent one are forgotten.
    pub(super) fn document_for(&self, path: &Path, session: &SessionKey) -> Arc<Queue<Document>> {
        let oldest = self.by_session.lock().touch(path, session);
        if let Some(oldest) = oldest {
            let (document, session) = (self.document(&oldest), session.clone());
            tokio::spawn(async move { document.lock().await.forget_texts(&session) });
        }
        self.document(path)
    }

    /// Returns the documents a session has accessed, with their paths.
    pub(super) fn documents_of(
        &self,
        session: &SessionKey,
    ) -> Vec<(PathBuf, Arc<Queue<Document>>)> {
        let paths = self.by_session.lock().paths_of(session);
        paths.into_iter().map(|path| (path.clone(), self.document(&path))).collect()
    }

    /// Forgets what a session knows, after it has ended, and drops the documents that are not needed any more.
    pub async fn forget(&self, session: &SessionKey) {
        self.unseen.forget(session);
        self.call_times.forget(session);
        let documents = self.documents_of(session);
        self.by_session.lock().remove(session);
        self.turn_ends.lock().remove(session);
        for (path, document) in documents {
            document.lock().await.forget(session);
            drop(document);
            self.drop_idle(&path);
        }
    }

    /// Drops the documents that no session needs and that are not loaded. `loaded` are names of loaded buffers; for
    /// other documents Neovim is asked, since a buffer may have another name than the real path.
    pub async fn drop_unused(&self, loaded: &HashSet<PathBuf>) {
        let documents: Vec<_> = {
            let documents = self.by_path.lock();
            documents.iter().map(|(path, document)| (path.clone(), Arc::clone(document))).collect()
        };
        for (path, document) in documents.into_iter().filter(|(path, _)| !loaded.contains(path)) {
            // One that is locked is in use.
            let is_idle = document.try_lock().is_ok_and(|document| document.is_idle());
            drop(document);
            if !is_idle || !matches!(self.editor.find(&path, None).await, Ok(None)) {
                continue;
            }
            self.drop_idle(&path);
        }
    }

    /// Forgets what a session knows of any document, and drops those that no other one needs and in which nothing is pending.
    /// What was changed in them is not undoable any more in a buffer that is loaded later.
    pub async fn close(&self, session: &SessionKey) {
        self.by_session.lock().remove(session);
        self.turn_ends.lock().remove(session);
        let paths: Vec<_> = self.by_path.lock().keys().cloned().collect();
        for path in paths {
            let Some(document) = self.known_document(&path) else { continue };
            let mut locked = document.lock().await;
            locked.forget(session);
            if locked.is_settled() {
                locked.unopened_change = None;
            }
            drop(locked);
            drop(document);
            self.drop_idle(&path);
        }
    }

    /// Drops a document if it is idle and nobody has a reference to it.
    fn drop_idle(&self, path: &Path) {
        let mut documents = self.by_path.lock();
        let is_idle = documents.get(path).is_some_and(|document| {
            // With one reference, no task is waiting in its queue.
            Arc::strong_count(document) == 1
                && document.try_lock().is_ok_and(|document| document.is_idle())
        });
        if is_idle {
            documents.remove(path);
        }
    }

    /// The conflicts of a file with what was written in a turn end, since that was undone; or they come back.
    pub async fn conflicts_are_undone(
        &self,
        path: &Path,
        turn: &Author,
        undone: bool,
    ) -> Result<(), DocumentError> {
        let document = self.document(path);
        let mut document = document.lock().await;
        let Some(found) = document.find().await? else { return Ok(()) };
        Ok(self.editor.conflicts_are_undone(found.buffer.id, turn, undone).await?)
    }

    /// Returns the number of documents.
    pub fn count(&self) -> usize {
        self.by_path.lock().len()
    }

    /// Begins a scan for changes an author has made on disk. It ends when the result is dropped.
    pub fn begin_scan(&self, by: &Author) -> DiskScan {
        self.scans.begin(by.session.clone(), by.tool_call.clone())
    }

    /// Returns the tool call of a session whose changes are being looked for.
    pub fn scanned_tool_call(&self, session: &SessionKey) -> Option<ToolCallId> {
        self.scans.tool_call(session)
    }

    /// Waits for all scans for changes of a session; until they end, its changes cannot be distinguished from the
    /// user's. Returns `false` if they have not ended by the deadline.
    pub async fn scans_done(&self, session: &SessionKey, deadline: Instant) -> bool {
        self.scans.done(session, deadline).await
    }

    /// Waits for the scans for changes that are running now, of all sessions. Returns `false` if they have not ended by the
    /// deadline.
    pub async fn present_scans_done(&self, deadline: Instant) -> bool {
        self.scans.present_done(deadline).await
    }
}
