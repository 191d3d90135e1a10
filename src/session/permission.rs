//! Permissions: what an agent asks before it acts (ACP `session/request_permission`).

use super::ids::{OptionId, ToolCallId};
use super::tool_call::ToolCallPatch;
use serde::{Deserialize, Serialize};

/// What choosing an option means; only a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OptionKind {
    /// This once.
    AllowOnce,
    /// From now on.
    AllowAlways,
    /// Not this time.
    RejectOnce,
    /// Never.
    RejectAlways,
    /// A kind we do not know: shown, never chosen by a command.
    Unknown,
}

/// One way to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// What goes back to the agent.
    pub id: OptionId,
    /// What the user reads.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
}

/// A request for permission, as it comes in. It is an update of its tool call too.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The tool call it is about; perhaps one never announced.
    pub tool_call: ToolCallId,
    /// What it says of the tool call.
    pub patch: Box<ToolCallPatch>,
    /// The ways to answer, in the agent's order.
    pub options: Vec<PermissionOption>,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// One of the options offered.
    Selected(OptionId),
    /// The turn was cancelled, or nothing fitting was offered.
    Cancelled,
}
