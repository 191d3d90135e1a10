//! Asks the person at the terminal. Only one question is open at a time. It decides nothing.

use crate::session::label;
use nix::sys::termios::{FlushArg, tcflush};
use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use tokio::sync::oneshot;

/// The terminal this program was started in.
#[derive(Debug)]
pub(super) struct Terminal {
    /// The answer that is waited for.
    open: Option<oneshot::Receiver<bool>>,
}

impl Terminal {
    /// Returns the terminal if somebody can be asked there: if questions can be seen, and stdin is not used for anything
    /// else.
    pub(super) fn of_this_program() -> Option<Self> {
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        is_there.then_some(Self { open: None })
    }

    /// Whether a question is open.
    pub(super) fn is_asking(&self) -> bool {
        self.open.is_some()
    }

    /// Asks a question, which is answered with yes or no. `details` are lines that belong to it.
    pub(super) fn ask(&mut self, question: &str, details: &[&str]) {
        // What was typed before the question was there is no answer to it.
        let _ = File::open("/dev/tty").map(|tty| tcflush(tty, FlushArg::TCIFLUSH));
        let mut stderr = std::io::stderr();
        // If it cannot be seen, the answer is no.
        for detail in details {
            let _ = writeln!(stderr, "  {}", label::line(detail));
        }
        let _ = write!(stderr, "{} [y/N] ", label::line(question));
        let _ = stderr.flush();
        let (sender, answer) = oneshot::channel();
        // Reading cannot be cancelled; the thread ends with the program.
        std::thread::spawn(move || sender.send(is_yes(read_line().as_deref())));
        self.open = Some(answer);
    }

    /// Waits for the answer to the open question: whether it is yes. Waits for ever if none is open.
    pub(super) async fn answer(&mut self) -> bool {
        let Some(answer) = &mut self.open else { return std::future::pending().await };
        let is_yes = answer.await.unwrap_or(false);
        self.open = None;
        is_yes
    }
}

/// Reads a line from the terminal itself. `None` at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = BufReader::new(File::open("/dev/tty").ok()?).read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}

fn is_yes(line: Option<&str>) -> bool {
    let line = line.unwrap_or_default().trim();
    line.eq_ignore_ascii_case("y") || line.eq_ignore_ascii_case("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for yes in ["y\n", "Y", " yes \n"] {
            assert!(is_yes(Some(yes)), "{yes}");
        }
        for no in [None, Some("\n"), Some("n\n"), Some("yy\n"), Some("yesterday\n")] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
