//! What becomes of a handler or a drawing that panics: a bug of ours must not take every agent with it. Nothing is known
//! of what it left half done, so the conversations it was about are settled and ended; they can be started again.

use super::chat::Phase;
use super::effect::{AgentEffect, Answer, Effect, Level, ToAgent};
use super::event::agent::{FromAgent, INTERNAL_ERROR};
use super::event::{AgentId, ChatId, Event, Token};
use super::state::State;
use crate::session::ids::SessionId;
use crate::session::tool_call::ToolStatus;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whom an event is about.
#[derive(Debug, Default)]
pub(super) struct Concern {
    agent: Option<AgentId>,
    session: Option<SessionId>,
    chat: Option<ChatId>,
    /// The request that waits.
    token: Option<Token>,
}

impl Concern {
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Agent(agent, from) => {
                let (session, token) = match from {
                    FromAgent::Update { session, .. } => (Some(session.clone()), None),
                    FromAgent::Request { token, session, .. } => {
                        (Some(session.clone()), Some(*token))
                    }
                    FromAgent::Elicitation { token, .. } | FromAgent::Withdrawn(token) => {
                        (None, Some(*token))
                    }
                    _ => (None, None),
                };
                Self { agent: Some(*agent), session, token, chat: None }
            }
            Event::File { token, .. } => Self { token: Some(*token), ..Self::default() },
            Event::Adopted { chat, .. }
            | Event::Gathered { chat, .. }
            | Event::Exported(chat, ..)
            | Event::Recalled(chat, _)
            | Event::Reread(chat, _)
            | Event::Trace { chat, .. } => Self { chat: Some(*chat), ..Self::default() },
            #[cfg(test)]
            Event::Break(agent, token) => {
                Self { agent: Some(*agent), token: Some(*token), ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

impl State {
    /// Runs `work`. If it breaks, what waits for it is answered, and whom it was about is told.
    pub(super) fn guarded(&mut self, concern: &Concern, work: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            // This may break on what is left, too; either panic is in the log.
            let _ = catch_unwind(AssertUnwindSafe(|| self.settle_broken(concern)));
        }
    }

    fn settle_broken(&mut self, concern: &Concern) {
        let debt = concern.token.and_then(|token| self.debts.get(&token));
        let debtor = debt.map(|debt| debt.chat);
        let session = concern.agent.zip(concern.session.as_ref());
        let spoken = session.and_then(|(agent, session)| self.chat_of(agent, session));
        let chats = match (concern.chat.or(debtor).or(spoken), concern.agent) {
            (Some(chat), _) => vec![chat],
            (None, Some(agent)) => self.chats_on(agent),
            (None, None) => Vec::new(),
        };
        if let Some(token) = concern.token {
            self.answer_broken(concern.agent, token);
        }
        for id in chats {
            self.fail(id, ENDED, Vec::new());
        }
        self.notify(Level::Error, TOLD);
    }

    /// The request that broke is answered once, whether or not it was noted before.
    fn answer_broken(&mut self, agent: Option<AgentId>, token: Token) {
        let is_answer = |effect: &Effect| matches!(effect, Effect::Agent(AgentEffect { action: ToAgent::Answer { token: of, .. }, .. }) if *of == token);
        let message = "the client ran into an error of its own".to_owned();
        let answer = Answer::Error { code: INTERNAL_ERROR, message };
        if self.debts.contains_key(&token) {
            self.pay(token, answer);
        } else if let Some(agent) = agent
            && !self.effects.iter().any(is_answer)
        {
            self.act(agent, ToAgent::Answer { token, answer });
        }
    }

    /// A chat's drawing broke: it would do so again with each frame.
    pub(super) fn undrawable(&mut self, id: ChatId) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.let_go(id, ToolStatus::Failed)));
        if let Some(chat) = self.chats.get_mut(&id) {
            (chat.undrawable, chat.queue_paused) = (true, true);
        }
        self.enter(id, Phase::Failed(ENDED.to_owned()));
        self.notify(Level::Error, TOLD);
    }
}

const ENDED: &str =
    "rat.nvim ran into an error of its own and ended this session: :RatRestart goes on";
const TOLD: &str =
    "rat.nvim ran into an error of its own, :RatLog has the details; :RatRestart goes on";
