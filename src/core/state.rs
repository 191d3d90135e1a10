//! The only place that decides. Each event changes the state and yields effects; nothing here waits, and nothing here
//! can fail.

use super::broken::Concern;
use super::chat::{Chat, Phase};
use super::effect::{AgentEffect, Answer, Call, Effect, Level, ToAgent, ToEditor};
use super::event::agent::{CallError, FromAgent, Reply};
use super::event::{AgentId, CallId, ChatId, Event, Timer, Token, UserAction};
use super::link::Link;
use super::listing::Listing;
use super::terminals::{Feed, Owned};
use super::words;
use crate::session::ids::{AuthMethodId, SessionId, TerminalId};
use crate::session::update::Update;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

/// All there is to know.
#[derive(Debug, Default)]
pub struct State {
    pub(super) chats: BTreeMap<ChatId, Chat>,
    /// The agents they are on.
    pub(super) links: BTreeMap<AgentId, Link>,
    /// The chat used last.
    pub(super) current: Option<ChatId>,
    /// What is owed to agents: each token is spent by exactly one answer.
    pub(super) debts: HashMap<Token, Debt>,
    /// Writes that were answered before they were done. What they do is still news to the user.
    pub(super) answered_early: HashMap<Token, ChatId>,
    /// What agents owe us.
    pub(super) calls: HashMap<CallId, (Owner, Expected)>,
    /// Commands that run for agents.
    pub(super) terminals: BTreeMap<TerminalId, Owned>,
    /// Terminals that have a buffer of their own.
    pub(super) feeds: Vec<Feed>,
    /// Questions of ours the user has not answered.
    pub(super) questions: BTreeMap<u64, Question>,
    /// The sessions the user was shown last.
    pub(super) listing: Option<Listing>,
    pub(super) effects: Vec<Effect>,
    /// What the editor is told before it draws, and after.
    pub(super) before: Vec<ToEditor>,
    pub(super) after: Vec<ToEditor>,
    last_id: u64,
}

/// What a request of an agent waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Debt {
    pub(super) agent: AgentId,
    pub(super) chat: ChatId,
    /// The effect to run again when the user allows its file; `None` for permissions.
    pub(super) file: Option<Effect>,
}

/// For whom an agent was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// For all who use it.
    Agent(AgentId),
    /// For this chat.
    Chat(ChatId),
}

/// Which answer an agent owes us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    Initialize,
    Authenticate,
    NewSession,
    Fork,
    Load,
    Resume,
    Turn,
    /// A page of an agent's sessions.
    Sessions,
    /// That an option of this name is set.
    Option(String),
    /// That this is the mode now.
    Mode(String),
    /// That nobody is logged in any more.
    LoggedOut,
    /// That a session is deleted.
    Deleted,
    /// A session that nobody wants any more.
    Unwanted,
    /// One that changes nothing, whatever it says.
    Nothing,
}

/// A question of ours.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Question {
    /// The agent does not stop: end it?
    Kill(ChatId, u64),
    /// How to log in?
    Login(ChatId, Vec<AuthMethodId>),
    /// May the agent use this file, or its folder where that can be allowed?
    Outside { chat: ChatId, file: PathBuf, folder: Option<PathBuf>, waiting: Vec<Token> },
    /// May this write save the user's unsaved changes, too?
    Dirty(ChatId, Token),
    /// What becomes of unsaved text, for the prompt of this turn?
    Unsaved(ChatId, u64),
}

impl Question {
    /// The chat it is about.
    pub(super) fn chat(&self) -> ChatId {
        match self {
            Self::Kill(chat, _)
            | Self::Login(chat, _)
            | Self::Outside { chat, .. }
            | Self::Dirty(chat, _)
            | Self::Unsaved(chat, _) => *chat,
        }
    }

    /// Whether a request or a prompt waits for the answer.
    pub(super) fn holds_turn(&self) -> bool {
        matches!(self, Self::Outside { .. } | Self::Dirty(..) | Self::Unsaved(..))
    }
}

impl State {
    /// Takes in what happened, gives what is to be done about it.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let concern = Concern::of(&event);
        self.guarded(&concern, |state| state.take_in(event));
        std::mem::take(&mut self.effects)
    }

    fn take_in(&mut self, event: Event) {
        match event {
            Event::Agent(agent, from) => self.agent_said(agent, from),
            Event::User(action) => self.user_did(action),
            Event::File { token, outcome } => self.file_done(token, outcome),
            Event::Adopted { chat, changes, failed } => self.adopted(chat, changes, failed),
            Event::Terminal(terminal, happened) => self.terminal_said(&terminal, happened),
            Event::Exported(chat, id, export, outcome) => self.exported(chat, id, export, outcome),
            Event::Buffer(path, fact) => self.buffer(path, fact),
            Event::DiskChanged(paths) => self.disk_changed(&paths),
            Event::Gathered { chat, turn, unsaved, gathered } => {
                self.gathered(chat, turn, unsaved, gathered);
            }
            Event::Recalled(chat, sessions) => self.recalled(chat, sessions),
            Event::Remembered(cwd, sessions) => self.remembered(&cwd, sessions),
            Event::Reread(chat, past) => self.reread_done(chat, past),
            Event::Kept(session, kept) => self.kept(&session, kept),
            Event::Timer(Timer::CancelGrace(chat, turn)) => self.cancel_grace_over(chat, turn),
            Event::FrameLost => self.frame_lost(),
            Event::Trace { chat, text } => self.show_traffic(chat, text),
            #[cfg(test)]
            Event::Break(..) => panic!("a handler that breaks"),
        }
    }

    fn agent_said(&mut self, agent: AgentId, from: FromAgent) {
        match from {
            FromAgent::Update { session, update } => match self.chat_of(agent, &session) {
                Some(id) => self.update(id, update),
                None => self.early(agent, session, update),
            },
            FromAgent::Request { token, session, request } => {
                self.request(agent, token, &session, request);
            }
            FromAgent::Elicitation { token, scope, elicitation } => {
                self.elicited(agent, token, &scope, *elicitation);
            }
            FromAgent::ElicitationComplete(name) => self.elicitation_complete(agent, &name),
            FromAgent::Withdrawn(token) => self.withdrawn(token),
            FromAgent::Answer { call, result } => self.answer_came(call, result),
            FromAgent::Meta(meta) => self.meta_of_agent(agent, &meta),
            FromAgent::Exited(exit) => self.exited(agent, &exit),
        }
    }

    /// The chat that has this session of the agent.
    pub(super) fn chat_of(&self, agent: AgentId, session: &SessionId) -> Option<ChatId> {
        let its =
            |chat: &&Chat| chat.agent == Some(agent) && chat.session.as_ref() == Some(session);
        self.chats.values().find(its).map(|chat| chat.id)
    }

    /// Updates of sessions that are nobody's are not kept once nobody on the agent waits for a session.
    fn drop_early(&mut self, id: ChatId) {
        let Some(agent) = self.chats.get(&id).and_then(|chat| chat.agent) else { return };
        let starts = |chat: &Chat| matches!(chat.phase, Phase::Starting(_));
        let starts = self.chats.values().any(|chat| chat.agent == Some(agent) && starts(chat));
        if let Some(link) = self.links.get_mut(&agent).filter(|_| !starts) {
            link.drop_early();
        }
    }

    /// An update of a session that is nobody's, or not yet.
    fn early(&mut self, agent: AgentId, session: SessionId, update: Update) {
        let opens =
            |chat: &Chat| chat.agent == Some(agent) && matches!(chat.phase, Phase::Starting(_));
        if self.chats.values().any(opens)
            && let Some(link) = self.links.get_mut(&agent)
        {
            link.keep_early(session, update);
        }
    }

    fn answer_came(&mut self, call: CallId, result: Result<Reply, CallError>) {
        self.call_over(call);
        let Some((owner, expected)) = self.calls.remove(&call) else { return };
        // The end of the process says more than what it left unanswered.
        if result == Err(CallError::Closed) {
            return;
        }
        match owner {
            Owner::Agent(agent) => match (expected, result) {
                (Expected::Initialize, Ok(Reply::Initialized(info))) => {
                    self.initialized(agent, *info);
                }
                (Expected::Initialize, Ok(reply)) => {
                    self.handshake_failed(agent, "initialize", &words::misfit(&reply));
                }
                (Expected::Initialize, Err(error)) => {
                    self.handshake_failed(agent, "initialize", &error);
                }
                (Expected::Sessions, result) => self.sessions_came(agent, result),
                (Expected::LoggedOut, result) => self.logged_out(agent, result),
                (Expected::Deleted, Err(error)) => self.not_deleted(agent, &error),
                (Expected::Unwanted, Ok(Reply::Session { id, .. })) => {
                    self.close_unwanted(agent, id);
                }
                _ => {}
            },
            Owner::Chat(id) => self.chat_answered(id, call, expected, result),
        }
    }

    fn chat_answered(
        &mut self,
        id: ChatId,
        call: CallId,
        expected: Expected,
        result: Result<Reply, CallError>,
    ) {
        match (expected, result) {
            (Expected::Authenticate, Ok(_)) => self.logged_in(id),
            (Expected::Authenticate, Err(error)) => self.login_failed(id, &error),
            (Expected::NewSession | Expected::Fork, Ok(Reply::Session { id: session, setup })) => {
                self.opened(id, &session, setup);
            }
            (Expected::NewSession, Err(error)) => self.session_refused(id, "session/new", &error),
            (Expected::Fork, Err(error)) => self.session_refused(id, "session/fork", &error),
            (Expected::Load | Expected::Resume, Ok(Reply::Restored(setup))) => {
                self.restored(id, setup);
            }
            (Expected::Load | Expected::Resume, Err(error)) => self.not_restored(id, &error),
            (Expected::Turn, Ok(Reply::Turn(stop))) => self.turn_answered(id, call, &stop),
            (Expected::Turn, Ok(Reply::Accepted)) => self.prompt_accepted(id, call),
            (Expected::Turn, Err(error)) => self.prompt_refused(id, call, &error),
            (Expected::Option(_), Ok(Reply::Options(options))) => self.option_set(id, options),
            (Expected::Option(name), Err(error)) => self.option_refused(id, &name, &error),
            (Expected::Mode(mode), Ok(_)) => self.mode_set(id, mode),
            (Expected::Mode(_), Err(error)) => self.option_refused(id, "its mode", &error),
            (Expected::Nothing, _) => {}
            (_, Ok(reply)) => self.start_failed(id, "its start", &words::misfit(&reply)),
            (_, Err(error)) => self.start_failed(id, "its start", &error),
        }
    }

    fn user_did(&mut self, action: UserAction) {
        match action {
            UserAction::Start { config, cwd, directories, policy, wish, focus } => {
                self.start(*config, cwd, directories, wish, focus);
                self.set_policy(policy);
            }
            UserAction::ListSessions { act, cwd } => self.list_sessions(act, cwd),
            UserAction::MoreSessions => self.more_sessions(),
            UserAction::CloseSession(agent, session) => self.close_session(&agent, &session),
            UserAction::DeleteSession { agent, session, cwd } => {
                self.delete_session(agent, session, cwd);
            }
            UserAction::Prompt { chat, prompt } => self.prompt(chat, prompt),
            UserAction::Cancel(chat) => self.with_chat(chat, Self::cancel),
            UserAction::Stop(chat) => self.with_chat(chat, Self::stop),
            UserAction::Restart(chat) => self.with_chat(chat, Self::restart),
            UserAction::SetOption { chat, option, value } => {
                self.with_chat(chat, |state, id| state.set_option(id, &option, &value));
            }
            UserAction::Login { chat, method } => {
                self.with_chat(chat, |state, id| state.wants_login(id, method.as_deref()));
            }
            UserAction::LoginEnded { chat, status } => self.terminal_login_over(chat, status),
            UserAction::Logout(chat) => self.with_chat(chat, Self::logout),
            UserAction::TakeQueued { chat, index } => {
                self.with_chat(chat, |state, id| state.take_queued(id, index));
            }
            UserAction::ResumeQueue(chat) => self.with_chat(chat, Self::resume_queue),
            UserAction::Permission { chat, id, revision, choice } => {
                self.permission(chat, id, revision, choice);
            }
            UserAction::Elicitation { chat, id, choice } => self.elicitation(chat, id, choice),
            UserAction::ShowDiff { chat, id } => self.show_diff(chat, id),
            UserAction::ShowOutput { chat, tool_call } => {
                self.with_chat(chat, |state, id| state.show_output(id, &tool_call));
            }
            UserAction::ShowTerminal { chat, terminal, show } => {
                self.with_chat(chat, |state, id| state.show_terminal(id, terminal, show));
            }
            UserAction::Content { chat, id, act } => {
                self.with_chat(chat, |state, chat| state.content(chat, &id, act));
            }
            UserAction::ShowInfo(chat) => self.with_chat(chat, Self::show_info),
            UserAction::ShowTrace(chat) => self.with_chat(chat, Self::show_trace),
            UserAction::Answer { id, index } => self.question_answered(id, index),
            UserAction::Redraw(chat, view) => self.redraw(chat, view),
        }
    }

    /// Runs `action` on a chat, or tells the user that there is none.
    fn with_chat(&mut self, chat: Option<ChatId>, action: impl FnOnce(&mut Self, ChatId)) {
        match self.find_chat(chat) {
            Some(id) => action(self, id),
            None => self.notify(Level::Warn, "there is no chat: :RatStart begins one"),
        }
    }

    /// The chat meant; without one, the one used last.
    pub(super) fn find_chat(&self, chat: Option<ChatId>) -> Option<ChatId> {
        chat.or(self.current).filter(|id| self.chats.contains_key(id))
    }

    fn question_answered(&mut self, id: u64, index: Option<usize>) {
        let Some(question) = self.questions.remove(&id) else { return };
        match question {
            Question::Kill(chat, turn) => self.kill_answered(chat, turn, index),
            Question::Login(chat, methods) => self.login_answered(chat, &methods, index),
            Question::Outside { chat, file, folder, waiting } => {
                self.outside_answered(chat, (file, folder), &waiting, index);
            }
            Question::Dirty(_, token) => self.dirty_answered(token, index),
            Question::Unsaved(chat, _) => self.unsaved_answered(chat, index),
        }
    }

    /// Asks the user something.
    pub(super) fn ask(&mut self, question: Question, title: String, items: Vec<String>) {
        let id = self.next_id();
        let chat = question.chat();
        let by_user = matches!(question, Question::Unsaved(..));
        // What an agent waits for is not decided by a window that closes.
        let lasting = matches!(question, Question::Outside { .. } | Question::Dirty(..));
        self.questions.insert(id, question);
        self.after.push(ToEditor::Ask { id, chat, title, items, by_user, lasting });
    }

    /// Takes questions back that the user has not answered.
    pub(super) fn unask(&mut self, pointless: impl Fn(&Question) -> bool) {
        let after = &mut self.after;
        self.questions.retain(|id, question| {
            let keep = !pointless(question);
            after.extend((!keep).then_some(ToEditor::Unask(*id)));
            keep
        });
    }

    /// Counts anew for how many questions turns wait.
    pub(super) fn count_questions(&mut self) {
        for chat in self.chats.values_mut() {
            let holding = self.questions.values().filter(|it| it.holds_turn());
            let open = holding.filter(|it| it.chat() == chat.id).count();
            chat.changed |= open != chat.questions;
            chat.questions = open;
        }
    }

    /// A number not used before.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Tells the user one line.
    pub(super) fn notify(&mut self, level: Level, text: impl AsRef<str>) {
        let text = text.as_ref().lines().next().unwrap_or_default().to_owned();
        self.after.push(ToEditor::Notify(level, text));
    }

    /// Does something with an agent.
    pub(super) fn act(&mut self, agent: AgentId, action: ToAgent) {
        self.effects.push(Effect::Agent(AgentEffect { agent, action }));
    }

    /// Calls the chat's agent.
    pub(super) fn call(
        &mut self,
        id: ChatId,
        request: Call,
        expected: Expected,
        timeout: Option<Duration>,
    ) -> CallId {
        self.call_as(Owner::Chat(id), request, expected, timeout)
    }

    /// Calls an agent.
    pub(super) fn call_as(
        &mut self,
        owner: Owner,
        request: Call,
        expected: Expected,
        timeout: Option<Duration>,
    ) -> CallId {
        let call = CallId(self.next_id());
        let agent = match owner {
            Owner::Agent(agent) => Some(agent),
            Owner::Chat(id) => self.chats.get(&id).and_then(|chat| chat.agent),
        };
        if let Some(agent) = agent {
            self.calls.insert(call, (owner, expected));
            self.act(agent, ToAgent::Call { call, request, timeout });
        }
        call
    }

    /// Pays a debt: the only way an answer leaves.
    pub(super) fn pay(&mut self, token: Token, answer: Answer) {
        if let Some(debt) = self.debts.remove(&token) {
            self.act(debt.agent, ToAgent::Answer { token, answer });
        }
    }

    /// Pays a debt whose work may go on: a write cannot be called back.
    pub(super) fn answer_early(&mut self, token: Token, answer: Answer) {
        let asks = |question: &Question| match question {
            Question::Outside { waiting, .. } => waiting.contains(&token),
            Question::Dirty(_, of) => *of == token,
            _ => false,
        };
        let debt =
            self.debts.get(&token).filter(|debt| matches!(debt.file, Some(Effect::Write { .. })));
        if let Some(chat) = debt.map(|debt| debt.chat)
            && !self.questions.values().any(asks)
        {
            self.answered_early.insert(token, chat);
        }
        self.pay(token, answer);
    }

    /// Moves a chat to another phase.
    pub(super) fn enter(&mut self, id: ChatId, phase: Phase) {
        if let Some(chat) = self.chats.get_mut(&id) {
            let turn = chat.turn().is_some();
            chat.phase = phase;
            chat.activity = None;
            chat.changed = true;
            if turn != chat.turn().is_some() {
                self.watch();
            }
        }
        self.drop_early(id);
    }
}
