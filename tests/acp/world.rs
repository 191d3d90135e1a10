//! The bridge and the editor as these tests play them around `Peer` and `State`: lines of an agent in, answers, calls and
//! a drawn buffer out. Documents have one text, and whoever asks for permission gets what the test says.

use rat_nvim::acp::handshake::Handshake;
use rat_nvim::acp::peer::{Outcome, Peer, Tokens};
use rat_nvim::core::messages::agent::AgentEvent;
use rat_nvim::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use rat_nvim::core::messages::effect::{AgentCommand, Effect, StoreCommand};
use rat_nvim::core::messages::elicitation::ElicitationChoice;
use rat_nvim::core::messages::event::Event;
use rat_nvim::core::messages::files::{FileOutcome, PromptContext};
use rat_nvim::core::messages::ids::AgentId;
use rat_nvim::core::messages::page::View;
use rat_nvim::core::messages::policy::{ChatPolicy, Unsaved};
use rat_nvim::core::messages::status::{ChatState, WaitingPermission};
use rat_nvim::core::messages::terminal::{TerminalCommand, TerminalEvent};
use rat_nvim::core::messages::user::{PermissionChoice, SessionTarget, UserAction};
use rat_nvim::core::state::State;
use rat_nvim::jsonrpc::incoming;
use rat_nvim::session::agent::AgentConfig;
use rat_nvim::session::author::ChatId;
use rat_nvim::session::ids::TerminalId;
use rat_nvim::session::permission::OptionKind;
use rat_nvim::session::prompt::Prompt;
use rat_nvim::session::saved::SavedTranscript;
use rat_nvim::session::terminal::TerminalExit;
use rat_nvim::view::line::Line;
use rat_nvim::view::patch::{Op, Patch};
use serde_json::{Value as Json, json};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// A call of ours that the test has not answered.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) id: Json,
    pub(crate) method: String,
    pub(crate) params: Json,
    /// How long we wait for the answer.
    pub(crate) timeout: Option<Duration>,
}

/// A client with one agent, whose part the test plays.
#[derive(Default)]
pub(crate) struct World {
    state: State,
    tokens: Tokens,
    agent: Option<(AgentId, Peer)>,
    events: VecDeque<Event>,
    /// Our calls that wait for an answer, oldest first.
    pub(crate) calls: Vec<Called>,
    /// Our notifications.
    pub(crate) said: Vec<Json>,
    /// What each request of the agent was answered, by its id as JSON text.
    pub(crate) answers: HashMap<String, Vec<Json>>,
    /// The buffers of the chat used last.
    pub(crate) views: HashMap<&'static str, Vec<Line>>,
    /// What the user was told, in one line each.
    pub(crate) told: Vec<(Level, String)>,
    /// Forms and URLs that wait: the chat and our number of each.
    pub(crate) asking: Vec<(ChatId, u64)>,
    /// Requests for permission that wait, by our numbers.
    pub(crate) waiting: Vec<WaitingPermission>,
    /// How many files were written.
    pub(crate) writes: usize,
    /// How the chat stands.
    pub(crate) stands: ChatState,
}

impl World {
    /// An agent is being started.
    pub(crate) fn start() -> Self {
        Self::start_in("/project")
    }

    /// An agent is being started in this folder.
    pub(crate) fn start_in(cwd: &str) -> Self {
        let mut world = Self::default();
        world.start_chat(cwd, SessionTarget::New);
        world
    }

    /// The user wants a session in this folder.
    pub(crate) fn start_chat(&mut self, cwd: &str, target: SessionTarget) {
        let config = AgentConfig::new("fake".into(), "fake-agent".to_owned());
        self.user(UserAction::Start {
            config: Box::new(config),
            problems: Vec::new(),
            cwd: cwd.into(),
            directories: Vec::new(),
            policy: ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() },
            target,
            focus: true,
        });
    }

    /// An agent with the session `s`, in the middle of a turn.
    pub(crate) fn in_a_turn() -> Self {
        let mut world = Self::start();
        world.answer("initialize", &json!({"protocolVersion": 1}));
        world.answer("session/new", &json!({"sessionId": "s"}));
        world.prompt("go");
        assert_eq!(world.stands, ChatState::Running);
        world
    }

    /// The user does something.
    pub(crate) fn user(&mut self, action: UserAction) {
        self.happen(Event::User(action));
    }

    /// The user sends a prompt.
    pub(crate) fn prompt(&mut self, text: &str) {
        let prompt = Prompt { text: text.to_owned(), ..Prompt::default() };
        self.user(UserAction::Prompt { chat: None, prompt, now: false });
    }

    /// The user decides the oldest request for permission.
    pub(crate) fn decide(&mut self, choice: PermissionChoice) {
        self.user(UserAction::Permission { chat: None, id: None, revision: None, choice });
    }

    /// The user turns down all that waits for permission, with a lasting answer where no other is offered.
    pub(crate) fn deny_all(&mut self) {
        while let Some(oldest) = self.waiting.first().cloned() {
            self.decide(PermissionChoice::Deny(None));
            if self.waiting.contains(&oldest) {
                let option = oldest.options.iter().find(|it| it.kind == OptionKind::RejectAlways);
                let option = option.expect("a lasting answer is the only one").id.clone();
                self.decide(PermissionChoice::Option(option));
            }
        }
    }

    /// The user does this with every form and URL that waits.
    pub(crate) fn answer_forms(&mut self, choice: &ElicitationChoice) {
        for (chat, id) in self.asking.clone() {
            self.user(UserAction::Elicitation { chat, id, choice: choice.clone() });
        }
    }

    /// The oldest call of ours with this method is answered.
    pub(crate) fn answer(&mut self, method: &str, result: &Json) {
        let called = self.take_call(method);
        self.receive(&json!({"jsonrpc": "2.0", "id": called.id, "result": result}));
    }

    /// Takes the oldest call of ours with this method.
    pub(crate) fn take_call(&mut self, method: &str) -> Called {
        let index = self.calls.iter().position(|called| called.method == method);
        let index = index.unwrap_or_else(|| panic!("{method} was not called: {:?}", self.calls));
        self.calls.remove(index)
    }

    /// The agent says this.
    pub(crate) fn receive(&mut self, message: &Json) {
        self.receive_line(&message.to_string());
    }

    /// The agent says this line. A stray one is skipped, as the edge does.
    pub(crate) fn receive_line(&mut self, line: &str) {
        let Some((agent, mut peer)) = self.agent.take() else { return };
        let mut out = Outcome::default();
        if let Ok(message) = incoming::parse(line) {
            peer.receive(message, &mut out);
        }
        self.agent = Some((agent, peer));
        self.came(agent, out);
    }

    /// The agent sends an update of the session `s`.
    pub(crate) fn update(&mut self, update: &Json) {
        let params = json!({"sessionId": "s", "update": update});
        self.receive(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// The agent is gone, and all it left is answered.
    pub(crate) fn stop(&mut self) {
        self.user(UserAction::Stop(None));
    }

    /// What came of a step of the peer: lines are kept, events happen.
    fn came(&mut self, agent: AgentId, out: Outcome) {
        for line in out.lines {
            self.sent(&line);
        }
        for event in out.events {
            self.happen(Event::Agent(agent, event));
        }
    }

    fn sent(&mut self, line: &str) {
        assert!(!line.contains('\n'), "a message is one line: {line}");
        let message: Json = serde_json::from_str(line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        match (message.get("method").and_then(Json::as_str), message.get("id")) {
            (Some(method), Some(id)) => {
                let (id, method) = (id.clone(), method.to_owned());
                let params = message["params"].clone();
                self.calls.push(Called { id, method, params, timeout: None });
            }
            (Some(_), None) => self.said.push(message),
            (None, id) => {
                let id = id.expect("an answer has an id").to_string();
                self.answers.entry(id).or_default().push(message);
            }
        }
    }

    /// Something happens, and all that follows from it.
    pub(crate) fn happen(&mut self, event: Event) {
        self.events.push_back(event);
        while let Some(event) = self.events.pop_front() {
            for effect in self.state.handle(event) {
                self.carry_out(effect);
            }
            while self.state.has_frame() {
                for message in self.state.take_frame().messages {
                    self.show(message);
                }
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Agent(effect) => self.act(effect.agent, effect.action),
            Effect::Read { token, path, .. } => {
                let outcome = if path.is_absolute() {
                    FileOutcome::Text("one\ntwo\n".to_owned())
                } else {
                    FileOutcome::Failed {
                        code: -32602,
                        message: "not absolute".to_owned(),
                        reason: "not absolute".to_owned(),
                    }
                };
                self.events.push_back(Event::File { token, outcome });
            }
            Effect::Write { token, .. } => {
                self.writes += 1;
                let outcome = FileOutcome::Written { changes: Vec::new(), notice: None };
                self.events.push_back(Event::File { token, outcome });
            }
            Effect::CollectPromptContext(gather) => {
                let (chat, turn, unsaved) = (gather.chat, gather.turn, gather.unsaved);
                let context = PromptContext::default();
                self.events.push_back(Event::PromptContextCollected {
                    chat,
                    turn,
                    unsaved,
                    context,
                });
            }
            Effect::Store(keeping) => self.keep(keeping),
            Effect::Terminal(terminal, action) => self.command(&terminal, &action),
            _ => {}
        }
    }

    /// Nothing is remembered of any session.
    fn keep(&mut self, keeping: StoreCommand) {
        match keeping {
            StoreCommand::FindLast(chat, ..) => {
                self.events.push_back(Event::LastSession(chat, None));
            }
            StoreCommand::List(cwd) => self.events.push_back(Event::SavedSessions(cwd, Vec::new())),
            StoreCommand::LoadTranscript(chat, ..) => {
                self.events.push_back(Event::TranscriptLoaded(chat, SavedTranscript::default()));
            }
            StoreCommand::Save(..)
            | StoreCommand::SavePart(..)
            | StoreCommand::Forget(..)
            | StoreCommand::Release(..)
            | StoreCommand::Search(..)
            | StoreCommand::Rules(..) => {}
        }
    }

    /// A command writes a line and runs until it is ended.
    fn command(&mut self, terminal: &TerminalId, action: &TerminalCommand) {
        let said = match action {
            TerminalCommand::Start(_) => {
                vec![TerminalEvent::Started, TerminalEvent::Output(b"a line\n".to_vec())]
            }
            TerminalCommand::Kill | TerminalCommand::Release => {
                let exit = TerminalExit { code: None, signal: Some("SIGTERM".to_owned()) };
                vec![TerminalEvent::Exited(exit, Duration::from_secs(1))]
            }
        };
        self.events.extend(said.into_iter().map(|said| Event::Terminal(terminal.clone(), said)));
    }

    fn act(&mut self, id: AgentId, action: AgentCommand) {
        let mut out = Outcome::default();
        let patience = match &action {
            AgentCommand::Call { timeout, .. } => *timeout,
            _ => None,
        };
        let peer = self.agent.as_mut().filter(|(agent, _)| *agent == id).map(|(_, peer)| peer);
        match (peer, action) {
            (_, AgentCommand::Start { config, .. }) => {
                self.calls.clear();
                self.agent = Some((
                    id,
                    Peer::new(self.tokens.clone(), Handshake::new(&config, "/".as_ref())),
                ));
            }
            (Some(peer), AgentCommand::Call { call, request, .. }) => {
                peer.call(call, &request, &mut out);
            }
            (Some(peer), AgentCommand::Cancel(session)) => peer.cancel(&session, &mut out),
            (Some(peer), AgentCommand::Withdraw(call)) => peer.withdraw(call, &mut out),
            (Some(peer), AgentCommand::Answer { token, answer }) => {
                peer.answer(token, &answer, &mut out);
            }
            (Some(peer), AgentCommand::Stop) => peer.close(&mut out),
            (None, _) => {}
        }
        for line in out.lines {
            self.sent(&line);
            if let (Some(timeout), Some(called)) = (patience, self.calls.last_mut()) {
                called.timeout = Some(timeout);
            }
        }
        self.events.extend(out.events.into_iter().map(|event: AgentEvent| Event::Agent(id, event)));
    }

    fn show(&mut self, message: EditorMessage) {
        match message {
            EditorMessage::Draw { view, reset, patch, .. } => {
                let name = match view {
                    View::Chat => "chat",
                    View::Plan => "plan",
                    View::Tools => "tools",
                };
                let lines = self.views.entry(name).or_default();
                if reset {
                    lines.clear();
                }
                apply(lines, &patch);
            }
            EditorMessage::Status(status) => {
                self.stands = status.state;
                self.asking.retain(|(chat, _)| *chat != status.chat);
                self.asking.extend(status.elicitations.iter().map(|it| (status.chat, it.id)));
                self.waiting.clone_from(&status.permissions);
            }
            EditorMessage::Notify(level, text) => self.told.push((level, text.to_string())),
            EditorMessage::Autocommand(UserAutocmd::Error(_, why)) => {
                self.told.push((Level::Error, why.message.to_string()));
            }
            _ => {}
        }
    }

    /// The transcript: each line as it looks, with what is drawn before it or over its blanks.
    pub(crate) fn drawn(&self) -> String {
        let lines = self.views.get("chat").into_iter().flatten();
        let looks = |line: &Line| match &line.prefix {
            None => line.text.clone(),
            Some((prefix, _)) => {
                let blanks = if prefix.starts_with(' ') { prefix.chars().count() } else { 0 };
                format!("{prefix}{}", line.text.get(blanks..).unwrap_or_default())
            }
        };
        let class = |line: &Line| line.format.chars().next().unwrap_or('p');
        lines.map(|line| format!("{}|{}\n", class(line), looks(line))).collect()
    }

    /// What of the transcript says that something failed or was not understood.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let drawn = self.drawn();
        let complains = |line: &&str| {
            line.starts_with("E|") || line.contains("malformed") || line.contains("unknown type")
        };
        drawn.lines().filter(complains).map(str::to_owned).collect()
    }
}

/// Applies a patch as the editor does.
fn apply(buffer: &mut Vec<Line>, patch: &Patch) {
    let set_formats = |buffer: &mut Vec<Line>, row: usize, formats: &[String]| {
        for (line, format) in buffer[row..].iter_mut().zip(formats) {
            line.format.clone_from(format);
        }
    };
    for op in &patch.ops {
        match op {
            Op::Lines { first, last, lines } => {
                buffer.splice(first..last, lines.iter().cloned());
            }
            Op::Text { row, col, text, formats } => {
                assert_eq!(buffer[*row].text.len(), *col, "text goes to the end of its row");
                let mut pieces = text.split('\n');
                buffer[*row].text.push_str(pieces.next().unwrap_or_default());
                let rest = pieces.map(|text| Line { text: text.to_owned(), ..Line::default() });
                let rest: Vec<Line> = rest.collect();
                buffer.splice((row + 1)..=*row, rest);
                set_formats(buffer, *row, formats);
            }
            Op::Formats { row, formats } => set_formats(buffer, *row, formats),
            Op::Fold { .. } => {}
        }
    }
}
