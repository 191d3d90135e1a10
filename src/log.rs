//! The log: one file beside Neovim's own, never stdout, which belongs to the editor.

use crate::secrets::Secrets;
use std::io::{self, Write};
use std::path::PathBuf;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// A log of this size begins anew when the bridge starts, the old one stays as `.old`.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Keeps the log going; what is still to be written is written when it is dropped.
#[derive(Debug)]
pub struct Log {
    _guard: WorkerGuard,
    level: reload::Handle<EnvFilter, Registry>,
}

/// Writes without the secrets.
struct Hiding<W> {
    writer: W,
    secrets: Secrets,
}

impl<W: Write> Write for Hiding<W> {
    /// An event comes in one piece.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.writer.write_all(&self.secrets.hide_bytes(event))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Begins to log to `RAT_LOG_FILE` from the level `RAT_LOG_LEVEL` on, without the secrets. Without a file, or where it
/// cannot be written, nothing is logged.
pub fn start(secrets: Secrets) -> Option<Log> {
    let path = PathBuf::from(std::env::var_os("RAT_LOG_FILE")?);
    let level = std::env::var("RAT_LOG_LEVEL").unwrap_or_default();
    std::fs::create_dir_all(path.parent()?).ok()?;
    if std::fs::metadata(&path).is_ok_and(|facts| facts.len() > LARGEST) {
        std::fs::rename(&path, path.with_extension("log.old")).ok()?;
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let (filter, handle) = reload::Layer::new(filter(&level));
    let writer = move || Hiding { writer: writer.clone(), secrets: secrets.clone() };
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    tracing_subscriber::registry().with(filter).with(lines).try_init().ok()?;
    let panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let trace = std::backtrace::Backtrace::force_capture();
        tracing::error!(target: "panic", "{info}\n{trace}");
        panic(info);
    }));
    Some(Log { _guard: guard, level: handle })
}

impl Log {
    /// Logs from this level on: `error`, `warn`, `info`, `debug` or `trace`.
    pub fn set_level(&self, level: &str) {
        // Fails only after the subscriber is gone, and then nothing is logged any more.
        let _ = self.level.reload(filter(level));
    }
}

fn filter(level: &str) -> EnvFilter {
    let level = level.parse().unwrap_or(LevelFilter::INFO);
    EnvFilter::default().add_directive(level.into())
}
