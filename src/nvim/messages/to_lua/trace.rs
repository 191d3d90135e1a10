//! Messages about the page of the traffic with an agent.

use super::Chat;
use crate::core::messages::trace::{TraceItem, TracePiece};
use crate::nvim::text::{BufferText, Label, each};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// A piece of the page of the traffic with an agent. The page asks for the next one with `trace`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Trace {
    /// The chat.
    chat: Chat,
    /// The title above the text.
    title: Label,
    /// Whether it replaces what the page has shown.
    reset: bool,
    /// Whether to focus the window.
    focus: bool,
    /// Whether more of what was recorded when the page was opened follows.
    more: bool,
    /// The messages of the protocol, oldest first.
    items: Vec<Item>,
}

/// A message of the protocol.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Item {
    /// Its number; 0 for a note.
    number: u64,
    /// For an answer to a shown request: the number of that.
    request: Option<u64>,
    /// What the line of that request ends with from now on.
    answered: Option<BufferText>,
    /// What it is, in one line.
    line: BufferText,
    /// The message.
    body: Vec<BufferText>,
}

impl Trace {
    pub(super) fn new(title: &str, piece: TracePiece) -> Self {
        let TracePiece { chat, filter: _, reset, focus, more, items } = piece;
        Self {
            chat: chat.0,
            title: Label::new(title),
            reset,
            focus,
            more,
            items: each(items, item),
        }
    }
}

fn item(it: TraceItem) -> Item {
    let (request, answered) = it.answers.unzip();
    Item {
        number: it.number,
        request,
        answered: answered.map(BufferText::new),
        line: BufferText::new(it.line),
        body: each(it.body, BufferText::new),
    }
}
