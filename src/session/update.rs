//! The updates of a session that an agent sends (ACP `session/update`).

use super::content::Content;
use super::ids::{MessageId, TerminalId, ToolCallId};
use super::terminal::TerminalUpdate;
use super::tool_call::{ToolCallPatch, ToolContent};
use super::turn::Activity;
use serde::{Deserialize, Serialize};

/// An update of a field (ACP three-state fields).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// The field was absent: it does not change.
    #[default]
    Unchanged,
    /// The field was `null`: it is cleared.
    Clear,
    /// The field is set to this value.
    Set(T),
}

impl<T> Patch<T> {
    /// Applies the update to `field`.
    pub fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Unchanged => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }
}

/// An update of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A chunk of a message.
    Chunk {
        /// The author of the message.
        role: Role,
        /// The message it belongs to; consecutive chunks without an id are grouped by role.
        message: Option<MessageId>,
        /// The content of the chunk.
        content: Content,
    },
    /// A whole message, which is new or replaces an earlier one.
    Message {
        /// The author of the message.
        role: Role,
        /// The id of the message.
        message: MessageId,
        /// The whole content.
        content: Vec<Content>,
    },
    /// A new tool call, or a change of one.
    ToolCall {
        /// The id of the tool call; an unknown one means a new call.
        id: ToolCallId,
        /// The change.
        patch: Box<ToolCallPatch>,
    },
    /// A tool call has produced another item of content.
    ToolContent {
        /// The id of the tool call.
        id: ToolCallId,
        /// The item to append.
        content: ToolContent,
    },
    /// An update of a terminal of the agent's own.
    Terminal {
        /// The id of the terminal.
        id: TerminalId,
        /// The update.
        update: TerminalUpdate,
    },
    /// The whole plan; an empty one clears it.
    Plan(Vec<PlanEntry>),
    /// All slash commands that the agent offers.
    Commands(Vec<Command>),
    /// The id of the session's new mode.
    Mode(String),
    /// All options of the session.
    Options(Vec<ConfigOption>),
    /// Metadata of the session.
    Info {
        /// The title.
        title: Patch<String>,
        /// When it last changed (ISO 8601).
        updated_at: Patch<String>,
    },
    /// Context size and cost.
    Usage(Usage),
    /// A transient notice, which is not part of the conversation.
    Notice {
        /// How severe it is.
        severity: Severity,
        /// One line.
        title: String,
        /// Details, if there are any.
        description: Option<String>,
    },
    /// The agent compacts its context.
    Compaction {
        /// The id of the compaction.
        id: String,
        /// The status in the agent's own word; empty if it did not change.
        status: String,
        /// The summary so far.
        summary: Patch<Vec<Content>>,
        /// The error, if it failed.
        error: Patch<String>,
    },
    /// A chunk of a compaction's summary.
    CompactionChunk {
        /// The id of the compaction.
        id: String,
        /// The content of the chunk.
        content: Content,
    },
    /// The `_meta` of the preceding update or response, for the Lua API.
    Meta(Meta),
    /// The agent's state, from agents that do not report it by responding to the prompt.
    Activity(Activity),
    /// An update we do not know or cannot parse, shown in one dim row.
    Unknown {
        /// Its `sessionUpdate`.
        tag: String,
        /// What is wrong with it; `None` if its kind is not known.
        problem: Option<String>,
    },
}

impl Update {
    /// Whether it is part of the conversation rather than of the session's state.
    pub fn is_conversation(&self) -> bool {
        matches!(
            self,
            Self::Chunk { .. }
                | Self::Message { .. }
                | Self::ToolCall { .. }
                | Self::ToolContent { .. }
                | Self::Terminal { .. }
                | Self::Plan(_)
                | Self::Compaction { .. }
                | Self::CompactionChunk { .. }
        )
    }
}

/// An agent's own additions to the protocol (ACP extensibility, `_meta`), for scripts. We do not
/// depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The `sessionUpdate` it came with, or the method of the request whose response had it.
    pub kind: String,
    /// The tool call it belongs to, if any.
    pub id: Option<String>,
    /// The object as JSON text; `None` if it is too large to be passed on.
    pub json: Option<String>,
    /// Its size in bytes.
    pub size: usize,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The user.
    User,
    /// The agent.
    Agent,
    /// The agent's reasoning (ACP `agent_thought_chunk`).
    Thought,
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// Information, and any severity we do not know.
    Info,
    /// Something unexpected.
    Warning,
    /// Something failed.
    Error,
}

/// An entry of a plan (ACP `PlanEntry`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// The task.
    pub content: String,
    /// Its priority.
    pub priority: PlanPriority,
    /// Its status.
    pub status: PlanStatus,
}

/// The priority of a plan entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanPriority {
    /// Important.
    High,
    /// The default, and any priority we do not know.
    Medium,
    /// Nice to have.
    Low,
}

/// The status of a plan entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanStatus {
    /// Not started, and any status we do not know.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// No longer to be done.
    Cancelled,
}

/// A slash command of the agent, sent as `/name arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The name without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A hint about its arguments.
    pub hint: Option<String>,
}

/// A configuration option of the session, such as its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// `mode`, `model`, `thought_level` or a category of the agent's own.
    pub category: Option<String>,
    /// Its current value, and the possible ones.
    pub value: OptionValue,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// One of several choices.
    Select {
        /// The current value.
        current: String,
        /// All choices in order, without the nesting of groups.
        choices: Vec<Choice>,
    },
    /// On or off.
    Boolean(bool),
}

/// A choice of an option, or a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value to send.
    pub value: String,
    /// Its display name.
    pub name: String,
    /// A description for the user.
    pub description: Option<String>,
    /// The name of its group, if any.
    pub group: Option<String>,
}

/// The use of the context, and the cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Size of the context in tokens.
    pub size: u64,
    /// The cost so far with its currency, such as `(0.12, "USD")`.
    pub cost: Option<(f64, String)>,
}

impl Usage {
    /// Returns how many percent of the context are used; `None` if its size is unknown.
    pub fn percent(&self) -> Option<u64> {
        let used = u128::from(self.used) * 100;
        used.checked_div(self.size.into()).map(|percent| percent.try_into().unwrap_or(u64::MAX))
    }
}

/// Modes or models of an agent without configuration options (ACP session modes; models were never
/// part of a released protocol).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The id of the current one, which may not be among the available ones.
    pub current: String,
    /// The available ones.
    pub available: Vec<Choice>,
}
