//! Sessions of an agent (ACP session set-up): begun, loaded, resumed.

use super::chat::{Chat, Phase};
use super::effect::{Call, Effect, Keeping, Place, View};
use super::event::agent::{CallError, NOT_FOUND, SessionSetup};
use super::event::{ChatId, Wish};
use super::state::{Expected, State};
use super::{login, words};
use crate::session::agent::{AgentCapabilities, McpServer};
use crate::session::ids::SessionId;
use crate::session::transcript::Transcript;
use crate::session::update::Severity;

impl State {
    /// Gets the chat the session it wants, as far as the agent can; else a new one.
    pub(super) fn open_session(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.awaits_store {
            return self.enter(id, Phase::Starting("looking for the session"));
        }
        let can = chat.info.capabilities;
        let (last, can_go_on) = (chat.last.take(), can.resume || can.load);
        match (std::mem::replace(&mut chat.wish, Wish::New), last) {
            (Wish::Session(session), _) => chat.session = Some(session),
            (Wish::Last, Some(last)) if can_go_on => chat.session = Some(last),
            (Wish::Last, last) => {
                let elsewhere = std::mem::take(&mut chat.last_is_elsewhere);
                chat.session = last;
                self.effects.extend(chat.release());
                chat.forget_past(&mut self.effects);
                if elsewhere {
                    let note = "another Neovim has your last session open: a new one begins";
                    chat.transcript.note(Severity::Info, note, Vec::new());
                }
            }
            (Wish::Fork(session), _) if can.fork => {
                // It stays wanted until it is there: a login may come first.
                chat.wish = Wish::Fork(session.clone());
                return self.open_with(id, |place| Call::Fork(session, place), Expected::Fork);
            }
            (Wish::Fork(_), _) => {
                chat.forget_past(&mut self.effects);
                let title =
                    format!("{} cannot fork a session: a new one begins", chat.agent_title());
                chat.transcript.note(Severity::Warning, title, Vec::new());
            }
            (Wish::New | Wish::Open, _) => {}
        }
        match chat.session.clone() {
            Some(session) if can_go_on => self.go_on(id, session),
            Some(_) => {
                self.effects.extend(chat.release());
                chat.forget_past(&mut self.effects);
                let title = format!(
                    "{} cannot go on with a session: a new one begins, what was said before is not known to it",
                    chat.agent_title()
                );
                chat.transcript.note(Severity::Warning, title, Vec::new());
                self.begin(id);
            }
            None => self.begin(id),
        }
    }

    fn begin(&mut self, id: ChatId) {
        if let Some(chat) = self.chats.get_mut(&id) {
            // What was said in another session stands above it.
            chat.keep_anew = true;
        }
        self.open_with(id, Call::NewSession, Expected::NewSession);
    }

    /// Goes on with a session. Loading brings what was said with it (ACP session load); resuming is quicker, where we know
    /// that from before.
    fn go_on(&mut self, id: ChatId, session: SessionId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let can = chat.info.capabilities;
        let past = std::mem::take(&mut chat.past);
        if !past.is_empty() {
            chat.transcript = Transcript::restore(past);
            chat.redraw();
        }
        let is_known = chat.transcript.opening().is_some();
        if can.resume && (is_known || !can.load) {
            self.open_with(id, |place| Call::Resume(session, place), Expected::Resume);
        } else {
            chat.replay = Some(Transcript::default());
            self.open_with(id, |place| Call::Load(session, place), Expected::Load);
        }
    }

    /// A session has begun where another one is now: what was said in that one is its past.
    fn forked(&mut self, id: ChatId, session: &SessionId) {
        let Some(chat) = self.chats.get(&id) else { return };
        let source =
            self.open_as(&chat.store_key(session.clone())).and_then(|id| self.chats.get(&id));
        let said = source.map(|source| source.transcript.entries().to_vec());
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let past = said.unwrap_or_else(|| std::mem::take(&mut chat.past));
        if !past.is_empty() {
            chat.transcript = Transcript::restore(past);
            chat.redraw();
        }
        chat.keep_anew = true;
        chat.transcript.note(Severity::Info, "a fork of the session begins here", Vec::new());
    }

    fn open_with(&mut self, id: ChatId, call: impl FnOnce(Place) -> Call, expected: Expected) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (place, timeout) = (place_of(chat), chat.config.timeouts.session);
        self.enter(id, Phase::Starting("opening a session"));
        self.call(id, call(place), expected, timeout);
    }

    pub(super) fn opened(&mut self, id: ChatId, session: &SessionId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if let Wish::Fork(source) = std::mem::replace(&mut chat.wish, Wish::New) {
            self.forked(id, &source);
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.transcript.begin_session();
        chat.redraw_view(View::Tools);
        // It may have the name of the one before.
        self.effects.extend(chat.key().map(Effect::Forget));
        chat.session = Some(session.clone());
        set_up(chat, setup);
        tell_place(chat);
        self.tell_options(id);
        let waits = self.set_defaults(id);
        let early = self.link_of(id).map(|(_, link)| link.take_early(session));
        self.enter(id, if waits { Phase::Starting("setting its options") } else { Phase::Ready });
        for update in early.unwrap_or_default() {
            self.update(id, update);
        }
        self.pump(id);
    }

    pub(super) fn restored(&mut self, id: ChatId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        set_up(chat, setup);
        chat.unset = 0;
        let note = match chat.replay.take() {
            // What the agent remembers is what counts; it may go on telling after the answer.
            Some(replay) if !replay.entries().is_empty() => {
                chat.transcript = replay;
                chat.keep_anew = true;
                chat.redraw();
                "the session was loaded again"
            }
            // It may begin to tell after the answer, or never.
            Some(_) => {
                chat.reloaded = true;
                "the session was loaded again"
            }
            None => "the session goes on: :RatStart! begins a new one",
        };
        chat.transcript.note(Severity::Info, note, Vec::new());
        self.tell_options(id);
        self.enter(id, Phase::Ready);
        self.keep(id);
        self.pump(id);
    }

    pub(super) fn not_restored(&mut self, id: ChatId, error: &CallError) {
        if login::is_wanted(error) {
            return self.login(id);
        }
        // What was asked on the way belongs to a session that there is not.
        self.settle_permissions(id);
        self.settle_elicitations(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.replay = None;
        chat.title = None;
        self.effects.extend(chat.key().map(Effect::Forget));
        if let Some(session) = chat.session.take() {
            let key = chat.store_key(session);
            self.effects.push(Effect::Keep(if is_unknown(error) {
                Keeping::Forget(key)
            } else {
                Keeping::Release(key)
            }));
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let title = format!(
            "the session could not be restored ({}): a new one begins, what was said before is not known to it",
            words::reason(error)
        );
        chat.transcript.note(Severity::Warning, title, Vec::new());
        self.open_session(id);
    }

    pub(super) fn session_refused(&mut self, id: ChatId, step: &str, error: &CallError) {
        if login::is_wanted(error) {
            self.login(id);
        } else {
            self.start_failed(id, step, error);
        }
    }
}

/// Whether the agent says that there is no such session.
fn is_unknown(error: &CallError) -> bool {
    matches!(error, CallError::Rpc { code: NOT_FOUND, .. })
}

fn set_up(chat: &mut Chat, setup: SessionSetup) {
    chat.live = true;
    chat.modes = setup.modes;
    chat.options = setup.options;
}

/// Where the session works, as far as the agent can take it (ACP session setup).
fn place_of(chat: &Chat) -> Place {
    let takes = chat.info.capabilities;
    let servers = chat.config.mcp_servers.iter().filter(|server| is_taken(server, takes));
    Place {
        cwd: chat.cwd.clone(),
        directories: if takes.directories { chat.directories.clone() } else { Vec::new() },
        mcp_servers: servers.cloned().collect(),
    }
}

/// Whether the agent can reach a server of that kind.
fn is_taken(server: &McpServer, takes: AgentCapabilities) -> bool {
    match server {
        McpServer::Stdio { .. } => true,
        McpServer::Http { .. } => takes.mcp_http,
        McpServer::Sse { .. } => takes.mcp_sse,
    }
}

/// Tells which servers and folders the session has, and which it has not because the agent cannot use them.
fn tell_place(chat: &mut Chat) {
    let takes = chat.info.capabilities;
    let names = |taken: bool| {
        let servers = chat.config.mcp_servers.iter();
        let names = servers.filter(|server| is_taken(server, takes) == taken);
        names.map(McpServer::name).collect::<Vec<_>>().join(", ")
    };
    let (used, left_out, title) = (names(true), names(false), chat.agent_title());
    if !used.is_empty() {
        chat.transcript.note(Severity::Info, format!("MCP servers: {used}"), Vec::new());
    }
    if !left_out.is_empty() {
        let text = format!("left out, {title} cannot use that kind of MCP server: {left_out}");
        chat.transcript.note(Severity::Warning, text, Vec::new());
    }
    if !chat.directories.is_empty() && !takes.directories {
        let text =
            format!("{title} takes one folder only: the others are open to it, but not told");
        chat.transcript.note(Severity::Warning, text, Vec::new());
    }
}
