//! Asking for changes of lines in place.

use super::Chat;
use crate::core::messages::user::UserAction;
use crate::nvim::value::ReadError;
use crate::session::author::ChatId;
use crate::session::in_place::InPlace;
use crate::session::prompt::Prompt;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// A change of lines in place that the user wants.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct InPlaceEdit {
    /// The number by which Lua knows it.
    edit: u64,
    /// What the user wants.
    text: String,
    /// The real path of the file.
    path: String,
    /// The first line, from 1.
    first: usize,
    /// The last line, inclusive.
    last: usize,
    /// All lines of the buffer.
    lines: Vec<String>,
}

/// Asks for a change of lines in place in the session of a chat.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Edit {
    /// The chat.
    chat: Chat,
    /// The change.
    edit: InPlaceEdit,
}

impl TryFrom<InPlaceEdit> for Prompt {
    type Error = ReadError;

    fn try_from(edit: InPlaceEdit) -> Result<Self, ReadError> {
        let InPlaceEdit { edit, text, path, first, last, lines } = edit;
        let in_place = InPlace::new(edit, path.into(), (first, last), lines);
        let in_place = in_place.ok_or_else(|| ReadError::of("lines", "not those of a buffer"))?;
        Ok(Self { text, attachments: Vec::new(), in_place: Some(Arc::new(in_place)) })
    }
}

impl TryFrom<Edit> for UserAction {
    type Error = ReadError;

    fn try_from(Edit { chat, edit }: Edit) -> Result<Self, ReadError> {
        let prompt = edit.try_into().map_err(|error: ReadError| error.within("edit"))?;
        Ok(Self::EditAgain(ChatId(chat), Box::new(prompt)))
    }
}
