//! What an agent does with a session, and why it stops. Whose turn it is is not known here.

/// Whether the agent works (ACP version 2, `state_update`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// It does, or waits for somebody; so does one in a state we do not know.
    Busy,
    /// It does not any more.
    Idle(StopReason),
    /// It does not any more; what went wrong, in one line.
    Failed(String),
}

/// Why a turn ended (ACP `stopReason`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The agent is done.
    EndTurn,
    /// The model's limit of tokens.
    MaxTokens,
    /// The agent's limit of requests.
    MaxTurnRequests,
    /// The agent will not; the prompt and what followed are not in its context.
    Refusal,
    /// Cancelled.
    Cancelled,
    /// A reason we do not know.
    Unknown(String),
}
