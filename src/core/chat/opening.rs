//! Which session a chat is about to open, and what the store knows about it.

use crate::core::messages::user::SessionTarget;
use crate::session::entry::Entry;
use crate::session::ids::SessionId;

/// Which session a chat is about to open.
#[derive(Debug)]
pub(in crate::core) struct SessionOpening {
    /// What the user asked for.
    pub target: SessionTarget,
    /// The most recent session of the folder; only looked up for [`SessionTarget::Last`].
    pub last: LastSession,
    /// Whether the store has not answered yet. No session is opened before that.
    pub waits_for_store: bool,
    /// The saved transcript of the session.
    pub saved: Vec<Entry>,
    /// Whether the session being opened is the most recent one of its folder.
    pub reopens_last: bool,
}

/// What the store says about the most recent session of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::core) enum LastSession {
    /// There is none.
    #[default]
    None,
    /// It can be opened here.
    Here(SessionId),
    /// It is open in another Neovim.
    Elsewhere,
}

impl Default for SessionOpening {
    fn default() -> Self {
        Self {
            target: SessionTarget::New,
            last: LastSession::None,
            waits_for_store: false,
            saved: Vec::new(),
            reopens_last: false,
        }
    }
}
