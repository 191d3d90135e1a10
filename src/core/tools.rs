//! The editor's own tools, as far as the core knows: who may call them, and the calls that are not answered.

use crate::core::messages::files::ProposedWrite;
use crate::core::messages::ids::{AgentId, RequestToken};
use crate::core::messages::tools::{GrantId, ToolAnswer, ToolCallToken};
use crate::session::agent::McpServer;
use crate::session::author::ChatId;
use crate::session::editor_tool::ToolRequest;
use crate::session::ids::ToolCallId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Who may call the tools, and the open calls.
#[derive(Debug, Default)]
pub(super) struct EditorTools {
    pub(super) grants: BTreeMap<GrantId, Grant>,
    /// By the token that each came with.
    pub(super) calls: BTreeMap<ToolCallToken, RunningCall>,
    /// The names of the tools that the user has added.
    pub(super) offered: BTreeSet<String>,
}

/// What lets an agent call the tools for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) agent: AgentId,
    /// The chat whose session it is; `None` once that is closed, where the agent uses it for other sessions, too.
    pub(super) chat: Option<ChatId>,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) chat: ChatId,
    /// Whether it is not known for certain which session of the agent calls.
    pub(super) is_unclear: bool,
    pub(super) request: ToolRequest,
    /// The arguments as JSON text.
    pub(super) input: String,
    /// The tool call of the session that it is.
    pub(super) row: Option<ToolCallId>,
    /// What gets the answer; `None` if nobody waits for it any more.
    pub(super) caller: Option<ToolCallToken>,
    pub(super) step: Step,
    /// Why the user rejects it.
    pub(super) reason: Option<String>,
}

/// What a call waits for.
#[derive(Debug)]
pub(super) enum Step {
    /// The tool call of the session.
    Row,
    /// What was asked for, or what is to be done, is being found out.
    Work,
    /// The user.
    Consent(Vec<ProposedWrite>),
    /// These writes.
    Writes(Writing),
    /// What the changes lead to.
    Check,
    /// It is done, but the caller had to be answered before.
    Done(ToolAnswer),
}

/// Writes that are being made.
#[derive(Debug, Default)]
pub(super) struct Writing {
    pub(super) open: BTreeMap<RequestToken, PathBuf>,
    pub(super) written: Vec<PathBuf>,
    /// Those that could not be made, with the reasons.
    pub(super) failed: Vec<(PathBuf, String)>,
}

/// What a chat knows of the tools.
#[derive(Debug, Default)]
pub(super) struct ToolAccess {
    /// What lets its agent call them.
    pub(super) grant: Option<GrantId>,
    /// How its agent starts the server.
    pub(super) server: Option<McpServer>,
    /// How often each tool was called in this session.
    pub(super) calls: BTreeMap<String, usize>,
    /// The tool calls that we have given a title.
    pub(super) titled: BTreeSet<ToolCallId>,
    /// Calls of this turn that were answered before their tool calls came.
    pub(super) ahead: Vec<AnsweredCall>,
}

/// A call that was answered before its tool call came.
#[derive(Debug)]
pub(super) struct AnsweredCall {
    pub(super) request: ToolRequest,
    /// The arguments as JSON text.
    pub(super) input: String,
}
