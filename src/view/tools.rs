//! [`ToolsView`], the state of the buffer that lists the tool calls of a chat, one per line, oldest
//! first.

use super::line::{Class, Line};
use super::patch::Patch;
use super::scene::Scene;
use super::tool_card;
use crate::session::ids::ToolCallId;
use crate::session::transcript::Transcript;
use std::collections::{BTreeSet, HashMap};

/// What is drawn of the tool calls.
#[derive(Debug, Default)]
pub struct ToolsView {
    drawn: Vec<Line>,
    rows: HashMap<ToolCallId, usize>,
    dirty: BTreeSet<ToolCallId>,
    started: bool,
    /// Whether the buffer has the placeholder for an empty list.
    has_placeholder: bool,
}

impl ToolsView {
    /// Marks a call as new or changed.
    pub fn mark_changed(&mut self, id: &ToolCallId) {
        self.dirty.insert(id.clone());
    }

    /// Returns the patch that draws what changed.
    pub fn render(&mut self, transcript: &Transcript, scene: &Scene) -> Patch {
        let mut patch = Patch::default();
        if !self.started {
            self.started = true;
            self.dirty.extend(transcript.tools().map(|entry| entry.call.id.clone()));
            if self.dirty.is_empty() {
                patch.lines(0, 0, vec![Line::of(Class::Note, "No tool calls yet.")]);
                self.has_placeholder = true;
                return patch;
            }
        }
        let mut calls: Vec<_> = std::mem::take(&mut self.dirty)
            .into_iter()
            .filter_map(|id| transcript.find_tool(&id).map(|entry| (id, entry)))
            .collect();
        if calls.len() > 1 {
            // New calls are added in the order of the transcript. Usually only the first frame has
            // several.
            let order: HashMap<_, _> =
                transcript.tools().enumerate().map(|(at, entry)| (&entry.call.id, at)).collect();
            calls.sort_by_key(|(id, _)| order.get(id).copied());
        }
        for (id, entry) in calls {
            let line = tool_card::tool_row(entry, scene);
            match self.rows.get(&id) {
                Some(row) if self.drawn[*row] == line => {}
                Some(row) => {
                    self.drawn[*row] = line.clone();
                    patch.lines(*row, row + 1, vec![line]);
                }
                None => {
                    let row = self.drawn.len();
                    let last = row + usize::from(std::mem::take(&mut self.has_placeholder));
                    self.rows.insert(id, row);
                    self.drawn.push(line.clone());
                    patch.lines(row, last, vec![line]);
                }
            }
        }
        patch
    }
}
