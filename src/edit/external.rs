//! What somebody else did to a file, brought into the text that is open in a buffer: nothing the user typed or saved is
//! given up for it. Nobody is asked here.

use std::collections::HashMap;
use std::ops::Range;

use super::merge::{reconcile, touch};
use super::{Hunk, Text, apply, diff};

/// What came in from a file that others changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Ours with what could be brought in.
    pub text: Text,
    /// From ours to that.
    pub hunks: Vec<Hunk>,
    /// Where ours was kept.
    pub kept: Vec<Kept>,
}

/// Lines that were kept although theirs have others in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Which; empty where theirs have lines and ours none.
    pub lines: Range<usize>,
    /// Theirs.
    pub theirs: Vec<String>,
}

/// Brings a changed file into the text of its buffer.
///
/// `read` is what the one who changed it knew of it, `synced` what it was before, `ours` the text in the buffer: `synced`
/// with unsaved changes, `file` what it is now. What came into the file after `read` and is not in it any more is kept
/// like unsaved text that was overwritten, and both are told. Where that cannot be brought together without losing a line that
/// was not read, ours stays whole. Ranges in [`Taken::kept`] count lines of ours.
pub fn take_in(read: &Text, synced: &Text, ours: &Text, file: &Text) -> Taken {
    let saved = keep_saved(read, synced, file);
    let (merged, conflicts) = reconcile(synced, ours, &saved);
    let text = apply(&merged.hunks, ours).with_shape(merged.shape);
    if !keeps_unread(read, ours, &text) {
        return keep_all(ours, file);
    }
    let (to_ours, to_file) = (diff(&saved, ours), diff(&saved, file));
    let contested = conflicts.into_iter().map(|conflict| conflict.theirs);
    let lost = to_file.iter().map(Hunk::old);
    let places = joined(contested.chain(lost).collect());
    let places = places.iter().map(|lines| (carried(lines, &to_ours), carried(lines, &to_file)));
    let kept = apart(places).into_iter().map(|(lines, theirs)| Kept {
        lines,
        theirs: theirs.map(|line| file.line(line).to_owned()).collect(),
    });
    let differs = |kept: &Kept| !kept.lines.clone().map(|line| ours.line(line)).eq(&kept.theirs);
    Taken { text, hunks: merged.hunks, kept: kept.filter(differs).collect() }
}

/// Ours as it is, and told wherever the file has another.
pub fn keep_all(ours: &Text, file: &Text) -> Taken {
    let kept = diff(ours, file).into_iter();
    let kept = kept.map(|hunk| Kept { lines: hunk.old(), theirs: hunk.lines }).collect();
    Taken { text: ours.clone(), hunks: Vec::new(), kept }
}

/// Whether all lines of ours that were not read are in the text: where both sides have moved lines, a merge by places may
/// take one out with those around it.
fn keeps_unread(read: &Text, ours: &Text, text: &Text) -> bool {
    let mut owed: HashMap<&str, isize> = HashMap::new();
    for line in ours.lines() {
        *owed.entry(line).or_default() += 1;
    }
    for line in read.lines().chain(text.lines()) {
        if let Some(count) = owed.get_mut(line) {
            *count -= 1;
        }
    }
    owed.values().all(|count| *count <= 0)
}

/// What the one who changed `ours` into `file` knows of it then, who had read `read`: its own change, and nothing of what
/// others had brought into `ours` meanwhile.
pub fn leave(read: &Text, ours: &Text, file: &Text) -> Text {
    let (change, others) = (diff(ours, file), diff(ours, read));
    let mut hunks = change.clone();
    // A line of others that stands elsewhere now is still theirs.
    let gone = change.iter().flat_map(Hunk::old);
    let gone = gone.filter(|line| others.iter().any(|unread| unread.old().contains(line)));
    let mut moved: Vec<&str> = gone.map(|line| ours.line(line)).collect();
    for hunk in &mut hunks {
        hunk.lines.retain(|line| match moved.iter().position(|it| it == line) {
            Some(at) => {
                moved.swap_remove(at);
                false
            }
            None => true,
        });
    }
    for unread in others {
        let old = unread.old();
        if change.iter().any(|hunk| touch(&hunk.old(), &old)) {
            // What was there before the others is not known to be gone, nor where it was.
            let stayed = old.filter(|line| !change.iter().any(|hunk| hunk.old().contains(line)));
            hunks.extend(stayed.map(|line| Hunk { start: line, removed: 1, lines: Vec::new() }));
        } else {
            hunks.push(unread);
        }
    }
    hunks.sort_by_key(|hunk| (hunk.start, hunk.removed));
    apply(&hunks, ours).with_shape(file.shape())
}

/// The lines that stand in both, in the shape of the first.
pub fn shared(one: &Text, other: &Text) -> Text {
    let only: Vec<Hunk> =
        diff(one, other).into_iter().map(|hunk| Hunk { lines: Vec::new(), ..hunk }).collect();
    apply(&only, one).with_shape(one.shape())
}

/// Ranges in order, those that touch as one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
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

/// Places in two texts, in order, those that are on the same lines of the first as one.
fn apart(
    places: impl Iterator<Item = (Range<usize>, Range<usize>)>,
) -> Vec<(Range<usize>, Range<usize>)> {
    let mut apart: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (ours, theirs) in places {
        match apart.last_mut() {
            Some((last, of)) if ours.start < last.end || ours.start == last.start => {
                *last = last.start.min(ours.start)..last.end.max(ours.end);
                *of = of.start.min(theirs.start)..of.end.max(theirs.end);
            }
            _ => apart.push((ours, theirs)),
        }
    }
    apart
}

/// The file with what was saved into it after `read` and is not in it any more.
fn keep_saved(read: &Text, synced: &Text, file: &Text) -> Text {
    let (saved, change) = (diff(read, synced), diff(synced, file));
    let spares = |hunk: &&Hunk| spares(hunk, read, &saved);
    if saved.is_empty() || change.iter().all(|hunk| spares(&hunk)) {
        return file.clone();
    }
    // As if what was saved stood in a buffer only.
    let (merged, _) = reconcile(read, synced, file);
    let mut kept = apply(&merged.hunks, synced);
    if repeats(&kept, synced, file) {
        // The writer did know some of it. Then its changes count as a whole or not at all.
        let sparing: Vec<Hunk> = change.iter().filter(spares).cloned().collect();
        kept = apply(&sparing, synced);
    }
    kept.with_shape(file.shape())
}

/// Whether a line is more often in a text than in both of those it was made of.
fn repeats(text: &Text, one: &Text, other: &Text) -> bool {
    let count = |text: &'_ Text| {
        let mut lines: HashMap<String, usize> = HashMap::new();
        text.lines().for_each(|line| *lines.entry(line.to_owned()).or_default() += 1);
        lines
    };
    let (one, other) = (count(one), count(other));
    let most = |line: &String| one.get(line).max(other.get(line)).copied().unwrap_or(0);
    count(text).iter().any(|(line, times)| *times > most(line))
}

/// Whether a change of the text that `saved` made out of `read` leaves what that brought and took: it neither touches new
/// lines nor brings back old ones.
fn spares(change: &Hunk, read: &Text, saved: &[Hunk]) -> bool {
    let (mut added, mut removed) = (0, 0);
    let (old, is_back) = (change.old(), |line: &str| change.lines.iter().any(|it| it == line));
    !saved.iter().any(|hunk| {
        let start = hunk.start + added - removed;
        let lines = start..start + hunk.lines.len();
        added += hunk.lines.len();
        removed += hunk.removed;
        let adjoins = old.start <= lines.end && lines.start <= old.end;
        touch(&old, &lines) || (adjoins && hunk.old().any(|line| is_back(read.line(line))))
    })
}

/// Where lines of one text are in another, given the hunks from one to the other; what changed in them is part of them.
fn carried(lines: &Range<usize>, hunks: &[Hunk]) -> Range<usize> {
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

    fn taken(
        read: &str,
        synced: &str,
        ours: &str,
        file: &str,
    ) -> (String, Vec<(Range<usize>, String)>) {
        let ours = Text::parse(ours);
        let taken = take_in(&Text::parse(read), &Text::parse(synced), &ours, &Text::parse(file));
        assert_eq!(
            apply(&taken.hunks, &ours).lines().collect::<Vec<_>>(),
            taken.text.lines().collect::<Vec<_>>()
        );
        let kept = taken.kept.into_iter().map(|kept| (kept.lines, kept.theirs.join(" "))).collect();
        (taken.text.content(), kept)
    }

    fn one(lines: Range<usize>, theirs: &str) -> Vec<(Range<usize>, String)> {
        vec![(lines, theirs.to_owned())]
    }

    #[test]
    fn a_file_nobody_else_has_touched_is_taken_as_it_is() {
        let (text, kept) = taken("1\n2\n", "1\n2\n", "1\n2\n", "1\ntwo\nthree");
        assert_eq!((text.as_str(), kept), ("1\ntwo\nthree", vec![]));
    }

    #[test]
    fn unsaved_text_stays_and_is_told_where_the_file_has_another() {
        let (text, kept) =
            taken("1\n2\n3\n4\n", "1\n2\n3\n4\n", "1\nuser\n3\n4\n", "1\nagent\n3\nIV\n");
        assert_eq!((text.as_str(), kept), ("1\nuser\n3\nIV\n", one(1..2, "agent")));
    }

    #[test]
    fn saved_text_that_its_writer_had_not_seen_stays() {
        let (text, kept) =
            taken("1\n2\n3\n4\n", "1\nuser\n3\n4\n", "0\n1\nuser\n3\n4\n", "one\n2\n3\n4\n");
        assert_eq!((text.as_str(), kept), ("0\none\nuser\n3\n4\n", one(2..3, "2")));
        let (text, kept) = taken("1\n2\n3\n", "1\nuser\n3\n", "1\nuser\n3\n", "1\nagent\n3\n");
        assert_eq!((text.as_str(), kept), ("1\nuser\n3\n", one(1..2, "agent")));
        let (text, kept) = taken("1\n2\n3\n", "1\n3\n", "1\n3\n", "1\n2\nthree\n");
        assert_eq!((text.as_str(), kept), ("1\nthree\n", one(1..1, "2")));
    }

    #[test]
    fn what_a_writer_took_over_unread_is_not_there_twice() {
        let (read, synced) = ("1\n2\n3\n4\n5\n", "1\nuser\n5\n");
        let (text, kept) = taken(read, synced, synced, "1\nuser\n2\n3\nagent\n5\n");
        assert_eq!((text.as_str(), kept), (synced, one(2..2, "2 3 agent")));
    }

    #[test]
    fn a_writer_who_knew_what_was_saved_may_change_what_is_beside_it() {
        let (text, kept) = taken("1\n2\n3\n", "1\nuser\n3\n", "1\nuser\n3\n", "1\nuser\nthree\n");
        assert_eq!((text.as_str(), kept), ("1\nuser\nthree\n", vec![]));
    }

    #[test]
    fn lines_that_were_not_read_stay_also_where_both_sides_have_moved_others() {
        let read = "0\n1\n2\n10\n19\n3\n4\n18\n20\n110\n111\n112\n";
        let synced = "0\n1\n2\n10 user\n19\n3 anna\n4\n18\n25\n20\n26\n27\n";
        let ours = "1\n2\n10 user\n0\n19\n3 anna\n4\n18\n25\n20\n26\n27\n";
        let file = "0 bert\n10\n1\n19\n2\n3\n4\n11\n9\n90\n18\n30\n110\n111\n6\n112 bert\n";
        let (text, _) = taken(read, synced, ours, file);
        assert!(text.contains("10 user\n"), "{text}");
    }

    #[test]
    fn what_two_texts_share_is_what_stands_in_both() {
        let text = Text::parse;
        assert_eq!(shared(&text("1\n2\n3\n"), &text("0\n1\n3\n4\n")), text("1\n3\n"));
        assert_eq!(shared(&text("1\n"), &text("2\n")), text(""));
        assert_eq!(shared(&text("1\n2\n"), &text("1\n2\n")), text("1\n2\n"));
    }

    #[test]
    fn a_change_tells_nothing_of_what_others_saved_elsewhere() {
        let text = Text::parse;
        let left = leave(&text("1\n2\n3\n"), &text("1\nuser\n3\n"), &text("1\nuser\nIII\n"));
        assert_eq!(left, text("1\n2\nIII\n"));
        let left = leave(&text("1\n2\n3\n"), &text("1\nuser\n3\n"), &text("1\nuser agent\n3\n"));
        assert_eq!(left, text("1\nuser agent\n3\n"));
        let left = leave(&text("1\n2\n"), &text("1\na\nb\nc\n2\n"), &text("1\na\nagent\nc\n2\n"));
        assert_eq!(left, text("1\nagent\n2\n"));
    }

    #[test]
    fn a_line_of_others_that_was_moved_is_not_known_for_it() {
        let (read, ours) = (Text::parse("1\n2\n3\n4\n5\n"), Text::parse("1\n2\n3\n4\nuser\n5\n"));
        let left = leave(&read, &ours, &Text::parse("user\n1\n2\n3\n4\n5\nagent\n"));
        assert_eq!(left, Text::parse("1\n2\n3\n4\n5\nagent\n"));
    }

    /// Numbered lines, some replaced, deleted, moved to the end or followed by a line that carries a name.
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
        fn no_line_of_the_user_goes_and_the_agents_come_in_where_they_can(
            saved in ops(), typed in ops(), written in ops(), knew: bool,
        ) {
            let read: Vec<String> = (0..10).map(|i| i.to_string()).collect();
            let synced = edited(&read, &saved, "saved");
            let ours = edited(&synced, &typed, "typed");
            let file = edited(if knew { &synced } else { &read }, &written, "agent");
            let taken = take_in(&text(&read), &text(&synced), &text(&ours), &text(&file));
            for line in ours.iter().filter(|line| line.contains("typed") || line.contains("saved")) {
                let is_theirs = knew && !line.contains("typed") && !file.contains(line);
                let still = taken.text.lines().any(|it| it == line);
                prop_assert!(still || is_theirs, "{:?} is lost from {:?}", line, taken.text);
            }
            for line in file.iter().filter(|line| line.contains("agent")) {
                let in_text = taken.text.lines().any(|it| it == line);
                let told = taken.kept.iter().any(|kept| kept.theirs.contains(line));
                prop_assert!(in_text || told, "{:?} did not come in", line);
            }
            for kept in &taken.kept {
                prop_assert!(kept.lines.end <= ours.len());
                prop_assert_ne!(&ours[kept.lines.clone()], &kept.theirs[..]);
            }
            for two in taken.kept.windows(2) {
                let (one, next) = (&two[0].lines, &two[1].lines);
                prop_assert!(one.end <= next.start && one.start < next.start, "{:?}", taken.kept);
            }
            if taken.kept.is_empty() && typed.iter().all(|op| *op == 0) {
                prop_assert_eq!(taken.text, text(&file));
            }
        }
    }
}
