//! The life of an agent and of the chats on it: started, introduced, ended, explained.

use super::chat::{Chat, Phase};
use super::effect::{Call, Happened, Level, ToAgent, ToEditor};
use super::event::agent::{CallError, Exit, ExitCause};
use super::event::{AgentId, ChatId, Wish};
use super::link::{Link, Stage};
use super::policy::Policy;
use super::state::{Expected, Owner, State};
use super::words;
use crate::session::agent::{AgentConfig, AgentInfo};
use crate::session::ids::SessionId;
use crate::session::tool_call::ToolStatus;
use crate::session::transcript::Entry;
use crate::session::update::Severity;
use std::path::PathBuf;

impl State {
    pub(super) fn start(
        &mut self,
        config: AgentConfig,
        cwd: PathBuf,
        directories: Vec<PathBuf>,
        wish: Wish,
        focus: bool,
    ) {
        let fits = |chat: &&Chat| match &wish {
            Wish::Last | Wish::Open => chat.config.name == config.name && chat.cwd == cwd,
            Wish::Session(id) => {
                chat.config.name == config.name && chat.session.as_ref() == Some(id)
            }
            Wish::New | Wish::Fork(_) => false,
        };
        let current = self.current.and_then(|id| self.chats.get(&id)).filter(fits);
        let existing = current.or_else(|| self.chats.values().rev().find(fits));
        let existing = existing.map(|chat| chat.id);
        let id = existing.unwrap_or_else(|| {
            let number = self.chats.keys().last().map_or(1, |last| last.0 + 1);
            let id = ChatId(number);
            let mut chat = Chat::new(id, config.clone(), cwd, directories);
            chat.wish = wish.clone();
            self.chats.insert(id, chat);
            id
        });
        self.current = Some(id);
        self.introduce(id, true, focus);
        if existing.is_none() {
            match wish {
                Wish::Last => self.recall_last(id),
                Wish::Session(session) | Wish::Fork(session) => self.reread(id, session, false),
                Wish::Open | Wish::New => {}
            }
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.agent.is_none() {
            chat.config = config;
            // What waited stays where it is, but what is written now need not.
            chat.queue_paused &= !chat.queue.is_empty();
            self.launch(id);
        }
    }

    /// The options as they were when the agent was last asked for count.
    pub(super) fn set_policy(&mut self, policy: Policy) {
        if let Some(chat) = self.current.and_then(|id| self.chats.get_mut(&id)) {
            chat.policy = policy;
        }
    }

    /// Tells the editor that the chat is there.
    fn introduce(&mut self, id: ChatId, show: bool, focus: bool) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.changed = true;
            let (agent, title) = (chat.name().to_owned(), chat.agent_title());
            let cwd = chat.cwd.clone();
            self.before.push(ToEditor::Chat { chat: id, agent, title, cwd, show, focus });
        }
    }

    /// Puts the chat on its agent: on the one that runs there already, else on one that is started now.
    pub(super) fn launch(&mut self, id: ChatId) {
        let number = self.next_id();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let running = self.links.iter().find(|(_, link)| link.serves(&chat.config, &chat.cwd));
        let running = running.map(|(agent, link)| (*agent, link.stage));
        let (agent, stage) = running.unwrap_or_else(|| {
            let agent = AgentId(u32::try_from(number).unwrap_or(u32::MAX));
            self.links.insert(agent, Link::new(chat.config.clone(), chat.cwd.clone()));
            (agent, Stage::Greeting)
        });
        chat.agent = Some(agent);
        chat.last_agent = Some(agent);
        chat.info = AgentInfo::default();
        chat.live = false;
        let (config, cwd) = (Box::new(chat.config.clone()), chat.cwd.clone());
        let timeout = chat.config.timeouts.initialize;
        self.enter(id, Phase::Starting("starting"));
        if running.is_none() {
            self.act(agent, ToAgent::Start { config, cwd });
            self.call_as(Owner::Agent(agent), Call::Initialize, Expected::Initialize, timeout);
        } else if stage != Stage::Greeting {
            self.greeted(id);
        }
    }

    /// The agent has said what it can do.
    pub(super) fn initialized(&mut self, agent: AgentId, info: AgentInfo) {
        let Some(link) = self.links.get_mut(&agent) else { return };
        let version = info.protocol_version;
        link.info = info;
        link.stage = Stage::Ready;
        if version != words::PROTOCOL_VERSION {
            let why = words::version(&link.config, version);
            return self.give_up_all(agent, &why, &[]);
        }
        for id in self.chats_on(agent) {
            self.greeted(id);
        }
    }

    /// The chat's agent is known: it can have its session.
    pub(super) fn greeted(&mut self, id: ChatId) {
        let Some((_, link)) = self.link_of(id) else { return };
        let info = link.info.clone();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.info = info;
        if chat.transcript.entries().is_empty() {
            let release = chat.info.version.clone().unwrap_or_default();
            // The whole path is for `:RatInfo`: here it would take rows.
            let folder = chat.cwd.file_name().unwrap_or(chat.cwd.as_os_str()).to_string_lossy();
            let banner = format!("{} {release} in {folder}", chat.agent_title());
            chat.transcript.push(Entry::Banner(banner.replace("  ", " ")));
        }
        self.introduce(id, false, false);
        self.open_session(id);
    }

    /// The chats whose agent this is, oldest first.
    pub(super) fn chats_on(&self, agent: AgentId) -> Vec<ChatId> {
        let on_it = self.chats.values().filter(|chat| chat.agent == Some(agent));
        on_it.map(|chat| chat.id).collect()
    }

    /// The chat's agent, while there is one.
    pub(super) fn link_of(&mut self, id: ChatId) -> Option<(AgentId, &mut Link)> {
        let agent = self.chats.get(&id)?.agent?;
        self.links.get_mut(&agent).map(|link| (agent, link))
    }

    /// A step before the chat has its session failed.
    pub(super) fn start_failed(&mut self, id: ChatId, step: &str, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let why = words::start(&chat.config, step, error);
        self.give_up(id, why, words::data(error));
    }

    /// The agent cannot be used at all.
    pub(super) fn handshake_failed(&mut self, agent: AgentId, step: &str, error: &CallError) {
        let Some(link) = self.links.get(&agent) else { return };
        let why = words::start(&link.config, step, error);
        self.give_up_all(agent, &why, &words::data(error));
    }

    /// Ends the agent, if nobody else uses it, and says why.
    fn give_up(&mut self, id: ChatId, why: String, details: Vec<String>) {
        self.fail(id, &why, details);
        self.notify(Level::Error, why);
    }

    /// The same, for whoever tells the user.
    pub(super) fn fail(&mut self, id: ChatId, why: &str, details: Vec<String>) {
        self.let_go(id, ToolStatus::Failed);
        self.failed(id, why, details);
    }

    fn give_up_all(&mut self, agent: AgentId, why: &str, details: &[String]) {
        for id in self.end_link(agent, ToolStatus::Failed) {
            self.failed(id, why, details.to_vec());
        }
        self.notify(Level::Error, why);
    }

    fn failed(&mut self, id: ChatId, why: &str, details: Vec<String>) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.note(Severity::Error, why, details);
            chat.queue_paused = true;
        }
        self.enter(id, Phase::Failed(why.to_owned()));
        self.after.push(ToEditor::Autocommand(Happened::Error(id, why.to_owned())));
    }

    pub(super) fn exited(&mut self, agent: AgentId, exit: &Exit) {
        let Some(link) = self.links.get(&agent) else { return };
        let why = words::exit(&link.config, exit);
        let mut details = exit.stderr.clone();
        if matches!(exit.cause, ExitCause::NotStarted { .. }) {
            details.clear();
        } else if !exit.messages.is_empty() {
            details.push(format!("before: {} · :RatTrace", exit.messages.join(" · ")));
        }
        self.give_up_all(agent, &why, &details);
    }

    /// Ends the chat's session, and its agent with it if no other chat uses that.
    pub(super) fn stop(&mut self, id: ChatId) {
        self.let_go(id, ToolStatus::Cancelled);
        if let Some(chat) = self.chats.get_mut(&id) {
            self.effects.extend(chat.release());
            chat.transcript.note(Severity::Info, "stopped: :RatRestart goes on", Vec::new());
            chat.queue_paused = true;
        }
        self.enter(id, Phase::Stopped);
    }

    /// Ends the agent that does not stop, whoever uses it.
    pub(super) fn kill(&mut self, id: ChatId) {
        let Some((agent, _)) = self.link_of(id) else { return };
        let others = self.end_link(agent, ToolStatus::Cancelled).into_iter().filter(|it| *it != id);
        for other in others {
            let name =
                self.chats.get(&other).map(|chat| chat.name().to_owned()).unwrap_or_default();
            let why = format!(
                "{name} was ended from another chat: the next prompt or :RatRestart starts it again"
            );
            self.failed(other, &why, Vec::new());
        }
        self.stop(id);
    }

    /// Ends the agent and starts it again, for all chats that use it.
    pub(super) fn restart(&mut self, id: ChatId) {
        let agent = self.chats.get(&id).and_then(|chat| chat.agent);
        let chats =
            agent.map_or_else(|| vec![id], |agent| self.end_link(agent, ToolStatus::Cancelled));
        for id in chats {
            if let Some(chat) = self.chats.get_mut(&id) {
                chat.queue_paused = false;
            }
            self.launch(id);
        }
    }

    /// Settles all that hangs on an agent and ends it. Gives the chats that used it.
    fn end_link(&mut self, agent: AgentId, tools: ToolStatus) -> Vec<ChatId> {
        if let Some(link) = self.links.get_mut(&agent) {
            link.stage = Stage::Gone;
        }
        let chats = self.chats_on(agent);
        for id in &chats {
            self.let_go(*id, tools);
        }
        chats
    }

    /// Settles all that hangs between the chat and its agent, and leaves it. What the user wrote stays.
    pub(super) fn let_go(&mut self, id: ChatId, tools: ToolStatus) {
        self.settle_all(id, tools);
        let turn = self.chats.get(&id).and_then(Chat::turn);
        let is_busy = turn.is_some_and(|turn| !turn.is_unsent() && !turn.cancelled);
        self.keep(id);
        self.leave(id, is_busy);
    }

    /// Settles all that waits in a chat, whoever it waits for.
    pub(super) fn settle_all(&mut self, id: ChatId, tools: ToolStatus) {
        self.settle_permissions(id);
        self.settle_elicitations(id);
        self.over(id, false);
        self.give_up_calls(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.replay = None;
        chat.reloaded = false;
        if let Phase::Running(turn) = &chat.phase
            && turn.is_unsent()
        {
            // It has not gone out, so it is the first to go when there is an agent again.
            chat.queue.push_front(turn.prompt.clone());
        }
        chat.transcript.settle_tools(tools);
        self.end_terminals(id);
        let unpaid = self.debts.iter().filter(|(_, debt)| debt.chat == id);
        let unpaid: Vec<_> = unpaid.map(|(token, _)| *token).collect();
        for token in unpaid {
            self.answer_early(token, super::documents::ended());
        }
        self.unask(|question| question.chat() == id);
        self.count_questions();
        if self.chats.get(&id).and_then(Chat::turn).is_some() {
            let why = if tools == ToolStatus::Failed { "error" } else { "cancelled" };
            self.after.push(ToEditor::Autocommand(Happened::TurnEnd(id, why.to_owned())));
        }
    }

    /// Nobody waits for the answers to the chat's calls any more. The agent is told, but for a prompt, whose turn is
    /// cancelled in its own way.
    fn give_up_calls(&mut self, id: ChatId) {
        let agent = self.link_of(id).filter(|(_, link)| link.stage != Stage::Gone);
        let agent = agent.map(|(agent, _)| agent);
        let its = self.calls.extract_if(|_, (owner, _)| *owner == Owner::Chat(id));
        let mut its: Vec<_> = its.map(|(call, (_, expected))| (call, expected)).collect();
        its.sort_unstable_by_key(|(call, _)| *call);
        for (call, expected) in its {
            let Some(agent) = agent.filter(|_| expected != Expected::Turn) else { continue };
            self.act(agent, ToAgent::Withdraw(call));
            if matches!(expected, Expected::NewSession | Expected::Fork) {
                self.calls.insert(call, (Owner::Agent(agent), Expected::Unwanted));
            }
        }
    }

    /// A session has begun that nobody waits for.
    pub(super) fn close_unwanted(&mut self, agent: AgentId, session: SessionId) {
        let Some(link) = self.links.get(&agent).filter(|link| link.info.capabilities.close) else {
            return;
        };
        let timeout = link.config.timeouts.request;
        self.call_as(Owner::Agent(agent), Call::Close(session), Expected::Nothing, timeout);
    }

    /// Takes the chat off its agent, which ends if it was the last; else only the session is closed (ACP session close).
    fn leave(&mut self, id: ChatId, is_busy: bool) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let (live, wanted_login) = (std::mem::take(&mut chat.live), chat.wants_login);
        chat.wants_login = false;
        let session = chat.session.clone().filter(|_| live);
        let Some(agent) = chat.agent.take() else { return };
        let (closes, timeout) = (chat.info.capabilities.close, chat.config.timeouts.request);
        if self.chats_on(agent).is_empty() {
            self.calls.retain(|_, (owner, _)| *owner != Owner::Agent(agent));
            self.links.remove(&agent);
            self.act(agent, ToAgent::Stop);
            return self.list_without(agent);
        }
        let Some(link) = self.links.get(&agent).filter(|link| link.stage != Stage::Gone) else {
            return;
        };
        let logged_in_for_us = link.stage == Stage::LoggingIn(id);
        if let Some(session) = session {
            if is_busy {
                self.act(agent, ToAgent::Cancel(session.clone()));
            }
            if closes {
                let owner = Owner::Agent(agent);
                self.call_as(owner, Call::Close(session), Expected::Nothing, timeout);
            }
        }
        if wanted_login && logged_in_for_us {
            self.pass_login_on(agent);
        }
    }
}
