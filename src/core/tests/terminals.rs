//! Terminals, without real processes.

use super::{World, prompt};
use crate::core::messages::agent::{
    AgentEvent, AgentRequest, INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, REQUEST_CANCELLED,
};
use crate::core::messages::editor::EditorMessage;
use crate::core::messages::effect::Answer;
use crate::core::messages::event::Event;
use crate::core::messages::ids::RequestToken;
use crate::core::messages::terminal::{TerminalCommand, TerminalEvent};
use crate::core::messages::user::UserAction;
use crate::session::author::ChatId;
use crate::session::ids::TerminalId;
use crate::session::terminal::TerminalExit;
use crate::session::terminal::request::{CreateTerminal, TerminalRequest};
use crate::session::tool_call::{ToolCallPatch, ToolContent};
use crate::session::update::Update;
use proptest::prelude::*;
use std::time::Duration;

/// A command as the edge sees it.
#[derive(Debug, Clone)]
pub(super) struct Command {
    id: TerminalId,
    started: bool,
    exited: bool,
    kills: usize,
    released: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Create,
    /// The agent sends a request about the terminal with this number, which may not exist.
    Ask(u8, usize),
    /// Something happens to one of the commands.
    Happen(u8, usize),
    Show(usize),
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Create),
        3 => (0..4u8, 0..4usize).prop_map(|(what, which)| Step::Ask(what, which)),
        4 => (0..5u8, 0..4usize).prop_map(|(what, which)| Step::Happen(what, which)),
        1 => (0..4usize).prop_map(Step::Show),
    ]
}

pub(super) fn play(world: &mut World, step: Step) {
    let id = |world: &World, which: usize| {
        let command = world.commands.get(which);
        command.map_or_else(|| "unknown".into(), |command| command.id.clone())
    };
    match step {
        Step::Create => world.request(create("make")),
        Step::Ask(what, which) => {
            let id = id(world, which);
            world.request(AgentRequest::Terminal(match what {
                0 => TerminalRequest::Output(id),
                1 => TerminalRequest::WaitForExit(id),
                2 => TerminalRequest::Kill(id),
                _ => TerminalRequest::Release(id),
            }));
        }
        Step::Happen(what, which) => world.command(what, which),
        Step::Show(which) => {
            let terminal = id(world, which);
            let action = UserAction::ShowTerminal { chat: None, terminal, show: true };
            world.handle(Event::User(action));
        }
    }
}

fn create(command: &str) -> AgentRequest {
    let command = command.to_owned();
    let create = CreateTerminal { command, ..CreateTerminal::default() };
    AgentRequest::Terminal(TerminalRequest::Create(create))
}

fn exit() -> TerminalExit {
    TerminalExit { code: Some(3), signal: None }
}

impl World {
    /// Does what the edge would do for the command.
    pub(super) fn terminal(&mut self, id: &TerminalId, action: &TerminalCommand) {
        if matches!(action, TerminalCommand::Start(_)) {
            let (started, exited, kills, released) = (false, false, 0, false);
            return self.commands.push(Command {
                id: id.clone(),
                started,
                exited,
                kills,
                released,
            });
        }
        let command = self.commands.iter_mut().find(|command| command.id == *id);
        if let Some(command) = command {
            assert!(!command.released, "{id} was released twice");
            command.kills += 1;
            command.released = *action == TerminalCommand::Release;
        }
        self.commands.retain(|command| !(command.released && command.exited));
    }

    /// Sends an event of a terminal, if it is possible in its state.
    fn command(&mut self, what: u8, which: usize) {
        let Some(command) = self.commands.get_mut(which) else { return };
        let id = command.id.clone();
        let happened = match (command.started, what) {
            (false, 0) => {
                self.commands.remove(which);
                TerminalEvent::NotStarted("no".to_owned())
            }
            (false, 4) => {
                let released = command.released;
                (command.started, command.exited) = (true, true);
                if released {
                    self.commands.remove(which);
                }
                TerminalEvent::Exited(TerminalExit::default(), Duration::ZERO)
            }
            (false, _) => {
                command.started = true;
                TerminalEvent::Started
            }
            (true, 0..2) if !command.exited => {
                command.exited = true;
                if command.released {
                    self.commands.remove(which);
                }
                TerminalEvent::Exited(exit(), Duration::ZERO)
            }
            _ => TerminalEvent::Output(b"output\n".to_vec()),
        };
        self.handle(Event::Terminal(id, happened));
    }

    /// Starts a command and returns its terminal.
    fn running(&mut self) -> TerminalId {
        self.request(create("make"));
        self.command(1, self.commands.len() - 1);
        self.commands.last().unwrap().id.clone()
    }

    fn ask(&mut self, request: TerminalRequest) -> u64 {
        self.request(AgentRequest::Terminal(request));
        self.next_token
    }

    fn is_error(&self, token: u64, wanted: i64) -> bool {
        matches!(self.answers_to(token), [Answer::Error { code, .. }] if *code == wanted)
    }
}

#[test]
fn a_terminal_has_an_id_once_its_command_runs() {
    let mut world = World::ready();
    world.request(create("make"));
    assert_eq!(world.answers_to(1), []);
    world.command(1, 0);
    let id = world.commands[0].id.clone();
    assert_eq!(world.answers_to(1), [Answer::Terminal(id)]);
}

#[test]
fn a_terminal_whose_request_was_withdrawn_is_released() {
    let mut world = World::ready();
    world.request(create("make"));
    world.agent_sends(AgentEvent::Withdrawn(RequestToken(1)));
    assert!(world.is_error(1, REQUEST_CANCELLED));
    world.command(1, 0);
    assert!(world.commands[0].released);
}

#[test]
fn waiting_requests_are_answered_when_the_command_ends() {
    let mut world = World::ready();
    let id = world.running();
    let waits = [0; 2].map(|_| world.ask(TerminalRequest::WaitForExit(id.clone())));
    let kill = world.ask(TerminalRequest::Kill(id.clone()));
    assert!(waits.iter().chain([&kill]).all(|token| world.answers_to(*token).is_empty()));
    world.command(0, 0);
    for wait in waits {
        assert_eq!(world.answers_to(wait), [Answer::Exited(exit())]);
    }
    assert_eq!(world.answers_to(kill), [Answer::Done]);
    let late = world.ask(TerminalRequest::WaitForExit(id));
    assert_eq!(world.answers_to(late), [Answer::Exited(exit())]);
}

#[test]
fn a_released_terminal_is_unknown_and_its_command_ends() {
    let mut world = World::ready();
    let id = world.running();
    let wait = world.ask(TerminalRequest::WaitForExit(id.clone()));
    let release = world.ask(TerminalRequest::Release(id.clone()));
    assert!(world.is_error(wait, REQUEST_CANCELLED));
    assert_eq!(world.answers_to(release), [Answer::Done]);
    assert!(world.commands[0].released);
    let output = world.ask(TerminalRequest::Output(id));
    assert!(world.is_error(output, NOT_FOUND));
}

/// Holds (Terminals): No more than 100 commands of a session run at once; the agent is told so.
#[test]
fn a_command_too_many_is_refused() {
    let mut world = World::ready();
    let ids: Vec<TerminalId> = (0..100).map(|_| world.running()).collect();
    world.request(create("make"));
    let token = world.next_token;
    let [Answer::Error { code: INTERNAL_ERROR, message }] = world.answers_to(token) else {
        panic!("{:?}", world.answers_to(token))
    };
    assert!(message.contains("100 commands"), "{message}");
    assert_eq!(world.commands.len(), 100);
    // One that has ended does not count, although its agent may still ask about it.
    world.handle(Event::Terminal(ids[7].clone(), TerminalEvent::Exited(exit(), Duration::ZERO)));
    world.request(create("make"));
    assert_eq!(world.commands.len(), 101);
}

/// Holds (Terminals): The output of any number of commands has one limit.
#[test]
fn output_of_ended_commands_is_stored_up_to_a_limit() {
    let mut world = World::ready();
    let ids: Vec<TerminalId> = (0..50).map(|_| world.running()).collect();
    for id in &ids {
        let flood = "a line of output\n".repeat(40_000);
        world.handle(Event::Terminal(id.clone(), TerminalEvent::Output(flood.into_bytes())));
        world.handle(Event::Terminal(id.clone(), TerminalEvent::Exited(exit(), Duration::ZERO)));
    }
    let chat = &world.state.chats[&ChatId(1)];
    let sizes: Vec<usize> = ids.iter().filter_map(|id| Some(chat.terminal(id)?.size())).collect();
    let all: usize = sizes.iter().sum();
    assert!(all <= 32 << 20 && sizes.len() < 50, "{} take {all}", sizes.len());
    // The agent can still refer to all of them.
    let first = world.ask(TerminalRequest::Output(ids[0].clone()));
    let nothing = Answer::Output { text: String::new(), truncated: true, exit: Some(exit()) };
    assert_eq!(world.answers_to(first), [nothing]);
    let last = world.ask(TerminalRequest::Output(ids[49].clone()));
    let [Answer::Output { text, exit: Some(_), .. }] = world.answers_to(last) else { panic!() };
    assert!(text.len() > 512 << 10, "{}", text.len());
}

#[test]
fn a_cancel_ends_the_commands_the_turn_waits_for() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    let ids = [0; 3].map(|_| world.running());
    world.ask(TerminalRequest::WaitForExit(ids[1].clone()));
    let content = Some(vec![ToolContent::Terminal(ids[2].clone())]);
    let patch = Box::new(ToolCallPatch { content, ..ToolCallPatch::default() });
    let update = Update::ToolCall { id: "call".into(), patch };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    world.handle(Event::User(UserAction::Cancel(None)));
    let kills: Vec<usize> = world.commands.iter().map(|command| command.kills).collect();
    assert_eq!(kills, [0, 1, 1]);
    world.request(create("make"));
    assert!(world.is_error(world.next_token, REQUEST_CANCELLED));
    // The agent has not heard of the cancel yet.
    world.ask(TerminalRequest::WaitForExit(ids[0].clone()));
    assert_eq!(world.commands[0].kills, 1);
}

#[test]
fn the_folder_of_a_command_is_absolute() {
    let mut world = World::ready();
    let cwd = Some("sub".into());
    let create = CreateTerminal { command: "ls".to_owned(), cwd, ..CreateTerminal::default() };
    let token = world.ask(TerminalRequest::Create(create));
    assert!(world.is_error(token, INVALID_PARAMS));
    assert!(world.commands.is_empty());
}

#[test]
fn a_terminal_buffer_gets_new_output_and_a_mark_for_omitted_output() {
    let mut world = World::ready();
    let terminal = world.running();
    let told = |world: &mut World| {
        let seen = std::mem::take(&mut world.messages);
        let bytes = seen.into_iter().filter_map(|told| match told {
            EditorMessage::Terminal { bytes, open, .. } => Some((open, bytes)),
            _ => None,
        });
        bytes.collect::<Vec<_>>()
    };
    let show = |show| {
        let terminal = terminal.clone();
        Event::User(UserAction::ShowTerminal { chat: None, terminal, show })
    };
    world.command(9, 0);
    assert_eq!(told(&mut world), []);
    world.handle(show(true));
    assert_eq!(told(&mut world), [(true, b"output\n".to_vec())]);
    world.command(9, 0);
    assert_eq!(told(&mut world), [(false, b"output\n".to_vec())]);
    let flood = TerminalEvent::Output(vec![b'x'; 1 << 20]);
    world.handle(Event::Terminal(terminal.clone(), flood));
    let (_, bytes) = told(&mut world).remove(0);
    assert!(bytes.len() <= 9 << 10, "{}", bytes.len());
    world.handle(show(false));
    told(&mut world);
    world.command(9, 0);
    assert_eq!(told(&mut world), []);
}
