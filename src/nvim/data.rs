//! What goes to the editor, by what becomes of it there. No text gets into a message without one of these: so none can
//! reach a window's title or a status line as an agent wrote it.

use crate::session::label;
use rmpv::Value;
use std::path::Path;

/// A value in a message to the editor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Data(Value);

impl Data {
    /// What is not there: left out of a message.
    pub(super) const NIL: Self = Self(Value::Nil);

    /// A word of ours.
    pub(super) fn word(word: &'static str) -> Self {
        Self(word.into())
    }

    /// A text in one line, for any place on the screen.
    pub(super) fn label(text: impl AsRef<str>) -> Self {
        Self(label::line(text.as_ref()).as_ref().into())
    }

    /// A text in several lines, for any place on the screen that has them.
    pub(super) fn prose(text: impl AsRef<str>) -> Self {
        Self(label::lines(text.as_ref()).as_ref().into())
    }

    /// A path as it is shown.
    pub(super) fn path_label(path: &Path) -> Self {
        Self::label(path.to_string_lossy())
    }

    /// A text for a buffer as it is: Neovim shows control characters in a buffer as what they are.
    pub(super) fn buffer(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// Bytes for a terminal buffer, filtered already (`session::terminal::escape`).
    pub(super) fn terminal(bytes: Vec<u8>) -> Self {
        Self(Value::Binary(bytes))
    }

    /// A name that comes back to us, or goes to the user's own code; it is never shown.
    pub(super) fn handle(name: impl AsRef<str>) -> Self {
        Self(name.as_ref().into())
    }

    /// A path to be opened or compared; never shown.
    pub(super) fn path(path: &Path) -> Self {
        Self::handle(path.to_string_lossy())
    }

    pub(super) fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self(Value::Array(items.into_iter().map(|item| item.0).collect()))
    }

    /// Pairs whose names are no fields of ours.
    pub(super) fn pairs(pairs: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self(Value::Map(pairs.into_iter().map(|(name, value)| (name.into(), value.0)).collect()))
    }

    /// What there is of an optional value.
    pub(super) fn optional<T>(value: Option<T>, data: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::NIL, data)
    }

    /// As it is sent.
    pub(super) fn into_value(self) -> Value {
        self.0
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Data {
            fn from(number: $number) -> Self {
                Self(number.into())
            }
        }
    )*};
}
numbers!(bool, u32, u64, usize, f64);

impl<T: Into<Self>> From<Option<T>> for Data {
    fn from(value: Option<T>) -> Self {
        Self::optional(value, Into::into)
    }
}

/// A message's fields. A missing field and `vim.NIL` are different things in Lua: what is not there is left out.
pub(super) fn map<const N: usize>(fields: [(&'static str, Data); N]) -> Data {
    let there = fields.into_iter().filter(|(_, value)| *value != Data::NIL);
    Data(Value::Map(there.map(|(name, value)| (name.into(), value.0)).collect()))
}
