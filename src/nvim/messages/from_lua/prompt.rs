//! Sending prompts and editing the queue.

use super::Chat;
use crate::core::messages::user::{self, QueueAction, UserAction};
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
    /// Whether to cancel the running turn instead of waiting for its end.
    #[serde(default)]
    now: bool,
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

/// Defines messages about a queued prompt.
macro_rules! about_a_queued_prompt {
    ($($(#[$doc:meta])* $name:ident => $action:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Deserialize)]
            #[cfg_attr(test, derive(JsonSchema))]
            #[serde(deny_unknown_fields)]
            pub(in crate::nvim) struct $name {
                /// The chat; without it, the one used last.
                chat: Option<Chat>,
                /// The number of the prompt.
                number: u64,
            }

            impl From<$name> for UserAction {
                fn from($name { chat, number }: $name) -> Self {
                    Self::Queue(chat.map(ChatId), QueueAction::$action(number))
                }
            }
        )*
    };
}

about_a_queued_prompt!(
    /// Takes a prompt out of the queue.
    QueueTake => Take,
    /// Removes a prompt from the queue.
    QueueDrop => Drop,
    /// Sends a queued prompt before all others.
    QueueSend => Send,
);

/// Gives the queue another order and other texts.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct QueueArrange {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The prompts, in the order in which they are sent.
    #[serde(default)]
    prompts: Vec<ArrangedPrompt>,
    /// The numbers of the prompts that the user has seen. Those of them that are not among `prompts` are removed.
    #[serde(default)]
    known: Vec<u64>,
}

/// A prompt of an edited queue.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ArrangedPrompt {
    /// Its number; missing if it is new.
    number: Option<u64>,
    /// Its text.
    text: String,
    /// Whether the user has changed the text.
    #[serde(default)]
    changed: bool,
}

impl From<QueueArrange> for UserAction {
    fn from(QueueArrange { chat, prompts, known }: QueueArrange) -> Self {
        let arranged = |ArrangedPrompt { number, text, changed }| user::ArrangedPrompt {
            number,
            text,
            is_changed: changed,
        };
        let prompts = prompts.into_iter().map(arranged).collect();
        Self::Queue(chat.map(ChatId), QueueAction::Arrange { prompts, known })
    }
}

impl TryFrom<Prompt> for UserAction {
    type Error = ReadError;

    fn try_from(Prompt { chat, text, attachments, now }: Prompt) -> Result<Self, ReadError> {
        let attachments = attachments.into_iter().enumerate().map(|(index, attachment)| {
            let of = |error: ReadError| error.within_item(index).within("attachments");
            prompt::Attachment::try_from(attachment).map_err(of)
        });
        let attachments = attachments.collect::<Result<_, _>>()?;
        let prompt = prompt::Prompt { text, attachments, in_place: None };
        Ok(Self::Prompt { chat: chat.map(ChatId), prompt, now })
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
