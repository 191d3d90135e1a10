//! The edge to Neovim, and the only room that knows msgpack-RPC. It translates and carries out, but decides nothing.

pub mod client;
pub mod messages;
pub mod stdio;
mod text;
pub mod value;
