//! The edge to Neovim: the only room that knows msgpack-RPC. It translates and carries out, it decides nothing.

pub mod client;
mod data;
pub mod decode;
pub mod encode;
mod form;
pub mod stdio;
