//! Tells the changes of one author from those of others where only the lines are known that the author has brought and taken
//! away, not the text at the time.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::hunks::{Hunk, apply, diff};
use super::record::Turnover;
use super::text::Text;

/// Returns `after` without what the author has changed since `before`; `None` if nobody else has changed anything. What may
/// be another's stays.
pub fn without_own(before: &Text, after: &Text, own: &Turnover<'_>) -> Option<Text> {
    let hunks = diff(before, after);
    let gone = hunks.iter().flat_map(|hunk| removed(hunk, before));
    let new = hunks.iter().flat_map(added);
    // Of a line that went or came more often than the author did that, nobody knows which one was the author's.
    let is_taken = covers(own.taken.iter().copied(), gone);
    let is_brought = covers(brought_lines(before, own), new);
    let is_own =
        |hunk: &&Hunk| removed(hunk, before).all(&is_taken) && added(hunk).all(&is_brought);
    let others = hunks.iter().filter(|hunk| !is_own(hunk)).cloned().collect::<Vec<_>>();
    (!others.is_empty()).then(|| apply(&others, before).with_shape(after.shape()))
}

/// Returns the lines the author has brought, but for those of others in which only blanks were changed: such a line came
/// after `before`, and where it goes, nothing brings back what it was.
fn brought_lines<'a>(before: &Text, own: &Turnover<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let known: HashSet<&str> = before.lines().chain(own.brought.iter().copied()).collect();
    let mut others: HashMap<&str, usize> = HashMap::new();
    for line in own.taken.iter().filter(|line| !known.contains(*line)) {
        *others.entry(line.trim()).or_default() += 1;
    }
    let mut is_others = move |line: &str| {
        let Some(left) = others.get_mut(line.trim()).filter(|left| **left > 0) else {
            return false;
        };
        *left -= 1;
        true
    };
    own.brought.clone().into_iter().filter(move |line| !is_others(line))
}

fn removed<'a>(hunk: &Hunk, before: &'a Text) -> impl Iterator<Item = &'a str> {
    hunk.old().map(|row| before.line(row))
}

fn added(hunk: &Hunk) -> impl Iterator<Item = &str> {
    hunk.lines.iter().map(String::as_str)
}

/// Returns whether a line is in `wanted` at most as often as in `own`.
fn covers<'a>(
    own: impl Iterator<Item = &'a str>,
    wanted: impl Iterator<Item = &'a str>,
) -> impl Fn(&str) -> bool {
    let mut left: HashMap<&str, isize> = HashMap::new();
    own.for_each(|line| *left.entry(line).or_default() += 1);
    wanted.for_each(|line| *left.entry(line).or_default() -= 1);
    move |line| left.get(line).is_none_or(|left| *left >= 0)
}
