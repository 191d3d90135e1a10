//! Logging in (ACP authentication). A login serves all sessions of an agent. The user chooses if there are several
//! methods.

use crate::core::calls::{CallOwner, ExpectedReply};
use crate::core::chat::LoginStage;
use crate::core::chat::Phase;
use crate::core::chat::StartupStep;
use crate::core::connection::ConnectionStage;
use crate::core::failures;
use crate::core::messages::agent::{AUTH_REQUIRED, CallError, Reply};
use crate::core::messages::call::Call;
use crate::core::messages::editor::{EditorMessage, Level};
use crate::core::messages::effect::AgentCommand;
use crate::core::messages::failure::Failure;
use crate::core::messages::ids::{AgentId, CallId};
use crate::core::messages::notice::Notice;
use crate::core::questions::Question;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::{AuthKind, AuthMethod, Capability};
use crate::session::author::ChatId;
use crate::session::ids::AuthMethodId;
use crate::session::label;
use crate::session::update::Severity;

/// How much of the description of a method is shown, in characters.
const MAX_DESCRIPTION: usize = 100;

/// Whether the agent has replied that it requires a login.
pub(in crate::core) fn is_required(error: &CallError) -> bool {
    matches!(error, CallError::Rpc { code: AUTH_REQUIRED, .. })
}

/// Returns the authentication methods we support.
fn offered(methods: &[AuthMethod]) -> Vec<&AuthMethod> {
    methods.iter().filter(|method| !matches!(method.kind, AuthKind::Unknown(_))).collect()
}

/// Names a method with what it says about itself, in one line.
fn described(method: &AuthMethod) -> String {
    let about = method.description.as_deref().map(|text| label::short(text, MAX_DESCRIPTION));
    match about.filter(|about| !about.is_empty()) {
        Some(about) => format!("{}: {about}", method.name),
        None => method.name.clone(),
    }
}

impl State {
    /// Logs in, because the chat cannot continue without it. Uses the configured method or the only one; asks the user
    /// if there are several, or if the method opens a terminal.
    pub(in crate::core) fn login(&mut self, id: ChatId) {
        self.pick_login(id, false);
    }

    fn pick_login(&mut self, id: ChatId, by_user: bool) {
        let Some((_, connection)) = self.connection_of(id) else { return };
        let joins = matches!(connection.stage, ConnectionStage::Authenticating(_));
        if !joins {
            connection.stage = ConnectionStage::Authenticating(id);
        }
        self.enter_login(id, if joins { LoginStage::OtherChat } else { LoginStage::Method });
        let Some(chat) = self.chats.get(&id).filter(|_| !joins) else { return };
        let offered = offered(&chat.info.auth_methods);
        let configured = chat.config.auth_method.as_ref();
        let chosen = offered.iter().find(|method| Some(&method.id) == configured);
        let only = match offered[..] {
            [method] if method.kind == AuthKind::Agent => Some(method),
            _ => None,
        };
        if let Some(method) = chosen.copied().or(only) {
            let method = method.id.clone();
            return self.authenticate(id, &method, by_user);
        }
        let name = chat.agent_title();
        let items: Vec<String> = offered.iter().map(|method| described(method)).collect();
        let methods: Vec<_> = offered.iter().map(|method| method.id.clone()).collect();
        if methods.is_empty() {
            let error = CallError::Rpc {
                code: AUTH_REQUIRED,
                message: String::new(),
                detail: None,
                data: None,
            };
            return self.login_failed(id, &error);
        }
        self.ask(Question::Login(id, methods), format!("{name} requires a login"), items);
    }

    /// `:RatLogin`: logs in, possibly as another user.
    pub(in crate::core) fn login_requested(&mut self, id: ChatId, method: Option<&str>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (title, all) = (chat.agent_title(), offered(&chat.info.auth_methods));
        let known: Vec<&str> = all.iter().map(|method| method.id.as_str()).collect();
        if chat.phase != Phase::Ready {
            let text = format!("Cannot log in to {title} now (state: {})", chat.state().word());
            return self.notify(Level::Warn, text);
        } else if known.is_empty() {
            return self.notify(Level::Info, format!("{title} has no login method"));
        }
        let Some(method) = method else { return self.pick_login(id, true) };
        if !known.contains(&method) {
            let text = format!(
                "{title} has no login method \"{method}\" (available: {})",
                known.join(", ")
            );
            return self.notify(Level::Error, text);
        }
        if let Some((_, connection)) = self.connection_of(id) {
            connection.stage = ConnectionStage::Authenticating(id);
        }
        self.authenticate(id, &method.into(), true);
    }

    pub(in crate::core) fn login_answered(
        &mut self,
        id: ChatId,
        methods: &[AuthMethodId],
        index: Option<usize>,
    ) {
        match index.and_then(|index| methods.get(index)) {
            Some(method) => self.authenticate(id, method, true),
            None => self.login_aborted(id, "no method was chosen"),
        }
    }

    fn enter_login(&mut self, id: ChatId, login: LoginStage) {
        let in_session = self.chats.get(&id).is_some_and(|chat| chat.phase.has_session());
        self.enter_phase(id, Phase::Starting(StartupStep::LoggingIn { login, in_session }));
    }

    fn authenticate(&mut self, id: ChatId, method: &AuthMethodId, by_user: bool) {
        let Some(chat) = self.chats.get(&id) else { return };
        let Some(method) = chat.info.auth_methods.iter().find(|it| it.id == *method) else {
            return;
        };
        let (method, timeout) = (method.clone(), chat.config.timeouts.authenticate);
        match method.kind {
            AuthKind::Terminal { args, env } => {
                let config = &chat.config;
                let (cwd, title) = (chat.cwd.clone(), method.name);
                let command = std::iter::once(&config.command).chain(&config.args).chain(&args);
                let command = command.cloned().collect();
                let env = [&config.base_env, &config.env, &env].into_iter().flatten().cloned();
                let env = env.collect();
                let login = EditorMessage::Login { chat: id, title, command, env, cwd, by_user };
                self.enter_login(id, LoginStage::Terminal);
                self.after_draw.push(login);
            }
            _ => {
                self.enter_login(id, LoginStage::Agent);
                let call = Call::Authenticate(method.id);
                self.call(id, call, ExpectedReply::Authenticate, timeout);
            }
        }
    }

    pub(in crate::core) fn logged_in(&mut self, id: ChatId) {
        for id in self.waiting_for_login(id) {
            if self.chats.get(&id).is_some_and(|chat| chat.phase.has_session()) {
                self.enter_phase(id, Phase::Ready);
                self.send_next_prompt(id);
            } else {
                self.open_session(id);
            }
        }
    }

    /// The login program that ran in a terminal has ended. The running agent does not know about the login, so it is
    /// restarted (ACP terminal authentication).
    pub(in crate::core) fn terminal_login_over(&mut self, id: ChatId, status: Option<i32>) {
        if !self
            .connection_of(id)
            .is_some_and(|(_, connection)| connection.stage == ConnectionStage::Authenticating(id))
        {
            return;
        }
        match status {
            Some(0) => self.restart(id),
            Some(status) => {
                self.login_aborted(id, &format!("the login exited with status {status}"));
            }
            None => self.login_aborted(id, "the login could not be started"),
        }
    }

    pub(in crate::core) fn login_failed(&mut self, id: ChatId, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let why = user_messages::start(&chat.config, "authenticate", error);
        self.finish_failed_login(id, &failures::of_call(why, error));
    }

    fn login_aborted(&mut self, id: ChatId, why: &str) {
        let name = self.chats.get(&id).map(|chat| chat.name().to_owned()).unwrap_or_default();
        let why = Notice::from(format!("{name} is not logged in: {why}."));
        self.finish_failed_login(id, &failures::of_ours(why.advise(":RatRestart asks again.")));
    }

    /// The login has failed. Chats whose session is open continue, with a paused queue.
    fn finish_failed_login(&mut self, id: ChatId, failure: &Failure) {
        for id in self.waiting_for_login(id) {
            let Some(chat) = self.chats.get_mut(&id) else { continue };
            if chat.phase.has_session() {
                chat.queue.pause();
                let (why, details) = (failure.message.to_string(), user_messages::details(failure));
                chat.transcript.note(Severity::Error, why, details);
                self.enter_phase(id, Phase::Ready);
            } else {
                self.fail(id, failure);
            }
        }
        self.notify(Level::Error, failure.message.clone());
    }

    /// Withdraws the chat's `authenticate` call and ends the login, whether or not the agent still answers. Returns whether
    /// there was such a call.
    pub(in crate::core) fn withdraw_login(&mut self, id: ChatId) -> bool {
        let is_login = |entry: &(&CallId, &(CallOwner, ExpectedReply))| {
            *entry.1 == (CallOwner::Chat(id), ExpectedReply::Authenticate)
        };
        let call = self.calls.iter().find(is_login).map(|(call, _)| *call);
        let agent = self.connection_of(id).map(|(agent, _)| agent);
        if let (Some(call), Some(agent)) = (call, agent) {
            self.send_to_agent(agent, AgentCommand::Withdraw(call));
            self.calls.remove(&call);
            self.call_ended(call);
            self.login_aborted(id, "cancelled");
        }
        call.is_some()
    }

    /// `:RatLogout`.
    pub(in crate::core) fn logout(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (title, can) = (chat.agent_title(), chat.info.capabilities.has(Capability::Logout));
        let timeout = chat.config.timeouts.request;
        match self.connection_of(id).map(|(agent, _)| agent) {
            None => {
                let notice = Notice::from(format!("{title} is not running."));
                self.notify(Level::Warn, notice.advise(":RatRestart starts it."));
            }
            Some(_) if !can => {
                self.notify(Level::Info, format!("{title} does not support logging out"));
            }
            Some(agent) => {
                let owner = CallOwner::Agent(agent);
                self.call_for(owner, Call::Logout, ExpectedReply::LoggedOut, timeout);
            }
        }
    }

    pub(in crate::core) fn logged_out(&mut self, agent: AgentId, result: Result<Reply, CallError>) {
        if let Err(error) = result {
            let name =
                self.connections.get(&agent).map(|connection| connection.config.name.clone());
            let Some(name) = name else { return };
            let why = user_messages::reason(&error);
            return self.notify(Level::Error, format!("{name} could not log out: {why}"));
        }
        for id in self.chats_on(agent) {
            if let Some(chat) = self.chats.get_mut(&id) {
                let title = "Logged out. The next prompt may require a login.";
                chat.transcript.note(Severity::Info, title, Vec::new());
            }
        }
    }

    /// Lets another chat log in, because the one that was logging in has left the agent.
    pub(in crate::core) fn hand_over_login(&mut self, agent: AgentId) {
        if let Some(connection) = self.connections.get_mut(&agent) {
            connection.stage = ConnectionStage::Ready;
        }
        let waits =
            |chat: &&ChatId| self.chats.get(chat).is_some_and(|chat| chat.phase.needs_login());
        if let Some(next) = self.chats_on(agent).iter().find(waits) {
            self.login(*next);
        }
    }

    /// Ends the login and returns all chats that waited for it.
    fn waiting_for_login(&mut self, id: ChatId) -> Vec<ChatId> {
        let Some((agent, connection)) = self.connection_of(id) else { return Vec::new() };
        connection.stage = ConnectionStage::Ready;
        let mut chats = self.chats_on(agent);
        chats.retain(|id| self.chats.get(id).is_some_and(|chat| chat.phase.needs_login()));
        chats
    }
}
