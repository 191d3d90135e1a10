//! Whether an agent is working, and why its turn ended.

/// The state of the agent (ACP version 2, `state_update`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// It is working or waiting, or it is in a state we do not know.
    Busy,
    /// It has stopped.
    Idle(StopReason),
    /// It has stopped because of an error, in one line.
    Failed(String),
}

/// Why a turn ended (ACP `stopReason`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The agent is finished.
    EndTurn,
    /// The model's token limit was reached.
    MaxTokens,
    /// The limit of model requests in a turn was reached.
    MaxTurnRequests,
    /// The agent refused. The prompt and what followed are not in its context.
    Refusal,
    /// The turn was cancelled.
    Cancelled,
    /// A reason we do not know.
    Unknown(String),
}

impl StopReason {
    /// Its name in the protocol.
    pub fn word(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Unknown(word) => word,
        }
    }
}
