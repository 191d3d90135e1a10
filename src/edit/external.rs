//! Merges an external change of a file into the buffer that shows it, without losing anything the
//! user typed or saved. Where both differ, the user's lines stay and an [`UnresolvedHunk`] says so.

use std::collections::HashMap;
use std::ops::Range;

use super::hunks::{Hunk, apply, diff, line_by_line};
use super::merge::{reconcile, touch};
use super::reformat::{is_formatted, unformatted};
use super::text::Text;

/// The result of merging an external change into a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalMerge {
    /// The new text of the buffer.
    pub text: Text,
    /// The hunks that turn the buffer's current text into it.
    pub hunks: Vec<Hunk>,
    /// The places where the buffer still differs from the file because its own lines stay.
    pub unresolved: Vec<UnresolvedHunk>,
}

/// Lines that stay in the buffer although the file has others in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedHunk {
    /// The lines of the buffer (0-based); empty where only the file has lines.
    pub lines: Range<usize>,
    /// What the file has in their place.
    pub theirs: Vec<String>,
}

/// Merges a changed file into the text of its buffer.
///
/// `read` is the text of the file that its writer knew, `baseline` the text before the change,
/// `ours` the text of the buffer (`baseline` with unsaved changes), and `file` the text now.
///
/// Two kinds of text stay in the buffer and become unresolved hunks: unsaved changes that meet
/// those of the file, and text that was saved after `read` and that the writer, who did not know
/// of it, overwrote. If the merge would lose a line of `ours` that the writer had not read, `ours`
/// stays as it is. Ranges in [`ExternalMerge::unresolved`] refer to `ours`.
pub fn merge_external(read: &Text, baseline: &Text, ours: &Text, file: &Text) -> ExternalMerge {
    let theirs = restore_saved(read, baseline, file);
    let (merged, conflicts) = reconcile(baseline, ours, &theirs);
    let text = apply(&merged.hunks, ours).with_shape(merged.shape);
    if !contains_unread_lines(read, ours, &text) {
        return without_merge(ours, file);
    }
    let (to_ours, to_file) = (diff(&theirs, ours), diff(&theirs, file));
    let contested = conflicts.into_iter().map(|conflict| conflict.theirs);
    let restored = to_file.iter().map(Hunk::old);
    let places = join_touching(contested.chain(restored).collect());
    let places =
        places.iter().map(|lines| (map_range(lines, &to_ours), map_range(lines, &to_file)));
    let unresolved = join_overlapping(places).into_iter().map(|(lines, theirs)| UnresolvedHunk {
        lines,
        theirs: theirs.map(|line| file.line(line).to_owned()).collect(),
    });
    let differs =
        |hunk: &UnresolvedHunk| !hunk.lines.clone().map(|line| ours.line(line)).eq(&hunk.theirs);
    let unresolved: Vec<_> = unresolved.filter(differs).collect();
    if unresolved.is_empty() && !theirs.same_lines(file) {
        // Saved text has stayed, but where it was moved to there is nothing to show beside it.
        return without_merge(ours, file);
    }
    // Hunks that together change nothing would still be an undo step.
    let hunks = if text.same_lines(ours) { Vec::new() } else { merged.hunks };
    ExternalMerge { text, hunks, unresolved }
}

/// Leaves `ours` as it is, with an unresolved hunk wherever the file differs.
pub fn without_merge(ours: &Text, file: &Text) -> ExternalMerge {
    let hunks = diff(ours, file).into_iter();
    let unresolved =
        hunks.map(|hunk| UnresolvedHunk { lines: hunk.old(), theirs: hunk.lines }).collect();
    ExternalMerge { text: ours.clone(), hunks: Vec::new(), unresolved }
}

/// Whether `text` contains every line of `ours` that is not in `read`. If both sides moved lines, a
/// merge by position may remove such a line together with those around it.
fn contains_unread_lines(read: &Text, ours: &Text, text: &Text) -> bool {
    let mut missing: HashMap<&str, isize> = HashMap::new();
    for line in ours.lines() {
        *missing.entry(line).or_default() += 1;
    }
    for line in read.lines().chain(text.lines()) {
        if let Some(count) = missing.get_mut(line) {
            *count -= 1;
        }
    }
    missing.values().all(|count| *count <= 0)
}

/// Returns what a writer knows of a file after it changed `ours` into `file`, having read `read`:
/// what it read with its own change, but without the changes that others made in between.
pub fn writer_view(read: &Text, ours: &Text, file: &Text) -> Text {
    // `others` turns the changes of others back, since it leads from `ours` to `read`.
    let (change, others) = (diff(ours, file), diff(ours, read));
    let mut hunks = change.clone();
    // A line of others that the writer moved is still unknown to it, and so is one that a formatter may have made of it.
    let removed = change.iter().flat_map(Hunk::old);
    let unread = removed.filter(|line| others.iter().any(|hunk| hunk.old().contains(line)));
    let mut moved: Vec<&str> = unread.map(|line| ours.line(line)).collect();
    for hunk in &mut hunks {
        hunk.lines.retain(|line| {
            let is_line = |candidate: &&str| is_formatted(candidate, line);
            moved.iter().position(is_line).map(|at| moved.swap_remove(at)).is_none()
        });
    }
    for unread in others {
        let old = unread.old();
        if change.iter().any(|hunk| touch(&hunk.old(), &old)) {
            // The lines of others still have to go, but what they replaced cannot be put back:
            // the writer changed that place, too.
            let rest = old.filter(|line| !change.iter().any(|hunk| hunk.old().contains(line)));
            hunks.extend(rest.map(|line| Hunk { start: line, removed: 1, lines: Vec::new() }));
        } else {
            hunks.push(unread);
        }
    }
    hunks.sort_by_key(|hunk| (hunk.start, hunk.removed));
    apply(&hunks, ours).with_shape(file.shape())
}

/// Returns the lines that both texts have, in the shape of the first.
pub fn common_lines(one: &Text, other: &Text) -> Text {
    let removals: Vec<Hunk> =
        diff(one, other).into_iter().map(|hunk| Hunk { lines: Vec::new(), ..hunk }).collect();
    apply(&removals, one).with_shape(one.shape())
}

/// Sorts ranges and joins those that touch.
fn join_touching(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if touch(last, &range) => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Joins places, given in order as ranges in two texts, that overlap in the first text.
fn join_overlapping(
    places: impl Iterator<Item = (Range<usize>, Range<usize>)>,
) -> Vec<(Range<usize>, Range<usize>)> {
    let mut joined: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (ours, theirs) in places {
        match joined.last_mut() {
            Some((last_ours, last_theirs))
                if ours.start < last_ours.end || ours.start == last_ours.start =>
            {
                *last_ours = last_ours.start.min(ours.start)..last_ours.end.max(ours.end);
                *last_theirs = last_theirs.start.min(theirs.start)..last_theirs.end.max(theirs.end);
            }
            _ => joined.push((ours, theirs)),
        }
    }
    joined
}

/// Returns the file with the text that was saved into it after `read` and that its writer
/// overwrote.
fn restore_saved(read: &Text, baseline: &Text, file: &Text) -> Text {
    let (saved, change) = (diff(read, baseline), diff(baseline, file));
    let respects_saved = |hunk: &&Hunk| respects(hunk, read, &saved);
    if saved.is_empty() || change.iter().all(|hunk| respects_saved(&hunk)) {
        return file.clone();
    }
    let lines = line_by_line(&change, baseline);
    if lines.len() > change.len() {
        // A command has changed line after line, also those that were saved: only those stay.
        let respectful: Vec<Hunk> =
            lines.into_iter().filter(|hunk| respects_saved(&hunk)).collect();
        return apply(&respectful, baseline).with_shape(file.shape());
    }
    // Merge as if the saved text were unsaved in a buffer.
    let (merged, _) = reconcile(read, baseline, file);
    let mut restored = apply(&merged.hunks, baseline);
    if has_duplicates(&restored, baseline, file) {
        // The writer did know some of the saved text, so the file is no change of `read`. Apply
        // those of its hunks that leave the saved text alone.
        let respectful: Vec<Hunk> = change.iter().filter(respects_saved).cloned().collect();
        restored = apply(&respectful, baseline);
    }
    restored.with_shape(file.shape())
}

/// Whether a line occurs more often in a text than in either of the two texts it was merged from, as it is or as a formatter
/// may have made it on one side.
fn has_duplicates(text: &Text, one: &Text, other: &Text) -> bool {
    let count = |text: &'_ Text| {
        let mut lines: HashMap<String, usize> = HashMap::new();
        text.lines().for_each(|line| *lines.entry(unformatted(line)).or_default() += 1);
        lines
    };
    let (one, other) = (count(one), count(other));
    let most = |line: &String| one.get(line).max(other.get(line)).copied().unwrap_or(0);
    count(text).iter().any(|(line, times)| *times > most(line))
}

/// Whether `change`, made to the text that `saved` made out of `read`, leaves the effect of `saved`
/// in place: it touches none of the new lines and restores none of the removed ones.
fn respects(change: &Hunk, read: &Text, saved: &[Hunk]) -> bool {
    let (mut added, mut removed) = (0, 0);
    let (old, restores) = (change.old(), |line: &str| change.lines.iter().any(|new| new == line));
    !saved.iter().any(|hunk| {
        let start = hunk.start + added - removed;
        let lines = start..start + hunk.lines.len();
        added += hunk.lines.len();
        removed += hunk.removed;
        let adjoins = old.start <= lines.end && lines.start <= old.end;
        touch(&old, &lines) || (adjoins && hunk.old().any(|line| restores(read.line(line))))
    })
}

/// Maps a range of lines of one text to the text after `hunks`. Hunks that touch the range become
/// part of it.
fn map_range(lines: &Range<usize>, hunks: &[Hunk]) -> Range<usize> {
    let (mut start, mut end) = (lines.start, lines.end);
    let (mut added, mut removed, mut added_inside, mut removed_inside) = (0, 0, 0, 0);
    for hunk in hunks {
        let old = hunk.old();
        if touch(&old, lines) {
            (start, end) = (start.min(old.start), end.max(old.end));
            added_inside += hunk.lines.len();
            removed_inside += hunk.removed;
        } else if old.end <= lines.start {
            added += hunk.lines.len();
            removed += hunk.removed;
        }
    }
    start + added - removed..end + added + added_inside - removed - removed_inside
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(
        read: &str,
        baseline: &str,
        ours: &str,
        file: &str,
    ) -> (String, Vec<(Range<usize>, String)>) {
        let ours = Text::parse(ours);
        let merge =
            merge_external(&Text::parse(read), &Text::parse(baseline), &ours, &Text::parse(file));
        assert_eq!(
            apply(&merge.hunks, &ours).lines().collect::<Vec<_>>(),
            merge.text.lines().collect::<Vec<_>>()
        );
        let unresolved = merge.unresolved.into_iter();
        let unresolved = unresolved.map(|hunk| (hunk.lines, hunk.theirs.join(" "))).collect();
        (merge.text.content(), unresolved)
    }

    fn one(lines: Range<usize>, theirs: &str) -> Vec<(Range<usize>, String)> {
        vec![(lines, theirs.to_owned())]
    }

    #[test]
    fn without_other_changes_the_buffer_gets_the_text_of_the_file() {
        let (text, unresolved) = merged("1\n2\n", "1\n2\n", "1\n2\n", "1\ntwo\nthree");
        assert_eq!((text.as_str(), unresolved), ("1\ntwo\nthree", vec![]));
    }

    #[test]
    fn unsaved_text_stays_and_is_unresolved_where_the_file_differs() {
        let (text, unresolved) =
            merged("1\n2\n3\n4\n", "1\n2\n3\n4\n", "1\nuser\n3\n4\n", "1\nagent\n3\nIV\n");
        assert_eq!((text.as_str(), unresolved), ("1\nuser\n3\nIV\n", one(1..2, "agent")));
    }

    #[test]
    fn saved_text_that_the_writer_had_not_read_stays() {
        let (text, unresolved) =
            merged("1\n2\n3\n4\n", "1\nuser\n3\n4\n", "0\n1\nuser\n3\n4\n", "one\n2\n3\n4\n");
        assert_eq!((text.as_str(), unresolved), ("0\none\nuser\n3\n4\n", one(2..3, "2")));
        let (text, unresolved) =
            merged("1\n2\n3\n", "1\nuser\n3\n", "1\nuser\n3\n", "1\nagent\n3\n");
        assert_eq!((text.as_str(), unresolved), ("1\nuser\n3\n", one(1..2, "agent")));
        let (text, unresolved) = merged("1\n2\n3\n", "1\n3\n", "1\n3\n", "1\n2\nthree\n");
        assert_eq!((text.as_str(), unresolved), ("1\nthree\n", one(1..1, "2")));
    }

    /// Holds (Changes on disk): Where a command has changed line after line, only the lines that the user had saved stay.
    #[test]
    fn of_lines_that_a_command_has_changed_only_saved_ones_stay() {
        let lines = |sign: &str, saved: &str| -> String {
            (0..9)
                .map(|at| format!("name_{at} {sign} {at}{}\n", if at == 4 { saved } else { "" }))
                .collect()
        };
        let (read, baseline, file) = (lines(":=", ""), lines(":=", " user"), lines("::", " user"));
        let (text, unresolved) = merged(&read, &baseline, &baseline, &file);
        assert_eq!(unresolved, one(4..5, "name_4 :: 4 user"));
        assert_eq!(text, file.replace("name_4 ::", "name_4 :="));
        // Other lines in their place are no such change.
        let others = "agent\n".repeat(9);
        let (text, unresolved) = merged(&read, &baseline, &baseline, &others);
        assert_eq!((text.as_str(), unresolved.len()), (baseline.as_str(), 1));
    }

    #[test]
    fn saved_text_that_the_writer_copied_is_not_duplicated() {
        let (read, baseline) = ("1\n2\n3\n4\n5\n", "1\nuser\n5\n");
        let (text, unresolved) = merged(read, baseline, baseline, "1\nuser\n2\n3\nagent\n5\n");
        assert_eq!((text.as_str(), unresolved), (baseline, one(2..2, "2 3 agent")));
    }

    #[test]
    fn saved_text_that_a_formatter_changed_is_not_duplicated() {
        let baseline = "b\na1\na2\n0\n1\no7\n2\no6\n3\n";
        let file = "b  \na1  \na2  \n0\na3\na4\no6\n3\n";
        let (text, _) = merged("b  \n0\n1\no7\n2\no6\n3\n", baseline, baseline, file);
        for line in ["a1", "a2"] {
            assert_eq!(text.matches(line).count(), 1, "{text}");
        }
    }

    #[test]
    fn a_writer_that_knew_the_saved_text_may_change_lines_next_to_it() {
        let (text, unresolved) =
            merged("1\n2\n3\n", "1\nuser\n3\n", "1\nuser\n3\n", "1\nuser\nthree\n");
        assert_eq!((text.as_str(), unresolved), ("1\nuser\nthree\n", vec![]));
    }

    #[test]
    fn saved_text_that_goes_from_beside_a_moved_line_is_unresolved() {
        let (read, baseline) = ("7\n8\n9\n", "7\nuser\n9\n8\n");
        let (text, unresolved) = merged(read, baseline, baseline, "7\n9\n8\n");
        assert_eq!((text.as_str(), unresolved), (baseline, one(1..2, "")));
    }

    #[test]
    fn unread_lines_stay_when_both_sides_moved_others() {
        let read = "0\n1\n2\n10\n19\n3\n4\n18\n20\n110\n111\n112\n";
        let baseline = "0\n1\n2\n10 user\n19\n3 anna\n4\n18\n25\n20\n26\n27\n";
        let ours = "1\n2\n10 user\n0\n19\n3 anna\n4\n18\n25\n20\n26\n27\n";
        let file = "0 bert\n10\n1\n19\n2\n3\n4\n11\n9\n90\n18\n30\n110\n111\n6\n112 bert\n";
        let (text, _) = merged(read, baseline, ours, file);
        assert!(text.contains("10 user\n"), "{text}");
    }

    #[test]
    fn common_lines_are_those_of_both_texts() {
        let text = Text::parse;
        assert_eq!(common_lines(&text("1\n2\n3\n"), &text("0\n1\n3\n4\n")), text("1\n3\n"));
        assert_eq!(common_lines(&text("1\n"), &text("2\n")), text(""));
        assert_eq!(common_lines(&text("1\n2\n"), &text("1\n2\n")), text("1\n2\n"));
    }

    #[test]
    fn a_writers_view_lacks_what_others_saved() {
        let text = Text::parse;
        let left = writer_view(&text("1\n2\n3\n"), &text("1\nuser\n3\n"), &text("1\nuser\nIII\n"));
        assert_eq!(left, text("1\n2\nIII\n"));
        let left =
            writer_view(&text("1\n2\n3\n"), &text("1\nuser\n3\n"), &text("1\nuser agent\n3\n"));
        assert_eq!(left, text("1\nuser agent\n3\n"));
        let left =
            writer_view(&text("1\n2\n"), &text("1\na\nb\nc\n2\n"), &text("1\na\nagent\nc\n2\n"));
        assert_eq!(left, text("1\nagent\n2\n"));
    }

    #[test]
    fn a_writers_view_lacks_a_line_of_others_that_it_moved() {
        let (read, ours) = (Text::parse("1\n2\n3\n4\n5\n"), Text::parse("1\n2\n3\n4\nuser\n5\n"));
        let left = writer_view(&read, &ours, &Text::parse("user\n1\n2\n3\n4\n5\nagent\n"));
        assert_eq!(left, Text::parse("1\n2\n3\n4\n5\nagent\n"));
    }

    #[test]
    fn a_writers_view_lacks_a_line_of_others_that_only_a_formatter_changed() {
        let (read, ours) = (Text::parse("1\n2\n3\n"), Text::parse("1\nuser\n2\n3\n"));
        let left = writer_view(&read, &ours, &Text::parse("1\nuser  \n2\nagent\n"));
        assert_eq!(left, Text::parse("1\n2\nagent\n"));
    }

    /// The base with some lines replaced, deleted, moved to the end or followed by a named line.
    fn edited(base: &[String], ops: &[u8], name: &str) -> Vec<String> {
        let (mut edited, mut moved) = (Vec::new(), Vec::new());
        for (line, op) in base.iter().zip(ops.iter().chain(std::iter::repeat(&0))) {
            match op {
                1 => edited.push(format!("{name} for {line}")),
                2 => {}
                3 => edited.extend([line.clone(), format!("{name} after {line}")]),
                4 => moved.push(line.clone()),
                _ => edited.push(line.clone()),
            }
        }
        edited.append(&mut moved);
        edited
    }

    fn text(lines: &[String]) -> Text {
        Text::from_body(lines.join("\n"), crate::edit::Shape::default(), lines.is_empty())
    }

    fn ops() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![4 => Just(0u8), 1 => 1u8..5], 10)
    }

    proptest! {
        #[test]
        fn no_line_of_the_user_is_lost_and_each_of_the_agent_is_merged_or_unresolved(
            saved in ops(), typed in ops(), written in ops(), knew: bool, long: bool,
        ) {
            // A long line that is changed is known again.
            let name = |i: u8| if long { format!("a long line {i}") } else { i.to_string() };
            let read: Vec<String> = (0..10).map(name).collect();
            let baseline = edited(&read, &saved, "saved");
            let ours = edited(&baseline, &typed, "typed");
            let file = edited(if knew { &baseline } else { &read }, &written, "agent");
            let merge = merge_external(&text(&read), &text(&baseline), &text(&ours), &text(&file));
            for line in ours.iter().filter(|line| line.contains("typed") || line.contains("saved")) {
                let removed_knowingly = knew && !line.contains("typed") && !file.contains(line);
                let in_text = merge.text.lines().any(|merged| merged == line);
                prop_assert!(in_text || removed_knowingly, "{:?} is lost: {:?}", line, merge.text);
            }
            for line in file.iter().filter(|line| line.contains("agent")) {
                let in_text = merge.text.lines().any(|merged| merged == line);
                let is_unresolved = merge.unresolved.iter().any(|hunk| hunk.theirs.contains(line));
                prop_assert!(in_text || is_unresolved, "{:?} was not merged", line);
            }
            for hunk in &merge.unresolved {
                prop_assert!(hunk.lines.end <= ours.len());
                prop_assert_ne!(&ours[hunk.lines.clone()], &hunk.theirs[..]);
            }
            for pair in merge.unresolved.windows(2) {
                let (one, next) = (&pair[0].lines, &pair[1].lines);
                prop_assert!(one.end <= next.start && one.start < next.start, "{pair:?}");
            }
            if merge.unresolved.is_empty() && typed.iter().all(|op| *op == 0) {
                prop_assert_eq!(merge.text, text(&file));
            }
        }
    }
}
