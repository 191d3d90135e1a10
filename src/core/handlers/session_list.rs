//! The list of sessions the user chooses from, and what is done with the chosen one. Sessions come from the store and
//! from agents.

use crate::core::calls::{CallOwner, ExpectedReply};
use crate::core::chat::SessionSettings;
use crate::core::connection::{AgentConnection, ConnectionStage};
use crate::core::messages::agent::{CallError, INVALID_PARAMS, Reply};
use crate::core::messages::call::Call;
use crate::core::messages::editor::{EditorMessage, Level, SessionItem};
use crate::core::messages::effect::{AgentCommand, Effect, StoreCommand};
use crate::core::messages::ids::AgentId;
use crate::core::messages::notice::Notice;
use crate::core::messages::user::SessionAction;
use crate::core::session_list::SessionList;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::{AgentCapabilities, Capability};
use crate::session::author::ChatId;
use crate::session::ids::{AgentName, SessionId};
use crate::session::saved::{SavedSession, StoreKey};
use crate::session::tool_call::ToolStatus;
use crate::session::transcript::Transcript;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

impl State {
    /// Lists the sessions of a folder: those in the store, and those of agents running there that support
    /// `session/list`.
    pub(in crate::core) fn list_sessions(&mut self, act: SessionAction, cwd: PathBuf) {
        self.effects.push(Effect::Store(StoreCommand::List(cwd.clone())));
        // Replies to an earlier list must not be added to this one.
        self.calls.retain(|_, (_, expected)| *expected != ExpectedReply::Sessions);
        let (listed, awaited, next) = (Vec::new(), Vec::new(), HashMap::new());
        let lists = |connection: &AgentConnection| {
            connection.stage == ConnectionStage::Ready
                && connection.cwd == cwd
                && connection.info.capabilities.has(Capability::List)
        };
        let agents = self.connections.iter().filter(|(_, connection)| lists(connection));
        let agents: Vec<AgentId> = agents.map(|(agent, _)| *agent).collect();
        let saved = None;
        self.session_list = Some(SessionList { act, cwd, saved, listed, awaited, next });
        for agent in agents {
            self.ask_for_page(agent, None);
        }
    }

    pub(in crate::core) fn more_sessions(&mut self) {
        let Some(list) = &mut self.session_list else { return };
        for (agent, cursor) in std::mem::take(&mut list.next) {
            self.ask_for_page(agent, Some(cursor));
        }
        self.show_session_list();
    }

    /// Stops waiting for the pages of an agent that has ended.
    pub(in crate::core) fn stop_awaiting_page(&mut self, agent: AgentId) {
        let Some(list) = &mut self.session_list else { return };
        let awaited = list.awaited.len();
        list.awaited.retain(|it| *it != agent);
        if list.awaited.len() < awaited {
            self.show_session_list();
        }
    }

    fn ask_for_page(&mut self, agent: AgentId, cursor: Option<String>) {
        let Some(list) = &mut self.session_list else { return };
        let Some(connection) = self.connections.get(&agent) else { return };
        list.awaited.push(agent);
        let timeout = connection.config.timeouts.request;
        let request = Call::List(list.cwd.clone(), cursor);
        self.call_for(CallOwner::Agent(agent), request, ExpectedReply::Sessions, timeout);
    }

    pub(in crate::core) fn saved_sessions(&mut self, cwd: &Path, sessions: Vec<SavedSession>) {
        if let Some(list) = self.session_list.as_mut().filter(|list| list.cwd == cwd) {
            list.saved = Some(sessions);
        }
        self.show_session_list();
    }

    /// Handles a page of an agent's sessions, or the error that took its place.
    pub(in crate::core) fn sessions_listed(
        &mut self,
        agent: AgentId,
        result: Result<Reply, CallError>,
    ) {
        let Some(name) =
            self.connections.get(&agent).map(|connection| connection.config.name.clone())
        else {
            return;
        };
        let Some(list) = &mut self.session_list else { return };
        list.awaited.retain(|it| *it != agent);
        match result {
            Ok(Reply::Sessions(sessions, next)) => {
                let known: Vec<_> = list.listed.iter().map(|(_, it)| it.id.clone()).collect();
                let new = sessions.into_iter().filter(|it| !known.contains(&it.id));
                list.listed.extend(new.map(|session| (name.clone(), session)));
                list.next.extend(next.map(|cursor| (agent, cursor)));
            }
            Ok(_) => {}
            Err(CallError::Rpc { code: INVALID_PARAMS, .. }) if !list.listed.is_empty() => {
                let text = format!("{name}: the session list is out of date.");
                self.notify(Level::Warn, Notice::from(text).advise("Run :RatSessions again."));
            }
            Err(error) => {
                let why = user_messages::reason(&error);
                self.notify(Level::Warn, format!("{name} could not list its sessions: {why}"));
            }
        }
        self.show_session_list();
    }

    /// Shows the list once every page has arrived.
    fn show_session_list(&mut self) {
        let Some(list) = &self.session_list else { return };
        let Some(saved) = &list.saved else { return };
        if !list.awaited.is_empty() {
            return;
        }
        let mut items: Vec<SessionItem> = Vec::new();
        for one in saved {
            items.push(SessionItem {
                agent: one.agent.clone(),
                id: one.id.clone(),
                title: one.title.clone(),
                used_at: Some(one.used_at),
                updated_at: None,
                chat: self.find_open(&one.key()),
                open_elsewhere: false,
            });
            if let Some(item) = items.last_mut() {
                item.open_elsewhere = one.open && item.chat.is_none();
            }
        }
        for (agent, one) in list.listed.iter().filter(|(_, one)| one.cwd == list.cwd) {
            let known = items.iter_mut().find(|it| it.id == one.id && it.agent == *agent);
            let item = SessionItem {
                agent: agent.clone(),
                id: one.id.clone(),
                title: one.title.clone(),
                used_at: None,
                updated_at: one.updated_at.clone(),
                chat: self.find_open(&list.key(agent, &one.id)),
                open_elsewhere: false,
            };
            match known {
                // The agent's data is more recent than ours.
                Some(known) => {
                    known.title = item.title.or(known.title.take());
                    known.updated_at = item.updated_at;
                }
                None => items.push(item),
            }
        }
        items.retain(|item| self.offers(list.act, item));
        let (act, cwd, more) = (list.act, list.cwd.clone(), !list.next.is_empty());
        self.after_draw.push(EditorMessage::Sessions { act, cwd, items, more });
    }

    /// Whether the action is possible for this session.
    fn offers(&self, act: SessionAction, item: &SessionItem) -> bool {
        match act {
            SessionAction::Open | SessionAction::Delete => true,
            SessionAction::Close => item.chat.is_some(),
            SessionAction::Fork => {
                self.can(&item.agent).is_none_or(|can| can.has(Capability::Fork))
            }
        }
    }

    /// Returns the capabilities of the running agent with this name; `None` if there is none.
    fn can(&self, agent: &AgentName) -> Option<AgentCapabilities> {
        let connection =
            self.connections.values().find(|connection| connection.config.name == *agent);
        connection
            .filter(|connection| connection.stage == ConnectionStage::Ready)
            .map(|connection| connection.info.capabilities)
    }

    pub(in crate::core) fn close_session(&mut self, agent: &AgentName, session: &SessionId) {
        let key = self.session_list.as_ref().map(|list| list.key(agent, session));
        match key.and_then(|key| self.find_open(&key)) {
            Some(id) => self.stop(id),
            None => self.notify(Level::Info, "That session is not open here"),
        }
    }

    /// Deletes a session here and, if a running agent supports it, with its agent. A chat that has it open starts a new
    /// one.
    pub(in crate::core) fn delete_session(
        &mut self,
        agent: AgentName,
        session: SessionId,
        cwd: PathBuf,
    ) {
        let key = StoreKey { cwd: cwd.clone(), agent: agent.clone(), id: session.clone() };
        let open = self.find_open(&key);
        let current = open.and_then(|id| self.connection_of(id).map(|(agent, _)| agent));
        let running = current.or_else(|| {
            let serves = |connection: &AgentConnection| {
                connection.config.name == agent
                    && connection.cwd == cwd
                    && connection.stage == ConnectionStage::Ready
            };
            self.connections
                .iter()
                .find(|(_, connection)| serves(connection))
                .map(|(agent, _)| *agent)
        });
        let found = running.and_then(|agent| Some((agent, self.connections.get(&agent)?)));
        let found = found
            .map(|(id, connection)| (id, connection.info.capabilities, connection.config.timeouts));
        if let Some((id, can, timeouts)) = found {
            if open.and_then(|id| self.chats.get(&id)?.turn()).is_some() {
                self.send_to_agent(id, AgentCommand::Cancel(session.clone()));
            }
            if open.is_some() && can.has(Capability::Close) {
                let close = Call::Close(session.clone());
                self.call_for(
                    CallOwner::Agent(id),
                    close,
                    ExpectedReply::Ignored,
                    timeouts.request,
                );
            }
            if can.has(Capability::Delete) {
                let delete = Call::Delete(session.clone());
                self.call_for(
                    CallOwner::Agent(id),
                    delete,
                    ExpectedReply::Deleted,
                    timeouts.request,
                );
            }
        }
        if !found.is_some_and(|(_, can, _)| can.has(Capability::Delete)) {
            let why = if found.is_some() { "cannot delete sessions" } else { "is not running" };
            let text = format!("Session removed here, but {agent} still has it: it {why}");
            self.notify(Level::Info, text);
        }
        self.effects.push(Effect::Store(StoreCommand::Forget(key)));
        if let Some(id) = open {
            self.reset_session(id);
        }
    }

    pub(in crate::core) fn delete_failed(&mut self, agent: AgentId, error: &CallError) {
        let Some(connection) = self.connections.get(&agent) else { return };
        let (name, why) = (connection.config.name.clone(), user_messages::reason(error));
        self.notify(Level::Error, format!("{name} could not delete the session: {why}"));
    }

    /// Resets a chat whose session was deleted, and opens a new session.
    fn reset_session(&mut self, id: ChatId) {
        self.settle_chat(id, ToolStatus::Cancelled);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.forget_past(&mut self.effects);
        chat.saving.rewrite = false;
        chat.usage = None;
        chat.settings = SessionSettings::default();
        chat.transcript = Transcript::default();
        chat.redraw_all();
        if chat.agent.is_some() {
            self.connection_ready(id);
        }
    }
}
