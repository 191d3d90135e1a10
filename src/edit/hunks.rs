//! Diffs between two texts: as [`Hunk`]s of whole lines, and as the smaller [`Edit`]s that a
//! buffer gets. Merging is in `edit::merge`.

use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::text::Text;

/// Replaces `removed` lines from line `start` (0-based) by `lines`. A list of hunks is in ascending
/// order, and all of its line numbers refer to the same text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The first removed line, or the line before which `lines` are inserted.
    pub start: usize,
    /// The number of removed lines.
    pub removed: usize,
    /// The lines that replace them.
    pub lines: Vec<String>,
}

impl Hunk {
    /// Returns the range of removed lines.
    pub fn old(&self) -> Range<usize> {
        self.start..self.start + self.removed
    }
}

/// A change to a buffer that is no larger than what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Whole lines are inserted or removed, as by `nvim_buf_set_lines()`.
    Lines {
        /// The removed lines (0-based).
        old: Range<usize>,
        /// The lines that replace them.
        lines: Vec<String>,
    },
    /// Part of the text is replaced, as by `nvim_buf_set_text()`.
    Text {
        /// Row and byte column where the replaced text starts, 0-based.
        start: (usize, usize),
        /// Row and byte column where it ends, exclusive.
        end: (usize, usize),
        /// What replaces it; the first and last item are joined with the rest of their lines.
        lines: Vec<String>,
    },
}

/// A replaced block of more lines than this becomes one edit: one for each of its lines would cost
/// more than the marks it preserves are worth.
const PAIRED_LINES: usize = 256;

/// Returns a minimal list of hunks that turn `old` into `new`. Each hunk lies as far down as
/// possible, so that the same change always gives the same hunk. Shapes are not compared.
///
/// For texts with little in common the search is cut short and the result may not be minimal, so
/// that the work stays close to linear.
pub fn diff(old: &Text, new: &Text) -> Vec<Hunk> {
    let (old_mid, new_mid) = different_middle(old, new);
    let mut pairs = changed_ranges(old, old_mid, new, new_mid);
    slide_down(old, new, &mut pairs);
    pairs
        .into_iter()
        .map(|(old, range)| Hunk {
            start: old.start,
            removed: old.len(),
            lines: range.map(|i| new.line(i).to_owned()).collect(),
        })
        .collect()
}

/// The lines of a hunk in the old and in the new text.
type Pair = (Range<usize>, Range<usize>);

/// Returns what is between the first and the last line that differ, in the old and in the new text.
fn different_middle(old: &Text, new: &Text) -> Pair {
    let shorter = old.len().min(new.len());
    let prefix = (0..shorter).take_while(|&i| old.line(i) == new.line(i)).count();
    let suffix = (1..=shorter - prefix)
        .take_while(|&i| old.line(old.len() - i) == new.line(new.len() - i))
        .count();
    (prefix..old.len() - suffix, prefix..new.len() - suffix)
}

fn changed_ranges(
    old: &Text,
    old_lines: Range<usize>,
    new: &Text,
    new_lines: Range<usize>,
) -> Vec<Pair> {
    if old_lines.is_empty() && new_lines.is_empty() {
        return Vec::new();
    }
    if old_lines.is_empty()
        || new_lines.is_empty()
        || (old_lines.len() == 1 && new_lines.len() == 1)
    {
        return vec![(old_lines, new_lines)];
    }
    let a: Vec<&str> = old_lines.clone().map(|i| old.line(i)).collect();
    let b: Vec<&str> = new_lines.clone().map(|i| new.line(i)).collect();
    different(&a, &b)
        .map(|(old, new)| (shift(old, old_lines.start), shift(new, new_lines.start)))
        .collect()
}

/// Returns what differs between two lists. Generic, so that comparisons can be counted.
fn different<L: Hash + Ord>(old: &[L], new: &[L]) -> impl Iterator<Item = Pair> {
    let ops = capture_diff_slices(Algorithm::Myers, old, new).into_iter();
    ops.filter(|op| op.tag() != DiffTag::Equal).map(|op| (op.old_range(), op.new_range()))
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Moves each pure insertion and deletion as far down as possible, and joins hunks that then touch.
fn slide_down(old: &Text, new: &Text, pairs: &mut Vec<Pair>) {
    let mut done: Vec<Pair> = Vec::with_capacity(pairs.len());
    for (mut a, mut b) in pairs.drain(..).rev() {
        let limit = done.last().map_or(old.len(), |(next, _)| next.start);
        while a.is_empty() != b.is_empty() && a.end < limit {
            let same = if a.is_empty() {
                new.line(b.start) == old.line(a.end)
            } else {
                old.line(a.start) == old.line(a.end)
            };
            if !same {
                break;
            }
            (a, b) = (shift(a, 1), shift(b, 1));
        }
        match done.last_mut() {
            Some((next_a, next_b)) if next_a.start == a.end => {
                (next_a.start, next_b.start) = (a.start, b.start);
            }
            _ => done.push((a, b)),
        }
    }
    done.reverse();
    *pairs = done;
}

/// Applies the hunks to a text and leaves its shape. Hunks past the end apply at the end.
pub fn apply(hunks: &[Hunk], text: &Text) -> Text {
    let mut lines: Vec<&str> = Vec::with_capacity(text.len());
    let mut at = 0;
    for hunk in hunks {
        lines.extend((at..hunk.start.min(text.len())).map(|i| text.line(i)));
        lines.extend(hunk.lines.iter().map(String::as_str));
        at = hunk.start + hunk.removed;
    }
    lines.extend((at..text.len()).map(|i| text.line(i)));
    Text::from_body(lines.join("\n"), text.shape(), lines.is_empty())
}

/// Returns the hunks that undo `hunks`; they refer to the text after applying `hunks` to `before`.
pub fn invert(hunks: &[Hunk], before: &Text) -> Vec<Hunk> {
    let mut inverse = Vec::with_capacity(hunks.len());
    let (mut added, mut removed) = (0, 0);
    for hunk in hunks {
        inverse.push(Hunk {
            start: hunk.start + added - removed,
            removed: hunk.lines.len(),
            lines: hunk.old().map(|i| before.line(i).to_owned()).collect(),
        });
        added += hunk.lines.len();
        removed += hunk.removed;
    }
    inverse
}

/// Returns the edits that make the hunks in a buffer with this text and do not touch marks and
/// cursors in unchanged text. They are in ascending order and have to be made from last to first.
pub fn refine(hunks: &[Hunk], text: &Text) -> Vec<Edit> {
    if text.is_empty() {
        // A buffer without text still has one empty line.
        return hunks.iter().map(|h| Edit::Lines { old: 0..1, lines: h.lines.clone() }).collect();
    }
    let mut edits = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        if hunk.removed == 0 || hunk.lines.is_empty() {
            edits.push(Edit::Lines { old: hunk.old(), lines: hunk.lines.clone() });
        } else if hunk.removed == hunk.lines.len() && hunk.removed <= PAIRED_LINES {
            let pairs = hunk.old().zip(hunk.lines.chunks(1));
            edits.extend(pairs.filter_map(|(row, line)| narrow_edit(text, row..row + 1, line)));
        } else {
            edits.extend(narrow_edit(text, hunk.old(), &hunk.lines));
        }
    }
    edits
}

/// Splits hunks that change each line a little, such as those of `sed` or of a formatter, into one for each line.
pub(super) fn line_by_line(hunks: &[Hunk], text: &Text) -> Vec<Hunk> {
    let mut split = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        let pairs = || hunk.old().map(|row| text.line(row)).zip(&hunk.lines);
        if hunk.removed == hunk.lines.len() && pairs().all(|(old, new)| is_edited(old, new)) {
            let changed = hunk.old().zip(&hunk.lines).filter(|(row, new)| text.line(*row) != *new);
            split.extend(changed.map(|(start, new)| Hunk {
                start,
                removed: 1,
                lines: vec![new.clone()],
            }));
        } else {
            split.push(hunk.clone());
        }
    }
    split
}

/// Whether a line is another one with a change in it: at least half of the longer one is at the ends of both.
fn is_edited(old: &str, new: &str) -> bool {
    let prefix = common_prefix(old, new);
    let suffix = common_suffix(&old[prefix..], &new[prefix..]);
    2 * (prefix + suffix) >= old.len().max(new.len())
}

/// Returns one edit that turns the lines of `rows` into `lines` and leaves their common prefix and
/// suffix alone; `None` if they are equal.
fn narrow_edit(text: &Text, rows: Range<usize>, lines: &[String]) -> Option<Edit> {
    let (old_first, old_last) = (text.line(rows.start), text.line(rows.end - 1));
    let (new_first, new_last) = (lines.first()?, lines.last()?);
    let prefix = common_prefix(old_first, new_first);
    // On a side of one line, the suffix must not overlap the prefix.
    let old_rest = if rows.len() == 1 { &old_last[prefix..] } else { old_last };
    let new_rest = if lines.len() == 1 { &new_last[prefix..] } else { new_last.as_str() };
    let suffix = common_suffix(old_rest, new_rest);
    if rows.len() == 1 && lines.len() == 1 && old_rest == new_rest {
        return None;
    }
    let mut lines = lines.to_vec();
    let without_suffix = lines.last()?.len() - suffix;
    lines.last_mut()?.truncate(without_suffix);
    lines.first_mut()?.drain(..prefix);
    let end = (rows.end - 1, old_last.len() - suffix);
    Some(Edit::Text { start: (rows.start, prefix), end, lines })
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

fn common_suffix(a: &str, b: &str) -> usize {
    let pairs = a.chars().rev().zip(b.chars().rev());
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

#[cfg(test)]
mod tests;
