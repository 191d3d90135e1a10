//! Serde for the msgpack values of the connection, adapted to the peculiarities of Lua. It knows nothing of individual
//! messages.

mod read;
mod write;

pub use read::ReadError;
pub(crate) use read::{read, read_message};
pub(crate) use write::{arguments, write};
