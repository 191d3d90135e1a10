//! How a chat stands, as the editor is told: complete each time.

use super::event::ChatId;
use crate::session::permission::PermissionOption;
use crate::session::update::Usage;

/// The states of a chat (`require("rat").status().state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChatState {
    /// No agent runs.
    #[default]
    Stopped,
    /// The agent is being started.
    Starting,
    /// The agent waits for a prompt.
    Ready,
    /// A turn runs.
    Running,
    /// A turn runs and waits for the user.
    Waiting,
    /// A turn was cancelled and has not ended yet.
    Cancelling,
    /// The agent could not be started, or is dead.
    Failed,
}

impl ChatState {
    /// The word for it.
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

/// How a chat stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Which chat.
    pub chat: ChatId,
    /// The agent's name in the configuration.
    pub agent: String,
    /// The agent's name for people.
    pub title: String,
    /// The session, once there is one.
    pub session: Option<String>,
    /// The state.
    pub state: ChatState,
    /// What the agent does, or why it failed, in one line.
    pub detail: Option<String>,
    /// Prompts that wait for the turn to end.
    pub queued: Vec<String>,
    /// Whether they wait for the user, too.
    pub queue_paused: bool,
    /// Requests that wait for the user, oldest first.
    pub permissions: Vec<WaitingPermission>,
    /// What the agent asks the user for, oldest first.
    pub elicitations: Vec<WaitingElicitation>,
    /// How full the context is.
    pub usage: Option<Usage>,
    /// The session's mode.
    pub mode: Option<String>,
    /// Steps of the plan done, and all of them.
    pub plan: Option<(usize, usize)>,
}

/// A request for permission that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingPermission {
    /// Our number of it.
    pub id: u64,
    /// The tool call.
    pub tool_call: String,
    /// What it is called.
    pub title: String,
    /// One word for what the tool does.
    pub kind: &'static str,
    /// The whole command, where it is one.
    pub command: Option<String>,
    /// All that is asked, in several lines.
    pub asks: String,
    /// It grows when what is asked changes.
    pub revision: u64,
    /// The ways to answer.
    pub options: Vec<PermissionOption>,
    /// How many diffs it shows.
    pub diffs: usize,
}

/// A form or an address that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingElicitation {
    /// Our number of it.
    pub id: u64,
    /// `form` or `url`.
    pub mode: &'static str,
    /// Why the agent asks.
    pub message: String,
}
