//! Writes our messages to an agent, and knows how much waits to be read by it.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// What is written in one call, in bytes; a shorter line is written together with its end.
const MAX_WRITE_BYTES: usize = 16 << 10;

/// How much may wait before nothing more is read from the agent, in bytes. Most of what is sent answers what was read.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The end of the queue to which lines are added.
#[derive(Debug)]
pub(super) struct Input {
    /// `None` once stdin is to be closed.
    lines: Option<mpsc::UnboundedSender<Arc<String>>>,
    waiting: Arc<Waiting>,
}

/// What has not been written yet.
#[derive(Debug)]
struct Waiting {
    bytes: AtomicUsize,
    /// When something was written, or the queue became full.
    last: Mutex<Instant>,
    written: Notify,
}

impl Input {
    /// Starts the writer. It ends, and closes the pipe, once the queue is closed and everything is written.
    pub(super) fn new(
        pipe: Box<dyn AsyncWrite + Send + Unpin>,
    ) -> (Self, JoinHandle<std::io::Result<()>>) {
        let (lines, queue) = mpsc::unbounded_channel();
        let (bytes, last) = (AtomicUsize::new(0), Mutex::new(Instant::now()));
        let waiting = Arc::new(Waiting { bytes, last, written: Notify::new() });
        let writer = tokio::spawn(write_lines(pipe, queue, Arc::clone(&waiting)));
        (Self { lines: Some(lines), waiting }, writer)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lines.is_none()
    }

    /// Closes the queue.
    pub(super) fn close(&mut self) {
        self.lines = None;
    }

    /// Adds a line.
    pub(super) fn send(&self, line: Arc<String>) {
        let Some(lines) = &self.lines else { return };
        let before = self.waiting.bytes.fetch_add(line.len(), Ordering::Relaxed);
        if before < MAX_WAITING_BYTES {
            *self.waiting.last.lock() = Instant::now();
        }
        // Fails only if the writer found the pipe broken, and that is noticed when it is joined.
        let _ = lines.send(line);
    }

    /// Whether so much waits that nothing more should be read from the agent.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.bytes.load(Ordering::Relaxed) >= MAX_WAITING_BYTES
    }

    /// Waits until the queue is not full. Returns `false` if the agent has read nothing for as long as `patience`.
    pub(super) async fn drained(&self, patience: Duration) -> bool {
        while self.is_full() {
            let until = *self.waiting.last.lock() + patience;
            let written = timeout_at(until, self.waiting.written.notified()).await;
            if written.is_err() && *self.waiting.last.lock() + patience <= Instant::now() {
                return false;
            }
        }
        true
    }
}

async fn write_lines(
    mut pipe: Box<dyn AsyncWrite + Send + Unpin>,
    mut queue: mpsc::UnboundedReceiver<Arc<String>>,
    waiting: Arc<Waiting>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(line) = queue.recv().await {
        let mut chunks = line.as_bytes().chunks(MAX_WRITE_BYTES).peekable();
        while let Some(chunk) = chunks.next() {
            if chunks.peek().is_some() {
                pipe.write_all(chunk).await?;
            } else {
                buffer.clear();
                buffer.extend_from_slice(chunk);
                buffer.push(b'\n');
                pipe.write_all(&buffer).await?;
            }
            waiting.bytes.fetch_sub(chunk.len(), Ordering::Relaxed);
            *waiting.last.lock() = Instant::now();
            waiting.written.notify_one();
        }
    }
    Ok(())
}
