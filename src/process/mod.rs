//! Processes with all they start: how a program is found, and how nothing of it is left. Below the edges, and knows
//! nothing of agents or of what is said.

pub mod group;
pub mod program;
pub mod strays;
pub mod watch;
