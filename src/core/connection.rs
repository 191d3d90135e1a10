//! An agent process and what its sessions share: its configuration, its handshake and its capabilities. The handlers
//! decide what happens to it.

use super::printed::Printed;
use super::size;
use crate::session::agent::{AgentConfig, AgentInfo};
use crate::session::author::ChatId;
use crate::session::ids::SessionId;
use crate::session::protocol::Protocol;
use crate::session::update::Update;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Maximum number of updates held for sessions that are not known yet.
const MAX_HELD_UPDATES: usize = 1000;

/// Maximum size of all of them, in bytes.
const MAX_HELD_BYTES: usize = 8 << 20;

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
    /// What it has printed instead of sending a message.
    pub(super) printed: Printed,
    /// Updates for sessions whose `session/new` reply has not arrived, oldest first.
    held_updates: VecDeque<(SessionId, Update)>,
    /// Their size.
    held_bytes: usize,
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
        let printed = Printed::default();
        Self { config, cwd, info, stage, printed, held_updates, held_bytes: 0 }
    }

    /// Whether starting this configuration in `cwd` would run the same program with the same environment.
    pub(super) fn serves(&self, config: &AgentConfig, cwd: &Path) -> bool {
        let program = |config: &AgentConfig| {
            let AgentConfig { name, command, args, remote, env, base_env, .. } = config.clone();
            let AgentConfig { offered, disk, confinement, .. } = config.clone();
            ((name, command, args, remote, env, base_env), (offered, disk, confinement))
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
    /// Drops the oldest updates at the limits.
    pub(super) fn hold_update(&mut self, session: SessionId, update: Update) {
        self.held_bytes += size::of_update(&update);
        self.held_updates.push_back((session, update));
        while self.held_updates.len() > MAX_HELD_UPDATES || self.held_bytes > MAX_HELD_BYTES {
            let Some((_, dropped)) = self.held_updates.pop_front() else { break };
            self.held_bytes -= size::of_update(&dropped);
        }
    }

    /// Removes and returns the updates held for a session, oldest first.
    pub(super) fn take_held_updates(&mut self, session: &SessionId) -> Vec<Update> {
        let all = std::mem::take(&mut self.held_updates);
        let (matching, others): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|(id, _)| id == session);
        self.held_bytes = others.iter().map(|(_, update)| size::of_update(update)).sum();
        self.held_updates = others;
        matching.into_iter().map(|(_, update)| update).collect()
    }

    /// Drops all held updates, because no new session is expected any more.
    pub(super) fn drop_held_updates(&mut self) {
        self.held_updates.clear();
        self.held_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::Content;
    use crate::session::update::Role;

    fn say(text: String) -> Update {
        Update::Chunk { role: Role::Agent, message: None, content: Content::Text(text) }
    }

    /// Holds (Hostile agents): What an agent says before its session is open is kept up to 8 MiB, the newest of it.
    #[test]
    fn what_is_held_is_bounded_in_number_and_size() {
        let config = AgentConfig::new("a".into(), String::new());
        let mut connection = AgentConnection::new(config, PathBuf::new());
        let session = SessionId::from("s");
        for number in 0..2000 {
            connection.hold_update(session.clone(), say(number.to_string()));
        }
        connection.hold_update("other".into(), say("words".to_owned()));
        let held = connection.take_held_updates(&session);
        assert_eq!(
            (held.len(), held.last()),
            (MAX_HELD_UPDATES - 1, Some(&say("1999".to_owned())))
        );
        for _ in 0..100 {
            connection.hold_update(session.clone(), say("x".repeat(1 << 20)));
        }
        assert_eq!(connection.take_held_updates(&session).len(), 8);
        connection.hold_update(session.clone(), say("x".repeat(MAX_HELD_BYTES + 1)));
        connection.hold_update(session.clone(), say("small".to_owned()));
        assert_eq!(connection.take_held_updates(&session), [say("small".to_owned())]);
    }
}
