//! The lifecycle of agents and of the chats that use them: start, handshake, failure, stop and restart.

use crate::core::calls::{CallOwner, ExpectedReply};
use crate::core::chat::Replay;
use crate::core::chat::StartupStep;
use crate::core::chat::{Chat, Phase};
use crate::core::connection::{AgentConnection, ConnectionStage};
use crate::core::failures;
use crate::core::messages::agent::{CallError, Exit};
use crate::core::messages::call::Call;
use crate::core::messages::editor::{EditorMessage, Level, UserAutocmd};
use crate::core::messages::effect::{AgentCommand, Effect};
use crate::core::messages::failure::Failure;
use crate::core::messages::ids::AgentId;
use crate::core::messages::notice::Notice;
use crate::core::messages::policy::ChatPolicy;
use crate::core::messages::user::SessionTarget;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::{AgentConfig, AgentInfo, AuthKind, Capability};
use crate::session::author::ChatId;
use crate::session::entry::Entry;
use crate::session::fork::ForkPoint;
use crate::session::ids::SessionId;
use crate::session::tool_call::ToolStatus;
use crate::session::update::Severity;
use std::collections::HashSet;
use std::path::PathBuf;

impl State {
    pub(in crate::core) fn start(
        &mut self,
        config: AgentConfig,
        cwd: PathBuf,
        directories: Vec<PathBuf>,
        target: SessionTarget,
        focus: bool,
    ) -> ChatId {
        let fits = |chat: &&Chat| match &target {
            SessionTarget::Last | SessionTarget::Current => {
                // Not the conversation about a change in place.
                chat.config.name == config.name && chat.cwd == cwd && chat.edit.is_none()
            }
            // Agents may use the same id in another folder.
            SessionTarget::Existing(id) | SessionTarget::Only(id) => {
                chat.config.name == config.name
                    && chat.cwd == cwd
                    && chat.session.as_ref() == Some(id)
            }
            SessionTarget::New | SessionTarget::Fork(_) => false,
        };
        let current = self.current.and_then(|id| self.chats.get(&id)).filter(fits);
        let existing = current.or_else(|| self.chats.values().rev().find(fits));
        let existing = existing.map(|chat| chat.id);
        let new = || self.add_chat(config.clone(), cwd, directories, target.clone());
        let id = existing.unwrap_or_else(new);
        self.current = Some(id);
        self.announce(id, true, focus);
        if existing.is_none() {
            match target {
                SessionTarget::Last => self.find_last_session(id),
                SessionTarget::Existing(session)
                | SessionTarget::Only(session)
                | SessionTarget::Fork(ForkPoint { session, .. }) => {
                    self.load_transcript(id, session, false);
                }
                SessionTarget::Current | SessionTarget::New => {}
            }
        }
        if let Some(chat) = self.chats.get_mut(&id).filter(|chat| chat.agent.is_none()) {
            (chat.config, chat.renewed) = (config, None);
            self.connect(id);
        }
        id
    }

    /// Adds a chat that is not connected.
    pub(super) fn add_chat(
        &mut self,
        config: AgentConfig,
        cwd: PathBuf,
        directories: Vec<PathBuf>,
        target: SessionTarget,
    ) -> ChatId {
        self.last_chat += 1;
        let id = ChatId(self.last_chat);
        let mut chat = Chat::new(id, config, cwd, directories);
        chat.opening.target = target;
        self.chats.insert(id, chat);
        id
    }

    /// Reports the problems of the settings file, once for each state of the file.
    pub(in crate::core) fn report_settings_problems(&mut self, problems: Vec<String>) {
        if self.settings_problems != problems {
            let others = problems.len().saturating_sub(1);
            let more = if others > 0 {
                format!(" (and {others} more: :checkhealth rat)")
            } else {
                String::new()
            };
            if let Some(first) = problems.first() {
                self.notify(Level::Error, format!("{first}{more}"));
            }
            self.settings_problems = problems;
        }
    }

    /// Sets the options for files of a chat.
    pub(in crate::core) fn set_policy(&mut self, id: ChatId, policy: ChatPolicy) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.access.policy = policy;
            self.update_rules(id);
            self.judge_waiting(id);
            self.prepare_checkpoints(id);
        }
    }

    /// Tells the editor about a chat.
    pub(super) fn announce(&mut self, id: ChatId, show: bool, focus: bool) {
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.redraw.status = true;
            let (agent, title) = (chat.name().to_owned(), chat.agent_title());
            let (cwd, edit) = (chat.cwd.clone(), chat.edit);
            self.before_draw.push(EditorMessage::Chat {
                chat: id,
                agent,
                title,
                cwd,
                show,
                focus,
                edit,
            });
        }
    }

    /// Connects the chat to an agent: to a running one with the same configuration and folder, else to a new one.
    pub(in crate::core) fn connect(&mut self, id: ChatId) {
        let number = self.next_id();
        let others = self.chats.values().filter(|chat| chat.id != id);
        let taken: HashSet<AgentId> = others.filter_map(|chat| chat.agent).collect();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.config = chat.renewed.take().unwrap_or_else(|| chat.config.clone());
        let running = self.connections.iter().find(|(agent, connection)| {
            connection.serves(&chat.config, &chat.cwd)
                && !(connection.has_one_session() && taken.contains(agent))
        });
        let running = running.map(|(agent, connection)| (*agent, connection.stage));
        let (agent, stage) = running.unwrap_or_else(|| {
            let agent = AgentId(u32::try_from(number).unwrap_or(u32::MAX));
            self.connections
                .insert(agent, AgentConnection::new(chat.config.clone(), chat.cwd.clone()));
            (agent, ConnectionStage::Initializing)
        });
        chat.agent = Some(agent);
        chat.last_agent = Some(agent);
        chat.info = AgentInfo::default();
        let (config, cwd) = (Box::new(chat.config.clone()), chat.cwd.clone());
        let timeout = chat.config.timeouts.initialize;
        self.enter_phase(id, Phase::Starting(StartupStep::Initializing));
        if running.is_none() {
            self.send_to_agent(agent, AgentCommand::Start { config, cwd });
            self.follow_trace(id, false);
            self.call_for(
                CallOwner::Agent(agent),
                Call::Initialize,
                ExpectedReply::Initialize,
                timeout,
            );
        } else if stage != ConnectionStage::Initializing {
            self.connection_ready(id);
        }
    }

    /// The agent has answered `initialize`.
    pub(in crate::core) fn initialized(&mut self, agent: AgentId, info: AgentInfo) {
        let Some(connection) = self.connections.get_mut(&agent) else { return };
        connection.info = info;
        if connection.config.remote.is_some() {
            // The program to log in with is not here.
            for method in &mut connection.info.auth_methods {
                if matches!(method.kind, AuthKind::Terminal { .. }) {
                    method.kind = AuthKind::Unknown("terminal".to_owned());
                }
            }
        }
        connection.stage = ConnectionStage::Ready;
        let is_taken = connection.has_one_session();
        for (index, id) in self.chats_on(agent).into_iter().enumerate() {
            if is_taken && index > 0 {
                self.connect(id);
            } else {
                self.connection_ready(id);
            }
        }
    }

    /// The chat's agent is ready, so its session can be opened.
    pub(in crate::core) fn connection_ready(&mut self, id: ChatId) {
        let Some((_, connection)) = self.connection_of(id) else { return };
        let info = connection.info.clone();
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.info = info;
        if chat.transcript.entries().is_empty() {
            let release = chat.info.version.clone().unwrap_or_default();
            // The complete path would take several rows; `:RatInfo` shows it.
            let folder = chat.cwd.file_name().unwrap_or(chat.cwd.as_os_str()).to_string_lossy();
            let banner = format!("{} {release} in {folder}", chat.agent_title());
            chat.transcript.push(Entry::Banner(banner.replace("  ", " ")));
            if chat.config.disk.is_separate {
                let (severity, note) =
                    user_messages::separate_disk(&chat.agent_title(), chat.info.protocol);
                chat.transcript.note(severity, note, Vec::new());
            }
        }
        self.announce(id, false, false);
        self.open_session(id);
    }

    /// Returns the chats that use this agent, oldest first.
    pub(in crate::core) fn chats_on(&self, agent: AgentId) -> Vec<ChatId> {
        let on_agent = self.chats.values().filter(|chat| chat.agent == Some(agent));
        on_agent.map(|chat| chat.id).collect()
    }

    /// Returns the chat's agent, if it is running.
    pub(in crate::core) fn connection_of(
        &mut self,
        id: ChatId,
    ) -> Option<(AgentId, &mut AgentConnection)> {
        let agent = self.chats.get(&id)?.agent?;
        self.connections.get_mut(&agent).map(|connection| (agent, connection))
    }

    /// A step before the session was open has failed.
    pub(in crate::core) fn start_failed(&mut self, id: ChatId, step: &str, error: &CallError) {
        let Some(chat) = self.chats.get(&id) else { return };
        let why = user_messages::start(&chat.config, step, error);
        let failure = failures::of_call(why, error);
        self.fail(id, &failure);
        self.notify(Level::Error, failure.message);
    }

    /// The handshake has failed, so the agent cannot be used.
    pub(in crate::core) fn handshake_failed(
        &mut self,
        agent: AgentId,
        step: &str,
        error: &CallError,
    ) {
        let Some(connection) = self.connections.get(&agent) else { return };
        let why = user_messages::start(&connection.config, step, error);
        self.fail_connection(agent, &failures::of_call(why, error));
    }

    /// Ends the chat's use of its agent. The user is not notified.
    pub(in crate::core) fn fail(&mut self, id: ChatId, failure: &Failure) {
        self.detach(id, ToolStatus::Failed);
        self.enter_failed(id, failure);
    }

    fn fail_connection(&mut self, agent: AgentId, failure: &Failure) {
        let lost = self.sent_prompts(agent);
        for id in self.end_connection(agent, ToolStatus::Failed) {
            self.enter_failed(id, failure);
            self.give_prompt_back(id, &lost);
        }
        self.notify(Level::Error, failure.message.clone());
    }

    fn enter_failed(&mut self, id: ChatId, failure: &Failure) {
        let why = failure.message.to_string();
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.transcript.note(Severity::Error, why.clone(), user_messages::details(failure));
            chat.losses.given_up();
        }
        self.enter_phase(id, Phase::Failed(why));
        let told = UserAutocmd::Error(id, failure.clone());
        self.after_draw.push(EditorMessage::Autocommand(told));
    }

    pub(in crate::core) fn exited(&mut self, agent: AgentId, exit: &Exit) {
        let Some(connection) = self.connections.get(&agent) else { return };
        if let Some(after) = self.reconnects_after(agent, &exit.cause) {
            return self.reconnect(agent, exit, after);
        }
        let why = user_messages::ended(&connection.config, &exit.cause);
        self.fail_connection(agent, &failures::of_exit(why, exit));
    }

    /// Closes the chat's session. Stops the agent as well if no other chat uses it.
    pub(in crate::core) fn stop(&mut self, id: ChatId) {
        self.detach(id, ToolStatus::Cancelled);
        self.enter_stopped(id);
    }

    /// Stops the chat and forgets it, so that nothing of it takes memory. What it has changed stays in the review, and its
    /// session can be opened again.
    pub(in crate::core) fn close_chat(&mut self, id: ChatId) {
        self.stop(id);
        let Some(chat) = self.chats.remove(&id) else { return };
        self.current = self.chats.keys().last().copied();
        // As long as a decision can be taken back, its files are needed.
        self.effects.extend(self.current.is_none().then_some(Effect::ForgetDecisions));
        self.effects.extend(chat.key().map(Effect::Close));
        self.terminal_buffers.retain(|buffer| buffer.chat != id);
        self.drawn.remove(&id);
        self.after_draw.push(EditorMessage::Closed(id));
    }

    fn enter_stopped(&mut self, id: ChatId) {
        if let Some(chat) = self.chats.get_mut(&id) {
            self.effects.extend(chat.release_effect());
            let note = format!("Stopped. {}", user_messages::RESTART);
            chat.transcript.note(Severity::Info, note, Vec::new());
            chat.losses.given_up();
        }
        self.enter_phase(id, Phase::Stopped);
    }

    /// Stops an agent that does not react to a cancel, whoever uses it.
    pub(in crate::core) fn kill(&mut self, id: ChatId) {
        let Some((agent, _)) = self.connection_of(id) else { return };
        let others =
            self.end_connection(agent, ToolStatus::Cancelled).into_iter().filter(|it| *it != id);
        for other in others {
            let name =
                self.chats.get(&other).map(|chat| chat.name().to_owned()).unwrap_or_default();
            let why = Notice::from(format!("{name} was stopped from another chat."));
            self.enter_failed(other, &failures::of_ours(why.advise(user_messages::RESTART)));
        }
        self.enter_stopped(id);
    }

    /// Handles `:RatRestart`: with turns of other chats on the same agent, only `force` restarts it.
    pub(in crate::core) fn restart_requested(&mut self, id: ChatId, force: bool) {
        let Some(chat) = self.chats.get(&id) else { return };
        let others = chat.agent.map(|agent| self.chats_on(agent)).unwrap_or_default();
        let is_busy = |other: &ChatId| {
            let turn = self.chats.get(other).and_then(Chat::turn);
            *other != id && turn.is_some_and(|turn| !turn.is_unsent() && !turn.cancelled)
        };
        match others.into_iter().filter(is_busy).count() {
            busy if busy > 0 && !force => {
                let notice = user_messages::busy_elsewhere(&chat.agent_title(), busy);
                self.notify(Level::Warn, notice);
            }
            _ => self.restart(id),
        }
    }

    /// Stops the agent and starts it again, for all chats that use it.
    pub(in crate::core) fn restart(&mut self, id: ChatId) {
        let agent = self.chats.get(&id).and_then(|chat| chat.agent);
        let chats = agent
            .map_or_else(|| vec![id], |agent| self.end_connection(agent, ToolStatus::Cancelled));
        for id in chats {
            self.connect(id);
        }
    }

    /// Settles everything that waits for this agent, stops it, and returns the chats that used it.
    pub(super) fn end_connection(&mut self, agent: AgentId, tools: ToolStatus) -> Vec<ChatId> {
        if let Some(connection) = self.connections.get_mut(&agent) {
            connection.stage = ConnectionStage::Closed;
        }
        let chats = self.chats_on(agent);
        for id in &chats {
            self.detach(*id, tools);
        }
        chats
    }

    /// Settles everything between the chat and its agent, and disconnects them. Queued prompts stay in the queue.
    pub(in crate::core) fn detach(&mut self, id: ChatId, tools: ToolStatus) {
        self.settle_chat(id, tools);
        let turn = self.chats.get(&id).and_then(Chat::turn);
        let is_busy = turn.is_some_and(|turn| !turn.is_unsent() && !turn.cancelled);
        self.save(id);
        self.leave_connection(id, is_busy);
    }

    /// Answers every request, question and call that waits in this chat.
    pub(in crate::core) fn settle_chat(&mut self, id: ChatId, tools: ToolStatus) {
        self.stop_placing(id);
        self.cancel_permissions(id);
        self.cancel_all_elicitations(id);
        self.report_turn_end(id, false);
        self.withdraw_calls(id);
        self.accept_held(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.replay = Replay::None;
        if let Phase::Running(turn) = &mut chat.phase
            && turn.is_unsent()
        {
            // It was not sent, so it is sent first once there is an agent again.
            chat.queue.push_ahead(turn.prompt.clone());
            turn.prompt.in_place = None;
        }
        self.cut_calls_off(id, tools);
        self.end_terminals(id);
        let unanswered = self.requests.iter().filter(|(_, request)| request.chat == id);
        let unanswered: Vec<_> = unanswered.map(|(token, _)| *token).collect();
        for token in unanswered {
            self.respond_early(token, super::files::ended());
        }
        self.end_tool_calls(id);
        self.withdraw_questions(|question| question.chat() == id);
        self.count_questions();
        self.cut_turn_off(id, tools);
    }

    /// The turn of a chat ends with its agent. What it has changed so far can be undone like any turn.
    fn cut_turn_off(&mut self, id: ChatId, tools: ToolStatus) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let Some(turn) = chat.turn().cloned() else { return };
        if !turn.is_unsent() {
            // What is queued may build on what this turn did not finish.
            chat.queue.pause();
            if tools == ToolStatus::Cancelled {
                chat.transcript.note(Severity::Info, "Cancelled", Vec::new());
            }
            self.follow_disk(id, None, Vec::new(), true);
        }
        self.keep_turn(id, Some(turn));
        let why = if tools == ToolStatus::Failed { "error" } else { "cancelled" };
        self.tell_turn_end(id, why, false);
    }

    /// Withdraws the chat's calls, since nobody waits for the replies any more. A prompt is not withdrawn: its turn is
    /// cancelled instead.
    fn withdraw_calls(&mut self, id: ChatId) {
        let agent = self
            .connection_of(id)
            .filter(|(_, connection)| connection.stage != ConnectionStage::Closed);
        let agent = agent.map(|(agent, _)| agent);
        let calls = self.calls.extract_if(|_, (owner, _)| *owner == CallOwner::Chat(id));
        let mut calls: Vec<_> = calls.map(|(call, (_, expected))| (call, expected)).collect();
        calls.sort_unstable_by_key(|(call, _)| *call);
        for (call, expected) in calls {
            let Some(agent) = agent.filter(|_| expected != ExpectedReply::Turn) else { continue };
            self.send_to_agent(agent, AgentCommand::Withdraw(call));
            if matches!(expected, ExpectedReply::NewSession | ExpectedReply::Fork) {
                self.calls.insert(call, (CallOwner::Agent(agent), ExpectedReply::UnwantedSession));
            }
        }
    }

    /// Closes a session that was opened for a chat which no longer wants it.
    pub(in crate::core) fn close_unwanted_session(&mut self, agent: AgentId, session: SessionId) {
        let Some(connection) = self
            .connections
            .get(&agent)
            .filter(|connection| connection.info.capabilities.has(Capability::Close))
        else {
            return;
        };
        let (owner, timeout) = (CallOwner::Agent(agent), connection.config.timeouts.request);
        self.call_for(owner, Call::Close(session), ExpectedReply::Ignored, timeout);
    }

    /// Disconnects the chat from its agent. The agent is stopped if no other chat uses it; otherwise only the session
    /// is closed (ACP session close).
    fn leave_connection(&mut self, id: ChatId, is_busy: bool) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let (has_session, needed_login) = (chat.phase.has_session(), chat.phase.needs_login());
        let session = chat.session.clone().filter(|_| has_session);
        let Some(agent) = chat.agent.take() else { return };
        let (closes, timeout) =
            (chat.info.capabilities.has(Capability::Close), chat.config.timeouts.request);
        self.leave_tools(id, agent);
        if self.chats_on(agent).is_empty() {
            self.calls.retain(|_, (owner, _)| *owner != CallOwner::Agent(agent));
            self.connections.remove(&agent);
            self.send_to_agent(agent, AgentCommand::Stop);
            return self.stop_awaiting_page(agent);
        }
        let Some(connection) = self
            .connections
            .get(&agent)
            .filter(|connection| connection.stage != ConnectionStage::Closed)
        else {
            return;
        };
        let was_logging_in = connection.stage == ConnectionStage::Authenticating(id);
        if let Some(session) = session {
            if is_busy {
                self.send_to_agent(agent, AgentCommand::Cancel(session.clone()));
            }
            if closes {
                let owner = CallOwner::Agent(agent);
                self.call_for(owner, Call::Close(session), ExpectedReply::Ignored, timeout);
            }
        }
        if needed_login && was_logging_in {
            self.hand_over_login(agent);
        }
    }
}
