//! What the user wants to see: changes, output, terminals, content, and pages about the agent.

use super::Chat;
use crate::core::messages::content::{ContentCommand, ExportTarget};
use crate::core::messages::trace::{TraceCommand, TraceFile};
use crate::core::messages::user::UserAction;
use crate::nvim::value::ReadError;
use crate::session::author::ChatId;
use crate::session::content::ContentId;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Shows changes in diff mode.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ShowDiff {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The number of the permission request; without it, the oldest.
    id: Option<u64>,
    /// The tool call; takes precedence over `id`.
    tool_call: Option<String>,
}

/// Shows the complete output of a tool call.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ShowOutput {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The tool call.
    tool_call: String,
}

/// Starts or stops showing a terminal in a terminal buffer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ShowTerminal {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The terminal.
    terminal: String,
    /// Whether it has a buffer from now on.
    #[serde(default)]
    show: bool,
}

/// Does something with a piece of content.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Content {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The id of the content, from a row or a message.
    id: String,
    /// What to do.
    act: Act,
    /// For `write`: the absolute path of the file.
    path: Option<String>,
    /// For `write`: whether to overwrite an existing file.
    #[serde(default)]
    replace: bool,
    /// For `write`: what Lua will do with the file; returned in `exported`.
    r#use: Option<String>,
}

/// What to do with a piece of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Act {
    /// List what can be done with it.
    Offer,
    /// Show its text.
    Show,
    /// Write it to a file.
    Write,
}

/// Shows what is known of an agent: its name, version, capabilities and state.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Show {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
}

/// Is about the page of the traffic with an agent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Trace {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// What about it.
    act: TraceAct,
    /// For `open`: the filter, as the user has typed it.
    #[serde(default)]
    filter: String,
}

/// What happens with a page of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum TraceAct {
    /// It is opened, or gets another filter.
    Open,
    /// It has shown a piece and takes the next one.
    More,
    /// It is closed.
    Close,
}

/// Saves the traffic with an agent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SaveTrace {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The absolute path of the file.
    path: String,
    /// Whether to overwrite an existing file.
    #[serde(default)]
    replace: bool,
}

/// Writes the conversation to a file.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ExportChat {
    /// The chat; without it, the one used last.
    chat: Option<Chat>,
    /// The absolute path of the file.
    path: String,
    /// Whether to overwrite an existing file.
    #[serde(default)]
    replace: bool,
}

impl From<ShowDiff> for UserAction {
    fn from(ShowDiff { chat, id, tool_call }: ShowDiff) -> Self {
        Self::ShowDiff { chat: chat.map(ChatId), id, tool_call: tool_call.map(Into::into) }
    }
}

impl From<ShowOutput> for UserAction {
    fn from(ShowOutput { chat, tool_call }: ShowOutput) -> Self {
        Self::ShowOutput { chat: chat.map(ChatId), tool_call: tool_call.into() }
    }
}

impl From<ShowTerminal> for UserAction {
    fn from(ShowTerminal { chat, terminal, show }: ShowTerminal) -> Self {
        Self::ShowTerminal { chat: chat.map(ChatId), terminal: terminal.into(), show }
    }
}

impl TryFrom<Content> for UserAction {
    type Error = ReadError;

    fn try_from(it: Content) -> Result<Self, ReadError> {
        let id = ContentId::decode(&it.id).ok_or_else(|| ReadError::of("id", "no such content"))?;
        let act = match it.act {
            Act::Offer => ContentCommand::Offer,
            Act::Show => ContentCommand::Show,
            Act::Write => {
                let path = it.path.ok_or_else(|| ReadError::of("path", "missing"))?;
                let (replace, then) = (it.replace, it.r#use);
                ContentCommand::Export(ExportTarget { path: path.into(), replace, then })
            }
        };
        Ok(Self::Content { chat: it.chat.map(ChatId), id, act })
    }
}

impl From<Show> for UserAction {
    fn from(Show { chat }: Show) -> Self {
        Self::ShowInfo(chat.map(ChatId))
    }
}

impl From<Trace> for UserAction {
    fn from(Trace { chat, act, filter }: Trace) -> Self {
        let command = match act {
            TraceAct::Open => TraceCommand::Open(filter),
            TraceAct::More => TraceCommand::More,
            TraceAct::Close => TraceCommand::Close,
        };
        Self::Trace(chat.map(ChatId), command)
    }
}

impl From<SaveTrace> for UserAction {
    fn from(SaveTrace { chat, path, replace }: SaveTrace) -> Self {
        let file = TraceFile { path: path.into(), replace };
        Self::Trace(chat.map(ChatId), TraceCommand::Save(file))
    }
}

impl From<ExportChat> for UserAction {
    fn from(ExportChat { chat, path, replace }: ExportChat) -> Self {
        let target = ExportTarget { path: path.into(), replace, then: None };
        Self::ExportChat(chat.map(ChatId), target)
    }
}
