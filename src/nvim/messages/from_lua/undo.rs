//! Messages about turns whose changes are kept.

use super::Chat;
use crate::core::messages::checkpoint::{TurnRef, UndoTarget};
use crate::core::messages::user::UserAction;
use crate::session::author::ChatId;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Lists the turns whose changes are kept.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Turns {
    /// The chat.
    pub(super) chat: Option<Chat>,
    /// The number of the call of `require("rat").turns()` that wants them; without it, the user chooses.
    pub(super) request: Option<u64>,
    /// The index of a prompt's entry in the transcript: only the turns of that prompt.
    pub(super) entry: Option<u64>,
}

/// Shows what a turn has changed.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ShowTurn {
    /// The chat.
    chat: Option<Chat>,
    /// The folder of the turn.
    root: String,
    /// The id of the turn.
    id: String,
}

/// Undoes or redoes a turn.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Undo {
    /// The chat.
    chat: Option<Chat>,
    /// Whether to redo the turn that was undone last.
    #[serde(default)]
    redo: bool,
    /// Whether to take back what somebody else may have changed, too.
    #[serde(default)]
    force: bool,
    /// The folder of the turn to undo; without it, the last turn.
    root: Option<String>,
    /// The id of that turn.
    id: Option<String>,
}

impl From<ShowTurn> for UserAction {
    fn from(ShowTurn { chat, root, id }: ShowTurn) -> Self {
        Self::ShowTurn(chat.map(ChatId), TurnRef { root: root.into(), id })
    }
}

impl From<Undo> for UserAction {
    fn from(Undo { chat, redo, force, root, id }: Undo) -> Self {
        let target = match root.zip(id) {
            _ if redo => UndoTarget::LastUndone,
            Some((root, id)) => UndoTarget::Turn(TurnRef { root: root.into(), id }),
            None => UndoTarget::Last,
        };
        Self::Undo(chat.map(ChatId), target, force)
    }
}
