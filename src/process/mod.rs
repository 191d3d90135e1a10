//! Child processes and everything they start: finding programs, signalling and ending a whole
//! process tree, the watchdog that does so if the bridge is killed, and confining what a process may
//! do. It does not touch the processes' stdio and knows nothing of agents.

pub mod confine;
pub mod group;
pub mod program;
pub mod repository;
pub mod short_file;
pub mod strays;
pub mod watch;
