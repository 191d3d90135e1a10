//! The whole traffic with one agent, without its secrets, written by a thread of its own. It lies in files without a name,
//! which are gone with this process however that ends. Bounded in size: what was in the middle is dropped first. Where no
//! file can be written, less is kept in memory.

use super::super::redact::Redactor;
use super::queue::{Batch, Recorder, queue};
use crate::jsonrpc::incoming::repair_surrogates;
use crate::jsonrpc::recording::{Direction, line};
use parking_lot::Mutex;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The size of a file in bytes, which one long message may exceed.
    pub(super) file: usize,
    /// The size of what stands for a file in memory.
    pub(super) memory: usize,
    /// How many of both there may be.
    pub(super) segments: usize,
    /// How many bytes may wait to be written.
    pub(super) waiting: usize,
}

pub(super) const LIMITS: Limits =
    Limits { file: 64 << 20, memory: 1 << 20, segments: 4, waiting: 96 << 20 };

/// How much is written at once, in bytes, and read at once.
const PIECE_BYTES: usize = 256 << 10;

/// How long a reader waits until what was recorded before is written.
const FLUSH_LIMIT: Duration = Duration::from_secs(60);

/// Identifies the answer to a form (ACP elicitation), as we encode it.
const FORM_ANSWER: &str = r#""action":"accept""#;

/// Number of the next file of this process.
static NEXT_FILE: AtomicU64 = AtomicU64::new(1);

/// What is recorded of one agent. Clones share it.
#[derive(Debug, Clone)]
pub struct Spool {
    recorder: Arc<Recorder>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    redactor: Redactor,
    limits: Limits,
    folder: Option<PathBuf>,
    segments: Mutex<Segments>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Segments {
    list: VecDeque<Segment>,
    next_serial: u64,
    /// The number of all lines that were ever written.
    lines: u64,
    /// Whether a file could not be written.
    in_memory: bool,
}

#[derive(Debug)]
struct Segment {
    serial: u64,
    /// The number of its first line.
    first_line: u64,
    len: u64,
    /// How many secrets were known when it was begun.
    known: usize,
    store: Store,
}

#[derive(Debug, Clone)]
enum Store {
    File(Arc<File>),
    Memory(Arc<Mutex<Vec<u8>>>),
}

/// Where a reader is; by default at the beginning.
#[derive(Debug, Clone, Default)]
pub struct Position {
    serial: u64,
    offset: u64,
    line: u64,
}

/// Whole lines of what is recorded.
#[derive(Debug, Default)]
pub struct Chunk {
    /// The lines.
    pub bytes: Vec<u8>,
    /// How many lines before them are gone.
    pub missing: u64,
    /// Whether they were written when fewer secrets were known.
    pub is_outdated: bool,
}

impl Chunk {
    /// Whether nothing more is written so far.
    pub(super) fn is_end(&self) -> bool {
        self.bytes.is_empty() && self.missing == 0
    }
}

impl Spool {
    /// Starts a spool in this folder, or in memory.
    pub(super) fn start(folder: Option<PathBuf>, redactor: Redactor, limits: Limits) -> Self {
        let (recorder, taker) = queue(limits.waiting);
        let shared = Arc::new(Shared {
            redactor,
            limits,
            folder,
            segments: Mutex::default(),
            changes: watch::channel(()).0,
        });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            while let Some(batch) = taker.take() {
                own.write(&batch);
                taker.written(batch);
            }
        });
        Self { recorder: Arc::new(recorder), shared }
    }

    /// Records a line. It does not wait.
    pub(super) fn record(&self, at: Duration, direction: Direction, bytes: &[u8]) {
        self.recorder.add(at, direction, bytes);
    }

    /// Records a line that is also sent. It does not wait.
    pub(super) fn record_sent(&self, at: Duration, line: &Arc<String>) {
        self.recorder.add_sent(at, Direction::ToAgent, line);
    }

    /// Blocks until what was recorded before is written.
    pub fn flush(&self) {
        // Fails only if the thread has panicked or takes too long.
        let _ = self.recorder.flush().recv_timeout(FLUSH_LIMIT);
    }

    /// Returns a receiver that is told when more is written.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.shared.changes.subscribe()
    }

    /// Returns the redactor that hides the secrets of this agent.
    pub fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// Reads on from `position`. Blocks.
    pub fn read(&self, position: &mut Position) -> io::Result<Chunk> {
        let mut missing = 0;
        let (store, len, known) = loop {
            let segments = self.shared.segments.lock();
            let Some(found) = segments.list.iter().find(|it| it.serial >= position.serial) else {
                return Ok(Chunk { missing, ..Chunk::default() });
            };
            if found.serial != position.serial {
                missing += found.first_line.saturating_sub(position.line);
                let line = found.first_line;
                *position = Position { serial: found.serial, offset: 0, line };
            }
            if position.offset < found.len {
                break (found.store.clone(), found.len, found.known);
            }
            if !segments.list.iter().any(|it| it.serial > position.serial) {
                return Ok(Chunk { missing, ..Chunk::default() });
            }
            (position.serial, position.offset) = (position.serial + 1, 0);
        };
        let bytes = store.read(position.offset, len)?;
        position.offset += bytes.len() as u64;
        position.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        let is_outdated = known < self.shared.redactor.known();
        Ok(Chunk { bytes, missing, is_outdated })
    }

    /// Returns all that is recorded, without what may be missing. Blocks.
    pub fn text(&self) -> String {
        self.flush();
        let (mut position, mut text) = (Position::default(), Vec::new());
        while let Ok(chunk) = self.read(&mut position)
            && !chunk.bytes.is_empty()
        {
            text.extend(chunk.bytes);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Store {
    /// Reads whole lines from `offset`, one at least, where `len` is the end of a line.
    fn read(&self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut wanted = PIECE_BYTES as u64;
        loop {
            let size = wanted.min(len - offset);
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
            match self {
                Self::File(file) => file.read_exact_at(&mut bytes, offset)?,
                Self::Memory(all) => {
                    let start = usize::try_from(offset).unwrap_or(usize::MAX);
                    let end = start + bytes.len();
                    bytes.copy_from_slice(&all.lock()[start..end]);
                }
            }
            if let Some(end) = memchr::memrchr(b'\n', &bytes) {
                bytes.truncate(end + 1);
                return Ok(bytes);
            }
            if size == len - offset {
                return Ok(bytes);
            }
            wanted *= 4;
        }
    }

    fn append(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all_at(bytes, at),
            Self::Memory(all) => {
                all.lock().extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// Returns a line as JSON without secrets, byte for byte if it has none.
pub(super) fn cleaned<'a>(
    redactor: &Redactor,
    direction: Direction,
    bytes: &'a [u8],
) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(bytes);
    if direction == Direction::Missing {
        return text;
    }
    let is_message = matches!(direction, Direction::ToAgent | Direction::FromAgent);
    if !is_message {
        return Value::from(redactor.text(&text)).to_string().into();
    }
    if memchr::memchr(b'\n', bytes).is_none() && !redactor.may_hide(&text) {
        return text;
    }
    let parsed = serde_json::from_str::<Value>(&text);
    if let Ok(mut value) = parsed {
        let is_line = memchr::memchr(b'\n', text.as_bytes()).is_none();
        return if redactor.whole(&mut value) || !is_line {
            value.to_string().into()
        } else {
            text
        };
    }
    let repaired = repair_surrogates(&text).and_then(|text| serde_json::from_str(&text).ok());
    if let Some(mut value) = repaired {
        redactor.whole(&mut value);
        return value.to_string().into();
    }
    // Only in JSON can be told what the user entered in a form, or the URL of a login.
    let is_form = direction == Direction::ToAgent && text.contains(FORM_ANSWER);
    let shown = if is_form || text.contains("elicitation/create") { "" } else { &*text };
    Value::from(redactor.text(shown)).to_string().into()
}

impl Shared {
    /// Writes lines without their secrets.
    fn write(&self, batch: &Batch) {
        let (mut text, mut lines, mut last) = (String::new(), 0, 0.0);
        batch.each(|at, direction, bytes| {
            last = at.as_secs_f64();
            let next = line(last, direction, &cleaned(&self.redactor, direction, bytes));
            // Apart from a line that may be too long to be kept.
            if lines > 0 && text.len() + next.len() > PIECE_BYTES {
                self.append(&text, lines);
                (text, lines) = (String::new(), 0);
            }
            if text.is_empty() {
                text = next;
            } else {
                text += &next;
            }
            lines += 1;
        });
        if batch.missing > 0 {
            text += &line(last, Direction::Missing, &batch.missing.to_string());
            lines += 1;
        }
        if lines > 0 {
            self.append(&text, lines);
        }
    }

    /// Appends lines to the last segment, or to a new one.
    fn append(&self, text: &str, lines: u64) {
        let last = {
            let segments = self.segments.lock();
            let limit = if segments.in_memory { self.limits.memory } else { self.limits.file };
            let last = segments.list.back().map(|it| (it.store.clone(), it.len));
            last.filter(|(_, len)| *len + text.len() as u64 <= limit as u64)
        };
        let written = last.is_some_and(|(store, len)| match store.append(len, text.as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                self.fall_back(&error);
                false
            }
        });
        let len = if written { text.len() } else { self.begin(text, lines) };
        let mut segments = self.segments.lock();
        segments.lines += lines;
        if let Some(last) = segments.list.back_mut() {
            last.len += len as u64;
        }
        drop(segments);
        self.changes.send_replace(());
    }

    /// Begins a segment with these lines and drops one that is too many, but not the first: it has the handshake. Returns how
    /// many bytes are in it.
    fn begin(&self, text: &str, lines: u64) -> usize {
        let mut store = Store::Memory(Arc::default());
        if let Some(folder) = self.folder.as_ref().filter(|_| !self.segments.lock().in_memory) {
            let file = unnamed(folder).map(|file| Store::File(Arc::new(file)));
            match file.and_then(|file| file.append(0, text.as_bytes()).map(|()| file)) {
                Ok(file) => store = file,
                Err(error) => self.fall_back(&error),
            }
        }
        let mut len = text.len();
        if let Store::Memory(all) = &store {
            self.segments.lock().in_memory = true;
            let is_too_long = len > self.limits.memory * self.limits.segments;
            let note = is_too_long.then(|| line(0.0, Direction::Missing, &lines.to_string()));
            let text = note.as_deref().unwrap_or(text);
            len = text.len();
            all.lock().extend_from_slice(text.as_bytes());
        }
        let mut segments = self.segments.lock();
        let (serial, first_line) = (segments.next_serial, segments.lines);
        segments.next_serial += 1;
        let known = self.redactor.known();
        segments.list.push_back(Segment { serial, first_line, len: 0, known, store });
        if segments.list.len() > self.limits.segments {
            segments.list.remove(1);
        }
        len
    }

    fn fall_back(&self, error: &io::Error) {
        tracing::warn!(target: "acp", %error, "the traffic is kept in memory only");
        self.segments.lock().in_memory = true;
    }
}

/// Creates a file that only this process can open, and that is gone with it.
fn unnamed(folder: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let number = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path).or_else(|error| {
        // Left by a process of the same number that was killed at this place.
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        std::fs::remove_file(&path)?;
        options.open(&path)
    })?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("rat-spool-{name}-{}", std::process::id()))
    }

    fn record(spool: &Spool, message: &str) {
        spool.record(Duration::ZERO, Direction::FromAgent, message.as_bytes());
    }

    #[test]
    fn what_is_recorded_is_whole_and_in_no_file_that_has_a_name() {
        let folder = folder("whole");
        let spool = Spool::start(Some(folder.clone()), Redactor::default(), LIMITS);
        let long = format!(r#"{{"text":"{}"}}"#, "é".repeat(2 << 20));
        record(&spool, &long);
        record(&spool, r#"{"a" : 1.0}"#);
        let text = spool.text();
        assert!(text.contains(&long) && text.contains(r#"{"a" : 1.0}"#));
        assert!(!spool.shared.segments.lock().in_memory);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn the_middle_is_dropped_and_counted() {
        for place in [Some(folder("middle")), None] {
            let limits = Limits { file: 1000, memory: 1000, segments: 3, ..LIMITS };
            let spool = Spool::start(place.clone(), Redactor::default(), limits);
            for number in 0..500 {
                record(&spool, &format!(r#"{{"n":{number}}}"#));
                spool.flush();
            }
            let (mut position, mut kept, mut missing) = (Position::default(), String::new(), 0);
            loop {
                let chunk = spool.read(&mut position).unwrap();
                missing += chunk.missing;
                if chunk.bytes.is_empty() {
                    break;
                }
                kept += &String::from_utf8_lossy(&chunk.bytes);
            }
            assert!(kept.contains(r#"{"n":0}"#) && kept.contains(r#"{"n":499}"#), "{kept}");
            assert!(kept.len() < 4000 && missing > 0);
            assert_eq!(kept.lines().count() as u64 + missing, 500);
            if let Some(folder) = place {
                std::fs::remove_dir(folder).unwrap();
            }
        }
    }

    #[test]
    fn without_a_folder_less_is_kept_in_memory() {
        let spool = Spool::start(Some("/dev/null/x".into()), Redactor::default(), LIMITS);
        record(&spool, r#"{"a":1}"#);
        assert!(spool.text().contains(r#""message":{"a":1}"#));
    }

    #[test]
    fn what_cannot_be_written_in_time_is_counted() {
        let limits = Limits { waiting: 0, ..LIMITS };
        let spool = Spool::start(None, Redactor::default(), limits);
        let held = spool.shared.segments.lock();
        for _ in 0..1000 {
            record(&spool, r#"{"a":1}"#);
        }
        drop(held);
        spool.flush();
        record(&spool, r#"{"b":1}"#);
        let text = spool.text();
        assert!(text.contains("missing") && text.contains(r#"{"b":1}"#), "{text}");
    }
}
