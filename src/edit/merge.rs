//! Three-way merge of texts: the hunks that bring their changes into ours, or the [`Conflict`]s.
//! It resolves no conflict.

use std::ops::Range;

use super::hunks::{Hunk, diff};
use super::text::{Shape, Text};

/// A place where both sides changed the same lines in different ways. Lines are 0-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Its lines in the common ancestor.
    pub base: Range<usize>,
    /// Its lines in our text.
    pub ours: Range<usize>,
    /// Its lines in their text.
    pub theirs: Range<usize>,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The hunks to apply to our text; empty if it has all of their changes already.
    pub hunks: Vec<Hunk>,
    /// The shape of the merged text: each property is theirs if they changed it, otherwise ours.
    pub shape: Shape,
}

/// Merges the changes from `base` to `theirs` into `ours`.
///
/// The same change on both sides is no conflict. Fails with every place where both sides changed
/// the same lines, or inserted at the same point, in different ways.
pub fn merge(base: &Text, ours: &Text, theirs: &Text) -> Result<Merged, Vec<Conflict>> {
    let (merged, conflicts) = reconcile(base, ours, theirs);
    if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
}

/// Merges like [`merge`], but leaves our lines in place wherever there is a conflict. Returns the
/// conflicts beside the merge.
pub(super) fn reconcile(base: &Text, ours: &Text, theirs: &Text) -> (Merged, Vec<Conflict>) {
    let shape = merge_shape(base.shape(), ours.shape(), theirs.shape());
    let their_hunks = diff(base, theirs);
    if base.same_lines(ours) {
        return (Merged { hunks: their_hunks, shape }, Vec::new());
    }
    let mut sides = Sides { ours: Side::new(diff(base, ours)), theirs: Side::new(their_hunks) };
    let (mut hunks, mut conflicts) = (Vec::new(), Vec::new());
    while let Some(group) = sides.next_group() {
        if group.ours.is_empty() {
            let shift = |hunk: &Hunk| Hunk {
                start: hunk.start + group.ours_added - group.ours_removed,
                ..hunk.clone()
            };
            hunks.extend(group.theirs.iter().map(shift));
        } else if !group.theirs.is_empty() && !group.is_same_change(base) {
            conflicts.push(group.conflict());
        }
    }
    (Merged { hunks, shape }, conflicts)
}

fn merge_shape(base: Shape, ours: Shape, theirs: Shape) -> Shape {
    Shape {
        ending: merge_value(base.ending, ours.ending, theirs.ending),
        final_newline: merge_value(base.final_newline, ours.final_newline, theirs.final_newline),
        bom: merge_value(base.bom, ours.bom, theirs.bom),
    }
}

fn merge_value<T: PartialEq>(base: T, ours: T, theirs: T) -> T {
    if theirs == base { ours } else { theirs }
}

/// The hunks of one side, and a position in them.
struct Side {
    hunks: Vec<Hunk>,
    /// The number of hunks before the position.
    taken: usize,
    /// Lines added by these.
    added: usize,
    /// Lines removed by these.
    removed: usize,
}

impl Side {
    fn new(hunks: Vec<Hunk>) -> Self {
        Self { hunks, taken: 0, added: 0, removed: 0 }
    }

    fn peek(&self) -> Option<&Hunk> {
        self.hunks.get(self.taken)
    }

    fn take(&mut self) {
        if let Some(hunk) = self.hunks.get(self.taken) {
            self.added += hunk.lines.len();
            self.removed += hunk.removed;
            self.taken += 1;
        }
    }
}

struct Sides {
    ours: Side,
    theirs: Side,
}

/// Hunks of both sides that touch one another, directly or through others, and how many lines each
/// side added and removed before them.
struct Group<'a> {
    base: Range<usize>,
    ours: &'a [Hunk],
    theirs: &'a [Hunk],
    ours_added: usize,
    ours_removed: usize,
    theirs_added: usize,
    theirs_removed: usize,
}

impl Sides {
    fn next_group(&mut self) -> Option<Group<'_>> {
        let base = match (self.ours.peek(), self.theirs.peek()) {
            // An insertion before a line comes before a change of that line.
            (Some(a), Some(b)) if (a.start, a.removed) <= (b.start, b.removed) => a.old(),
            (_, Some(b)) => b.old(),
            (Some(a), None) => a.old(),
            (None, None) => return None,
        };
        let (ours_from, theirs_from) = (self.ours.taken, self.theirs.taken);
        let (ours_added, ours_removed) = (self.ours.added, self.ours.removed);
        let (theirs_added, theirs_removed) = (self.theirs.added, self.theirs.removed);
        let mut base = self.take_first(base);
        loop {
            let touches = |hunk: &Hunk| touch(&hunk.old(), &base);
            let side = if self.ours.peek().is_some_and(touches) {
                &mut self.ours
            } else if self.theirs.peek().is_some_and(touches) {
                &mut self.theirs
            } else {
                break;
            };
            if let Some(hunk) = side.peek() {
                base = base.start.min(hunk.start)..base.end.max(hunk.old().end);
            }
            side.take();
        }
        Some(Group {
            base,
            ours: &self.ours.hunks[ours_from..self.ours.taken],
            theirs: &self.theirs.hunks[theirs_from..self.theirs.taken],
            ours_added,
            ours_removed,
            theirs_added,
            theirs_removed,
        })
    }

    fn take_first(&mut self, base: Range<usize>) -> Range<usize> {
        let ours = self.ours.peek().is_some_and(|hunk| hunk.old() == base);
        if ours {
            self.ours.take();
        } else {
            self.theirs.take();
        }
        base
    }
}

/// Whether two ranges of lines share a line, are the same insertion point, or one is an insertion
/// point inside the other.
pub(super) fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    a == b || (a.start < b.end && b.start < a.end)
}

impl Group<'_> {
    fn is_same_change(&self, base: &Text) -> bool {
        self.lines_of(self.ours, base) == self.lines_of(self.theirs, base)
    }

    /// Returns what one side has in place of the group's base lines.
    fn lines_of<'t>(&self, hunks: &'t [Hunk], base: &'t Text) -> Vec<&'t str> {
        let mut lines = Vec::new();
        let mut at = self.base.start;
        for hunk in hunks {
            lines.extend((at..hunk.start).map(|i| base.line(i)));
            lines.extend(hunk.lines.iter().map(String::as_str));
            at = hunk.old().end;
        }
        lines.extend((at..self.base.end).map(|i| base.line(i)));
        lines
    }

    fn conflict(&self) -> Conflict {
        let range = |hunks: &[Hunk], added: usize, removed: usize| {
            let start = self.base.start + added - removed;
            let added_here: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
            let removed_here: usize = hunks.iter().map(|hunk| hunk.removed).sum();
            start..start + self.base.len() + added_here - removed_here
        };
        Conflict {
            base: self.base.clone(),
            ours: range(self.ours, self.ours_added, self.ours_removed),
            theirs: range(self.theirs, self.theirs_added, self.theirs_removed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edit::hunks::apply;

    fn check(base: &str, ours: &str, theirs: &str) -> Result<String, Vec<Conflict>> {
        let ours = Text::parse(ours);
        let merged = merge(&Text::parse(base), &ours, &Text::parse(theirs))?;
        Ok(apply(&merged.hunks, &ours).with_shape(merged.shape).content())
    }

    #[test]
    fn changes_of_different_lines_are_merged() {
        assert_eq!(
            check("1\n2\n3\n", "0\n1\n2\n3\n", "1\n2\nthree\n").unwrap(),
            "0\n1\n2\nthree\n"
        );
        assert_eq!(
            check("1\n2\n", "one\n2\n", "1\ntwo\n").unwrap(),
            "one\ntwo\n",
            "changes of adjacent lines"
        );
        assert_eq!(check("1\n2\n", "1\n", "one\n2\n").unwrap(), "one\n");
        assert_eq!(
            check("1\n2", "one\n2", "1\n2\n").unwrap(),
            "one\n2\n",
            "their new final newline is merged"
        );
    }

    #[test]
    fn the_same_change_on_both_sides_is_no_conflict() {
        assert_eq!(check("1\n2\n3\n", "1\nII\n3\n", "1\nII\nIII\n").map_err(|c| c.len()), Err(1));
        assert_eq!(
            check("1\n2\n3\n4\n", "1\nII\n3\n4\n", "1\nII\n3\nIV\n").unwrap(),
            "1\nII\n3\nIV\n"
        );
        assert_eq!(check("1\n", "1\n2\n", "1\n2\n").unwrap(), "1\n2\n");
    }

    #[test]
    fn changes_of_the_same_line_and_insertions_at_the_same_point_conflict() {
        let conflict = |base, ours, theirs| vec![Conflict { base, ours, theirs }];
        assert_eq!(check("a\n1\n", "x\na\none\n", "a\nI\n"), Err(conflict(1..2, 2..3, 1..2)));
        assert_eq!(check("1\n2\n", "1\na\n2\n", "1\nb\n2\n"), Err(conflict(1..1, 1..2, 1..2)));
        assert_eq!(check("1\n2\n3\n", "1\n3\n", "1\ntwo\n3\n"), Err(conflict(1..2, 1..1, 1..2)));
        assert_eq!(
            check("1\n2\n3\n4\n", "4\n", "1\n2\nx\n3\n4\n"),
            Err(conflict(0..3, 0..0, 0..4))
        );
    }

    #[test]
    fn reconcile_merges_what_does_not_conflict_and_leaves_the_rest_ours() {
        let text = Text::parse;
        let (base, ours) = (text("1\n2\n3\n4\n"), text("1\nuser\n3\n4\n"));
        let (merged, conflicts) = reconcile(&base, &ours, &text("1\nagent\n3\nIV\n"));
        assert_eq!(apply(&merged.hunks, &ours).content(), "1\nuser\n3\nIV\n");
        assert_eq!(conflicts, [Conflict { base: 1..2, ours: 1..2, theirs: 1..2 }]);
    }

    /// An operation for each of twelve lines, and the name that lines of this side carry.
    fn side(name: &'static str) -> impl Strategy<Value = Vec<(u8, String)>> {
        prop::collection::vec((0u8..4, Just(name.to_owned())), 12)
    }

    /// Numbered lines of which the active ones may be replaced, deleted or followed by a new line.
    fn edited(ops: &[(u8, String)], active: impl Fn(usize) -> bool) -> Text {
        let lines = ops.iter().enumerate().flat_map(|(i, (op, name))| match op {
            1 if active(i) => vec![format!("{name} {i}")],
            2 if active(i) => vec![],
            3 if active(i) => vec![i.to_string(), format!("{name} after {i}")],
            _ => vec![i.to_string()],
        });
        let lines: Vec<String> = lines.collect();
        Text::from_body(lines.join("\n"), Shape::default(), lines.is_empty())
    }

    proptest! {
        #[test]
        fn an_unchanged_side_gets_the_changes_of_the_other(ops in side("x")) {
            let (base, changed) = (edited(&ops, |_| false), edited(&ops, |_| true));
            let into_base = merge(&base, &base, &changed).unwrap();
            prop_assert_eq!(apply(&into_base.hunks, &base), changed.clone());
            let nothing = merge(&base, &changed, &base).unwrap();
            prop_assert!(nothing.hunks.is_empty());
            prop_assert!(merge(&base, &changed, &changed).unwrap().hunks.is_empty());
        }

        #[test]
        fn changes_of_different_lines_are_all_in_the_merge(a in side("ours"), b in side("theirs")) {
            let ours_at = |i: usize| i.is_multiple_of(4);
            let theirs_at = |i: usize| i % 4 == 2;
            let base = edited(&a, |_| false);
            let (ours, theirs) = (edited(&a, ours_at), edited(&b, theirs_at));
            let both: Vec<_> = (0..12).map(|i| if ours_at(i) { a[i].clone() } else { b[i].clone() }).collect();
            let merged = merge(&base, &ours, &theirs).unwrap();
            let wanted = edited(&both, |i| ours_at(i) || theirs_at(i));
            prop_assert_eq!(apply(&merged.hunks, &ours), wanted);
        }

        #[test]
        fn reconcile_loses_no_line_of_ours_and_theirs_only_in_conflicts(
            a in side("ours"), b in side("theirs"),
        ) {
            let base = edited(&a, |_| false);
            let (ours, theirs) = (edited(&a, |_| true), edited(&b, |_| true));
            let (merged, conflicts) = reconcile(&base, &ours, &theirs);
            let after = apply(&merged.hunks, &ours);
            let has = |text: &Text, line: &str| text.lines().any(|other| other == line);
            for line in ours.lines().filter(|line| line.starts_with("ours")) {
                prop_assert!(has(&after, line), "{line:?} is lost");
            }
            for (at, line) in theirs.lines().enumerate().filter(|(_, line)| line.starts_with("theirs")) {
                let contested = conflicts.iter().any(|conflict| conflict.theirs.contains(&at));
                prop_assert!(contested || has(&after, line), "{line:?} was not merged");
            }
        }

        #[test]
        fn swapping_the_sides_gives_the_same_merge(a in side("ours"), b in side("theirs")) {
            let base = edited(&a, |_| false);
            let (ours, theirs) = (edited(&a, |_| true), edited(&b, |_| true));
            match (merge(&base, &ours, &theirs), merge(&base, &theirs, &ours)) {
                (Ok(into_ours), Ok(into_theirs)) => prop_assert_eq!(
                    apply(&into_ours.hunks, &ours), apply(&into_theirs.hunks, &theirs)
                ),
                (Err(here), Err(there)) => prop_assert_eq!(here.len(), there.len()),
                _ => prop_assert!(false, "a conflict on one side only"),
            }
        }
    }
}
