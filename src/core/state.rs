//! The state that all decisions are made on. Handlers in `core::handlers` change it and yield effects. Nothing here
//! waits, and nothing can fail.

use crate::core::calls::CallOwner;
use crate::core::calls::ExpectedReply;
use crate::core::chat::{Chat, Phase};
use crate::core::connection::AgentConnection;
use crate::core::drawn::DrawnChat;
use crate::core::listening::Listening;
use crate::core::messages::call::Call;
use crate::core::messages::editor::{Asked, EditorMessage, Level};
use crate::core::messages::effect::{AgentCommand, AgentEffect, Answer, Effect};
use crate::core::messages::ids::{AgentId, CallId, RequestToken};
use crate::core::messages::notice::Notice;
use crate::core::messages::review::{ChangeScope, ReviewedFile};
use crate::core::questions::Question;
use crate::core::requests::{PendingRequest, Requester};
use crate::core::review_updates::ReviewUpdates;
use crate::core::sent_review::SentReview;
use crate::core::session_list::SessionList;
use crate::core::terminals::{AgentTerminal, TerminalBuffer};
use crate::core::tools::EditorTools;
use crate::session::author::ChatId;
use crate::session::ids::{AgentName, SessionId, TerminalId};
use crate::session::update::Update;
use crate::trust::kept::KeptRules;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

/// The whole state of the program.
#[derive(Debug, Default)]
pub struct State {
    pub(super) chats: BTreeMap<ChatId, Chat>,
    /// The agent processes, shared by chats.
    pub(super) connections: BTreeMap<AgentId, AgentConnection>,
    /// The chat used most recently.
    pub(super) current: Option<ChatId>,
    /// Requests of agents we have not answered. Each token is used up by exactly one answer.
    pub(super) requests: HashMap<RequestToken, PendingRequest>,
    /// Writes that were answered before they were done; the user is still told what they change.
    pub(super) answered_early: HashMap<RequestToken, ChatId>,
    /// Our calls that agents have not answered.
    pub(super) calls: HashMap<CallId, (CallOwner, ExpectedReply)>,
    /// The editor's own tools, which agents call.
    pub(super) tools: EditorTools,
    /// Commands that run for agents.
    pub(super) terminals: BTreeMap<TerminalId, AgentTerminal>,
    /// Terminal buffers that show such commands.
    pub(super) terminal_buffers: Vec<TerminalBuffer>,
    /// Our questions the user has not answered.
    pub(super) questions: BTreeMap<u64, Question>,
    /// The problems of the settings file when it was last read.
    pub(super) settings_problems: Vec<String>,
    /// The rules that the user has made, as they were saved last.
    pub(super) kept_rules: KeptRules,
    /// Why they cannot be read.
    pub(super) rules_problem: Option<String>,
    /// The list of sessions the user was shown last.
    pub(super) session_list: Option<SessionList>,
    /// The changes that the latest review shows.
    pub(super) listed: ChangeScope,
    /// What has changed there and is not told yet.
    pub(super) review_updates: ReviewUpdates,
    /// The page it was sent as.
    pub(super) review_page: SentReview,
    /// What has been done, and what could not be, by the parts of a decision that is not carried out yet.
    pub(super) decided: (Vec<ReviewedFile>, Vec<(PathBuf, String)>),
    /// What the editor shows of each chat.
    pub(super) drawn: BTreeMap<ChatId, DrawnChat>,
    /// What scripts listen to.
    pub(super) listening: Listening,
    pub(super) effects: Vec<Effect>,
    /// Messages that go before and after the drawing of a frame.
    pub(super) before_draw: Vec<EditorMessage>,
    pub(super) after_draw: Vec<EditorMessage>,
    /// Whether the client shows no views, so that nothing is drawn.
    pub(super) is_headless: bool,
    last_id: u64,
    /// The agents of which the user was told that they could be confined.
    pub(super) told_unconfined: BTreeSet<AgentName>,
    /// The number of the chat that was created last. Numbers of closed chats are not used again.
    pub(super) last_chat: u32,
}

impl State {
    /// Creates a state for a client that shows no views. Its frames draw nothing.
    pub fn without_views() -> Self {
        Self { is_headless: true, ..Self::default() }
    }

    /// Finds the chat that has this session of the agent open.
    pub(super) fn chat_of(&self, agent: AgentId, session: &SessionId) -> Option<ChatId> {
        let has_session =
            |chat: &&Chat| chat.agent == Some(agent) && chat.session.as_ref() == Some(session);
        self.chats.values().find(has_session).map(|chat| chat.id)
    }

    /// Drops updates for unknown sessions once no chat on the agent is opening a session.
    fn drop_held_updates(&mut self, id: ChatId) {
        let Some(agent) = self.chats.get(&id).and_then(|chat| chat.agent) else { return };
        let is_opening =
            |chat: &Chat| chat.agent == Some(agent) && matches!(chat.phase, Phase::Starting(_));
        let may_open = self.chats.values().any(is_opening);
        if let Some(connection) = self.connections.get_mut(&agent).filter(|_| !may_open) {
            connection.drop_held_updates();
        }
    }

    /// Holds an update for an unknown session if a chat on the agent may be about to open it.
    pub(super) fn hold_update(&mut self, agent: AgentId, session: SessionId, update: Update) {
        let is_opening =
            |chat: &Chat| chat.agent == Some(agent) && matches!(chat.phase, Phase::Starting(_));
        if self.chats.values().any(is_opening)
            && let Some(connection) = self.connections.get_mut(&agent)
        {
            connection.hold_update(session, update);
        }
    }

    /// Returns the given chat if it exists; for `None`, the chat used most recently.
    pub(super) fn find_chat(&self, chat: Option<ChatId>) -> Option<ChatId> {
        chat.or(self.current).filter(|id| self.chats.contains_key(id))
    }

    /// Asks the user a question.
    pub(super) fn ask(&mut self, question: Question, title: String, items: Vec<String>) {
        let id = self.next_id();
        let chat = question.chat();
        let by_user = matches!(
            question,
            Question::UnsavedText(..)
                | Question::Fork(..)
                | Question::Widen(..)
                | Question::Undo(..)
                | Question::Merge(..)
                | Question::RemoveWorktree(..)
        );
        // Closing a window must not decide for a request that an agent waits on.
        let lasting = !question.requests().is_empty();
        let is_write = matches!(question, Question::Write { .. });
        let peek =
            (is_write || matches!(question, Question::Command { .. })).then_some(Question::SHOW);
        self.questions.insert(id, question);
        let asked = Asked { id, chat, title, items, by_user, lasting, peek, is_write };
        self.after_draw.push(EditorMessage::Ask(asked));
    }

    /// Withdraws the unanswered questions for which `pointless` holds.
    pub(super) fn withdraw_questions(&mut self, pointless: impl Fn(&Question) -> bool) {
        let after = &mut self.after_draw;
        self.questions.retain(|id, question| {
            let withdraw = pointless(question);
            after.extend(withdraw.then_some(EditorMessage::Unask(*id)));
            !withdraw
        });
    }

    /// Updates each chat's count of questions that hold up its turn.
    pub(super) fn count_questions(&mut self) {
        for chat in self.chats.values_mut() {
            let holding = self.questions.values().filter(|it| it.holds_turn());
            let open = holding.filter(|it| it.chat() == chat.id).count();
            chat.redraw.status |= open != chat.awaiting_user.questions;
            chat.awaiting_user.questions = open;
        }
    }

    /// Returns a number that has not been used before.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Shows the first line of `text` to the user.
    pub(super) fn notify(&mut self, level: Level, notice: impl Into<Notice>) {
        let mut notice = notice.into();
        notice.text.truncate(notice.text.lines().next().map_or(0, str::len));
        self.after_draw.push(EditorMessage::Notify(level, notice));
    }

    /// Sends a command to an agent.
    pub(super) fn send_to_agent(&mut self, agent: AgentId, action: AgentCommand) {
        self.effects.push(Effect::Agent(AgentEffect { agent, action }));
    }

    /// Calls the chat's agent.
    pub(super) fn call(
        &mut self,
        id: ChatId,
        request: Call,
        expected: ExpectedReply,
        timeout: Option<Duration>,
    ) -> CallId {
        self.call_for(CallOwner::Chat(id), request, expected, timeout)
    }

    /// Calls an agent.
    pub(super) fn call_for(
        &mut self,
        owner: CallOwner,
        request: Call,
        expected: ExpectedReply,
        timeout: Option<Duration>,
    ) -> CallId {
        let call = CallId(self.next_id());
        let agent = match owner {
            CallOwner::Agent(agent) => Some(agent),
            CallOwner::Chat(id) => self.chats.get(&id).and_then(|chat| chat.agent),
        };
        if let Some(agent) = agent {
            self.calls.insert(call, (owner, expected));
            self.send_to_agent(agent, AgentCommand::Call { call, request, timeout });
        }
        call
    }

    /// Answers a request. This is the only place an answer leaves.
    pub(super) fn respond(&mut self, token: RequestToken, answer: Answer) {
        if let Some(request) = self.requests.remove(&token) {
            match request.by {
                Requester::Agent(agent) => {
                    self.send_to_agent(agent, AgentCommand::Answer { token, answer });
                }
                Requester::InPlace => self.answer_placed(request.chat, &answer),
                Requester::Tool(call) => self.tool_step_done(call, token, answer),
            }
        }
        self.withdraw_questions(|question| question.is_being_made(token));
    }

    /// Answers a request whose work may continue: a write that has begun cannot be undone.
    pub(super) fn respond_early(&mut self, token: RequestToken, answer: Answer) {
        let waits_for_user = |question: &Question| question.requests().contains(&token);
        let request = self
            .requests
            .get(&token)
            .filter(|request| matches!(request.file, Some(Effect::Write { .. })));
        if let Some(chat) = request.map(|request| request.chat)
            && !self.questions.values().any(waits_for_user)
        {
            self.answered_early.insert(token, chat);
        }
        self.respond(token, answer);
    }

    /// Moves a chat to another phase.
    pub(super) fn enter_phase(&mut self, id: ChatId, phase: Phase) {
        self.drop_edits(id, &phase);
        if let Some(chat) = self.chats.get_mut(&id) {
            let turn = chat.turn().is_some();
            chat.phase = phase;
            chat.redraw.status = true;
            if turn != chat.turn().is_some() {
                self.update_watch();
                self.schedule_save(id);
            }
        }
        self.drop_held_updates(id);
    }
}
