//! Sets up logging to a file next to Neovim's own log. Nothing is logged to stdout, which carries
//! msgpack-RPC.

use crate::secrets::Secrets;
use std::io::{self, Write};
use std::path::PathBuf;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// A log of more than this many bytes is renamed to `.log.old` when the bridge starts.
const ROTATE_ABOVE: u64 = 4 * 1024 * 1024;

/// A handle to the running log. Dropping it writes buffered lines and ends logging.
#[derive(Debug)]
pub struct Log {
    _guard: WorkerGuard,
    level: reload::Handle<EnvFilter, Registry>,
}

/// A writer that redacts secrets.
struct RedactingWriter<W> {
    writer: W,
    secrets: Secrets,
}

impl<W: Write> Write for RedactingWriter<W> {
    /// Expects a whole event, so that no secret is split over two calls.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.writer.write_all(&self.secrets.hide_bytes(event))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Starts logging to the file `RAT_LOG_FILE` at level `RAT_LOG_LEVEL` (default `info`), with the
/// secrets redacted. Returns `None`, and logs nothing, if no file is set or it cannot be opened.
pub fn start(secrets: Secrets) -> Option<Log> {
    let path = PathBuf::from(std::env::var_os("RAT_LOG_FILE")?);
    let level = std::env::var("RAT_LOG_LEVEL").unwrap_or_default();
    std::fs::create_dir_all(path.parent()?).ok()?;
    if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > ROTATE_ABOVE) {
        std::fs::rename(&path, path.with_extension("log.old")).ok()?;
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let (filter, handle) = reload::Layer::new(filter(&level));
    let writer = move || RedactingWriter { writer: writer.clone(), secrets: secrets.clone() };
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    tracing_subscriber::registry().with(filter).with(lines).try_init().ok()?;
    let previous_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let trace = std::backtrace::Backtrace::force_capture();
        tracing::error!(target: "panic", "{info}\n{trace}");
        previous_hook(info);
    }));
    Some(Log { _guard: guard, level: handle })
}

/// Returns the folder beside the log for what agents write to stderr; `None` if nothing is logged.
pub fn agents_folder() -> Option<PathBuf> {
    let log = PathBuf::from(std::env::var_os("RAT_LOG_FILE")?);
    Some(log.with_file_name("rat-nvim-agents"))
}

impl Log {
    /// Changes the level: `error`, `warn`, `info`, `debug` or `trace`; anything else means `info`.
    pub fn set_level(&self, level: &str) {
        // Fails only if the subscriber was dropped, and then nothing is logged anyway.
        let _ = self.level.reload(filter(level));
    }
}

fn filter(level: &str) -> EnvFilter {
    let level = level.parse().unwrap_or(LevelFilter::INFO);
    EnvFilter::default().add_directive(level.into())
}
