//! Logging in (ACP authentication): once for all sessions of an agent, with a choice where there are several ways.

use super::chat::Phase;
use super::effect::{Call, Level, ToAgent, ToEditor};
use super::event::agent::{AUTH_REQUIRED, CallError, Reply};
use super::event::{AgentId, CallId, ChatId};
use super::link::Stage;
use super::state::{Expected, Owner, Question, State};
use super::words;
use crate::session::agent::{AuthKind, AuthMethod};
use crate::session::ids::AuthMethodId;
use crate::session::update::Severity;

/// Whether that is what an agent says when it wants a login first.
pub(super) fn is_wanted(error: &CallError) -> bool {
    matches!(error, CallError::Rpc { code: AUTH_REQUIRED, .. })
}

/// The ways we can go; one of a kind we do not know is not offered.
fn offered(methods: &[AuthMethod]) -> Vec<&AuthMethod> {
    methods.iter().filter(|method| !matches!(method.kind, AuthKind::Unknown(_))).collect()
}

impl State {
    /// The chat cannot go on before a login. Picks a way, asking where there are several, or one that opens a terminal.
    pub(super) fn login(&mut self, id: ChatId) {
        self.pick_login(id, false);
    }

    fn pick_login(&mut self, id: ChatId, by_user: bool) {
        let Some((_, link)) = self.link_of(id) else { return };
        let joins = matches!(link.stage, Stage::LoggingIn(_));
        if !joins {
            link.stage = Stage::LoggingIn(id);
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.wants_login = true;
        if joins {
            return self.enter(id, Phase::Starting("waiting for the login of another chat"));
        }
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
        let items: Vec<String> = offered.iter().map(|method| method.name.clone()).collect();
        let methods: Vec<_> = offered.iter().map(|method| method.id.clone()).collect();
        if methods.is_empty() {
            let error = CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None };
            return self.login_failed(id, &error);
        }
        self.enter(id, Phase::Starting("waiting for a login: answer the question"));
        self.ask(Question::Login(id, methods), format!("{name} wants a login"), items);
    }

    /// `:RatLogin`: the user wants to log in, or as somebody else.
    pub(super) fn wants_login(&mut self, id: ChatId, method: Option<&str>) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (title, all) = (chat.agent_title(), offered(&chat.info.auth_methods));
        let known: Vec<&str> = all.iter().map(|method| method.id.as_str()).collect();
        if chat.phase != Phase::Ready {
            let text = format!("{title} is not ready for a login: {}", chat.state().word());
            return self.notify(Level::Warn, text);
        } else if known.is_empty() {
            return self.notify(Level::Info, format!("{title} offers no login here"));
        }
        let Some(method) = method else { return self.pick_login(id, true) };
        if !known.contains(&method) {
            let text = format!("{title} has no login \"{method}\", only {}", known.join(", "));
            return self.notify(Level::Error, text);
        }
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.wants_login = true;
        }
        if let Some((_, link)) = self.link_of(id) {
            link.stage = Stage::LoggingIn(id);
        }
        self.authenticate(id, &method.into(), true);
    }

    pub(super) fn login_answered(
        &mut self,
        id: ChatId,
        methods: &[AuthMethodId],
        index: Option<usize>,
    ) {
        match index.and_then(|index| methods.get(index)) {
            Some(method) => self.authenticate(id, method, true),
            None => self.not_logged_in(id, "no login was chosen"),
        }
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
                let login = ToEditor::Login { chat: id, title, command, env, cwd, by_user };
                self.enter(id, Phase::Starting("logging in: see the terminal, or :RatLogin"));
                self.after.push(login);
            }
            _ => {
                self.enter(id, Phase::Starting("logging in"));
                let call = Call::Authenticate(method.id);
                self.call(id, call, Expected::Authenticate, timeout);
            }
        }
    }

    pub(super) fn logged_in(&mut self, id: ChatId) {
        for id in self.waiting_for_login(id) {
            if self.chats.get(&id).is_some_and(|chat| chat.live) {
                self.enter(id, Phase::Ready);
                self.pump(id);
            } else {
                self.open_session(id);
            }
        }
    }

    /// The program in the terminal has ended. The agent that runs knows nothing of the login: it is started anew (ACP
    /// terminal authentication).
    pub(super) fn terminal_login_over(&mut self, id: ChatId, status: Option<i32>) {
        if !self.link_of(id).is_some_and(|(_, link)| link.stage == Stage::LoggingIn(id)) {
            return;
        }
        match status {
            Some(0) => self.restart(id),
            Some(status) => {
                self.not_logged_in(id, &format!("the login ended with exit status {status}"));
            }
            None => self.not_logged_in(id, "the login could not be started"),
        }
    }

    pub(super) fn login_failed(&mut self, id: ChatId, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let why = words::start(&chat.config, "authenticate", error);
        self.login_over(id, &why, &words::data(error));
    }

    fn not_logged_in(&mut self, id: ChatId, why: &str) {
        let name = self.chats.get(&id).map(|chat| chat.name().to_owned()).unwrap_or_default();
        self.login_over(
            id,
            &format!("{name} is not logged in ({why}): :RatRestart asks again"),
            &[],
        );
    }

    /// Nobody is logged in. A session that is open stays, with what waits in its queue.
    fn login_over(&mut self, id: ChatId, why: &str, details: &[String]) {
        for id in self.waiting_for_login(id) {
            let Some(chat) = self.chats.get_mut(&id) else { continue };
            if chat.live {
                chat.queue_paused = !chat.queue.is_empty();
                chat.transcript.note(Severity::Error, why, details.to_vec());
                self.enter(id, Phase::Ready);
            } else {
                self.fail(id, why, details.to_vec());
            }
        }
        self.notify(Level::Error, why);
    }

    /// Takes a login back that the agent works on.
    pub(super) fn call_off_login(&mut self, id: ChatId) -> bool {
        let its = |entry: &(&CallId, &(Owner, Expected))| {
            *entry.1 == (Owner::Chat(id), Expected::Authenticate)
        };
        let call = self.calls.iter().find(its).map(|(call, _)| *call);
        let agent = self.link_of(id).map(|(agent, _)| agent);
        if let (Some(call), Some(agent)) = (call, agent) {
            self.act(agent, ToAgent::Withdraw(call));
            self.call_over(call);
        }
        call.is_some()
    }

    /// `:RatLogout`.
    pub(super) fn logout(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (title, can) = (chat.agent_title(), chat.info.capabilities.logout);
        let timeout = chat.config.timeouts.request;
        match self.link_of(id).map(|(agent, _)| agent) {
            None => self.notify(Level::Warn, format!("{title} is not running: :RatRestart")),
            Some(_) if !can => self.notify(Level::Info, format!("{title} offers no logout")),
            Some(agent) => {
                let owner = Owner::Agent(agent);
                self.call_as(owner, Call::Logout, Expected::LoggedOut, timeout);
            }
        }
    }

    pub(super) fn logged_out(&mut self, agent: AgentId, result: Result<Reply, CallError>) {
        if let Err(error) = result {
            let name = self.links.get(&agent).map(|link| link.config.name.clone());
            let Some(name) = name else { return };
            let why = words::reason(&error);
            return self.notify(Level::Error, format!("{name} did not log out ({why})"));
        }
        for id in self.chats_on(agent) {
            if let Some(chat) = self.chats.get_mut(&id) {
                let title = "logged out: what comes next may ask for a login";
                chat.transcript.note(Severity::Info, title, Vec::new());
            }
        }
    }

    /// Who logged in for others is gone: one of them goes on with it.
    pub(super) fn pass_login_on(&mut self, agent: AgentId) {
        if let Some(link) = self.links.get_mut(&agent) {
            link.stage = Stage::Ready;
        }
        let waits = |chat: &&ChatId| self.chats.get(chat).is_some_and(|chat| chat.wants_login);
        if let Some(next) = self.chats_on(agent).iter().find(waits) {
            self.login(*next);
        }
    }

    /// The login is over: all chats that waited for it.
    fn waiting_for_login(&mut self, id: ChatId) -> Vec<ChatId> {
        let Some((agent, link)) = self.link_of(id) else { return Vec::new() };
        link.stage = Stage::Ready;
        let mut chats = self.chats_on(agent);
        chats.retain(|id| {
            let chat = self.chats.get_mut(id);
            chat.is_some_and(|chat| std::mem::take(&mut chat.wants_login))
        });
        chats
    }
}
