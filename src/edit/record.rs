//! What became of one file since an agent first changed it: whose changes made the text of today out of the text of
//! then. It takes none back.

use std::sync::Arc;

use super::{Hunk, Shape, Text, apply, diff};

/// Changes made at once by one author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<A> {
    /// Which agent's; `None` for all that no agent did.
    pub by: Option<A>,
    /// They refer to the text the step before left.
    pub hunks: Vec<Hunk>,
}

/// The text before the first agent, and all that was done to it since, in order. `A` tells agents' changes apart.
#[derive(Debug, Clone)]
pub struct Record<A> {
    base: Arc<Text>,
    steps: Vec<Step<A>>,
    now: Arc<Text>,
}

impl<A> Record<A> {
    /// Begins with a text that no agent has touched.
    pub fn new(base: Arc<Text>) -> Self {
        Self { now: Arc::clone(&base), base, steps: Vec::new() }
    }

    /// An agent has made `after` out of `before`, by these hunks. What was done since the last step is not the agent's.
    pub fn change(&mut self, by: A, before: &Arc<Text>, after: &Arc<Text>, hunks: Vec<Hunk>) {
        self.catch_up(before);
        self.step(Some(by), after, hunks);
    }

    /// The text is this one now, and no agent did it.
    pub fn catch_up(&mut self, now: &Arc<Text>) {
        if !Arc::ptr_eq(&self.now, now) {
            self.step(None, now, diff(&self.now, now));
        }
    }

    fn step(&mut self, by: Option<A>, now: &Arc<Text>, hunks: Vec<Hunk>) {
        // The shape of a text is no step: hunks are lines.
        self.now = Arc::clone(now);
        if !hunks.is_empty() {
            self.steps.push(Step { by, hunks });
        }
    }

    /// The text before the first step.
    pub fn base(&self) -> &Arc<Text> {
        &self.base
    }

    /// All steps, oldest first.
    pub fn steps(&self) -> &[Step<A>] {
        &self.steps
    }

    /// The base with all steps done again: the lines of the text last told.
    pub fn replay(&self) -> Text {
        // A last line without its end could not be told from none at all on the way.
        let base = Text::clone(&self.base).with_shape(Shape::default());
        let text = self.steps.iter().fold(base, |text, step| apply(&step.hunks, &text));
        text.with_shape(self.now.shape())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_no_agent_did_is_a_step_of_its_own() {
        let text = |content: &str| Arc::new(Text::parse(content));
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
        fn the_steps_lead_from_the_base_to_the_text(
            texts in prop::collection::vec("[ab\n]{0,12}", 1..8), agents in prop::collection::vec(any::<bool>(), 8),
        ) {
            let texts: Vec<_> = texts.iter().map(|text| Arc::new(Text::parse(text))).collect();
            let mut record = Record::new(Arc::clone(&texts[0]));
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
