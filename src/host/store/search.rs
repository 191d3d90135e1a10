//! Searches all saved sessions: their titles, and in their transcripts what was said and what tools were asked to do. The files
//! are read as they are: lines without one of the words are never decoded. Without an index, there is nothing to keep up to
//! date, and a gigabyte in the cache of the system takes a fraction of a second.

use super::listed;
use super::transcripts::{self, MAX_FILE, Saved};
use crate::session::saved::SavedSession;
use crate::session::search::{MarkedLine, Matcher, SearchHit, SearchQuery, SearchResult, WordSet};
use memchr::{memchr, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many sessions are returned.
const MAX_HITS: usize = 200;

/// How much is read of a file at once, in bytes.
const PIECE: u64 = 1 << 20;

/// Lines that are longer by a piece are left out, in bytes: they are the output of tools.
const MAX_LINE: usize = 16 << 20;

/// How many threads search at most. More of them would take the processor from the agents.
const MAX_THREADS: usize = 4;

/// A line of a transcript, of which only what is searched is decoded.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default, borrow)]
    entry: Option<EntryWords<'a>>,
    #[serde(default, borrow)]
    more: Option<Cow<'a, str>>,
}

/// An entry: one of these, or one that is not searched.
#[derive(Deserialize)]
struct EntryWords<'a> {
    #[serde(default, rename = "Message", borrow)]
    message: Option<MessageWords<'a>>,
    #[serde(default, rename = "Tool", borrow)]
    tool: Option<ToolWords<'a>>,
}

#[derive(Deserialize)]
struct MessageWords<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ToolWords<'a> {
    #[serde(borrow)]
    call: CallWords<'a>,
}

#[derive(Deserialize)]
struct CallWords<'a> {
    #[serde(borrow)]
    title: Cow<'a, str>,
    #[serde(default, borrow)]
    input: Option<InputWords<'a>>,
}

#[derive(Deserialize)]
struct InputWords<'a> {
    #[serde(default, borrow)]
    command: Option<Cow<'a, str>>,
}

/// A search, for all threads.
struct Search<'a> {
    /// The folder of the store, and that of the transcripts.
    store: &'a Path,
    folder: PathBuf,
    matcher: Matcher,
    /// The words as they stand in JSON.
    in_json: Vec<Regex>,
    /// How many lines were decoded.
    decoded: AtomicUsize,
    is_over: &'a (dyn Fn() -> bool + Sync),
}

/// Searches all sessions below the folder of the store; `None` once `is_over` says that nobody waits for the result.
pub(super) fn run(
    folder: &Path,
    query: &SearchQuery,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<Option<SearchResult>, regex::Error> {
    let in_json = query.words().iter().map(|word| in_json(word, query.is_exact()));
    let search = Search {
        store: folder,
        folder: transcripts::folder_in(folder),
        matcher: Matcher::new(query)?,
        in_json: in_json.collect::<Result<_, _>>()?,
        decoded: AtomicUsize::new(0),
        is_over,
    };
    let sessions = listed::of_all_folders(folder);
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let mut hits: Vec<(usize, SearchHit)> = thread::scope(|scope| {
        let work = || search.take_from(&sessions, &next);
        let begin = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(begin).collect();
        let mut hits = work();
        hits.extend(others.into_iter().filter_map(|other| other.join().ok()).flatten());
        hits
    });
    if is_over() {
        return Ok(None);
    }
    hits.sort_by_key(|(at, _)| *at);
    let (found, searched) = (hits.len(), sessions.len());
    let decoded = search.decoded.into_inner();
    let hits = hits.into_iter().take(MAX_HITS).map(|(_, hit)| hit).collect();
    Ok(Some(SearchResult { hits, found, searched, decoded }))
}

/// Returns a pattern for a word in a JSON string. Beside these characters only control characters are escaped in transcripts,
/// and nobody looks for those.
fn in_json(word: &str, is_exact: bool) -> Result<Regex, regex::Error> {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    RegexBuilder::new(&regex::escape(&escaped)).case_insensitive(!is_exact).build()
}

impl Search<'_> {
    /// Searches one session after the other until none is left. Returns the places of those that have all words.
    fn take_from(&self, sessions: &[SavedSession], next: &AtomicUsize) -> Vec<(usize, SearchHit)> {
        let (mut hits, mut buffer) = (Vec::new(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(session) = sessions.get(at).filter(|_| !(self.is_over)()) else { return hits };
            match self.look_into(session, &mut buffer) {
                Ok(hit) => hits.extend(hit.map(|hit| (at, hit))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(session = %session.id, %error, "a transcript was not searched");
                }
            }
        }
    }

    fn look_into(
        &self,
        session: &SavedSession,
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<SearchHit>> {
        let title = session.title.as_deref().unwrap_or_default();
        let found = self.matcher.words_in(title);
        let mut scan = Scan { search: self, found, best: None };
        if !scan.is_complete() {
            let key = session.key();
            match transcripts::open_any(self.store, &self.folder, &key)? {
                Saved::File(file) => visit_lines(file, buffer, |lines| scan.look_at(lines))?,
                Saved::Archived(file) => visit_lines(file, buffer, |lines| scan.look_at(lines))?,
            }
        }
        Ok(scan.is_complete().then(|| SearchHit {
            session: session.clone(),
            title: self.matcher.mark(title),
            line: scan.best.map(|(line, _)| line),
        }))
    }
}

/// The search through one transcript.
struct Scan<'a> {
    search: &'a Search<'a>,
    /// The words that it has so far.
    found: WordSet,
    /// The line with most of them, and how many.
    best: Option<(MarkedLine, u32)>,
}

impl Scan<'_> {
    fn is_complete(&self) -> bool {
        self.search.matcher.are_all(self.found)
    }

    /// Looks for the words that are still missing in some lines.
    fn look_at(&mut self, lines: &[u8]) -> ControlFlow<()> {
        for (word, pattern) in self.search.in_json.iter().enumerate() {
            let mut from = 0;
            while !self.found.has(word)
                && let Some(place) = pattern.find_at(lines, from)
            {
                from = place.end();
                if !is_in_name(lines, &place.range()) {
                    let line = line_at(lines, place.start());
                    from = line.end;
                    self.look_at_line(&lines[line]);
                }
            }
        }
        if self.is_complete() || (self.search.is_over)() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn look_at_line(&mut self, line: &[u8]) {
        self.search.decoded.fetch_add(1, Ordering::Relaxed);
        // A line that cannot be decoded is one that a later version has written, or the header.
        let Ok(Line { entry, more }) = serde_json::from_slice(line) else { return };
        let (message, tool) = entry.map_or((None, None), |entry| (entry.message, entry.tool));
        let call = tool.map(|tool| tool.call);
        let (title, input) = call.map_or((None, None), |call| (Some(call.title), call.input));
        let command = input.and_then(|input| input.command);
        let texts = [more, message.map(|message| message.text), title, command];
        for text in texts.into_iter().flatten() {
            let words = self.search.matcher.words_in(&text);
            self.found = self.found.with(words);
            if !words.is_empty() {
                let line = self.search.matcher.best_line(&text);
                let most = self.best.as_ref().map_or(0, |(_, words)| *words);
                self.best = line.filter(|(_, words)| *words > most).or(self.best.take());
            }
        }
    }
}

/// Whether a place in JSON is in the name of a field. Every line has the same ones.
fn is_in_name(json: &[u8], place: &Range<usize>) -> bool {
    let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
    let Some(open) = json[..place.start].iter().rposition(is_end) else { return false };
    let close = json[place.end..].iter().position(is_end).map_or(json.len(), |at| place.end + at);
    // A quote in a text is escaped.
    let is_quote = json[open] == b'"' && !json[..open].ends_with(b"\\");
    is_quote && json[close..].starts_with(b"\":")
}

/// Returns the line around a place, without its line break.
fn line_at(lines: &[u8], place: usize) -> Range<usize> {
    let start = memrchr(b'\n', &lines[..place]).map_or(0, |at| at + 1);
    let end = memchr(b'\n', &lines[place..]).map_or(lines.len(), |at| place + at);
    start..end
}

/// Reads a file and visits its lines, some at a time, until `visit` has seen enough.
pub(super) fn visit_lines(
    file: impl Read,
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<()> {
    let (mut file, mut is_skipping) = (file.take(MAX_FILE), false);
    buffer.clear();
    loop {
        let read = file.by_ref().take(PIECE).read_to_end(buffer)?;
        if is_skipping && let Some(end) = memchr(b'\n', buffer) {
            buffer.drain(..=end);
            is_skipping = false;
        }
        let is_last = read == 0;
        let end = memrchr(b'\n', buffer).map_or(0, |at| at + 1);
        let end = if is_last { buffer.len() } else { end };
        if !is_skipping && visit(&buffer[..end]).is_break() || is_last {
            return Ok(());
        }
        buffer.drain(..end);
        if is_skipping || buffer.len() > MAX_LINE {
            is_skipping = true;
            buffer.clear();
        }
    }
}
