//! Unified diffs of files, limited in size by leaving out whole hunks. It reads no file.

use std::fmt::Write as _;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

use super::Text;

/// Lines of context around a change, as many as `diff -u` shows.
const CONTEXT: usize = 3;
/// Bytes reserved for the line that counts the files that are not even named.
const UNNAMED_LINE: usize = 64;

/// The unified diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    path: String,
    /// The `---` and `+++` lines, and a line about a change of the line ending.
    header: String,
    hunks: Vec<FormattedHunk>,
}

/// A hunk in unified format with its `@@` line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FormattedHunk {
    /// Where it is in the old and in the new text: what comes before it, and how many lines it has.
    places: [(usize, usize); 2],
    /// The `@@` line.
    head: String,
    /// The lines.
    text: String,
    added: usize,
    removed: usize,
}

impl FileDiff {
    /// Compares `old` with `new`, where `None` means that the file does not exist. Returns `None`
    /// if there is nothing to show. An absolute path stays absolute, without `a/` and `b/`.
    pub fn new(path: &str, old: Option<&Text>, new: Option<&Text>) -> Option<Self> {
        let name = |side: char, text: Option<&Text>| match text {
            Some(_) if path.starts_with('/') => path.to_owned(),
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let mut header = format!("--- {}\n+++ {}\n", name('a', old), name('b', new));
        let created_or_deleted = old.is_some() != new.is_some();
        let none = Text::default();
        let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
        let (from, to) = (old.shape().ending, new.shape().ending);
        let ending_differs = from != to && !old.is_empty() && !new.is_empty();
        if ending_differs {
            // Writing to a String cannot fail.
            let _ = writeln!(header, "line endings change from {} to {}", from.name(), to.name());
        }
        let hunks = format_hunks(old, new);
        let differs = !hunks.is_empty() || ending_differs || created_or_deleted;
        differs.then(|| Self { path: path.to_owned(), header, hunks })
    }

    /// Says where the hunks are in the file of which the compared texts are a part that begins with this line, counted from 1.
    /// Where one has that line already, the texts are the whole file.
    #[must_use]
    pub fn in_fragment_at(mut self, first: usize) -> Self {
        let has_line = |hunk: &FormattedHunk| {
            hunk.places.iter().any(|(before, count)| (before + 1..=before + count).contains(&first))
        };
        if !self.hunks.iter().any(has_line) {
            for hunk in &mut self.hunks {
                hunk.head = head(hunk.places.map(|(before, count)| (before + first - 1, count)));
            }
        }
        self
    }

    /// Leaves out where the hunks are: the compared texts may be a part of the file, anywhere in it.
    #[must_use]
    pub fn without_numbers(mut self) -> Self {
        for hunk in &mut self.hunks {
            "@@ @@\n".clone_into(&mut hunk.head);
        }
        self
    }

    /// Returns the number of added lines.
    pub fn added(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.added).sum()
    }

    /// Returns the number of removed lines.
    pub fn removed(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.removed).sum()
    }

    /// Returns the whole diff.
    pub fn to_text(&self) -> String {
        let hunks: String = self.hunks.iter().flat_map(|hunk| [&*hunk.head, &*hunk.text]).collect();
        self.header.clone() + &hunks
    }

    /// Returns the line that stands for the hunks from index `from` on.
    fn omission(&self, from: usize) -> String {
        let (added, removed) = self.hunks[from..]
            .iter()
            .fold((0, 0), |sum, hunk| (sum.0 + hunk.added, sum.1 + hunk.removed));
        let more = if from == 0 { "" } else { "more: " };
        format!("{}: {more}+{added} -{removed} lines, not shown\n", self.path)
    }

    /// Returns the header and as many hunks as fit into `room` bytes, followed by an omission line
    /// for the rest. `None` if not even that line fits.
    fn within(&self, room: usize) -> Option<String> {
        let mut text = self.header.clone();
        for (index, hunk) in self.hunks.iter().enumerate() {
            let is_last = index + 1 == self.hunks.len();
            let rest = if is_last { 0 } else { self.omission(index + 1).len() };
            if text.len() + hunk.head.len() + hunk.text.len() + rest > room {
                let shown = if index == 0 { String::new() } else { text };
                let shown = shown + &self.omission(index);
                return (shown.len() <= room).then_some(shown);
            }
            text.push_str(&hunk.head);
            text.push_str(&hunk.text);
        }
        (text.len() <= room).then_some(text)
    }
}

/// Concatenates the diffs into at most `limit` bytes. Hunks that do not fit are left out whole; a
/// line with the path and the number of their lines takes their place.
pub fn bounded(files: &[&FileDiff], limit: usize) -> String {
    let mut bytes = UNNAMED_LINE;
    let fits = |file: &&&FileDiff| {
        bytes += file.omission(0).len();
        bytes <= limit
    };
    let named = files.iter().take_while(fits).count();
    // The bytes that are needed to at least name the files still to come.
    let mut reserved: usize = files[..named].iter().map(|file| file.omission(0).len()).sum();
    let mut text = String::new();
    let mut unnamed = files.len() - named;
    for file in &files[..named] {
        reserved -= file.omission(0).len();
        let room = limit.saturating_sub(text.len() + reserved + UNNAMED_LINE);
        match file.within(room) {
            Some(shown) => text.push_str(&shown),
            None => unnamed += 1,
        }
    }
    if unnamed > 0 {
        let _ = writeln!(text, "and {unnamed} more files, not shown");
    }
    text
}

/// A line, and whether it is terminated: an unterminated last line differs from the same line with
/// a line ending.
type Line<'a> = (&'a str, bool);

fn lines(text: &Text) -> Vec<Line<'_>> {
    let last = text.len().saturating_sub(1);
    let final_newline = text.shape().final_newline;
    text.lines().enumerate().map(|(i, line)| (line, i < last || final_newline)).collect()
}

fn format_hunks(old: &Text, new: &Text) -> Vec<FormattedHunk> {
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    let groups = group_diff_ops(ops, CONTEXT);
    let groups = groups.iter().filter(|group| !group.is_empty());
    groups.map(|group| format_hunk(group, &old, &new)).collect()
}

/// Returns the `@@` line of a hunk.
fn head(places: [(usize, usize); 2]) -> String {
    let [before, after] = places.map(|(before, count)| {
        // For an empty range the format has the number of the line before it.
        let start = if count == 0 { before } else { before + 1 };
        format!("{start},{count}")
    });
    format!("@@ -{before} +{after} @@\n")
}

fn format_hunk(ops: &[DiffOp], old: &[Line<'_>], new: &[Line<'_>]) -> FormattedHunk {
    let span = |range: fn(&DiffOp) -> std::ops::Range<usize>| {
        let first = ops.first().map_or(0, |op| range(op).start);
        let last = ops.last().map_or(0, |op| range(op).end);
        (first, last - first)
    };
    let places = [span(DiffOp::old_range), span(DiffOp::new_range)];
    let mut hunk =
        FormattedHunk { places, head: head(places), text: String::new(), added: 0, removed: 0 };
    for change in ops.iter().flat_map(|op| op.iter_changes(old, new)) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        hunk.added += usize::from(sign == '+');
        hunk.removed += usize::from(sign == '-');
        let (line, terminated) = change.value();
        hunk.text.push(sign);
        hunk.text.push_str(line);
        hunk.text.push_str(if terminated { "\n" } else { "\n\\ No newline at end of file\n" });
    }
    hunk
}

#[cfg(test)]
mod tests;
