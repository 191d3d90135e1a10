//! Elicitations: what agents ask the user to fill in or to open, each answered once. Those of a session belong to its
//! chat, those of a request to the chat that called.

use super::chat::Chat;
use super::effect::{Answer, Happened, Level, ToEditor};
use super::elicitation::{Choice, News, Scope};
use super::event::{AgentId, CallId, ChatId, Token};
use super::state::{Debt, Owner, State};
use super::status::WaitingElicitation;
use crate::session::elicitation::{Action, Elicitation, Given, Wants};
use crate::session::ids::{ElicitationId, ToolCallId};
use crate::session::transcript::{Became, Elicited};

/// A request that waits for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Asking {
    /// Our number of it.
    pub id: u64,
    /// Why the agent asks.
    pub message: String,
    /// What the user is to do.
    pub wants: Wants,
    /// Spent by the answer.
    token: Token,
    /// The call of ours it belongs to.
    call: Option<CallId>,
    /// The tool call it is about.
    tool_call: Option<ToolCallId>,
}

/// Characters of a message that stand in a status: it is told again with each change of anything else.
const GIST: usize = 200;

impl Asking {
    /// What the editor is told of it each time.
    pub(super) fn status(&self) -> WaitingElicitation {
        let (id, mode) = (self.id, self.wants.mode());
        WaitingElicitation { id, mode, message: self.gist() }
    }

    /// How its message begins: a line at most.
    pub(super) fn gist(&self) -> String {
        let first = self.message.trim_start().lines().next().unwrap_or_default();
        first.chars().take(GIST).collect()
    }
}

impl State {
    /// An agent asks.
    pub(super) fn elicited(
        &mut self,
        agent: AgentId,
        token: Token,
        scope: &Scope,
        elicitation: Elicitation,
    ) {
        let (id, call) = match scope {
            Scope::Session(session) => match self.chat_of(agent, session) {
                Some(id) => (id, None),
                None => return self.no_session(agent, token, session),
            },
            Scope::Call(call) => match self.caller(agent, *call) {
                Some(id) => (id, Some(*call)),
                None => return self.uncalled(agent, token),
            },
        };
        self.debts.insert(token, Debt { agent, chat: id, file: None });
        let number = self.next_id();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Elicitation { message, tool_call, wants } = elicitation;
        let cancelled = is_of_turn(chat, call) && chat.turn().is_some_and(|turn| turn.cancelled);
        let became = if cancelled { Became::Cancelled } else { Became::Waiting };
        chat.spoken().elicit(Elicited::new(number, &message, &wants, became));
        if cancelled {
            return self.pay(token, Answer::Elicitation(Action::Cancel));
        }
        let mode = wants.mode();
        let asking = Asking { id: number, message, wants, token, call, tool_call };
        let news = News::Asked(asking.message.clone(), asking.wants.clone());
        chat.elicitations.push(asking);
        chat.changed = true;
        self.after.push(ToEditor::Elicitation(id, number, news));
        self.after.push(ToEditor::Autocommand(Happened::Elicitation(id, number, mode)));
    }

    /// The chat that made this call; one that uses the agent, where it was made for all.
    fn caller(&self, agent: AgentId, call: CallId) -> Option<ChatId> {
        match self.calls.get(&call)? {
            (Owner::Chat(id), _) => Some(*id),
            (Owner::Agent(_), _) => self.chats_on(agent).first().copied(),
        }
    }

    /// Whoever called has gone meanwhile.
    fn uncalled(&mut self, agent: AgentId, token: Token) {
        if let Some(chat) = self.chats_on(agent).first() {
            self.debts.insert(token, Debt { agent, chat: *chat, file: None });
        }
        self.pay(token, Answer::Elicitation(Action::Cancel));
    }

    /// The user does something with a request; late, it changes nothing.
    pub(super) fn elicitation(&mut self, id: ChatId, number: u64, choice: Choice) {
        let chat = self.chats.get(&id);
        let asking = chat.and_then(|chat| chat.elicitations.iter().find(|it| it.id == number));
        let Some(asking) = asking.cloned() else { return };
        match choice {
            Choice::Check(entered) => {
                let problems = asking.wants.read(&entered).err().unwrap_or_default();
                self.after.push(ToEditor::Elicitation(id, number, News::Problems(problems)));
            }
            Choice::Accept(entered) => self.accepted(id, &asking, &entered),
            Choice::Decline => self.resolve(id, &asking, Action::Decline, Became::Declined),
            Choice::Cancel => self.resolve(id, &asking, Action::Cancel, Became::Cancelled),
        }
    }

    fn accepted(&mut self, id: ChatId, asking: &Asking, entered: &[(String, Given)]) {
        match (asking.wants.read(entered), &asking.wants) {
            (Err(problems), _) => {
                self.after.push(ToEditor::Elicitation(id, asking.id, News::Problems(problems)));
            }
            (Ok(content), Wants::Form(_)) => {
                self.resolve(id, asking, Action::Accept(Some(content)), Became::Sent);
            }
            (Ok(_), Wants::Address(name, address)) => {
                if let Some(chat) = self.chats.get_mut(&id) {
                    chat.opened.push((name.clone(), asking.id));
                }
                self.resolve(id, asking, Action::Accept(None), Became::Opened);
                let news = News::Open(address.url.clone());
                self.after.push(ToEditor::Elicitation(id, asking.id, news));
            }
        }
    }

    fn resolve(&mut self, id: ChatId, asking: &Asking, action: Action, became: Became) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.elicitations.retain(|it| it.id != asking.id);
            chat.spoken().elicitation_became(asking.id, became);
            chat.changed = true;
        }
        self.pay(asking.token, Answer::Elicitation(action));
    }

    /// Answers with `cancel` what nobody needs any more.
    fn call_back(&mut self, id: ChatId, pointless: impl Fn(&Asking) -> bool) {
        let chat = self.chats.get(&id);
        let all = chat.map(|chat| chat.elicitations.clone()).unwrap_or_default();
        for asking in all.iter().filter(|asking| pointless(asking)) {
            self.resolve(id, asking, Action::Cancel, Became::Cancelled);
        }
    }

    /// The user has cancelled the turn.
    pub(super) fn cancel_elicitations(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let of_turn = chat.elicitations.iter().filter(|asking| is_of_turn(chat, asking.call));
        let of_turn: Vec<u64> = of_turn.map(|asking| asking.id).collect();
        self.call_back(id, |asking| of_turn.contains(&asking.id));
    }

    /// The turn is over, and its tool calls with it.
    pub(super) fn end_elicitations(&mut self, id: ChatId) {
        self.call_back(id, |asking| asking.tool_call.is_some());
    }

    /// The session is over, or its agent.
    pub(super) fn settle_elicitations(&mut self, id: ChatId) {
        self.call_back(id, |_| true);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.opened.clear();
        }
    }

    /// A call of ours was answered, or is not wanted any more.
    pub(super) fn call_over(&mut self, call: CallId) {
        for id in self.chats.keys().copied().collect::<Vec<_>>() {
            self.call_back(id, |asking| asking.call == Some(call));
        }
    }

    /// The agent does not want to know any more (ACP cancellation). Whether it was one of these.
    pub(super) fn elicitation_withdrawn(&mut self, token: Token) -> bool {
        let its = |asking: &Asking| asking.token == token;
        let asks = |chat: &&Chat| chat.elicitations.iter().any(its);
        let found = self.chats.values().find(asks).map(|chat| chat.id);
        found.is_some_and(|id| {
            self.call_back(id, its);
            true
        })
    }

    /// What the user has opened is done. Names we do not know are ignored (ACP elicitation).
    pub(super) fn elicitation_complete(&mut self, agent: AgentId, name: &ElicitationId) {
        for id in self.chats_on(agent) {
            let Some(chat) = self.chats.get_mut(&id) else { continue };
            let Some(at) = chat.opened.iter().position(|(opened, _)| opened == name) else {
                continue;
            };
            let (_, number) = chat.opened.remove(at);
            chat.spoken().elicitation_became(number, Became::Complete);
            let text = format!("{}: what you opened in the browser is done", chat.agent_title());
            return self.notify(Level::Info, text);
        }
    }
}

/// Whether a request belongs to what a cancel of the turn ends: another call of ours, such as a login, it does not.
fn is_of_turn(chat: &Chat, call: Option<CallId>) -> bool {
    call.is_none() || chat.turn().is_some_and(|turn| turn.call == call)
}
