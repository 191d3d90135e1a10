//! Differences of files as unified diffs, cut to a size at the borders of hunks; it reads no file.

use std::fmt::Write as _;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

use super::Text;

/// Lines of context around what differs, as `diff -u` has them.
const CONTEXT: usize = 3;
/// Room kept for the line that counts the files not even named.
const AND_MORE: usize = 64;

/// What differs in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The path as it is shown.
    path: String,
    /// The two lines that name the file, and what is to say of all of it.
    head: String,
    hunks: Vec<Part>,
}

/// One hunk as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    text: String,
    added: usize,
    removed: usize,
}

impl FileDiff {
    /// From `old` to `new`, where `None` is no file at all; `None` if nothing differs that a diff shows.
    pub fn new(path: &str, old: Option<&Text>, new: Option<&Text>) -> Option<Self> {
        let name = |side: char, text: Option<&Text>| match text {
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let mut head = format!("--- {}\n+++ {}\n", name('a', old), name('b', new));
        let exists = old.is_some() == new.is_some();
        let none = Text::default();
        let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
        let (from, to) = (old.shape().ending, new.shape().ending);
        let ends = from != to && !old.is_empty() && !new.is_empty();
        if ends {
            let (from, to) = (from.as_str(), to.as_str());
            // Writing to a String cannot fail.
            let _ = writeln!(head, "line ends change from {from:?} to {to:?}");
        }
        let hunks = hunks(old, new);
        (!hunks.is_empty() || ends || !exists).then(|| Self { path: path.to_owned(), head, hunks })
    }

    /// How many lines come.
    pub fn added(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.added).sum()
    }

    /// How many lines go.
    pub fn removed(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.removed).sum()
    }

    /// The line in place of the hunks from this one on.
    fn not_shown(&self, from: usize) -> String {
        let (added, removed) = self.hunks[from..]
            .iter()
            .fold((0, 0), |sum, hunk| (sum.0 + hunk.added, sum.1 + hunk.removed));
        let more = if from == 0 { "" } else { "more: " };
        format!("{}: {more}+{added} -{removed} lines, not shown\n", self.path)
    }

    /// As many hunks as have room; `None` if not even the line that names the file has.
    fn shown(&self, room: usize) -> Option<String> {
        let mut text = self.head.clone();
        for (index, hunk) in self.hunks.iter().enumerate() {
            let is_last = index + 1 == self.hunks.len();
            let rest = if is_last { 0 } else { self.not_shown(index + 1).len() };
            if text.len() + hunk.text.len() + rest > room {
                let shown = if index == 0 { String::new() } else { text };
                let shown = shown + &self.not_shown(index);
                return (shown.len() <= room).then_some(shown);
            }
            text.push_str(&hunk.text);
        }
        (text.len() <= room).then_some(text)
    }
}

/// The diffs one after the other, at most `limit` bytes. What has no room is named with its lines counted, and no hunk
/// is cut.
pub fn bounded(files: &[&FileDiff], limit: usize) -> String {
    let mut bytes = AND_MORE;
    let fits = |file: &&&FileDiff| {
        bytes += file.not_shown(0).len();
        bytes <= limit
    };
    let named = files.iter().take_while(fits).count();
    // What naming those still to come takes is kept free.
    let mut kept: usize = files[..named].iter().map(|file| file.not_shown(0).len()).sum();
    let mut text = String::new();
    let mut unnamed = files.len() - named;
    for file in &files[..named] {
        kept -= file.not_shown(0).len();
        let room = limit.saturating_sub(text.len() + kept + AND_MORE);
        match file.shown(room) {
            Some(shown) => text.push_str(&shown),
            None => unnamed += 1,
        }
    }
    if unnamed > 0 {
        let _ = writeln!(text, "and {unnamed} more files, not shown");
    }
    text
}

/// A line, and whether it has its end: a last line without one differs from the same line with one.
type Line<'a> = (&'a str, bool);

fn lines(text: &Text) -> Vec<Line<'_>> {
    let last = text.len().saturating_sub(1);
    let final_newline = text.shape().final_newline;
    text.lines().enumerate().map(|(i, line)| (line, i < last || final_newline)).collect()
}

fn hunks(old: &Text, new: &Text) -> Vec<Part> {
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let groups = group_diff_ops(ops, CONTEXT);
    groups.iter().filter(|group| !group.is_empty()).map(|group| part(group, &old, &new)).collect()
}

fn part(ops: &[DiffOp], old: &[Line<'_>], new: &[Line<'_>]) -> Part {
    let span = |range: fn(&DiffOp) -> std::ops::Range<usize>| {
        let first = ops.first().map_or(0, |op| range(op).start);
        let last = ops.last().map_or(0, |op| range(op).end);
        // An empty range names the line before it.
        let start = if first == last { first } else { first + 1 };
        format!("{start},{}", last - first)
    };
    let (before, after) = (span(DiffOp::old_range), span(DiffOp::new_range));
    let mut part = Part { text: format!("@@ -{before} +{after} @@\n"), added: 0, removed: 0 };
    for change in ops.iter().flat_map(|op| op.iter_changes(old, new)) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        part.added += usize::from(sign == '+');
        part.removed += usize::from(sign == '-');
        let (line, ended) = change.value();
        part.text.push(sign);
        part.text.push_str(line);
        part.text.push_str(if ended { "\n" } else { "\n\\ No newline at end of file\n" });
    }
    part
}

#[cfg(test)]
mod tests;
