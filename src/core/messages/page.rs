//! Texts that the editor shows in buffers of their own.

use crate::core::event::ChatId;
use crate::session::content::ContentId;
use crate::session::ids::ToolCallId;

/// What a text is of. The editor names buffers by it, but never by the words of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// The agent.
    Info,
    /// The traffic with it.
    Trace,
    /// What a tool call gave.
    Output(ToolCallId),
    /// Content.
    Content(ContentId),
}

/// Text in a buffer of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    /// Of which chat.
    pub chat: ChatId,
    /// Of what.
    pub page: Page,
    /// What the user reads above it, in one line.
    pub title: String,
    /// Its filetype.
    pub filetype: &'static str,
    /// What it says.
    pub text: String,
    /// The name of a file whose filetype it has, where it has none of ours.
    pub like: Option<String>,
    /// It goes on what the buffer says already.
    pub more: bool,
}
