//! What the user is told when something fails: one line that says what happened and what to do.

use super::event::agent::{AUTH_REQUIRED, CallError, Exit, ExitCause, NOT_FOUND, Reply};
use crate::session::agent::AgentConfig;
use crate::session::turn::StopReason;

/// The version of the protocol we speak.
pub(super) const PROTOCOL_VERSION: u16 = 1;

/// Why there is no agent any more.
pub(super) fn exit(config: &AgentConfig, exit: &Exit) -> String {
    let (name, command) = (&config.name, &config.command);
    match &exit.cause {
        ExitCause::NotStarted { not_found: true, error } => match &config.install_hint {
            Some(hint) => format!("{name}: {error}: install it with `{hint}`"),
            None => format!("{name}: {error}: install it, or set agents.{name}.command"),
        },
        ExitCause::NotStarted { error, .. } => {
            format!(
                "{name}: \"{command}\" could not be started ({error}): check agents.{name}.command"
            )
        }
        ExitCause::Status(status) => {
            format!(
                "{name} ended with exit status {status}: the next prompt or :RatRestart starts it again"
            )
        }
        ExitCause::Signal(signal) => {
            format!("{name} was killed by {signal}: the next prompt or :RatRestart starts it again")
        }
        ExitCause::ClosedPipe => format!(
            "{name} closed its output and was ended: the next prompt or :RatRestart starts it again"
        ),
    }
}

/// Why the agent cannot be used.
pub(super) fn version(config: &AgentConfig, version: u16) -> String {
    let name = &config.name;
    format!(
        "{name} speaks version {version} of the Agent Client Protocol, rat.nvim speaks {PROTOCOL_VERSION}: \
         install a version of {name} that does too"
    )
}

/// Why a step of starting failed.
pub(super) fn start(config: &AgentConfig, step: &str, error: &CallError) -> String {
    let name = &config.name;
    match error {
        CallError::Timeout(after) => format!(
            "{name} did not answer {step} within {} s: see :RatLog, or raise agents.{name}.timeouts",
            after.as_secs_f64()
        ),
        CallError::Rpc { code: AUTH_REQUIRED, .. } => {
            format!(
                "{name} wants a login and offers none here: log in with its own program, then :RatRestart"
            )
        }
        error => format!("{name} failed at {step} ({}): see :RatTrace", reason(error)),
    }
}

/// Why a turn failed.
pub(super) fn turn(name: &str, error: &CallError) -> String {
    match error {
        CallError::Rpc { code: NOT_FOUND, .. } => {
            format!("{name} does not know this session any more: :RatStart! begins a new one")
        }
        error => format!("{name} could not answer ({}): send the prompt again", reason(error)),
    }
}

/// What an agent added to an error, as it came.
pub(super) fn data(error: &CallError) -> Vec<String> {
    match error {
        CallError::Rpc { data, .. } => data.iter().cloned().collect(),
        _ => Vec::new(),
    }
}

/// An answer to another question than the one asked.
pub(super) fn misfit(reply: &Reply) -> CallError {
    CallError::Malformed(format!("{reply:?}").chars().take(80).collect())
}

/// What an agent said of an error; transport and agent are told apart.
pub(super) fn reason(error: &CallError) -> String {
    match error {
        CallError::Rpc { code, message, .. } => {
            let line = message.lines().next().unwrap_or_default().trim();
            if line.is_empty() { format!("error {code}") } else { format!("error {code}: {line}") }
        }
        CallError::Timeout(after) => format!("no answer within {} s", after.as_secs_f64()),
        CallError::Closed => "the connection is closed".to_owned(),
        CallError::Malformed(what) => format!("an answer that makes no sense: {what}"),
    }
}

/// The word for how a turn ended, as autocommands get it.
pub(super) fn stop_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::MaxTokens => "max_tokens",
        StopReason::MaxTurnRequests => "max_turn_requests",
        StopReason::Refusal => "refusal",
        StopReason::Cancelled => "cancelled",
        StopReason::Unknown(word) => word,
    }
}
