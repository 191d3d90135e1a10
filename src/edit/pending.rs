//! What is pending in a [`Record`], as hunks: where its base and its text differ.

use std::collections::HashSet;
use std::ops::Range;

use super::record::weave::LineId;
use super::record::{HunkId, PendingHunk, Record, StepId};

/// The lines of a pending hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    base: Range<usize>,
    text: Range<usize>,
    /// Those that are only in one of both.
    lines: Vec<LineId>,
}

impl<O> Record<O> {
    /// How many decisions are open: each hunk is one, or the existence of a file without lines.
    pub fn count_pending(&self) -> usize {
        self.count_hunks().max(usize::from(self.forms().by.is_some()))
    }

    /// How many hunks are pending that have lines.
    pub fn count_hunks(&self) -> usize {
        let mut count = 0;
        self.each_run(|_, _, _| count += 1);
        count
    }

    /// Passes each pending hunk with its lines in the base and in the text, in their order.
    pub fn each_pending(&self, mut each: impl FnMut(HunkId, Range<usize>, Range<usize>)) {
        self.each_run(|base, text, lines| each(hunk_id(lines), base, text));
    }

    /// Returns what is pending, in the order of the text.
    pub fn pending(&self) -> Vec<PendingHunk> {
        let hunks = self.runs().into_iter().map(|run| {
            let steps = run.lines.iter().filter_map(|id| self.last_change(*id));
            let mut steps: Vec<StepId> = steps.collect();
            steps.sort_unstable();
            steps.dedup();
            PendingHunk { id: hunk_id(&run.lines), base: run.base, text: run.text, steps }
        });
        hunks.collect()
    }

    /// Returns who made the newest of the changes that are seen in the hunks that touch lines of the text (0-based).
    pub fn newest_at(&self, lines: &Range<usize>) -> Option<&O> {
        self.newest_where(|text, _| touches(text, lines))
    }

    /// The same of these hunks.
    pub fn newest_of(&self, hunks: &HashSet<HunkId>) -> Option<&O> {
        self.newest_where(|_, ids| ids.iter().any(|id| hunks.contains(&HunkId(id.0))))
    }

    fn newest_where(&self, is_meant: impl Fn(&Range<usize>, &[LineId]) -> bool) -> Option<&O> {
        let mut newest = None;
        self.each_run(|_, text, ids| {
            if is_meant(&text, ids) {
                newest = newest.max(ids.iter().filter_map(|id| self.last_change(*id)).max());
            }
        });
        newest.and_then(|step| self.origin(step))
    }

    /// The step for which a line is only in the text, or only in the base.
    pub(super) fn last_change(&self, id: LineId) -> Option<StepId> {
        let line = self.weave.line(id);
        if !line.is_alive() {
            return line.dead;
        }
        let revived = self.weave.revivals(id).iter().rev().filter_map(|it| it.back);
        std::iter::once(line.born).chain(revived).find(|it| self.is_pending(id, *it))
    }

    /// Returns where base and text differ, in their order.
    fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        self.each_run(|base, text, lines| runs.push(Run { base, text, lines: lines.to_vec() }));
        runs
    }

    /// Passes each place where base and text differ, in their order: its lines in the base and in the text, and those that
    /// are only in one of both.
    pub(super) fn each_run(&self, mut each: impl FnMut(Range<usize>, Range<usize>, &[LineId])) {
        self.each_run_and_hidden(|base, text, lines, _| each(base, text, lines));
    }

    /// The same, and the lines there that are in neither: one agent has brought them, and another has taken them away.
    pub(super) fn each_run_and_hidden(
        &self,
        mut each: impl FnMut(Range<usize>, Range<usize>, &[LineId], &[LineId]),
    ) {
        let (mut base, mut text) = (0, 0);
        let (mut base_start, mut text_start, mut lines) = (0, 0, Vec::new());
        let mut hidden = Vec::new();
        for (id, line) in self.weave.iter() {
            let (in_base, in_text) = (self.is_in_base(id, line), line.is_alive());
            if in_base != in_text {
                if lines.is_empty() {
                    (base_start, text_start) = (base, text);
                }
                lines.push(id);
            } else if in_text {
                if !lines.is_empty() {
                    each(base_start..base, text_start..text, &lines, &hidden);
                    lines.clear();
                }
                hidden.clear();
            } else if line.dead.is_some_and(|step| self.is_pending(id, step)) {
                hidden.push(id);
            }
            base += usize::from(in_base);
            text += usize::from(in_text);
        }
        if !lines.is_empty() {
            each(base_start..base, text_start..text, &lines, &hidden);
        }
    }
}

/// Returns the identity of a hunk with these lines, of which there is at least one.
pub(super) fn hunk_id(lines: &[LineId]) -> HunkId {
    HunkId(lines[0].0)
}

/// Whether a range of lines, empty between two, touches another.
pub(super) fn touches(hunk: &Range<usize>, lines: &Range<usize>) -> bool {
    if hunk.is_empty() {
        lines.start <= hunk.start && hunk.start <= lines.end
    } else {
        lines.start < hunk.end && hunk.start < lines.end
    }
}
