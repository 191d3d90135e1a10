//! Counts lines of the log that are like many before, instead of writing them: an agent that makes the same mistake 60,000
//! times would push everything else out of the log.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// How many lines that differ only in their numbers are written in one [`PERIOD`].
const MAX_ALIKE: usize = 100;

/// After this time all lines are written again.
const PERIOD: Duration = Duration::from_secs(60);

/// How much of a line says what it is about, in bytes.
const MAX_COMPARED: usize = 120;

/// How many kinds of lines are told apart in one period.
const MAX_KINDS: usize = 1000;

/// A writer of whole lines that leaves out those that are like many before.
#[derive(Debug)]
pub(super) struct Repeats<W: Write> {
    writer: W,
    kinds: HashMap<u64, Kind>,
    since: Instant,
}

#[derive(Debug, Default)]
struct Kind {
    written: usize,
    left_out: usize,
    /// How its lines begin, once some were left out.
    beginning: String,
}

impl<W: Write> Repeats<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer, kinds: HashMap::new(), since: Instant::now() }
    }

    fn write_at(&mut self, now: Instant, event: &[u8]) -> io::Result<()> {
        if now.duration_since(self.since) > PERIOD || self.kinds.len() > MAX_KINDS {
            self.begin(now)?;
        }
        let Some(compared) = compared(event) else { return self.writer.write_all(event) };
        let mut hasher = DefaultHasher::new();
        compared
            .iter()
            .filter(|byte| !byte.is_ascii_digit())
            .for_each(|byte| byte.hash(&mut hasher));
        let kind = self.kinds.entry(hasher.finish()).or_default();
        if kind.written < MAX_ALIKE {
            kind.written += 1;
            return self.writer.write_all(event);
        }
        kind.left_out += 1;
        if kind.left_out == 1 {
            String::from_utf8_lossy(compared).trim().clone_into(&mut kind.beginning);
            writeln!(self.writer, "  more lines like this are counted: {}", kind.beginning)?;
        }
        Ok(())
    }

    /// Begins a period, and writes how many lines of each kind were left out in the last one.
    fn begin(&mut self, now: Instant) -> io::Result<()> {
        self.since = now;
        for kind in std::mem::take(&mut self.kinds).into_values().filter(|kind| kind.left_out > 0) {
            writeln!(self.writer, "  {} more lines like: {}", kind.left_out, kind.beginning)?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Repeats<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.write_at(Instant::now(), event)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl<W: Write> Drop for Repeats<W> {
    fn drop(&mut self) {
        // The log has ended, so there is nowhere to report an error.
        let _ = self.begin(self.since);
    }
}

/// Returns what of a line is compared: neither its time nor its end. `None` for details, which are written only for a user who
/// asked for them.
fn compared(event: &[u8]) -> Option<&[u8]> {
    let after_time = event.iter().position(|byte| *byte == b' ')?;
    let rest = event[after_time..].trim_ascii_start();
    let is_detail = rest.starts_with(b"DEBUG") || rest.starts_with(b"TRACE");
    (!is_detail).then_some(&rest[..rest.len().min(MAX_COMPARED)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds (Hostile agents): Lines of the log that are like many before are counted, and others still written.
    #[test]
    fn lines_that_are_alike_are_counted() {
        let mut written = Vec::new();
        let mut log = Repeats::new(&mut written);
        let start = log.since;
        for number in 0..60_000 {
            let line =
                format!("2026-01-01T00:00:00.{number}Z  WARN acp: request {number} unknown\n");
            log.write_at(start, line.as_bytes()).unwrap();
        }
        log.write_at(start, b"2026-01-01T00:00:01Z  WARN acp: another\n").unwrap();
        for _ in 0..200 {
            log.write_at(start, b"2026-01-01T00:00:02Z DEBUG acp: detail\n").unwrap();
        }
        log.write_at(start + 2 * PERIOD, b"2026-01-01T00:02:00Z  WARN acp: request 7 unknown\n")
            .unwrap();
        drop(log);
        let text = String::from_utf8(written).unwrap();
        let count = |part: &str| text.matches(part).count();
        assert_eq!(count("unknown\n"), MAX_ALIKE + 3, "{text}");
        assert_eq!(count("more lines like this are counted: WARN acp: request 100 unknown\n"), 1);
        assert_eq!(count("  59900 more lines like: WARN acp: request 100 unknown\n"), 1, "{text}");
        assert_eq!((count("another"), count("detail")), (1, 200));
        assert!(text.ends_with("00:02:00Z  WARN acp: request 7 unknown\n"), "{text}");
    }
}
