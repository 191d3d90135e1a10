//! The edge to agents: processes, JSON-RPC lines, and the protocol in our words.

pub mod codec;
pub mod convert;
pub mod peer;
pub mod quirks;
