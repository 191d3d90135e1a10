//! [`PlanView`], the state of the plan's buffer, and how a plan is rendered.

use super::line::{Class, Highlight, Line};
use super::patch::Patch;
use crate::session::transcript::Transcript;
use crate::session::update::{PlanEntry, PlanStatus};

/// What is drawn of the plan.
#[derive(Debug, Default)]
pub struct PlanView {
    drawn: Vec<Line>,
}

impl PlanView {
    /// Returns the patch that draws what changed. A plan is short, so it is compared as a whole.
    pub fn render(&mut self, transcript: &Transcript) -> Patch {
        let lines = match transcript.last_plan() {
            Some(plan) => lines(plan),
            None => vec![Line::of(Class::Note, "The agent has no plan yet.")],
        };
        let mut patch = Patch::default();
        patch.replace(0, &self.drawn, &lines);
        self.drawn = lines;
        patch
    }
}

/// Renders a plan. One without entries was cleared.
pub(super) fn lines(entries: &[PlanEntry]) -> Vec<Line> {
    if entries.is_empty() {
        return vec![Line::of(Class::Note, "The agent cleared its plan")];
    }
    let done = entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    let title = Line::of(Class::Title, format!("Plan {done}/{}", entries.len()));
    let steps = entries.iter().map(|entry| {
        let (icon, highlight, class) = match entry.status {
            PlanStatus::Pending => ("  ○ ", Highlight::Dim, Class::Body),
            PlanStatus::InProgress => ("  ● ", Highlight::Active, Class::Title),
            PlanStatus::Completed => ("  ✓ ", Highlight::Good, Class::Note),
            PlanStatus::Cancelled => ("  ⊘ ", Highlight::Dim, Class::Note),
        };
        Line::of(class, entry.content.trim()).with_prefix(icon, highlight)
    });
    std::iter::once(title).chain(steps).collect()
}
