//! stdout, written on a thread of its own: whoever reads it may be slow, which must stop neither signals nor timeouts. Lines for
//! stderr wait for it where both can be seen in one place.

use nix::sys::stat::{FileStat, fstat};
use parking_lot::Mutex;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::sync::Notify;

/// How many bytes may wait before no more is taken from agents.
const MAX_WAITING: usize = 4 << 20;

/// How long the last bytes are waited for when a run is broken off.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// The way to stdout.
#[derive(Debug, Clone)]
pub(super) struct Stdout {
    pieces: Sender<Piece>,
    shared: Arc<Shared>,
}

/// What the thread does next.
enum Piece {
    Bytes(Vec<u8>),
    Then(Box<dyn FnOnce() + Send>),
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    is_closed: bool,
}

/// Ends when everything is written, or cannot be.
#[derive(Debug)]
pub(super) struct Writer(Receiver<io::Result<()>>);

impl Stdout {
    /// Starts the thread that writes to `out`.
    pub(super) fn new(out: impl Write + Send + 'static) -> (Self, Writer) {
        let (pieces, queue) = channel();
        let (done, written) = channel();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            let end = write(out, &queue, &own);
            own.state.lock().is_closed = true;
            own.changed.notify_one();
            // Nobody waits for it if the run was broken off.
            let _ = done.send(end);
        });
        (Self { pieces, shared }, Writer(written))
    }

    /// Writes these bytes after all that came before. It does not wait.
    pub(super) fn write(&self, bytes: Vec<u8>) {
        self.shared.state.lock().waiting += bytes.len();
        // Fails only once nobody reads any more.
        let _ = self.pieces.send(Piece::Bytes(bytes));
    }

    /// Has something done once everything that came before is written; not at all if nobody reads it. It does not wait.
    pub(super) fn then(&self, done: impl FnOnce() + Send + 'static) {
        let _ = self.pieces.send(Piece::Then(Box::new(done)));
    }

    /// Whether so much waits that nothing more should come.
    pub(super) fn is_full(&self) -> bool {
        let state = self.shared.state.lock();
        state.waiting > MAX_WAITING && !state.is_closed
    }

    /// Whether nobody reads any more.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.state.lock().is_closed
    }

    /// Waits until some of it is written or nobody reads any more.
    pub(super) async fn changed(&self) {
        self.shared.changed.notified().await;
    }
}

impl Writer {
    /// Waits until all is written; for a run that was broken off only for a moment.
    pub(super) fn finish(self, is_whole: bool) -> io::Result<()> {
        if is_whole {
            self.0.recv().unwrap_or(Ok(()))
        } else {
            self.0.recv_timeout(LAST_BYTES).unwrap_or(Ok(()))
        }
    }
}

fn write(mut out: impl Write, queue: &Receiver<Piece>, shared: &Shared) -> io::Result<()> {
    while let Ok(first) = queue.recv() {
        // What follows at once is written with it.
        for piece in std::iter::once(first).chain(queue.try_iter()) {
            match piece {
                Piece::Bytes(bytes) => {
                    out.write_all(&bytes)?;
                    shared.state.lock().waiting -= bytes.len();
                }
                Piece::Then(done) => {
                    out.flush()?;
                    done();
                }
            }
        }
        out.flush()?;
        shared.changed.notify_one();
    }
    Ok(())
}

/// Whether what is written to stderr can be seen in the same place as stdout: both are the same terminal, pipe or file.
pub(super) fn is_shared_with_stderr() -> bool {
    let same =
        |out: &FileStat, err: &FileStat| (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino);
    let stats = fstat(io::stdout()).ok().zip(fstat(io::stderr()).ok());
    stats.is_some_and(|(out, err)| same(&out, &err))
}
