//! Recovery from a panic in a handler or in drawing, so that a bug of ours does not take down every agent. The state
//! the panic left behind cannot be trusted, so the affected chats are settled and ended. The user can start them again.

use crate::core::chat::Phase;
use crate::core::event_subject::EventSubject;
use crate::core::failures;
use crate::core::messages::agent::INTERNAL_ERROR;
use crate::core::messages::editor::Level;
use crate::core::messages::effect::{AgentCommand, AgentEffect, Answer, Effect};
use crate::core::messages::ids::{AgentId, RequestToken};
use crate::core::messages::notice::Notice;
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::tool_call::ToolStatus;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl State {
    /// Runs `work`. If it panics, answers the request it was about and ends the affected chats.
    pub(super) fn catch_panic(&mut self, subject: &EventSubject, work: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            // Settling may panic as well on inconsistent state. Both panics are logged.
            let _ = catch_unwind(AssertUnwindSafe(|| self.settle_after_panic(subject)));
        }
    }

    fn settle_after_panic(&mut self, subject: &EventSubject) {
        let request = subject.token.and_then(|token| self.requests.get(&token));
        let requester = request.map(|request| request.chat);
        let session = subject.agent.zip(subject.session.as_ref());
        let session_chat = session.and_then(|(agent, session)| self.chat_of(agent, session));
        let chats = match (subject.chat.or(requester).or(session_chat), subject.agent) {
            (Some(chat), _) => vec![chat],
            (None, Some(agent)) => self.chats_on(agent),
            (None, None) => Vec::new(),
        };
        if let Some(token) = subject.token {
            self.answer_after_panic(subject.agent, token);
        }
        for id in chats {
            self.fail(id, &failures::of_ours(reason()));
        }
        self.notify(Level::Error, notification());
    }

    /// Answers the request whose handler panicked, exactly once, whether or not it was recorded before the panic.
    fn answer_after_panic(&mut self, agent: Option<AgentId>, token: RequestToken) {
        let is_answer = |effect: &Effect| matches!(effect, Effect::Agent(AgentEffect { action: AgentCommand::Answer { token: answered, .. }, .. }) if *answered == token);
        let message = "internal error in the client".to_owned();
        let answer = Answer::Error { code: INTERNAL_ERROR, message };
        if self.requests.contains_key(&token) {
            self.respond(token, answer);
        } else if let Some(agent) = agent
            && !self.effects.iter().any(is_answer)
        {
            self.send_to_agent(agent, AgentCommand::Answer { token, answer });
        }
    }

    /// Ends a chat whose drawing panicked: it would panic again with every frame.
    pub(super) fn fail_drawing(&mut self, id: ChatId) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.detach(id, ToolStatus::Failed)));
        self.enter_phase(id, Phase::Failed(reason().to_string()));
        self.notify(Level::Error, notification());
    }
}

fn reason() -> Notice {
    let text = "Internal error in rat.nvim ended this session.";
    Notice::from(text).advise(":RatRestart starts it again.")
}

fn notification() -> Notice {
    let text = "Internal error in rat.nvim.";
    Notice::from(text).advise("See :RatLog; :RatRestart starts the session again.")
}
