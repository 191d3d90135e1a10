//! Runs the effects on checkpoints: the state of folders before and after turns, and what happens to the files that a turn
//! has changed unnoticed.

use super::changed_paths::{ChangedPaths, describe};
use super::events::Events;
use super::file_outcome::all_changes;
use super::reversal::{self, NotReversed, Reversals};
use super::undone::undone;
use super::unkept::Unkept;
use crate::core::messages::checkpoint::{CheckpointCommand, KeptTurn, TurnRef, UndoPlan};
use crate::core::messages::event::Event;
use crate::core::messages::files::FileChange;
use crate::core::messages::review::ChangeAuthor;
use crate::documents::{Documents, Touched, WithoutAgent};
use crate::edit::Text;
use crate::edit::unified::FileDiff;
use crate::host::checkpoints::entry::{self, Kind};
use crate::host::checkpoints::error::CheckpointError;
use crate::host::checkpoints::ids::TurnId;
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::checkpoints::turns::{Correction, Side, TurnAbout, TurnSummary};
use crate::host::checkpoints::{Checkpoints, TurnStart};
use crate::host::paths;
use crate::session::author::{Author, ChatId};
use crate::session::ids::SessionId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

/// How long a prompt waits until its folders have been looked at.
const BEGIN_LIMIT: Duration = Duration::from_secs(2);
/// How long the end of a turn waits until buffers have followed what it left on disk.
const END_LIMIT: Duration = Duration::from_secs(10);
/// If the first scan of a folder takes longer, the user is told how far it is, again and again in this interval.
const LONG_SCAN: Duration = Duration::from_secs(1);
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// If looking at a folder takes longer, that is not done after each tool call.
const CHEAP_LOOK: Duration = Duration::from_millis(150);

/// The checkpoints of the folders of chats.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    checkpoints: Arc<Checkpoints>,
    documents: Arc<Documents>,
    changed: Arc<ChangedPaths>,
    events: Events,
    running: Arc<Mutex<HashMap<ChatId, SharedTurn>>>,
    /// The turns that have ended and are being kept. It is closed, so that one can wait for them at any time.
    ending: TaskTracker,
    /// The turns of this program.
    authors: Arc<Mutex<HashMap<TurnRef, Author>>>,
    unkept: Arc<Unkept>,
    /// The real paths of folders as they were last found.
    real_roots: Arc<Mutex<HashMap<Vec<PathBuf>, Vec<PathBuf>>>>,
}

/// A running turn, which looks and its end use one at a time.
pub(super) type SharedTurn = Arc<tokio::sync::Mutex<RunningTurn>>;

/// A turn that has begun.
#[derive(Debug, Default)]
pub(super) struct RunningTurn {
    /// One for each folder.
    starts: Vec<TurnStart>,
    /// The paths that have changed so far.
    changed: HashMap<PathBuf, Seen>,
    /// Whether the folders were not looked at after each tool call, since that takes too long.
    is_coarse: bool,
    /// Whether a folder was looked at after a tool call although the look before took too long: a busy machine may have been to
    /// blame for that one.
    has_tried: bool,
}

/// What was seen of a path that has changed.
#[derive(Debug, Default)]
struct Seen {
    /// The tool call that did it.
    tool_call: Option<String>,
    /// Whether it was or became something else than a file, such as a folder: no document knows who did that.
    is_other_kind: bool,
}

/// What is known of a change when its turn is logged.
#[derive(Debug)]
struct Attribution {
    is_agents: bool,
    /// Somebody else may have done it.
    is_shared: bool,
    tool_call: Option<String>,
}

impl Turns {
    pub(super) fn new(
        checkpoints: Arc<Checkpoints>,
        documents: Arc<Documents>,
        changed: Arc<ChangedPaths>,
        events: Events,
    ) -> Self {
        let (running, ending) = (Arc::default(), TaskTracker::new());
        ending.close();
        let (authors, unkept, real_roots) = (Arc::default(), Arc::default(), Arc::default());
        Self {
            checkpoints,
            documents,
            changed,
            events,
            running,
            ending,
            authors,
            unkept,
            real_roots,
        }
    }

    pub(super) fn run(&self, command: CheckpointCommand) {
        let turns = self.clone();
        match command {
            CheckpointCommand::Prepare(chat, roots) => {
                tokio::spawn(async move {
                    let roots = turns.real_roots(roots).await;
                    for root in &roots {
                        turns.checkpoints.prepare(root.clone());
                    }
                    turns.report_progress(chat, &roots).await;
                });
            }
            CheckpointCommand::Drop(chat) => drop(self.running.lock().remove(&chat)),
            CheckpointCommand::End { by, agent, prompt } => {
                // The next turn of the chat may begin before this is done.
                let Some(turn) = self.running.lock().remove(&by.session.chat) else { return };
                self.ending.spawn(async move { turns.end(turn, by, agent, prompt).await });
            }
            CheckpointCommand::List { chat, roots, request, of } => {
                self.events.spawn(async move {
                    turns.ending.wait().await;
                    let roots = turns.real_roots(roots).await;
                    let (turns, is_of_prompt) =
                        (turns.kept(&roots, of.as_ref()).await, of.is_some());
                    Event::TurnsListed { chat, turns, request, is_of_prompt }
                });
            }
            CheckpointCommand::Show(chat, turn) => self.events.spawn(async move {
                let text = turns.diff_of(&turn).await;
                Event::TurnShown(chat, text)
            }),
            CheckpointCommand::Plan(request) => self.events.spawn(async move {
                turns.ending.wait().await;
                let (chat, roots) = (request.chat, turns.real_roots(request.roots.clone()).await);
                Event::UndoPlanned(
                    chat,
                    turns.reversals().plan(&roots, request.target, request.force).await,
                )
            }),
            CheckpointCommand::Undo(chat, plan) => self.events.spawn(async move {
                match turns.reversals().carry_out(&plan).await {
                    Err(NotReversed::Changed(files)) => {
                        Event::UndoPlanned(chat, Ok(UndoPlan { files, is_again: true, ..*plan }))
                    }
                    Err(NotReversed::Failed(why)) => Event::Undone(chat, plan, Err(why)),
                    Ok(outcome) => Event::Undone(chat, plan, Ok(outcome)),
                }
            }),
        }
    }

    /// What reverses the changes of turns.
    pub(super) fn reversals(&self) -> Reversals {
        Reversals {
            checkpoints: Arc::clone(&self.checkpoints),
            documents: Arc::clone(&self.documents),
            changed: Arc::clone(&self.changed),
            authors: Arc::clone(&self.authors),
            unkept: Arc::clone(&self.unkept),
        }
    }

    /// Returns the real paths of folders, without those below others.
    async fn real_roots(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut real = Vec::new();
        for root in &roots {
            let named = root.clone();
            let resolving = self.documents.disks().call(root, move |_| paths::real_path(&named));
            real.extend(resolving.await.ok().and_then(Result::ok));
        }
        real.sort_unstable();
        real.dedup();
        let all = real.clone();
        real.retain(|root| !all.iter().any(|other| other != root && root.starts_with(other)));
        if !real.is_empty() {
            self.real_roots.lock().insert(roots, real.clone());
        }
        real
    }

    /// Tells how far the first scans of folders are, if they take long.
    async fn report_progress(&self, chat: ChatId, roots: &[PathBuf]) {
        let mut is_told = false;
        let mut pause = LONG_SCAN;
        loop {
            tokio::time::sleep(pause).await;
            let all: Vec<_> =
                roots.iter().filter_map(|root| self.checkpoints.progress(root)).collect();
            let is_over = all.is_empty();
            if is_over && !is_told {
                return;
            }
            let files = all.iter().map(|progress| progress.read).sum();
            self.events.send(Event::FolderScan(chat, (!is_over).then_some(files)));
            if is_over {
                return;
            }
            (is_told, pause) = (true, PROGRESS_INTERVAL);
        }
    }

    /// Fixes the state of the folders of a chat before its turn.
    pub(super) async fn begin(&self, chat: ChatId, roots: Vec<PathBuf>) {
        let deadline = Instant::now() + BEGIN_LIMIT;
        if self.running.lock().is_empty() {
            self.changed.forget_restored();
        }
        let mut turn = RunningTurn::default();
        let real = timeout_at(deadline, self.real_roots(roots.clone())).await;
        let known = || self.real_roots.lock().get(&roots).cloned().unwrap_or_default();
        for root in real.unwrap_or_else(|_| known()) {
            match self.checkpoints.begin(root.clone(), deadline).await {
                Ok(start) => turn.starts.push(start),
                Err(error) => {
                    tracing::info!(%error, "a turn begins without a checkpoint");
                    self.is_not_kept(chat, &root, &error);
                }
            }
        }
        self.running.lock().insert(chat, Arc::new(tokio::sync::Mutex::new(turn)));
    }

    /// The turn of a chat cannot be kept, which the user is told unless they know it.
    fn is_not_kept(&self, chat: ChatId, root: &Path, error: &CheckpointError) {
        // Folders that are never covered are no news.
        if let CheckpointError::Store { .. } = error {
            let why = error.to_string();
            if self.unkept.add(root, &why) {
                self.events.send(Event::TurnNotKept(chat, why));
            }
        }
    }

    /// Returns the turn of a chat that is running now.
    pub(super) fn running(&self, chat: ChatId) -> Option<SharedTurn> {
        self.running.lock().get(&chat).cloned()
    }

    /// Looks for what a turn has changed in files that are not open, and has their documents record it.
    pub(super) async fn look(&self, turn: &SharedTurn, by: &Author) -> Vec<FileChange> {
        let mut turn = turn.lock().await;
        let RunningTurn { starts, changed, is_coarse, has_tried } = &mut *turn;
        let mut reported = Vec::new();
        for start in starts {
            let root = start.root().to_owned();
            let took = self.checkpoints.scan_time(&root);
            if by.tool_call.is_some() && took.is_some_and(|took| took > CHEAP_LOOK) {
                if *has_tried {
                    *is_coarse = true;
                    continue;
                }
                *has_tried = true;
            }
            match self.checkpoints.look(start).await {
                Ok(changes) => {
                    for change in changes {
                        let path = change.path.under(&root);
                        let by = &self.documents.whose(&path, by).await;
                        reported
                            .extend(self.observe((&root, &path), &change, by, *is_coarse).await);
                        let tool_call = by.tool_call.as_ref().map(|call| call.as_ref().to_owned());
                        let seen = changed.entry(path).or_default();
                        seen.tool_call = tool_call.or(seen.tool_call.take());
                        seen.is_other_kind |= !is_of_files(&change);
                    }
                }
                Err(error) => tracing::warn!(%error, "what a turn has changed is not known"),
            }
        }
        reported
    }

    /// Has the document of a changed file record the change, as far as it is one of lines.
    async fn observe(
        &self,
        (root, path): (&Path, &Path),
        change: &entry::FileChange,
        by: &Author,
        is_coarse: bool,
    ) -> Vec<FileChange> {
        let is_certain = by.tool_call.is_some() || is_coarse;
        let author = ChangeAuthor { by: by.clone(), is_certain };
        let are_files = is_of_files(change);
        let before = match &change.before {
            Some(state) if are_files => self.content(root, state).await,
            _ => None,
        };
        if !are_files || before.is_some() != change.before.is_some() {
            // A document may know what the checkpoint does not keep, and knows nothing of what was there but was no file.
            let is_file = change.after.as_ref().is_some_and(|after| after.kind == Kind::File);
            if (are_files || is_file)
                && let Err(error) = self.documents.disk_changed(path, by).await
            {
                tracing::debug!(path = %path.display(), %error, "a change is only in the checkpoint");
            }
            self.changed.changed(root, change, false, &author);
            return Vec::new();
        }
        let known = self.documents.set_before(path, before, by, is_coarse).await;
        let followed = match known {
            Ok(()) => self.documents.disk_changed(path, by).await,
            Err(error) => Err(error),
        };
        let is_users = matches!(self.documents.touched(path, by).await, Ok(Touched::No));
        // Nobody changes a mode by saving.
        if !is_users || change.is_of_mode() {
            let is_text = followed.is_ok() && !self.documents.is_deleted_under_buffer(path).await;
            self.changed.changed(root, change, is_text, &author);
        }
        match followed {
            Ok(followed) => {
                let created = change.before.is_none();
                let followed = followed.iter().flat_map(all_changes);
                followed.map(|it| FileChange { created, ..it }).collect()
            }
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "a change is only in the checkpoint");
                Vec::new()
            }
        }
    }

    async fn content(&self, root: &Path, state: &entry::State) -> Option<Vec<u8>> {
        reversal::content(&self.checkpoints, root, state).await
    }

    /// Keeps what a turn has changed.
    async fn end(&self, turn: SharedTurn, by: Author, agent: String, prompt: String) {
        if !self.documents.scans_done(&by.session, Instant::now() + END_LIMIT).await {
            tracing::warn!("a turn is kept before buffers have followed it");
        }
        let RunningTurn { starts, changed, is_coarse, .. } =
            std::mem::take(&mut *turn.lock().await);
        for start in starts {
            let root = start.root().to_owned();
            let (mut known, mut corrections) = (HashMap::new(), Vec::new());
            for (path, Seen { tool_call, is_other_kind }) in &changed {
                let Some(below) = TreePath::below(&root, path) else { continue };
                let touched = match self.documents.touched(path, &by).await {
                    Ok(touched) if !is_other_kind => touched,
                    _ => Touched::Unknown,
                };
                let (tool_call, is_certain) = match &touched {
                    Touched::Yes { by, is_certain } => {
                        (by.tool_call.as_ref().map(|call| call.as_ref().to_owned()), *is_certain)
                    }
                    Touched::No | Touched::Unknown => (tool_call.clone(), tool_call.is_some()),
                };
                let (is_agents, is_shared) = (touched != Touched::No, !is_certain && !is_coarse);
                if is_agents && !is_other_kind {
                    corrections.extend(self.correction(&start, &below, &by).await);
                }
                known.insert(below, Attribution { is_agents, is_shared, tool_call });
            }
            let session = by.session.session.as_ref().to_owned();
            let (agent, prompt) = (agent.clone(), prompt.clone());
            let about = TurnAbout { agent, session, prompt, undoes: None, failed: 0, corrections };
            let attribute = move |change: &mut entry::FileChange| {
                let Some(Attribution { is_agents, is_shared, tool_call }) = known.get(&change.path)
                else {
                    // It changed after the last look, so somebody else may have done it.
                    change.shared = true;
                    return true;
                };
                change.by.clone_from(tool_call);
                change.shared = *is_shared;
                *is_agents || change.is_of_mode()
            };
            match self.checkpoints.end(start, about, Box::new(attribute)).await {
                Ok(Some(turn)) => {
                    self.unkept.remove(&root);
                    let turn = TurnRef { root, id: turn.summary.id.to_string() };
                    self.authors.lock().insert(turn, by.clone());
                    self.events.send(Event::TurnKept(by.session.chat));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "what a turn has changed is not kept");
                    self.is_not_kept(by.session.chat, &root, &error);
                }
            }
        }
    }

    /// Returns what the agent has changed in a file, without what others have changed meanwhile: that must not go when the
    /// turn is undone, even if only the checkpoint knows of the turn by then.
    async fn correction(
        &self,
        turn: &TurnStart,
        below: &TreePath,
        by: &Author,
    ) -> Option<Correction> {
        let path = below.under(turn.root());
        let before = self.checkpoints.content_before(turn, below.clone()).await.ok()?;
        let file = self.documents.turn_file(&path, before, by).await.ok().flatten()?;
        let before = match file.without {
            WithoutAgent::AsBefore => Side::AsFound,
            WithoutAgent::Nothing => Side::Nothing,
            WithoutAgent::Bytes(bytes) => Side::File(bytes),
        };
        // What somebody saves before the folder is looked at is not of the turn any more.
        Some(Correction { path: below.clone(), before, after: Side::File(file.bytes) })
    }

    /// Returns the kept turns of folders, the newest first, without undos; only those of a session and prompt if they are
    /// given.
    async fn kept(&self, roots: &[PathBuf], of: Option<&(SessionId, String)>) -> Vec<KeptTurn> {
        let is_of = |turn: &TurnSummary| {
            of.is_none_or(|(session, prompt)| {
                let first = prompt.trim_start().lines().next().unwrap_or_default();
                turn.session == session.as_ref() && first.starts_with(&turn.prompt)
            })
        };
        let mut kept = Vec::new();
        for root in roots {
            let summaries = self.checkpoints.turns(root.clone()).await;
            let undone = undone(&summaries);
            let turns = summaries.into_iter().filter(|turn| turn.undoes.is_none() && is_of(turn));
            kept.extend(turns.map(|turn| {
                let it = TurnRef { root: root.clone(), id: turn.id.to_string() };
                KeptTurn {
                    by: self.authors.lock().get(&it).cloned(),
                    turn: it,
                    time: turn.time,
                    is_undone: undone.contains(&turn.id),
                    agent: turn.agent,
                    prompt: turn.prompt,
                    files: turn.files,
                    added: turn.added,
                    removed: turn.removed,
                }
            }));
        }
        kept.sort_by_key(|turn| std::cmp::Reverse(turn.time));
        kept
    }

    /// Returns what a turn has changed as a unified diff; otherwise why not.
    async fn diff_of(&self, turn: &TurnRef) -> Result<String, String> {
        let id = turn.id.parse::<TurnId>().map_err(|error| error.to_string())?;
        let found = self.checkpoints.turn(turn.root.clone(), id).await;
        let found = found.map_err(|error| error.to_string())?;
        let mut out = String::new();
        for change in found.changes {
            let name = change.path.to_string();
            let mut texts = [None, None];
            let mut is_text = true;
            for (text, state) in texts.iter_mut().zip([&change.before, &change.after]) {
                let Some(state) = state else { continue };
                let bytes = self.content(&turn.root, state).await;
                let content = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
                is_text &= state.kind == Kind::File;
                match content.filter(|content| !content.contains('\0')) {
                    Some(content) => *text = Some(Text::parse(&content)),
                    None => is_text = false,
                }
            }
            let [before, after] = texts;
            let diff = FileDiff::new(&name, before.as_ref(), after.as_ref()).filter(|_| is_text);
            match diff {
                Some(diff) => out.push_str(&diff.to_text()),
                None => {
                    // Writing to a string cannot fail.
                    let _ = writeln!(out, "{name}: {}", describe(&change));
                }
            }
        }
        Ok(out)
    }
}

/// Whether there was a file, or nothing, before a change and after it.
fn is_of_files(change: &entry::FileChange) -> bool {
    change.before.iter().chain(&change.after).all(|state| state.kind == Kind::File)
}
