//! What scripts that listen are told of a conversation (`require("rat").on`, `:help rat.on()`).

use crate::core::messages::status::WaitingPermission;
use crate::session::ids::ToolCallId;
use crate::session::permission::PermissionOption;
use crate::session::tool_call::{ToolCallPatch, ToolKind, ToolStatus};
use crate::session::update::Update;

/// Something that happened in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversationEvent {
    /// The agent sent an update of the session other than of a tool call.
    Update {
        /// The update.
        update: Update,
        /// Whether it is from earlier, and the agent repeats it because the session is loaded.
        is_replayed: bool,
    },
    /// The agent sent an update of a tool call.
    ToolCall(Box<ToolCallEvent>),
    /// An agent asks for permission.
    PermissionAsked(Box<WaitingPermission>),
    /// A permission request was answered.
    PermissionDecided {
        /// Our number of the request.
        id: u64,
        /// The tool call it was about.
        tool_call: ToolCallId,
        /// The tool call's title.
        title: String,
        /// The chosen option; `None` if the request was cancelled.
        option: Option<PermissionOption>,
        /// Whether the user's permission provider or rules have chosen it.
        is_automatic: bool,
    },
    /// A turn has started.
    TurnStart {
        /// The text of its prompt; `None` if the agent has started it by itself.
        prompt: Option<String>,
    },
    /// A turn has ended.
    TurnEnd {
        /// Why.
        stop_reason: String,
        /// Whether a queued prompt starts another turn at once.
        next: bool,
    },
}

/// An update of a tool call, and what is known of the call after it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallEvent {
    /// The id of the tool call.
    pub id: ToolCallId,
    /// The update.
    pub patch: ToolCallPatch,
    /// Whether the call was not known before.
    pub is_new: bool,
    /// The title.
    pub title: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// The status.
    pub status: ToolStatus,
    /// Whether it is from earlier, and the agent repeats it because the session is loaded.
    pub is_replayed: bool,
}

/// The kinds of events that one can listen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A chunk of a message.
    Chunk,
    /// A whole message.
    Message,
    /// A tool call is new or has changed.
    ToolCall,
    /// A tool call has produced another item of content.
    ToolContent,
    /// A terminal of the agent's own.
    Terminal,
    /// The plan.
    Plan,
    /// The slash commands.
    Commands,
    /// The mode.
    Mode,
    /// The options.
    Options,
    /// Title and time of the session.
    SessionInfo,
    /// Context size and cost.
    Usage,
    /// A transient notice.
    Notice,
    /// The agent compacts its context.
    Compaction,
    /// A chunk of a compaction's summary.
    CompactionChunk,
    /// Data of the agent's own.
    Meta,
    /// The agent works or has stopped.
    Activity,
    /// An update that is not known or makes no sense.
    Unknown,
    /// A permission request was made or answered.
    Permission,
    /// A turn has started.
    TurnStart,
    /// A turn has ended.
    TurnEnd,
}
