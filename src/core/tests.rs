//! Property tests of the decisions, with random events in any order.

use crate::core::chat::Phase;
use crate::core::messages::agent::{
    AUTH_REQUIRED, AgentEvent, AgentRequest, CallError, Exit, ExitCause, Reply, SessionSetup,
};
use crate::core::messages::call::Call;
use crate::core::messages::editor::EditorMessage;
use crate::core::messages::effect::{
    AgentCommand, Answer, CollectPromptContext, Effect, StoreCommand,
};
use crate::core::messages::event::{Event, Timer};
use crate::core::messages::files::{
    ChangedFile, FileOutcome, PromptContext, ReportedChange, UnsavedFile,
};
use crate::core::messages::ids::{AgentId, CallId, RequestToken};
use crate::core::messages::policy::{ChatPolicy, Unsaved, WriteDirty};
use crate::core::messages::status::ChatState;
use crate::core::messages::user::{PermissionChoice, QueueAction, SessionTarget, UserAction};
use crate::core::state::State;
use crate::edit::unified::FileDiff;
use crate::edit::{Revision, Text};
use crate::session::agent::{AgentConfig, AgentInfo, AuthKind, AuthMethod, Reconnect};
use crate::session::author::ChatId;
use crate::session::content::Content;
use crate::session::ids::SessionId;
use crate::session::permission::{OptionKind, Outcome, PermissionOption, PermissionRequest};
use crate::session::prompt::Prompt;
use crate::session::tool_call::{ToolCallPatch, ToolStatus};
use crate::session::turn::StopReason;
use crate::session::update::{Role, Update};
use crate::trust::rule::Decision;
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

fn config() -> AgentConfig {
    AgentConfig::new("fake".into(), "fake-agent".to_owned())
}

fn start() -> Event {
    start_with(ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() })
}

fn start_with(policy: ChatPolicy) -> Event {
    begin(policy, SessionTarget::Current)
}

fn begin(policy: ChatPolicy, target: SessionTarget) -> Event {
    Event::User(UserAction::Start {
        config: Box::new(config()),
        problems: Vec::new(),
        cwd: "/project".into(),
        directories: Vec::new(),
        policy,
        target,
        focus: true,
    })
}

fn start_new() -> Event {
    begin(ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() }, SessionTarget::New)
}

fn prompt(text: &str) -> Event {
    send(text, false)
}

fn send(text: &str, now: bool) -> Event {
    let prompt = Prompt { text: text.to_owned(), ..Prompt::default() };
    Event::User(UserAction::Prompt { chat: None, prompt, now })
}

fn option(id: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption { id: id.into(), name: id.to_owned(), kind }
}

fn text(content: &str) -> Arc<Text> {
    Arc::new(Text::parse(content))
}

fn unsaved_file(name: &str) -> UnsavedFile {
    let (old, text) = (text("1\n"), text("2\n"));
    let diff = FileDiff::new(name, Some(&old), Some(&text)).unwrap();
    UnsavedFile { diff, uri: format!("file:///project/{name}"), text }
}

fn changed_file(name: &str) -> ChangedFile {
    let diff = FileDiff::new(name, Some(&text("1\n")), None).unwrap();
    ChangedFile {
        diff,
        report: ReportedChange { path: name.into(), was: Some(Revision(1)), now: None },
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    PromptContext(usize),
    Start,
    StartNew,
    SwitchSession(u8),
    Prompt(bool),
    SendQueued(u64),
    Reply,
    ReplyWithError(bool),
    Ask(u8),
    Judge(u8),
    Read,
    Write,
    FileDone(u8),
    Terminal(terminals::Step),
    Elicit(elicitations::Step),
    Update(u8),
    Activity(u8),
    ConfirmPrompt,
    Allow,
    Deny,
    Choose(u64),
    Withdraw(u64),
    Cancel,
    Stop,
    Restart,
    Exit,
    Lose,
    Question(Option<usize>),
    Timer,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3usize).prop_map(Step::PromptContext),
        1 => Just(Step::Start),
        3 => any::<bool>().prop_map(Step::Prompt),
        1 => (1..5u64).prop_map(Step::SendQueued),
        1 => Just(Step::StartNew),
        1 => (1..4u8).prop_map(Step::SwitchSession),
        6 => Just(Step::Reply),
        1 => any::<bool>().prop_map(Step::ReplyWithError),
        4 => (0..3u8).prop_map(Step::Ask),
        3 => (0..4u8).prop_map(Step::Judge),
        2 => Just(Step::Read),
        2 => Just(Step::Write),
        3 => (0..6u8).prop_map(Step::FileDone),
        4 => terminals::step().prop_map(Step::Terminal),
        4 => elicitations::step().prop_map(Step::Elicit),
        2 => (0..3u8).prop_map(Step::Update),
        2 => (0..3u8).prop_map(Step::Activity),
        1 => Just(Step::ConfirmPrompt),
        1 => Just(Step::Allow),
        1 => Just(Step::Deny),
        1 => (0..12u64).prop_map(Step::Choose),
        1 => (0..12u64).prop_map(Step::Withdraw),
        1 => Just(Step::Cancel),
        1 => Just(Step::Stop),
        1 => Just(Step::Restart),
        1 => Just(Step::Exit),
        1 => prop_oneof![Just(None), (0..3usize).prop_map(Some)].prop_map(Step::Question),
        1 => Just(Step::Lose),
        2 => Just(Step::Timer),
    ]
}

fn unsaved() -> impl Strategy<Value = Unsaved> {
    prop::sample::select(vec![
        Unsaved::Note,
        Unsaved::Embed,
        Unsaved::Save,
        Unsaved::Ask,
        Unsaved::Ignore,
    ])
}

fn file_outcome(kind: u8, others: usize) -> FileOutcome {
    match kind {
        0 => FileOutcome::Text("text".to_owned()),
        1 => {
            FileOutcome::Failed { code: -32603, message: "no".to_owned(), reason: "no".to_owned() }
        }
        2 => FileOutcome::Outside {
            file: format!("/elsewhere/{others}").into(),
            folder: (others > 0).then(|| "/elsewhere".into()),
            has_other_name: others > 1,
        },
        3 => FileOutcome::Unsaved("/project/a".into()),
        4 => FileOutcome::Denied { file: "/project/a".into(), rule: "deny".into() },
        5 => FileOutcome::AskFirst("/project/a".into()),
        _ => FileOutcome::Written { changes: Vec::new(), notice: None },
    }
}

fn judge(world: &mut World, how: u8) {
    match how {
        0 => world.judge(Decision::Allow, &["allow execute"]),
        1 => world.judge(Decision::Deny, &["deny execute"]),
        2 => world.judge(Decision::Ask, &["ask execute"]),
        _ => world.judge(Decision::Ask, &[]),
    }
}

fn play(world: &mut World, step: Step) {
    let choose =
        |id, choice| Event::User(UserAction::Permission { chat: None, id, revision: None, choice });
    match step {
        Step::PromptContext(files) => world.context_collected(files),
        Step::Start => world.handle(start()),
        Step::StartNew => world.handle(start_new()),
        Step::SwitchSession(number) => {
            let name = if number == 1 { "s".to_owned() } else { format!("s{number}") };
            world.session = Some(name.as_str().into());
        }
        Step::Prompt(now) => world.handle(send("do it", now)),
        Step::SendQueued(number) => {
            world.handle(Event::User(UserAction::Queue(None, QueueAction::Send(number))));
        }
        Step::Reply => {
            world.reply();
        }
        Step::ReplyWithError(login) => {
            let (code, message) = (if login { AUTH_REQUIRED } else { -32603 }, "no".to_owned());
            world.reply_with_error(CallError::Rpc { code, message, detail: None, data: None });
        }
        Step::Ask(call) => world.request_permission(&call.to_string()),
        Step::Judge(how) => judge(world, how),
        Step::Read => {
            let path = "/project/a".into();
            world.request(AgentRequest::Read { path, line: None, limit: None });
        }
        Step::Write => {
            let path = "/project/a".into();
            world.request(AgentRequest::Write { path, content: String::new() });
        }
        Step::Terminal(step) => terminals::play(world, step),
        Step::Elicit(step) => elicitations::play(world, step),
        Step::FileDone(kind) => {
            if let Some(token) = world.file_requests.pop() {
                let outcome = file_outcome(kind, world.file_requests.len());
                world.handle(Event::File { token, outcome });
            }
        }
        Step::Update(call) => {
            let patch =
                ToolCallPatch { status: Some(ToolStatus::Completed), ..ToolCallPatch::default() };
            let update =
                Update::ToolCall { id: call.to_string().as_str().into(), patch: Box::new(patch) };
            world.agent_sends(AgentEvent::Update { session: "s".into(), update });
        }
        Step::Activity(kind) => activity::report_kind(world, kind),
        Step::ConfirmPrompt => activity::confirm_prompt(world),
        Step::Allow => world.handle(choose(None, PermissionChoice::Allow)),
        Step::Deny => world.handle(choose(None, PermissionChoice::Deny(Some("why".to_owned())))),
        Step::Choose(id) => {
            world.handle(choose(Some(id), PermissionChoice::Option("always".into())));
        }
        Step::Withdraw(token) => world.agent_sends(AgentEvent::Withdrawn(RequestToken(token))),
        Step::Cancel => world.handle(Event::User(UserAction::Cancel(None))),
        Step::Stop => world.handle(Event::User(UserAction::Stop(None))),
        Step::Restart => {
            world.handle(Event::User(UserAction::Restart { chat: None, force: false }));
        }
        Step::Exit => world.agent_sends(AgentEvent::Exited(Exit {
            cause: ExitCause::Status(1),
            stderr: vec!["last words".to_owned()],
            stderr_lines: 1,
            messages: Vec::new(),
        })),
        Step::Lose => {
            for connection in world.state.connections.values_mut() {
                connection.config.reconnect = Reconnect::Now;
            }
            reconnect::lose(world);
        }
        Step::Question(index) => {
            if let Some(id) = world.questions.pop() {
                world.handle(Event::User(UserAction::Answer { id, index }));
            }
        }
        Step::Timer => {
            if let Some(timer) = world.timers.pop() {
                world.handle(Event::Timer(timer));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each request of an agent gets exactly one answer, whatever events, cancels and deaths occur.
    ///
    /// ACP 11, 76.
    ///
    /// Holds (Turns): Each request of an agent gets exactly one answer, whatever happens meanwhile.
    #[test]
    fn every_request_gets_exactly_one_answer(
        unsaved in unsaved(),
        has_rules in any::<bool>(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::ready_with(unsaved);
        if has_rules {
            world = world.with_rules();
        }
        for step in steps {
            play(&mut world, step);
            for (token, answers) in &world.answers {
                prop_assert_eq!(answers.len(), 1, "{:?} was answered twice: {:?}", token, answers);
            }
        }
        // Ending the sessions settles what is still open.
        for id in world.state.chats.keys().copied().collect::<Vec<_>>() {
            world.handle(Event::User(UserAction::Stop(Some(id))));
        }
        prop_assert!(world.state.connections.is_empty(), "an agent is left");
        for token in &world.request_tokens {
            prop_assert!(world.answers.contains_key(token), "{:?} was never answered", token);
        }
    }

    /// What the user wrote is sent, queued, or returned to the user. It is never lost.
    #[test]
    fn no_prompt_is_lost(
        unsaved in unsaved(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::ready_with(unsaved);
        let mut written = 0;
        for step in steps {
            if let Step::Prompt(now) = step {
                written += 1;
                world.handle(send(&format!("prompt {written}."), now));
            } else {
                play(&mut world, step);
            }
        }
        // A waiting prompt is sent once its context is collected and the user has answered.
        while !world.contexts.is_empty() || !world.questions.is_empty() {
            world.context_collected(1);
            if let Some(id) = world.questions.pop() {
                world.handle(Event::User(UserAction::Answer { id, index: Some(0) }));
            }
        }
        let sent = format!("{:?}", world.sent);
        let chats = world.state.chats.values();
        let queued: String =
            chats.flat_map(|chat| chat.queue.texts()).collect();
        let back: String = world.messages.iter().filter_map(|told| match told {
            EditorMessage::Draft { prompt, .. } => Some(prompt.text.as_str()),
            _ => None,
        }).collect();
        for number in 1..=written {
            let text = format!("prompt {number}.");
            prop_assert!(
                sent.contains(&text) || queued.contains(&text) || back.contains(&text),
                "{} is lost", text
            );
        }
    }
}

mod activity;
mod confinement;
mod connections;
mod disk;
mod elicitations;
mod exchange;
mod in_place;
mod kept_rules;
mod panics;
mod permission;
mod persistence;
mod prompt_context;
mod reconnect;
mod reviews;
mod sessions;
mod terminals;
mod tools;
mod turn;
mod world;

use world::World;
