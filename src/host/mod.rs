//! The edge to the operating system: which paths agents may access (`paths`), saved sessions (`store`), what
//! turns change in folders (`checkpoints`), commands that run for agents (`terminals`) and files the user exports
//! (`export`). It carries out decisions of `core` and knows nothing of Neovim or of agents' messages.

pub mod checkpoints;
pub mod export;
pub mod paths;
pub mod store;
pub mod terminals;
