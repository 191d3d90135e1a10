//! The edge to the machine: paths and roots, and commands that run in terminals.

pub mod paths;
pub mod terminals;
