//! The plan split: the session's plan, whole.

use super::card;
use super::line::{Class, Line};
use super::patch::Patch;
use crate::session::transcript::{Entry, Transcript};

/// What is drawn of a plan.
#[derive(Debug, Default)]
pub struct PlanView {
    drawn: Vec<Line>,
}

impl PlanView {
    /// The patch that draws what changed. A plan is short: it is compared whole.
    pub fn render(&mut self, transcript: &Transcript) -> Patch {
        let last = transcript.entries().iter().rev().find_map(|entry| match entry {
            Entry::Plan(plan) if !plan.is_empty() => Some(card::plan(plan)),
            _ => None,
        });
        let lines =
            last.unwrap_or_else(|| vec![Line::of(Class::Note, "The agent has made no plan.")]);
        let mut patch = Patch::default();
        patch.replace(0, &self.drawn, &lines);
        self.drawn = lines;
        patch
    }
}
