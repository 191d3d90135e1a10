//! What the user configured, as Lua sends it.
