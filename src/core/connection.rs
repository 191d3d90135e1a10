//! An agent process and what its sessions share: its configuration, its handshake and its capabilities. The handlers
//! decide what happens to it.

use crate::session::agent::{AgentConfig, AgentInfo};
use crate::session::author::ChatId;
use crate::session::ids::SessionId;
use crate::session::protocol::Protocol;
use crate::session::update::Update;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Maximum number of updates held for sessions that are not known yet.
const MAX_HELD_UPDATES: usize = 1000;

/// A started agent process.
#[derive(Debug)]
pub(super) struct AgentConnection {
    /// How it was started.
    pub(super) config: AgentConfig,
    /// Its working directory.
    pub(super) cwd: PathBuf,
    /// What it reported in `initialize`.
    pub(super) info: AgentInfo,
    /// The stage of its handshake.
    pub(super) stage: ConnectionStage,
    /// Updates for sessions whose `session/new` reply has not arrived, oldest first.
    held_updates: VecDeque<(SessionId, Update)>,
}

/// The stage of an agent's handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionStage {
    /// `initialize` has not been answered.
    Initializing,
    /// It can open sessions.
    Ready,
    /// This chat is logging in. Other chats wait for it before they open sessions.
    Authenticating(ChatId),
    /// It has died or is about to be stopped. Nothing is sent to it any more.
    Closed,
}

impl AgentConnection {
    /// Creates a connection to an agent that was just started.
    pub(super) fn new(config: AgentConfig, cwd: PathBuf) -> Self {
        let (info, stage, held_updates) =
            (AgentInfo::default(), ConnectionStage::Initializing, VecDeque::new());
        Self { config, cwd, info, stage, held_updates }
    }

    /// Whether starting this configuration in `cwd` would run the same program with the same environment.
    pub(super) fn serves(&self, config: &AgentConfig, cwd: &Path) -> bool {
        let program = |config: &AgentConfig| {
            let AgentConfig { name, command, args, remote, env, base_env, offered, disk, .. } =
                config.clone();
            (name, command, args, remote, env, base_env, offered, disk)
        };
        self.stage != ConnectionStage::Closed
            && self.cwd == cwd
            && program(&self.config) == program(config)
    }

    /// Whether only one chat can use it.
    pub(super) fn has_one_session(&self) -> bool {
        self.info.protocol.is_some_and(Protocol::has_one_session)
    }

    /// Holds an update for a session we do not know yet: agents do not wait for us to read the reply to `session/new`.
    /// Drops the oldest update at the limit.
    pub(super) fn hold_update(&mut self, session: SessionId, update: Update) {
        if self.held_updates.len() == MAX_HELD_UPDATES {
            self.held_updates.pop_front();
        }
        self.held_updates.push_back((session, update));
    }

    /// Removes and returns the updates held for a session, oldest first.
    pub(super) fn take_held_updates(&mut self, session: &SessionId) -> Vec<Update> {
        let all = std::mem::take(&mut self.held_updates);
        let (matching, others): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|(id, _)| id == session);
        self.held_updates = others;
        matching.into_iter().map(|(_, update)| update).collect()
    }

    /// Drops all held updates, because no new session is expected any more.
    pub(super) fn drop_held_updates(&mut self) {
        self.held_updates.clear();
    }
}
