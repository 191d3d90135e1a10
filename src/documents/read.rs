//! `fs/read_text_file`: the text of a document as it would be saved now. It changes nothing but
//! what is known.

use std::ops::Range;
use std::sync::Arc;

use super::ReadRequest;
use super::disk::{self, Excerpt};
use super::document::{Ahead, Document, Known, Open, beside};
use super::editor::{Buffer, BufferId, EditorError, Encoding, Lines};
use super::error::FileError;
use super::limits::{MOST_AHEAD, MOST_EXCERPT, MOST_FOR_LINES, MOST_SKIPPED, MOST_TEXT, megabytes};
use super::on_disk::OnDisk;
use crate::edit::Text;
use crate::session::author::SessionKey;

/// Lines that were answered before the text they stand in was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partial {
    pub(super) id: BufferId,
    tick: i64,
    /// Who has read them.
    sessions: Vec<SessionKey>,
}

impl Partial {
    /// One of them needs it no more.
    pub(super) fn forget(&mut self, session: &SessionKey) {
        self.sessions.retain(|it| it != session);
    }
}

/// Up to so many lines are fetched by themselves where the whole text is not at hand.
const FEW_LINES: usize = 2_000;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

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
        let known = match (found, part) {
            (Some(found), Some(all)) if all.count == found.buffer.lines => {
                let text = Text::from_body(all.text, found.buffer.shape, found.buffer.empty);
                Known::new(self.keep(found.buffer, Arc::new(text)).text)
            }
            (Some(found), Some(part)) => return self.part(&request.session, &found.buffer, part),
            (Some(found), None) if found.buffer.modified => {
                Known::new(self.text_of(found).await?.text)
            }
            (found, _) => {
                let buffer = found.as_ref().map(|found| &found.buffer);
                if (request.line.is_some() || limit.is_some())
                    && let Some(content) =
                        self.glimpse(&request.session, from..to(from, limit), buffer).await?
                {
                    return Ok((content, None));
                }
                let disk = self.on_disk(buffer).await?;
                let disk = disk.ok_or_else(|| FileError::Missing(self.path.clone()))?;
                self.known_from(&request.session, &disk, buffer)
            }
        };
        let text = Arc::clone(&known.left);
        self.learn(request.session.clone(), known);
        let content = match few {
            Some(_) => text.excerpt(from, limit),
            None => beside(move || text.excerpt(from, limit)).await?,
        };
        self.reject_nul(content).map(|content| (content, None))
    }

    /// What a session read or sent last.
    pub(super) fn learn(&mut self, session: SessionKey, known: Known) {
        self.glimpsed.remove(&session);
        self.known.insert(session, known);
    }

    /// What a session knows that has read the file as it stands on the disk.
    fn known_from(&self, session: &SessionKey, disk: &OnDisk, buffer: Option<&Buffer>) -> Known {
        // The user may have saved it, and we are not told yet.
        let is_saved = buffer.is_some_and(|it| it.stamp == Some(disk.facts.stamp()));
        let synced = self.synced.as_ref().filter(|synced| synced.facts != disk.facts);
        let ahead = synced.filter(|_| !is_saved);
        let ahead = ahead.map(|synced| Ahead {
            of: synced.facts,
            before: self.known.get(session).and_then(|known| known.before(Some(synced))),
        });
        Known { ahead, ..Known::new(Arc::clone(&disk.text)) }
    }

    /// Lines of a file that is too large to be held for them; `None` of any other. Of which text they are is known by the
    /// file's facts.
    async fn glimpse(
        &mut self,
        session: &SessionKey,
        lines: Range<usize>,
        buffer: Option<&Buffer>,
    ) -> Result<Option<String>, FileError> {
        let size = self.facts().await?.map_or(0, |facts| facts.size);
        if size <= MOST_FOR_LINES {
            return Ok(None);
        }
        let encoding = buffer.map(|buffer| buffer.encoding.clone());
        if encoding.as_ref().is_some_and(|it| !it.has_plain_lines()) {
            return Ok(None);
        }
        let first = lines.start + 1;
        let found =
            self.disk(move |path, call| disk::excerpt(path, lines, MOST_SKIPPED, call)).await?;
        let found = found.map_err(|error| FileError::reading(self.path.clone(), &error))?;
        let large = |reason| Err(FileError::Large { path: self.path.clone(), reason });
        let (mut bytes, facts) = match found {
            Some(Excerpt::Lines(bytes, facts)) => (bytes, facts),
            // As a whole it may be text in another encoding.
            Some(Excerpt::Nul | Excerpt::TooLong) if size <= MOST_TEXT => return Ok(None),
            Some(Excerpt::Nul) => return Err(self.not_text("it holds NUL bytes".to_owned())),
            Some(Excerpt::TooLong) => {
                let most = megabytes(MOST_EXCERPT as u64);
                return large(format!(
                    "was not read: the lines asked for have more than {most}: ask for fewer \
                     (`limit`), or use another tool"
                ));
            }
            Some(Excerpt::TooDeep) => {
                let most = megabytes(MOST_SKIPPED);
                return large(format!(
                    "was not read: line {first} lies beyond its first {most}: use another tool"
                ));
            }
            None => return Ok(None),
        };
        if first == 1 && bytes.starts_with(MARK) {
            bytes.drain(..MARK.len());
        }
        let encoding = encoding.unwrap_or_else(|| Encoding::of(&bytes));
        let content = beside(move || encoding.decode(bytes)).await?;
        let content = content.ok_or_else(|| self.not_text("it is not UTF-8".to_owned()))?;
        if let Some(known) = self.known.get_mut(session) {
            known.text = None;
        }
        self.glimpsed.insert(session.clone(), facts);
        Ok(Some(content))
    }

    /// Fetches the text whose lines a session has read by themselves, for what it writes refers to that. Refused if it is
    /// another one by now.
    pub(super) async fn know_glimpsed(&mut self, session: &SessionKey) -> Result<(), FileError> {
        let Some(facts) = self.glimpsed.get(session).copied() else { return Ok(()) };
        let found = self.find().await?;
        match self.on_disk(found.as_ref().map(|found| &found.buffer)).await? {
            Some(disk) if disk.facts == facts => {
                self.learn(session.clone(), Known::new(disk.text));
                Ok(())
            }
            _ => Err(self.conflict(&[], false)),
        }
    }

    /// Lines by themselves. The whole text they stand in is fetched afterwards, once for all who read parts of it.
    fn part(
        &mut self,
        session: &SessionKey,
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
            self.learn(session, Known::new(Arc::clone(&open.text)));
        }
    }

    /// Notes that `session` has read the file from the disk itself.
    pub(super) async fn seen(&mut self, session: &SessionKey) -> Result<(), FileError> {
        let found = self.find().await?;
        let buffer = found.as_ref().map(|found| &found.buffer);
        let facts = self.facts().await?;
        if let Some(facts) = facts.filter(|facts| facts.size > MOST_FOR_LINES) {
            if let Some(known) = self.known.get_mut(session) {
                known.text = None;
            }
            self.glimpsed.insert(session.clone(), facts);
        } else if let Some(disk) = self.on_disk(buffer).await? {
            let known = self.known_from(session, &disk, buffer);
            self.learn(session.clone(), known);
        }
        Ok(())
    }

    /// The same where only tools of the agent read through us, without telling its model.
    pub(super) async fn seen_by_model(&mut self, session: &SessionKey) -> Result<(), FileError> {
        self.seen(session).await?;
        if let Some(text) = self.known.get(session).and_then(|known| known.text.clone()) {
            self.models.insert(session.clone(), text);
        }
        Ok(())
    }

    /// Notes the text Neovim last read or wrote, while it is still what is on disk: what an agent changes there later
    /// is told apart from what the user has not saved.
    pub(super) async fn note(&mut self) -> Result<(), FileError> {
        let facts = self.facts().await?;
        let is_known = facts == self.synced.as_ref().map(|synced| synced.facts);
        if is_known || facts.is_none_or(|facts| facts.size > MOST_TEXT) {
            return Ok(());
        }
        let Some(found) = self.find().await? else { return Ok(()) };
        let Some(file) = self.on_disk(Some(&found.buffer)).await? else { return Ok(()) };
        if found.buffer.stamp == Some(file.facts.stamp()) && self.holds(found, &file).await? {
            self.synced = Some(file);
        }
        Ok(())
    }

    /// Has the text at hand before an agent changes it.
    pub(super) async fn prepare(&mut self) -> Result<(), FileError> {
        if self.open().await?.is_some() {
            return Ok(());
        }
        let facts = self.facts().await?;
        let is_known = facts.is_some() && facts == self.synced.as_ref().map(|synced| synced.facts);
        self.was_missing = self.is_missing().await?;
        if !is_known && facts.is_some_and(|facts| facts.size <= MOST_AHEAD) {
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

/// The line after the last of so many.
fn to(from: usize, limit: Option<usize>) -> usize {
    limit.map_or(usize::MAX, |limit| from.saturating_add(limit))
}
