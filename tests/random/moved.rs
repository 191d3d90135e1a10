//! Words that a turn has put into other lines than those they were in. Its undo takes those lines away and brings the old ones
//! back, unless another turn has taken the old ones away, too: then the words are in neither.

use std::collections::{HashMap, HashSet};

use super::words::{each, exact_lines, gone, words};

/// By turn and file.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// The words of lines that a turn has brought, also those that were in other lines before.
    brought: HashMap<(u64, usize), HashSet<String>>,
    /// The words of lines that a turn has taken away, and that stayed in others.
    taken: HashMap<(u64, usize), HashSet<String>>,
    /// The words that went on disk while a turn was running, whoever took them. Where that is not certain, an undo leaves it
    /// as it is, and takes what the turn has put back since.
    gone_on_disk: HashMap<(u64, usize), HashSet<String>>,
}

impl Moved {
    /// A turn has changed a file; what was `typed` meanwhile is not of it.
    pub(crate) fn changed(
        &mut self,
        of: (u64, usize),
        (before, after): (&str, &str),
        typed: Option<&str>,
    ) {
        let stays = words(after);
        // A line is another one also where only the spaces at its end differ.
        let (before, after) = (exact_lines(before), exact_lines(after));
        let new = gone(&after, &before).into_iter().flat_map(each);
        let new = new.filter(|word| Some(*word) != typed).map(str::to_owned);
        self.brought.entry(of).or_default().extend(new);
        let old = gone(&before, &after).into_iter().flat_map(each);
        let old = old.filter(|word| stays.contains_key(*word)).map(str::to_owned);
        self.taken.entry(of).or_default().extend(old);
    }

    /// The words in lines that a turn has brought into a file.
    pub(crate) fn words(&self, of: (u64, usize)) -> impl Iterator<Item = &String> {
        self.brought.get(&of).into_iter().flatten()
    }

    /// Words went on disk while a turn was running.
    pub(crate) fn went_on_disk(&mut self, of: (u64, usize), words: Vec<String>) {
        self.gone_on_disk.entry(of).or_default().extend(words);
    }

    /// The words that went on disk while a turn was running.
    pub(crate) fn gone_on_disk(&self, of: (u64, usize)) -> Option<&HashSet<String>> {
        self.gone_on_disk.get(&of)
    }

    /// Whether another turn than this one has taken a line with a word away, which was in another line as well.
    pub(crate) fn taken_by_others(&self, (turn, index): (u64, usize), word: &str) -> bool {
        let mut others = self.taken.iter().filter(|((of, at), _)| *of != turn && *at == index);
        others.any(|(_, words)| words.contains(word))
    }
}
