//! What the user searches for in saved sessions, and where it is in a text. Knows nothing of files.

use super::label;
use super::saved::SavedSession;
use super::signs::ELLIPSIS;
use regex::{Regex, RegexBuilder};
use std::ops::Range;

/// Maximum length of what the user types, in bytes. So there are fewer words than a [`WordSet`] can hold.
const MAX_TYPED: usize = 250;

/// Maximum length of a line as it is shown, in characters, and how many of them may be before the first word found.
const MAX_LINE: usize = 200;
const MAX_BEFORE: usize = 40;

/// Words that a session must all have, in any order. Case matters if one of them has a capital letter (Vim's 'smartcase').
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    words: Vec<String>,
    is_exact: bool,
}

/// Why something cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// There is no word.
    #[error("there is no word to search for")]
    Empty,
    /// There is too much.
    #[error("at most {MAX_TYPED} bytes can be searched for")]
    TooLong,
}

/// Some of the words of a query, by their places in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordSet(u128);

/// A line of text, safe to show anywhere on the screen, and where the words are in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkedLine {
    /// The line. If it is long, the part with the first word, with an ellipsis for what is missing.
    pub text: String,
    /// The places of the words in bytes, in order. They do not overlap.
    pub marks: Vec<Range<usize>>,
}

/// A session that has all words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The session.
    pub session: SavedSession,
    /// Its title.
    pub title: MarkedLine,
    /// A line of it with most of the words; `None` if all of them are in the title.
    pub line: Option<MarkedLine>,
}

/// What a search has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// The sessions, most recently used first.
    pub hits: Vec<SearchHit>,
    /// How many sessions have all words. There may be more than are returned.
    pub found: usize,
    /// How many were searched.
    pub searched: usize,
    /// How many lines of transcripts were decoded for that: only those that have a word.
    pub decoded: usize,
}

/// Finds the words of a query in texts.
#[derive(Debug)]
pub struct Matcher {
    words: Vec<Regex>,
    any: Regex,
}

impl WordSet {
    /// Whether it has the word at this place.
    pub fn has(self, word: usize) -> bool {
        self.0 & (1 << word) != 0
    }

    /// Whether it has no word.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many words it has.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The words of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl SearchQuery {
    /// Splits what the user has typed into words.
    pub fn new(typed: &str) -> Result<Self, QueryError> {
        let mut words: Vec<String> = Vec::new();
        for word in typed.split_whitespace().map(str::to_owned) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        if words.is_empty() {
            return Err(QueryError::Empty);
        } else if typed.len() > MAX_TYPED {
            return Err(QueryError::TooLong);
        }
        Ok(Self { words, is_exact: typed.chars().any(char::is_uppercase) })
    }

    /// The words, each once.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether case matters.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }
}

impl Matcher {
    /// Prepares a search.
    pub fn new(query: &SearchQuery) -> Result<Self, regex::Error> {
        let build =
            |pattern: &str| RegexBuilder::new(pattern).case_insensitive(!query.is_exact).build();
        let mut patterns: Vec<String> =
            query.words.iter().map(|word| regex::escape(word)).collect();
        let words = patterns.iter().map(|pattern| build(pattern)).collect::<Result<_, _>>()?;
        // Where several words begin, the longest is marked.
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
        Ok(Self { words, any: build(&patterns.join("|"))? })
    }

    /// Whether these are all words.
    pub fn are_all(&self, words: WordSet) -> bool {
        words.len() as usize == self.words.len()
    }

    /// Returns the words that are in a text.
    pub fn words_in(&self, text: &str) -> WordSet {
        let found = self.words.iter().enumerate().filter(|(_, word)| word.is_match(text));
        WordSet(found.fold(0, |set, (at, _)| set | 1 << at))
    }

    /// Returns the first of the lines of a text that have most of the words, and how many these are.
    pub fn best_line(&self, text: &str) -> Option<(MarkedLine, u32)> {
        let mut best: Option<(&str, u32)> = None;
        for line in text.lines() {
            let words = self.words_in(line).len();
            if words > best.map_or(0, |(_, most)| most) {
                best = Some((line, words));
            }
        }
        best.map(|(line, words)| (self.mark(line), words))
    }

    /// Shortens a line for display and marks the words in it.
    pub fn mark(&self, line: &str) -> MarkedLine {
        let line = line.trim();
        let first = self.any.find(line).map_or(0, |found| found.start());
        let before = line[..first].char_indices().rev().nth(MAX_BEFORE - 1);
        let is_long = line.chars().nth(MAX_LINE).is_some();
        let from = before.filter(|_| is_long).map_or(0, |(at, _)| at);
        let rest = &line[from..];
        let end = rest.char_indices().nth(MAX_LINE).map_or(rest.len(), |(at, _)| at);
        let mut text = label::line(&rest[..end]).into_owned();
        if from > 0 {
            text.insert_str(0, ELLIPSIS.now());
        }
        if end < rest.len() {
            text.push_str(ELLIPSIS.now());
        }
        let marks = self.any.find_iter(&text).map(|found| found.range()).collect();
        MarkedLine { text, marks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matcher(typed: &str) -> Matcher {
        Matcher::new(&SearchQuery::new(typed).unwrap()).unwrap()
    }

    fn marked(typed: &str, line: &str) -> String {
        let MarkedLine { mut text, marks } = matcher(typed).mark(line);
        for mark in marks.into_iter().rev() {
            text.insert(mark.end, ']');
            text.insert(mark.start, '[');
        }
        text
    }

    #[test]
    fn words_are_split_at_blanks_and_counted_once() {
        let query = SearchQuery::new("  fix\tthe  fix ").unwrap();
        assert_eq!(query.words(), ["fix", "the"]);
        assert_eq!(SearchQuery::new(" \n"), Err(QueryError::Empty));
        assert_eq!(SearchQuery::new(&"ab ".repeat(200)), Err(QueryError::TooLong));
        let many: String = ('a'..).take(MAX_TYPED / 2).map(|word| format!("{word} ")).collect();
        let many = &many[..many.floor_char_boundary(MAX_TYPED)];
        let all = matcher(many).words_in(many);
        assert!(matcher(many).are_all(all), "{all:?}");
    }

    /// Holds (Searching): Case matters if a word has a capital letter.
    #[test]
    fn case_matters_if_a_word_has_a_capital_letter() {
        assert!(matcher("größe").are_all(matcher("größe").words_in("die GRÖSSE oder GRÖßE")));
        assert_eq!(matcher("parser").words_in("The Parser").len(), 1);
        assert_eq!(matcher("Parser").words_in("the parser").len(), 0);
        assert_eq!(matcher("Parser fix").words_in("the Parser, FIX it").len(), 1);
        assert_eq!(matcher("Ärger").words_in("ärger").len(), 0);
    }

    #[test]
    fn words_are_no_patterns() {
        assert_eq!(marked("a.b (x|y)", "a.b axb (x|y) x"), "[a.b] axb [(x|y)] x");
        assert_eq!(marked("new news", "the news is new"), "the [news] is [new]");
    }

    #[test]
    fn the_line_with_most_of_the_words_is_shown() {
        let text = "only a parser\nfix the parser here\nfix the parser there";
        let (line, words) = matcher("parser fix").best_line(text).unwrap();
        assert_eq!((line.text.as_str(), words), ("fix the parser here", 2));
        assert_eq!(matcher("absent").best_line(text), None);
    }

    #[test]
    fn a_long_line_is_cut_around_the_first_word() {
        let line = format!("{} needle {}", "é".repeat(5000), "ü".repeat(5000));
        let shown = matcher("needle").mark(&line);
        assert!(shown.text.starts_with("…é") && shown.text.ends_with("ü…"), "{}", shown.text);
        assert_eq!(shown.text.chars().count(), MAX_LINE + 2);
        assert_eq!(&shown.text[shown.marks[0].clone()], "needle");
        assert_eq!(marked("x", "\ta\u{1b}[31m x\u{202e}"), "a\u{fffd}[31m [x]\u{fffd}");
    }

    proptest! {
        #[test]
        fn every_mark_is_a_word(
            words in prop::collection::vec("[aAbÄß(.\\\\]{1,3}", 1..4),
            line in "[aAbÄäß(.\\\\ \t]{0,600}",
        ) {
            let query = SearchQuery::new(&words.join(" ")).unwrap();
            let matcher = Matcher::new(&query).unwrap();
            let MarkedLine { text, marks } = matcher.mark(&line);
            let mut last = 0;
            for mark in &marks {
                prop_assert!(mark.start >= last && mark.start < mark.end);
                let found = text[mark.clone()].to_lowercase();
                let is_word = |word: &String| word.to_lowercase() == found;
                prop_assert!(query.words().iter().any(is_word), "{found} in {text}");
                last = mark.end;
            }
            // What is found is shown, unless the word goes on beyond the end of a line that was cut.
            let has_words = !matcher.words_in(line.trim()).is_empty();
            prop_assert!(!has_words || !marks.is_empty(), "{line}");
        }
    }
}
