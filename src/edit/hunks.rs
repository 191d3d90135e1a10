//! What differs between two texts, as hunks of lines and as the smaller edits that make them;
//! merging is elsewhere.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::Text;

/// `removed` lines from line `start` (from 0) give way to `lines`. A list of hunks is in order and
/// refers to one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The first line that goes, or the line before which `lines` come.
    pub start: usize,
    /// How many lines go.
    pub removed: usize,
    /// What comes instead.
    pub lines: Vec<String>,
}

impl Hunk {
    /// The lines that go.
    pub fn old(&self) -> Range<usize> {
        self.start..self.start + self.removed
    }
}

/// A change to a buffer, no larger than what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Whole lines come or go (`nvim_buf_set_lines()`, end exclusive, from 0).
    Lines {
        /// The lines that go.
        old: Range<usize>,
        /// What comes instead.
        lines: Vec<String>,
    },
    /// A part gives way (`nvim_buf_set_text()`, rows and byte columns from 0, end exclusive).
    Text {
        /// Row and column where it starts.
        start: (usize, usize),
        /// Row and column before which it ends.
        end: (usize, usize),
        /// What comes instead; the first and last item join the line they stand in.
        lines: Vec<String>,
    },
}

/// Above so many lines a replaced block is one edit: an edit for each of its lines would cost more
/// than it keeps.
const PAIRED_LINES: usize = 256;

/// The hunks that make `new` out of `old`, as few and small as the lines allow, each as far down as
/// it goes (so that the same change found twice is the same hunk). Line ends, final newline and
/// byte order mark are not compared.
///
/// Texts that have little in common are not searched to the end: the work stays near linear.
pub fn diff(old: &Text, new: &Text) -> Vec<Hunk> {
    let shorter = old.len().min(new.len());
    let prefix = (0..shorter).take_while(|&i| old.line(i) == new.line(i)).count();
    let suffix = (1..=shorter - prefix)
        .take_while(|&i| old.line(old.len() - i) == new.line(new.len() - i))
        .count();
    let (old_mid, new_mid) = (prefix..old.len() - suffix, prefix..new.len() - suffix);
    let mut pairs = changed(old, old_mid, new, new_mid);
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

type Pair = (Range<usize>, Range<usize>);

fn changed(old: &Text, old_lines: Range<usize>, new: &Text, new_lines: Range<usize>) -> Vec<Pair> {
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
    capture_diff_slices(Algorithm::Myers, &a, &b)
        .iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| (shift(op.old_range(), old_lines.start), shift(op.new_range(), new_lines.start)))
        .collect()
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Moves each pure insertion and deletion down while the lines allow, joining what then touches.
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

/// The text with the hunks applied, in the same shape. Hunks past the end act at the end.
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

/// The hunks that take `hunks` back: they refer to the text with `hunks` applied to `before`.
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

/// The edits that make the hunks in a buffer that holds `text`, so that marks and cursors in what
/// stays are not touched. In order; to be made from the last to the first.
pub fn refine(hunks: &[Hunk], text: &Text) -> Vec<Edit> {
    if text.is_empty() {
        // A buffer without text has one empty line all the same.
        return hunks.iter().map(|h| Edit::Lines { old: 0..1, lines: h.lines.clone() }).collect();
    }
    let mut edits = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        if hunk.removed == 0 || hunk.lines.is_empty() {
            edits.push(Edit::Lines { old: hunk.old(), lines: hunk.lines.clone() });
        } else if hunk.removed == hunk.lines.len() && hunk.removed <= PAIRED_LINES {
            let pairs = hunk.old().zip(hunk.lines.chunks(1));
            edits.extend(pairs.filter_map(|(row, line)| part(text, row..row + 1, line)));
        } else {
            edits.extend(part(text, hunk.old(), &hunk.lines));
        }
    }
    edits
}

/// One edit that turns the lines of `rows` into `lines` and leaves what both begin and end with;
/// none if they are equal.
fn part(text: &Text, rows: Range<usize>, lines: &[String]) -> Option<Edit> {
    let (old_first, old_last) = (text.line(rows.start), text.line(rows.end - 1));
    let (new_first, new_last) = (lines.first()?, lines.last()?);
    let prefix = common_prefix(old_first, new_first);
    // Where a side is one line, the suffix may not reach into the prefix.
    let old_rest = if rows.len() == 1 { &old_last[prefix..] } else { old_last };
    let new_rest = if lines.len() == 1 { &new_last[prefix..] } else { new_last.as_str() };
    let suffix = common_suffix(old_rest, new_rest);
    if rows.len() == 1 && lines.len() == 1 && old_rest == new_rest {
        return None;
    }
    let mut lines = lines.to_vec();
    let kept = lines.last()?.len() - suffix;
    lines.last_mut()?.truncate(kept);
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
