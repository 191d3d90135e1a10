//! What the user has decided on an agent's changes since its last prompt, to be told with the next one.

use crate::core::messages::review::ReviewAction;
use crate::core::user_messages;
use crate::session::label;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How many files and turns are named.
const MAX_NAMED: usize = 30;
/// How much of the prompt of a turn is quoted, in characters.
const MAX_PROMPT: usize = 60;

/// What the user has decided on an agent's changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::core) struct Decisions {
    files: BTreeMap<PathBuf, Hunks>,
    turns: Vec<UndoneTurn>,
}

/// How many hunks of a file were decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Hunks {
    accepted: usize,
    rejected: usize,
    /// The user has changed them before they were written.
    edited: usize,
}

impl Hunks {
    fn of(&mut self, action: ReviewAction) -> &mut usize {
        match action {
            ReviewAction::Keep => &mut self.accepted,
            ReviewAction::Reject => &mut self.rejected,
        }
    }
}

/// A turn that the user has undone or redone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UndoneTurn {
    prompt: String,
    is_redone: bool,
}

impl Decisions {
    pub(in crate::core) fn decide(&mut self, path: &Path, action: ReviewAction, hunks: usize) {
        if hunks > 0 {
            *self.files.entry(path.to_owned()).or_default().of(action) += hunks;
        }
    }

    /// The user has taken a decision back.
    pub(in crate::core) fn take_back(&mut self, path: &Path, action: ReviewAction, hunks: usize) {
        let Some(of_file) = self.files.get_mut(path) else { return };
        let count = of_file.of(action);
        *count = count.saturating_sub(hunks);
        if *of_file == Hunks::default() {
            self.files.remove(path);
        }
    }

    /// The user has changed hunks of a write before it was made.
    pub(in crate::core) fn edit(&mut self, path: &Path, hunks: usize) {
        self.files.entry(path.to_owned()).or_default().edited += hunks;
    }

    /// The turn with this prompt was undone or redone.
    pub(in crate::core) fn undo(&mut self, prompt: &str, is_redone: bool) {
        let is_opposite = |turn: &UndoneTurn| turn.prompt == prompt && turn.is_redone != is_redone;
        if self.turns.last().is_some_and(is_opposite) {
            self.turns.pop();
        } else {
            self.turns.push(UndoneTurn { prompt: prompt.to_owned(), is_redone });
        }
    }

    /// Puts back what was not told after all.
    pub(in crate::core) fn put_back(&mut self, earlier: Self) {
        for (path, Hunks { accepted, rejected, edited }) in earlier.files {
            let of_file = self.files.entry(path).or_default();
            of_file.accepted += accepted;
            of_file.rejected += rejected;
            of_file.edited += edited;
        }
        self.turns.splice(0..0, earlier.turns);
    }

    /// Returns what the agent is told; `None` if there is nothing to tell.
    pub(in crate::core) fn note(&self, shorten: impl Fn(&Path) -> String) -> Option<String> {
        if self.files.is_empty() && self.turns.is_empty() {
            return None;
        }
        let mut note = "The user has reviewed your changes in the editor:\n".to_owned();
        // Writing to a string cannot fail.
        for turn in self.turns.iter().take(MAX_NAMED) {
            let verb = if turn.is_redone { "redid" } else { "undid" };
            let prompt = label::short(&turn.prompt, MAX_PROMPT);
            let _ = writeln!(note, "- {verb} everything you changed for the prompt \"{prompt}\"");
        }
        for (path, hunks) in self.files.iter().take(MAX_NAMED) {
            let Hunks { accepted, rejected, edited } = *hunks;
            let parts = [(accepted, "accepted"), (rejected, "rejected"), (edited, "edited")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<_> = parts
                .map(|(count, verb)| format!("{verb} {}", user_messages::count(*count, "hunk")))
                .collect();
            let _ = writeln!(note, "- {}: {}", shorten(path), parts.join(", "));
        }
        let more =
            self.files.len().saturating_sub(MAX_NAMED) + self.turns.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            let _ = writeln!(note, "- and {more} more");
        }
        note.push_str(
            "The files are as the user wants them. Do not repeat what was rejected or undone.\n",
        );
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(decisions: &Decisions) -> String {
        decisions.note(|path| path.display().to_string()).unwrap_or_default()
    }

    #[test]
    fn decisions_are_counted_by_file_and_named_by_turn() {
        let mut decisions = Decisions::default();
        assert_eq!(note(&decisions), "");
        decisions.decide(Path::new("a"), ReviewAction::Keep, 2);
        decisions.decide(Path::new("a"), ReviewAction::Reject, 1);
        decisions.decide(Path::new("b"), ReviewAction::Reject, 0);
        decisions.edit(Path::new("c"), 1);
        decisions.undo("fix it", false);
        expect_test::expect![[r#"
            The user has reviewed your changes in the editor:
            - undid everything you changed for the prompt "fix it"
            - a: accepted 2 hunks, rejected 1 hunk
            - c: edited 1 hunk
            The files are as the user wants them. Do not repeat what was rejected or undone.
        "#]]
        .assert_eq(&note(&decisions));
        decisions.undo("fix it", true);
        assert!(!note(&decisions).contains("fix it"));
        decisions.take_back(Path::new("a"), ReviewAction::Keep, 1);
        assert!(note(&decisions).contains("a: accepted 1 hunk, rejected 1 hunk"));
        decisions.take_back(Path::new("a"), ReviewAction::Keep, 1);
        decisions.take_back(Path::new("a"), ReviewAction::Reject, 1);
        assert!(!note(&decisions).contains("- a:"));
    }

    #[test]
    fn what_was_not_told_is_put_back_before_what_came_since() {
        let (mut earlier, mut later) = (Decisions::default(), Decisions::default());
        earlier.decide(Path::new("a"), ReviewAction::Keep, 1);
        earlier.undo("one", false);
        later.decide(Path::new("a"), ReviewAction::Keep, 1);
        later.undo("two", true);
        later.put_back(earlier);
        let note = note(&later);
        assert!(note.contains("a: accepted 2 hunks"), "{note}");
        assert!(note.find("undid") < note.find("redid"), "{note}");
    }

    #[test]
    fn a_note_names_few_files() {
        let mut decisions = Decisions::default();
        for number in 0..1000 {
            decisions.decide(Path::new(&number.to_string()), ReviewAction::Reject, 1);
        }
        let note = note(&decisions);
        assert!(note.lines().count() < 40 && note.contains("and 970 more"), "{note}");
    }
}
