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
    let is_brought = covers(own.brought.iter().copied(), new);
    let is_own = |hunk: &Hunk| removed(hunk, before).all(&is_taken) && added(hunk).all(&is_brought);
    let changed = changed_lines(before, own);
    let is_anothers = came_otherwise(before, &hunks, &is_own, own);
    let of_others = |line: &str| {
        let changed = changed.get(line).map(|line| (*line).to_owned());
        if is_anothers(line) { Some(line.to_owned()) } else { changed }
    };
    let others = hunks.iter().filter_map(|hunk| {
        if !is_own(hunk) {
            return Some(hunk.clone());
        }
        let lines: Vec<_> = added(hunk).filter_map(of_others).collect();
        (!lines.is_empty()).then(|| Hunk { start: hunk.old().end, removed: 0, lines })
    });
    let others: Vec<_> = others.collect();
    (!others.is_empty()).then(|| apply(&others, before).with_shape(after.shape()))
}

/// Returns the lines the author has brought in place of others', which came since `before`, with those: such a line is
/// another's with something added, or with other blanks.
fn changed_lines<'a>(before: &Text, own: &Turnover<'a>) -> HashMap<&'a str, &'a str> {
    let mut others: HashMap<&str, isize> = HashMap::new();
    own.taken.iter().for_each(|line| *others.entry(line).or_default() += 1);
    own.brought.iter().for_each(|line| *others.entry(line).or_default() -= 1);
    let known: HashSet<&str> = before.lines().collect();
    let is_others = |line: &&str| {
        let is_left = others.get(line).is_some_and(|left| *left > 0);
        is_left && !known.contains(line) && !line.trim().is_empty()
    };
    let mut changed = HashMap::new();
    for line in own.taken.iter().copied().filter(is_others) {
        let is_changed = |new: &&str| new.contains(line.trim()) && !changed.contains_key(new);
        if let Some(new) = own.brought.iter().copied().find(is_changed) {
            changed.insert(new, line);
        }
    }
    changed
}

/// Returns whether a line came more often than the author brought it without taking it away. Then the author has moved one
/// of another's. A line that went with something of another's stays away from there, so that is none the author has moved.
fn came_otherwise<'a>(
    before: &'a Text,
    hunks: &'a [Hunk],
    is_own: impl Fn(&Hunk) -> bool,
    own: &Turnover<'a>,
) -> impl Fn(&str) -> bool {
    let mut otherwise: HashMap<&str, isize> = HashMap::new();
    let gone = hunks.iter().filter(|hunk| is_own(hunk)).flat_map(|hunk| removed(hunk, before));
    let new = hunks.iter().flat_map(added);
    new.chain(own.taken.iter().copied()).for_each(|line| *otherwise.entry(line).or_default() += 1);
    gone.chain(own.brought.iter().copied())
        .for_each(|line| *otherwise.entry(line).or_default() -= 1);
    move |line| otherwise.get(line).is_some_and(|times| *times > 0)
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
