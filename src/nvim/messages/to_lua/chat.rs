//! Messages about chats: new chats, notifications, autocommands, questions, and prompts that are returned.

use super::Chat;
use crate::core::messages::editor::{self, Asked, UserAutocmd};
use crate::nvim::text::{BufferText, FilePath, Handle, Label, Word, each};
use crate::session::prompt::{self, Body, Prompt};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// A chat that exists.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Opened {
    /// The chat.
    chat: Chat,
    /// The agent's name in the configuration.
    agent: Handle,
    /// The agent's display name.
    title: Label,
    /// The session's working directory.
    cwd: FilePath,
    /// Whether to open its windows.
    show: bool,
    /// Whether to put the cursor into the prompt.
    focus: bool,
    /// The number of the change in place that it was opened for. Such a chat is in the background until it is shown.
    edit: Option<u64>,
}

/// What has become of a change in place.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Edited {
    /// The chat that was asked for it.
    chat: Chat,
    /// The number of the change.
    edit: u64,
    /// What has become of it.
    outcome: EditOutcome,
}

/// What has become of a change in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum EditOutcome {
    Changed,
    Unchanged,
    Cancelled,
    Failed,
}

/// One line for the user.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Notify {
    /// The urgency.
    level: Level,
    /// The text.
    text: Label,
}

/// The urgency of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Level {
    Info,
    Warn,
    Error,
}

/// A `User` autocommand.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Event {
    /// The pattern.
    name: Word,
    /// The data.
    data: EventData,
}

/// The data of an autocommand, depending on its name (`:help rat-events`).
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct EventData {
    /// The chat; missing for `RatReviewChanged`.
    chat: Option<Chat>,
    /// For `RatTurnEnd`: why the turn ended.
    stop_reason: Option<Label>,
    /// For `RatTurnEnd`: whether a queued prompt starts another turn at once.
    next: Option<bool>,
    /// For `RatPermission` and `RatElicitation`: our number of the request.
    id: Option<u64>,
    /// For `RatPermission`: the tool call's title.
    title: Option<Label>,
    /// For `RatElicitation`: `form` or `url`.
    mode: Option<Word>,
    /// For `RatFileChanged`: the file.
    path: Option<FilePath>,
    /// For `RatFileChanged`: the number of hunks.
    hunks: Option<usize>,
    /// For `RatFileChanged`: the number of hunks where the buffer keeps the user's lines although the file has others.
    conflicts: Option<usize>,
    /// For `RatFileChanged`: whether the file did not exist before.
    created: Option<bool>,
    /// For `RatFileChanged`: whether the file was deleted.
    deleted: Option<bool>,
    /// For `RatFileChanged`: `protocol` or `disk`.
    via: Option<Word>,
    /// For `RatError`: what failed.
    message: Option<Label>,
    /// For `RatError`: `transport` (on the way to the agent), `agent`, or `client` (here).
    origin: Option<Word>,
    /// For `RatError`: the code of the agent's error.
    code: Option<i64>,
    /// For `RatError`: whether the same may succeed if it is tried again.
    retryable: Option<bool>,
    /// For `RatError`: short descriptions of the last messages before a connection ended, oldest first.
    last_messages: Option<Vec<Label>>,
}

/// One of our own questions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Ask {
    /// The number of the question, to answer it with.
    id: u64,
    /// The chat it is about.
    chat: Chat,
    /// The question.
    title: Label,
    /// The possible answers.
    items: Vec<Label>,
    /// Whether it is a direct consequence of something the user did.
    by_user: bool,
    /// Whether it still waits for an answer after the user has closed its window.
    lasting: bool,
    /// The item that answers nothing but shows what the question is about, from 1.
    peek: Option<usize>,
    /// Whether it is about a write, whose change may be shown in place of the question.
    is_write: bool,
}

/// A question that is withdrawn.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Unask {
    /// The number of the question.
    id: u64,
}

/// A chat that was closed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Closed {
    /// The chat.
    chat: Chat,
}

/// A prompt that was not sent, or that the user takes out of the queue.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Draft {
    /// The chat.
    chat: Chat,
    /// Whether the user took it out of the queue in order to edit it.
    taken: bool,
    /// The text.
    text: BufferText,
    /// The attachments.
    attachments: Vec<Attachment>,
}

/// An attachment of a prompt.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Attachment {
    /// The `file://` URI of the whole file.
    uri: Handle,
    /// What the user sees.
    label: Label,
    /// The first line, from 1; missing for the whole file.
    first: Option<u32>,
    /// The last line, inclusive.
    last: Option<u32>,
    /// A description of the part, if it is not exactly these lines.
    part: Option<Label>,
    /// The MIME type, if known.
    mime: Option<Handle>,
    /// The text, including unsaved changes.
    text: Option<BufferText>,
    /// Instead of a text: the path of a file that is read when the prompt is sent.
    path: Option<FilePath>,
}

impl Opened {
    pub(super) fn new(
        chat: Chat,
        agent: String,
        title: String,
        cwd: &Path,
        (show, focus): (bool, bool),
        edit: Option<u64>,
    ) -> Self {
        let (agent, title, cwd) = (Handle::new(agent), Label::new(title), FilePath::new(cwd));
        Self { chat, agent, title, cwd, show, focus, edit }
    }
}

impl Edited {
    pub(super) fn new(chat: Chat, edit: u64, outcome: editor::EditOutcome) -> Self {
        let outcome = match outcome {
            editor::EditOutcome::Changed => EditOutcome::Changed,
            editor::EditOutcome::Unchanged => EditOutcome::Unchanged,
            editor::EditOutcome::Cancelled => EditOutcome::Cancelled,
            editor::EditOutcome::Failed => EditOutcome::Failed,
        };
        Self { chat, edit, outcome }
    }
}

impl Notify {
    pub(super) fn new(level: editor::Level, text: &str) -> Self {
        let level = match level {
            editor::Level::Info => Level::Info,
            editor::Level::Warn => Level::Warn,
            editor::Level::Error => Level::Error,
        };
        Self { level, text: Label::new(text) }
    }
}

impl EventData {
    fn of(chat: Chat) -> Self {
        Self { chat: Some(chat), ..Self::default() }
    }
}

impl From<UserAutocmd> for Event {
    fn from(happened: UserAutocmd) -> Self {
        let (name, data) = match happened {
            UserAutocmd::TurnStart(chat) => ("RatTurnStart", EventData::of(chat.0)),
            UserAutocmd::TurnEnd(chat, reason, next) => {
                let (stop_reason, next) = (Some(Label::new(reason)), Some(next));
                ("RatTurnEnd", EventData { stop_reason, next, ..EventData::of(chat.0) })
            }
            UserAutocmd::Permission(chat, id, title) => {
                let (id, title) = (Some(id), Some(Label::new(title)));
                ("RatPermission", EventData { id, title, ..EventData::of(chat.0) })
            }
            UserAutocmd::Elicitation(chat, id, mode) => {
                let (id, mode) = (Some(id), Some(Word::new(mode)));
                ("RatElicitation", EventData { id, mode, ..EventData::of(chat.0) })
            }
            UserAutocmd::FileChanged(chat, change) => (
                "RatFileChanged",
                EventData {
                    path: Some(FilePath::new(&change.path)),
                    hunks: Some(change.hunks),
                    conflicts: Some(change.conflicts),
                    created: Some(change.created),
                    deleted: Some(change.deleted),
                    via: Some(Word::new(change.via)),
                    ..EventData::of(chat.0)
                },
            ),
            UserAutocmd::ReviewChanged => ("RatReviewChanged", EventData::default()),
            UserAutocmd::Error(chat, failure) => (
                "RatError",
                EventData {
                    message: Some(Label::new(failure.message.to_string())),
                    origin: Some(Word::new(failure.origin.name())),
                    code: failure.code,
                    retryable: Some(failure.is_retryable),
                    last_messages: Some(
                        failure.last_messages.into_iter().map(Label::new).collect(),
                    ),
                    ..EventData::of(chat.0)
                },
            ),
        };
        Self { name: Word::new(name), data }
    }
}

impl From<Asked> for Ask {
    fn from(asked: Asked) -> Self {
        let Asked { id, chat, title, items, by_user, lasting, peek, is_write } = asked;
        Self {
            id,
            chat: chat.0,
            title: Label::new(&title),
            items: each(items, Label::new),
            by_user,
            lasting,
            peek: peek.map(|index| index + 1),
            is_write,
        }
    }
}

impl Unask {
    pub(super) fn new(id: u64) -> Self {
        Self { id }
    }
}

impl Closed {
    pub(super) fn new(chat: Chat) -> Self {
        Self { chat }
    }
}

impl Draft {
    pub(super) fn new(chat: Chat, Prompt { text, attachments, .. }: Prompt, taken: bool) -> Self {
        let attachments = attachments.into_iter().map(Into::into).collect();
        Self { chat, taken, text: BufferText::new(text), attachments }
    }
}

impl From<prompt::Attachment> for Attachment {
    fn from(it: prompt::Attachment) -> Self {
        let (first, last) = it.lines.unzip();
        let (text, path) = match it.body {
            Body::Text(text) => (Some(BufferText::new(text)), None),
            Body::File(path) => (None, Some(FilePath::new(&path))),
        };
        Self {
            uri: Handle::new(it.uri),
            label: Label::new(it.label),
            first,
            last,
            part: it.part.map(Label::new),
            mime: it.mime.map(Handle::new),
            text,
            path,
        }
    }
}
