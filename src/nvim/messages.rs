//! The messages between Lua and the binary, one type each. The types are the schema of the connection: the annotations
//! in `lua/rat/rpc/messages` and `doc/messages.md` are generated from them and their comments.

pub mod applied;
pub mod calls;
pub mod from_lua;
#[cfg(test)]
pub(in crate::nvim) mod schema;
pub mod to_lua;
