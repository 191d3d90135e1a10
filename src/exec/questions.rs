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
    /// What the first has become since it was asked about.
    changed: Option<WaitingPermission>,
}

/// What the person at the terminal has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Yes,
    No,
    /// Yes, to something that is no longer asked.
    YesToEarlier,
}

impl Questions {
    pub(super) fn new() -> Self {
        Self { terminal: Terminal::of_this_program(), waiting: VecDeque::new(), changed: None }
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
            let allows_always =
                next.options.iter().any(|option| option.kind == OptionKind::AllowAlways);
            let once = match (allows_once, allows_always) {
                (true, _) => " once",
                (false, true) => " from now on",
                (false, false) => "",
            };
            let details: Vec<&str> = next.commands.iter().flat_map(|line| line.lines()).collect();
            terminal.ask(&format!("{agent} asks: {what}. Allow it{once}?"), &details, stdout);
        }
    }

    /// Whether a request waits for its answer here.
    pub(super) fn are_about(&self, id: u64) -> bool {
        self.waiting.iter().any(|waiting| waiting.id == id)
    }

    /// A request has changed. If it is the one that is asked about, the answer does not count.
    pub(super) fn changed(&mut self, waiting: WaitingPermission) {
        let Some(at) = self.waiting.iter().position(|it| it.id == waiting.id) else { return };
        if at == 0 && self.terminal.as_ref().is_some_and(Terminal::is_asking) {
            self.changed = Some(waiting);
        } else {
            self.waiting[at] = waiting;
        }
    }

    /// Waits for the answer to the open question: the request as it is now, and what was said. Waits for ever if none is open.
    pub(super) async fn answer(&mut self) -> (WaitingPermission, Said) {
        let is_yes = match &mut self.terminal {
            Some(terminal) => terminal.answer().await,
            None => std::future::pending().await,
        };
        let Some(asked) = self.waiting.pop_front() else { return std::future::pending().await };
        match (is_yes, self.changed.take()) {
            (false, now) => (now.unwrap_or(asked), Said::No),
            (true, None) => (asked, Said::Yes),
            (true, Some(now)) => (now, Said::YesToEarlier),
        }
    }
}
