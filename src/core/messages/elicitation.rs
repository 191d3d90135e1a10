//! What passes between agents, the core and the editor where an agent asks the user something (ACP elicitation). Words
//! only: what becomes of it is decided in `elicit`.

use super::event::CallId;
use crate::session::elicitation::{Given, Problem, Wants};
use crate::session::ids::SessionId;

/// What a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A session.
    Session(SessionId),
    /// A call of ours, such as `authenticate`, that waits for its answer.
    Call(CallId),
}

/// What the user does with a form or an address.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// Wants to know what is wrong with what is entered so far, by the keys of the fields.
    Check(Vec<(String, Given)>),
    /// Sends what is entered, or consents to open the address.
    Accept(Vec<(String, Given)>),
    /// Says no.
    Decline,
    /// Closes it.
    Cancel,
}

/// What the editor is told of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It waits for the user: why the agent asks, and what the user is to do.
    Asked(String, Wants),
    /// What is wrong with what is entered; nothing is.
    Problems(Vec<Problem>),
    /// The user has consented: open this address.
    Open(String),
}
