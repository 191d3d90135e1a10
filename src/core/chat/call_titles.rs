//! What tool calls of earlier turns were called. An agent may use an id again, after a restart for instance, but the hunks of
//! the call that had it before are still pending.

use crate::session::author::Author;
use crate::session::entry::Entry;
use crate::session::ids::ToolCallId;
use crate::session::tool_call::ToolCall;
use std::collections::HashMap;

/// The titles of the tool calls of earlier turns.
#[derive(Debug, Default)]
pub(in crate::core) struct CallTitles {
    /// By the turn and the id that the agent gave the call.
    titles: HashMap<(u64, ToolCallId), String>,
    /// The place of the first entry that is not looked at yet.
    next: usize,
}

impl CallTitles {
    /// Notes the titles of the calls of a turn, which are the entries of the transcript since the last time.
    pub(in crate::core) fn note(
        &mut self,
        turn: u64,
        entries: &[Entry],
        title: impl Fn(&ToolCall) -> String,
    ) {
        let new = entries.get(self.next..).unwrap_or_default();
        self.titles.extend(new.iter().filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(((turn, tool.call.id.clone()), title(&tool.call))),
            _ => None,
        }));
        self.next = entries.len();
    }

    /// The title of the tool call that made a change; `None` if that is not one of an earlier turn.
    pub(in crate::core) fn find(&self, by: &Author) -> Option<&str> {
        let key = (by.turn, by.tool_call.clone()?);
        self.titles.get(&key).map(String::as_str)
    }
}
