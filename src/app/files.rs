//! Runs the effects on files: reads and writes of agents, buffers that follow the disk, watching, and the context of a
//! prompt.

use super::backlog::Backlog;
use super::changed_paths::ChangedPaths;
use super::checkpoints::Turns;
use super::events::Events;
use super::file_outcome::{all_changes, read_outcome, write_outcome};
use super::file_scope::{PathQueues, filter_in_scope, resolve_in_scope};
use super::prompt_context;
use super::review::Reviews;
use super::review_states::ReviewStates;
use super::tools::Tools;
use super::workbench::{NoWorkbench, Workbench};
use super::worktrees;
use crate::core::messages::agent::INTERNAL_ERROR;
use crate::core::messages::checkpoint::CheckpointCommand;
use crate::core::messages::effect::CollectPromptContext;
use crate::core::messages::event::Event;
use crate::core::messages::file_scope::FileScope;
use crate::core::messages::files::{
    BufferEvent, CallState, Consent, FileChange, FileOutcome, PromptContext, ReportedChange,
};
use crate::core::messages::ids::RequestToken;
use crate::core::messages::policy::Unsaved;
use crate::core::messages::tools::Query;
use crate::core::messages::worktree::WorktreeCommand;
use crate::documents::editor::Editor;
use crate::documents::watch::Watcher;
use crate::documents::{DocumentError, Documents, ReadRequest, WriteRequest};
use crate::host::checkpoints::Checkpoints;
use crate::session::author::{Author, ChatId, SessionKey};
use crate::session::tool_call::ToolKind;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long to wait for the watcher to finish its previous task, which may be blocked by a folder that does not answer.
const WATCH_LIMIT: Duration = Duration::from_secs(1);

/// The documents of an editor and the watcher of their files.
#[derive(Debug, Clone)]
pub(super) struct Files {
    editor: Arc<dyn Editor>,
    pub(super) workbench: Arc<dyn Workbench>,
    documents: Arc<Documents>,
    /// `None` if the system provides no file watching.
    watcher: Option<Arc<Mutex<Watcher>>>,
    /// Locked while a buffer follows its file, so that only one does at a time.
    follow_lock: Arc<tokio::sync::Mutex<()>>,
    queues: Arc<PathQueues>,
    /// What waits because of tool calls.
    backlog: Backlog,
    turns: Turns,
    pub(super) reviews: Reviews,
    events: Events,
}

impl Files {
    pub(super) fn new(
        editor: Arc<dyn Editor>,
        checkpoints: Arc<Checkpoints>,
        events: Events,
    ) -> Self {
        let workbench = Arc::new(NoWorkbench);
        let documents = Arc::new(Documents::new(Arc::clone(&editor)));
        let changed = Arc::new(ChangedPaths::default());
        let states = ReviewStates {
            checkpoints: Arc::clone(&checkpoints),
            documents: Arc::clone(&documents),
            changed: Arc::clone(&changed),
        };
        let turns = Turns::new(checkpoints, Arc::clone(&documents), changed, events.clone());
        let reviews = Reviews::new(Arc::clone(&documents), states, events.clone());
        let watcher = watcher(events.clone())
            .inspect_err(|error| tracing::error!(%error, "files on disk cannot be watched"))
            .ok();
        let (follow_lock, queues, backlog) = (Arc::default(), Arc::default(), Backlog::default());
        Self {
            editor,
            workbench,
            documents,
            watcher,
            follow_lock,
            queues,
            backlog,
            turns,
            reviews,
            events,
        }
    }

    pub(super) fn documents(&self) -> &Arc<Documents> {
        &self.documents
    }

    pub(super) fn read(&self, token: RequestToken, request: ReadRequest, scope: FileScope) {
        let (documents, queue) = (Arc::clone(&self.documents), self.queues.get(&request.path));
        let editor = Arc::clone(&self.editor);
        self.answer(token, async move {
            let _guard = queue.lock().await;
            let path =
                match resolve_in_scope(documents.disks(), &scope, &request.path, ToolKind::Read)
                    .await
                {
                    Ok(path) => path,
                    Err(outcome) => return outcome,
                };
            match editor.provided_text(&path, request.line, request.limit).await {
                Some(text) => FileOutcome::Text(text),
                None => read_outcome(documents.read(ReadRequest { path, ..request }).await),
            }
        });
    }

    pub(super) fn write(&self, token: RequestToken, request: WriteRequest, scope: FileScope) {
        let (documents, queue) = (Arc::clone(&self.documents), self.queues.get(&request.path));
        let (editor, dirty) = (Arc::clone(&self.editor), request.dirty);
        self.answer(token, async move {
            let _guard = queue.lock().await;
            match resolve_in_scope(documents.disks(), &scope, &request.path, ToolKind::Edit).await {
                Ok(path) => {
                    let request = WriteRequest { path, ..request };
                    if request.consent == Consent::Missing {
                        match documents.propose(&request).await {
                            Ok(Some(write)) => return FileOutcome::Proposed(Box::new(write)),
                            Ok(None) => {}
                            Err(error) => return write_outcome(Err(error), dirty),
                        }
                    }
                    if editor.provided_write(&request.path, &request.content).await {
                        return FileOutcome::Written { changes: Vec::new(), notice: None };
                    }
                    write_outcome(documents.write(request).await, dirty)
                }
                Err(outcome) => outcome,
            }
        });
    }

    /// Runs `work` and sends its outcome, for which an agent waits. If `work` panics, an error is sent.
    fn answer(
        &self,
        token: RequestToken,
        work: impl Future<Output = FileOutcome> + Send + 'static,
    ) {
        self.events.spawn(async move {
            let outcome = tokio::spawn(work).await.unwrap_or_else(|error| FileOutcome::Failed {
                code: INTERNAL_ERROR,
                message: error.to_string(),
                reason: error.to_string(),
            });
            Event::File { token, outcome }
        });
    }

    /// Asks the editor for what a call of one of its own tools needs.
    pub(super) fn query(
        &self,
        token: RequestToken,
        session: SessionKey,
        query: Query,
        scope: FileScope,
    ) {
        let tools = Tools {
            documents: Arc::clone(&self.documents),
            editor: Arc::clone(&self.editor),
            workbench: Arc::clone(&self.workbench),
        };
        self.answer(token, async move { tools.answer(session, query, scope).await });
    }

    pub(super) fn checkpoint(&self, command: CheckpointCommand) {
        self.turns.run(command);
    }

    pub(super) fn worktree(&self, command: WorktreeCommand) {
        worktrees::run(&self.turns, &self.events, command);
    }

    /// Reads files that the agent is about to change, so that their text before the change is known. Not done while too much
    /// waits for the chat.
    pub(super) fn preload(&self, chat: ChatId, paths: Vec<PathBuf>, scope: FileScope) {
        let Some(place) = self.backlog.enter(chat) else { return };
        let documents = Arc::clone(&self.documents);
        tokio::spawn(async move {
            let _place = place;
            for path in filter_in_scope(documents.disks(), &scope, paths).await {
                log_ignored_error(&path, documents.preload(&path).await);
            }
        });
    }

    /// Records that an agent has read files from disk itself. With `by_model` its model reads the disk although its tools read
    /// through us (`Quirks::model_reads_disk`). Not done while too much waits for the chat.
    pub(super) fn agent_read_disk(
        &self,
        session: SessionKey,
        paths: Vec<PathBuf>,
        scope: FileScope,
        by_model: bool,
    ) {
        let Some(place) = self.backlog.enter(session.chat) else { return };
        let documents = Arc::clone(&self.documents);
        tokio::spawn(async move {
            let _place = place;
            for path in filter_in_scope(documents.disks(), &scope, paths).await {
                let result = if by_model {
                    documents.model_read_disk(&path, &session).await
                } else {
                    documents.agent_read_disk(&path, &session).await
                };
                log_ignored_error(&path, result);
            }
        });
    }

    pub(super) fn buffer_changed(&self, path: PathBuf, fact: BufferEvent, scope: FileScope) {
        let documents = Arc::clone(&self.documents);
        tokio::spawn(async move {
            for path in filter_in_scope(documents.disks(), &scope, vec![path]).await {
                log_ignored_error(&path, documents.buffer(&path, fact).await);
            }
        });
    }

    /// Collects the prompt context. The prompt waits for it, so the event is sent even if collecting panics.
    pub(super) fn collect_prompt_context(&self, request: CollectPromptContext) {
        let (chat, turn, unsaved) = (request.chat, request.turn, request.unsaved);
        let (editor, documents) = (Arc::clone(&self.editor), Arc::clone(&self.documents));
        let turns = self.turns.clone();
        self.events.spawn(async move {
            let (roots, is_reviewed) = (request.scope.roots.clone(), request.is_reviewed);
            let work = tokio::spawn(async move {
                prompt_context::wait_for_scans(&documents, &request.session).await;
                let collecting = prompt_context::collect(editor, documents, request);
                let beginning = async {
                    if is_reviewed {
                        turns.begin(chat, roots).await;
                    }
                };
                if unsaved != Unsaved::Save {
                    return tokio::join!(collecting, beginning).0;
                }
                // What is saved before the prompt is not of the turn.
                let context = collecting.await;
                beginning.await;
                context
            });
            let context = work.await.unwrap_or_else(|error| {
                tracing::error!(%error, "a prompt is sent without its context");
                PromptContext::default()
            });
            Event::PromptContextCollected { chat, turn, unsaved, context }
        });
    }

    /// Watches the loaded files in `scope` and records their texts before an agent changes them. An empty scope means that no
    /// turn is running: nothing is watched, and documents that nobody needs any more are dropped.
    pub(super) fn watch(&self, scope: FileScope) {
        let files = self.clone();
        tokio::spawn(async move {
            let loaded = files.loaded().await;
            if scope.is_empty() && !files.editor.is_gone() {
                files.documents.drop_unused(&loaded.iter().cloned().collect()).await;
            }
            let paths = if scope.is_empty() { Vec::new() } else { loaded };
            let paths = filter_in_scope(files.documents.disks(), &scope, paths).await;
            // Watching begins before the texts are recorded, since a change before it goes unnoticed until a tool call ends.
            // It runs beside the recording, since it may take long on a network file system.
            let wanted = paths.iter().cloned().collect();
            let watcher = files.watcher.clone();
            let watching = tokio::task::spawn_blocking(move || {
                let watcher =
                    watcher.as_ref().and_then(|watcher| watcher.try_lock_for(WATCH_LIMIT));
                watcher.map(|mut watcher| watcher.watch(wanted)).unwrap_or_default()
            });
            for path in &paths {
                log_ignored_error(path, files.documents.record_baseline(path).await);
            }
            for (folder, error) in watching.await.unwrap_or_default() {
                tracing::warn!(folder = %folder.display(), %error, "not watched");
            }
        });
    }

    pub(super) fn call_is(&self, by: &Author, state: CallState, is_command: bool) {
        self.documents.call_is(by, state, is_command);
    }

    /// Updates the buffers of `paths`, or all loaded ones if `paths` is empty, from disk. Buffers are updated one at a time, so
    /// that the editor can process what the user types in between. If too much waits for the chat, what a tool call has done is
    /// only found by a later look, at the latest at the end of the turn.
    pub(super) fn follow_disk(
        &self,
        chat: ChatId,
        by: Author,
        paths: Vec<PathBuf>,
        unopened: bool,
        scope: FileScope,
    ) {
        let place = self.backlog.enter(chat);
        if place.is_none() && by.tool_call.is_some() {
            return;
        }
        let files = self.clone();
        // What is noticed while the end of a tool call is looked at, the call has done.
        let ended = || files.documents.scanned_tool_call(&by.session);
        let by = Author { tool_call: by.tool_call.clone().or_else(ended), ..by };
        let scan = Arc::new((files.documents.begin_scan(&by), place));
        // It may end before the look begins.
        let turn = self.turns.running(chat).filter(|_| unopened);
        tokio::spawn(async move {
            if let Some(turn) = turn {
                // First, as only this knows what was in files that nobody has read.
                let changes = files.turns.look(&turn, &by).await;
                if !changes.is_empty() {
                    files.events.send(Event::DiskFollowed { chat, changes, failed: Vec::new() });
                }
            }
            let paths = if paths.is_empty() { files.loaded().await } else { paths };
            // A file system that does not answer must not delay the files on others.
            for paths in files.documents.disks().group_by_file_system(paths) {
                let (files, by, scope) = (files.clone(), by.clone(), scope.clone());
                let scan = Arc::clone(&scan);
                tokio::spawn(async move {
                    let outcome = files.follow(&by, &scope, paths).await;
                    drop(scan);
                    let Some((changes, failed)) = outcome else { return };
                    if !changes.is_empty() || !failed.is_empty() {
                        files.events.send(Event::DiskFollowed { chat, changes, failed });
                    }
                });
            }
        });
    }

    /// Returns the changes and, with the error, the files whose buffers could not be updated; `None` once the editor is gone.
    async fn follow(
        &self,
        by: &Author,
        scope: &FileScope,
        paths: Vec<PathBuf>,
    ) -> Option<(Vec<FileChange>, Vec<(PathBuf, String)>)> {
        let (mut changes, mut failed) = (Vec::new(), Vec::new());
        for path in filter_in_scope(self.documents.disks(), scope, paths).await {
            let _guard = self.follow_lock.lock().await;
            match self.documents.disk_changed(&path, by).await {
                Ok(None) => {}
                Err(_) if self.editor.is_gone() => return None,
                Ok(Some(change)) => changes.extend(all_changes(&change)),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a buffer was not updated");
                    failed.push((path, error.message_for_user()));
                }
            }
        }
        Some((changes, failed))
    }

    pub(super) fn turn_ended(
        &self,
        session: SessionKey,
        reported: Vec<ReportedChange>,
        acknowledged: bool,
        reads_buffers: bool,
    ) {
        let documents = Arc::clone(&self.documents);
        tokio::spawn(async move {
            documents.turn_ended(&session, reported, acknowledged, reads_buffers).await;
        });
    }

    pub(super) fn forget(&self, session: SessionKey) {
        let documents = Arc::clone(&self.documents);
        tokio::spawn(async move { documents.forget(&session).await });
    }

    /// Forgets what a session knows, and the files in which nothing is left to decide on.
    pub(super) fn close(&self, session: SessionKey) {
        let documents = Arc::clone(&self.documents);
        tokio::spawn(async move { documents.close(&session).await });
    }

    /// Returns the files of all loaded buffers, or none if the editor does not answer.
    async fn loaded(&self) -> Vec<PathBuf> {
        prompt_context::loaded(self.editor.as_ref(), false).await
    }
}

/// Creates a watcher that watches nothing yet. Changes that it sees are sent as `Event::DiskChanged`.
fn watcher(events: Events) -> notify::Result<Arc<Mutex<Watcher>>> {
    let (sender, mut changed) = mpsc::unbounded_channel();
    let watcher = Watcher::new(sender)?;
    tokio::spawn(async move {
        while let Some(paths) = changed.recv().await {
            events.send(Event::DiskChanged(paths));
        }
    });
    Ok(Arc::new(Mutex::new(watcher)))
}

/// Logs an error that the user need not know of, since the file is read again when it is needed.
fn log_ignored_error(path: &Path, outcome: Result<(), DocumentError>) {
    if let Err(error) = outcome {
        tracing::debug!(path = %path.display(), %error, "the state of a file was not updated");
    }
}
