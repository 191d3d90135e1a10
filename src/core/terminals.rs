//! Terminals: which commands run for whom, what agents are told of them, and when they end. What they wrote is kept in
//! the transcript, for the user too.

use super::chat::Chat;
use super::command::{FromTerminal, Launch, ToTerminal};
use super::documents;
use super::effect::{Answer, Effect, ToEditor};
use super::event::agent::{INVALID_PARAMS, NOT_FOUND, REQUEST_CANCELLED};
use super::event::{AgentId, ChatId, Token};
use super::state::{Debt, State};
use crate::session::ids::TerminalId;
use crate::session::terminal::request::{CreateTerminal, TerminalRequest};
use crate::session::terminal::{MOST, Terminal, TerminalExit};

/// What a command gets beside the editor's environment and below what its agent wants: colours, and no pager that
/// waits for a key.
const ENVIRONMENT: [(&str, &str); 4] =
    [("TERM", "xterm-256color"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat")];

/// Bytes a terminal buffer gets in one frame: Neovim needs some milliseconds for as much.
const FEED: usize = 8 << 10;

/// What a terminal buffer is told where some of it is gone already: end any sequence that has begun.
const LEFT_OUT: &str = "\x18\x1b[0m\r\n[what came before is left out]\r\n";

/// A command that runs for an agent, or has run and is not released.
#[derive(Debug)]
pub(super) struct Owned {
    chat: ChatId,
    stage: Stage,
    /// Requests that wait for the end of the command.
    waiting: Vec<(Token, Wait)>,
    /// The most output its agent wants, in bytes.
    limit: usize,
    /// The agent cannot name it any more.
    released: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// Its `terminal/create` waits.
    Starting(Token),
    Running,
    Ended(TerminalExit),
}

/// What waits for the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Exit,
    Kill,
}

/// A terminal buffer of the editor's.
#[derive(Debug)]
pub(super) struct Feed {
    chat: ChatId,
    terminal: TerminalId,
    /// The editor has it.
    opened: bool,
    /// Up to where it has been fed.
    at: u64,
}

impl State {
    pub(super) fn terminal_asked(
        &mut self,
        id: ChatId,
        agent: AgentId,
        token: Token,
        request: TerminalRequest,
    ) {
        self.debts.insert(token, Debt { agent, chat: id, file: None });
        match request {
            TerminalRequest::Create(create) => self.create_terminal(id, token, create),
            TerminalRequest::Output(terminal) => self.terminal_output(id, token, &terminal),
            TerminalRequest::WaitForExit(terminal) => {
                self.await_exit(id, token, &terminal, Wait::Exit);
            }
            TerminalRequest::Kill(terminal) => {
                self.await_exit(id, token, &terminal, Wait::Kill);
            }
            TerminalRequest::Release(terminal) => self.release(id, token, &terminal),
        }
    }

    fn create_terminal(&mut self, id: ChatId, token: Token, create: CreateTerminal) {
        let terminal = TerminalId::from(format!("terminal-{}", self.next_id()));
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.turn().is_some_and(|turn| turn.cancelled) {
            return self.pay(token, documents::cancelled());
        }
        let cwd = create.cwd.as_ref().unwrap_or(&chat.cwd).clone();
        if !cwd.is_absolute() {
            let message = format!("cwd must be an absolute path, not {}", cwd.display());
            return self.pay(token, Answer::Error { code: INVALID_PARAMS, message });
        }
        let limit = usize::try_from(create.limit.unwrap_or(u64::MAX)).unwrap_or(MOST).min(MOST);
        chat.spoken().begin_terminal(&terminal, Terminal::new(create.line(), limit));
        let ours = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env = chat.config.base_env.iter().cloned().chain(ours).chain(create.env).collect();
        let launch = Launch { command: create.command, args: create.args, env, cwd };
        let (stage, waiting) = (Stage::Starting(token), Vec::new());
        let owned = Owned { chat: id, stage, waiting, limit, released: false };
        self.terminals.insert(terminal.clone(), owned);
        self.order(&terminal, ToTerminal::Start(Box::new(launch)));
    }

    fn order(&mut self, terminal: &TerminalId, action: ToTerminal) {
        self.effects.push(Effect::Terminal(terminal.clone(), action));
    }

    /// The terminal, if this session can name it.
    fn owned(&mut self, id: ChatId, terminal: &TerminalId) -> Option<&mut Owned> {
        let owned = self.terminals.get_mut(terminal)?;
        (owned.chat == id && !owned.released).then_some(owned)
    }

    fn terminal_output(&mut self, id: ChatId, token: Token, terminal: &TerminalId) {
        let Some(owned) = self.owned(id, terminal) else {
            return self.pay(token, unknown(terminal));
        };
        let limit = owned.limit;
        let exit = match &owned.stage {
            Stage::Ended(exit) => Some(exit.clone()),
            Stage::Starting(_) | Stage::Running => None,
        };
        let shown = self.chats.get(&id).and_then(|chat| chat.terminal(terminal));
        // Of a command that has ended long ago nothing may be left.
        let (text, truncated) =
            shown.map_or_else(|| (String::new(), true), |shown| shown.text(limit));
        self.pay(token, Answer::Output { text, truncated, exit });
    }

    fn await_exit(&mut self, id: ChatId, token: Token, terminal: &TerminalId, wait: Wait) {
        let Some(owned) = self.owned(id, terminal) else {
            return self.pay(token, unknown(terminal));
        };
        let exit = match &owned.stage {
            Stage::Ended(exit) => Some(exit.clone()),
            Stage::Starting(_) | Stage::Running => {
                owned.waiting.push((token, wait));
                None
            }
        };
        if wait == Wait::Kill {
            // Also of a command that has ended: what it started may live.
            self.order(terminal, ToTerminal::Kill);
        }
        if let Some(exit) = exit {
            self.pay(token, wait.answer(exit));
        }
    }

    fn release(&mut self, id: ChatId, token: Token, terminal: &TerminalId) {
        if self.owned(id, terminal).is_none() {
            return self.pay(token, unknown(terminal));
        }
        let message = "the terminal was released";
        self.end_terminal(terminal, message);
        self.pay(token, Answer::Done);
    }

    /// Ends a command and takes its name from its agent. What waits for it is answered; what it wrote stays for the
    /// user.
    fn end_terminal(&mut self, terminal: &TerminalId, why: &str) {
        let Some(owned) = self.terminals.get_mut(terminal) else { return };
        if std::mem::replace(&mut owned.released, true) {
            return;
        }
        let (id, waiting) = (owned.chat, std::mem::take(&mut owned.waiting));
        if matches!(owned.stage, Stage::Ended(_)) {
            self.terminals.remove(terminal);
        }
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.change_terminal(terminal, Terminal::release);
        }
        for (token, wait) in waiting {
            let answer = match wait {
                Wait::Exit => Answer::Error { code: REQUEST_CANCELLED, message: why.to_owned() },
                Wait::Kill => Answer::Done,
            };
            self.pay(token, answer);
        }
        self.order(terminal, ToTerminal::Release);
    }

    /// Ends every command of a chat whose session ends.
    pub(super) fn end_terminals(&mut self, id: ChatId) {
        for terminal in self.terminals_of(id) {
            self.end_terminal(&terminal, "the session has ended");
        }
    }

    /// Ends the commands that the turn waits for: it is cancelled. Their agent can still ask how they ended.
    pub(super) fn cancel_terminals(&mut self, id: ChatId) {
        for terminal in self.terminals_of(id) {
            let Some(owned) = self.owned(id, &terminal) else { continue };
            let ended = matches!(owned.stage, Stage::Ended(_));
            let awaited = matches!(owned.stage, Stage::Starting(_))
                || owned.waiting.iter().any(|(_, wait)| *wait == Wait::Exit);
            let shown = |chat: &Chat| chat.transcript.is_waited_for(&terminal);
            if !ended && (awaited || self.chats.get(&id).is_some_and(shown)) {
                self.order(&terminal, ToTerminal::Kill);
            }
        }
    }

    fn terminals_of(&self, id: ChatId) -> Vec<TerminalId> {
        let its = self.terminals.iter().filter(|(_, owned)| owned.chat == id);
        its.map(|(terminal, _)| terminal.clone()).collect()
    }

    pub(super) fn terminal_said(&mut self, terminal: &TerminalId, happened: FromTerminal) {
        let Some(owned) = self.terminals.get_mut(terminal) else { return };
        let id = owned.chat;
        match happened {
            FromTerminal::Started => {
                let stage = std::mem::replace(&mut owned.stage, Stage::Running);
                let Stage::Starting(token) = stage else { return };
                if self.debts.contains_key(&token) {
                    self.pay(token, Answer::Terminal(terminal.clone()));
                } else {
                    // Its agent will never know its name.
                    self.end_terminal(terminal, "the request was withdrawn");
                }
            }
            FromTerminal::NotStarted(why) => self.not_started(terminal, why),
            FromTerminal::Output(bytes) => {
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.change_terminal(terminal, |terminal| terminal.append(&bytes));
                }
            }
            FromTerminal::Exited(exit, took) => {
                let before = std::mem::replace(&mut owned.stage, Stage::Ended(exit.clone()));
                let waiting = std::mem::take(&mut owned.waiting);
                if owned.released {
                    self.terminals.remove(terminal);
                }
                if let Stage::Starting(token) = before {
                    // Whoever ran it broke down. Its agent can still ask how it ended, as far as that is known.
                    self.pay(token, Answer::Terminal(terminal.clone()));
                }
                for (token, wait) in waiting {
                    self.pay(token, wait.answer(exit.clone()));
                }
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.change_terminal(terminal, |terminal| terminal.finish(exit, Some(took)));
                }
            }
        }
    }

    /// The command cannot be started: its agent is told why, and so is the user, where the call is shown.
    fn not_started(&mut self, terminal: &TerminalId, why: String) {
        let Some(Owned { chat: id, stage, waiting, .. }) = self.terminals.remove(terminal) else {
            return;
        };
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.spoken().terminal_failed(terminal, &why);
        }
        for (token, _) in waiting {
            self.pay(token, unknown(terminal));
        }
        if let Stage::Starting(token) = stage {
            self.pay(token, Answer::Error { code: INVALID_PARAMS, message: why });
        }
    }

    pub(super) fn show_terminal(&mut self, id: ChatId, terminal: TerminalId, show: bool) {
        self.feeds.retain(|feed| (feed.chat, &feed.terminal) != (id, &terminal));
        if show && self.chats.get(&id).is_some_and(|chat| chat.terminal(&terminal).is_some()) {
            self.feeds.push(Feed { chat: id, terminal, opened: false, at: 0 });
        }
    }

    /// Whether a terminal buffer has to be told something.
    pub(super) fn has_feed(&self) -> bool {
        self.feeds.iter().any(|feed| {
            let shown = self.chats.get(&feed.chat).and_then(|chat| chat.terminal(&feed.terminal));
            shown.is_some_and(|shown| !feed.opened || shown.end() > feed.at)
        })
    }

    /// What terminal buffers are to be told now.
    pub(super) fn feed(&mut self, frame: &mut Vec<ToEditor>) {
        for feed in &mut self.feeds {
            let Some(chat) = self.chats.get(&feed.chat) else { continue };
            let Some(shown) = chat.terminal(&feed.terminal) else { continue };
            let open = !std::mem::replace(&mut feed.opened, true);
            let (start, mut bytes) = shown.bytes(feed.at, FEED);
            if bytes.is_empty() && !open {
                continue;
            }
            let next = start + bytes.len() as u64;
            if start > feed.at {
                bytes.splice(..0, LEFT_OUT.bytes());
            }
            feed.at = next;
            frame.push(ToEditor::Terminal {
                chat: feed.chat,
                terminal: feed.terminal.clone(),
                title: shown.command.clone().unwrap_or_else(|| "terminal".to_owned()),
                open,
                bytes,
            });
        }
    }
}

impl Wait {
    fn answer(self, exit: TerminalExit) -> Answer {
        match self {
            Self::Exit => Answer::Exited(exit),
            Self::Kill => Answer::Done,
        }
    }
}

impl Chat {
    /// What a terminal shows.
    pub(super) fn terminal(&self, id: &TerminalId) -> Option<&Terminal> {
        let replayed = self.replay.as_ref().and_then(|replay| replay.terminal(id));
        self.transcript.terminal(id).or(replayed)
    }

    fn change_terminal(&mut self, id: &TerminalId, change: impl FnOnce(&mut Terminal)) {
        match &mut self.replay {
            Some(replay) if replay.terminal(id).is_some() => replay.change_terminal(id, change),
            _ => self.transcript.change_terminal(id, change),
        }
    }
}

fn unknown(terminal: &TerminalId) -> Answer {
    let message = format!("there is no terminal {terminal} in this session");
    Answer::Error { code: NOT_FOUND, message }
}
