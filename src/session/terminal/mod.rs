//! Terminals (ACP terminals): the output of a command and how it ended, for commands that we run
//! and for those that an agent runs itself. It starts no processes.

pub mod escape;
mod lines;
pub mod request;
mod ring;

use escape::{Scanner, Token};
use lines::Lines;
use ring::Ring;
use std::time::Duration;

/// The maximum of `outputByteLimit`, and its default.
pub const MAX_OUTPUT: usize = 4 << 20;

/// How many bytes of a command's output the user can see, also after its terminal was released.
pub const SHOWN: usize = 512 << 10;

/// Commands that ran for less time are described without their duration.
const MIN_SHOWN_DURATION: Duration = Duration::from_secs(1);

/// Aborts an incomplete escape sequence and resets a terminal.
const CLEAR: &str = "\x18\x1bc";

/// How a command ended (ACP `TerminalExitStatus`). Both fields are `None` if that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalExit {
    /// Its exit code.
    pub code: Option<u32>,
    /// The signal that ended it, such as `SIGTERM`.
    pub signal: Option<String>,
}

/// An update of a terminal of the agent's own (`_meta` of tool calls; ACP version 2, terminal
/// updates).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalUpdate {
    /// The terminal was created.
    Started,
    /// The command line it runs.
    Command(String),
    /// Further output.
    Output(Vec<u8>),
    /// All of the output, which replaces what was known.
    Whole(Vec<u8>),
    /// The command ended.
    Exited(TerminalExit),
}

/// The end of a command's output, and how the command ended.
#[derive(Debug)]
pub struct Terminal {
    /// The command line; `None` if the agent that runs it does not say.
    pub command: Option<String>,
    /// Whether we run the command; else the agent does.
    pub is_ours: bool,
    /// How it ended; `None` while it runs.
    pub exit: Option<TerminalExit>,
    /// How long it ran, if we know.
    pub duration: Option<Duration>,
    scanner: Scanner,
    lines: Lines,
    ring: Ring,
}

impl Default for Terminal {
    fn default() -> Self {
        Self {
            command: None,
            is_ours: false,
            exit: None,
            duration: None,
            scanner: Scanner::default(),
            lines: Lines::new(SHOWN),
            ring: Ring::new(SHOWN),
        }
    }
}

impl Terminal {
    /// Creates a terminal for a command line that we run, with `limit` bytes of output for the
    /// agent.
    pub fn new(command: String, limit: usize) -> Self {
        let lines = Lines::new(limit.clamp(SHOWN, MAX_OUTPUT));
        Self { command: Some(command), is_ours: true, lines, ..Self::default() }
    }

    /// Appends output, in chunks of any size.
    pub fn append(&mut self, bytes: &[u8]) {
        let Self { scanner, lines, ring, .. } = self;
        scanner.feed(bytes, |token| push(token, lines, ring));
    }

    /// Replaces the whole output.
    pub fn replace(&mut self, bytes: &[u8]) {
        self.scanner = Scanner::default();
        self.lines = Lines::new(SHOWN);
        self.ring.push(CLEAR);
        self.append(bytes);
    }

    /// Records how the command ended; there is no more output.
    pub fn finish(&mut self, exit: TerminalExit, duration: Option<Duration>) {
        let Self { scanner, lines, ring, .. } = self;
        scanner.end(|token| push(token, lines, ring));
        self.exit = Some(exit);
        self.duration = duration;
    }

    /// Drops what only the agent needed (ACP `terminal/release`); [`SHOWN`] bytes stay for the
    /// user.
    pub fn release(&mut self) {
        self.lines.shrink(SHOWN);
        self.ring.shrink(SHOWN);
    }

    /// Retains about `bytes` of the output at most from now on, one half as plain text and one for terminal buffers.
    pub fn shrink(&mut self, bytes: usize) {
        self.lines.shrink(bytes / 2);
        self.ring.shrink((bytes / 2).min(SHOWN));
    }

    /// Returns the last `limit` bytes of the output as plain text, starting at a character
    /// boundary, and whether there was more.
    pub fn text(&self, limit: usize) -> (String, bool) {
        self.lines.text(limit)
    }

    /// Returns the last lines, at most `most`, each cut to `width` characters.
    pub fn last_lines(&self, most: usize, width: usize) -> Vec<String> {
        self.lines.last(most, width)
    }

    /// Returns the number of lines written.
    pub fn count(&self) -> usize {
        self.lines.count()
    }

    /// Describes how the command ended, such as `exit 3 after 12 s`; `None` while it runs.
    pub fn ending(&self) -> Option<String> {
        let exit = self.exit.as_ref()?;
        let how = match (&exit.signal, exit.code) {
            (Some(signal), _) => format!("killed by {signal}"),
            (None, Some(code)) => format!("exit {code}"),
            (None, None) => "ended".to_owned(),
        };
        let duration =
            self.duration.filter(|duration| *duration >= MIN_SHOWN_DURATION).map(|duration| {
                match duration.as_secs() {
                    seconds @ 0..60 => format!(" after {seconds} s"),
                    seconds => format!(" after {} min {} s", seconds / 60, seconds % 60),
                }
            });
        Some(how + &duration.unwrap_or_default())
    }

    /// Whether an exit code or a signal is known.
    pub fn is_ending_known(&self) -> bool {
        self.exit.as_ref().is_some_and(|exit| exit.code.is_some() || exit.signal.is_some())
    }

    /// Returns the command line, the last `limit` bytes of the output, and how the command ended,
    /// as text for the user.
    pub fn report(&self, limit: usize) -> String {
        let (text, cut) = self.text(limit);
        let command = self.command.as_ref().map(|command| format!("$ {command}\n"));
        let cut = if cut { "[earlier output omitted]\n" } else { "" };
        // Some agents create a terminal for a command that the user then rejects.
        let never_ran = !self.is_ours && self.count() == 0 && !self.is_ending_known();
        let end = self.ending().filter(|_| !never_ran).map(|ending| format!("\n[{ending}]"));
        let text = text.trim_end_matches('\n');
        [&command.unwrap_or_default(), cut, text, &end.unwrap_or_default()].concat()
    }

    /// Returns at most `most` bytes of output for a terminal buffer from offset `from`, and the
    /// offset where they start: later than `from` if the bytes there were dropped. Offsets count
    /// all bytes since the start.
    pub fn bytes(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.ring.read(from, most)
    }

    /// Returns the memory it uses, in bytes.
    pub fn size(&self) -> usize {
        let command = self.command.as_ref().map_or(0, String::capacity);
        size_of::<Self>() + command + self.lines.size() + self.ring.size()
    }

    /// Returns the offset after the last byte.
    pub fn end(&self) -> u64 {
        self.ring.end()
    }
}

fn push(token: Token<'_>, lines: &mut Lines, ring: &mut Ring) {
    match token {
        Token::Text(text) => {
            lines.write(text);
            ring.push(text);
        }
        Token::Control(control) => {
            lines.control(control);
            ring.push(control.encode_utf8(&mut [0; 4]));
        }
        Token::Sequence(sequence) => {
            apply_sequence(sequence, lines);
            ring.push(sequence);
        }
    }
}

/// Applies a sequence to the line of the cursor (`man 4 console_codes`). Movement to other lines is
/// ignored.
fn apply_sequence(sequence: &str, lines: &mut Lines) {
    let Some(inner) = sequence.strip_prefix("\x1b[") else { return };
    let Some(last) = inner.chars().next_back() else { return };
    let number = inner[..inner.len() - 1].parse::<usize>().ok();
    let count = number.unwrap_or(1).max(1);
    match (last, number.unwrap_or(0)) {
        ('K', 0) => lines.erase_rest(),
        ('K', 1) => lines.erase_start(),
        ('K', 2) => lines.erase_line(),
        ('G' | '`', _) => lines.move_to(count - 1),
        ('C' | 'a', _) => lines.move_to(lines.column() + count),
        ('D', _) => lines.move_to(lines.column().saturating_sub(count)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(output: &str) -> String {
        let mut terminal = Terminal::default();
        terminal.append(output.as_bytes());
        terminal.text(MAX_OUTPUT).0
    }

    #[test]
    fn the_text_is_what_a_terminal_would_show() {
        assert_eq!(
            text("\x1b[32mok\x1b[0m 1\r\n\x1b]8;;http://x\x07link\x1b]8;;\x07\n"),
            "ok 1\nlink\n"
        );
        assert_eq!(text("[  ] wait\r[ok\x1b[K\n"), "[ok\n");
        assert_eq!(text("50%\x1b[2K\x1b[1G100%\n"), "100%\n");
        assert_eq!(text("ab\x1b[1Dc\x1b[2Cd"), "ac  d");
    }

    #[test]
    fn whole_output_replaces_earlier_output() {
        let mut terminal = Terminal::default();
        terminal.append(b"old\n\x1b[3");
        let before = terminal.end();
        terminal.replace(b"new\n");
        assert_eq!(terminal.text(MAX_OUTPUT), ("new\n".to_owned(), false));
        assert_eq!(terminal.bytes(before, MAX_OUTPUT).1, b"\x18\x1bcnew\n");
    }

    #[test]
    fn the_ending_is_described_in_a_few_words() {
        let ending = |code, signal: Option<&str>, duration| {
            let mut terminal = Terminal::default();
            assert_eq!(terminal.ending(), None);
            terminal.finish(TerminalExit { code, signal: signal.map(str::to_owned) }, duration);
            terminal.ending().unwrap()
        };
        let after = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(ending(Some(0), None, Some(Duration::from_millis(999))), "exit 0");
        assert_eq!(ending(Some(3), None, after(12)), "exit 3 after 12 s");
        assert_eq!(ending(None, Some("SIGTERM"), after(61)), "killed by SIGTERM after 1 min 1 s");
        assert_eq!(ending(None, None, None), "ended");
    }

    #[test]
    fn a_report_has_the_command_and_its_ending() {
        let mut terminal = Terminal::new("make all".to_owned(), 0);
        terminal.append(b"\x1b[31mred\x1b[0m\nend\n");
        terminal.finish(TerminalExit { code: Some(2), signal: None }, None);
        assert_eq!(terminal.report(MAX_OUTPUT), "$ make all\nred\nend\n[exit 2]");
        let cut = "$ make all\n[earlier output omitted]\nend\n[exit 2]";
        assert_eq!(terminal.report(4), cut);
        // Nothing is known of this command, so there is nothing to report.
        let mut silent = Terminal::default();
        silent.finish(TerminalExit::default(), None);
        assert_eq!(silent.report(MAX_OUTPUT), "");
    }

    #[test]
    fn memory_is_bounded_for_any_output() {
        let mut terminal = Terminal::new("yes".to_owned(), usize::MAX);
        let flood = "\x1b[1mline\x1b[0m of output\n".repeat(4096);
        for _ in 0..100 {
            terminal.append(flood.as_bytes());
        }
        let (all, cut) = terminal.text(usize::MAX);
        assert!(
            cut && all.len() >= MAX_OUTPUT && all.len() < MAX_OUTPUT + (128 << 10),
            "{}",
            all.len()
        );
        assert!(terminal.bytes(0, usize::MAX).1.len() <= SHOWN);
        assert_eq!(terminal.count(), 409_600);
        assert!(terminal.size() > MAX_OUTPUT + SHOWN);
        terminal.release();
        assert!(terminal.text(usize::MAX).0.len() <= SHOWN);
        assert!(terminal.size() >= SHOWN && terminal.size() < 4 * SHOWN, "{}", terminal.size());
    }

    proptest! {
        /// For the agent and for the terminal buffer, however the text is split.
        #[test]
        fn plain_text_is_unchanged(parts in prop::collection::vec("[a-zß€😀\n]{0,9}", 0..9)) {
            let mut terminal = Terminal::default();
            let whole = parts.concat();
            for byte in whole.as_bytes() {
                terminal.append(&[*byte]);
            }
            prop_assert_eq!(terminal.text(MAX_OUTPUT), (whole.clone(), false));
            prop_assert_eq!(terminal.bytes(0, usize::MAX), (0, whole.into_bytes()));
        }
    }
}
