//! The state of one conversation. A [`Chat`] answers questions about itself; the handlers decide what happens to it.

mod call_titles;
mod decisions;
mod late_replay;
mod losses;
mod opening;
mod parts;
mod pending;
mod phase;
mod queue;
mod replay;
mod status;

use crate::core::messages::effect::Effect;
use crate::core::messages::file_scope::{FileRules, FileScope};
use crate::core::messages::ids::AgentId;
use crate::core::messages::page::View;
use crate::core::messages::policy::ReviewMode;
use crate::core::tools::ToolAccess;
use crate::session::agent::{AgentConfig, AgentInfo, OnCancelTimeout};
use crate::session::author::{ChatId, SessionKey};
use crate::session::ids::SessionId;
use crate::session::protocol::Protocol;
use crate::session::saved::StoreKey;
use crate::session::tool_call::ToolKind;
use crate::session::transcript::Transcript;
use crate::session::update::Usage;
use crate::view::scene::Scene;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) use call_titles::CallTitles;
pub(super) use decisions::Decisions;
pub(super) use late_replay::LateReplay;
pub(super) use losses::Losses;
pub(super) use opening::{LastSession, SessionOpening};
pub(super) use parts::{FileAccess, RedrawState, SaveState, SessionSettings};
pub(super) use pending::{AwaitingUser, PendingElicitation, PendingPermission, PermissionStage};
pub(super) use phase::{LoginStage, Phase, Placing, StartupStep, Turn};
pub(super) use queue::PromptQueue;
pub(super) use replay::Replay;

/// One conversation with an agent.
#[derive(Debug)]
pub(super) struct Chat {
    /// Assigned by us; unique while this process runs.
    pub id: ChatId,
    /// How its agent is started.
    pub config: AgentConfig,
    /// How its agent is started the next time, if that may differ.
    pub renewed: Option<AgentConfig>,
    /// The session's working directory; absolute.
    pub cwd: PathBuf,
    /// Additional configured roots; absolute.
    pub directories: Vec<PathBuf>,
    /// Which files the agent may read and write, and how.
    pub access: FileAccess,
    /// What its agent may do with the editor's own tools.
    pub tools: ToolAccess,
    /// The running agent process; `None` after it has ended.
    pub agent: Option<AgentId>,
    /// The most recent agent process, so that `:RatTrace` still works after it has ended.
    pub last_agent: Option<AgentId>,
    /// The filter of the page of `:RatTrace`; `None` if it is not open.
    pub trace_filter: Option<String>,
    /// What the agent reported about itself in `initialize`.
    pub info: AgentInfo,
    /// The lifecycle phase.
    pub phase: Phase,
    /// How often the agent was lost lately.
    pub losses: Losses,
    /// Which session to open once the agent is ready.
    pub opening: SessionOpening,
    /// The agent's session. Remains set after the agent has died, so that the session can be resumed.
    pub session: Option<SessionId>,
    /// The session's title.
    pub title: Option<String>,
    /// Context window usage, as last reported.
    pub usage: Option<Usage>,
    /// Whether the user was told that little of the context is left.
    pub is_nearly_full: bool,
    /// Options, modes and models of the session.
    pub settings: SessionSettings,
    /// The conversation as it is shown.
    pub transcript: Transcript,
    /// How to treat messages that the agent replays.
    pub replay: Replay,
    /// What still has to be saved.
    pub saving: SaveState,
    /// Prompts waiting to be sent.
    pub queue: PromptQueue,
    /// Requests and questions the user has not answered.
    pub awaiting_user: AwaitingUser,
    /// Number of turns so far.
    pub turns: u64,
    /// Why the last one ended, as scripts are told.
    pub last_stop: Option<String>,
    /// What the tool calls of earlier turns were called.
    pub call_titles: CallTitles,
    /// What the user has decided on its changes since the last prompt.
    pub decisions: Decisions,
    /// How many files the first scan of its folders has read, while it takes long.
    pub scanned_files: Option<usize>,
    /// The number of the change in place that the chat was opened for.
    pub edit: Option<u64>,
    /// What has to be redrawn.
    pub redraw: RedrawState,
    /// Makes drawing this chat panic; for the test of how that is handled.
    #[cfg(test)]
    pub panics_when_drawn: bool,
}

impl Chat {
    /// Creates a chat that has no agent yet.
    pub(super) fn new(
        id: ChatId,
        config: AgentConfig,
        cwd: PathBuf,
        directories: Vec<PathBuf>,
    ) -> Self {
        Self {
            id,
            config,
            renewed: None,
            cwd,
            directories,
            access: FileAccess::default(),
            tools: ToolAccess::default(),
            agent: None,
            last_agent: None,
            trace_filter: None,
            info: AgentInfo::default(),
            phase: Phase::Stopped,
            losses: Losses::default(),
            opening: SessionOpening::default(),
            session: None,
            title: None,
            usage: None,
            is_nearly_full: false,
            settings: SessionSettings::default(),
            transcript: Transcript::default(),
            replay: Replay::None,
            saving: SaveState::default(),
            queue: PromptQueue::default(),
            awaiting_user: AwaitingUser::default(),
            turns: 0,
            last_stop: None,
            call_titles: CallTitles::default(),
            decisions: Decisions::default(),
            scanned_files: None,
            edit: None,
            redraw: RedrawState::default(),
            #[cfg(test)]
            panics_when_drawn: false,
        }
    }

    /// The agent's name in the configuration.
    pub(super) fn name(&self) -> &str {
        self.config.name.as_str()
    }

    /// The agent's display name: as it reported it, else its configured name, capitalised.
    pub(super) fn agent_title(&self) -> String {
        self.info.title.clone().or_else(|| self.info.name.clone()).unwrap_or_else(|| {
            let mut letters = self.name().chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(letters).collect::<String>()
            })
        })
    }

    /// Returns the key under which the store saves a session of this chat's agent and working directory.
    pub(super) fn store_key(&self, id: SessionId) -> StoreKey {
        StoreKey { cwd: self.cwd.clone(), agent: self.config.name.clone(), id }
    }

    /// Identifies this chat's session among the sessions of all agents; `None` if it has none.
    pub(super) fn key(&self) -> Option<SessionKey> {
        let session = self.session.clone()?;
        Some(SessionKey { chat: self.id, session })
    }

    /// The files its agent may use without asking.
    pub(super) fn file_scope(&self) -> FileScope {
        let roots = std::iter::once(&self.cwd).chain(&self.directories).cloned().collect();
        let rules = Arc::clone(&self.access.rules);
        let (agent, cwd) = (self.name().to_owned(), self.cwd.clone());
        let asked = self.access.read_by_consent.iter().cloned();
        let asked = asked.map(|file| (ToolKind::Read, file)).collect();
        let rules = FileRules { agent, cwd, rules, asked };
        let real_roots = self.access.policy.real_roots.clone();
        FileScope { roots, real_roots, allowed: self.access.allowed.clone(), rules }
    }

    /// The user's folder: where its agent works, or what the worktree it works in is of.
    pub(super) fn project(&self) -> &Path {
        self.access.policy.worktree.as_ref().map_or(&self.cwd, |worktree| &worktree.project)
    }

    /// The files in which something may be pending because of it: also those that its worktree is merged into.
    pub(super) fn reviewed_files(&self) -> FileScope {
        let mut scope = self.file_scope();
        scope.roots.extend(self.access.policy.worktree.iter().map(|it| it.project.clone()));
        scope
    }

    /// Whether what the agent changes is shown and kept.
    pub(super) fn is_reviewed(&self) -> bool {
        self.access.policy.review != ReviewMode::Off
    }

    /// Whether the agent reads files through us, and so sees unsaved text.
    pub(super) fn reads_buffers(&self) -> bool {
        self.access.reads_through_us && !self.info.quirks.model_reads_disk
    }

    /// What the views need to know about the chat.
    pub(super) fn scene(&self) -> Scene {
        Scene { cwd: self.cwd.clone(), agent: self.agent_title() }
    }

    /// Notes what the tool calls since the last turn are called, before the agent may use their ids again.
    pub(super) fn note_call_titles(&mut self) {
        let scene = self.scene();
        let entries = self.transcript.entries();
        self.call_titles.note(self.turns, entries, |call| scene.title(call));
    }

    /// Gives up the session: the chat starts over without earlier history.
    pub(super) fn forget_past(&mut self, effects: &mut Vec<Effect>) {
        effects.extend(self.key().map(Effect::Forget));
        self.session = None;
        self.last_stop = None;
        self.title = None;
        self.opening.saved.clear();
        self.access.session_rules.clear();
    }

    /// Marks all of its views to be redrawn completely.
    pub(super) fn redraw_all(&mut self) {
        for view in View::ALL {
            self.redraw_view(view);
        }
    }

    /// Marks one of its views to be redrawn completely.
    pub(super) fn redraw_view(&mut self, view: View) {
        self.redraw.views.insert(view);
    }

    /// Whether it waits until its agent is tried again.
    pub(super) fn is_reconnecting(&self) -> bool {
        matches!(self.phase, Phase::Starting(StartupStep::Reconnecting))
    }

    /// What to do when the agent does not obey a cancellation.
    pub(super) fn on_cancel_timeout(&self) -> OnCancelTimeout {
        let by_protocol = || match self.info.protocol.and_then(Protocol::cancel_limit) {
            Some(_) => OnCancelTimeout::Restart,
            None => OnCancelTimeout::Ask,
        };
        self.config.on_cancel_timeout.unwrap_or_else(by_protocol)
    }

    /// How long the agent has to obey a cancellation.
    pub(super) fn time_to_obey(&self) -> Duration {
        let limit = self.info.protocol.and_then(Protocol::cancel_limit);
        let limit = limit.filter(|_| self.on_cancel_timeout() == OnCancelTimeout::Restart);
        self.config.timeouts.cancel.min(limit.unwrap_or(Duration::MAX))
    }

    /// Whether the agent was sent a prompt and nothing has come of it so far that the user sees.
    pub(super) fn has_silent_turn(&self) -> bool {
        let is_last = |turn: &Turn| turn.entry + 1 == self.transcript.entries().len();
        self.turn().is_some_and(|turn| turn.call.is_some() && is_last(turn))
    }

    /// The running turn, if any.
    pub(super) fn turn(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Running(turn) => Some(turn),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn turn_mut(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Running(turn) => Some(turn),
            _ => None,
        }
    }
}
