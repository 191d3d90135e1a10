//! The edge to the machine: paths and roots.
