//! Finds out which of the changes that no agent made are a formatter's: those that only put other white space into lines of an
//! agent, and whatever happens to a buffer while it is written. Such lines stay the agent's.

use std::collections::{HashMap, HashSet, VecDeque};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::hunks::Hunk;
use super::record::weave::StepId;
use super::text::Text;

/// Hunks by the step whose lines they reformat; `None` for all others. Their line numbers refer to the same text.
pub(super) type Attributed = Vec<(Option<StepId>, Hunk)>;

/// Attributes the hunks of a change that no agent made. `owners` are the pending steps that have brought the lines of the text.
pub(super) fn attribute(hunks: Vec<Hunk>, text: &Text, owners: &[Option<StepId>]) -> Attributed {
    let owner = |at: usize| owners.get(at).copied().flatten();
    let mut attributed = Attributed::new();
    for hunk in hunks {
        let old = hunk.old().filter(|at| *at < text.len()).map(|at| text.line(at));
        let old: Vec<&str> = old.collect();
        let is_line_by_line = old.len() == hunk.lines.len()
            && old.iter().zip(&hunk.lines).all(|(old, new)| is_same([*old], [new.as_str()]));
        if is_line_by_line {
            attributed.extend(by_line(&hunk, owner));
            continue;
        }
        let first = hunk.old().next().and_then(owner);
        let is_of_one = first.is_some() && hunk.old().all(|at| owner(at) == first);
        let new = hunk.lines.iter().map(String::as_str);
        let step = first.filter(|_| is_of_one && is_same(old.iter().copied(), new));
        attributed.push((step, hunk));
    }
    attributed
}

/// Splits a hunk that gives each line other white space.
fn by_line(hunk: &Hunk, owner: impl Fn(usize) -> Option<StepId>) -> Attributed {
    let mut split = Attributed::new();
    for (at, line) in hunk.old().zip(&hunk.lines) {
        let step = owner(at);
        match split.last_mut() {
            Some((last, hunk)) if *last == step => {
                hunk.removed += 1;
                hunk.lines.push(line.clone());
            }
            _ => {
                let lines = vec![line.clone()];
                split.push((step, Hunk { start: at, removed: 1, lines }));
            }
        }
    }
    split
}

/// Whether lines differ in nothing but white space.
fn is_same<'a>(
    old: impl IntoIterator<Item = &'a str>,
    new: impl IntoIterator<Item = &'a str>,
) -> bool {
    let visible = |line: &'a str| line.chars().filter(|character| !character.is_whitespace());
    old.into_iter().flat_map(visible).eq(new.into_iter().flat_map(visible))
}

/// Attributes the hunks of what a formatter has made, which may be more than white space: a line that it changes or moves stays its
/// owner's, and a blank line or a bracket that it adds is that of a line beside it.
pub(super) fn attribute_formatted(
    hunks: Vec<Hunk>,
    text: &Text,
    owners: &[Option<StepId>],
) -> Attributed {
    let owner = |at: usize| owners.get(at).copied().flatten();
    let pieces: Vec<Hunk> = hunks
        .iter()
        .flat_map(|hunk| by_letters(hunk, text))
        .flat_map(|hunk| aligned(&hunk, text))
        .collect();
    let mut moved = Moved::default();
    for hunk in pieces.iter().filter(|hunk| !has_same_letters(hunk, text)) {
        for at in hunk.old().filter(|at| *at < text.len() && !is_blank(text.line(*at))) {
            moved.leaves(text.line(at), owner(at));
        }
        moved.comes(&hunk.lines);
    }
    let mut attributed = Attributed::new();
    for hunk in pieces {
        let beside = hunk.start.checked_sub(1).and_then(owner).or_else(|| owner(hunk.start));
        if hunk.lines.is_empty() {
            attributed.extend(deletions(&hunk, owner));
        } else if hunk.removed == 0 {
            attributed.extend(insertions(&hunk, (beside, None), &mut moved));
        } else if !has_same_letters(&hunk, text) && hunk.lines.iter().any(|line| moved.has(line)) {
            // What did not move has become what did not come from elsewhere.
            let stays = |at: &usize| *at >= text.len() || !moved.is_to_come(text.line(*at));
            let stays: Vec<_> = hunk.old().filter(stays).map(owner).collect();
            let new = stays.first().copied().flatten().filter(|_| !stays.contains(&None));
            let (start, lines) = (hunk.start + hunk.removed, hunk.lines.clone());
            let beside = hunk.old().find_map(owner);
            attributed.extend(deletions(&hunk, owner));
            let added = Hunk { start, removed: 0, lines };
            attributed.extend(insertions(&added, (beside, new), &mut moved));
        } else {
            attributed.push((hunk.old().find_map(owner), hunk));
        }
    }
    attributed
}

/// Whose the lines are that go in one place and may come in another, by their letters and digits.
#[derive(Default)]
struct Moved {
    left: HashMap<Vec<char>, VecDeque<Option<StepId>>>,
    to_come: HashSet<Vec<char>>,
}

impl Moved {
    fn leaves(&mut self, line: &str, owner: Option<StepId>) {
        self.left.entry(letters(line).collect()).or_default().push_back(owner);
    }

    fn comes(&mut self, lines: &[String]) {
        self.to_come.extend(lines.iter().map(|line| letters(line).collect()));
    }

    fn is_to_come(&self, line: &str) -> bool {
        self.to_come.contains(&letters(line).collect::<Vec<char>>())
    }

    fn has(&self, line: &str) -> bool {
        let owners = self.left.get(&letters(line).collect::<Vec<char>>());
        owners.is_some_and(|owners| !owners.is_empty())
    }

    /// Returns whose a line is that comes: that of whoever had it where it has left, else `new`.
    fn arrives(&mut self, line: &str, new: Option<StepId>) -> Option<StepId> {
        let owners = self.left.get_mut(&letters(line).collect::<Vec<char>>());
        owners.and_then(VecDeque::pop_front).unwrap_or(new)
    }
}

/// Splits a hunk that only adds lines: one that has left another place is its owner's, what has no letters goes with the lines
/// `beside` it, and the rest is whose what is `new` is.
fn insertions(
    hunk: &Hunk,
    (beside, new): (Option<StepId>, Option<StepId>),
    moved: &mut Moved,
) -> Attributed {
    let mut split = Attributed::new();
    for line in &hunk.lines {
        let step = if is_blank(line) { beside } else { moved.arrives(line, new) };
        match split.last_mut() {
            Some((last, hunk)) if *last == step => hunk.lines.push(line.clone()),
            _ => {
                let lines = vec![line.clone()];
                split.push((step, Hunk { start: hunk.start, removed: 0, lines }));
            }
        }
    }
    split
}

fn has_same_letters(hunk: &Hunk, text: &Text) -> bool {
    let old = hunk.old().filter(|at| *at < text.len()).flat_map(|at| letters(text.line(at)));
    old.eq(hunk.lines.iter().flat_map(|line| letters(line)))
}

/// Whether a formatter may have made one of these lines of the other.
pub(super) fn is_formatted(one: &str, other: &str) -> bool {
    one.trim_end() == other.trim_end() || !is_blank(one) && letters(one).eq(letters(other))
}

/// What all lines have in common that a formatter may make of this one.
pub(super) fn unformatted(line: &str) -> String {
    if is_blank(line) { line.trim_end().to_owned() } else { letters(line).collect() }
}

fn letters(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|character| character.is_alphanumeric())
}

fn is_blank(line: &str) -> bool {
    letters(line).next().is_none()
}

/// Splits a hunk that only deletes lines.
fn deletions(hunk: &Hunk, owner: impl Fn(usize) -> Option<StepId>) -> Attributed {
    let mut split = Attributed::new();
    for at in hunk.old() {
        match split.last_mut() {
            Some((step, last)) if *step == owner(at) => last.removed += 1,
            _ => split.push((owner(at), Hunk { start: at, removed: 1, lines: Vec::new() })),
        }
    }
    split
}

/// Splits a hunk at the lines that have the same letters and digits on both sides.
fn by_letters(hunk: &Hunk, text: &Text) -> Vec<Hunk> {
    // Lines without letters are no landmarks: any two of them would be alike.
    let named = |lines: &mut dyn Iterator<Item = &str>| -> (Vec<usize>, Vec<String>) {
        let keys = lines.map(|line| letters(line).collect::<String>()).enumerate();
        keys.filter(|(_, key)| !key.is_empty()).unzip()
    };
    let (old_at, old) =
        named(&mut hunk.old().filter(|at| *at < text.len()).map(|at| text.line(at)));
    let (new_at, new) = named(&mut hunk.lines.iter().map(String::as_str));
    let mut cuts = vec![(0, 0)];
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        let DiffOp::Equal { old_index, new_index, len } = op else { continue };
        for (at, place) in old_at[old_index..][..len].iter().zip(&new_at[new_index..]) {
            cuts.extend([(*at, *place), (at + 1, place + 1)]);
        }
    }
    cuts.push((hunk.removed, hunk.lines.len()));
    cuts.dedup();
    pieces(hunk, &cuts)
}

fn pieces(hunk: &Hunk, cuts: &[(usize, usize)]) -> Vec<Hunk> {
    let piece = |cut: &[(usize, usize)]| Hunk {
        start: hunk.start + cut[0].0,
        removed: cut[1].0 - cut[0].0,
        lines: hunk.lines[cut[0].1..cut[1].1].to_vec(),
    };
    cuts.windows(2).map(piece).collect()
}

/// Splits a hunk between lines where both sides have had the same letters and digits until there, or have the same from there on:
/// quotes, commas and line breaks may differ.
fn aligned(hunk: &Hunk, text: &Text) -> Vec<Hunk> {
    let old = Words::of(hunk.old().filter(|at| *at < text.len()).map(|at| text.line(at)));
    let new = Words::of(hunk.lines.iter().map(String::as_str));
    let is_same = |(one, other): &(&char, &char)| one == other;
    let (one, other) = (&old.characters, &new.characters);
    let before = one.iter().zip(other).take_while(is_same).count();
    let after = one.iter().rev().zip(other.iter().rev()).take_while(is_same).count();
    let mut cuts = vec![(0, 0)];
    for (at, end) in old.ends.iter().copied().enumerate() {
        let from = cuts[cuts.len() - 1].1;
        let is_end = |wanted: usize| {
            let place = from + new.ends[from..].partition_point(|end| *end < wanted);
            (new.ends.get(place) == Some(&wanted)).then_some(place)
        };
        let rest = one.len() - end;
        let of_rest = (rest <= after && rest <= other.len()).then(|| other.len() - rest);
        let wanted = [(end <= before).then_some(end), of_rest];
        let Some(mut place) = wanted.into_iter().flatten().find_map(is_end) else { continue };
        // A bracket that closes what was broken goes with it.
        let is_more = |ends: &[usize], at: usize| ends.get(at + 1) == Some(&ends[at]);
        let closes = |line: &String| line.trim_start().starts_with([')', ']', '}']);
        while !is_more(&old.ends, at)
            && is_more(&new.ends, place)
            && hunk.lines.get(place + 1).is_some_and(closes)
        {
            place += 1;
        }
        cuts.push((at + 1, place + 1));
    }
    if cuts.last() != Some(&(hunk.removed, hunk.lines.len())) {
        cuts.push((hunk.removed, hunk.lines.len()));
    }
    pieces(hunk, &cuts)
}

/// The letters and digits of lines, and where each line ends in them.
#[derive(Default)]
struct Words {
    characters: Vec<char>,
    ends: Vec<usize>,
}

impl Words {
    fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut words = Self::default();
        for line in lines {
            words.characters.extend(letters(line));
            words.ends.push(words.characters.len());
        }
        words
    }
}

/// Takes the hunks of one owner out of a list. The line numbers of the others then refer to the text with them.
pub(super) fn take(attributed: &mut Attributed, owner: Option<StepId>) -> Vec<Hunk> {
    let (mut taken, mut rest) = (Vec::new(), Attributed::new());
    let mut shift = 0_isize;
    for (step, hunk) in attributed.drain(..) {
        if step == owner {
            shift += hunk.lines.len().cast_signed() - hunk.removed.cast_signed();
            taken.push(hunk);
        } else {
            let start = hunk.start.saturating_add_signed(shift);
            rest.push((step, Hunk { start, ..hunk }));
        }
    }
    *attributed = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::diff;

    #[test]
    fn only_white_space_may_differ() {
        assert!(is_same(["a=b", "  c"], ["a = b c"]));
        assert!(is_same([""], []));
        assert!(!is_same(["a"], ["b"]));
        assert!(!is_same(["ab"], ["ba"]));
    }

    /// The pieces of a change of these lines: how many lines of which owner became which.
    fn formatted(old: &[(&str, u32)], new: &[&str]) -> Vec<(Option<u32>, usize, Vec<String>)> {
        let text: String = old.iter().map(|(line, _)| format!("{line}\n")).collect();
        let owners: Vec<_> = old.iter().map(|(_, by)| (*by > 0).then_some(StepId(*by))).collect();
        let after: String = new.iter().map(|line| format!("{line}\n")).collect();
        let (text, after) = (Text::parse(&text), Text::parse(&after));
        let attributed = attribute_formatted(diff(&text, &after), &text, &owners);
        let plain =
            |(step, hunk): (Option<StepId>, Hunk)| (step.map(|it| it.0), hunk.removed, hunk.lines);
        attributed.into_iter().map(plain).collect()
    }

    #[test]
    fn what_a_formatter_changes_stays_its_owners() {
        let lines =
            |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        // Quotes and commas, line by line.
        assert_eq!(
            formatted(
                &[("x = 'a'", 1), ("y = 'b'", 0), ("z = 'c'", 2)],
                &["x = \"a\",", "y = \"b\",", "z = \"c\","]
            ),
            [
                (Some(1), 1, lines(&["x = \"a\","])),
                (None, 1, lines(&["y = \"b\","])),
                (Some(2), 1, lines(&["z = \"c\","])),
            ]
        );
        // Lines that are broken, and joined.
        assert_eq!(
            formatted(
                &[("f('a', 'b')", 1), ("g(", 0), ("'c')", 0)],
                &["f(", "  \"a\",", "  \"b\",", ")", "g(\"c\")"]
            ),
            [
                (Some(1), 1, lines(&["f(", "  \"a\",", "  \"b\",", ")"])),
                (None, 2, lines(&["g(\"c\")"])),
            ]
        );
        // Lines that come and go.
        assert_eq!(
            formatted(&[("a", 0), ("import x", 0), ("b", 1), ("c", 0)], &["a", "b", "", "c"]),
            [(None, 1, Vec::new()), (Some(1), 0, lines(&[""]))]
        );
        assert_eq!(formatted(&[("a", 1), ("b", 1)], &["a"]), [(Some(1), 1, Vec::new())]);
        // A line that moves away beside one that changes.
        assert_eq!(
            formatted(&[("a", 1), ("b", 2), ("c", 0), ("d", 0)], &["\"b\",", "c", "d", "a"]),
            [
                (Some(1), 1, Vec::new()),
                (Some(2), 1, lines(&["\"b\","])),
                (Some(1), 0, lines(&["a"])),
            ]
        );
    }

    #[test]
    fn what_is_taken_shifts_the_rest() {
        let hunk = |start, removed, lines: &[&str]| {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            Hunk { start, removed, lines }
        };
        let own = Some(StepId(1));
        let mut all = vec![
            (None, hunk(0, 1, &[])),
            (own, hunk(3, 1, &["a", "b"])),
            (None, hunk(5, 1, &["c"])),
            (own, hunk(7, 2, &[])),
        ];
        assert_eq!(take(&mut all, own), [hunk(3, 1, &["a", "b"]), hunk(7, 2, &[])]);
        assert_eq!(all, [(None, hunk(0, 1, &[])), (None, hunk(6, 1, &["c"]))]);
    }
}
