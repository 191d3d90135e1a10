//! [`Record`], the history of one file since an agent first changed it: which hunks led from the
//! text before to the current one, and who made them. It reverts nothing.

use super::hunks::{Hunk, apply, diff};
use super::revision::Snapshot;
use super::text::{Shape, Text};

/// Hunks that one author made at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<A> {
    /// The agent that made them; `None` if it was anybody else.
    pub by: Option<A>,
    /// They refer to the text that the previous step left.
    pub hunks: Vec<Hunk>,
}

/// The text before the first change by an agent, and every change since, in order. `A` identifies
/// the author of an agent's change.
#[derive(Debug, Clone)]
pub struct Record<A> {
    base: Snapshot,
    steps: Vec<Step<A>>,
    current: Snapshot,
}

impl<A> Record<A> {
    /// Starts a record with a text that no agent has changed yet.
    pub fn new(base: Snapshot) -> Self {
        Self { current: base.clone(), base, steps: Vec::new() }
    }

    /// Records that an agent turned `before` into `after` with `hunks`. Whatever led from the
    /// previous step to `before` is recorded as a step without an agent.
    pub fn change(&mut self, by: A, before: &Snapshot, after: &Snapshot, hunks: Vec<Hunk>) {
        self.catch_up(before);
        self.push_step(Some(by), after, hunks);
    }

    /// Records the current text; what changed since the previous step was not made by an agent.
    pub fn catch_up(&mut self, current: &Snapshot) {
        if self.current.revision() != current.revision() {
            self.push_step(None, current, diff(&self.current, current));
        }
    }

    fn push_step(&mut self, by: Option<A>, current: &Snapshot, hunks: Vec<Hunk>) {
        // A change of shape alone is no step, since hunks consist of lines.
        self.current = current.clone();
        if !hunks.is_empty() {
            self.steps.push(Step { by, hunks });
        }
    }

    /// Returns the text before the first step.
    pub fn base(&self) -> &Text {
        &self.base
    }

    /// Returns all steps, oldest first.
    pub fn steps(&self) -> &[Step<A>] {
        &self.steps
    }

    /// Applies all steps to the base, which gives the lines of the latest recorded text.
    pub fn replay(&self) -> Text {
        // Without a final newline, an intermediate text with one empty line would count as empty.
        let base = Text::clone(&self.base).with_shape(Shape::default());
        let text = self.steps.iter().fold(base, |text, step| apply(&step.hunks, &text));
        text.with_shape(self.current.shape())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edit::Revision;

    #[test]
    fn changes_between_those_of_agents_are_steps_without_an_agent() {
        let mut revisions = (0..).map(Revision);
        let mut text =
            |content: &str| Snapshot::new(revisions.next().unwrap(), Text::parse(content));
        let mut record = Record::new(text("1\n2\n"));
        let mut change = |by, before: &str, after: &str| {
            let (before, after) = (text(before), text(after));
            record.change(by, &before, &after, diff(&before, &after));
        };
        change("a", "1\n2\n", "1\ntwo\n");
        change("b", "one\ntwo\n", "one\ntwo\n3\n");
        record.catch_up(&text("one\ntwo\n"));
        record.catch_up(&text("one\ntwo\n"));
        let authors: Vec<_> = record.steps().iter().map(|step| step.by).collect();
        assert_eq!(authors, [Some("a"), None, Some("b"), None]);
    }

    proptest! {
        #[test]
        fn the_steps_lead_from_the_base_to_the_latest_text(
            texts in prop::collection::vec("[ab\n]{0,12}", 1..8), agents in prop::collection::vec(any::<bool>(), 8),
        ) {
            let texts: Vec<_> = (0..)
                .map(Revision)
                .zip(&texts)
                .map(|(revision, text)| Snapshot::new(revision, Text::parse(text)))
                .collect();
            let mut record = Record::new(texts[0].clone());
            for (pair, by_agent) in texts.windows(2).zip(agents) {
                if by_agent {
                    record.change((), &pair[0], &pair[1], diff(&pair[0], &pair[1]));
                } else {
                    record.catch_up(&pair[1]);
                }
            }
            let replayed = record.replay();
            prop_assert!(replayed.same_lines(&texts[texts.len() - 1]));
        }
    }
}
