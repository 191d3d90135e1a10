//! The tool call split: every tool call of the session, a line each, oldest first.

use super::card;
use super::line::{Class, Line};
use super::patch::Patch;
use super::scene::Scene;
use crate::session::ids::ToolCallId;
use crate::session::transcript::Transcript;
use std::collections::{BTreeSet, HashMap};

/// What is drawn of the tool calls.
#[derive(Debug, Default)]
pub struct ToolsView {
    drawn: Vec<Line>,
    rows: HashMap<ToolCallId, usize>,
    dirty: BTreeSet<ToolCallId>,
    begun: bool,
    /// The words that there is none stand there.
    empty: bool,
}

impl ToolsView {
    /// This call is new or changed.
    pub fn touch(&mut self, id: &ToolCallId) {
        self.dirty.insert(id.clone());
    }

    /// The patch that draws what changed.
    pub fn render(&mut self, transcript: &Transcript, scene: &Scene) -> Patch {
        let mut patch = Patch::default();
        if !self.begun {
            self.begun = true;
            self.dirty.extend(transcript.tools().map(|entry| entry.call.id.clone()));
            if self.dirty.is_empty() {
                patch.lines(0, 0, vec![Line::of(Class::Note, "The agent has called no tool.")]);
                self.empty = true;
                return patch;
            }
        }
        let mut calls: Vec<_> = std::mem::take(&mut self.dirty)
            .into_iter()
            .filter_map(|id| transcript.find_tool(&id).map(|entry| (id, entry)))
            .collect();
        if calls.len() > 1 {
            // Only a first drawing has many; calls come in the transcript's order.
            let order: HashMap<_, _> =
                transcript.tools().enumerate().map(|(at, entry)| (&entry.call.id, at)).collect();
            calls.sort_by_key(|(id, _)| order.get(id).copied());
        }
        for (id, entry) in calls {
            let line = card::tool_row(entry, scene);
            match self.rows.get(&id) {
                Some(row) if self.drawn[*row] == line => {}
                Some(row) => {
                    self.drawn[*row] = line.clone();
                    patch.lines(*row, row + 1, vec![line]);
                }
                None => {
                    let row = self.drawn.len();
                    let last = row + usize::from(std::mem::take(&mut self.empty));
                    self.rows.insert(id, row);
                    self.drawn.push(line.clone());
                    patch.lines(row, last, vec![line]);
                }
            }
        }
        patch
    }
}
