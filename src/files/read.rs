//! `fs/read_text_file`: the text of a document as it would be saved now. It changes nothing but
//! what is known.

use std::sync::Arc;

use super::ReadRequest;
use super::disk;
use super::document::{Document, Known, Open, beside};
use super::editor::{Buffer, BufferId, EditorError, Lines};
use super::error::FileError;
use crate::edit::Text;
use crate::session::ids::SessionId;

/// Lines that were answered before the text they stand in was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partial {
    pub(super) id: BufferId,
    tick: i64,
    /// Who has read them.
    sessions: Vec<SessionId>,
}

/// Up to so many lines are fetched by themselves where the whole text is not at hand.
const FEW_LINES: usize = 2_000;

/// Of a file that is not loaded, so many bytes are read ahead of a change by the agent itself.
const MOST_NOTED: u64 = 4 * 1024 * 1024;

/// Of a file that is loaded.
const MOST_KEPT: u64 = 64 * 1024 * 1024;

impl Document {
    /// What is to be fetched now, is in the buffer beside the text.
    pub(super) async fn read(
        &mut self,
        request: &ReadRequest,
    ) -> Result<(String, Option<BufferId>), FileError> {
        let from = request.line.map_or(0, |line| line.saturating_sub(1) as usize);
        let limit = request.limit.map(|limit| limit as usize);
        let few = limit.filter(|&count| count <= FEW_LINES);
        let (found, part) = match few {
            Some(count) => self.glance(from..from.saturating_add(count)).await?,
            None => (self.find().await?, None),
        };
        let text = match (found, part) {
            (Some(found), Some(all)) if all.count == found.buffer.lines => {
                let text = Text::from_body(all.text, found.buffer.shape, found.buffer.empty);
                self.keep(found.buffer, Arc::new(text)).text
            }
            (Some(found), Some(part)) => return self.part(&request.session, &found.buffer, part),
            (Some(found), None) if found.buffer.modified => self.text_of(found).await?.text,
            (found, _) => {
                let buffer = found.as_ref().map(|found| &found.buffer);
                let disk = self.on_disk(buffer).await?;
                disk.ok_or_else(|| FileError::Missing(self.path.clone()))?.text
            }
        };
        self.known.insert(request.session.clone(), Known::new(Arc::clone(&text)));
        let content = match few {
            Some(_) => text.excerpt(from, limit),
            None => beside(move || text.excerpt(from, limit)).await?,
        };
        self.reject_nul(content).map(|content| (content, None))
    }

    /// Lines by themselves. The whole text they stand in is fetched afterwards, once for all who read parts of it.
    fn part(
        &mut self,
        session: &SessionId,
        buffer: &Buffer,
        lines: Lines,
    ) -> Result<(String, Option<BufferId>), FileError> {
        let mut shape = buffer.shape;
        // The last line here has its end, unless it is the last of all.
        shape.final_newline |= !lines.is_end;
        let text = Text::from_body(lines.text, shape, lines.count == 0 || buffer.empty);
        let content = self.reject_nul(text.content())?;
        let (id, tick, session) = (buffer.id, lines.tick, session.clone());
        match &mut self.partial {
            Some(open) if open.id == id && open.tick == tick => {
                open.sessions.push(session);
                Ok((content, None))
            }
            _ => {
                self.partial = Some(Partial { id, tick, sessions: vec![session] });
                Ok((content, Some(id)))
            }
        }
    }

    /// The whole text of which sessions have read parts has come, if it still is the one: a user may be quicker.
    pub(super) fn remember(&mut self, snapshot: Result<(Buffer, Text), EditorError>) {
        match snapshot {
            Ok((buffer, text)) if self.is_awaited(&buffer) => {
                let open = self.keep(buffer, Arc::new(text));
                self.know_partial(&open);
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "a text read in part is not known as a whole"),
        }
    }

    /// Fetches the whole text of which sessions have read parts, if that is still on its way: what they write refers to it.
    pub(super) async fn finish_reading(&mut self) -> Result<(), FileError> {
        if self.partial.is_none() {
            return Ok(());
        }
        match self.open().await? {
            Some(open) if self.is_awaited(&open.buffer) => self.know_partial(&open),
            _ => self.partial = None,
        }
        Ok(())
    }

    fn is_awaited(&self, buffer: &Buffer) -> bool {
        let awaited = |partial: &Partial| (partial.id, partial.tick) == (buffer.id, buffer.tick);
        self.partial.as_ref().is_some_and(awaited)
    }

    fn know_partial(&mut self, open: &Open) {
        for session in self.partial.take().into_iter().flat_map(|partial| partial.sessions) {
            self.known.insert(session, Known::new(Arc::clone(&open.text)));
        }
    }

    /// Notes that `session` has read the file from the disk itself.
    pub(super) async fn seen(&mut self, session: &SessionId) -> Result<(), FileError> {
        let found = self.find().await?;
        let buffer = found.as_ref().map(|found| &found.buffer);
        if let Some(disk) = self.on_disk(buffer).await? {
            self.seen.insert(session.clone(), Arc::clone(&disk.text));
            self.known.insert(session.clone(), Known::new(disk.text));
        }
        Ok(())
    }

    /// Notes the text Neovim last read or wrote, while it is still what is on disk: what an agent changes there later
    /// is told apart from what the user has not saved.
    pub(super) async fn note(&mut self) -> Result<(), FileError> {
        let facts = disk::facts(&self.path);
        let is_known = facts == self.synced.as_ref().map(|synced| synced.facts);
        if is_known || facts.is_none_or(|facts| facts.size > MOST_KEPT) {
            return Ok(());
        }
        let Some(found) = self.find().await? else { return Ok(()) };
        let Some(file) = self.on_disk(Some(&found.buffer)).await? else { return Ok(()) };
        if found.buffer.stamp == Some(file.facts.stamp()) {
            self.synced = Some(file);
        }
        Ok(())
    }

    /// Has the text at hand before an agent changes it.
    pub(super) async fn prepare(&mut self) -> Result<(), FileError> {
        if self.open().await?.is_some() {
            return Ok(());
        }
        let facts = disk::facts(&self.path);
        let is_known = facts.is_some() && facts == self.synced.as_ref().map(|synced| synced.facts);
        self.was_missing = disk::is_missing(&self.path);
        if !is_known && facts.is_some_and(|facts| facts.size <= MOST_NOTED) {
            self.synced = self.on_disk(None).await?;
        }
        Ok(())
    }

    fn reject_nul(&self, content: String) -> Result<String, FileError> {
        if content.contains('\0') {
            return Err(self.not_text("it holds NUL bytes".to_owned()));
        }
        Ok(content)
    }
}
