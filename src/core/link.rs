//! A started agent, and what its sessions share: how it was started, how far its handshake is, what it said of itself. What
//! happens next is decided in `state`.

use super::event::ChatId;
use crate::session::agent::{AgentConfig, AgentInfo};
use crate::session::ids::SessionId;
use crate::session::update::Update;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Updates kept for sessions we have not heard of yet.
const MOST_EARLY: usize = 1000;

/// A started agent.
#[derive(Debug)]
pub struct Link {
    /// How it was started.
    pub config: AgentConfig,
    /// Where.
    pub cwd: PathBuf,
    /// What it said of itself.
    pub info: AgentInfo,
    /// How far it is.
    pub stage: Stage,
    /// Updates for sessions whose `session/new` answer is not here yet.
    early: VecDeque<(SessionId, Update)>,
}

/// How far a started agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// `initialize` is not answered yet.
    Greeting,
    /// It takes sessions.
    Ready,
    /// A login is under way, on behalf of this chat; sessions wait for it.
    LoggingIn(ChatId),
    /// It is dead or about to be ended: nothing is said to it any more.
    Gone,
}

impl Link {
    /// An agent that was started just now.
    pub fn new(config: AgentConfig, cwd: PathBuf) -> Self {
        let (info, stage, early) = (AgentInfo::default(), Stage::Greeting, VecDeque::new());
        Self { config, cwd, info, stage, early }
    }

    /// Whether it is what this configuration would start there.
    pub fn serves(&self, config: &AgentConfig, cwd: &Path) -> bool {
        let program = |of: &AgentConfig| {
            let AgentConfig { name, command, args, env, base_env, .. } = of.clone();
            (name, command, args, env, base_env)
        };
        self.stage != Stage::Gone && self.cwd == cwd && program(&self.config) == program(config)
    }

    /// Keeps what is said of a session before we know it: agents do not wait for us to read `session/new`'s answer.
    pub fn keep_early(&mut self, session: SessionId, update: Update) {
        if self.early.len() == MOST_EARLY {
            self.early.pop_front();
        }
        self.early.push_back((session, update));
    }

    /// What was said of that session so far.
    pub fn take_early(&mut self, session: &SessionId) -> Vec<Update> {
        let all = std::mem::take(&mut self.early);
        let (its, others): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|(of, _)| of == session);
        self.early = others;
        its.into_iter().map(|(_, update)| update).collect()
    }

    /// Nobody waits for a new session any more.
    pub fn drop_early(&mut self) {
        self.early.clear();
    }
}
