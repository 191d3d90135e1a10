//! The Lua functions that the binary calls: their arguments in order, and their results.

pub mod completion;
pub mod document;
pub mod rpc;
#[cfg(test)]
mod tests;
pub mod tools;

#[cfg(test)]
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// A call of `require(MODULE)[FUNCTION]`. The fields are the arguments, in order.
pub trait Call: Serialize + Send {
    /// The module of the function.
    const MODULE: &'static str;
    /// The name of the function.
    const FUNCTION: &'static str;
    /// The type of the result.
    type Answer: DeserializeOwned + Send;
}

/// A result that is ignored.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(from = "serde::de::IgnoredAny")]
#[cfg_attr(test, derive(JsonSchema), schemars(with = "()"))]
pub struct Nothing;

impl From<serde::de::IgnoredAny> for Nothing {
    fn from(_: serde::de::IgnoredAny) -> Self {
        Self
    }
}

/// Text from a buffer or a file name. Neovim does not guarantee that it is valid UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LuaText(#[cfg_attr(test, schemars(with = "String"))] Result<String, Vec<u8>>);

impl LuaText {
    /// Returns the text if it is valid UTF-8.
    pub fn into_string(self) -> Option<String> {
        self.0.ok()
    }
}

impl<'de> Deserialize<'de> for LuaText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(TextOrBytesVisitor).map(Self)
    }
}

/// Binary data, in either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LuaBytes(#[cfg_attr(test, schemars(with = "String"))] pub Vec<u8>);

impl<'de> Deserialize<'de> for LuaBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_byte_buf(TextOrBytesVisitor)?;
        Ok(Self(bytes.map_or_else(|bytes| bytes, String::into_bytes)))
    }
}

impl Serialize for LuaBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// Takes a string without validating it again.
struct TextOrBytesVisitor;

impl Visitor<'_> for TextOrBytesVisitor {
    type Value = Result<String, Vec<u8>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Ok(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Ok(text))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(Err(bytes))
    }
}

macro_rules! calls {
    ($($call:ident $(<$life:lifetime>)? = $module:literal, $function:literal => $answer:ty;)*) => {
        $(impl $crate::nvim::messages::calls::Call for $call $(<$life>)? {
            const MODULE: &'static str = $module;
            const FUNCTION: &'static str = $function;
            type Answer = $answer;
        })*

        /// The calls in this file, for the schema.
        #[cfg(test)]
        pub(in crate::nvim) fn schema() -> Vec<$crate::nvim::messages::schema::CallSchema> {
            vec![$($crate::nvim::messages::schema::CallSchema::of::<$call>()),*]
        }
    };
}
use calls;
