//! The editor that documents see where there is none: no file is loaded.

use crate::documents::editor::{
    Buffer, BufferId, Editor, EditorError, Encoded, Found, Lines, Outcome, Then,
};
use crate::edit::{Edit, Text};
use async_trait::async_trait;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// No editor.
#[derive(Debug)]
pub(super) struct NoEditor;

fn no_buffer<T>() -> Result<T, EditorError> {
    Err(EditorError::Failed("there is no editor".to_owned()))
}

#[async_trait]
impl Editor for NoEditor {
    async fn loaded(&self, _modified: bool) -> Result<Vec<PathBuf>, EditorError> {
        Ok(Vec::new())
    }

    fn is_gone(&self) -> bool {
        false
    }

    async fn find(
        &self,
        _path: &Path,
        _known: Option<(BufferId, i64)>,
    ) -> Result<Option<Found>, EditorError> {
        Ok(None)
    }

    async fn snapshot(&self, _id: BufferId) -> Result<(Buffer, Text), EditorError> {
        no_buffer()
    }

    async fn find_with_lines(
        &self,
        _path: &Path,
        _known: Option<(BufferId, i64)>,
        _lines: Range<usize>,
    ) -> Result<Option<(Found, Option<Lines>)>, EditorError> {
        Ok(None)
    }

    async fn change(
        &self,
        _id: BufferId,
        _tick: i64,
        _edits: &[Edit],
        _then: &Then,
    ) -> Result<Outcome, EditorError> {
        Ok(Outcome::Gone)
    }

    async fn mark_modified(&self, _id: BufferId, _tick: i64) -> Result<(), EditorError> {
        Ok(())
    }

    async fn add_undo_step(
        &self,
        _id: BufferId,
        _tick: i64,
        _back: &[Edit],
        _forth: &[Edit],
    ) -> Result<(), EditorError> {
        Ok(())
    }

    async fn file_gone(&self, _id: BufferId) -> Result<(), EditorError> {
        Ok(())
    }

    /// Neovim knows many encodings. What is none of ours stays as it is.
    async fn decode(&self, _bytes: &[u8], encoding: &str) -> Result<Option<String>, EditorError> {
        Err(EditorError::Failed(format!("{encoding} is read only by Neovim")))
    }

    async fn encode(&self, _text: &str, encoding: &str) -> Result<Encoded, EditorError> {
        Err(EditorError::Failed(format!("{encoding} is written only by Neovim")))
    }
}
