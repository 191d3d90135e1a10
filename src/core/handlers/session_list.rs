//! Sessions to choose from: those remembered and those agents know of; and what the user does with one.

use super::effect::{Call, Effect, Keeping, Level, SessionItem, ToAgent, ToEditor};
use super::event::agent::{CallError, INVALID_PARAMS, Reply};
use super::event::{AgentId, ChatId, SessionAct};
use super::link::{Link, Stage};
use super::state::{Expected, Owner, State};
use super::words;
use crate::session::agent::AgentCapabilities;
use crate::session::ids::{AgentName, SessionId};
use crate::session::remembered::{Listed, Remembered, StoreKey};
use crate::session::tool_call::ToolStatus;
use crate::session::transcript::Transcript;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The sessions of a folder, as they come in.
#[derive(Debug)]
pub(super) struct Listing {
    act: SessionAct,
    cwd: PathBuf,
    /// Not there yet while `None`.
    remembered: Option<Vec<Remembered>>,
    listed: Vec<(AgentName, Listed)>,
    /// Agents whose page has not come.
    awaited: Vec<AgentId>,
    /// Where the next pages begin (ACP session list: never kept for longer).
    next: HashMap<AgentId, String>,
}

impl Listing {
    /// By what one of its sessions is found again.
    fn key(&self, agent: &AgentName, id: &SessionId) -> StoreKey {
        StoreKey { cwd: self.cwd.clone(), agent: agent.clone(), id: id.clone() }
    }
}

impl State {
    /// Gathers the sessions of a folder: from what is remembered and from the agents that run there and can list.
    pub(super) fn list_sessions(&mut self, act: SessionAct, cwd: PathBuf) {
        self.effects.push(Effect::Keep(Keeping::List(cwd.clone())));
        // Pages of an older list are not of this one.
        self.calls.retain(|_, (_, expected)| *expected != Expected::Sessions);
        let (listed, awaited, next) = (Vec::new(), Vec::new(), HashMap::new());
        let lists = |link: &Link| {
            link.stage == Stage::Ready && link.cwd == cwd && link.info.capabilities.list
        };
        let agents = self.links.iter().filter(|(_, link)| lists(link));
        let agents: Vec<AgentId> = agents.map(|(agent, _)| *agent).collect();
        let remembered = None;
        self.listing = Some(Listing { act, cwd, remembered, listed, awaited, next });
        for agent in agents {
            self.ask_for_page(agent, None);
        }
    }

    pub(super) fn more_sessions(&mut self) {
        let Some(listing) = &mut self.listing else { return };
        for (agent, cursor) in std::mem::take(&mut listing.next) {
            self.ask_for_page(agent, Some(cursor));
        }
        self.show_listing();
    }

    /// An agent is gone: what it would have listed is not waited for.
    pub(super) fn list_without(&mut self, agent: AgentId) {
        let Some(listing) = &mut self.listing else { return };
        let awaited = listing.awaited.len();
        listing.awaited.retain(|it| *it != agent);
        if listing.awaited.len() < awaited {
            self.show_listing();
        }
    }

    fn ask_for_page(&mut self, agent: AgentId, cursor: Option<String>) {
        let Some(listing) = &mut self.listing else { return };
        let Some(link) = self.links.get(&agent) else { return };
        listing.awaited.push(agent);
        let timeout = link.config.timeouts.request;
        let request = Call::List(listing.cwd.clone(), cursor);
        self.call_as(Owner::Agent(agent), request, Expected::Sessions, timeout);
    }

    pub(super) fn remembered(&mut self, cwd: &Path, sessions: Vec<Remembered>) {
        if let Some(listing) = self.listing.as_mut().filter(|listing| listing.cwd == cwd) {
            listing.remembered = Some(sessions);
        }
        self.show_listing();
    }

    /// A page of an agent's sessions has come, or will not.
    pub(super) fn sessions_came(&mut self, agent: AgentId, result: Result<Reply, CallError>) {
        let Some(name) = self.links.get(&agent).map(|link| link.config.name.clone()) else {
            return;
        };
        let Some(listing) = &mut self.listing else { return };
        listing.awaited.retain(|it| *it != agent);
        match result {
            Ok(Reply::Sessions(sessions, next)) => {
                let known: Vec<_> = listing.listed.iter().map(|(_, it)| it.id.clone()).collect();
                let new = sessions.into_iter().filter(|it| !known.contains(&it.id));
                listing.listed.extend(new.map(|session| (name.clone(), session)));
                listing.next.extend(next.map(|cursor| (agent, cursor)));
            }
            Ok(_) => {}
            Err(CallError::Rpc { code: INVALID_PARAMS, .. }) if !listing.listed.is_empty() => {
                self.notify(
                    Level::Warn,
                    format!("{name} does not go on with its list: :RatSessions begins it anew"),
                );
            }
            Err(error) => {
                let why = words::reason(&error);
                self.notify(Level::Warn, format!("{name} does not list its sessions ({why})"));
            }
        }
        self.show_listing();
    }

    /// Shows what there is, once it is all there.
    fn show_listing(&mut self) {
        let Some(listing) = &self.listing else { return };
        let Some(remembered) = &listing.remembered else { return };
        if !listing.awaited.is_empty() {
            return;
        }
        let mut items: Vec<SessionItem> = Vec::new();
        for one in remembered {
            items.push(SessionItem {
                agent: one.agent.clone(),
                id: one.id.clone(),
                title: one.title.clone(),
                used_at: Some(one.used_at),
                updated_at: None,
                chat: self.open_as(&one.key()),
                open_elsewhere: false,
            });
            if let Some(item) = items.last_mut() {
                item.open_elsewhere = one.open && item.chat.is_none();
            }
        }
        for (agent, one) in listing.listed.iter().filter(|(_, one)| one.cwd == listing.cwd) {
            let known = items.iter_mut().find(|it| it.id == one.id && it.agent == *agent);
            let item = SessionItem {
                agent: agent.clone(),
                id: one.id.clone(),
                title: one.title.clone(),
                used_at: None,
                updated_at: one.updated_at.clone(),
                chat: self.open_as(&listing.key(agent, &one.id)),
                open_elsewhere: false,
            };
            match known {
                // What the agent says of it is newer than what was written down.
                Some(known) => {
                    known.title = item.title.or(known.title.take());
                    known.updated_at = item.updated_at;
                }
                None => items.push(item),
            }
        }
        items.retain(|item| self.offers(listing.act, item));
        let (act, cwd, more) = (listing.act, listing.cwd.clone(), !listing.next.is_empty());
        self.after.push(ToEditor::Sessions { act, cwd, items, more });
    }

    /// Whether that can be done with the session.
    fn offers(&self, act: SessionAct, item: &SessionItem) -> bool {
        match act {
            SessionAct::Open | SessionAct::Delete => true,
            SessionAct::Close => item.chat.is_some(),
            SessionAct::Fork => self.can(&item.agent).is_none_or(|can| can.fork),
        }
    }

    /// What the running agent of this name can do; `None` if there is none.
    fn can(&self, agent: &AgentName) -> Option<AgentCapabilities> {
        let link = self.links.values().find(|link| link.config.name == *agent);
        link.filter(|link| link.stage == Stage::Ready).map(|link| link.info.capabilities)
    }

    pub(super) fn close_session(&mut self, agent: &AgentName, session: &SessionId) {
        let key = self.listing.as_ref().map(|listing| listing.key(agent, session));
        match key.and_then(|key| self.open_as(&key)) {
            Some(id) => self.stop(id),
            None => self.notify(Level::Info, "that session is not open here"),
        }
    }

    /// Deletes a session with the agent, where one runs that can, and forgets it here. A chat that has it open gets a new
    /// one.
    pub(super) fn delete_session(&mut self, agent: AgentName, session: SessionId, cwd: PathBuf) {
        let key = StoreKey { cwd: cwd.clone(), agent: agent.clone(), id: session.clone() };
        let open = self.open_as(&key);
        let its = open.and_then(|id| self.link_of(id).map(|(agent, _)| agent));
        let running = its.or_else(|| {
            let fits = |link: &Link| {
                link.config.name == agent && link.cwd == cwd && link.stage == Stage::Ready
            };
            self.links.iter().find(|(_, link)| fits(link)).map(|(agent, _)| *agent)
        });
        let found = running.and_then(|agent| Some((agent, self.links.get(&agent)?)));
        let found = found.map(|(id, link)| (id, link.info.capabilities, link.config.timeouts));
        if let Some((id, can, timeouts)) = found {
            if open.and_then(|id| self.chats.get(&id)?.turn()).is_some() {
                self.act(id, ToAgent::Cancel(session.clone()));
            }
            if open.is_some() && can.close {
                let close = Call::Close(session.clone());
                self.call_as(Owner::Agent(id), close, Expected::Nothing, timeouts.request);
            }
            if can.delete {
                let delete = Call::Delete(session.clone());
                self.call_as(Owner::Agent(id), delete, Expected::Deleted, timeouts.request);
            }
        }
        if !found.is_some_and(|(_, can, _)| can.delete) {
            let why = if found.is_some() { "cannot delete sessions" } else { "is not running" };
            let text = format!("forgotten here; {agent} {why} and still has the session");
            self.notify(Level::Info, text);
        }
        self.effects.push(Effect::Keep(Keeping::Forget(key)));
        if let Some(id) = open {
            self.begin_anew(id);
        }
    }

    pub(super) fn not_deleted(&mut self, agent: AgentId, error: &CallError) {
        let Some(link) = self.links.get(&agent) else { return };
        let (name, why) = (link.config.name.clone(), words::reason(error));
        self.notify(Level::Error, format!("{name} did not delete the session ({why})"));
    }

    /// The chat's session is gone: it is as if it had just been started.
    fn begin_anew(&mut self, id: ChatId) {
        self.settle_all(id, ToolStatus::Cancelled);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.forget_past(&mut self.effects);
        (chat.live, chat.keep_anew) = (false, false);
        (chat.usage, chat.modes) = (None, None);
        chat.options.clear();
        chat.transcript = Transcript::default();
        chat.redraw();
        if chat.agent.is_some() {
            self.greeted(id);
        }
    }
}
