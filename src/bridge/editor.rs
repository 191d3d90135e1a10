//! Implements `documents::editor::Editor` by calls to `rat.document.buffers` in Neovim. It translates and decides nothing.

mod convert;

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::provider::Providers;
use crate::documents::editor::{
    Buffer, BufferId, Editor, EditorError, Encoded, Found, Lines, Outcome, Then,
};
use crate::edit::{Collector, Edit, Text};
use crate::nvim::client::Client;
use crate::nvim::messages::calls::document;
use crate::nvim::messages::calls::{Call, LuaBytes, LuaText};
use crate::session::author::Author;
use convert::{
    Slice, edit, file, found, outcome, shape_of, slice, text, turn_name, unexpected,
    unresolved_hunk,
};

/// The approximate size of a slice of a snapshot. Neovim is busy with one for about a millisecond.
const SLICE_BYTES: u64 = 256 * 1024;
/// How many slices are requested ahead, so that Neovim does not idle between them.
const SLICES_AHEAD: usize = 3;
/// How often a snapshot is attempted before it fails because the buffer keeps changing too much to follow.
const MAX_SNAPSHOT_ATTEMPTS: usize = 5;

/// The buffers of the connected Neovim as documents.
#[derive(Debug, Clone)]
pub struct NvimEditor {
    client: Client,
    providers: Providers,
}

impl NvimEditor {
    /// Creates the port on `client`, whose Neovim must have this plugin in 'runtimepath'.
    pub fn new(client: Client) -> Self {
        Self { client, providers: Providers::default() }
    }

    /// Returns the user's functions that are asked before files are used.
    pub(super) fn providers(&self) -> &Providers {
        &self.providers
    }

    async fn call<C: Call>(&self, call: C) -> Result<C::Answer, EditorError> {
        self.client.call(call).await.map_err(|error| EditorError::Failed(error.to_string()))
    }

    /// Tries to take a snapshot once, in slices between which the user can edit. `None` if the buffer was changed too much
    /// meanwhile for the changes to be known.
    async fn try_snapshot(&self, id: BufferId) -> Result<Option<(Buffer, Text)>, EditorError> {
        let (begin, ends) = self.slice_ends(id, 0).await?;
        let (mut text, mut ends) = (Collector::with_capacity(begin.bytes), VecDeque::from(ends));
        let mut requests = VecDeque::new();
        let mut next = 0;
        loop {
            while requests.len() < SLICES_AHEAD
                && let Some(end) = ends.pop_front()
            {
                let request = tokio::spawn(self.clone().slice(id, next..end, begin.tick));
                requests.push_back((next, request));
                next = end;
            }
            let Some((from, slice)) = requests.pop_front() else {
                // Lines were added at the end meanwhile, or a change left a gap.
                next = text.len();
                ends = self.slice_ends(id, next).await?.1.into();
                if ends.is_empty() {
                    // Lines were removed from the end meanwhile.
                    ends.push_back(next);
                }
                continue;
            };
            let slice = slice.await.map_err(|error| EditorError::Failed(error.to_string()))??;
            let Some(changes) = slice.changes else { return Ok(None) };
            text.add(from, &slice.lines.text, slice.lines.count, &changes);
            if let Some(buffer) = slice.end.filter(|buffer| buffer.lines == text.len()) {
                let text = Text::from_body(text.into_body(), buffer.shape, buffer.empty);
                return Ok(Some((buffer, text)));
            }
        }
    }

    /// Asks how to slice the lines from `from` on: the buffer and the end of each slice.
    async fn slice_ends(
        &self,
        id: BufferId,
        from: usize,
    ) -> Result<(Buffer, Vec<usize>), EditorError> {
        let call = document::Slices { buf: id.0, from, bytes: SLICE_BYTES };
        let document::SliceEnds { facts, ends } = self.call(call).await?;
        Ok((found(facts)?.buffer, ends))
    }

    async fn slice(
        self,
        id: BufferId,
        lines: Range<usize>,
        since: i64,
    ) -> Result<Slice, EditorError> {
        let (from, to) = (lines.start, lines.end);
        slice(self.call(document::Lines { buf: id.0, from, to, since }).await?)
    }
}

#[async_trait]
impl Editor for NvimEditor {
    async fn loaded(&self, modified: bool) -> Result<Vec<PathBuf>, EditorError> {
        let files = self.call(document::Files { modified }).await?.into_iter();
        Ok(files.filter_map(LuaText::into_string).map(Into::into).collect())
    }

    fn is_gone(&self) -> bool {
        self.client.is_gone()
    }

    async fn find(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
    ) -> Result<Option<Found>, EditorError> {
        // Agents send paths as JSON, so a path that is not UTF-8 cannot come from them.
        let Some(path) = path.to_str() else { return Ok(None) };
        let (known, since) = known.map(|(id, tick)| (id.0, tick)).unzip();
        self.call(document::Find { path, known, since }).await?.map(found).transpose()
    }

    async fn find_with_lines(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
        lines: Range<usize>,
    ) -> Result<Option<(Found, Option<Lines>)>, EditorError> {
        let Some(path) = path.to_str() else { return Ok(None) };
        let (known, since) = known.map(|(id, tick)| (id.0, tick)).unzip();
        let (from, to) = (lines.start, lines.end);
        let call = document::Glance { path, known, since, from, to };
        let Some(document::Glanced { facts, part }) = self.call(call).await? else {
            return Ok(None);
        };
        let part = part.map(|part| slice(part).map(|slice| slice.lines)).transpose()?;
        Ok(Some((found(facts)?, part)))
    }

    async fn snapshot(&self, id: BufferId) -> Result<(Buffer, Text), EditorError> {
        for _ in 0..MAX_SNAPSHOT_ATTEMPTS {
            if let Some(snapshot) = self.try_snapshot(id).await? {
                return Ok(snapshot);
            }
        }
        Err(EditorError::KeepsChanging)
    }

    async fn change(
        &self,
        id: BufferId,
        tick: i64,
        edits: &[Edit],
        then: &Then,
    ) -> Result<Outcome, EditorError> {
        let (buf, edits) = (id.0, edits.iter().map(edit).collect());
        outcome(match then {
            Then::Nothing | Then::Unmodified => {
                let unmodified = *then == Then::Unmodified;
                self.call(document::Apply { buf, tick, edits, unmodified }).await?
            }
            Then::Save { eol } => {
                self.call(document::Write { buf, tick, edits, eol: *eol }).await?
            }
            Then::FollowDisk { facts, shape, encoding, modified, unresolved, by } => {
                let call = document::FollowDisk {
                    buf,
                    tick,
                    edits,
                    file: file(*facts),
                    shape: shape_of(*shape, encoding),
                    modified: *modified,
                    unresolved: unresolved.iter().map(unresolved_hunk).collect(),
                    turn: by.as_ref().map(turn_name).unwrap_or_default(),
                };
                self.call(call).await?
            }
        })
    }

    async fn mark_modified(&self, id: BufferId, tick: i64) -> Result<(), EditorError> {
        self.call(document::MarkModified { buf: id.0, tick }).await.map(drop)
    }

    async fn add_undo_step(
        &self,
        id: BufferId,
        tick: i64,
        back: &[Edit],
        forth: &[Edit],
    ) -> Result<(), EditorError> {
        let (back, forth) = (back.iter().map(edit).collect(), forth.iter().map(edit).collect());
        self.call(document::AsStep { buf: id.0, tick, back, forth }).await.map(drop)
    }

    async fn conflicts_are_undone(
        &self,
        id: BufferId,
        turn: &Author,
        undone: bool,
    ) -> Result<(), EditorError> {
        let turn = turn_name(turn);
        self.call(document::ConflictsUndone { buf: id.0, turn, undone }).await.map(drop)
    }

    async fn file_gone(&self, id: BufferId) -> Result<(), EditorError> {
        self.call(document::FileGone { buf: id.0 }).await.map(drop)
    }

    async fn decode(&self, bytes: &[u8], encoding: &str) -> Result<Option<String>, EditorError> {
        let bytes = LuaBytes(bytes.to_vec());
        self.call(document::Decode { bytes, encoding }).await?.map(text).transpose()
    }

    async fn encode(&self, content: &str, encoding: &str) -> Result<Encoded, EditorError> {
        match self.call(document::Encode { text: content, encoding }).await? {
            document::Encoded { bytes: Some(LuaBytes(bytes)), .. } => Ok(Encoded::Bytes(bytes)),
            document::Encoded { lacks: Some(lacks), .. } => Ok(Encoded::Lacks(text(lacks)?)),
            document::Encoded { .. } => Err(unexpected("encode", "lacks: missing")),
        }
    }

    async fn provided_text(
        &self,
        path: &Path,
        line: Option<u32>,
        limit: Option<u32>,
    ) -> Option<String> {
        let path = path.to_str().filter(|_| self.providers.offered().reads)?;
        let call = |id| document::ProvideText { id, path, line, limit };
        self.providers.ask(&self.client, call).await.text
    }

    async fn provided_write(&self, path: &Path, content: &str) -> bool {
        let Some(path) = path.to_str().filter(|_| self.providers.offered().writes) else {
            return false;
        };
        let call = |id| document::ProvideWrite { id, path, content };
        self.providers.ask(&self.client, call).await.written
    }
}
