//! Commands that run for agents (ACP terminals), and the terminal buffers that show them.

use crate::core::messages::effect::Answer;
use crate::core::messages::ids::RequestToken;
use crate::session::author::ChatId;
use crate::session::ids::TerminalId;
use crate::session::terminal::TerminalExit;

/// A terminal an agent has created and not released, or one that is released but whose command has not ended.
#[derive(Debug)]
pub(super) struct AgentTerminal {
    pub(super) chat: ChatId,
    pub(super) state: CommandState,
    /// Requests that wait for the command to end.
    pub(super) waiting: Vec<(RequestToken, ExitRequest)>,
    /// Maximum output the agent asked for, in bytes.
    pub(super) limit: usize,
    /// The agent has released it or the session has ended, so its id is no longer valid.
    pub(super) released: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandState {
    /// The command is being started; its `terminal/create` request waits.
    Starting(RequestToken),
    Running,
    Ended(TerminalExit),
}

/// A request that waits for a command to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitRequest {
    WaitForExit,
    Kill,
}

/// A terminal buffer in the editor that shows a command's output.
#[derive(Debug)]
pub(super) struct TerminalBuffer {
    pub(super) chat: ChatId,
    pub(super) terminal: TerminalId,
    /// The editor has been told to open it.
    pub(super) opened: bool,
    /// Position in the output up to which it has been sent, in bytes.
    pub(super) sent: u64,
    /// The editor knows that the command has ended.
    pub(super) ended: bool,
}

impl ExitRequest {
    pub(super) fn answer(self, exit: TerminalExit) -> Answer {
        match self {
            Self::WaitForExit => Answer::Exited(exit),
            Self::Kill => Answer::Done,
        }
    }
}
