//! Dispatches each effect to the edge that runs it. Dispatching never waits; results are sent as events.

use super::events::Events;
use super::files::Files;
use super::judge;
use super::traces::Traces;
use super::workbench::Workbench;
use crate::acp::Agents;
use crate::core::messages::content::{ContentBytes, ExportOutcome, ExportTarget};
use crate::core::messages::effect::{Effect, StoreCommand};
use crate::core::messages::event::{Event, Timer};
use crate::core::messages::tools::{ToolsCommand, ToolsEvent};
use crate::documents::editor::Editor;
use crate::documents::{Documents, ReadRequest, WriteRequest};
use crate::host::checkpoints::Checkpoints;
use crate::host::export;
use crate::host::store::Store;
use crate::host::terminals::Terminals;
use crate::mcp::ToolServer;
use crate::process::confine;
use crate::session::author::ChatId;
use crate::session::confinement::Confinement;
use crate::session::content::ContentId;
use crate::session::saved::SaveResult;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// The edges that run effects.
#[derive(Debug)]
pub struct Runner {
    agents: Agents,
    terminals: Terminals,
    files: Files,
    store: Arc<Store>,
    checkpoints: Arc<Checkpoints>,
    traces: Traces,
    /// The server of the editor's own tools; `None` where there is no editor.
    tools: Option<ToolServer>,
    events: Events,
}

impl Runner {
    /// Creates a runner that sends the results of effects to `events`. `editor` holds the loaded documents. Must be called
    /// inside a tokio runtime.
    pub fn new(
        editor: Arc<dyn Editor>,
        agents: Agents,
        terminals: Terminals,
        store: Store,
        checkpoints: Checkpoints,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        let events = Events::new(events);
        let checkpoints = Arc::new(checkpoints);
        let files = Files::new(editor, Arc::clone(&checkpoints), events.clone());
        let traces = Traces::new(events.clone());
        let (store, tools) = (Arc::new(store), None);
        Self { agents, terminals, files, store, checkpoints, traces, tools, events }
    }

    /// Offers agents the editor's own tools through this server. `workbench` is what they ask.
    #[must_use]
    pub fn with_tools(mut self, server: ToolServer, workbench: Arc<dyn Workbench>) -> Self {
        self.files.workbench = workbench;
        Self { tools: Some(server), ..self }
    }

    /// Returns the documents that effects read and change.
    pub fn documents(&self) -> &Arc<Documents> {
        self.files.documents()
    }

    /// Sets how many sessions of a folder the store keeps; `None` for all.
    pub fn limit_sessions(&self, sessions: Option<usize>) {
        self.store.limit(sessions);
    }

    /// Blocks until everything that was handed to the store is on disk, and removes the socket of the tools.
    pub fn flush(&self) {
        if let Some(tools) = &self.tools {
            tools.shutdown();
        }
        self.store.flush();
        self.checkpoints.flush();
    }

    /// Stops all agents and all their terminal commands, then flushes the store.
    pub async fn shutdown(&mut self) {
        tokio::join!(self.agents.shutdown(), self.terminals.shutdown());
        self.flush();
    }

    /// Starts one effect and returns at once.
    pub fn run(&mut self, effect: Effect) {
        match effect {
            Effect::Agent(effect) => self.agents.run(effect),
            Effect::Terminal(terminal, action) => self.terminals.run(terminal, action),
            Effect::Read { token, session, path, line, limit, scope } => {
                let request = ReadRequest { session, path, line, limit };
                self.files.read(token, request, scope);
            }
            Effect::Write { token, by, path, content, base, dirty, repeats, consent, scope } => {
                let request = WriteRequest { by, path, content, base, dirty, repeats, consent };
                self.files.write(token, request, scope);
            }
            Effect::Query { token, session, query, scope } => {
                self.files.query(token, session, query, scope);
            }
            Effect::Tools(command) => self.run_tools(command),
            Effect::Checkpoint(command) => self.files.checkpoint(command),
            Effect::Worktree(command) => self.files.worktree(command),
            Effect::FollowDisk { chat, by, paths, unopened, scope } => {
                self.files.follow_disk(chat, by, paths, unopened, scope);
            }
            Effect::CallIs { by, state, is_command } => {
                self.files.call_is(&by, state, is_command);
            }
            Effect::Preload { chat, paths, scope } => self.files.preload(chat, paths, scope),
            Effect::AgentReadDisk { session, paths, scope, by_model } => {
                self.files.agent_read_disk(session, paths, scope, by_model);
            }
            Effect::Buffer { path, event, scope } => {
                self.files.buffer_changed(path, event, scope);
            }
            Effect::Review { review, scope } => self.files.reviews.review(review, scope),
            Effect::TakeBack => self.files.reviews.take_back(),
            Effect::ForgetDecisions => self.files.reviews.forget_decisions(),
            Effect::FindChanges { list, scope } => self.files.reviews.find_changes(list, scope),
            Effect::ComposeReview(draft) => self.files.reviews.compose(draft),
            Effect::FindChange { comparison, scope } => {
                self.files.reviews.find_change(comparison, scope);
            }
            Effect::KeepAsBase { path, base, scope } => {
                self.files.reviews.keep_as_base(path, base, scope);
            }
            Effect::FindPending { paths, scope } => self.files.reviews.find_pending(paths, scope),
            Effect::CollectPromptContext(request) => self.files.collect_prompt_context(request),
            Effect::TurnEnded { session, reported, taken, reads_buffers } => {
                self.files.turn_ended(session, reported, taken, reads_buffers);
            }
            Effect::Forget(session) => self.files.forget(session),
            Effect::Close(session) => self.files.close(session),
            Effect::Watch(scope) => self.files.watch(scope),
            Effect::Export { chat, id, export, bytes } => self.export(chat, id, export, bytes),
            Effect::ExportChat { chat, export, text } => self.export_chat(chat, export, text),
            Effect::FindDenied(chat, confinement, paths) => {
                self.find_denied(chat, confinement, paths);
            }
            Effect::Judge(case) => self.events.spawn(judge::judge(case)),
            Effect::Store(command) => self.store(command),
            Effect::Timer { timer, after } => {
                let is_spread = matches!(timer, Timer::Reconnect(..));
                let after = if is_spread { spread(after) } else { after };
                self.events.spawn(async move {
                    tokio::time::sleep(after).await;
                    Event::Timer(timer)
                });
            }
            Effect::Trace { agent, chat, task } => {
                if let Some(trace) = self.agents.trace(agent) {
                    let spool = trace.lock().spool().clone();
                    self.traces.run(chat, spool, task);
                }
            }
            Effect::TraceMore(chat) => self.traces.more(chat),
            Effect::TraceClose(chat) => self.traces.close(chat),
        }
    }

    fn run_tools(&self, command: ToolsCommand) {
        match (&self.tools, command) {
            (Some(server), command) => server.run(command),
            (None, ToolsCommand::Grant(grant)) => {
                let why = Err("there is no editor".to_owned());
                self.events.send(Event::Tools(ToolsEvent::Granted(grant, why)));
            }
            (None, _) => {}
        }
    }

    fn export(&self, chat: ChatId, id: ContentId, export: ExportTarget, bytes: ContentBytes) {
        self.events.spawn(async move {
            let to = export.clone();
            let written = spawn_blocking(move || export::write(&to, bytes)).await;
            let outcome = written.unwrap_or_else(|error| ExportOutcome::Failed(error.to_string()));
            Event::Exported(chat, id, export, outcome)
        });
    }

    fn find_denied(&self, chat: ChatId, confinement: Box<Confinement>, paths: Vec<PathBuf>) {
        self.events.spawn(async move {
            let found = spawn_blocking(move || confine::denied(&confinement, &paths)).await;
            Event::Denied(chat, found.unwrap_or_default())
        });
    }

    fn export_chat(&self, chat: ChatId, to: ExportTarget, text: String) {
        let store = Arc::clone(&self.store);
        self.events.spawn(async move {
            let target = to.clone();
            let written = spawn_blocking(move || {
                export::write(&target, ContentBytes::Text(store.hide_secrets(text)))
            });
            let written = written.await;
            let outcome = written.unwrap_or_else(|error| ExportOutcome::Failed(error.to_string()));
            Event::ChatExported(chat, to, outcome)
        });
    }

    fn store(&self, command: StoreCommand) {
        let store = Arc::clone(&self.store);
        match command {
            StoreCommand::Save(session, anew, entries) => {
                let key = session.key();
                let saved = store.save(*session, anew, entries);
                self.events.spawn(async move {
                    Event::Saved(key, saved.await.unwrap_or(SaveResult::Written))
                });
            }
            StoreCommand::SavePart(session, part) => {
                let key = session.key();
                let saved = store.save_part(*session, part);
                self.events.spawn(async move {
                    Event::Saved(key, saved.await.unwrap_or(SaveResult::Written))
                });
            }
            StoreCommand::Forget(session) => store.forget(session),
            StoreCommand::FindLast(chat, agent, cwd) => self
                .events
                .spawn(async move { Event::LastSession(chat, store.find_last(cwd, &agent).await) }),
            StoreCommand::List(cwd) => self.events.spawn(async move {
                let sessions = store.list(cwd.clone()).await;
                Event::SavedSessions(cwd, sessions)
            }),
            StoreCommand::Search(request, query) => {
                let (searching, events) = (store.search(query), self.events.clone());
                tokio::spawn(async move {
                    if let Some(result) = searching.await {
                        events.send(Event::Searched(request, result));
                    }
                });
            }
            StoreCommand::LoadTranscript(chat, session, claim) => self.events.spawn(async move {
                Event::TranscriptLoaded(chat, store.load_transcript(session, claim).await)
            }),
            StoreCommand::Release(session) => store.release(session),
            StoreCommand::Rules(change, then) => {
                let changed = store.change_rules(change);
                self.events.spawn(async move { Event::RulesSaved(changed.await, then) });
            }
        }
    }
}

/// Shortens a time by up to a quarter, by chance.
fn spread(time: Duration) -> Duration {
    // The standard library's only source of chance.
    let [dice, ..] = RandomState::new().hash_one(0_u8).to_be_bytes();
    time.saturating_sub(time * u32::from(dice) / (4 * 255))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shortened_by_up_to_a_quarter() {
        let times: Vec<_> = (0..99).map(|_| spread(Duration::from_secs(4))).collect();
        assert!(times.iter().all(|time| (3000..=4000).contains(&time.as_millis())), "{times:?}");
        assert!(times.iter().any(|time| *time != times[0]));
    }
}
