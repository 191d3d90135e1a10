//! The lines that an agent has printed instead of sending a message.

/// How many lines are kept, and of how many bytes; the first of them.
const MAX_LINES: usize = 20;
const MAX_BYTES: usize = 2000;

/// The lines of one agent.
#[derive(Debug, Default)]
pub(super) struct Printed {
    lines: Vec<String>,
    /// Whether the user sees them.
    pub(super) is_shown: bool,
}

impl Printed {
    /// Adds a line. One that begins like the last one is that, with more text.
    pub(super) fn add(&mut self, mut line: String) {
        let end = (0..=MAX_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
        line.truncate(end.unwrap_or_default());
        let count = self.lines.len();
        match self.lines.last_mut() {
            Some(last) if line.starts_with(&**last) => *last = line,
            _ if count < MAX_LINES => self.lines.push(line),
            _ => {}
        }
    }

    /// The lines in order.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Whether a line has an address that can be opened in a browser.
    pub(super) fn has_address(&self) -> bool {
        self.lines.iter().any(|line| line.contains("https://") || line.contains("http://"))
    }
}
