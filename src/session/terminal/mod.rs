//! Terminals: what commands wrote and how they ended (ACP terminals), ours and those of agents. No process is known
//! here.

pub mod escape;
mod lines;
pub mod request;
mod ring;

use escape::{Piece, Scanner};
use lines::Lines;
use ring::Ring;
use std::time::Duration;

/// The most an agent can have of one command's output, in bytes: `outputByteLimit` where it gives none, or more.
pub const MOST: usize = 4 << 20;

/// What the user can see of one command's output, in bytes. It stays when the terminal is released.
pub const SHOWN: usize = 512 << 10;

/// Commands that took less are told without how long.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// Ends any sequence that has begun, and clears a terminal.
const CLEAR: &str = "\x18\x1bc";

/// How a command ended (ACP `TerminalExitStatus`); both are `None` where nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalExit {
    /// Its exit code.
    pub code: Option<u32>,
    /// The signal that ended it, such as `SIGTERM`.
    pub signal: Option<String>,
}

/// What an agent says of a terminal of its own (`_meta` of tool calls; ACP version 2, terminal updates).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalNews {
    /// It is there.
    Begun,
    /// Its command has written this.
    Output(Vec<u8>),
    /// This is all that its command has written.
    Whole(Vec<u8>),
    /// Its command has ended.
    Exited(TerminalExit),
}

/// One command: what it wrote last, and how it ended.
#[derive(Debug)]
pub struct Terminal {
    /// The command line, where we started it.
    pub command: Option<String>,
    /// How it ended; `None` while it runs.
    pub exit: Option<TerminalExit>,
    /// How long it ran, where we know.
    pub took: Option<Duration>,
    scanner: Scanner,
    lines: Lines,
    ring: Ring,
}

impl Default for Terminal {
    fn default() -> Self {
        Self {
            command: None,
            exit: None,
            took: None,
            scanner: Scanner::default(),
            lines: Lines::new(SHOWN),
            ring: Ring::new(SHOWN),
        }
    }
}

impl Terminal {
    /// A terminal in which this command line runs, whose agent wants up to `limit` bytes of output.
    pub fn new(command: String, limit: usize) -> Self {
        let lines = Lines::new(limit.clamp(SHOWN, MOST));
        Self { command: Some(command), lines, ..Self::default() }
    }

    /// Takes in what the command wrote, in pieces of any size.
    pub fn append(&mut self, bytes: &[u8]) {
        let Self { scanner, lines, ring, .. } = self;
        scanner.feed(bytes, |piece| take(piece, lines, ring));
    }

    /// What the command wrote is this, whatever was known of it.
    pub fn replace(&mut self, bytes: &[u8]) {
        self.scanner = Scanner::default();
        self.lines = Lines::new(SHOWN);
        self.ring.push(CLEAR);
        self.append(bytes);
    }

    /// The command has ended and writes nothing more.
    pub fn finish(&mut self, exit: TerminalExit, took: Option<Duration>) {
        let Self { scanner, lines, ring, .. } = self;
        scanner.end(|piece| take(piece, lines, ring));
        self.exit = Some(exit);
        self.took = took;
    }

    /// The agent does not need it any more: what is kept is for the user.
    pub fn release(&mut self) {
        self.lines.shrink(SHOWN);
        self.ring.shrink(SHOWN);
    }

    /// The last `limit` bytes of the output as plain text, less where a character would be cut, and whether there
    /// was more.
    pub fn text(&self, limit: usize) -> (String, bool) {
        self.lines.text(limit)
    }

    /// The last lines, at most `most`, each cut to `width` characters.
    pub fn last_lines(&self, most: usize, width: usize) -> Vec<String> {
        self.lines.last(most, width)
    }

    /// How many lines there were.
    pub fn count(&self) -> usize {
        self.lines.count()
    }

    /// How the command ended, in a few words: `exit 3 after 12 s`; `None` while it runs.
    pub fn ending(&self) -> Option<String> {
        let exit = self.exit.as_ref()?;
        let how = match (&exit.signal, exit.code) {
            (Some(signal), _) => format!("ended by {signal}"),
            (None, Some(code)) => format!("exit {code}"),
            (None, None) => "ended".to_owned(),
        };
        let took =
            self.took.filter(|took| *took >= WORTH_TELLING).map(|took| match took.as_secs() {
                seconds @ 0..60 => format!(" after {seconds} s"),
                seconds => format!(" after {} min {} s", seconds / 60, seconds % 60),
            });
        Some(how + &took.unwrap_or_default())
    }

    /// The command, the last `limit` bytes of what it wrote and how it ended, as text for people.
    pub fn account(&self, limit: usize) -> String {
        let (text, cut) = self.text(limit);
        let command = self.command.as_ref().map(|command| format!("$ {command}\n"));
        let cut = if cut { "[what came before is not kept]\n" } else { "" };
        let end = self.ending().map(|ending| format!("\n[{ending}]"));
        let text = text.trim_end_matches('\n');
        [&command.unwrap_or_default(), cut, text, &end.unwrap_or_default()].concat()
    }

    /// At most `most` bytes for a terminal buffer from a place on, and where they begin: later than asked where what
    /// stood there is gone. Places are counted in bytes from the first.
    pub fn bytes(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.ring.from(from, most)
    }

    /// What it takes of memory, in bytes.
    pub fn size(&self) -> usize {
        let command = self.command.as_ref().map_or(0, String::capacity);
        size_of::<Self>() + command + self.lines.size() + self.ring.size()
    }

    /// The place after the last byte.
    pub fn end(&self) -> u64 {
        self.ring.end()
    }
}

fn take(piece: Piece<'_>, lines: &mut Lines, ring: &mut Ring) {
    match piece {
        Piece::Text(text) => {
            lines.write(text);
            ring.push(text);
        }
        Piece::Control(control) => {
            lines.control(control);
            ring.push(control.encode_utf8(&mut [0; 4]));
        }
        Piece::Sequence(sequence) => {
            within_line(sequence, lines);
            ring.push(sequence);
        }
    }
}

/// What a sequence does to the line the cursor is in (`man 4 console_codes`).
fn within_line(sequence: &str, lines: &mut Lines) {
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
        terminal.text(MOST).0
    }

    #[test]
    fn what_an_agent_reads_is_what_a_user_would() {
        assert_eq!(
            text("\x1b[32mok\x1b[0m 1\r\n\x1b]8;;http://x\x07link\x1b]8;;\x07\n"),
            "ok 1\nlink\n"
        );
        assert_eq!(text("[  ] wait\r[ok\x1b[K\n"), "[ok\n");
        assert_eq!(text("50%\x1b[2K\x1b[1G100%\n"), "100%\n");
        assert_eq!(text("ab\x1b[1Dc\x1b[2Cd"), "ac  d");
    }

    #[test]
    fn what_is_told_whole_replaces_what_was_there() {
        let mut terminal = Terminal::default();
        terminal.append(b"old\n\x1b[3");
        let before = terminal.end();
        terminal.replace(b"new\n");
        assert_eq!(terminal.text(MOST), ("new\n".to_owned(), false));
        assert_eq!(terminal.bytes(before, MOST).1, b"\x18\x1bcnew\n");
    }

    #[test]
    fn how_a_command_ended_is_said_in_few_words() {
        let ending = |code, signal: Option<&str>, took| {
            let mut terminal = Terminal::default();
            assert_eq!(terminal.ending(), None);
            terminal.finish(TerminalExit { code, signal: signal.map(str::to_owned) }, took);
            terminal.ending().unwrap()
        };
        let after = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(ending(Some(0), None, Some(Duration::from_millis(999))), "exit 0");
        assert_eq!(ending(Some(3), None, after(12)), "exit 3 after 12 s");
        assert_eq!(ending(None, Some("SIGTERM"), after(61)), "ended by SIGTERM after 1 min 1 s");
        assert_eq!(ending(None, None, None), "ended");
    }

    #[test]
    fn an_account_names_the_command_and_its_end() {
        let mut terminal = Terminal::new("make all".to_owned(), 0);
        terminal.append(b"\x1b[31mred\x1b[0m\nend\n");
        terminal.finish(TerminalExit { code: Some(2), signal: None }, None);
        assert_eq!(terminal.account(MOST), "$ make all\nred\nend\n[exit 2]");
        let cut = "$ make all\n[what came before is not kept]\nend\n[exit 2]";
        assert_eq!(terminal.account(4), cut);
    }

    #[test]
    fn memory_has_a_limit_whatever_is_written() {
        let mut terminal = Terminal::new("yes".to_owned(), usize::MAX);
        let flood = "\x1b[1mline\x1b[0m of output\n".repeat(4096);
        for _ in 0..100 {
            terminal.append(flood.as_bytes());
        }
        let (all, cut) = terminal.text(usize::MAX);
        assert!(cut && all.len() >= MOST && all.len() < MOST + (128 << 10), "{}", all.len());
        assert!(terminal.bytes(0, usize::MAX).1.len() <= SHOWN);
        assert_eq!(terminal.count(), 409_600);
        assert!(terminal.size() > MOST + SHOWN);
        terminal.release();
        assert!(terminal.text(usize::MAX).0.len() <= SHOWN);
        assert!(terminal.size() >= SHOWN && terminal.size() < 4 * SHOWN, "{}", terminal.size());
    }

    proptest! {
        /// Plain text is the same text, for the agent and for the terminal buffer, however it came.
        #[test]
        fn plain_text_stays_as_it_is(parts in prop::collection::vec("[a-zß€😀\n]{0,9}", 0..9)) {
            let mut terminal = Terminal::default();
            let whole = parts.concat();
            for byte in whole.as_bytes() {
                terminal.append(&[*byte]);
            }
            prop_assert_eq!(terminal.text(MOST), (whole.clone(), false));
            prop_assert_eq!(terminal.bytes(0, usize::MAX), (0, whole.into_bytes()));
        }
    }
}
