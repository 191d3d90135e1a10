//! [`PlanView`], the state of the plan's buffer, and how a plan is rendered.

use super::line::{Class, Highlight, Line};
use super::patch::Patch;
use crate::session::transcript::Transcript;
use crate::session::update::{PlanEntry, PlanPriority, PlanStatus};

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
    // Where all are alike, the word would say nothing.
    let has_priorities = entries.iter().any(|entry| entry.priority != entries[0].priority);
    let steps = entries.iter().map(|entry| {
        let (icon, highlight, class) = match entry.status {
            PlanStatus::Pending => ("  ○ ", Highlight::Dim, Class::Body),
            PlanStatus::InProgress => ("  ● ", Highlight::Active, Class::Title),
            PlanStatus::Completed => ("  ✓ ", Highlight::Good, Class::Note),
            PlanStatus::Cancelled => ("  ⊘ ", Highlight::Dim, Class::Note),
        };
        let priority = match entry.priority {
            PlanPriority::High if has_priorities => " (high)",
            PlanPriority::Low if has_priorities => " (low)",
            _ => "",
        };
        let text = format!("{}{priority}", entry.content.trim());
        Line::of(class, text).with_prefix(icon, highlight)
    });
    std::iter::once(title).chain(steps).collect()
}

#[cfg(test)]
mod tests {
    use super::PlanPriority::{High, Low, Medium};
    use super::*;

    /// Holds (Windows and views): A plan says which steps matter more and less, unless all are alike.
    #[test]
    fn priorities_are_words() {
        let plan = |priorities: &[PlanPriority]| {
            let entry = |&priority: &PlanPriority| PlanEntry {
                content: "step".to_owned(),
                priority,
                status: PlanStatus::Pending,
            };
            let entries: Vec<_> = priorities.iter().map(entry).collect();
            lines(&entries)[1..].iter().map(|line| line.text.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(plan(&[High, High]), ["step", "step"]);
        assert_eq!(plan(&[High, Medium, Low]), ["step (high)", "step", "step (low)"]);
    }
}
