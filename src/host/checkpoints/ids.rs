//! The names of contents and of turns, as they stand in files and messages. Reads and writes nothing.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Identifies the content of a file, or the target of a symbolic link: its BLAKE3 hash. Shown and stored as 64
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentId([u8; 32]);

/// Identifies a turn among those of one root. Shown and stored as `slot-number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId {
    /// The slot that logged it: see `slot`.
    pub slot: u32,
    /// Counts up from 1 in each slot.
    pub number: u32,
}

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no id of a content or a turn")]
pub struct NoId;

impl ContentId {
    /// Returns the id of a content.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    /// Returns an id that tells nothing of the content to whoever does not know the key.
    pub(super) fn with_key(key: &[u8; 32], content: &[u8]) -> Self {
        Self(*blake3::keyed_hash(key, content).as_bytes())
    }

    pub(super) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ContentId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NoId);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(NoId);
            *byte = u8::try_from(digit(0)? << 4 | digit(1)?).map_err(|_| NoId)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.slot, self.number)
    }
}

impl FromStr for TurnId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let (slot, number) = text.split_once('-').ok_or(NoId)?;
        let number = number.parse().map_err(|_| NoId)?;
        Ok(Self { slot: slot.parse().map_err(|_| NoId)?, number })
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for TurnId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TurnId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
