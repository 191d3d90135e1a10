//! Carries effects out: hands each to its edge and brings back what came of it as an event. It never waits itself.

use super::editor::NvimEditor;
use super::within::{Lines, check, real};
use crate::acp::Agents;
use crate::core::content::{Bytes, Export, Exported};
use crate::core::effect::{Effect, Gather, Keeping};
use crate::core::event::agent::INTERNAL_ERROR;
use crate::core::event::{ChatId, Event, FileChange, FileOutcome, Gathered, Token};
use crate::core::policy::{Unsaved, WriteDirty};
use crate::core::reach::Reach;
use crate::files::carry;
use crate::files::watch::Watcher;
use crate::files::{FileError, Files, ReadRequest, Via, WriteRequest, Written};
use crate::host::export;
use crate::host::store::Store;
use crate::host::terminals::Terminals;
use crate::nvim::client::Client;
use crate::session::author::Author;
use crate::session::content::ContentId;
use crate::session::remembered::Kept;
use parking_lot::Mutex;
use rmpv::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// So long a prompt waits for what goes with it.
const NOTE_LIMIT: Duration = Duration::from_secs(2);
/// So long for what the turn before has left on disk to come into the buffers.
const LOOK_LIMIT: Duration = Duration::from_secs(5);
/// So long for the watcher to take in what it watched before: it may be told of a folder that does not answer.
const WATCH_LIMIT: Duration = Duration::from_secs(1);
/// So long for buffers to be saved: a formatter may take its time.
const SAVE_LIMIT: Duration = Duration::from_secs(10);
/// So long for the files that go with it: the user has chosen them.
const CARRY_LIMIT: Duration = Duration::from_secs(10);

/// The edges.
pub(super) struct Runner {
    client: Client,
    agents: Agents,
    terminals: Terminals,
    files: Arc<Files>,
    store: Arc<Store>,
    watcher: Option<Arc<Mutex<Watcher>>>,
    adopting: Arc<tokio::sync::Mutex<()>>,
    lines: Lines,
    done: mpsc::UnboundedSender<Event>,
}

impl Runner {
    /// What comes of effects goes to `done`.
    pub(super) fn new(
        client: Client,
        agents: Agents,
        terminals: Terminals,
        store: Store,
        done: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let files = Arc::new(Files::new(Arc::new(NvimEditor::new(client.clone()))));
        let watcher = watcher(done.clone())
            .inspect_err(|error| tracing::error!(%error, "files on disk cannot be watched"))
            .ok();
        let store = Arc::new(store);
        let (adopting, lines) = (Arc::default(), Lines::default());
        Self { client, agents, terminals, files, store, watcher, adopting, lines, done }
    }

    /// Says to Neovim who we are, and has it follow its buffers.
    pub(super) fn introduce(&self) {
        let client = self.client.clone();
        tokio::spawn(async move {
            let version = ("version".into(), env!("CARGO_PKG_VERSION").into());
            let hello = Value::Map(vec![version]);
            let answers = [
                client.lua("rat.track", "start", Vec::new()).await,
                client.lua("rat.rpc", "connected", vec![hello]).await,
            ];
            for error in answers.into_iter().filter_map(Result::err) {
                error.log("Neovim does not know us");
            }
        });
    }

    /// Waits for what is still to be written down.
    pub(super) fn flush(&self) {
        self.store.flush();
    }

    /// Ends every agent and every command that runs for one, and waits for what is still to be written down.
    pub(super) async fn shutdown(&mut self) {
        tokio::join!(self.agents.shutdown(), self.terminals.shutdown());
        self.flush();
    }

    pub(super) fn run(&mut self, effect: Effect) {
        match effect {
            Effect::Agent(effect) => self.agents.run(effect),
            Effect::Terminal(terminal, action) => self.terminals.run(terminal, action),
            Effect::Read { token, session, path, line, limit, reach } => {
                let (files, order) = (Arc::clone(&self.files), self.lines.of(&path));
                self.answer(token, async move {
                    let _turn = order.lock().await;
                    match check(files.disks(), &reach, &path).await {
                        Ok(path) => {
                            let request = ReadRequest { session, path, line, limit };
                            files
                                .read(request)
                                .await
                                .map_or_else(|error| failed(&error), FileOutcome::Text)
                        }
                        Err(outcome) => outcome,
                    }
                });
            }
            Effect::Write { token, by, path, content, base, dirty, repeats, reach } => {
                let (files, order) = (Arc::clone(&self.files), self.lines.of(&path));
                self.answer(token, async move {
                    let _turn = order.lock().await;
                    match check(files.disks(), &reach, &path).await {
                        Ok(path) => {
                            let request = WriteRequest { by, path, content, base, dirty, repeats };
                            let result = files.write(request).await;
                            result.map_or_else(failed_write, |it| written(it, dirty))
                        }
                        Err(outcome) => outcome,
                    }
                });
            }
            Effect::Adopt { chat, by, paths, reach } => self.adopt(chat, by, paths, reach),
            Effect::Prepare { paths, reach } => {
                let files = Arc::clone(&self.files);
                tokio::spawn(async move {
                    for path in real(files.disks(), &reach, paths).await {
                        shrug(&path, files.prepare(&path).await);
                    }
                });
            }
            Effect::Seen { session, paths, reach, by_model } => {
                let files = Arc::clone(&self.files);
                tokio::spawn(async move {
                    for path in real(files.disks(), &reach, paths).await {
                        let seen = if by_model {
                            files.seen_by_model(&path, &session).await
                        } else {
                            files.seen(&path, &session).await
                        };
                        shrug(&path, seen);
                    }
                });
            }
            Effect::Buffer { path, fact, reach } => {
                let files = Arc::clone(&self.files);
                tokio::spawn(async move {
                    for path in real(files.disks(), &reach, vec![path]).await {
                        shrug(&path, files.buffer(&path, fact).await);
                    }
                });
            }
            Effect::Gather(gather) => self.gather(gather),
            Effect::TurnOver { session, told, taken, reads_buffers } => {
                let files = Arc::clone(&self.files);
                tokio::spawn(
                    async move { files.turn_over(&session, told, taken, reads_buffers).await },
                );
            }
            Effect::Forget(session) => {
                let files = Arc::clone(&self.files);
                tokio::spawn(async move { files.forget(&session).await });
            }
            Effect::Export { chat, id, export, bytes } => self.export(chat, id, export, bytes),
            Effect::Keep(keeping) => self.keep(keeping),
            Effect::Watch(reach) => self.watch(reach),
            Effect::Timer { timer, after } => self.spawn(async move {
                tokio::time::sleep(after).await;
                Event::Timer(timer)
            }),
            Effect::Trace { agent, chat } => {
                let text = self.agents.trace(agent).map(|trace| trace.lock().jsonl());
                let _ = self.done.send(Event::Trace { chat, text: text.unwrap_or_default() });
            }
        }
    }

    fn export(&self, chat: ChatId, id: ContentId, export: Export, bytes: Bytes) {
        self.spawn(async move {
            let own = export.clone();
            let written = tokio::task::spawn_blocking(move || export::write(&own, bytes)).await;
            let outcome = written.unwrap_or_else(|error| Exported::Failed(error.to_string()));
            Event::Exported(chat, id, export, outcome)
        });
    }

    fn keep(&self, keeping: Keeping) {
        let store = Arc::clone(&self.store);
        match keeping {
            Keeping::Note(session, anew, entries) => {
                let key = session.key();
                let kept = store.keep(*session, anew, entries);
                self.spawn(async move { Event::Kept(key, kept.await.unwrap_or(Kept::Written)) });
            }
            Keeping::Forget(session) => store.forget(session),
            Keeping::Recall(chat, agent, cwd) => {
                self.spawn(async move { Event::Recalled(chat, store.last(cwd, &agent).await) });
            }
            Keeping::List(cwd) => self.spawn(async move {
                let sessions = store.recall(cwd.clone()).await;
                Event::Remembered(cwd, sessions)
            }),
            Keeping::Reread(chat, session, claim) => {
                self.spawn(async move { Event::Reread(chat, store.reread(session, claim).await) });
            }
            Keeping::Release(session) => store.release(session),
        }
    }

    /// Brings back what an agent waits for, also where the work itself breaks.
    fn answer(&self, token: Token, work: impl Future<Output = FileOutcome> + Send + 'static) {
        self.spawn(async move {
            let outcome = tokio::spawn(work).await.unwrap_or_else(|error| FileOutcome::Failed {
                code: INTERNAL_ERROR,
                message: error.to_string(),
            });
            Event::File { token, outcome }
        });
    }

    fn spawn(&self, work: impl Future<Output = Event> + Send + 'static) {
        let done = self.done.clone();
        tokio::spawn(async move {
            // Nobody listens any more when the bridge ends.
            let _ = done.send(work.await);
        });
    }

    /// Watches the loaded files below the roots, and notes their texts as they are before an agent changes them.
    fn watch(&self, reach: Reach) {
        let (watcher, files, client) =
            (self.watcher.clone(), self.files.clone(), self.client.clone());
        tokio::spawn(async move {
            let names = loaded(&client, false).await;
            if reach.is_empty() && !client.is_gone() {
                // No turn runs.
                files.sweep(&names.iter().cloned().collect()).await;
            }
            let paths = if reach.is_empty() { Vec::new() } else { names };
            let paths = real(files.disks(), &reach, paths).await;
            // At once: what changes before goes unseen until a tool call ends. What is on a network may take its time.
            let wanted = paths.iter().cloned().collect();
            let watching = tokio::task::spawn_blocking(move || {
                let watcher = watcher.as_ref().and_then(|it| it.try_lock_for(WATCH_LIMIT));
                watcher.map(|mut watcher| watcher.watch(wanted)).unwrap_or_default()
            });
            for path in &paths {
                shrug(path, files.note(path).await);
            }
            for (folder, error) in watching.await.unwrap_or_default() {
                tracing::warn!(folder = %folder.display(), %error, "not watched");
            }
        });
    }

    /// Finds out what an agent cannot see. The prompt waits for it, so something comes back whatever happens.
    fn gather(&self, gather: Gather) {
        let (files, client) = (self.files.clone(), self.client.clone());
        let (chat, turn, unsaved) = (gather.chat, gather.turn, gather.unsaved);
        self.spawn(async move {
            let work = tokio::spawn(unseen(files, client, gather));
            let gathered = work.await.unwrap_or_else(|error| {
                tracing::error!(%error, "a prompt goes without what the agent cannot see");
                Gathered::default()
            });
            Event::Gathered { chat, turn, unsaved, gathered }
        });
    }

    /// Has the buffers of these files follow what is on disk; without paths, those of all loaded ones. One after the
    /// other, so that Neovim can take in what the user types between any two.
    fn adopt(&self, chat: ChatId, by: Author, paths: Vec<PathBuf>, reach: Reach) {
        let (files, client, done) = (self.files.clone(), self.client.clone(), self.done.clone());
        let one_by_one = Arc::clone(&self.adopting);
        let look = Arc::new(files.begin_look(by.session.clone()));
        tokio::spawn(async move {
            let paths = if paths.is_empty() { loaded(&client, false).await } else { paths };
            // Those of a file system that does not answer keep no others waiting.
            for paths in files.disks().apart(paths) {
                let follower = Follower {
                    files: Arc::clone(&files),
                    client: client.clone(),
                    one_by_one: Arc::clone(&one_by_one),
                };
                let (by, reach, done) = (by.clone(), reach.clone(), done.clone());
                let look = Arc::clone(&look);
                tokio::spawn(async move {
                    let outcome = follower.follow(&by, &reach, paths).await;
                    drop(look);
                    let Some((changes, failed)) = outcome else { return };
                    if !changes.is_empty() || !failed.is_empty() {
                        let _ = done.send(Event::Adopted { chat, changes, failed });
                    }
                });
            }
        });
    }
}

/// Has buffers follow their files.
struct Follower {
    files: Arc<Files>,
    client: Client,
    one_by_one: Arc<tokio::sync::Mutex<()>>,
}

impl Follower {
    /// What has changed, and what does not follow; nothing once Neovim is gone.
    async fn follow(
        &self,
        by: &Author,
        reach: &Reach,
        paths: Vec<PathBuf>,
    ) -> Option<(Vec<FileChange>, Vec<(PathBuf, String)>)> {
        let (mut changes, mut failed) = (Vec::new(), Vec::new());
        for path in real(self.files.disks(), reach, paths).await {
            let _turn = self.one_by_one.lock().await;
            match self.files.disk_changed(&path, by).await {
                Ok(None) => {}
                Err(_) if self.client.is_gone() => return None,
                Ok(Some(written)) => changes.extend(all_changes(&written)),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a buffer does not follow");
                    failed.push((path, error.to_string()));
                }
            }
        }
        Some((changes, failed))
    }
}

async fn unseen(files: Arc<Files>, client: Client, gather: Gather) -> Gathered {
    let Gather { session, cwd, reach, unsaved, reads_buffers, files: carried, .. } = gather;
    // What the turn before has left on disk would look like the user's doing until it is in the buffers.
    if !files.looked(&session, Instant::now() + LOOK_LIMIT).await {
        tracing::warn!("a prompt goes before buffers have followed the turn before it");
    }
    let (now, save) = (Instant::now(), unsaved == Unsaved::Save);
    let open = async {
        let disks = files.disks();
        let modified = real(disks, &reach, loaded(&client, true).await).await;
        (modified, real(disks, &reach, loaded(&client, false).await).await)
    };
    let (modified, open) = timeout_at(now + NOTE_LIMIT, open).await.unwrap_or_else(|_| {
        tracing::warn!("a prompt goes without unsaved changes: Neovim does not answer");
        (Vec::new(), Vec::new())
    });
    // Once the agent has the prompt it may change the files: what the user begins with has to be known by then.
    let noting = async {
        for path in &open {
            shrug(path, files.note(path).await);
        }
    };
    if timeout_at(now + NOTE_LIMIT, noting).await.is_err() {
        tracing::warn!("what unsaved changes began with is not known yet");
    }
    let limit = if save { SAVE_LIMIT } else { NOTE_LIMIT };
    let modified = if unsaved == Unsaved::Ignore { Vec::new() } else { modified };
    let (unsaved, problems) = files.unsaved(modified, &cwd, save, now + limit).await;
    // What was saved just now is new to the agent, too.
    let from = if save { Instant::now() } else { now };
    let changed = files.changed(&session, &cwd, reads_buffers, from + NOTE_LIMIT).await;
    let carried = carry::read_all(files.disks(), carried, Instant::now() + CARRY_LIMIT).await;
    Gathered { unsaved, changed, problems, files: carried }
}

/// Watches nothing yet; what changes becomes an event.
fn watcher(done: mpsc::UnboundedSender<Event>) -> notify::Result<Arc<Mutex<Watcher>>> {
    let (sender, mut changed) = mpsc::unbounded_channel();
    let watcher = Watcher::new(sender)?;
    tokio::spawn(async move {
        while let Some(paths) = changed.recv().await {
            if done.send(Event::DiskChanged(paths)).is_err() {
                break;
            }
        }
    });
    Ok(Arc::new(Mutex::new(watcher)))
}

/// The files of all loaded buffers, or of those with unsaved changes.
async fn loaded(client: &Client, modified: bool) -> Vec<PathBuf> {
    match client.lua("rat.track", "files", vec![modified.into()]).await {
        Ok(Value::Array(files)) => files.iter().filter_map(Value::as_str).map(Into::into).collect(),
        Ok(_) => Vec::new(),
        Err(error) => {
            error.log("Neovim does not say which files are loaded");
            Vec::new()
        }
    }
}

/// What was done ahead of time may fail: it is done again when it is needed.
fn shrug(path: &Path, outcome: Result<(), FileError>) {
    if let Err(error) = outcome {
        tracing::debug!(path = %path.display(), %error, "nothing known ahead of time");
    }
}

pub(super) fn failed(error: &FileError) -> FileOutcome {
    FileOutcome::Failed { code: error.code(), message: error.to_string() }
}

fn failed_write(error: FileError) -> FileOutcome {
    match error {
        FileError::Unsaved(path) => FileOutcome::Unsaved(path),
        error => failed(&error),
    }
}

fn written(written: Written, dirty: WriteDirty) -> FileOutcome {
    let why = if dirty == WriteDirty::Save { "" } else { ", which the agent had read" };
    let notice = written
        .saved_unsaved
        .then(|| format!("{} was saved with your unsaved changes{why}", written.path.display()));
    let changes = all_changes(&written).filter(is_any).collect();
    FileOutcome::Written { changes, notice }
}

/// What had come in before, and then the change itself.
fn all_changes(written: &Written) -> impl Iterator<Item = FileChange> {
    written.adopted.as_deref().into_iter().chain([written]).map(change)
}

fn change(written: &Written) -> FileChange {
    FileChange {
        path: written.path.clone(),
        hunks: written.hunks.len(),
        conflicts: written.kept.len(),
        deleted: written.deleted,
        via: match written.via {
            Via::Protocol => "protocol",
            Via::Disk => "disk",
        },
    }
}

fn is_any(change: &FileChange) -> bool {
    change.hunks > 0 || change.conflicts > 0 || change.deleted
}
