//! The supported versions of ACP, and the choice of one for a connection.

use super::dialect::Dialect;
use super::v1::V1;
use crate::session::agent::AgentInfo;

/// Returns the dialect in which every connection sends `initialize`.
pub fn initial() -> Box<dyn Dialect> {
    Box::new(V1::default())
}

/// Returns the dialect of the version in the agent's answer to `initialize`; `None` if that is not supported.
pub fn negotiated(agent: &AgentInfo) -> Option<Box<dyn Dialect>> {
    match agent.protocol_version {
        1 => Some(Box::new(V1::new(agent.capabilities))),
        _ => None,
    }
}
