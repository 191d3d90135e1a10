//! Permission requests (ACP `session/request_permission`) and their outcomes.

use super::ids::{OptionId, ToolCallId};
use super::tool_call::ToolCallPatch;
use serde::{Deserialize, Serialize};

/// What choosing an option means (ACP `PermissionOptionKind`); only a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OptionKind {
    /// Allow this time.
    AllowOnce,
    /// Allow from now on.
    AllowAlways,
    /// Reject this time.
    RejectOnce,
    /// Reject from now on.
    RejectAlways,
    /// A kind we do not know: shown, but never chosen by a command.
    Unknown,
}

/// An option of a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// The id to send to the agent if the user chooses it.
    pub id: OptionId,
    /// Its label.
    pub name: String,
    /// What choosing it means.
    pub kind: OptionKind,
}

/// Who has answered a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DecidedBy {
    /// The user.
    #[default]
    User,
    /// The user's permission provider.
    Provider,
    /// Rules of the user, as lines of text.
    Rules(Vec<String>),
    /// The editor, of whose own tools it is one.
    Editor,
}

impl DecidedBy {
    /// Whether the user has answered.
    pub fn is_user(&self) -> bool {
        *self == Self::User
    }
}

/// A permission request. It also updates its tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The tool call it is about, which may not have been announced.
    pub tool_call: ToolCallId,
    /// The update of the tool call.
    pub patch: Box<ToolCallPatch>,
    /// What is asked, if the tool call does not say it.
    pub question: Option<String>,
    /// The options in the agent's order.
    pub options: Vec<PermissionOption>,
}

/// The outcome of a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The user chose this option.
    Selected(OptionId),
    /// The turn was cancelled, or the agent offered no suitable option.
    Cancelled,
}
