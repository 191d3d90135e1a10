//! The edge to the machine: paths and roots, what is kept, and commands that run in terminals.

pub mod export;
pub mod paths;
pub mod store;
pub mod terminals;
