//! The types of text in messages to the editor, by how Lua handles the text. Every text in a message has one of these
//! types, so no text of an agent can reach a window title or a status line unchanged.

use crate::session::label;
use rmpv::Value;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::path::Path;

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($inner:ty)),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub(super) struct $name($inner);

        impl From<$name> for Value {
            fn from(text: $name) -> Self {
                text.0.into()
            }
        }
    )*};
}
texts!(
    /// One line of text that is safe anywhere on the screen.
    Label(String),
    /// Several lines of text that are safe anywhere on the screen.
    Prose(String),
    /// Text for a buffer, unchanged: Neovim displays control characters in buffers visibly.
    BufferText(String),
    /// An identifier that is returned to us or passed to the user's code; never displayed.
    Handle(String),
    /// A path to open or to compare; never displayed.
    FilePath(String),
    /// A constant of ours.
    Word(&'static str),
);

impl Label {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self(label::line(text.as_ref()).into_owned())
    }

    /// A path for display.
    pub(super) fn of_path(path: &Path) -> Self {
        Self::new(path.to_string_lossy())
    }
}

impl Prose {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self(label::lines(text.as_ref()).into_owned())
    }
}

impl BufferText {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl Handle {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }
}

impl FilePath {
    pub(super) fn new(path: &Path) -> Self {
        Self(path.to_string_lossy().into_owned())
    }
}

impl Word {
    pub(super) fn new(word: &'static str) -> Self {
        Self(word)
    }
}

/// Bytes for a terminal buffer, already filtered by `session::terminal::escape`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct TerminalBytes(#[cfg_attr(test, schemars(with = "String"))] pub(super) Vec<u8>);

impl Serialize for TerminalBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// Converts each item of a list.
pub(super) fn each<T, U>(texts: impl IntoIterator<Item = T>, as_what: impl Fn(T) -> U) -> Vec<U> {
    texts.into_iter().map(as_what).collect()
}
