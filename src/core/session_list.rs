//! The list of sessions the user chooses from, assembled from the store and from agents.

use crate::core::messages::ids::AgentId;
use crate::core::messages::user::SessionAction;
use crate::session::ids::{AgentName, SessionId};
use crate::session::saved::{ListedSession, SavedSession, StoreKey};
use std::collections::HashMap;
use std::path::PathBuf;

/// The sessions of a folder, as far as they have arrived.
#[derive(Debug)]
pub(super) struct SessionList {
    pub(super) act: SessionAction,
    pub(super) cwd: PathBuf,
    /// `None` until the store has answered.
    pub(super) saved: Option<Vec<SavedSession>>,
    pub(super) listed: Vec<(AgentName, ListedSession)>,
    /// Agents whose page has not arrived.
    pub(super) awaited: Vec<AgentId>,
    /// Cursors of the next pages (ACP session list: a cursor must not be stored for longer than that).
    pub(super) next: HashMap<AgentId, String>,
}

impl SessionList {
    /// Returns the store's key for one of its sessions.
    pub(super) fn key(&self, agent: &AgentName, id: &SessionId) -> StoreKey {
        StoreKey { cwd: self.cwd.clone(), agent: agent.clone(), id: id.clone() }
    }
}
