//! What an event is about, so that the right chats are told if its handler panics.

use crate::core::messages::agent::AgentEvent;
use crate::core::messages::event::Event;
use crate::core::messages::ids::{AgentId, RequestToken};
use crate::core::messages::trace::TracePiece;
use crate::session::author::ChatId;
use crate::session::ids::SessionId;

/// What an event is about; each field is `None` if the event does not say.
#[derive(Debug, Default)]
pub(super) struct EventSubject {
    pub(super) agent: Option<AgentId>,
    pub(super) session: Option<SessionId>,
    pub(super) chat: Option<ChatId>,
    /// The request that waits for an answer.
    pub(super) token: Option<RequestToken>,
}

impl EventSubject {
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Agent(agent, from) => {
                let (session, token) = match from {
                    AgentEvent::Update { session, .. }
                    | AgentEvent::MethodRefused { session, .. } => (Some(session.clone()), None),
                    AgentEvent::Request { token, session, .. } => {
                        (Some(session.clone()), Some(*token))
                    }
                    AgentEvent::Elicitation { token, .. } | AgentEvent::Withdrawn(token) => {
                        (None, Some(*token))
                    }
                    _ => (None, None),
                };
                Self { agent: Some(*agent), session, token, chat: None }
            }
            Event::File { token, .. } => Self { token: Some(*token), ..Self::default() },
            Event::DiskFollowed { chat, .. }
            | Event::PromptContextCollected { chat, .. }
            | Event::Exported(chat, ..)
            | Event::Denied(chat, _)
            | Event::LastSession(chat, _)
            | Event::TranscriptLoaded(chat, _)
            | Event::TracePiece(TracePiece { chat, .. }) => {
                Self { chat: Some(*chat), ..Self::default() }
            }
            Event::Judged(version, _) => Self { chat: Some(version.chat), ..Self::default() },
            #[cfg(test)]
            Event::Panic(agent, token) => {
                Self { agent: Some(*agent), token: Some(*token), ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}
