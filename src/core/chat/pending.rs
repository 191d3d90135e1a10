//! Requests and questions in a chat that the user has not answered yet.

use crate::core::messages::ids::{CallId, RequestToken};
use crate::core::messages::status::WaitingElicitation;
use crate::session::elicitation::ElicitationKind;
use crate::session::ids::{ElicitationId, ToolCallId};
use crate::session::permission::{DecidedBy, PermissionOption};
use std::path::PathBuf;

/// An elicitation (ACP `elicitation/create`) the user has not answered.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::core) struct PendingElicitation {
    /// Our number for it; the editor refers to it by this.
    pub id: u64,
    /// Why the agent asks.
    pub message: String,
    /// The form to fill in or the URL to open.
    pub wants: ElicitationKind,
    /// Used up by the answer.
    pub(in crate::core) token: RequestToken,
    /// Our call that it belongs to; `None` if it belongs to the session.
    pub(in crate::core) call: Option<CallId>,
    /// The tool call it belongs to, if any.
    pub(in crate::core) tool_call: Option<ToolCallId>,
}

/// Maximum length of a message in the status, in characters. The status is sent again whenever any part of it changes.
const MAX_FIRST_LINE: usize = 200;

impl PendingElicitation {
    /// Returns what the chat's status says about it.
    pub(in crate::core) fn status(&self) -> WaitingElicitation {
        let (id, mode) = (self.id, self.wants.mode());
        WaitingElicitation { id, mode, message: self.first_line() }
    }

    /// Returns the first line of its message, shortened.
    pub(in crate::core) fn first_line(&self) -> String {
        let first = self.message.trim_start().lines().next().unwrap_or_default();
        first.chars().take(MAX_FIRST_LINE).collect()
    }
}

/// A permission request (ACP `session/request_permission`) the user has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::core) struct PendingPermission {
    /// Our number for it; the editor refers to it by this.
    pub id: u64,
    /// Used up by the answer.
    pub token: RequestToken,
    /// The tool call it is about.
    pub tool_call: ToolCallId,
    /// The options to choose from.
    pub options: Vec<PermissionOption>,
    /// How many times the tool call has changed in a way that matters to the decision.
    pub revision: u64,
    /// Who answers it.
    pub by: DecidedBy,
    /// What it waits for.
    pub stage: PermissionStage,
    /// The real paths of the files that the tool call names, in order, once rules have decided on it. Empty if they are not
    /// known.
    pub real_files: Vec<PathBuf>,
}

/// What a permission request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core) enum PermissionStage {
    /// To be passed to the user's rules: it is new, or has changed.
    New,
    /// The user's rules, which may decide it.
    Rules,
    /// The user's permission provider, if there is one, or the user.
    Provider,
    /// The user, because a rule says so.
    User,
}

/// Everything in a chat that waits for the user.
#[derive(Debug, Default)]
pub(in crate::core) struct AwaitingUser {
    /// Permission requests, oldest first.
    pub permissions: Vec<PendingPermission>,
    /// Elicitations, oldest first.
    pub elicitations: Vec<PendingElicitation>,
    /// URLs the user has opened and the agent has not reported as complete, with our numbers of the elicitations.
    pub opened_addresses: Vec<(ElicitationId, u64)>,
    /// Number of our own questions that hold up the turn.
    pub questions: usize,
}

impl AwaitingUser {
    /// Whether the turn waits for the user.
    pub(in crate::core) fn holds_turn(&self) -> bool {
        !self.permissions.is_empty() || !self.elicitations.is_empty() || self.questions > 0
    }
}
