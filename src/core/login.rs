//! Logging in (ACP authentication): once for all sessions of an agent, with a choice where there are several ways.

use super::chat::Phase;
use super::effect::Call;
use super::event::{AUTH_REQUIRED, AgentId, CallError, ChatId};
use super::link::Stage;
use super::state::{Expected, Question, State};
use crate::session::agent::AuthKind;
use crate::session::ids::AuthMethodId;

/// Whether that is what an agent says when it wants a login first.
pub(super) fn is_wanted(error: &CallError) -> bool {
    matches!(error, CallError::Rpc { code: AUTH_REQUIRED, .. })
}

impl State {
    /// The chat cannot go on before a login. Picks a way, asking where there are several.
    pub(super) fn login(&mut self, id: ChatId) {
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
            return self.login_failed(id, &error);
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
        if let Some(method) = index.and_then(|index| methods.get(index)) {
            return self.authenticate(id, method.clone());
        }
        for id in self.waiting_for_login(id) {
            let name = self.chats.get(&id).map(|chat| chat.name().to_owned()).unwrap_or_default();
            let why = format!("{name} is not logged in: :RatRestart asks again");
            self.give_up(id, why, Vec::new());
        }
    }

    fn authenticate(&mut self, id: ChatId, method: AuthMethodId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let timeout = chat.config.timeouts.authenticate;
        self.enter(id, Phase::Starting("logging in"));
        self.call(id, Call::Authenticate(method), Expected::Authenticate, timeout);
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

    pub(super) fn login_failed(&mut self, id: ChatId, error: &CallError) {
        for id in self.waiting_for_login(id) {
            self.start_failed(id, "authenticate", error);
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
