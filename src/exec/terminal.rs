//! Asks the person at the terminal. Only one question is open at a time. It decides nothing.
//!
//! As with ssh, sudo and git, that is the controlling terminal (`/dev/tty`): stdin may be a pipe with the prompt, and stderr a
//! file. Nobody is there in CI, nor for a job in the background, which reading would stop.

use super::stdout::Stdout;
use crate::session::label;
use nix::sys::termios::{FlushArg, tcflush};
use nix::unistd::{getpgrp, tcgetpgrp};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use tokio::sync::oneshot;

/// The terminal this program was started in.
#[derive(Debug)]
pub(super) struct Terminal {
    tty: File,
    /// The answer that is waited for.
    open: Option<oneshot::Receiver<bool>>,
}

impl Terminal {
    /// Returns the terminal, if there is one and `CI` is not set.
    pub(super) fn of_this_program() -> Option<Self> {
        let is_ci = std::env::var("CI").is_ok_and(|ci| !matches!(&*ci, "" | "0" | "false"));
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
        tty.ok().filter(|_| !is_ci).map(|tty| Self { tty, open: None })
    }

    /// Whether what is typed there comes here.
    pub(super) fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|group| group == getpgrp())
    }

    /// Whether a question is open.
    pub(super) fn is_asking(&self) -> bool {
        self.open.is_some()
    }

    /// Asks a question, which is answered with yes or no, below everything that was printed. `details` are lines that belong to
    /// it.
    pub(super) fn ask(&mut self, question: &str, details: &[&str], stdout: &Stdout) {
        let details = details.iter().map(|detail| format!("  {}\n", label::line(detail)));
        let text = format!("{}{} [y/N] ", details.collect::<String>(), label::line(question));
        let (sender, answer) = oneshot::channel();
        self.open = Some(answer);
        let Ok(tty) = self.tty.try_clone() else { return };
        // Reading cannot be cancelled; the thread ends with the program.
        let ask = move || {
            std::thread::spawn(move || sender.send(is_yes(answered(tty, &text).as_deref())));
        };
        if std::io::stdout().is_terminal() {
            stdout.then(ask);
        } else {
            ask();
        }
    }

    /// Waits for the answer to the open question: whether it is yes. Waits for ever if none is open.
    pub(super) async fn answer(&mut self) -> bool {
        let Some(answer) = &mut self.open else { return std::future::pending().await };
        let is_yes = answer.await.unwrap_or(false);
        self.open = None;
        is_yes
    }
}

/// Returns the line that is typed after a question. `None` if the question cannot be shown, or at the end of the terminal.
fn answered(mut tty: File, question: &str) -> Option<String> {
    // What was typed before the question was there is no answer to it.
    let _ = tcflush(&tty, FlushArg::TCIFLUSH);
    tty.write_all(question.as_bytes()).ok()?;
    let mut line = String::new();
    let read = BufReader::new(tty).read_line(&mut line).ok()?;
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
