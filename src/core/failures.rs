//! Says of errors and exits where they happened, and whether it may help to try again.

use crate::core::messages::agent::{
    AUTH_REQUIRED, CallError, Exit, ExitCause, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND,
    NOT_FOUND,
};
use crate::core::messages::failure::{Failure, Origin};
use crate::core::messages::notice::Notice;
use crate::core::user_messages;

/// Errors that the same call would get again.
const LASTING: [i64; 5] =
    [INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, AUTH_REQUIRED, NOT_FOUND];

/// Describes an error of our own.
pub(super) fn of_ours(message: Notice) -> Failure {
    let (origin, code, last_messages) = (Origin::Client, None, Vec::new());
    Failure { message, details: Vec::new(), origin, code, is_retryable: false, last_messages }
}

/// Describes the error of a call, of which the user is told `message`.
pub(super) fn of_call(message: Notice, error: &CallError) -> Failure {
    let (origin, code, is_retryable) = match error {
        CallError::Rpc { code, .. } => (Origin::Agent, Some(*code), !LASTING.contains(code)),
        CallError::Timeout(_) => (Origin::Agent, None, true),
        CallError::Malformed(_) | CallError::UnknownProtocol(_) => (Origin::Agent, None, false),
        CallError::Closed => (Origin::Transport, None, true),
        CallError::NotSent(_) => (Origin::Client, None, false),
    };
    let details = user_messages::data(error);
    Failure { message, details, origin, code, is_retryable, last_messages: Vec::new() }
}

/// Describes how an agent was lost, of which the user is told `message`.
pub(super) fn of_exit(message: Notice, exit: &Exit) -> Failure {
    let (origin, is_retryable) = match &exit.cause {
        ExitCause::NotStarted { .. } => (Origin::Client, false),
        ExitCause::Status(_)
        | ExitCause::Signal(_)
        | ExitCause::ClosedPipe
        | ExitCause::ReadsNothing => (Origin::Agent, true),
        ExitCause::Unreachable { obstacle, .. } => (Origin::Transport, obstacle.may_pass()),
        ExitCause::Lost(_) | ExitCause::HungUp(_) => (Origin::Transport, true),
    };
    let (details, last_messages) = (user_messages::stderr_tail(exit), exit.messages.clone());
    Failure { message, details, origin, code: None, is_retryable, last_messages }
}
