//! The edge to documents: what is read and written, in buffers and on disk. It carries out; who may
//! touch what is decided before.

mod adopt;
pub mod carry;
mod disk;
pub mod disks;
mod document;
pub mod editor;
mod encoding;
mod error;
mod facts;
mod limits;
mod looks;
mod on_disk;
mod read;
mod touched;
mod unsaved;
pub mod watch;
mod write;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Mutex as Queue;

use self::disks::Disks;
use self::document::Document;
use self::editor::Editor;
use self::looks::Looks;
use self::touched::Touched;
use crate::core::event::BufferFact;
use crate::core::policy::WriteDirty;
use crate::edit::{Hunk, Kept, Record, Text};
use crate::session::author::{Author, SessionKey};

pub use self::disk::DiskFacts;
pub use self::error::FileError;
pub use self::looks::Look;

/// `fs/read_text_file`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    /// Who reads.
    pub session: SessionKey,
    /// The real path, as `host::paths` gives it.
    pub path: PathBuf,
    /// First line, from 1; 0 is taken for 1.
    pub line: Option<u32>,
    /// How many lines.
    pub limit: Option<u32>,
}

/// `fs/write_text_file`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// Who writes.
    pub by: Author,
    /// The real path, as `host::paths` gives it; need not exist.
    pub path: PathBuf,
    /// The whole new text.
    pub content: String,
    /// The whole text it replaces, where that is certain; else what the session last read or wrote counts.
    pub base: Option<String>,
    /// What becomes of unsaved changes in its buffer.
    pub dirty: WriteDirty,
    /// Whether its agent goes on to write the same text to the disk itself.
    pub repeats: bool,
}

/// Which way a change came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// `fs/write_text_file`.
    Protocol,
    /// The agent, or a command of it, wrote to the disk itself.
    Disk,
}

/// Where a step of a document's record comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whose.
    pub by: Author,
    /// Which way.
    pub via: Via,
}

/// A change of an agent, as it has become part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Of which file; the real path.
    pub path: PathBuf,
    /// By whom.
    pub by: Author,
    /// The text before: the buffer's where one is loaded, else the file's.
    pub before: Arc<Text>,
    /// The text after, with what a formatter added.
    pub after: Arc<Text>,
    /// From `before` to `after`; none if the text was there already.
    pub hunks: Vec<Hunk>,
    /// Which way.
    pub via: Via,
    /// Whether there was no such file before.
    pub created: bool,
    /// The agent edited text it had read unsaved, so the user's unsaved changes of this file were
    /// saved with it: worth a notice.
    pub saved_unsaved: bool,
    /// What had changed on disk before, and was brought into the buffer first.
    pub adopted: Option<Box<Written>>,
    /// Lines of `before` that the buffer keeps although the file has others: the user decides.
    pub kept: Vec<Kept>,
    /// Whether the file is gone. Its buffer keeps the text, as an unsaved one.
    pub deleted: bool,
}

/// All documents agents have to do with. Each has a queue: what is asked of one file happens in the
/// order asked.
///
/// What has begun is carried to its end also if nobody waits for it any more.
#[derive(Debug)]
pub struct Files {
    editor: Arc<dyn Editor>,
    disks: Arc<Disks>,
    documents: Mutex<HashMap<PathBuf, Arc<Queue<Document>>>>,
    /// By session, held while it is noted what a turn has left.
    turns_over: Mutex<HashMap<SessionKey, Arc<Queue<()>>>>,
    touched: Mutex<Touched>,
    looks: Looks,
}

impl Files {
    /// Documents that may be loaded in `editor`.
    pub fn new(editor: Arc<dyn Editor>) -> Self {
        Self::on(editor, Disks::default())
    }

    /// The same, on these file systems.
    pub fn on(editor: Arc<dyn Editor>, disks: Disks) -> Self {
        Self {
            editor,
            disks: Arc::new(disks),
            documents: Mutex::default(),
            turns_over: Mutex::default(),
            touched: Mutex::default(),
            looks: Looks::default(),
        }
    }

    /// The file systems they lie on.
    pub fn disks(&self) -> &Arc<Disks> {
        &self.disks
    }

    /// The text of a file as it would be saved now: unsaved changes are in it, a byte order mark is
    /// not. With `line` and `limit` only those lines, each with its line end; past the end,
    /// nothing.
    pub async fn read(&self, request: ReadRequest) -> Result<String, FileError> {
        let document = self.touch(&request.path, &request.session);
        let (again, editor) = (Arc::clone(&document), Arc::clone(&self.editor));
        finish(async move {
            let (content, partial) = document.lock().await.read(&request).await?;
            if let Some(id) = partial {
                // The lines are answered at once; the whole text they stand in is fetched
                // afterwards, and keeps nobody waiting.
                tokio::spawn(async move {
                    let snapshot = editor.snapshot(id).await;
                    again.lock().await.remember(snapshot);
                });
            }
            Ok(content)
        })
        .await
    }

    /// Brings a whole new text into a file: as minimal edits and saved where it is loaded (`:help
    /// undo-blocks`: one step), else on disk, with missing parent folders. A text that is there
    /// already changes nothing.
    pub async fn write(&self, request: WriteRequest) -> Result<Written, FileError> {
        let document = self.touch(&request.path, &request.by.session);
        finish(async move { document.lock().await.write(&request).await }).await
    }

    /// Brings what an agent may have written to the disk itself into the buffer of that file, if
    /// one is loaded. `None` if nothing is new. The real path is asked for.
    pub async fn disk_changed(
        &self,
        path: &Path,
        by: &Author,
    ) -> Result<Option<Written>, FileError> {
        let (document, by) = (self.touch(path, &by.session), by.clone());
        finish(async move { document.lock().await.disk_changed(&by).await }).await
    }

    /// What has become of a file since an agent first changed it, and who did what; `None` where no
    /// agent has.
    pub async fn record(&self, path: &Path) -> Result<Option<Record<Origin>>, FileError> {
        let document = self.document(path);
        finish(async move { document.lock().await.record().await }).await
    }

    /// `session` has read the file from the disk itself: its next write refers to that text.
    pub async fn seen(&self, path: &Path, session: &SessionKey) -> Result<(), FileError> {
        let (document, session) = (self.touch(path, session), session.clone());
        finish(async move { document.lock().await.seen(&session).await }).await
    }

    /// The same for an agent whose model reads the disk and whose tools read through us: what they read right before a
    /// write tells nothing of what the model knows.
    pub async fn seen_by_model(&self, path: &Path, session: &SessionKey) -> Result<(), FileError> {
        let (document, session) = (self.touch(path, session), session.clone());
        finish(async move { document.lock().await.seen_by_model(&session).await }).await
    }

    /// Notes what Neovim last read of a file or wrote to it, before an agent may change it on disk. For a file that is
    /// not loaded nothing happens.
    pub async fn note(&self, path: &Path) -> Result<(), FileError> {
        let document = self.document(path);
        finish(async move { document.lock().await.note().await }).await
    }

    /// Something has happened to the buffer of a file.
    pub async fn buffer(&self, path: &Path, fact: BufferFact) -> Result<(), FileError> {
        let document = self.document(path);
        finish(async move {
            let mut document = document.lock().await;
            match fact {
                BufferFact::Read => document.was_read().await,
                BufferFact::Saved => document.note().await,
                BufferFact::Clean => document.became_clean().await,
            }
        })
        .await
    }

    /// Fetches the text of a buffer that an agent is likely to read or write soon, so that it is at
    /// hand then. Of a file that is not loaded it is noted what it was.
    pub async fn prepare(&self, path: &Path) -> Result<(), FileError> {
        let document = self.document(path);
        finish(async move { document.lock().await.prepare().await }).await
    }

    fn document(&self, path: &Path) -> Arc<Queue<Document>> {
        let mut documents = self.documents.lock();
        let document = documents.entry(path.to_owned()).or_insert_with(|| {
            let (editor, disks) = (Arc::clone(&self.editor), Arc::clone(&self.disks));
            Arc::new(Queue::new(Document::new(path.to_owned(), editor, disks)))
        });
        Arc::clone(document)
    }
}

/// Runs in a task of its own: a write is not left half done when the agent takes its request back.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, FileError>> + Send + 'static,
) -> Result<T, FileError> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(FileError::Editor(error.to_string())),
    }
}
