//! Sessions of an agent (ACP session set-up): begun, loaded, resumed.

use super::chat::{Chat, Phase};
use super::effect::{Call, Place};
use super::event::{CallError, ChatId, SessionSetup};
use super::state::{Expected, State};
use super::{login, words};
use crate::session::agent::McpServer;
use crate::session::ids::SessionId;
use crate::session::transcript::Transcript;
use crate::session::update::Severity;

impl State {
    /// Goes on with the session there was, where the agent can; else begins a new one.
    pub(super) fn open_session(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let capabilities = chat.info.capabilities;
        let place = place_of(chat);
        let timeout = chat.config.timeouts.session;
        let (request, expected) = match chat.session.clone() {
            Some(session) if capabilities.resume => {
                (Call::Resume(session, place), Expected::Resume)
            }
            Some(session) if capabilities.load => {
                chat.replay = Some(Transcript::default());
                (Call::Load(session, place), Expected::Load)
            }
            Some(_) => {
                chat.session = None;
                let name = chat.agent_title();
                chat.transcript.note(
                    Severity::Warning,
                    format!("{name} cannot go on with a session: a new one begins, what was said before is not known to it"),
                    Vec::new(),
                );
                (Call::NewSession(place), Expected::NewSession)
            }
            None => (Call::NewSession(place), Expected::NewSession),
        };
        self.enter(id, Phase::Starting("opening a session"));
        self.call(id, request, expected, timeout);
    }

    pub(super) fn opened(&mut self, id: ChatId, session: &SessionId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.session = Some(session.clone());
        set_up(chat, setup);
        self.enter(id, Phase::Ready);
        let early = self.link_of(id).map(|(_, link)| link.take_early(session));
        for update in early.unwrap_or_default() {
            self.update(id, update);
        }
        self.pump(id);
    }

    pub(super) fn restored(&mut self, id: ChatId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        set_up(chat, setup);
        let note = match chat.replay.take() {
            // What the agent remembers is what counts; it may go on telling after the answer.
            Some(replay) if !replay.entries().is_empty() => {
                chat.transcript = replay;
                chat.redraw();
                "the session was loaded again"
            }
            // It may begin to tell after the answer, or never.
            Some(_) => {
                chat.reloaded = true;
                "the session was loaded again"
            }
            None => "the session goes on",
        };
        chat.transcript.note(Severity::Info, note, Vec::new());
        self.enter(id, Phase::Ready);
        self.pump(id);
    }

    pub(super) fn not_restored(&mut self, id: ChatId, error: &CallError) {
        if login::is_wanted(error) {
            return self.login(id);
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.replay = None;
        chat.session = None;
        let title = format!(
            "the session could not be restored ({}): a new one begins, what was said before is not known to it",
            words::reason(error)
        );
        chat.transcript.note(Severity::Warning, title, Vec::new());
        self.open_session(id);
    }

    pub(super) fn session_refused(&mut self, id: ChatId, error: &CallError) {
        if login::is_wanted(error) {
            self.login(id);
        } else {
            self.start_failed(id, "session/new", error);
        }
    }
}

fn set_up(chat: &mut Chat, setup: SessionSetup) {
    chat.live = true;
    chat.modes = setup.modes;
    chat.options = setup.options;
}

/// Where the session works, as far as the agent can take it (ACP session setup).
fn place_of(chat: &Chat) -> Place {
    let takes = chat.info.capabilities;
    Place {
        cwd: chat.cwd.clone(),
        directories: if takes.directories { chat.directories.clone() } else { Vec::new() },
        mcp_servers: chat
            .config
            .mcp_servers
            .iter()
            .filter(|server| match server {
                McpServer::Stdio { .. } => true,
                McpServer::Http { .. } => takes.mcp_http,
                McpServer::Sse { .. } => takes.mcp_sse,
            })
            .cloned()
            .collect(),
    }
}
