//! Opening sessions (ACP session setup).

use super::login;
use crate::core::calls::ExpectedReply;
use crate::core::chat::LastSession;
use crate::core::chat::Replay;
use crate::core::chat::SessionSettings;
use crate::core::chat::StartupStep;
use crate::core::chat::{Chat, Phase};
use crate::core::failures;
use crate::core::messages::agent::{CallError, NOT_FOUND, SessionSetup};
use crate::core::messages::call::{Call, SessionParams};
use crate::core::messages::editor::Level;
use crate::core::messages::effect::{Effect, StoreCommand};
use crate::core::messages::failure::{Failure, Origin};
use crate::core::messages::page::View;
use crate::core::messages::user::SessionTarget;
use crate::core::state::State;
use crate::core::user_messages;
use crate::session::agent::Capability;
use crate::session::author::ChatId;
use crate::session::ids::SessionId;
use crate::session::label;
use crate::session::transcript::Transcript;
use crate::session::update::Severity;

/// How much of the name of an MCP server is shown, in characters.
const MAX_SERVER_NAME: usize = 40;

impl State {
    /// Opens the session that the chat wants. If the agent cannot open it, opens a new one.
    pub(in crate::core) fn open_session(&mut self, id: ChatId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if chat.opening.waits_for_store {
            return self.enter_phase(id, Phase::Starting(StartupStep::FindingSession));
        }
        if self.awaits_tools(id) {
            return;
        }
        let current = self.current_session(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let can = chat.info.capabilities;
        let last = std::mem::take(&mut chat.opening.last);
        let can_go_on = can.has(Capability::Resume) || can.has(Capability::Load);
        match (std::mem::replace(&mut chat.opening.target, SessionTarget::New), last) {
            (SessionTarget::Existing(session), _) => chat.session = Some(session),
            (SessionTarget::Only(session), _) => {
                if !can_go_on {
                    let why = "it does not keep sessions";
                    let message = user_messages::resume(chat.name(), &session, why);
                    let failure = Failure { origin: Origin::Agent, ..failures::of_ours(message) };
                    return self.session_missing(id, &failure);
                }
                // It remains the target until it is open.
                chat.opening.target = SessionTarget::Only(session.clone());
                chat.session = Some(session);
            }
            (SessionTarget::Last, LastSession::Here(last)) if can_go_on => {
                chat.session = Some(last);
                chat.opening.reopens_last = true;
            }
            (SessionTarget::Last, LastSession::None) if current.is_some() && can_go_on => {
                let Some(current) = current else { return };
                chat.opening.target = SessionTarget::Last;
                chat.opening.last = LastSession::Here(current.clone());
                self.load_transcript(id, current, true);
                return self.enter_phase(id, Phase::Starting(StartupStep::FindingSession));
            }
            (SessionTarget::Last, last) => {
                let elsewhere = last == LastSession::Elsewhere;
                chat.session = match last {
                    LastSession::Here(session) => Some(session),
                    LastSession::None | LastSession::Elsewhere => None,
                };
                self.effects.extend(chat.release_effect());
                chat.forget_past(&mut self.effects);
                if elsewhere {
                    let note = "Your last session is open in another Neovim. Started a new one.";
                    chat.transcript.note(Severity::Info, note, Vec::new());
                }
            }
            (SessionTarget::Fork(point), _) if can.has(Capability::Fork) => {
                // It remains the target until it is open, because a login may be required first.
                chat.opening.target = SessionTarget::Fork(point.clone());
                return self.open_with(id, |params| Call::Fork(point, params), ExpectedReply::Fork);
            }
            (SessionTarget::Fork(_), _) => {
                chat.forget_past(&mut self.effects);
                let title =
                    format!("{} cannot fork sessions. Started a new one.", chat.agent_title());
                chat.transcript.note(Severity::Warning, title, Vec::new());
            }
            (SessionTarget::New | SessionTarget::Current, _) => {}
        }
        match chat.session.clone() {
            Some(session) if can_go_on => self.continue_session(id, session),
            Some(_) => {
                self.effects.extend(chat.release_effect());
                chat.forget_past(&mut self.effects);
                let title = format!(
                    "{} cannot resume sessions. Started a new one without the earlier conversation.",
                    chat.agent_title()
                );
                chat.transcript.note(Severity::Warning, title, Vec::new());
                self.new_session(id);
            }
            None => self.new_session(id),
        }
    }

    /// The session that the agent's files name, if no chat has it open.
    fn current_session(&self, id: ChatId) -> Option<SessionId> {
        let chat = self.chats.get(&id)?;
        let current = chat.info.current_session.clone()?;
        self.find_open(&chat.store_key(current.clone())).is_none().then_some(current)
    }

    fn new_session(&mut self, id: ChatId) {
        if let Some(chat) = self.chats.get_mut(&id) {
            // The transcript of the previous session is saved with the new one.
            chat.saving.rewrite = true;
        }
        self.open_with(id, Call::NewSession, ExpectedReply::NewSession);
    }

    /// Continues a session. `session/load` replays the conversation (ACP session load); `session/resume` is faster and
    /// used if the transcript is known.
    fn continue_session(&mut self, id: ChatId, session: SessionId) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let can = chat.info.capabilities;
        let past = std::mem::take(&mut chat.opening.saved);
        if !past.is_empty() {
            chat.transcript = Transcript::restore(past);
            chat.redraw_all();
        }
        let is_known = chat.transcript.opening().is_some();
        if can.has(Capability::Resume) && (is_known || !can.has(Capability::Load)) {
            self.open_with(id, |params| Call::Resume(session, params), ExpectedReply::Resume);
        } else {
            chat.replay = Replay::Loading(Box::default());
            self.open_with(id, |params| Call::Load(session, params), ExpectedReply::Load);
        }
    }

    fn open_with(
        &mut self,
        id: ChatId,
        call: impl FnOnce(SessionParams) -> Call,
        expected: ExpectedReply,
    ) {
        let Some(chat) = self.chats.get(&id) else { return };
        let (params, timeout) = (session_params(chat), chat.config.timeouts.session);
        self.enter_phase(id, Phase::Starting(StartupStep::OpeningSession));
        self.call(id, call(params), expected, timeout);
    }

    pub(in crate::core) fn session_opened(
        &mut self,
        id: ChatId,
        session: &SessionId,
        setup: SessionSetup,
    ) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if let SessionTarget::Fork(point) =
            std::mem::replace(&mut chat.opening.target, SessionTarget::New)
        {
            self.start_fork(id, &point);
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        chat.note_call_titles();
        chat.transcript.begin_session();
        chat.redraw_view(View::Tools);
        // The new session may have the id of the previous one, whose knowledge of files must not carry over.
        self.effects.extend(chat.key().map(Effect::Forget));
        chat.session = Some(session.clone());
        apply_setup(chat, setup);
        note_session_params(chat);
        self.enter_phase(id, Phase::Starting(StartupStep::SettingOptions(0)));
        self.send_options(id);
        let unset = self.set_defaults(id);
        let held =
            self.connection_of(id).map(|(_, connection)| connection.take_held_updates(session));
        self.enter_phase(
            id,
            if unset > 0 {
                Phase::Starting(StartupStep::SettingOptions(unset))
            } else {
                Phase::Ready
            },
        );
        self.reconnected(id);
        for update in held.unwrap_or_default() {
            self.update(id, update);
        }
        self.send_next_prompt(id);
    }

    pub(in crate::core) fn session_restored(&mut self, id: ChatId, setup: SessionSetup) {
        let Some(chat) = self.chats.get_mut(&id) else { return };
        apply_setup(chat, setup);
        chat.incoming_mut().settle_messages();
        let is_last = std::mem::take(&mut chat.opening.reopens_last);
        let verb = match std::mem::take(&mut chat.replay) {
            // The agent's version of the conversation is authoritative. It may continue the replay after its reply.
            Replay::Loading(replay) if !replay.entries().is_empty() => {
                chat.transcript = *replay;
                chat.saving.rewrite = true;
                chat.redraw_all();
                "Loaded"
            }
            // The agent may start the replay after its reply, or never.
            Replay::Loading(_) => {
                chat.replay = Replay::MayFollowLoad;
                "Loaded"
            }
            _ => "Resumed",
        };
        let what = if is_last { "your last session" } else { "the session" };
        let note = format!("{verb} {what}. :RatStart! starts a new one.");
        chat.transcript.note_reopened(note);
        self.send_options(id);
        self.enter_phase(id, Phase::Ready);
        self.reconnected(id);
        self.save(id);
        self.send_next_prompt(id);
    }

    pub(in crate::core) fn restore_failed(&mut self, id: ChatId, error: &CallError) {
        if login::is_required(error) {
            return self.login(id);
        }
        // Requests made during loading belong to a session that was not restored.
        self.cancel_permissions(id);
        self.cancel_all_elicitations(id);
        let Some(chat) = self.chats.get_mut(&id) else { return };
        if let SessionTarget::Only(session) = &chat.opening.target {
            let why = user_messages::reason(error);
            let message = user_messages::resume(chat.name(), session, &why);
            return self.session_missing(id, &failures::of_call(message, error));
        }
        chat.replay = Replay::None;
        chat.title = None;
        chat.opening.reopens_last = false;
        self.effects.extend(chat.key().map(Effect::Forget));
        if let Some(session) = chat.session.take() {
            let key = chat.store_key(session);
            // What was said stays, and goes on in the new session if all of it was read.
            if is_unknown(error) && chat.transcript.opening().is_some() && !chat.saving.rewrite {
                chat.saving.continues = Some(key.clone());
            }
            self.effects.push(Effect::Store(StoreCommand::Release(key)));
        }
        let Some(chat) = self.chats.get_mut(&id) else { return };
        let title = format!(
            "Could not restore the session: {}. Started a new one without the earlier conversation.",
            user_messages::reason(error)
        );
        chat.transcript.note(Severity::Warning, title, Vec::new());
        self.open_session(id);
    }

    /// The only session that was wanted cannot be opened.
    fn session_missing(&mut self, id: ChatId, failure: &Failure) {
        self.fail(id, failure);
        self.notify(Level::Error, failure.message.clone());
    }

    pub(in crate::core) fn session_failed(&mut self, id: ChatId, step: &str, error: &CallError) {
        if login::is_required(error) {
            self.login(id);
        } else {
            self.start_failed(id, step, error);
        }
    }
}

/// Whether the agent replied that there is no such session.
fn is_unknown(error: &CallError) -> bool {
    matches!(error, CallError::Rpc { code: NOT_FOUND, .. })
}

fn apply_setup(chat: &mut Chat, setup: SessionSetup) {
    let SessionSetup { modes, models, options } = setup;
    chat.settings = SessionSettings { modes, models, options };
}

/// Returns the parameters for opening the chat's session, without what the agent does not support (ACP session setup).
fn session_params(chat: &Chat) -> SessionParams {
    let takes = chat.info.capabilities;
    let servers = chat.config.mcp_servers.iter().filter(|server| chat.info.takes(server));
    SessionParams {
        cwd: chat.cwd.clone(),
        directories: if takes.has(Capability::Directories) {
            chat.directories.clone()
        } else {
            Vec::new()
        },
        mcp_servers: servers.chain(&chat.tools.server).cloned().collect(),
    }
}

/// Notes in the transcript which MCP servers and folders the session has, and which the agent does not support.
fn note_session_params(chat: &mut Chat) {
    let takes = chat.info.capabilities;
    let names = |taken: bool| {
        let servers = chat.config.mcp_servers.iter();
        let names = servers.filter(|server| chat.info.takes(server) == taken);
        let names = names.map(|server| label::short(server.name(), MAX_SERVER_NAME));
        names.collect::<Vec<_>>().join(", ")
    };
    let (used, left_out, title) = (names(true), names(false), chat.agent_title());
    if !used.is_empty() {
        chat.transcript.note(Severity::Info, format!("MCP servers: {used}"), Vec::new());
    }
    if !left_out.is_empty() {
        let text = format!("Skipped MCP servers {title} does not support: {left_out}");
        chat.transcript.note(Severity::Warning, text, Vec::new());
    }
    if !chat.directories.is_empty() && !takes.has(Capability::Directories) {
        let text = format!(
            "{title} supports only one folder. It may use the others, but is not told of them."
        );
        chat.transcript.note(Severity::Warning, text, Vec::new());
    }
}
