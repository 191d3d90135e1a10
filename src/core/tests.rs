//! Random tests of the decisions: whatever happens, in whatever order, agents get their answers.

use super::chat::Phase;
use super::effect::{Answer, Call, Effect, Gather, Keeping, ToAgent, ToEditor};
use super::event::agent::{
    AUTH_REQUIRED, AgentRequest, CallError, Exit, ExitCause, FromAgent, Reply, SessionSetup,
};
use super::event::{
    AgentId, CallId, ChangedFile, ChatId, Event, FileOutcome, Gathered, PermissionChoice, Timer,
    Token, Told, UnsavedFile, UserAction, Wish,
};
use super::policy::{Policy, Unsaved, WriteDirty};
use super::state::State;
use super::status::ChatState;
use crate::edit::Text;
use crate::edit::unified::FileDiff;
use crate::session::agent::{AgentConfig, AgentInfo, AuthKind, AuthMethod, Timeouts};
use crate::session::content::Content;
use crate::session::ids::SessionId;
use crate::session::permission::{OptionKind, Outcome, PermissionOption, PermissionRequest};
use crate::session::prompt::Prompt;
use crate::session::tool_call::{ToolCallPatch, ToolStatus};
use crate::session::turn::StopReason;
use crate::session::update::{Role, Update};
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

fn config() -> AgentConfig {
    AgentConfig {
        name: "fake".into(),
        command: "fake-agent".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        base_env: Vec::new(),
        mcp_servers: Vec::new(),
        auth_method: None,
        options: Vec::new(),
        timeouts: Timeouts::default(),
        install_hint: None,
    }
}

fn start() -> Event {
    start_with(Policy { unsaved: Unsaved::Ignore, ..Policy::default() })
}

fn start_with(policy: Policy) -> Event {
    begin(policy, Wish::Open)
}

fn begin(policy: Policy, wish: Wish) -> Event {
    Event::User(UserAction::Start {
        config: Box::new(config()),
        cwd: "/project".into(),
        directories: Vec::new(),
        policy,
        wish,
        focus: true,
    })
}

fn start_new() -> Event {
    begin(Policy { unsaved: Unsaved::Ignore, ..Policy::default() }, Wish::New)
}

fn prompt(text: &str) -> Event {
    let prompt = Prompt { text: text.to_owned(), attachments: Vec::new() };
    Event::User(UserAction::Prompt { chat: None, prompt })
}

fn option(id: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption { id: id.into(), name: id.to_owned(), kind }
}

/// Plays the world around a `State` and keeps count of what it owes.
#[derive(Default)]
struct World {
    state: State,
    agent: Option<AgentId>,
    calls: Vec<(CallId, Call)>,
    asked: Vec<Token>,
    answered: HashMap<Token, Vec<Answer>>,
    files: Vec<Token>,
    /// Commands that were started and are not both ended and released.
    commands: Vec<terminals::Command>,
    questions: Vec<u64>,
    seen: Vec<ToEditor>,
    timers: Vec<Timer>,
    /// What prompts wait for.
    gathers: Vec<Gather>,
    /// The blocks of each prompt that went out.
    sent: Vec<Vec<Content>>,
    /// What outlives Neovim.
    kept: Vec<Keeping>,
    /// Files to follow; none means all.
    adopts: Vec<Vec<PathBuf>>,
    /// The ends of turns: what was told, and whether it was taken in.
    over: Vec<(Vec<Told>, bool)>,
    withdrawn: Vec<CallId>,
    next_token: u64,
    /// How many sessions the agent has begun.
    sessions: usize,
    /// The one it speaks of; the first if none.
    speaks_of: Option<SessionId>,
}

impl World {
    fn happen(&mut self, event: Event) {
        for effect in self.state.handle(event) {
            match effect {
                Effect::Agent(effect) => match effect.action {
                    ToAgent::Start { .. } => self.agent = Some(effect.agent),
                    ToAgent::Call { call, request, .. } => {
                        if let Call::Prompt { blocks, .. } = &request {
                            self.sent.push(blocks.clone());
                        }
                        self.calls.push((call, request));
                    }
                    ToAgent::Answer { token, answer } => {
                        self.answered.entry(token).or_default().push(answer);
                    }
                    ToAgent::Stop => {
                        self.agent = None;
                        self.calls.clear();
                    }
                    ToAgent::Withdraw(call) => self.withdrawn.push(call),
                    ToAgent::Cancel(_) => {}
                },
                Effect::Read { token, .. } | Effect::Write { token, .. } => self.files.push(token),
                Effect::Gather(gather) => self.gathers.push(gather),
                Effect::TurnOver { told, taken, .. } => self.over.push((told, taken)),
                Effect::Terminal(terminal, action) => self.terminal(&terminal, &action),
                Effect::Keep(keeping) => self.kept.push(keeping),
                Effect::Timer { timer, .. } => self.timers.push(timer),
                Effect::Adopt { paths, .. } => self.adopts.push(paths),
                Effect::Buffer { .. }
                | Effect::Export { .. }
                | Effect::Forget(_)
                | Effect::Prepare { .. }
                | Effect::Seen { .. }
                | Effect::Trace { .. }
                | Effect::Watch(_) => {}
            }
        }
        let frame = self.state.take_frame().messages;
        self.questions.extend(frame.iter().filter_map(|told| match told {
            ToEditor::Ask { id, .. } => Some(*id),
            _ => None,
        }));
        self.seen.extend(frame);
    }

    fn say(&mut self, from: FromAgent) {
        if let Some(agent) = self.agent {
            self.happen(Event::Agent(agent, from));
        }
    }

    /// The agent asks for something.
    fn request(&mut self, request: AgentRequest) {
        if self.agent.is_none() {
            return;
        }
        self.next_token += 1;
        let token = Token(self.next_token);
        self.asked.push(token);
        let session = self.speaks_of.clone().unwrap_or_else(|| "s".into());
        self.say(FromAgent::Request { token, session, request });
    }

    fn permission(&mut self, call: &str) {
        let options = vec![
            option("yes", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ];
        let patch = Box::new(ToolCallPatch::default());
        let tool_call = call.into();
        self.request(AgentRequest::Permission(PermissionRequest { tool_call, patch, options }));
    }

    /// Answers the oldest call of ours as a willing agent does.
    fn answer(&mut self) -> Option<Call> {
        if self.calls.is_empty() {
            return None;
        }
        let (call, request) = self.calls.remove(0);
        let reply = match &request {
            Call::Initialize => Reply::Initialized(Box::new(AgentInfo {
                protocol_version: 1,
                ..AgentInfo::default()
            })),
            Call::NewSession(_) | Call::Fork(..) => {
                self.sessions += 1;
                let id =
                    if self.sessions == 1 { "s".into() } else { format!("s{}", self.sessions) };
                Reply::Session { id: id.as_str().into(), setup: SessionSetup::default() }
            }
            Call::Load(..) | Call::Resume(..) => Reply::Restored(SessionSetup::default()),
            Call::Prompt { .. } => Reply::Turn(StopReason::EndTurn),
            _ => Reply::Done,
        };
        self.say(FromAgent::Answer { call, result: Ok(reply) });
        Some(request)
    }

    fn refuse(&mut self, error: CallError) {
        if !self.calls.is_empty() {
            let (call, _) = self.calls.remove(0);
            self.say(FromAgent::Answer { call, result: Err(error) });
        }
    }

    /// What the oldest prompt waits for has been found out: so many files with unsaved changes.
    fn gathered(&mut self, files: usize) {
        if self.gathers.is_empty() {
            return;
        }
        let Gather { chat, turn, unsaved, .. } = self.gathers.remove(0);
        let files = if unsaved == Unsaved::Ignore { 0 } else { files };
        let gathered = Gathered {
            unsaved: (0..files).map(|i| unsaved_file(&i.to_string())).collect(),
            changed: vec![changed_file("agent's")],
            problems: vec!["0 was not saved".to_owned(); usize::from(unsaved == Unsaved::Save)],
            ..Gathered::default()
        };
        self.happen(Event::Gathered { chat, turn, unsaved, gathered });
    }

    fn ready() -> Self {
        Self::ready_with(Unsaved::Ignore)
    }

    fn ready_with(unsaved: Unsaved) -> Self {
        let mut world = Self::default();
        world.happen(start_with(Policy { unsaved, write_dirty: WriteDirty::Ask }));
        world.answer();
        world.answer();
        assert_eq!(world.stands(), ChatState::Ready);
        world
    }

    fn stands(&self) -> ChatState {
        self.state.chats[&ChatId(1)].state()
    }

    fn answers_to(&self, token: u64) -> &[Answer] {
        self.answered.get(&Token(token)).map_or(&[], Vec::as_slice)
    }
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
    ChangedFile { diff, told: Told { path: name.into(), was: Some(text("1\n")), now: None } }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Gathered(usize),
    Start,
    StartNew,
    SpeakOf(u8),
    Prompt,
    Answer,
    Refuse(bool),
    Ask(u8),
    Read,
    Write,
    FileDone(u8),
    Terminal(terminals::Step),
    Elicit(elicit::Step),
    Update(u8),
    Activity(u8),
    Accept,
    Allow,
    Deny,
    Choose(u64),
    Withdraw(u64),
    Cancel,
    Stop,
    Restart,
    Exit,
    Question(Option<usize>),
    Timer,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3usize).prop_map(Step::Gathered),
        1 => Just(Step::Start),
        3 => Just(Step::Prompt),
        1 => Just(Step::StartNew),
        1 => (1..4u8).prop_map(Step::SpeakOf),
        6 => Just(Step::Answer),
        1 => any::<bool>().prop_map(Step::Refuse),
        4 => (0..3u8).prop_map(Step::Ask),
        2 => Just(Step::Read),
        2 => Just(Step::Write),
        3 => (0..5u8).prop_map(Step::FileDone),
        4 => terminals::step().prop_map(Step::Terminal),
        4 => elicit::step().prop_map(Step::Elicit),
        2 => (0..3u8).prop_map(Step::Update),
        2 => (0..3u8).prop_map(Step::Activity),
        1 => Just(Step::Accept),
        1 => Just(Step::Allow),
        1 => Just(Step::Deny),
        1 => (0..12u64).prop_map(Step::Choose),
        1 => (0..12u64).prop_map(Step::Withdraw),
        1 => Just(Step::Cancel),
        1 => Just(Step::Stop),
        1 => Just(Step::Restart),
        1 => Just(Step::Exit),
        1 => prop_oneof![Just(None), (0..3usize).prop_map(Some)].prop_map(Step::Question),
        1 => Just(Step::Timer),
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

fn play(world: &mut World, step: Step) {
    let choose =
        |id, choice| Event::User(UserAction::Permission { chat: None, id, revision: None, choice });
    match step {
        Step::Gathered(files) => world.gathered(files),
        Step::Start => world.happen(start()),
        Step::StartNew => world.happen(start_new()),
        Step::SpeakOf(number) => {
            let name = if number == 1 { "s".to_owned() } else { format!("s{number}") };
            world.speaks_of = Some(name.as_str().into());
        }
        Step::Prompt => world.happen(prompt("do it")),
        Step::Answer => {
            world.answer();
        }
        Step::Refuse(login) => {
            let code = if login { AUTH_REQUIRED } else { -32603 };
            world.refuse(CallError::Rpc { code, message: "no".to_owned(), data: None });
        }
        Step::Ask(call) => world.permission(&call.to_string()),
        Step::Read => {
            let path = "/project/a".into();
            world.request(AgentRequest::Read { path, line: None, limit: None });
        }
        Step::Write => {
            let path = "/project/a".into();
            world.request(AgentRequest::Write { path, content: String::new() });
        }
        Step::Terminal(step) => terminals::play(world, step),
        Step::Elicit(step) => elicit::play(world, step),
        Step::FileDone(kind) => {
            if let Some(token) = world.files.pop() {
                let outcome = match kind {
                    0 => FileOutcome::Text("text".to_owned()),
                    1 => FileOutcome::Failed { code: -32603, message: "no".to_owned() },
                    2 => FileOutcome::Outside {
                        file: format!("/elsewhere/{}", world.files.len()).into(),
                        folder: (!world.files.is_empty()).then(|| "/elsewhere".into()),
                    },
                    3 => FileOutcome::Unsaved("/project/a".into()),
                    _ => FileOutcome::Written { changes: Vec::new(), notice: None },
                };
                world.happen(Event::File { token, outcome });
            }
        }
        Step::Update(call) => {
            let patch =
                ToolCallPatch { status: Some(ToolStatus::Completed), ..ToolCallPatch::default() };
            let update =
                Update::ToolCall { id: call.to_string().as_str().into(), patch: Box::new(patch) };
            world.say(FromAgent::Update { session: "s".into(), update });
        }
        Step::Activity(kind) => activity::says(world, kind),
        Step::Accept => activity::accept(world),
        Step::Allow => world.happen(choose(None, PermissionChoice::Allow)),
        Step::Deny => world.happen(choose(None, PermissionChoice::Deny(Some("why".to_owned())))),
        Step::Choose(id) => {
            world.happen(choose(Some(id), PermissionChoice::Option("always".into())));
        }
        Step::Withdraw(token) => world.say(FromAgent::Withdrawn(Token(token))),
        Step::Cancel => world.happen(Event::User(UserAction::Cancel(None))),
        Step::Stop => world.happen(Event::User(UserAction::Stop(None))),
        Step::Restart => world.happen(Event::User(UserAction::Restart(None))),
        Step::Exit => world.say(FromAgent::Exited(Exit {
            cause: ExitCause::Status(1),
            stderr: vec!["last words".to_owned()],
            messages: Vec::new(),
        })),
        Step::Question(index) => {
            if let Some(id) = world.questions.pop() {
                world.happen(Event::User(UserAction::Answer { id, index }));
            }
        }
        Step::Timer => {
            if let Some(timer) = world.timers.pop() {
                world.happen(Event::Timer(timer));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each request of an agent gets exactly one answer, under any events, cancels and deaths.
    /// ACP 11, 76.
    #[test]
    fn every_request_gets_exactly_one_answer(
        unsaved in unsaved(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::ready_with(unsaved);
        for step in steps {
            play(&mut world, step);
            for (token, answers) in &world.answered {
                prop_assert_eq!(answers.len(), 1, "{:?} was answered twice: {:?}", token, answers);
            }
        }
        // What is still open is settled when the session ends.
        for id in world.state.chats.keys().copied().collect::<Vec<_>>() {
            world.happen(Event::User(UserAction::Stop(Some(id))));
        }
        prop_assert!(world.state.links.is_empty(), "an agent is left");
        for token in &world.asked {
            prop_assert!(world.answered.contains_key(token), "{:?} was never answered", token);
        }
    }

    /// What the user wrote is sent, waits in the queue, or went back to the user; it is never lost.
    #[test]
    fn no_prompt_is_lost(
        unsaved in unsaved(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::ready_with(unsaved);
        let mut written = 0;
        for step in steps {
            if matches!(step, Step::Prompt) {
                written += 1;
                world.happen(prompt(&format!("prompt {written}.")));
            } else {
                play(&mut world, step);
            }
        }
        // One that waits for what goes with it goes out once that is known and the user has answered.
        while !world.gathers.is_empty() || !world.questions.is_empty() {
            world.gathered(1);
            if let Some(id) = world.questions.pop() {
                world.happen(Event::User(UserAction::Answer { id, index: Some(0) }));
            }
        }
        let sent = format!("{:?}", world.sent);
        let chats = world.state.chats.values();
        let queued: String =
            chats.flat_map(|chat| &chat.queue).map(|prompt| prompt.text.clone()).collect();
        let back: String = world.seen.iter().filter_map(|told| match told {
            ToEditor::Draft(_, text) => Some(text.text.as_str()),
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
mod broken;
mod elicit;
mod follow;
mod keep;
mod links;
mod note;
mod sessions;
mod terminals;
mod turn;
