//! The text of a file itself: what its bytes are as text, in the eyes of the Neovim that has it
//! loaded. It writes nothing and asks Neovim only to convert.

use std::path::Path;
use std::sync::Arc;

use super::disk::{self, Bytes, DiskFacts};
use super::disks::Call;
use super::document::{Document, beside};
use super::editor::Buffer;
use super::encoding::{self, Encoding};
use super::error::FileError;
use super::limits::MOST_TEXT;
use crate::edit::{Hunk, LineEnding, Text};

/// The text of the file itself.
#[derive(Debug, Clone)]
pub(super) struct OnDisk {
    pub(super) text: Arc<Text>,
    pub(super) facts: DiskFacts,
    pub(super) encoding: Encoding,
}

/// As what the bytes of a file are to be taken. A file that has changed may be of another kind
/// now, as one that went through `dos2unix`, and Neovim would see that on reading it again. But
/// what the user has told Neovim to take a file for counts while it would find the same as then.
struct Lens {
    /// The buffer's, or those of the text it began with, where its own may be unsaved changes.
    encoding: Encoding,
    ending: Option<LineEnding>,
    /// What Neovim looks for; nothing is looked for in a file that is as Neovim read it.
    formats: Vec<LineEnding>,
    finds_encoding: bool,
    before: Option<OnDisk>,
}

impl Lens {
    fn new(buffer: &Buffer, synced: Option<&OnDisk>, facts: DiskFacts) -> Self {
        let before = synced.cloned();
        if !buffer.modified {
            let ending = Some(buffer.shape.ending);
            let encoding = buffer.encoding.clone();
            let untouched = buffer.stamp == Some(facts.stamp());
            let formats = if untouched { Vec::new() } else { buffer.formats.clone() };
            let finds_encoding = buffer.finds_encoding && !untouched;
            return Self { encoding, ending, formats, finds_encoding, before };
        }
        let encoding = synced.map_or(&buffer.encoding, |synced| &synced.encoding).clone();
        let ending = synced.map(|synced| synced.text.shape().ending);
        let (formats, finds_encoding) = (buffer.formats.clone(), buffer.finds_encoding);
        Self { encoding, ending, formats, finds_encoding, before }
    }

    fn encoding_of(&self, bytes: &[u8]) -> Encoding {
        let found = Encoding::of(bytes);
        let changed = match (&self.encoding, &found) {
            _ if !self.finds_encoding => false,
            (Encoding::Utf8, _) => true,
            // Latin1 is what is found where nothing else is, and ASCII is all of them.
            (_, Encoding::Latin1) => false,
            (Encoding::Latin1 | Encoding::Other(_), Encoding::Utf8) => {
                !bytes.is_ascii() && !self.looked_like_utf8()
            }
            (_, Encoding::Utf8) => !bytes.contains(&0),
            _ => true,
        };
        if changed { found } else { self.encoding.clone() }
    }

    /// Whether the bytes were UTF-8 all along and the user has told Neovim otherwise.
    fn looked_like_utf8(&self) -> bool {
        let before = self.before.as_ref().filter(|before| before.encoding == Encoding::Latin1);
        let bytes = before.and_then(|before| {
            let content = before.text.content();
            content.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>()
        });
        bytes.is_some_and(|bytes| !bytes.is_ascii() && str::from_utf8(&bytes).is_ok())
    }

    fn parse(&self, content: &str) -> Text {
        let found = LineEnding::of(content, &self.formats);
        let ending = match (self.ending, found) {
            (Some(ending), Some(found)) if ending != found => {
                let before = self.before.as_ref().map(|before| &before.text);
                let before = before.filter(|before| before.shape().ending == ending);
                let is_choice =
                    before.is_some_and(|text| text.found_ending(&self.formats) == Some(found));
                if is_choice { ending } else { found }
            }
            (ending, found) => ending.or(found).unwrap_or_default(),
        };
        Text::parse_as(content, ending)
    }
}

impl OnDisk {
    /// Whether the text is still what it would be read as: the user may have told Neovim to read
    /// the same file in another way.
    pub(super) fn is_read_as(&self, buffer: &Buffer) -> bool {
        let same = self.text.shape().ending == buffer.shape.ending;
        buffer.modified || (same && self.encoding == buffer.encoding)
    }

    /// The same file with the line ends that the user has told Neovim to take it for, where only
    /// the buffer's text tells: one with `'fileformat'` unix and a `\r` at the end of each line.
    pub(super) fn with_chosen_ending(self, buffer: &Buffer, live: &Text) -> Self {
        let (here, there) = (buffer.shape.ending, self.text.shape().ending);
        if buffer.modified || here == there || live.found_ending(&buffer.formats) != Some(there) {
            return self;
        }
        let text = Arc::new(Text::parse_as(&self.text.file_content(), here));
        Self { text, ..self }
    }
}

impl Document {
    /// Runs what may block on the file's disk.
    pub(super) async fn disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path, &Call) -> T + Send + 'static,
    ) -> Result<T, FileError> {
        let path = self.path.clone();
        self.disks.call(&self.path, move |call| work(&path, call)).await
    }

    /// The facts of the file, `None` if there is none.
    pub(super) async fn facts(&self) -> Result<Option<DiskFacts>, FileError> {
        self.disk(|path, _| disk::facts(path)).await
    }

    /// Whether there is nothing of its name.
    pub(super) async fn is_missing(&self) -> Result<bool, FileError> {
        self.disk(|path, _| disk::is_missing(path)).await
    }

    /// The text of the file itself; `None` if there is none. The buffer says how to take its bytes.
    pub(super) async fn on_disk(
        &self,
        buffer: Option<&Buffer>,
    ) -> Result<Option<OnDisk>, FileError> {
        self.on_disk_up_to(MOST_TEXT, buffer).await
    }

    /// The same of a file of at most so many bytes.
    pub(super) async fn on_disk_up_to(
        &self,
        most: u64,
        buffer: Option<&Buffer>,
    ) -> Result<Option<OnDisk>, FileError> {
        let read = self.disk(move |path, call| disk::read(path, most, call)).await?;
        let read = read.map_err(|error| FileError::reading(self.path.clone(), &error))?;
        let (bytes, facts) = match read {
            Some(Bytes::All(bytes, facts)) => (bytes, facts),
            Some(Bytes::TooMany(size)) => return Err(FileError::large(self.path.clone(), size)),
            None => return Ok(None),
        };
        let lens = buffer.map(|buffer| Lens::new(buffer, self.synced.as_ref(), facts));
        let encoding =
            lens.as_ref().map_or_else(|| Encoding::of(&bytes), |lens| lens.encoding_of(&bytes));
        let content = if let Encoding::Other(name) = &encoding {
            encoding::decode_in(&*self.editor, &bytes, name).await?
        } else {
            let encoding = encoding.clone();
            beside(move || encoding.decode(bytes)).await?
        };
        let Some(content) = content else {
            return Err(self.not_text(format!("it is not {}", encoding.name())));
        };
        let text = beside(move || {
            (memchr::memchr(0, content.as_bytes()).is_none())
                .then(|| lens.map_or_else(|| Text::parse(&content), |lens| lens.parse(&content)))
        });
        let text = text.await?.ok_or_else(|| self.not_text("it holds NUL bytes".to_owned()))?;
        Ok(Some(OnDisk { text: Arc::new(text), facts, encoding }))
    }

    /// The bytes of the file of a text. Refused if the encoding has not all its characters.
    pub(super) async fn to_bytes(
        &self,
        text: Arc<Text>,
        encoding: &Encoding,
    ) -> Result<Vec<u8>, FileError> {
        let content = beside(move || text.file_content()).await?;
        self.encode(content, encoding).await
    }

    /// Gives a file back what it had, if a save that failed has left the beginning of `sent` in it: on
    /// a full disk Neovim does so itself only where it makes a backup (`:help backup-table`).
    pub(super) async fn repair(
        &self,
        before: Option<&OnDisk>,
        sent: &Arc<Text>,
        encoding: &Encoding,
    ) -> Result<Option<OnDisk>, FileError> {
        if self.facts().await? == before.map(|before| before.facts) {
            return Ok(None);
        }
        let sent = self.to_bytes(Arc::clone(sent), encoding).await?;
        let bytes = match before {
            Some(before) => Some(self.to_bytes(Arc::clone(&before.text), encoding).await?),
            None => None,
        };
        let repaired = self.disk(move |path, call| {
            match disk::read(path, MOST_TEXT, call)? {
                Some(Bytes::All(left, _)) if sent.starts_with(&left) => {}
                _ => return Ok(None), // Somebody else has written it.
            }
            call.goes_on()?;
            match bytes {
                Some(bytes) => disk::restore(path, &bytes, call).map(Some),
                None => std::fs::remove_file(path).map(|()| None),
            }
        });
        let facts =
            repaired.await?.map_err(|error| FileError::writing(self.path.clone(), &error))?;
        Ok(before.zip(facts).map(|(before, facts)| OnDisk { facts, ..before.clone() }))
    }

    /// Refuses what the encoding cannot hold, before anything is changed.
    pub(super) async fn check_characters(
        &self,
        hunks: &[Hunk],
        encoding: &Encoding,
    ) -> Result<(), FileError> {
        if encoding.holds_all() {
            return Ok(());
        }
        let lines: Vec<&str> =
            hunks.iter().flat_map(|hunk| &hunk.lines).map(String::as_str).collect();
        self.encode(lines.join("\n"), encoding).await.map(drop)
    }

    async fn encode(&self, content: String, encoding: &Encoding) -> Result<Vec<u8>, FileError> {
        let encoded = if let Encoding::Other(name) = encoding {
            encoding::encode_in(&*self.editor, &content, name).await?
        } else {
            let encoding = encoding.clone();
            beside(move || encoding.encode(content)).await?
        };
        encoded.map_err(|lacking| {
            let reason = format!("its 'fileencoding' {} has no {lacking}", encoding.name());
            FileError::Refused { path: self.path.clone(), reason }
        })
    }

    pub(super) fn not_text(&self, reason: String) -> FileError {
        FileError::NotText { path: self.path.clone(), reason }
    }
}
