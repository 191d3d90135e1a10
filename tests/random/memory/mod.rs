//! An editor in memory: what documents ask of Neovim, done in the way `lua/rat` and Neovim do it, for worlds of very many
//! steps. Documents are real ones.
//!
//! It plays buffers with windows, Insert mode, undo with its branches and what 'modified' is then, saving with formatters,
//! reading again, files that were adopted, conflicts, facts in their order, calls that come too late or while text is
//! locked, and keys that come between any two calls. Only the real Neovim plays the rest: encodings, line ends, files
//! without an end in their last line, marks, readonly buffers, other autocommands, saves that fail, and snapshots in slices.

mod buffer;
mod inner;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use rat_nvim::documents::Documents;
use rat_nvim::documents::disks::Disks;
use rat_nvim::documents::editor::{
    Buffer, BufferId, Editor, EditorError, Encoded, Found, Lines, Outcome, Then,
};
use rat_nvim::edit::{Edit, Text};

use self::inner::Inner;
use super::desk::{Act, Desk};
use super::disk;
use super::model::{Checked, Look};

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// So many calls at most come before what is typed meanwhile.
const MOST_CALLS_BEFORE: usize = 8;

/// The files' folder, in memory where there is such a place.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Inner>>);

pub(crate) struct Memory {
    files: Arc<Documents>,
    shared: Shared,
    folder: Arc<Folder>,
}

impl Memory {
    pub(crate) fn start(seed: u64) -> Box<dyn Desk> {
        Box::new(Self::new(seed))
    }

    pub(crate) fn new(seed: u64) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("rat-memory-{}-{number}", std::process::id());
        let folder = disk::above().canonicalize().unwrap().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self::in_folder(Arc::new(Folder(folder)), true, seed)
    }

    fn in_folder(folder: Arc<Folder>, autoread: bool, seed: u64) -> Self {
        let inner = Inner::new(folder.0.clone(), autoread, seed);
        let shared = Shared(Arc::new(Mutex::new(inner)));
        let files = Arc::new(Documents::with_disks(
            Arc::new(shared.clone()),
            Disks::default().without_settling(),
        ));
        Self { files, shared, folder }
    }
}

#[async_trait]
impl Desk for Memory {
    fn documents(&self) -> &Arc<Documents> {
        &self.files
    }

    fn folder(&self) -> &Path {
        &self.folder.0
    }

    fn editor(&self) -> Arc<dyn Editor> {
        Arc::new(self.shared.clone())
    }

    fn connect(&mut self, documents: Arc<Documents>) {
        self.files = documents;
    }

    async fn beside(&self, autoread: bool) -> Box<dyn Desk> {
        Box::new(Self::in_folder(Arc::clone(&self.folder), autoread, 0))
    }

    fn large(&self) -> usize {
        300
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    async fn does(&self, act: &Act, _with_keys: bool) {
        self.shared.0.lock().does(act);
    }

    async fn begins(&self, act: &Act) {
        let mut inner = self.shared.0.lock();
        let calls = inner.dice.within(0..MOST_CALLS_BEFORE);
        inner.typed = Some((calls, act.clone()));
    }

    async fn has_typed(&self, _word: &str) {
        let mut inner = self.shared.0.lock();
        if let Some((_, act)) = inner.typed.take() {
            inner.does(&act);
        }
    }

    async fn current(&self) -> PathBuf {
        self.shared.0.lock().current().path.clone()
    }

    async fn lines(&self) -> usize {
        self.shared.0.lock().current().lines.len()
    }

    async fn look(&self, path: &Path) -> Look {
        let disk = fs::read_to_string(path).unwrap();
        let mut inner = self.shared.0.lock();
        let Some(at) = inner.find(path) else { return Look { disk, ..Look::default() } };
        let buffer = &mut inner.buffers[at];
        Look {
            text: Some(buffer.text()),
            modified: buffer.modified,
            undo: i64::try_from(buffer.last_step()).unwrap(),
            conflicts: buffer.conflicts(),
            disk,
        }
    }

    async fn told(&self) -> String {
        std::mem::take(&mut self.shared.0.lock().told).join("\n")
    }

    /// Whatever is written here has a time of its own.
    async fn lets_time_pass(&self, _path: &Path, _size: usize) {}

    async fn asks_nothing(&self) -> Checked {
        self.shared.0.lock().asks.take().map_or(Ok(()), |asks| Err(format!("it asks: {asks}")))
    }
}

impl Shared {
    /// What comes in as a call; the buffer with it, if it is still one.
    fn called(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.0.lock();
        inner.is_called();
        inner
    }
}

fn index(id: BufferId) -> usize {
    usize::try_from(id.0 - 1).unwrap()
}

fn find(inner: &mut Inner, path: &Path, known: Option<(BufferId, i64)>) -> Option<Found> {
    let at = inner.find(path)?;
    inner.attach(at);
    let since = known.filter(|known| index(known.0) == at).map(|known| known.1);
    Some(inner.facts(at, since))
}

#[async_trait]
impl Editor for Shared {
    async fn loaded(&self, modified: bool) -> Result<Vec<PathBuf>, EditorError> {
        let inner = self.called();
        let buffers = inner.buffers.iter().filter(|buffer| !modified || buffer.modified);
        Ok(buffers.map(|buffer| buffer.path.clone()).collect())
    }

    fn is_gone(&self) -> bool {
        false
    }

    async fn find(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
    ) -> Result<Option<Found>, EditorError> {
        Ok(find(&mut self.called(), path, known))
    }

    async fn snapshot(&self, id: BufferId) -> Result<(Buffer, Text), EditorError> {
        let mut inner = self.called();
        inner.attach(index(id));
        let buffer = inner.facts(index(id), None).buffer;
        let text = inner.buffers[index(id)].lines.join("\n");
        Ok((buffer.clone(), Text::from_body(text, buffer.shape, buffer.empty)))
    }

    async fn find_with_lines(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
        _lines: Range<usize>,
    ) -> Result<Option<(Found, Option<Lines>)>, EditorError> {
        let mut inner = self.called();
        let Some(found) = find(&mut inner, path, known) else { return Ok(None) };
        let is_known = found.changes.as_ref().is_some_and(Vec::is_empty);
        let part = (found.buffer.modified && !is_known).then(|| Lines {
            text: inner.buffers[index(found.buffer.id)].lines.join("\n"),
            count: found.buffer.lines,
            tick: found.buffer.tick,
            is_end: true,
        });
        Ok(Some((found, part)))
    }

    async fn change(
        &self,
        id: BufferId,
        tick: i64,
        edits: &[Edit],
        then: &Then,
    ) -> Result<Outcome, EditorError> {
        Ok(self.called().changes(index(id), tick, edits, then))
    }

    async fn mark_modified(&self, id: BufferId, tick: i64) -> Result<(), EditorError> {
        let buffer = &mut self.called().buffers[index(id)];
        buffer.modified |= buffer.tick == tick;
        Ok(())
    }

    async fn add_undo_step(
        &self,
        id: BufferId,
        tick: i64,
        back: &[Edit],
        forth: &[Edit],
    ) -> Result<(), EditorError> {
        self.called().makes_a_step(index(id), tick, back, forth);
        Ok(())
    }

    async fn file_gone(&self, _id: BufferId) -> Result<(), EditorError> {
        Err(EditorError::Failed("no file goes here".to_owned()))
    }

    async fn decode(&self, _bytes: &[u8], encoding: &str) -> Result<Option<String>, EditorError> {
        Err(EditorError::Failed(format!("{encoding} is not played here")))
    }

    async fn encode(&self, _text: &str, encoding: &str) -> Result<Encoded, EditorError> {
        Err(EditorError::Failed(format!("{encoding} is not played here")))
    }
}
