//! Elicitations: forms and URLs that agents ask the user to fill in or open. Each is answered exactly once. An
//! elicitation of a session belongs to the session's chat; one of a call, to the chat that made the call.

use crate::core::calls::CallOwner;
use crate::core::chat::Chat;
use crate::core::chat::PendingElicitation;
use crate::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use crate::core::messages::effect::Answer;
use crate::core::messages::elicitation::{ElicitationChoice, ElicitationUpdate, Scope};
use crate::core::messages::ids::{AgentId, CallId, RequestToken};
use crate::core::requests::{PendingRequest, Requester};
use crate::core::state::State;
use crate::session::author::ChatId;
use crate::session::elicitation::{Action, Elicitation, ElicitationKind, FieldValue};
use crate::session::entry::{ElicitationEntry, ElicitationState};
use crate::session::ids::ElicitationId;

impl State {
    /// An agent has sent `elicitation/create`.
    pub(in crate::core) fn elicitation_requested(
        &mut self,
        agent: AgentId,
        token: RequestToken,
        scope: &Scope,
        elicitation: Elicitation,
    ) {
        let (id, call) = match scope {
            Scope::Session(session) => match self.chat_of(agent, session) {
                Some(id) => (id, None),
                None => return self.no_session(agent, token, session),
            },
            Scope::Call(call) => match self.chat_of_call(agent, *call) {
                Some(id) => (id, Some(*call)),
                None => return self.cancel_orphaned(agent, token),
            },
        };
        self.requests
            .insert(token, PendingRequest { by: Requester::Agent(agent), chat: id, file: None });
        let number = self.next_id();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Elicitation { message, tool_call, wants } = elicitation;
        let cancelled = is_of_turn(chat, call) && chat.turn().is_some_and(|turn| turn.cancelled);
        let state = if cancelled { ElicitationState::Cancelled } else { ElicitationState::Waiting };
        chat.incoming_mut().elicit(ElicitationEntry::new(number, &message, &wants, state));
        if cancelled {
            return self.respond(token, Answer::Elicitation(Action::Cancel));
        }
        let mode = wants.mode();
        let asking = PendingElicitation { id: number, message, wants, token, call, tool_call };
        let news = ElicitationUpdate::Asked(asking.message.clone(), asking.wants.clone());
        chat.awaiting_user.elicitations.push(asking);
        chat.redraw.status = true;
        self.after_draw.push(EditorMessage::Elicitation(id, number, news));
        self.after_draw
            .push(EditorMessage::Autocommand(UserAutocmd::Elicitation(id, number, mode)));
    }

    /// Returns the chat that made this call; if it was made for the agent as a whole, one of the agent's chats.
    fn chat_of_call(&self, agent: AgentId, call: CallId) -> Option<ChatId> {
        match self.calls.get(&call)? {
            (CallOwner::Chat(id), _) => Some(*id),
            (CallOwner::Agent(_), _) => self.chats_on(agent).first().copied(),
        }
    }

    /// Cancels an elicitation that belongs to a call which has ended.
    fn cancel_orphaned(&mut self, agent: AgentId, token: RequestToken) {
        if let Some(chat) = self.chats_on(agent).first() {
            self.requests.insert(
                token,
                PendingRequest { by: Requester::Agent(agent), chat: *chat, file: None },
            );
        }
        self.respond(token, Answer::Elicitation(Action::Cancel));
    }

    /// Handles the user's answer. An answer to an elicitation that is no longer waiting is ignored.
    pub(in crate::core) fn elicitation_answered(
        &mut self,
        id: ChatId,
        number: u64,
        choice: ElicitationChoice,
    ) {
        let chat = self.chats.get(&id);
        let asking =
            chat.and_then(|chat| chat.awaiting_user.elicitations.iter().find(|it| it.id == number));
        let Some(asking) = asking.cloned() else { return };
        match choice {
            ElicitationChoice::Check(entered) => {
                let problems = asking.wants.validate(&entered).err().unwrap_or_default();
                self.after_draw.push(EditorMessage::Elicitation(
                    id,
                    number,
                    ElicitationUpdate::Problems(problems),
                ));
            }
            ElicitationChoice::Accept(entered) => self.submit(id, &asking, &entered),
            ElicitationChoice::Decline => {
                self.close_elicitation(id, &asking, Action::Decline, ElicitationState::Declined);
            }
            ElicitationChoice::Cancel => {
                self.close_elicitation(id, &asking, Action::Cancel, ElicitationState::Cancelled);
            }
        }
    }

    fn submit(
        &mut self,
        id: ChatId,
        asking: &PendingElicitation,
        entered: &[(String, FieldValue)],
    ) {
        match (asking.wants.validate(entered), &asking.wants) {
            (Err(problems), _) => {
                self.after_draw.push(EditorMessage::Elicitation(
                    id,
                    asking.id,
                    ElicitationUpdate::Problems(problems),
                ));
            }
            (Ok(content), ElicitationKind::Form(_)) => {
                self.close_elicitation(
                    id,
                    asking,
                    Action::Accept(Some(content)),
                    ElicitationState::Sent,
                );
            }
            (Ok(_), ElicitationKind::Url(name, address)) => {
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.awaiting_user.opened_addresses.push((name.clone(), asking.id));
                }
                self.close_elicitation(id, asking, Action::Accept(None), ElicitationState::Opened);
                let news = ElicitationUpdate::Open(address.url.clone());
                self.after_draw.push(EditorMessage::Elicitation(id, asking.id, news));
            }
        }
    }

    fn close_elicitation(
        &mut self,
        id: ChatId,
        asking: &PendingElicitation,
        action: Action,
        state: ElicitationState,
    ) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.awaiting_user.elicitations.retain(|it| it.id != asking.id);
            chat.incoming_mut().set_elicitation_state(asking.id, state);
            chat.redraw.status = true;
        }
        self.respond(asking.token, Answer::Elicitation(action));
    }

    /// Answers with `cancel` all elicitations of the chat for which `pointless` holds.
    fn cancel_elicitations_where(
        &mut self,
        id: ChatId,
        pointless: impl Fn(&PendingElicitation) -> bool,
    ) {
        let chat = self.chats.get(&id);
        let all = chat.map(|chat| chat.awaiting_user.elicitations.clone()).unwrap_or_default();
        for asking in all.iter().filter(|asking| pointless(asking)) {
            self.close_elicitation(id, asking, Action::Cancel, ElicitationState::Cancelled);
        }
    }

    /// Cancels the elicitations of the running turn, because the user has cancelled it.
    pub(in crate::core) fn cancel_elicitations(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let of_turn =
            chat.awaiting_user.elicitations.iter().filter(|asking| is_of_turn(chat, asking.call));
        let of_turn: Vec<u64> = of_turn.map(|asking| asking.id).collect();
        self.cancel_elicitations_where(id, |asking| of_turn.contains(&asking.id));
    }

    /// Cancels the elicitations that belong to tool calls, because the turn has ended.
    pub(in crate::core) fn end_elicitations(&mut self, id: ChatId) {
        self.cancel_elicitations_where(id, |asking| asking.tool_call.is_some());
    }

    /// Cancels all elicitations, because the session or its agent has ended.
    pub(in crate::core) fn cancel_all_elicitations(&mut self, id: ChatId) {
        self.cancel_elicitations_where(id, |_| true);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.awaiting_user.opened_addresses.clear();
        }
    }

    /// Cancels the elicitations that belong to a call of ours, because it was answered or withdrawn.
    pub(in crate::core) fn call_ended(&mut self, call: CallId) {
        for id in self.chats.keys().copied().collect::<Vec<_>>() {
            self.cancel_elicitations_where(id, |asking| asking.call == Some(call));
        }
    }

    /// Handles `$/cancel_request` (ACP cancellation). Returns whether the request was an elicitation.
    pub(in crate::core) fn elicitation_withdrawn(&mut self, token: RequestToken) -> bool {
        let has_token = |asking: &PendingElicitation| asking.token == token;
        let asks = |chat: &&Chat| chat.awaiting_user.elicitations.iter().any(has_token);
        let found = self.chats.values().find(asks).map(|chat| chat.id);
        found.is_some_and(|id| {
            self.cancel_elicitations_where(id, has_token);
            true
        })
    }

    /// Handles `elicitation/complete`. Unknown ids are ignored (ACP elicitation).
    pub(in crate::core) fn elicitation_complete(&mut self, agent: AgentId, name: &ElicitationId) {
        for id in self.chats_on(agent) {
            let Some(chat) = self.chats.get_mut(&id) else { continue };
            let Some(at) =
                chat.awaiting_user.opened_addresses.iter().position(|(opened, _)| opened == name)
            else {
                continue;
            };
            let (_, number) = chat.awaiting_user.opened_addresses.remove(at);
            chat.incoming_mut().set_elicitation_state(number, ElicitationState::Complete);
            let text = format!("{}: the step in your browser is complete", chat.agent_title());
            return self.notify(Level::Info, text);
        }
    }
}

/// Whether cancelling the turn cancels an elicitation of this call. It does not if the call is another one, such as
/// `authenticate`.
fn is_of_turn(chat: &Chat, call: Option<CallId>) -> bool {
    call.is_none() || chat.turn().is_some_and(|turn| turn.call == call)
}
