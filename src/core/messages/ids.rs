//! Identifiers that we assign to agents, to their requests and to our calls.

/// An agent process. A restarted agent gets a new id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// A request of an agent that waits for an answer. It is used up by answering, which happens exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestToken(pub u64);

impl RequestToken {
    /// A token for what we do as if an agent had requested it. It differs from those of agents, which are counted from 0.
    pub fn of_ours(number: u64) -> Self {
        Self(1 << 63 | number)
    }
}

/// A call of ours that waits for the agent's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);
