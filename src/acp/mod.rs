//! The edge to agents: processes, JSON-RPC lines, and the protocol in our words.
