//! `fs/read_text_file`: the text of a document as it would be saved now. It changes nothing but
//! what is known.

use std::sync::Arc;

use super::ReadRequest;
use super::disk;
use super::document::{Document, Known, beside};
use super::editor::{BufferId, Found};
use super::error::FileError;
use crate::edit::Text;
use crate::session::ids::SessionId;

/// Lines that were answered before the text they stand in was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partial {
    id: BufferId,
    tick: i64,
}

/// Up to so many lines are fetched by themselves where the whole text is not at hand.
const FEW_LINES: usize = 2_000;

/// Of a file that is not loaded, so many bytes are read ahead of a change by the agent itself.
const MOST_NOTED: u64 = 4 * 1024 * 1024;

impl Document {
    pub(super) async fn read(
        &mut self,
        request: &ReadRequest,
    ) -> Result<(String, Option<Partial>), FileError> {
        let from = request.line.map_or(0, |line| line.saturating_sub(1) as usize);
        let limit = request.limit.map(|limit| limit as usize);
        let found = self.find().await?;
        let text = match found {
            Some(found) if found.buffer.modified => {
                if let Some(count) = limit.filter(|&count| count <= FEW_LINES)
                    && !self.is_current(&found)
                {
                    return self.read_lines(&found, from, count).await;
                }
                self.text_of(found).await?.text
            }
            found => {
                let buffer = found.as_ref().map(|found| &found.buffer);
                let disk = self.on_disk(buffer).await?;
                disk.ok_or_else(|| FileError::Missing(self.path.clone()))?.text
            }
        };
        self.known.insert(request.session.clone(), Known::new(Arc::clone(&text)));
        let content = match limit {
            Some(count) if count <= FEW_LINES => text.excerpt(from, limit),
            _ => beside(move || text.excerpt(from, limit)).await?,
        };
        self.reject_nul(content).map(|content| (content, None))
    }

    async fn read_lines(
        &mut self,
        found: &Found,
        from: usize,
        count: usize,
    ) -> Result<(String, Option<Partial>), FileError> {
        let buffer = &found.buffer;
        let lines = self.editor.lines(buffer.id, from, from.saturating_add(count)).await?;
        let partial = Partial { id: buffer.id, tick: lines.tick };
        let mut shape = buffer.shape;
        // The last line here has its end, unless it is the last of all.
        shape.final_newline |= !lines.is_end;
        let text = Text::from_body(lines.text, shape, lines.count == 0 || buffer.empty);
        self.reject_nul(text.content()).map(|content| (content, Some(partial)))
    }

    /// Notes the whole text of which `session` has read a part, unless the user was quicker.
    pub(super) async fn remember(&mut self, session: SessionId, partial: Partial) {
        match self.open().await {
            Ok(Some(open)) if open.buffer.id == partial.id && open.buffer.tick == partial.tick => {
                self.known.insert(session, Known::new(open.text));
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "a text read in part is not known as a whole"),
        }
    }

    /// Notes that `session` has read the file from the disk itself.
    pub(super) async fn seen(&mut self, session: &SessionId) -> Result<(), FileError> {
        let found = self.find().await?;
        let buffer = found.as_ref().map(|found| &found.buffer);
        if let Some(disk) = self.on_disk(buffer).await? {
            self.known.insert(session.clone(), Known::new(disk.text));
        }
        Ok(())
    }

    /// Notes the text Neovim last read or wrote, while it is still what is on disk: what an agent changes there later
    /// is told apart from what the user has not saved.
    pub(super) async fn note(&mut self) -> Result<(), FileError> {
        let facts = disk::facts(&self.path);
        if facts.is_none() || facts == self.synced.as_ref().map(|synced| synced.facts) {
            return Ok(());
        }
        let Some(found) = self.find().await? else { return Ok(()) };
        let Some(file) = self.on_disk(Some(&found.buffer)).await? else { return Ok(()) };
        if found.buffer.time == Some(file.facts.time) {
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
