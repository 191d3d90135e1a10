//! Reads, encodes and repairs the file of a document on disk. Everything that may block goes through `disks`.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep};

use super::blocking::run_blocking;
use super::disk::{self, Bytes};
use super::disk_text::{DiskText, FormatDetector};
use super::disks::Call;
use super::document::Document;
use super::editor::Buffer;
use super::encoding::Encoding;
use super::error::DocumentError;
use super::facts::DiskFacts;
use super::limits::MAX_TEXT_SIZE;
use super::transcode;
use crate::edit::{Hunk, Snapshot, Text};

/// How long a file that changes all the time is waited for.
const LONGEST_SETTLING: Duration = Duration::from_millis(100);

impl Document {
    /// Runs `work`, which may block on the file system of the document.
    pub(super) async fn call_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path, &Call) -> T + Send + 'static,
    ) -> Result<T, DocumentError> {
        let path = self.path.clone();
        self.disks.call(&self.path, move |call| work(&path, call)).await
    }

    /// Returns the facts of the file. `None` if it does not exist or is not a regular file.
    pub(super) async fn facts(&self) -> Result<Option<DiskFacts>, DocumentError> {
        self.call_disk(|path, _| disk::facts(path)).await
    }

    /// Whether nothing exists at the document's path.
    pub(super) async fn is_missing(&self) -> Result<bool, DocumentError> {
        self.call_disk(|path, _| disk::is_missing(path)).await
    }

    /// Reads the text of the file. `None` if it does not exist. The options of `buffer`, if the file is loaded,
    /// determine how it is decoded.
    pub(super) async fn read_file(
        &self,
        buffer: Option<&Buffer>,
    ) -> Result<Option<DiskText>, DocumentError> {
        self.read_file_up_to(MAX_TEXT_SIZE, buffer).await
    }

    /// Like [`Self::read_file`], for a file of at most `max_size` bytes. Waits a moment for the rest of a file that seems to
    /// be written just now.
    pub(super) async fn read_file_up_to(
        &self,
        max_size: u64,
        buffer: Option<&Buffer>,
    ) -> Result<Option<DiskText>, DocumentError> {
        let deadline = Instant::now() + LONGEST_SETTLING;
        loop {
            let file = self.read_once(max_size, buffer).await?;
            let Some(unfinished) = file.as_ref().filter(|file| self.looks_unfinished(file)) else {
                return Ok(file);
            };
            let modified = unfinished.facts.time.to_system_time();
            match self.disks.time_to_settle(modified, SystemTime::now()) {
                Some(left) if Instant::now() + left < deadline => sleep(left).await,
                _ => return Ok(file),
            }
        }
    }

    /// Whether a file that was written in place may have been read before all of it was there: it is empty, or ends within a
    /// line although the last version of it did not.
    fn looks_unfinished(&self, file: &DiskText) -> bool {
        let baseline = self.baseline.as_ref().filter(|baseline| baseline.facts != file.facts);
        let ended = baseline.is_some_and(|baseline| baseline.text.shape().final_newline);
        file.text.is_empty() || ended && !file.text.shape().final_newline
    }

    async fn read_once(
        &self,
        max_size: u64,
        buffer: Option<&Buffer>,
    ) -> Result<Option<DiskText>, DocumentError> {
        let read = self.call_disk(move |path, call| disk::read(path, max_size, call)).await?;
        let read = read.map_err(|error| DocumentError::read_failed(self.path.clone(), &error))?;
        let (bytes, facts) = match read {
            Some(Bytes::All(bytes, facts)) => (bytes, facts),
            Some(Bytes::TooMany(size)) => {
                return Err(DocumentError::too_large(self.path.clone(), size));
            }
            None => return Ok(None),
        };
        self.decode_file(bytes, facts, buffer).await.map(Some)
    }

    /// Decodes the content of the file. The options of `buffer`, if the file is loaded, determine how.
    pub(super) async fn decode_file(
        &self,
        bytes: Vec<u8>,
        facts: DiskFacts,
        buffer: Option<&Buffer>,
    ) -> Result<DiskText, DocumentError> {
        let detector =
            buffer.map(|buffer| FormatDetector::new(buffer, self.baseline.as_ref(), facts));
        let encoding = match &detector {
            Some(detector) => detector.encoding_of(&bytes),
            None => Encoding::detect(&bytes),
        };
        let content = if let Encoding::Other(name) = &encoding {
            transcode::decode_in(&*self.editor, &bytes, name).await?
        } else {
            let encoding = encoding.clone();
            run_blocking(move || encoding.decode(bytes)).await?
        };
        let Some(content) = content else {
            return Err(self.not_text(format!("it is not {}", encoding.name())));
        };
        let text = run_blocking(move || {
            let parse = || match detector {
                Some(detector) => detector.parse(&content),
                None => Text::parse(&content),
            };
            memchr::memchr(0, content.as_bytes()).is_none().then(parse)
        });
        let text = text.await?.ok_or_else(|| self.not_text("it holds NUL bytes".to_owned()))?;
        Ok(DiskText { text: self.revisions.snapshot(text), facts, encoding })
    }

    /// Returns the bytes of a file with this text. Fails if the encoding lacks one of its characters.
    pub(super) async fn encode_file(
        &self,
        text: Snapshot,
        encoding: &Encoding,
    ) -> Result<Vec<u8>, DocumentError> {
        let content = run_blocking(move || text.file_content()).await?;
        self.encode(content, encoding).await
    }

    /// Restores a file if a failed save has left it with only the beginning of `saved`. On a full disk Neovim restores
    /// the file itself only if it makes a backup (`:help backup-table`). `before` is the file before the save, `None`
    /// if it did not exist. Returns the restored file.
    pub(super) async fn repair(
        &self,
        before: Option<&DiskText>,
        saved: &Snapshot,
        encoding: &Encoding,
    ) -> Result<Option<DiskText>, DocumentError> {
        if self.facts().await? == before.map(|before| before.facts) {
            return Ok(None);
        }
        let saved = self.encode_file(saved.clone(), encoding).await?;
        let bytes = match before {
            Some(before) => Some(self.encode_file(before.text.clone(), encoding).await?),
            None => None,
        };
        let repaired = self.call_disk(move |path, call| {
            match disk::read(path, MAX_TEXT_SIZE, call)? {
                Some(Bytes::All(content, _)) if saved.starts_with(&content) => {}
                _ => return Ok(None), // Somebody else has written the file.
            }
            call.report_progress()?;
            match bytes {
                Some(bytes) => disk::restore(path, &bytes, call).map(Some),
                None => std::fs::remove_file(path).map(|()| None),
            }
        });
        let facts = repaired
            .await?
            .map_err(|error| DocumentError::write_failed(self.path.clone(), &error))?;
        Ok(before.zip(facts).map(|(before, facts)| DiskText { facts, ..before.clone() }))
    }

    /// Fails if the encoding lacks a character of the hunks. Called before anything is changed.
    pub(super) async fn check_characters(
        &self,
        hunks: &[Hunk],
        encoding: &Encoding,
    ) -> Result<(), DocumentError> {
        if encoding.is_universal() {
            return Ok(());
        }
        let lines: Vec<&str> =
            hunks.iter().flat_map(|hunk| &hunk.lines).map(String::as_str).collect();
        self.encode(lines.join("\n"), encoding).await.map(drop)
    }

    async fn encode(&self, content: String, encoding: &Encoding) -> Result<Vec<u8>, DocumentError> {
        let encoded = if let Encoding::Other(name) = encoding {
            transcode::encode_in(&*self.editor, &content, name).await?
        } else {
            let encoding = encoding.clone();
            run_blocking(move || encoding.encode(content)).await?
        };
        encoded.map_err(|lacking| {
            let reason = format!("its 'fileencoding' {} has no {lacking}", encoding.name());
            DocumentError::Refused { path: self.path.clone(), reason }
        })
    }

    /// An error about content that is not text.
    pub(super) fn not_text(&self, reason: String) -> DocumentError {
        DocumentError::NotText { path: self.path.clone(), reason }
    }
}
