//! Sending prompts and editing the queue.

use super::{Chat, from_zero};
use crate::core::messages::user::UserAction;
use crate::nvim::value::ReadError;
use crate::session::author::ChatId;
use crate::session::prompt::{self, Body};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Sends a prompt.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Prompt {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The text.
    #[serde(default)]
    text: String,
    /// The attachments.
    #[serde(default)]
    attachments: Vec<Attachment>,
}

/// An attachment of a prompt. It may come from a draft that another version has saved, so unknown fields are ignored.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Attachment {
    /// The `file://` URI of the whole file.
    uri: String,
    /// What the user sees.
    label: String,
    /// The first line, from 1; missing for the whole file.
    first: Option<u32>,
    /// The last line, inclusive.
    last: Option<u32>,
    /// A description of the part, if it is not exactly these lines.
    part: Option<String>,
    /// The MIME type, if known.
    mime: Option<String>,
    /// The text, including unsaved changes.
    text: Option<String>,
    /// Instead of a text: the path of a file that is read when the prompt is sent.
    path: Option<String>,
}

/// Takes a prompt out of the queue.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct QueueTake {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The position in the queue, from 1.
    index: u32,
}

/// Removes a prompt from the queue.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct QueueDrop {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The text of the prompt. A position would be unreliable, since earlier prompts may have been sent meanwhile.
    text: String,
}

impl TryFrom<Prompt> for UserAction {
    type Error = ReadError;

    fn try_from(Prompt { chat, text, attachments }: Prompt) -> Result<Self, ReadError> {
        let attachments = attachments.into_iter().enumerate().map(|(index, attachment)| {
            let of = |error: ReadError| error.within_item(index).within("attachments");
            prompt::Attachment::try_from(attachment).map_err(of)
        });
        let attachments = attachments.collect::<Result<_, _>>()?;
        Ok(Self::Prompt { chat: chat.map(ChatId), prompt: prompt::Prompt { text, attachments } })
    }
}

impl TryFrom<Attachment> for prompt::Attachment {
    type Error = ReadError;

    fn try_from(it: Attachment) -> Result<Self, ReadError> {
        Ok(Self {
            uri: it.uri,
            label: it.label,
            lines: it.first.zip(it.last),
            part: it.part,
            mime: it.mime,
            body: match (it.path, it.text) {
                (Some(path), _) => Body::File(path.into()),
                (None, Some(text)) => Body::Text(text),
                (None, None) => return Err(ReadError::of("text", "missing")),
            },
        })
    }
}

impl TryFrom<QueueTake> for UserAction {
    type Error = ReadError;

    fn try_from(QueueTake { chat, index }: QueueTake) -> Result<Self, ReadError> {
        Ok(Self::TakeQueued { chat: chat.map(ChatId), index: from_zero(index)? })
    }
}

impl From<QueueDrop> for UserAction {
    fn from(QueueDrop { chat, text }: QueueDrop) -> Self {
        Self::DropQueued { chat: chat.map(ChatId), text }
    }
}
