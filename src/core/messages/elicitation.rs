//! What agents, the core and the editor exchange about elicitations (ACP `elicitation/create`).

use crate::core::messages::ids::CallId;
use crate::session::elicitation::{ElicitationKind, FieldValue, Problem};
use crate::session::ids::SessionId;

/// What an elicitation belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A session.
    Session(SessionId),
    /// A call of ours that is still waiting for its reply, such as `authenticate`.
    Call(CallId),
}

/// What the user does with a form or a URL.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationChoice {
    /// Validate the values entered so far, by field key.
    Check(Vec<(String, FieldValue)>),
    /// Submit the values, or agree to open the URL.
    Accept(Vec<(String, FieldValue)>),
    /// Decline.
    Decline,
    /// Close it.
    Cancel,
}

/// What the editor is told about an elicitation.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationUpdate {
    /// It waits for the user: the agent's message, and the form or URL.
    Asked(String, ElicitationKind),
    /// The problems with the entered values; empty if they are valid.
    Problems(Vec<Problem>),
    /// The user has agreed to open this URL.
    Open(String),
}
