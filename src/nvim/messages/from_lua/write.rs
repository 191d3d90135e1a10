//! Messages about writes that wait for the user's consent.

use super::Chat;
use crate::core::messages::review::EditedDiff;
use crate::core::messages::user::UserAction;
use crate::session::author::ChatId;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows the write that a question is about.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ShowWrite {
    /// The number of the question.
    pub(super) id: u64,
}

/// Decides on a write that was shown.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct DecideWrite {
    /// The number of the question.
    pub(super) id: u64,
    /// The lines the file is to have; without them, the write is rejected.
    pub(super) lines: Option<Vec<String>>,
    /// Why it is rejected, for the agent.
    pub(super) reason: Option<String>,
}

/// Tells of an edited change that the user is about to allow.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct DiffEdited {
    /// The chat.
    chat: Chat,
    /// The file, as the agent named it.
    path: String,
    /// The lines without the change.
    old: Vec<String>,
    /// The lines with the agent's change.
    new: Vec<String>,
    /// The lines the user wants.
    edited: Vec<String>,
}

impl From<DiffEdited> for UserAction {
    fn from(DiffEdited { chat, path, old, new, edited }: DiffEdited) -> Self {
        Self::DiffEdited(ChatId(chat), EditedDiff { path: path.into(), old, new, edited })
    }
}
