//! What is expected of a file in a random world: whose words have to be in its buffer. It knows words, not merges, and asks
//! nobody.
//!
//! A word that is in a buffer, whoever wrote it, may leave it only
//! 1. by what the user does in that Neovim: deleting, changing, undoing, `:e!`;
//! 2. by a write of a session, or a change on disk that is taken for its doing, if the session knew the word: it was in the
//!    text the session last read or sent, or the session has brought it in;
//! 3. where the session has never read nor sent that file: if the word was in the file as Neovim last read or wrote it, or
//!    is on disk.
//!
//! A word that a session has sent, or that is on disk when a change there is followed, comes into the buffer, or is among
//! the conflicts, or the write is answered with an error. If no line at or beside the edit has been changed by others, it
//! comes in.

use std::collections::{HashMap, HashSet};

use super::words::{Words, count, each, gone, lines, words};

/// What a check gives: what is wrong, in words.
pub(crate) type Checked<T = ()> = Result<T, String>;

/// A buffer and its file at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// The buffer's text; `None` if it is not loaded.
    pub(crate) text: Option<String>,
    pub(crate) modified: bool,
    /// The number of its newest undo step.
    pub(crate) undo: i64,
    /// The file's lines against which the user's stand.
    pub(crate) conflicts: String,
    /// What is on disk.
    pub(crate) disk: String,
}

impl Look {
    /// The text that is to be kept: the buffer's, else the file's.
    pub(crate) fn kept(&self) -> &str {
        self.text.as_deref().unwrap_or(&self.disk)
    }
}

/// What a session knows of a file.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// The text it last read or sent.
    pub(crate) text: Option<String>,
    /// The words it may take away; `None` as long as it knows nothing of the file.
    words: Option<Words>,
    /// What it may be taken to know besides: of a file that nobody has open it is not told whether a change was anybody's.
    taken: Words,
    /// Whether it was told to have read the disk itself. Then what it reads through us may be hidden from its model, and an
    /// edit that happens to put back what was seen there counts as made from that.
    pub(crate) reads_disk: bool,
    /// Texts it once knew.
    pub(crate) old: Vec<String>,
}

impl Knowledge {
    /// It has read this, or sent it.
    pub(crate) fn learns(&mut self, text: &str) {
        self.words = Some(words(text));
        self.old.extend(self.text.replace(text.to_owned()));
        if self.old.len() > 8 {
            self.old.remove(0);
        }
    }

    /// It has read this while a change of the file was not followed: that may be its own, made from what it knew before.
    pub(crate) fn learns_besides(&mut self, text: &str, synced: &Words) {
        let before = self.words.take().unwrap_or_else(|| synced.clone());
        self.learns(text);
        self.brings(before.keys().map(String::as_str));
    }

    /// It goes on from what it has written itself, and knows no more than before.
    pub(crate) fn goes_on_from(&mut self, text: &str) {
        let words = self.words.take();
        self.learns(text);
        self.words = words;
    }

    /// It has brought these words into the file.
    pub(crate) fn brings<'a>(&mut self, brought: impl Iterator<Item = &'a str>) {
        if let Some(words) = &mut self.words {
            words.extend(brought.map(|word| (word.to_owned(), 1)));
        }
    }

    /// A command of its reads this. Returns what to forget once it is done: later writes are not made from it.
    pub(crate) fn sees(&mut self, text: &str) -> Words {
        let before = self.taken.clone();
        self.taken.extend(words(text));
        before
    }

    /// Knows no more of a file than before [`Self::sees`].
    pub(crate) fn forgets(&mut self, before: Words) {
        self.taken = before;
    }

    /// A change on disk was taken for its doing, though it had read nothing before.
    pub(crate) fn is_taken_to_know(&mut self, file: &str) {
        self.words.get_or_insert_with(|| words(file));
    }

    /// The same where nothing came of it.
    pub(crate) fn may_be_taken_to_know(&mut self, file: &str) {
        if self.words.is_none() {
            self.taken.extend(words(file));
        }
    }
}

/// What is expected of one file.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// What both the buffer and the file had last.
    synced: Words,
    pub(crate) synced_text: String,
    /// What a write has found in the file that nobody has open, and for which it was refused.
    found: Option<String>,
    /// Words that have been in the buffer, or told as a conflict.
    came: HashSet<String>,
    /// Words that a session has read while nobody had the file open. The record may begin with them, and they are no
    /// session's then, even if one takes them out before that is followed and brings them into a buffer later.
    seen: HashSet<String>,
    /// With whose step each word first came.
    by: HashMap<String, String>,
    /// Words of the user's that have come into the text by others, or whose going the user has accepted: they may go with what
    /// an agent did.
    given_back: HashSet<String>,
}

impl Expected {
    /// The user, or Neovim by itself, has made the buffer what it is.
    pub(crate) fn by_user(&mut self, now: &Look) {
        let Some(text) = &now.text else { return };
        self.came.extend(words(text).into_keys());
        if !now.modified {
            self.comes_together(text);
        }
    }

    /// A file as it is when nobody has changed it yet.
    pub(crate) fn begins(&mut self, text: &str) {
        self.comes_together(text);
        self.is_settled(text);
    }

    /// Lines that are on disk and were not in the buffer are taken for the doing of one session, with all that is in them.
    pub(crate) fn is_taken_to_bring(&self, knows: &mut Knowledge, was: &Look) {
        let (before, disk) = (was.text.as_ref().unwrap_or(&self.synced_text), lines(&was.disk));
        let found = self.found.as_ref().filter(|_| was.text.is_none());
        for before in std::iter::once(before).chain(found) {
            knows.brings(gone(&disk, &lines(before)).into_iter().flat_map(each));
        }
    }

    /// A session has read this text of the file.
    pub(crate) fn is_read(&self, knows: &mut Knowledge, text: &str, is_pending: bool) {
        if is_pending {
            knows.learns_besides(text, &self.synced);
        } else {
            knows.learns(text);
        }
    }

    /// A session has read this text while nobody had the file open.
    pub(crate) fn is_seen(&mut self, text: &str) {
        self.seen.extend(words(text).into_keys());
    }

    /// Neovim and the file have come together at this text of the file.
    pub(crate) fn comes_together(&mut self, file: &str) {
        self.found = None;
        self.synced = words(file);
        file.clone_into(&mut self.synced_text);
    }

    /// A write was refused for what it found in a file that nobody has open.
    pub(crate) fn is_found(&mut self, file: &str) {
        self.found = Some(file.to_owned());
    }

    /// The words that Neovim and the file had in common last.
    pub(crate) fn synced(&self) -> &Words {
        &self.synced
    }

    /// These words are where they belong, whatever comes of them later.
    pub(crate) fn is_settled(&mut self, text: &str) {
        self.came.extend(words(text).into_keys());
    }

    /// The user has typed this word, while something else went on.
    pub(crate) fn typed(&mut self, word: &str) {
        self.came.insert(word.to_owned());
    }

    /// Checks a step that is taken for `session`'s.
    pub(crate) fn by_session(
        &mut self,
        session: &str,
        knows: &mut Knowledge,
        was: &Look,
        now: &Look,
    ) -> Checked {
        let (before, after) = (words(was.kept()), words(now.kept()));
        let on_disk = words(&was.disk);
        let may = |word: &str| {
            let may_take = knows.words.as_ref();
            let shared = || count(&self.synced, word) + count(&on_disk, word) > 0;
            word.starts_with(session)
                || count(&knows.taken, word) > 0
                || may_take.map_or_else(shared, |words| count(words, word) > 0)
        };
        let mut lost = gone(&before, &after);
        lost.retain(|word| !may(word));
        if !lost.is_empty() {
            return Err(format!("{session} did not know of what is gone: {}", lost.join(" ")));
        }
        for word in gone(&after, &before) {
            self.comes(word, now.text.is_some().then_some(session));
        }
        self.is_given_back(was, now);
        knows.brings(gone(&after, &before).into_iter());
        if now.text.is_none() {
            self.came.extend(before.into_keys().chain(after.into_keys()));
        }
        Ok(())
    }

    /// Somebody else than the user has changed a text.
    pub(crate) fn is_given_back(&mut self, was: &Look, now: &Look) {
        let (before, after) = (words(was.kept()), words(now.kept()));
        self.given_back.extend(gone(&after, &before).into_iter().map(str::to_owned));
    }

    /// What is in the first of two texts only was taken away by others, or its going was accepted: it may go.
    pub(crate) fn is_given_up(&mut self, before: &str, after: &str) {
        let (before, after) = (words(before), words(after));
        self.given_back.extend(gone(&before, &after).into_iter().map(str::to_owned));
    }

    /// Whether a word is in the text only because the user has put it there.
    pub(crate) fn is_users(&self, word: &str) -> bool {
        word.starts_with("user") && !self.given_back.contains(word)
    }

    /// A session has brought these words into the buffer and taken them out again.
    pub(crate) fn came_and_went(&mut self, session: &str, words: &[&str]) {
        for &word in words {
            self.comes(word, Some(session));
        }
    }

    /// A word comes, with a step of a session if that is known.
    fn comes(&mut self, word: &str, session: Option<&str>) {
        let is_first = self.came.insert(word.to_owned());
        let session = session.filter(|_| is_first && !self.seen.contains(word));
        self.by.extend(session.map(|session| (word.to_owned(), session.to_owned())));
    }

    /// Checks that all words of a text that never were there have come, or are told.
    pub(crate) fn came_in(&mut self, text: &str, now: &Look, told: &str) -> Checked {
        let (here, told) = (words(now.kept()), words(&format!("{told}\n{}", now.conflicts)));
        for word in words(text).keys().filter(|word| count(&here, word) == 0) {
            if count(&told, word) > 0 {
                self.came.insert(word.clone());
            } else if !self.came.contains(word) {
                return Err(format!("{word} has not come in, and is no conflict"));
            }
        }
        Ok(())
    }

    /// Checks that no line is there more often than a side made it, where both began with it: `read` is what the writer did.
    pub(crate) fn is_not_doubled(
        &self,
        read: Option<&str>,
        theirs: &str,
        was: &Look,
        now: &Look,
    ) -> Checked {
        let base = lines(read.unwrap_or(&self.synced_text));
        let (theirs, before) = (lines(theirs), lines(was.kept()));
        for (line, times) in lines(now.kept()) {
            let (ours, theirs) = (count(&before, &line), count(&theirs, &line));
            let in_base = count(&base, &line);
            // Where both sides have added it once more, it may be there twice more.
            let most = ours.max(theirs).max((ours + theirs).saturating_sub(in_base));
            if times > most && in_base > 0 {
                return Err(format!("{line} is there {times} times"));
            }
        }
        Ok(())
    }

    /// Checks that what the user has not saved, and the agent has not sent, is not in the file. What was there before the agent
    /// overwrote it may be there again.
    pub(crate) fn saves_nothing_unasked(&self, content: &str, was: &Look, now: &Look) -> Checked {
        let (before, after, sent) = (words(&was.disk), words(&now.disk), words(content));
        let is_new =
            |word: &str| [&before, &sent, &self.synced].iter().all(|it| count(it, word) == 0);
        match after.keys().find(|word| is_new(word)) {
            Some(word) => Err(format!("{word} was saved, though nobody asked for that")),
            None => Ok(()),
        }
    }

    /// Whose step a word came with, if a session's.
    pub(crate) fn came_by(&self, word: &str) -> Option<&str> {
        self.by.get(word).map(String::as_str)
    }
}

/// Checks that what a session has sent, was told to be written, and has written itself, is in the file.
pub(crate) fn is_on_disk(base: &str, content: &str, now: &Look) -> Checked {
    let (read, sent, disk) = (words(base), words(content), words(&now.disk));
    match gone(&sent, &read).into_iter().find(|word| count(&disk, word) == 0) {
        Some(word) => Err(format!("{word} was written, and is not in the file\n{}", now.disk)),
        None => Ok(()),
    }
}

/// Both sides, line by line, for whoever has to find out why.
pub(crate) fn shown(was: &Look, now: &Look) -> String {
    let (was, disk) = (was.text.as_deref().unwrap_or_default(), &was.disk);
    let now = now.text.as_deref().unwrap_or_default();
    let count = was.lines().count().max(disk.lines().count()).max(now.lines().count());
    let lines = (0..count.min(60)).map(|at| {
        let [was, disk, now] = [was, disk, now].map(|text| text.lines().nth(at).unwrap_or("~"));
        format!("{was:<36}|{disk:<36}|{now}\n")
    });
    format!("buffer before{:<23}|file before{:<25}|buffer after\n", "", "")
        + &lines.collect::<String>()
}
