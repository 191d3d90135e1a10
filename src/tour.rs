//! The built-in tour agent.
