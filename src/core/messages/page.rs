//! Texts that the editor shows in buffers of their own.

use crate::session::author::ChatId;
use crate::session::content::ContentId;
use crate::session::ids::ToolCallId;

/// What a scratch buffer shows. The editor derives the buffer's name from it, so it holds no text written by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageId {
    /// `:RatInfo`: facts about the agent.
    Info,
    /// The output of a tool call.
    Output(ToolCallId),
    /// A piece of content.
    Content(ContentId),
    /// What a turn has changed.
    Turn,
    /// What undoing a turn or merging a worktree would change. A question waits until the user closes it.
    Preview,
}

/// A text to be shown in a scratch buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchPage {
    /// The chat.
    pub chat: ChatId,
    /// What the text is.
    pub page: PageId,
    /// Shown above the text; one line.
    pub title: String,
    /// 'filetype' of the buffer; empty if `like` decides.
    pub filetype: &'static str,
    /// The text.
    pub text: String,
    /// A file name to detect 'filetype' from.
    pub like: Option<String>,
    /// Whether it is appended to the text shown already.
    pub more: bool,
    /// Whether to put the cursor at the end.
    pub at_end: bool,
}

/// The views of a chat, each a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// The transcript.
    Chat,
    /// The plan.
    Plan,
    /// The tool calls.
    Tools,
}

impl View {
    /// All views.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Plan, Self::Tools];
}
