//! Terminals (ACP `terminal/*`): starts and ends commands for agents and answers their requests. The output is stored
//! in the transcript, where the user can see it too.

use super::files;
use crate::core::chat::Chat;
use crate::core::messages::agent::{INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, REQUEST_CANCELLED};
use crate::core::messages::editor::EditorMessage;
use crate::core::messages::effect::{Answer, Effect};
use crate::core::messages::ids::{AgentId, RequestToken};
use crate::core::messages::terminal::{CommandSpec, TerminalCommand, TerminalEvent};
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::core::terminals::AgentTerminal;
use crate::core::terminals::CommandState;
use crate::core::terminals::ExitRequest;
use crate::core::terminals::TerminalBuffer;
use crate::session::author::ChatId;
use crate::session::ids::{TerminalId, ToolCallId};
use crate::session::label;
use crate::session::signs::ELLIPSIS;
use crate::session::terminal::request::{CreateTerminal, TerminalRequest};
use crate::session::terminal::{MAX_OUTPUT, Terminal};
use crate::session::update::Severity;
use crate::trust::rule::Decision;
use crate::trust::rules::Restriction;
use crate::view;
use std::collections::HashSet;

/// Environment variables set for each command, between the editor's environment and the agent's own variables: colours,
/// and no pager that waits for a key.
const ENVIRONMENT: [(&str, &str); 4] =
    [("TERM", "xterm-256color"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat")];

/// How many commands that no tool call shows are named at the end of a turn, and how much of each, in characters.
const MAX_COMMANDS: usize = 20;
const MAX_COMMAND: usize = 200;

/// Maximum bytes sent to a terminal buffer in one frame. Neovim needs a few milliseconds for this much.
const MAX_BUFFER_BYTES: usize = 8 << 10;

/// How many commands of one session may run at once: each needs processes, descriptors and a task.
const MAX_RUNNING: usize = 100;

/// Sent to a terminal buffer in place of output that is no longer available. Begins with CAN, which ends an unfinished
/// escape sequence.
const OMITTED: &str = "\x18\x1b[0m\r\n[earlier output omitted]\r\n";

/// Whether a variable changes what a command line runs.
fn changes_programs((name, _): &(String, String)) -> bool {
    matches!(
        &**name,
        "PATH"
            | "ENV"
            | "BASH_ENV"
            | "ZDOTDIR"
            | "HOME"
            | "IFS"
            | "CDPATH"
            | "SHELLOPTS"
            | "BASHOPTS"
    ) || ["LD_", "DYLD_", "BASH_FUNC_", "XDG_CONFIG", "GIT_"]
        .iter()
        .any(|start| name.starts_with(start))
}

impl State {
    pub(in crate::core) fn terminal_requested(
        &mut self,
        id: ChatId,
        agent: AgentId,
        token: RequestToken,
        request: TerminalRequest,
    ) {
        self.requests
            .insert(token, PendingRequest { by: Requester::Agent(agent), chat: id, file: None });
        match request {
            TerminalRequest::Create(create) => self.create_terminal(id, token, create),
            TerminalRequest::Output(terminal) => self.terminal_output(id, token, &terminal),
            TerminalRequest::WaitForExit(terminal) => {
                self.await_exit(id, token, &terminal, ExitRequest::WaitForExit);
            }
            TerminalRequest::Kill(terminal) => {
                self.await_exit(id, token, &terminal, ExitRequest::Kill);
            }
            TerminalRequest::Release(terminal) => self.release_terminal(id, token, &terminal),
        }
    }

    fn is_cancelled(&self, id: ChatId) -> bool {
        self.chats.get(&id).and_then(Chat::turn).is_some_and(|turn| turn.cancelled)
    }

    fn create_terminal(&mut self, id: ChatId, token: RequestToken, create: CreateTerminal) {
        if self.is_cancelled(id) {
            return self.respond(token, files::cancelled());
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let cwd = create.cwd.as_ref().unwrap_or(&chat.cwd).clone();
        if !cwd.is_absolute() {
            let message = format!("cwd must be an absolute path, not {}", cwd.display());
            return self.respond(token, Answer::Error { code: INVALID_PARAMS, message });
        }
        let line = create.line();
        match chat.restriction(&line, &cwd) {
            Some(Restriction { decision: Decision::Deny, rule, unclear }) => {
                let (what, rule) = (format!("run {line}"), rule.to_string());
                self.denied_by_rule(id, token, &what, &rule, unclear);
            }
            Some(_) if !chat.has_allowed_command(&create) => {
                self.ask_about_command(id, token, Box::new(create));
            }
            // Rules are about a line as it runs in the user's environment.
            None if chat.restricts_commands() && create.env.iter().any(changes_programs) => {
                self.ask_about_command(id, token, Box::new(create));
            }
            _ => {
                let terminal = self.start_terminal(id, token, create);
                let turn = self.chats.get_mut(&id).and_then(Chat::turn_mut);
                if let (Some(turn), Some(terminal)) = (turn, terminal) {
                    turn.commands.push((terminal, label::short(&line, MAX_COMMAND)));
                }
            }
        }
    }

    /// Notes which commands an agent has run in a turn without a tool call that shows or names them. A turn that is about to end
    /// has all of its tool calls.
    pub(super) fn note_unannounced_commands(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(turn) = chat.turn_mut() else { return };
        let mut commands = std::mem::take(&mut turn.commands);
        if commands.is_empty() {
            return;
        }
        let (mut shown, mut named) = (HashSet::new(), HashSet::new());
        for entry in chat.transcript.tools() {
            shown.extend(entry.call.terminals().cloned());
            let command = entry.call.input.as_ref().and_then(|input| input.command.as_deref());
            named.extend(command.map(|line| label::short(line, MAX_COMMAND)));
        }
        commands.retain(|(terminal, line)| !shown.contains(terminal) && !named.contains(line));
        let lines: Vec<_> = commands.into_iter().map(|(_, line)| line).collect();
        let (title, details) = match &lines[..] {
            [] => return,
            [one] => (format!("Ran {one}, which no tool call shows"), Vec::new()),
            several => {
                let title = format!("Ran {} commands that no tool call shows", several.len());
                let mut details: Vec<_> = several.iter().take(MAX_COMMANDS).cloned().collect();
                let more = several.len().saturating_sub(MAX_COMMANDS);
                details.extend((more > 0).then(|| format!("{ELLIPSIS} {more} more")));
                (title, details)
            }
        };
        chat.transcript.note(Severity::Info, title, details);
    }

    /// Runs a command that an agent may run.
    pub(super) fn start_terminal(
        &mut self,
        id: ChatId,
        token: RequestToken,
        create: CreateTerminal,
    ) -> Option<TerminalId> {
        let is_running = |it: &&AgentTerminal| !matches!(it.state, CommandState::Ended(_));
        let running = self.terminals.values().filter(|it| it.chat == id).filter(is_running);
        if running.count() >= MAX_RUNNING {
            let message = format!(
                "{MAX_RUNNING} commands of this session are running; kill one or wait for it first"
            );
            self.respond(token, Answer::Error { code: INTERNAL_ERROR, message });
            return None;
        }
        let terminal = TerminalId::from(format!("terminal-{}", self.next_id()));
        let chat = self.chats.get_mut(&id)?;
        let cwd = create.cwd.as_ref().unwrap_or(&chat.cwd).clone();
        let limit =
            usize::try_from(create.limit.unwrap_or(u64::MAX)).unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT);
        chat.incoming_mut().begin_terminal(&terminal, Terminal::new(create.line(), limit));
        let ours = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env = chat.config.base_env.iter().cloned().chain(ours).chain(create.env).collect();
        let confinement = chat.config.confinement.clone();
        let (command, args) = (create.command, create.args);
        let launch = CommandSpec { command, args, env, cwd, confinement };
        let (state, waiting) = (CommandState::Starting(token), Vec::new());
        let command = AgentTerminal { chat: id, state, waiting, limit, released: false };
        self.terminals.insert(terminal.clone(), command);
        self.send_to_terminal(&terminal, TerminalCommand::Start(Box::new(launch)));
        Some(terminal)
    }

    fn send_to_terminal(&mut self, terminal: &TerminalId, action: TerminalCommand) {
        self.effects.push(Effect::Terminal(terminal.clone(), action));
    }

    /// Returns the terminal if the session may use its id.
    fn find_terminal(&mut self, id: ChatId, terminal: &TerminalId) -> Option<&mut AgentTerminal> {
        let command = self.terminals.get_mut(terminal)?;
        (command.chat == id && !command.released).then_some(command)
    }

    fn terminal_output(&mut self, id: ChatId, token: RequestToken, terminal: &TerminalId) {
        let Some(command) = self.find_terminal(id, terminal) else {
            return self.respond(token, unknown(terminal));
        };
        let limit = command.limit;
        let exit = match &command.state {
            CommandState::Ended(exit) => Some(exit.clone()),
            CommandState::Starting(_) | CommandState::Running => None,
        };
        let shown = self.chats.get(&id).and_then(|chat| chat.terminal(terminal));
        // The output of a command that ended long ago may have been dropped.
        let (text, truncated) =
            shown.map_or_else(|| (String::new(), true), |shown| shown.text(limit));
        self.respond(token, Answer::Output { text, truncated, exit });
    }

    fn await_exit(
        &mut self,
        id: ChatId,
        token: RequestToken,
        terminal: &TerminalId,
        request: ExitRequest,
    ) {
        let Some(command) = self.find_terminal(id, terminal) else {
            return self.respond(token, unknown(terminal));
        };
        let exit = match &command.state {
            CommandState::Ended(exit) => Some(exit.clone()),
            CommandState::Starting(_) | CommandState::Running => {
                command.waiting.push((token, request));
                None
            }
        };
        // The agent may not have heard of the cancel yet, so a command it starts to wait for now is ended as well.
        let cancelled = self.is_cancelled(id) && exit.is_none();
        if request == ExitRequest::Kill || cancelled {
            // Even if the command has ended, processes it started may be running.
            self.send_to_terminal(terminal, TerminalCommand::Kill);
        }
        if let Some(exit) = exit {
            self.respond(token, request.answer(exit));
        }
    }

    fn release_terminal(&mut self, id: ChatId, token: RequestToken, terminal: &TerminalId) {
        if self.find_terminal(id, terminal).is_none() {
            return self.respond(token, unknown(terminal));
        }
        let message = "the terminal was released";
        self.end_terminal(terminal, message);
        self.respond(token, Answer::Done);
    }

    /// Ends a command and invalidates its terminal id. Requests that wait for it are answered; its output stays for the
    /// user.
    fn end_terminal(&mut self, terminal: &TerminalId, why: &str) {
        let Some(command) = self.terminals.get_mut(terminal) else { return };
        if std::mem::replace(&mut command.released, true) {
            return;
        }
        let (id, waiting) = (command.chat, std::mem::take(&mut command.waiting));
        if matches!(command.state, CommandState::Ended(_)) {
            self.terminals.remove(terminal);
        }
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.change_terminal(terminal, Terminal::release);
        }
        for (token, request) in waiting {
            let answer = match request {
                ExitRequest::WaitForExit => {
                    Answer::Error { code: REQUEST_CANCELLED, message: why.to_owned() }
                }
                ExitRequest::Kill => Answer::Done,
            };
            self.respond(token, answer);
        }
        self.send_to_terminal(terminal, TerminalCommand::Release);
    }

    /// Ends all commands of a chat whose session has ended.
    pub(in crate::core) fn end_terminals(&mut self, id: ChatId) {
        for terminal in self.terminals_of(id) {
            self.end_terminal(&terminal, "the session has ended");
        }
    }

    /// Ends the commands that a cancelled turn waits for. The agent can still ask how they ended.
    pub(in crate::core) fn cancel_terminals(&mut self, id: ChatId) {
        for terminal in self.terminals_of(id) {
            let Some(command) = self.find_terminal(id, &terminal) else { continue };
            let ended = matches!(command.state, CommandState::Ended(_));
            let awaited = matches!(command.state, CommandState::Starting(_))
                || command.waiting.iter().any(|(_, request)| *request == ExitRequest::WaitForExit);
            let shown = |chat: &Chat| chat.transcript.is_shown_by_open_call(&terminal);
            if !ended && (awaited || self.chats.get(&id).is_some_and(shown)) {
                self.send_to_terminal(&terminal, TerminalCommand::Kill);
            }
        }
    }

    fn terminals_of(&self, id: ChatId) -> Vec<TerminalId> {
        let of_chat = self.terminals.iter().filter(|(_, command)| command.chat == id);
        of_chat.map(|(terminal, _)| terminal.clone()).collect()
    }

    pub(in crate::core) fn terminal_event(&mut self, terminal: &TerminalId, event: TerminalEvent) {
        let Some(command) = self.terminals.get_mut(terminal) else { return };
        let id = command.chat;
        match event {
            TerminalEvent::Started => {
                let state = std::mem::replace(&mut command.state, CommandState::Running);
                let CommandState::Starting(token) = state else { return };
                if self.requests.contains_key(&token) {
                    self.respond(token, Answer::Terminal(terminal.clone()));
                } else {
                    // The agent will never learn the terminal's id.
                    self.end_terminal(terminal, "the request was withdrawn");
                }
            }
            TerminalEvent::NotStarted(why) => self.not_started(terminal, why),
            TerminalEvent::Output(bytes) => {
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.change_terminal(terminal, |terminal| terminal.append(&bytes));
                }
            }
            TerminalEvent::Exited(exit, took) => {
                let before =
                    std::mem::replace(&mut command.state, CommandState::Ended(exit.clone()));
                let waiting = std::mem::take(&mut command.waiting);
                if command.released {
                    self.terminals.remove(terminal);
                }
                if let CommandState::Starting(token) = before {
                    // The task that ran the command has failed. The agent can still ask how the command ended, as far
                    // as that is known.
                    self.respond(token, Answer::Terminal(terminal.clone()));
                }
                for (token, request) in waiting {
                    self.respond(token, request.answer(exit.clone()));
                }
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.change_terminal(terminal, |terminal| terminal.finish(exit, Some(took)));
                }
            }
        }
    }

    /// The command could not be started: tells the agent, and shows the reason in the tool call.
    fn not_started(&mut self, terminal: &TerminalId, why: String) {
        let Some(AgentTerminal { chat: id, state, waiting, .. }) = self.terminals.remove(terminal)
        else {
            return;
        };
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.incoming_mut().terminal_failed(terminal, &why);
        }
        for (token, _) in waiting {
            self.respond(token, unknown(terminal));
        }
        if let CommandState::Starting(token) = state {
            self.respond(token, Answer::Error { code: INVALID_PARAMS, message: why });
        }
    }

    pub(in crate::core) fn show_terminal(&mut self, id: ChatId, terminal: TerminalId, show: bool) {
        self.terminal_buffers.retain(|buffer| (buffer.chat, &buffer.terminal) != (id, &terminal));
        if show && self.chats.get(&id).is_some_and(|chat| chat.terminal(&terminal).is_some()) {
            self.terminal_buffers.push(TerminalBuffer {
                chat: id,
                terminal,
                opened: false,
                sent: 0,
                ended: false,
            });
        }
    }

    /// Shows the terminal buffer of a running command of this tool call. Returns whether there is one.
    pub(in crate::core) fn show_running(&mut self, id: ChatId, call: &ToolCallId) -> bool {
        let Some(chat) = self.chats.get(&id) else { return false };
        let Some(entry) = chat.transcript.find_tool(call) else { return false };
        let runs = |terminal: &&TerminalId| {
            chat.terminal(terminal).is_some_and(|shown| shown.exit.is_none())
        };
        let Some(terminal) = entry.call.terminals().find(runs).cloned() else { return false };
        let known = self
            .terminal_buffers
            .iter_mut()
            .find(|buffer| (buffer.chat, &buffer.terminal) == (id, &terminal));
        match known {
            Some(buffer) => buffer.opened = false,
            None => self.show_terminal(id, terminal, true),
        }
        true
    }

    /// Whether there is anything to send to a terminal buffer.
    pub(in crate::core) fn has_terminal_output(&self) -> bool {
        self.terminal_buffers.iter().any(|buffer| {
            let shown =
                self.chats.get(&buffer.chat).and_then(|chat| chat.terminal(&buffer.terminal));
            shown.is_some_and(|shown| {
                !buffer.opened
                    || shown.end() > buffer.sent
                    || (shown.exit.is_some() && !buffer.ended)
            })
        })
    }

    /// Adds what terminal buffers have to show to a frame.
    pub(in crate::core) fn draw_terminals(&mut self, frame: &mut Vec<EditorMessage>) {
        for buffer in &mut self.terminal_buffers {
            let Some(chat) = self.chats.get(&buffer.chat) else { continue };
            let Some(shown) = chat.terminal(&buffer.terminal) else { continue };
            let open = !std::mem::replace(&mut buffer.opened, true);
            let (start, mut bytes) = shown.bytes(buffer.sent, MAX_BUFFER_BYTES);
            let next = start + bytes.len() as u64;
            let over = shown.exit.is_some() && next == shown.end();
            if bytes.is_empty() && !open && over == buffer.ended {
                continue;
            }
            if start > buffer.sent {
                bytes.splice(..0, OMITTED.bytes());
            }
            buffer.sent = next;
            buffer.ended |= over;
            let call = chat.transcript.calls_with(&buffer.terminal).next();
            frame.push(EditorMessage::Terminal {
                chat: buffer.chat,
                terminal: buffer.terminal.clone(),
                title: view::terminal::heading(call, Some(shown)),
                open,
                bytes,
                over,
            });
        }
    }
}

impl Chat {
    /// Returns the terminal with this id, also if it is part of a replay.
    pub(in crate::core) fn terminal(&self, id: &TerminalId) -> Option<&Terminal> {
        let replayed = self.replay.loading().and_then(|replay| replay.terminal(id));
        self.transcript.terminal(id).or(replayed)
    }

    fn change_terminal(&mut self, id: &TerminalId, change: impl FnOnce(&mut Terminal)) {
        match self.replay.loading_mut() {
            Some(replay) if replay.terminal(id).is_some() => replay.change_terminal(id, change),
            _ => self.transcript.change_terminal(id, change),
        }
    }
}

fn unknown(terminal: &TerminalId) -> Answer {
    let message = format!("there is no terminal {terminal} in this session");
    Answer::Error { code: NOT_FOUND, message }
}
