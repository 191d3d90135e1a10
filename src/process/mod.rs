//! Child processes and everything they start: finding programs, signalling and ending a whole
//! process tree, and the watchdog that does so if the bridge is killed. It does not touch the
//! processes' stdio and knows nothing of agents.

pub mod group;
pub mod program;
pub mod strays;
pub mod watch;
