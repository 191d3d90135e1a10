//! Sets up logging to a file next to Neovim's own log. Nothing is logged to stdout, which carries
//! msgpack-RPC.

mod file;
mod repeats;

use crate::secrets::Secrets;
use file::LogFile;
use repeats::Repeats;
use std::io::{self, Write};
use std::path::PathBuf;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// A log of more than this many bytes is renamed to `.log.old`.
const ROTATE_ABOVE: u64 = 4 * 1024 * 1024;

/// How much of an event is written, in bytes: some quote what agents send.
const MAX_EVENT_BYTES: usize = 16 * 1024;

/// How many events may wait for a slow disk; more are left out.
const MAX_WAITING: usize = 4096;

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
        let clean = self.secrets.hide_bytes(event);
        // The writer expects whole events, too.
        if clean.len() > MAX_EVENT_BYTES {
            let start = String::from_utf8_lossy(&clean[..MAX_EVENT_BYTES]);
            let end = format!("… ({} bytes)\n", clean.len());
            self.writer.write_all((start + &*end).as_bytes())?;
        } else {
            self.writer.write_all(&clean)?;
        }
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
    let file = Repeats::new(LogFile::open(path, ROTATE_ABOVE).ok()?);
    let queue = NonBlockingBuilder::default().buffered_lines_limit(MAX_WAITING);
    let (writer, guard) = queue.finish(file);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_event_is_cut_after_its_secrets_are_hidden() {
        let secrets = Secrets::default();
        secrets.add(["sk-12345678".to_owned()]);
        let event = format!("{}sk-12345678 {}\n", "x".repeat(MAX_EVENT_BYTES - 5), "y".repeat(100));
        let mut written = Vec::new();
        RedactingWriter { writer: &mut written, secrets }.write_all(event.as_bytes()).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(text.ends_with("x[reda… (16491 bytes)\n"), "{}", &text[text.len() - 60..]);
    }
}
