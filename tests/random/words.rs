//! Texts as bags of words. Each word (`user-000123`) is made once, by one author, so that it is known again wherever it went; how texts
//! are merged is not known here.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::dice::Dice;

/// How often each word is there.
pub(crate) type Words = BTreeMap<String, usize>;

pub(crate) fn words(text: &str) -> Words {
    counted(each(text))
}

/// All words in order: letters and a number of six digits. What was typed right before or behind them is no part of them.
pub(crate) fn each(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    // By bytes: most of the time of a world in memory goes by here.
    memchr::memchr_iter(b'-', bytes).filter_map(move |dash| {
        let before = bytes[..dash].iter().rposition(|byte| !byte.is_ascii_lowercase());
        let before = before.map_or(0, |at| at + 1);
        let number = bytes.get(dash + 1..dash + 7)?;
        let is_word = before < dash && number.iter().all(u8::is_ascii_digit);
        is_word.then(|| &text[before..dash + 7])
    })
}

/// How often each line is there, without what formatters change in it.
pub(crate) fn lines(text: &str) -> Words {
    counted(text.lines().map(unformatted))
}

/// A line without what formatters put at its end, or take from there.
pub(crate) fn unformatted(line: &str) -> &str {
    line.trim_end_matches([' ', ','])
}

/// A text with such lines.
pub(crate) fn all_unformatted(text: &str) -> String {
    text.lines().map(unformatted).collect::<Vec<_>>().join("\n")
}

/// The same with these spaces.
pub(crate) fn exact_lines(text: &str) -> Words {
    counted(text.lines())
}

fn counted<'a>(all: impl Iterator<Item = &'a str>) -> Words {
    let mut counts = Words::new();
    for one in all {
        *counts.entry(one.to_owned()).or_default() += 1;
    }
    counts
}

pub(crate) fn count(words: &Words, word: &str) -> usize {
    words.get(word).copied().unwrap_or(0)
}

/// The words that are less often in `after` than in `before`.
pub(crate) fn gone<'a>(before: &'a Words, after: &Words) -> Vec<&'a str> {
    let less = before.iter().filter(|(word, times)| **times > count(after, word));
    less.map(|(word, _)| word.as_str()).collect()
}

/// An agent's edit: the text it makes, and which lines of the old one it touches.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) touched: Vec<Range<usize>>,
}

/// An edit, or two, somewhere in a text. `word` makes a new word.
pub(crate) fn edited(dice: &mut Dice, text: &str, mut word: impl FnMut() -> String) -> Edited {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (count, mut touched) = (lines.len(), Vec::new());
    // From the end, so that lines before keep their numbers.
    let two = count > 12 && dice.once_in(3);
    let second = two.then_some(count / 2 + 2..count);
    let first = 0..if two { count / 2 } else { count };
    for part in second.into_iter().chain([first]) {
        let range = one_edit(dice, &mut lines, part, &mut word);
        touched.push(range);
    }
    Edited { text: lines.iter().map(|line| format!("{line}\n")).collect(), touched }
}

fn one_edit(
    dice: &mut Dice,
    lines: &mut Vec<String>,
    part: Range<usize>,
    word: &mut impl FnMut() -> String,
) -> Range<usize> {
    let blanks = if dice.once_in(6) { "  " } else { "" };
    let kind = if part.len() < 4 { 0 } else { dice.within(0..7) };
    let at = if part.is_empty() { part.start } else { dice.within(part.clone()) };
    let few = at..(at + 1 + dice.within(0..3)).min(part.end);
    match kind {
        0 | 1 => {
            let new = (0..=dice.within(0..2)).map(|_| word() + blanks).collect::<Vec<_>>();
            lines.splice(at..at, new);
            at..at
        }
        2 => {
            lines[at] = word() + blanks;
            at..at + 1
        }
        3 => {
            lines[at] = format!("{} {}", lines[at], word());
            at..at + 1
        }
        4 if part.len() > 8 => {
            lines.drain(few.clone());
            few
        }
        _ => {
            lines.splice(few.clone(), [word(), word() + blanks]);
            few
        }
    }
}

/// Whether nobody has changed anything at or beside these lines of `base` on the way to `live`, as far as that is beyond
/// doubt: no line is there twice and none has changed places.
pub(crate) fn is_untouched(base: &str, live: &str, touched: &[Range<usize>]) -> bool {
    let (base, live): (Vec<&str>, Vec<&str>) = (base.lines().collect(), live.lines().collect());
    let (in_base, in_live): (HashSet<_>, HashSet<_>) =
        (base.iter().collect(), live.iter().collect());
    if in_base.len() < base.len() || in_live.len() < live.len() {
        return false;
    }
    let stayed = base.iter().filter(|line| in_live.contains(line));
    if !stayed.eq(live.iter().filter(|line| in_base.contains(line))) {
        return false;
    }
    touched.iter().all(|range| {
        let around = range.start.saturating_sub(1)..(range.end + 1).min(base.len());
        let wanted = &base[around];
        let Some(first) = wanted.first() else { return false };
        let Some(at) = live.iter().position(|line| line == first) else { return false };
        live.get(at..at + wanted.len()) == Some(wanted)
            && (range.start > 0 || at == 0)
            && (range.end < base.len() || at + wanted.len() == live.len())
    })
}
