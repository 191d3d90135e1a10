//! JSON-RPC 2.0, one message per line, for the connection to agents and for the built-in agents, the
//! tour and the replay. It does no I/O and knows nothing of ACP.

pub mod incoming;
pub mod noise;
pub mod outgoing;
pub mod printed;
pub mod recording;
pub mod room;
