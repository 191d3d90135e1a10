//! What an agent tells us while it works (ACP `session/update`).

use super::content::Content;
use super::ids::{MessageId, TerminalId, ToolCallId};
use super::terminal::TerminalNews;
use super::tool_call::{ToolCallPatch, ToolContent};
use super::turn::Activity;
use serde::{Deserialize, Serialize};

/// A field that may be left as it is, cleared, or set (ACP three-state fields).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Left out: keep what is there.
    #[default]
    Keep,
    /// `null`: clear it.
    Clear,
    /// Set it.
    Set(T),
}

impl<T> Patch<T> {
    /// Applies the change to `field`.
    pub fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }
}

/// One update of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A piece of a message.
    Chunk {
        /// Who speaks.
        role: Role,
        /// The message it belongs to; pieces without one are grouped by who speaks.
        message: Option<MessageId>,
        /// The piece.
        content: Content,
    },
    /// A whole message, said for the first time or anew.
    Message {
        /// Who speaks.
        role: Role,
        /// Which message.
        message: MessageId,
        /// All of it.
        content: Vec<Content>,
    },
    /// A tool call is announced or changes; an unknown id announces it.
    ToolCall {
        /// Which.
        id: ToolCallId,
        /// What changes.
        patch: Box<ToolCallPatch>,
    },
    /// A tool call has produced one thing more.
    ToolContent {
        /// Which.
        id: ToolCallId,
        /// What.
        content: ToolContent,
    },
    /// Something happens in a terminal of the agent's own.
    Terminal {
        /// Which.
        id: TerminalId,
        /// What.
        news: TerminalNews,
    },
    /// Replaces the whole plan; empty clears it.
    Plan(Vec<PlanEntry>),
    /// Replaces the commands the agent offers.
    Commands(Vec<Command>),
    /// The session's mode changed.
    Mode(String),
    /// Replaces the session's options.
    Options(Vec<ConfigOption>),
    /// The session's title or time of change.
    Info {
        /// The title.
        title: Patch<String>,
        /// When it changed last, ISO 8601.
        updated_at: Patch<String>,
    },
    /// How full the context is, and what the session cost so far.
    Usage(Usage),
    /// A passing notice; no part of the conversation.
    Notice {
        /// How grave.
        severity: Severity,
        /// One line.
        title: String,
        /// More, where there is more.
        description: Option<String>,
    },
    /// The agent shortens its context.
    Compaction {
        /// Which.
        id: String,
        /// Where it stands, in the agent's word.
        status: String,
        /// The summary so far.
        summary: Patch<Vec<Content>>,
        /// Why it failed.
        error: Patch<String>,
    },
    /// A piece of a compaction's summary.
    CompactionChunk {
        /// Which.
        id: String,
        /// The piece.
        content: Content,
    },
    /// What came with the update or the answer before it, for Lua.
    Meta(Meta),
    /// Whether the agent works at it; said by agents that do not say so by their answer to the prompt.
    Activity(Activity),
    /// Something we do not know; one quiet row of the display.
    Unknown {
        /// Its `sessionUpdate`.
        tag: String,
        /// Why it was not understood, where it is a known kind that is malformed.
        problem: Option<String>,
    },
}

/// What an agent adds to what the protocol says (ACP extensibility, `_meta`). Nothing of ours depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The `sessionUpdate` it came with, or the method of the call whose answer it came with.
    pub kind: String,
    /// The tool call it is about.
    pub id: Option<String>,
    /// JSON text of an object; `None` where that is too large to be handed on.
    pub json: Option<String>,
    /// Its size in bytes.
    pub size: usize,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The user.
    User,
    /// The agent.
    Agent,
    /// The agent, thinking aloud.
    Thought,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// Good to know; unknown severities too.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// How important.
    pub priority: PlanPriority,
    /// Where it stands.
    pub status: PlanStatus,
}

/// How important a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanPriority {
    /// Most.
    High,
    /// Also what we do not know.
    Medium,
    /// Least.
    Low,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanStatus {
    /// Not begun; also what we do not know.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

/// A command the agent offers, sent as `/name arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What to type after it.
    pub hint: Option<String>,
}

/// An option of the session, such as its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOption {
    /// Its id.
    pub id: String,
    /// What the user reads.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// `mode`, `model`, `thought_level` or the agent's own word.
    pub category: Option<String>,
    /// What it is set to and may be set to.
    pub value: OptionValue,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// One of several.
    Select {
        /// The chosen value.
        current: String,
        /// What may be chosen, flattened in order.
        choices: Vec<Choice>,
    },
    /// On or off.
    Boolean(bool),
}

/// One choice of an option or one mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What goes over the wire.
    pub value: String,
    /// What the user reads.
    pub name: String,
    /// More about it.
    pub description: Option<String>,
    /// The group it stands in.
    pub group: Option<String>,
}

/// How full the context is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Tokens the context holds.
    pub size: u64,
    /// Cost so far with its unit, such as `(0.12, "USD")`.
    pub cost: Option<(f64, String)>,
}

/// The modes a session has (deprecated in ACP in favour of options).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Modes {
    /// The current mode's id.
    pub current: String,
    /// All modes.
    pub available: Vec<Choice>,
}
