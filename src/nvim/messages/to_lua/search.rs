//! Messages about a search through the saved sessions.

use crate::nvim::text::{FilePath, Handle, Label, each};
use crate::session::search::{MarkedLine, SearchHit, SearchResult};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// What a search has found.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Found {
    /// The number of the search.
    request: u64,
    /// The sessions that have all words, most recently used first.
    items: Vec<FoundSession>,
    /// How many sessions have all words. There may be more than are listed.
    count: usize,
    /// How many sessions were searched.
    searched: usize,
}

/// A session that has all words.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct FoundSession {
    /// The agent's name in the configuration.
    agent: Handle,
    /// The id that the agent gave the session.
    session: Handle,
    /// The session's working directory.
    cwd: FilePath,
    /// The title; the id if there is no title.
    title: Label,
    /// The places of the words in the title: for each the first byte and the end, from 0.
    title_marks: Vec<usize>,
    /// When it was last used here, in seconds since 1970.
    used_at: u64,
    /// A line with most of the words; missing if all of them are in the title.
    line: Option<Label>,
    /// The places of the words in that line.
    marks: Vec<usize>,
}

impl Found {
    pub(super) fn new(request: u64, result: SearchResult) -> Self {
        let SearchResult { hits, found, searched, .. } = result;
        Self { request, items: each(hits, Into::into), count: found, searched }
    }
}

impl From<SearchHit> for FoundSession {
    fn from(SearchHit { session, title, line }: SearchHit) -> Self {
        let has_title = !title.text.is_empty();
        Self {
            title: Label::new(if has_title { title.text.as_str() } else { session.id.as_str() }),
            title_marks: flat(&title),
            agent: Handle::new(session.agent),
            session: Handle::new(session.id),
            cwd: FilePath::new(&session.cwd),
            used_at: session.used_at,
            marks: line.as_ref().map(flat).unwrap_or_default(),
            line: line.map(|line| Label::new(line.text)),
        }
    }
}

fn flat(line: &MarkedLine) -> Vec<usize> {
    line.marks.iter().flat_map(|mark| [mark.start, mark.end]).collect()
}
