//! The life of an agent: started, introduced, logged in, given a session, ended, explained.

use super::chat::{Chat, Phase, Turn};
use super::effect::{Call, Happened, Level, Place, ToAgent, ToEditor};
use super::event::{
    AUTH_REQUIRED, AgentId, CallError, CallId, ChatId, Exit, ExitCause, Reply, SessionSetup,
};
use super::policy::Policy;
use super::state::{Expected, Question, State};
use super::words;
use crate::session::agent::{AgentConfig, AgentInfo, AuthKind, McpServer};
use crate::session::ids::{AuthMethodId, SessionId};
use crate::session::tool_call::ToolStatus;
use crate::session::transcript::{Entry, Transcript};
use crate::session::update::Severity;
use std::path::PathBuf;

impl State {
    pub(super) fn start(
        &mut self,
        config: AgentConfig,
        cwd: PathBuf,
        directories: Vec<PathBuf>,
        new: bool,
        focus: bool,
    ) {
        let existing = self
            .chats
            .values()
            .rev()
            .find(|chat| !new && chat.config.name == config.name && chat.cwd == cwd)
            .map(|chat| chat.id);
        let id = existing.unwrap_or_else(|| {
            let number = self.chats.keys().last().map_or(1, |last| last.0 + 1);
            let id = ChatId(number);
            self.chats.insert(id, Chat::new(id, config.clone(), cwd, directories));
            id
        });
        self.current = Some(id);
        self.introduce(id, true, focus);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.agent.is_none() {
            chat.config = config;
            self.launch(id);
        }
    }

    /// The options as they were when the agent was last asked for count.
    pub(super) fn set_policy(&mut self, policy: Policy) {
        if let Some(chat) = self.current.and_then(|id| self.chats.get_mut(&id)) {
            chat.policy = policy;
        }
    }

    /// Tells the editor that the chat is there.
    fn introduce(&mut self, id: ChatId, show: bool, focus: bool) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.changed = true;
            let (agent, title) = (chat.name().to_owned(), chat.agent_title());
            let cwd = chat.cwd.clone();
            self.before.push(ToEditor::Chat { chat: id, agent, title, cwd, show, focus });
        }
    }

    /// Starts the agent's process and introduces ourselves.
    pub(super) fn launch(&mut self, id: ChatId) {
        let agent = AgentId(u32::try_from(self.next_id()).unwrap_or(u32::MAX));
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.agent = Some(agent);
        chat.last_agent = Some(agent);
        chat.info = AgentInfo::default();
        chat.live = false;
        let (config, cwd) = (Box::new(chat.config.clone()), chat.cwd.clone());
        let timeout = chat.config.timeouts.initialize;
        self.enter(id, Phase::Starting("starting"));
        self.act(agent, ToAgent::Start { config, cwd });
        self.call(id, Call::Initialize, Expected::Initialize, timeout);
    }

    pub(super) fn answer_came(&mut self, call: CallId, result: Result<Reply, CallError>) {
        let Some((id, expected)) = self.calls.remove(&call) else { return };
        // The end of the process says more than what it left unanswered.
        if result == Err(CallError::Closed) {
            return;
        }
        match (expected, result) {
            (Expected::Initialize, Ok(Reply::Initialized(info))) => self.initialized(id, *info),
            (Expected::Initialize, Err(error)) => self.start_failed(id, "initialize", &error),
            (Expected::Authenticate, Ok(_)) => self.logged_in(id),
            (Expected::Authenticate, Err(error)) => self.start_failed(id, "authenticate", &error),
            (Expected::NewSession, Ok(Reply::Session { id: session, setup })) => {
                self.opened(id, &session, setup);
            }
            (Expected::NewSession, Err(error)) => self.session_refused(id, &error),
            (Expected::Load | Expected::Resume, Ok(Reply::Restored(setup))) => {
                self.restored(id, setup);
            }
            (Expected::Load | Expected::Resume, Err(error)) => self.not_restored(id, &error),
            (Expected::Turn, Ok(Reply::Turn(stop))) => self.turn_ended(id, call, &stop),
            (Expected::Turn, Err(error)) => self.turn_failed(id, call, &error),
            (_, Ok(reply)) => {
                let error = CallError::Malformed(format!("{reply:?}").chars().take(80).collect());
                self.start_failed(id, "its start", &error);
            }
        }
    }

    fn initialized(&mut self, id: ChatId, info: AgentInfo) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let version = info.protocol_version;
        chat.info = info;
        chat.changed = true;
        if version != words::PROTOCOL_VERSION {
            let why = words::version(&chat.config, version);
            return self.give_up(id, why, Vec::new());
        }
        if chat.transcript.entries().is_empty() {
            let release = chat.info.version.clone().unwrap_or_default();
            // The whole path is for `:RatInfo`: here it would take rows.
            let folder = chat.cwd.file_name().unwrap_or(chat.cwd.as_os_str()).to_string_lossy();
            let banner = format!("{} {release} in {folder}", chat.agent_title());
            chat.transcript.push(Entry::Banner(banner.replace("  ", " ")));
        }
        self.introduce(id, false, false);
        self.open_session(id);
    }

    /// Goes on with the session there was, where the agent can; else begins a new one.
    fn open_session(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let capabilities = chat.info.capabilities;
        let place = place_of(chat);
        let timeout = chat.config.timeouts.session;
        let (request, expected) = match chat.session.clone() {
            Some(session) if capabilities.resume => {
                (Call::Resume(session, place), Expected::Resume)
            }
            Some(session) if capabilities.load => {
                chat.replay = Some(Transcript::default());
                (Call::Load(session, place), Expected::Load)
            }
            Some(_) => {
                chat.session = None;
                let name = chat.agent_title();
                chat.transcript.note(
                    Severity::Warning,
                    format!("{name} cannot go on with a session: a new one begins, what was said before is not known to it"),
                    Vec::new(),
                );
                (Call::NewSession(place), Expected::NewSession)
            }
            None => (Call::NewSession(place), Expected::NewSession),
        };
        self.enter(id, Phase::Starting("opening a session"));
        self.call(id, request, expected, timeout);
    }

    fn opened(&mut self, id: ChatId, session: &SessionId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.session = Some(session.clone());
        set_up(chat, setup);
        let early = std::mem::take(&mut chat.early);
        self.enter(id, Phase::Ready);
        for (whose, update) in early {
            if whose == *session {
                self.update(id, session, update);
            }
        }
        self.pump(id);
    }

    fn restored(&mut self, id: ChatId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        set_up(chat, setup);
        let note = match chat.replay.take() {
            // What the agent remembers is what counts; it may go on telling after the answer.
            Some(replay) if !replay.entries().is_empty() => {
                chat.transcript = replay;
                chat.redraw();
                "the session was loaded again"
            }
            // It may begin to tell after the answer, or never.
            Some(_) => {
                chat.reloaded = true;
                "the session was loaded again"
            }
            None => "the session goes on",
        };
        chat.transcript.note(Severity::Info, note, Vec::new());
        self.enter(id, Phase::Ready);
        self.pump(id);
    }

    fn not_restored(&mut self, id: ChatId, error: &CallError) {
        if needs_login(error) {
            return self.login(id);
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.replay = None;
        chat.session = None;
        let title = format!(
            "the session could not be restored ({}): a new one begins, what was said before is not known to it",
            words::reason(error)
        );
        chat.transcript.note(Severity::Warning, title, Vec::new());
        self.open_session(id);
    }

    fn session_refused(&mut self, id: ChatId, error: &CallError) {
        if needs_login(error) {
            self.login(id);
        } else {
            self.start_failed(id, "session/new", error);
        }
    }

    /// Picks a way to log in (ACP authentication), asking where there are several.
    pub(super) fn login(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let offered: Vec<_> =
            chat.info.auth_methods.iter().filter(|method| method.kind == AuthKind::Agent).collect();
        let configured = chat.config.auth_method.as_ref();
        if let Some(method) = offered
            .iter()
            .find(|method| Some(&method.id) == configured)
            .or_else(|| offered.first().filter(|_| offered.len() == 1))
        {
            let method = method.id.clone();
            return self.authenticate(id, method);
        }
        let name = chat.agent_title();
        let items: Vec<String> = offered.iter().map(|method| method.name.clone()).collect();
        let methods: Vec<_> = offered.iter().map(|method| method.id.clone()).collect();
        if methods.is_empty() {
            let error = CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None };
            return self.start_failed(id, "authenticate", &error);
        }
        self.enter(id, Phase::Starting("waiting for a login: answer the question"));
        self.ask(Question::Login(id, methods), format!("{name} wants a login"), items);
    }

    pub(super) fn login_answered(
        &mut self,
        id: ChatId,
        methods: &[AuthMethodId],
        index: Option<usize>,
    ) {
        match index.and_then(|index| methods.get(index)) {
            Some(method) => self.authenticate(id, method.clone()),
            None => {
                let name = self.chats.get(&id).map(|chat| chat.name().to_owned());
                let why = format!(
                    "{} is not logged in: :RatRestart asks again",
                    name.unwrap_or_default()
                );
                self.give_up(id, why, Vec::new());
            }
        }
    }

    fn authenticate(&mut self, id: ChatId, method: AuthMethodId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let timeout = chat.config.timeouts.authenticate;
        self.enter(id, Phase::Starting("logging in"));
        self.call(id, Call::Authenticate(method), Expected::Authenticate, timeout);
    }

    fn logged_in(&mut self, id: ChatId) {
        if self.chats.get(&id).is_some_and(|chat| chat.live) {
            self.enter(id, Phase::Ready);
            self.pump(id);
        } else {
            self.open_session(id);
        }
    }

    fn start_failed(&mut self, id: ChatId, step: &str, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let why = words::start(&chat.config, step, error);
        let data = match error {
            CallError::Rpc { data, .. } => data.iter().cloned().collect(),
            _ => Vec::new(),
        };
        self.give_up(id, why, data);
    }

    /// Ends the agent and says why.
    fn give_up(&mut self, id: ChatId, why: String, details: Vec<String>) {
        self.let_go(id, ToolStatus::Failed);
        self.failed(id, why, details);
    }

    fn failed(&mut self, id: ChatId, why: String, details: Vec<String>) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.note(Severity::Error, why.clone(), details);
            chat.queue_paused = true;
        }
        self.enter(id, Phase::Failed(why.clone()));
        self.after.push(ToEditor::Autocommand(Happened::Error(id, why.clone())));
        self.notify(Level::Error, why);
    }

    pub(super) fn exited(&mut self, id: ChatId, agent: AgentId, exit: &Exit) {
        let Some(chat) = self.chats.get_mut(&id).filter(|chat| chat.agent == Some(agent)) else {
            return;
        };
        let why = words::exit(&chat.config, exit);
        let mut details = exit.stderr.clone();
        if matches!(exit.cause, ExitCause::NotStarted { .. }) {
            details.clear();
        } else if !exit.messages.is_empty() {
            details.push(format!("before: {} · :RatTrace", exit.messages.join(" · ")));
        }
        self.let_go(id, ToolStatus::Failed);
        self.failed(id, why, details);
    }

    pub(super) fn stop(&mut self, id: ChatId) {
        self.let_go(id, ToolStatus::Cancelled);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.note(Severity::Info, "stopped: :RatRestart goes on", Vec::new());
            chat.queue_paused = true;
        }
        self.enter(id, Phase::Stopped);
    }

    pub(super) fn restart(&mut self, id: ChatId) {
        self.let_go(id, ToolStatus::Cancelled);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.queue_paused = false;
        }
        self.launch(id);
    }

    /// Settles all that hangs on the chat's agent and ends it. What the user wrote stays.
    fn let_go(&mut self, id: ChatId, tools: ToolStatus) {
        self.settle_permissions(id);
        self.over(id, false);
        self.calls.retain(|_, (chat, _)| *chat != id);
        self.unask(|question| question.chat() == id);
        self.count_questions();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.replay = None;
        chat.reloaded = false;
        chat.early.clear();
        let turn = chat.turn().map(|turn| turn.number);
        if let Phase::Running(Turn { call: None, prompt, .. }) = &chat.phase {
            // It has not gone out, so it is the first to go when there is an agent again.
            chat.queue.push_front(prompt.clone());
        }
        chat.transcript.settle_tools(tools);
        let Some(agent) = chat.agent.take() else { return };
        let unpaid: Vec<_> = self
            .debts
            .iter()
            .filter(|(_, debt)| debt.agent == agent)
            .map(|(token, _)| *token)
            .collect();
        for token in unpaid {
            self.pay(token, super::documents::ended());
        }
        if turn.is_some() {
            let why = if tools == ToolStatus::Failed { "error" } else { "cancelled" };
            self.after.push(ToEditor::Autocommand(Happened::TurnEnd(id, why.to_owned())));
        }
        self.act(agent, ToAgent::Stop);
    }
}

fn needs_login(error: &CallError) -> bool {
    matches!(error, CallError::Rpc { code: AUTH_REQUIRED, .. })
}

fn set_up(chat: &mut Chat, setup: SessionSetup) {
    chat.live = true;
    chat.modes = setup.modes;
    chat.options = setup.options;
}

/// Where the session works, as far as the agent can take it (ACP session setup).
fn place_of(chat: &Chat) -> Place {
    let takes = chat.info.capabilities;
    Place {
        cwd: chat.cwd.clone(),
        directories: if takes.directories { chat.directories.clone() } else { Vec::new() },
        mcp_servers: chat
            .config
            .mcp_servers
            .iter()
            .filter(|server| match server {
                McpServer::Stdio { .. } => true,
                McpServer::Http { .. } => takes.mcp_http,
                McpServer::Sse { .. } => takes.mcp_sse,
            })
            .cloned()
            .collect(),
    }
}
