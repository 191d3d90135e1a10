//! `fs/read_text_file`: returns the text of a document as saving it now would write it, and records what each session
//! has read. Changes neither buffers nor files.

use std::ops::Range;

use super::agent_view::{AgentView, PartialRead, ReadAhead};
use super::blocking::run_blocking;
use super::disk::{self, Excerpt};
use super::disk_text::DiskText;
use super::document::{Document, LoadedBuffer};
use super::editor::{Buffer, BufferId, EditorError, Lines};
use super::encoding::Encoding;
use super::error::DocumentError;
use super::limits::{
    MAX_EXCERPT_SIZE, MAX_PRELOAD_SIZE, MAX_SKIPPED_SIZE, MAX_TEXT_SIZE, MAX_WHOLE_SIZE, megabytes,
};
use super::requests::ReadRequest;
use crate::edit::Text;
use crate::session::author::SessionKey;

/// If no more lines than this are requested and the text is not cached, they are fetched first, and the whole text
/// afterwards.
const FEW_LINES: usize = 2_000;

/// The UTF-8 byte order mark.
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

impl Document {
    /// Returns the lines requested. If a buffer is returned too, its whole text is still to be fetched and passed to
    /// [`Self::finish_partial_read`].
    pub(super) async fn read(
        &mut self,
        request: &ReadRequest,
    ) -> Result<(String, Option<BufferId>), DocumentError> {
        let from = request.line.map_or(0, |line| line.saturating_sub(1) as usize);
        let limit = request.limit.map(|limit| limit as usize);
        let few = limit.filter(|&count| count <= FEW_LINES);
        let (found, part) = match few {
            Some(count) => self.find_with_lines(from..from.saturating_add(count)).await?,
            None => (self.find().await?, None),
        };
        let view = match (found, part) {
            (Some(found), Some(all)) if all.count == found.buffer.lines => {
                let text = Text::from_body(all.text, found.buffer.shape, found.buffer.empty);
                let text = self.revisions.snapshot(text);
                AgentView::new(self.cache(found.buffer, text).text)
            }
            (Some(found), Some(part)) => {
                return self.read_part(&request.session, &found.buffer, part);
            }
            (Some(found), None) if found.buffer.modified => {
                AgentView::new(self.text_of(found).await?.text)
            }
            (found, _) => {
                let buffer = found.as_ref().map(|found| &found.buffer);
                if (request.line.is_some() || limit.is_some())
                    && let Some(content) = self
                        .read_excerpt(&request.session, from..end_line(from, limit), buffer)
                        .await?
                {
                    return Ok((content, None));
                }
                let disk = self.read_file(buffer).await?;
                let disk = disk.ok_or_else(|| DocumentError::Missing(self.path.clone()))?;
                self.view_of_disk(&request.session, &disk, buffer)
            }
        };
        let text = view.last_written.clone();
        self.set_view(request.session.clone(), view);
        let content = match few {
            Some(_) => text.excerpt(from, limit),
            None => run_blocking(move || text.excerpt(from, limit)).await?,
        };
        self.check_no_nul(content).map(|content| (content, None))
    }

    /// Replaces what a session knows of the file.
    pub(super) fn set_view(&mut self, session: SessionKey, view: AgentView) {
        self.excerpt_facts.remove(&session);
        self.views.insert(session, view);
    }

    /// Returns what a session knows once it has read the file on disk.
    fn view_of_disk(
        &self,
        session: &SessionKey,
        disk: &DiskText,
        buffer: Option<&Buffer>,
    ) -> AgentView {
        // If Neovim has written it, the user has saved, and the event is still on its way.
        let is_saved = buffer.is_some_and(|buffer| buffer.stamp == Some(disk.facts.stamp()));
        let baseline = self.baseline.as_ref().filter(|baseline| baseline.facts != disk.facts);
        let read_ahead = baseline.filter(|_| !is_saved).map(|baseline| ReadAhead {
            baseline: baseline.facts,
            previous: self.views.get(session).and_then(|view| view.known_at(Some(baseline))),
        });
        AgentView { read_ahead, ..AgentView::new(disk.text.clone()) }
    }

    /// Reads lines of a file that is too large to be read as a whole for them. The facts of the file are recorded to
    /// identify the version. `None` for other files, and if the lines can only be found by decoding the whole file.
    async fn read_excerpt(
        &mut self,
        session: &SessionKey,
        lines: Range<usize>,
        buffer: Option<&Buffer>,
    ) -> Result<Option<String>, DocumentError> {
        let size = self.facts().await?.map_or(0, |facts| facts.size);
        if size <= MAX_WHOLE_SIZE {
            return Ok(None);
        }
        let encoding = buffer.map(|buffer| buffer.encoding.clone());
        if encoding.as_ref().is_some_and(|encoding| !encoding.can_split_bytes()) {
            return Ok(None);
        }
        let first = lines.start + 1;
        let found = self
            .call_disk(move |path, call| disk::excerpt(path, lines, MAX_SKIPPED_SIZE, call))
            .await?;
        let found = found.map_err(|error| DocumentError::read_failed(self.path.clone(), &error))?;
        let large = |reason| Err(DocumentError::Large { path: self.path.clone(), reason });
        let (mut bytes, facts) = match found {
            Some(Excerpt::Lines(bytes, facts)) => (bytes, facts),
            // The whole file may be text in another encoding.
            Some(Excerpt::Nul | Excerpt::TooLong) if size <= MAX_TEXT_SIZE => return Ok(None),
            Some(Excerpt::Nul) => return Err(self.not_text("it holds NUL bytes".to_owned())),
            Some(Excerpt::TooLong) => {
                let max = megabytes(MAX_EXCERPT_SIZE as u64);
                return large(format!(
                    "was not read: the lines asked for have more than {max}: ask for fewer \
                     (`limit`), or use another tool"
                ));
            }
            Some(Excerpt::TooDeep) => {
                let max = megabytes(MAX_SKIPPED_SIZE);
                return large(format!(
                    "was not read: line {first} lies beyond its first {max}: use another tool"
                ));
            }
            None => return Ok(None),
        };
        if first == 1 && bytes.starts_with(UTF8_BOM) {
            bytes.drain(..UTF8_BOM.len());
        }
        let encoding = encoding.unwrap_or_else(|| Encoding::detect(&bytes));
        let content = run_blocking(move || encoding.decode(bytes)).await?;
        let content = content.ok_or_else(|| self.not_text("it is not UTF-8".to_owned()))?;
        if let Some(view) = self.views.get_mut(session) {
            view.merge_base = None;
        }
        self.excerpt_facts.insert(session.clone(), facts);
        Ok(Some(content))
    }

    /// Reads the whole file of which a session has only read some lines, as the merge base for what it writes. Fails
    /// with a conflict if the file has changed since.
    pub(super) async fn load_excerpted(
        &mut self,
        session: &SessionKey,
    ) -> Result<(), DocumentError> {
        let Some(facts) = self.excerpt_facts.get(session).copied() else { return Ok(()) };
        let found = self.find().await?;
        match self.read_file(found.as_ref().map(|found| &found.buffer)).await? {
            Some(disk) if disk.facts == facts => {
                self.set_view(session.clone(), AgentView::new(disk.text));
                Ok(())
            }
            _ => Err(self.conflict(&[], false)),
        }
    }

    /// Answers a read with lines that were fetched without the rest of the text. Returns the buffer unless its whole
    /// text is being fetched already for another session.
    fn read_part(
        &mut self,
        session: &SessionKey,
        buffer: &Buffer,
        lines: Lines,
    ) -> Result<(String, Option<BufferId>), DocumentError> {
        let mut shape = buffer.shape;
        // A line that is not the last of the buffer has a line end.
        shape.final_newline |= !lines.is_end;
        let text = Text::from_body(lines.text, shape, lines.count == 0 || buffer.empty);
        let content = self.check_no_nul(text.content())?;
        let (id, tick, session) = (buffer.id, lines.tick, session.clone());
        match &mut self.partial_read {
            Some(partial) if partial.id == id && partial.tick == tick => {
                partial.sessions.push(session);
                Ok((content, None))
            }
            _ => {
                self.partial_read = Some(PartialRead { id, tick, sessions: vec![session] });
                Ok((content, Some(id)))
            }
        }
    }

    /// Records the whole text of a buffer for the sessions that have read lines of it, unless the buffer has changed
    /// since.
    pub(super) fn finish_partial_read(&mut self, snapshot: Result<(Buffer, Text), EditorError>) {
        match snapshot {
            Ok((buffer, text)) if self.is_awaited(&buffer) => {
                let loaded = self.cache(buffer, self.revisions.snapshot(text));
                self.record_partial_readers(&loaded);
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "a text read in part is not known as a whole"),
        }
    }

    /// If the whole text for a partial read has not arrived yet, fetches it now, as the merge base for what sessions
    /// write.
    pub(super) async fn complete_partial_read(&mut self) -> Result<(), DocumentError> {
        if self.partial_read.is_none() {
            return Ok(());
        }
        match self.buffer_with_text().await? {
            Some(loaded) if self.is_awaited(&loaded.buffer) => self.record_partial_readers(&loaded),
            _ => self.partial_read = None,
        }
        Ok(())
    }

    /// Whether the buffer still is as it was when sessions read lines of it.
    fn is_awaited(&self, buffer: &Buffer) -> bool {
        let is_same =
            |partial: &PartialRead| (partial.id, partial.tick) == (buffer.id, buffer.tick);
        self.partial_read.as_ref().is_some_and(is_same)
    }

    fn record_partial_readers(&mut self, loaded: &LoadedBuffer) {
        let partial = self.partial_read.take().into_iter();
        for session in partial.flat_map(|partial| partial.sessions) {
            self.set_view(session, AgentView::new(loaded.text.clone()));
        }
    }

    /// Records that `session` has read the file on disk itself.
    pub(super) async fn agent_read_disk(
        &mut self,
        session: &SessionKey,
    ) -> Result<(), DocumentError> {
        let found = self.find().await?;
        let buffer = found.as_ref().map(|found| &found.buffer);
        let facts = self.facts().await?;
        if let Some(facts) = facts.filter(|facts| facts.size > MAX_WHOLE_SIZE) {
            if let Some(view) = self.views.get_mut(session) {
                view.merge_base = None;
            }
            self.excerpt_facts.insert(session.clone(), facts);
        } else if let Some(disk) = self.read_file(buffer).await? {
            let view = self.view_of_disk(session, &disk, buffer);
            self.set_view(session.clone(), view);
        }
        Ok(())
    }

    /// Like [`Self::agent_read_disk`], for an agent whose tools read through us without showing the text to the model.
    pub(super) async fn model_read_disk(
        &mut self,
        session: &SessionKey,
    ) -> Result<(), DocumentError> {
        self.agent_read_disk(session).await?;
        if let Some(text) = self.views.get(session).and_then(|view| view.merge_base.clone()) {
            self.model_bases.insert(session.clone(), text);
        }
        Ok(())
    }

    /// Records the file that Neovim last read or wrote, while it is still on disk. Later changes of an agent on disk
    /// can then be distinguished from the user's unsaved changes.
    pub(super) async fn record_baseline(&mut self) -> Result<(), DocumentError> {
        let facts = self.facts().await?;
        let is_known = facts == self.baseline.as_ref().map(|baseline| baseline.facts);
        if is_known || facts.is_none_or(|facts| facts.size > MAX_TEXT_SIZE) {
            return Ok(());
        }
        let Some(found) = self.find().await? else { return Ok(()) };
        let Some(file) = self.read_file(Some(&found.buffer)).await? else { return Ok(()) };
        let is_stamped = found.buffer.stamp == Some(file.facts.stamp());
        if is_stamped && self.is_modified_or_has_text_of(found, &file).await? {
            self.baseline = Some(file);
        }
        Ok(())
    }

    /// Caches the text of the buffer, or reads the file, before an agent changes it.
    pub(super) async fn preload(&mut self) -> Result<(), DocumentError> {
        if self.buffer_with_text().await?.is_some() {
            return Ok(());
        }
        let facts = self.facts().await?;
        let is_known =
            facts.is_some() && facts == self.baseline.as_ref().map(|baseline| baseline.facts);
        self.was_missing = self.is_missing().await?;
        if !is_known && facts.is_some_and(|facts| facts.size <= MAX_PRELOAD_SIZE) {
            self.baseline = self.read_file(None).await?;
            self.preloaded = self.baseline.as_ref().map(|file| file.facts);
        }
        Ok(())
    }

    /// Returns the content, or an error if it contains NUL bytes.
    fn check_no_nul(&self, content: String) -> Result<String, DocumentError> {
        if content.contains('\0') {
            return Err(self.not_text("it holds NUL bytes".to_owned()));
        }
        Ok(content)
    }
}

/// Returns the exclusive end of a range of `limit` lines.
fn end_line(from: usize, limit: Option<usize>) -> usize {
    limit.map_or(usize::MAX, |limit| from.saturating_add(limit))
}
