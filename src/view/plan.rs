//! The plan split: the session's plan, whole.

use super::card;
use super::line::{Class, Line};
use super::patch::Patch;
use crate::session::transcript::Transcript;

/// What is drawn of a plan.
#[derive(Debug, Default)]
pub struct PlanView {
    drawn: Vec<Line>,
}

impl PlanView {
    /// The patch that draws what changed. A plan is short: it is compared whole.
    pub fn render(&mut self, transcript: &Transcript) -> Patch {
        let lines = match transcript.last_plan() {
            Some(plan) => card::plan(plan),
            None => vec![Line::of(Class::Note, "The agent has made no plan.")],
        };
        let mut patch = Patch::default();
        patch.replace(0, &self.drawn, &lines);
        self.drawn = lines;
        patch
    }
}
