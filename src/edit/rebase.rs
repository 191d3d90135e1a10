//! Rebases hunks over edits that were made in the meantime. An overlap is reported, not resolved.

use std::ops::Range;

use super::external::UnresolvedHunk;
use super::hunks::{Edit, Hunk};
use super::text::Text;

/// The error of [`rebase`]: a span and a concurrent edit touch the same lines or insert at the
/// same point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap;

/// Something that refers to a range of lines of a text.
pub trait Spans: Clone {
    /// Returns the lines it touches; an empty range for an insertion between two lines.
    fn span(&self) -> Range<usize>;
    /// Moves it down by `added` lines and up by `removed` lines.
    fn shift(&mut self, added: usize, removed: usize);
}

impl Spans for Hunk {
    fn span(&self) -> Range<usize> {
        self.old()
    }

    fn shift(&mut self, added: usize, removed: usize) {
        self.start = self.start + added - removed;
    }
}

impl Spans for Edit {
    fn span(&self) -> Range<usize> {
        match self {
            Self::Lines { old, .. } => old.clone(),
            Self::Text { start, end, .. } => start.0..end.0 + 1,
        }
    }

    fn shift(&mut self, added: usize, removed: usize) {
        let shift = |row: &mut usize| *row = *row + added - removed;
        match self {
            Self::Lines { old, .. } => {
                shift(&mut old.start);
                shift(&mut old.end);
            }
            Self::Text { start, end, .. } => {
                shift(&mut start.0);
                shift(&mut end.0);
            }
        }
    }
}

impl Spans for UnresolvedHunk {
    fn span(&self) -> Range<usize> {
        self.lines.clone()
    }

    fn shift(&mut self, added: usize, removed: usize) {
        self.lines = self.lines.start + added - removed..self.lines.end + added - removed;
    }
}

/// Translates `spans`, which refer to a text, to the text after `changes`. The changes were made
/// one after the other: each refers to the text the previous one left.
///
/// Fails if a span overlaps a change.
pub fn rebase<S: Spans>(spans: &[S], changes: &[Hunk]) -> Result<Vec<S>, Overlap> {
    let mut spans = spans.to_vec();
    for change in changes {
        for span in &mut spans {
            if is_after(&span.span(), &change.old())? {
                span.shift(change.lines.len(), change.removed);
            }
        }
    }
    Ok(spans)
}

/// With more changes, making them one after the other on the whole text takes longer than on its lines.
const FEW: usize = 4;

/// Whether a span lies after a change rather than before it.
fn is_after(span: &Range<usize>, change: &Range<usize>) -> Result<bool, Overlap> {
    if span == change && span.is_empty() {
        Err(Overlap)
    } else if change.end <= span.start {
        Ok(true)
    } else if span.end <= change.start {
        Ok(false)
    } else {
        Err(Overlap)
    }
}

/// Applies `changes` one after the other, as a buffer reports them: their line numbers count the
/// one empty line of a buffer without text. `empty` says whether the buffer has no text afterwards.
pub fn replay(text: &Text, changes: &[Hunk], empty: bool) -> Text {
    if let Some(after) = replay_few(text, changes) {
        return after;
    }
    let mut lines: Vec<&str> = if text.is_empty() { vec![""] } else { text.lines().collect() };
    for change in changes {
        let end = change.old().end.min(lines.len());
        let start = change.start.min(end);
        lines.splice(start..end, change.lines.iter().map(String::as_str));
    }
    Text::from_body(lines.join("\n"), text.shape(), empty)
}

/// Like [`replay`], for few changes of a text that does not become empty: then its bytes are copied as a whole.
fn replay_few(text: &Text, changes: &[Hunk]) -> Option<Text> {
    let has_breaks = |change: &Hunk| change.lines.iter().any(|line| line.contains('\n'));
    if text.is_empty() || changes.len() > FEW || changes.iter().any(has_breaks) {
        return None;
    }
    let splice = |text: &Text, change: &Hunk| {
        let end = change.old().end.min(text.len());
        text.spliced(change.start.min(end)..end, &change.lines)
    };
    let (first, rest) = changes.split_first()?;
    let after = rest.iter().fold(splice(text, first), |text, change| splice(&text, change));
    (!after.body(0..after.len()).is_empty()).then_some(after)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edit::hunks::{apply, diff, refine};

    fn hunk(start: usize, removed: usize, lines: &[&str]) -> Hunk {
        Hunk { start, removed, lines: lines.iter().map(|&line| line.to_owned()).collect() }
    }

    #[test]
    fn spans_shift_unless_they_overlap_a_change() {
        let shifted = |h: Hunk, change: Hunk| rebase(&[h], &[change]).map(|hunks| hunks[0].start);
        let change = || hunk(5, 2, &["a", "b", "c"]);
        assert_eq!(shifted(hunk(3, 2, &["x"]), change()), Ok(3));
        assert_eq!(shifted(hunk(7, 1, &["x"]), change()), Ok(8));
        assert_eq!(shifted(hunk(5, 0, &["x"]), change()), Ok(5));
        assert_eq!(shifted(hunk(7, 0, &["x"]), change()), Ok(8));
        assert_eq!(shifted(hunk(6, 0, &["x"]), change()), Err(Overlap));
        assert_eq!(shifted(hunk(6, 3, &["x"]), change()), Err(Overlap));
        assert_eq!(shifted(hunk(5, 0, &["x"]), hunk(5, 0, &["y"])), Err(Overlap));
    }

    proptest! {
        /// Lines are numbered, so that each can be identified wherever it moved.
        #[test]
        fn rebased_hunks_change_the_same_lines(
            count in 1usize..20,
            hunk_at in 0usize..20, hunk_len in 0usize..3,
            changes in prop::collection::vec((0usize..20, 0usize..3, 0usize..3), 0..4),
        ) {
            let lines: Vec<String> = (0..count).map(|i| i.to_string()).collect();
            let text = Text::parse(&(lines.join("\n") + "\n"));
            let start = hunk_at.min(count);
            let agent = vec![Hunk {
                start, removed: hunk_len.min(count - start), lines: vec!["agent".into()],
            }];
            let mut left = count;
            let changes: Vec<Hunk> = changes.into_iter().map(|(start, removed, added)| {
                let start = start.min(left);
                let removed = removed.min(left - start);
                left = left - removed + added;
                Hunk { start, removed, lines: vec!["user".into(); added] }
            }).collect();
            prop_assume!(left > 0);
            let after = replay(&text, &changes, false);
            if let Ok(rebased) = rebase(&agent, &changes) {
                let both = apply(&rebased, &after);
                let gone: Vec<&str> = agent[0].old().map(|i| text.line(i)).collect();
                let wanted: Vec<&str> = after.lines().filter(|line| !gone.contains(line)).collect();
                let rest: Vec<&str> = both.lines().filter(|&line| line != "agent").collect();
                prop_assert_eq!(rest, wanted);
                prop_assert_eq!(both.lines().filter(|&line| line == "agent").count(), 1);
                let edits = rebase(&refine(&agent, &text), &changes);
                prop_assert_eq!(edits, Ok(refine(&rebased, &after)));
            }
        }

        #[test]
        fn replayed_changes_give_the_later_text(a in "[ab\n]{0,20}", b in "[ab\n]{0,20}") {
            let (a, b) = (Text::parse(&(a + "\n")), Text::parse(&(b + "\n")));
            let hunks = diff(&a, &b);
            let later: Vec<Hunk> = hunks.into_iter().rev().collect();
            prop_assert!(replay(&a, &later, false).same_lines(&b));
        }
    }
}
