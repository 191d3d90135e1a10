//! An agent's stderr: read to its end, logged, and its last lines kept for the report of its exit. Those are bounded in number
//! and length.

use super::stderr_log::StderrLog;
use super::trace;
use crate::jsonrpc::incoming::{Line, Lines};
use crate::jsonrpc::noise::skip_escape;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How many lines are stored.
const MAX_LINES: usize = 40;

/// How much of a line is stored, in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// The longest line that is read, in bytes. Longer ones are replaced by a note of their length.
const LONGEST_LINE: usize = 1 << 20;

/// How much of it is logged at level `info`, in bytes. The rest is logged at level `debug`.
const INFO_BYTES: usize = 1 << 20;

/// Reads stderr to its end, so that the agent never blocks on a full pipe. Lines go to the logs, the tail and the trace.
pub(super) async fn read(
    mut stderr: Box<dyn AsyncRead + Send + Unpin>,
    tail: Arc<Mutex<Tail>>,
    trace: trace::Shared,
    mut log: StderrLog,
) {
    let redactor = trace.lock().redactor().clone();
    let mut info_bytes_left = INFO_BYTES;
    let mut lines = String::new();
    let mut record = |line: &str, lines: &mut String| {
        let line = redactor.text(line);
        if line.len() <= info_bytes_left {
            info_bytes_left -= line.len();
            tracing::info!(target: "acp", "stderr: {line}");
        } else {
            tracing::debug!(target: "acp", "stderr: {line}");
        }
        lines.push_str(&line);
        lines.push('\n');
        trace.lock().record_stderr(&line);
    };
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read) = stderr.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        tail.lock().feed(&buffer[..read], |line| record(line, &mut lines));
        log.append(&lines).await;
        lines.clear();
    }
    tail.lock().end(|line| record(line, &mut lines));
    log.append(&lines).await;
}

/// The last non-blank lines of a stream, without escape sequences.
#[derive(Debug)]
pub(super) struct Tail {
    splitter: Lines,
    lines: VecDeque<String>,
    count: usize,
}

impl Default for Tail {
    fn default() -> Self {
        Self {
            splitter: Lines::new(LONGEST_LINE),
            lines: VecDeque::with_capacity(MAX_LINES),
            count: 0,
        }
    }
}

impl Tail {
    /// Feeds the next bytes and calls `each` with every line that they complete, without escape sequences.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        let Self { splitter, lines, count } = self;
        splitter.feed(bytes, |line| push_line((lines, count), &line, &mut each));
    }

    /// Flushes a last line without a newline.
    pub(super) fn end(&mut self, mut each: impl FnMut(&str)) {
        let Self { splitter, lines, count } = self;
        splitter.end(|line| push_line((lines, count), &line, &mut each));
    }

    /// Returns the last lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }

    /// Returns how many lines there were, including those that are no longer stored.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

fn push_line(
    (lines, count): (&mut VecDeque<String>, &mut usize),
    line: &Line<'_>,
    each: &mut impl FnMut(&str),
) {
    let text = match line {
        Line::Whole(bytes) => clean(bytes),
        Line::TooLong { bytes } => format!("(a line of {bytes} bytes)"),
    };
    if text.trim().is_empty() {
        return;
    }
    each(&text);
    *count += 1;
    if lines.len() == MAX_LINES {
        lines.pop_front();
    }
    lines.push_back(text);
}

/// Decodes a line, removes escape sequences and control characters except for tabs, and cuts it at `MAX_LINE_BYTES`.
pub(super) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len().min(MAX_LINE_BYTES));
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\t' => clean.push('\t'),
            c if c.is_control() => {}
            c if clean.len() + c.len_utf8() > MAX_LINE_BYTES => {
                clean.push('…');
                break;
            }
            c => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail_of(text: &[u8]) -> Vec<String> {
        let mut tail = Tail::default();
        tail.feed(text, |_| {});
        tail.end(|_| {});
        assert!(tail.count() >= tail.lines().len());
        tail.lines()
    }

    #[test]
    fn escape_sequences_are_removed() {
        let text = b"\x1b[1;31merror\x1b[0m: \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bok\rx\n";
        assert_eq!(tail_of(text), ["error: link okx"]);
    }

    /// ACP 4.
    #[test]
    fn the_last_forty_lines_are_stored_each_up_to_its_limit() {
        let text = (0..100).map(|n| format!("line {n}\n")).collect::<Vec<_>>().join("\n");
        let lines = tail_of(text.as_bytes());
        assert_eq!((lines.len(), &*lines[0], &*lines[39]), (40, "line 60", "line 99"));
        let long = tail_of("é".repeat(5000).as_bytes());
        assert_eq!(long[0].chars().count(), MAX_LINE_BYTES / 2 + 1);
    }

    proptest! {
        #[test]
        fn no_control_character_gets_through(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for line in tail_of(&bytes) {
                prop_assert!(line.chars().all(|c| c == '\t' || !c.is_control()), "{:?}", line);
            }
        }
    }
}
