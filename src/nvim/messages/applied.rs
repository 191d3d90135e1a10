//! Lua's answer to a frame: whether it was applied, and which parts failed.

use super::from_lua::View;
use crate::core::messages::page;
use crate::nvim::value::{self, ReadError};
use crate::session::author::ChatId;
use rmpv::Value;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// The outcome of applying a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameOutcome {
    /// Neovim cannot change text at the moment. Lua keeps the frame until it is told to try again.
    Busy,
    /// The frame was applied, except for these parts.
    Done {
        /// The errors, one line each.
        problems: Vec<String>,
        /// The views whose content is not what it should be.
        undrawn: Vec<(ChatId, page::View)>,
    },
    /// Lua was told to try again but has no frame.
    Lost,
}

/// Whether a frame was applied.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct FrameAnswer {
    /// Whether text cannot be changed at the moment. The frame is kept.
    #[serde(default)]
    busy: bool,
    /// Whether there is no frame to try again.
    #[serde(default)]
    lost: bool,
    /// The errors, one line each; the rest of the frame was applied.
    #[serde(default)]
    problems: Vec<String>,
    /// The views whose content is not what it should be.
    #[serde(default)]
    undrawn: Vec<Undrawn>,
}

/// A view that could not be drawn.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Undrawn {
    /// The chat.
    chat: u32,
    /// The view.
    view: View,
}

/// Decodes the answer to a frame.
pub fn read_frame_outcome(answer: Value) -> Result<FrameOutcome, ReadError> {
    value::read::<FrameAnswer>(answer).map(Into::into)
}

impl From<FrameAnswer> for FrameOutcome {
    fn from(answer: FrameAnswer) -> Self {
        if answer.busy {
            return Self::Busy;
        } else if answer.lost {
            return Self::Lost;
        }
        let undrawn = answer.undrawn.into_iter().map(|it| (ChatId(it.chat), it.view.into()));
        Self::Done { problems: answer.problems, undrawn: undrawn.collect() }
    }
}
