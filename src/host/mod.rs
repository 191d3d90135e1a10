//! The edge to the machine: paths and roots.

pub mod paths;
pub mod store;
