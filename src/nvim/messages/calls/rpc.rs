//! Calls about the connection itself.

use super::{Nothing, calls};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Introduces the binary once it is connected.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Connected {
    /// What Lua has to know about the binary.
    pub hello: Hello,
}

/// What Lua has to know about the binary.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Hello {
    /// The version of the binary, which must be that of the plugin.
    pub version: &'static str,
}

calls! {
    Connected = "rat.rpc", "connected" => Nothing;
}
