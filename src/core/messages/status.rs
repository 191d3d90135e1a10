//! The status of a chat as the editor receives it. It is always sent completely.

use crate::session::author::ChatId;
use crate::session::permission::PermissionOption;
use crate::session::tool_call::ToolKind;
use crate::session::update::Usage;
use std::path::PathBuf;

/// The state of a chat (`require("rat").status().state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChatState {
    /// No agent is running.
    #[default]
    Stopped,
    /// The agent is starting.
    Starting,
    /// The agent waits for a prompt.
    Ready,
    /// A turn is running, or a tool call after the end of one.
    Running,
    /// The same, and a request waits for the user.
    Waiting,
    /// A turn was cancelled and has not ended yet.
    Cancelling,
    /// The agent could not be started, or has died.
    Failed,
}

impl ChatState {
    /// The name of the state in Lua.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Cancelling => "cancelling",
            Self::Failed => "failed",
        }
    }
}

/// The status of a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatStatus {
    /// The chat.
    pub chat: ChatId,
    /// The agent's name in the configuration.
    pub agent: String,
    /// The agent's display name.
    pub title: String,
    /// The session's id; `None` before it is open.
    pub session: Option<String>,
    /// The session's title, else the beginning of the first prompt.
    pub session_title: Option<String>,
    /// The state.
    pub state: ChatState,
    /// What the agent is doing or why it failed, in one line.
    pub detail: Option<String>,
    /// Why the last turn ended, in the protocol's word or `error`; `None` before the first and while one is running.
    pub stop_reason: Option<String>,
    /// Whether no turn is running: what is open came after the end of one, and a prompt is sent at once.
    pub is_between_turns: bool,
    /// The prompt that the agent is working on, unless it is very long or cancelled.
    pub prompt: Option<String>,
    /// Queued prompts, in the order they will be sent.
    pub queued: Vec<String>,
    /// Their numbers, in the same order.
    pub queue_numbers: Vec<u64>,
    /// Whether the queue waits for the user to resume it.
    pub queue_paused: bool,
    /// Unanswered permission requests, oldest first.
    pub permissions: Vec<WaitingPermission>,
    /// Unanswered elicitations, oldest first.
    pub elicitations: Vec<WaitingElicitation>,
    /// Context window usage.
    pub usage: Option<Usage>,
    /// The name of the session's mode.
    pub mode: Option<String>,
    /// Number of completed plan entries, and of all.
    pub plan: Option<(usize, usize)>,
}

/// An unanswered permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingPermission {
    /// Our number of the request.
    pub id: u64,
    /// The tool call's id.
    pub tool_call: String,
    /// The tool call's title.
    pub title: String,
    /// The kind of tool, in one word.
    pub kind: &'static str,
    /// The kind of tool.
    pub tool_kind: ToolKind,
    /// The absolute paths of the files that the tool call names, as the agent wrote them.
    pub files: Vec<PathBuf>,
    /// The complete commands that it may run; more than one if the agent does not say which.
    pub commands: Vec<String>,
    /// The folders that they may run in, as the agent wrote them; none if it names none.
    pub command_cwds: Vec<PathBuf>,
    /// Everything the user has to decide about, in several lines.
    pub asks: String,
    /// Incremented whenever what the user has to decide about changes.
    pub revision: u64,
    /// The options to choose from.
    pub options: Vec<PermissionOption>,
    /// Number of diffs in the tool call.
    pub diffs: usize,
    /// Whether a rule wants the user to decide, not their permission provider.
    pub for_user: bool,
}

/// An unanswered elicitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingElicitation {
    /// Our number of the elicitation.
    pub id: u64,
    /// `form` or `url`.
    pub mode: &'static str,
    /// Why the agent asks; shortened to one line.
    pub message: String,
}
