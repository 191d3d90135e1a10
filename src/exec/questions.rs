//! The permission requests that the person at the terminal is asked about, one after the other.

use super::stdout::Stdout;
use super::terminal::Terminal;
use crate::core::messages::status::WaitingPermission;
use crate::session::permission::OptionKind;
use std::collections::VecDeque;

/// The requests that wait for an answer.
#[derive(Debug)]
pub(super) struct Questions {
    /// `None` if nobody can be asked.
    terminal: Option<Terminal>,
    /// The first is the one that is asked about.
    waiting: VecDeque<WaitingPermission>,
}

impl Questions {
    pub(super) fn new() -> Self {
        Self { terminal: Terminal::of_this_program(), waiting: VecDeque::new() }
    }

    /// Whether there is somebody to ask.
    pub(super) fn can_be_asked(&self) -> bool {
        self.terminal.as_ref().is_some_and(Terminal::is_in_foreground)
    }

    /// Asks about a request of this agent, once those before it are answered.
    pub(super) fn ask(&mut self, waiting: WaitingPermission, agent: &str, stdout: &Stdout) {
        self.waiting.push_back(waiting);
        self.ask_next(agent, stdout);
    }

    /// Asks about the next request, unless a question is open.
    pub(super) fn ask_next(&mut self, agent: &str, stdout: &Stdout) {
        let Some(terminal) = self.terminal.as_mut().filter(|terminal| !terminal.is_asking()) else {
            return;
        };
        if let Some(next) = self.waiting.front() {
            let what = next.title.trim_end_matches('?');
            let allows_once =
                next.options.iter().any(|option| option.kind == OptionKind::AllowOnce);
            let once = if allows_once { " once" } else { "" };
            let details: Vec<&str> =
                next.command.as_deref().into_iter().flat_map(str::lines).collect();
            terminal.ask(&format!("{agent} asks: {what}. Allow it{once}?"), &details, stdout);
        }
    }

    /// Waits for the answer to the open question: the request, and whether it is allowed. Waits for ever if none is open.
    pub(super) async fn answer(&mut self) -> (WaitingPermission, bool) {
        let is_yes = match &mut self.terminal {
            Some(terminal) => terminal.answer().await,
            None => std::future::pending().await,
        };
        match self.waiting.pop_front() {
            Some(waiting) => (waiting, is_yes),
            None => std::future::pending().await,
        }
    }
}
