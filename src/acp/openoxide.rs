//! The protocol of OpenOxide: its own names for sessions and prompts, events in place of updates, and a turn that ends with
//! the event `done`.

mod current;
mod events;
pub mod live;

use super::dialect::{CallKind, Dialect, EncodeError};
use super::fields::{Fields, json};
use super::v1::reply;
use crate::core::messages::agent::{AgentEvent, CallError, Reply, SessionSetup};
use crate::core::messages::call::{Call, SessionParams};
use crate::jsonrpc::outgoing::{notification, request as encoded};
use crate::session::agent::{AgentCapabilities, AgentInfo, Capability, Quirks};
use crate::session::content::Content;
use crate::session::fork::ForkPoint;
use crate::session::ids::SessionId;
use crate::session::prompt::PromptCapabilities;
use crate::session::protocol::Protocol;
use crate::session::turn::{Activity, StopReason};
use crate::session::update::{Choice, Command, ConfigOption, OptionValue, PlanEntry, Update};
use events::News;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// How long after the answer to a prompt the turn may go on without a word.
const GRACE: Duration = Duration::from_secs(2);

/// The options that a session is created with.
const SESSION_OPTIONS: [&str; 2] = ["model", "auto_commits"];

/// The booleans of the answer to `initialize`, and the capability that each stands for.
const ABILITIES: [(&str, Capability); 5] = [
    ("file_read", Capability::ReadsFiles),
    ("file_write", Capability::WritesFiles),
    ("terminal_exec", Capability::RunsCommands),
    ("web_search", Capability::SearchesWeb),
    ("streaming", Capability::Streams),
];

/// The dialect with one agent.
#[derive(Debug, Default)]
pub struct OpenOxide {
    /// The configured options among `SESSION_OPTIONS`.
    options: Vec<(String, String)>,
    commands: Vec<Command>,
    turns: HashMap<SessionId, Turn>,
    /// The session that was prompted last; events may name none.
    last: Option<SessionId>,
    /// How many diffs the agent has shown, which have no ids.
    diffs: usize,
    /// The folder that sessions work in, if the agent has the same files.
    folder: Option<PathBuf>,
}

/// The latest turn of a session.
#[derive(Debug, Default)]
struct Turn {
    /// The id of the prompt; `None` for what the agent says unprompted.
    prompt: Option<i64>,
    plan: Vec<PlanEntry>,
    error: Option<String>,
    is_answered: bool,
    is_done: bool,
}

impl OpenOxide {
    /// Decodes an answer to `initialize`.
    pub(super) fn answered(
        mut answer: Fields,
        options: &[(String, String)],
        folder: Option<PathBuf>,
    ) -> (Box<dyn Dialect>, Box<AgentInfo>) {
        let mut about = answer.object("serverInfo").unwrap_or_default();
        let mut capabilities = answer.object("capabilities").unwrap_or_default();
        let is_denied = |name| {
            [&capabilities, &answer]
                .iter()
                .any(|fields| fields.peek(name) == Some(&Value::Bool(false)))
        };
        let is_without_files = is_denied("file_read");
        let mut has = |name| capabilities.flag(name) || answer.flag(name);
        let can_fork = has("session_fork");
        let abilities = ABILITIES.map(|(name, ability)| (ability, has(name)));
        let commands =
            capabilities.objects("slash_commands").map(|all| all.filter_map(command).collect());
        let commands = commands
            .or_else(|| Some(answer.objects("slash_commands")?.filter_map(command).collect()));
        // An agent that cannot read files gets them with the prompt.
        let prompt = PromptCapabilities { embedded: is_without_files, ..Default::default() };
        let can = AgentCapabilities::taking(prompt)
            .with(Capability::Resume, true)
            .with(Capability::Fork, can_fork)
            .with(Capability::ForkAtTurn, can_fork);
        let info = AgentInfo {
            protocol: Some(Protocol::OpenOxide),
            name: about.text("name"),
            title: about.text("title"),
            version: about.text("version"),
            capabilities: abilities.iter().fold(can, |all, (one, can)| all.with(*one, *can)),
            auth_methods: Vec::new(),
            quirks: Quirks::default(),
            current_session: folder.as_deref().and_then(current::read),
        };
        let options = options.iter().filter(|(name, _)| SESSION_OPTIONS.contains(&name.as_str()));
        let dialect = Self {
            options: options.cloned().collect(),
            commands: commands.unwrap_or_default(),
            folder,
            ..Self::default()
        };
        (Box::new(dialect), Box::new(info))
    }

    /// The session options as they were configured, which is what the session has.
    fn setup(&self) -> SessionSetup {
        let options = self.options.iter().map(|(name, value)| {
            let choice = Choice {
                value: value.clone(),
                name: value.clone(),
                description: None,
                group: None,
            };
            let value = OptionValue::Select { current: value.clone(), choices: vec![choice] };
            let (category, description) = (Some(name.clone()), None);
            ConfigOption { id: name.clone(), name: name.clone(), description, category, value }
        });
        SessionSetup { options: options.collect(), ..SessionSetup::default() }
    }

    fn session_config(&self) -> Value {
        let value = |text: &str| text.parse::<bool>().map_or_else(|_| json!(text), |on| json!(on));
        let options = self.options.iter().map(|(name, text)| (name.clone(), value(text)));
        Value::Object(options.collect::<Map<_, _>>())
    }

    /// A session is open.
    fn opened(&self, session: &SessionId) {
        let written = self.folder.as_deref().map(|folder| current::write(folder, session));
        if let Some(Err(error)) = written {
            tracing::warn!(target: "acp", %error, "the current session could not be noted");
        }
    }

    /// Handles an event of a session.
    fn received(&mut self, session: SessionId, news: News, events: &mut Vec<AgentEvent>) {
        let turn = self.turns.entry(session.clone()).or_default();
        let update = match news {
            News::Update(update) => update,
            News::Diff(diff) => {
                self.diffs += 1;
                events::shown(diff, self.diffs)
            }
            News::PlanStep(text) => {
                events::add_step(&mut turn.plan, text);
                Update::Plan(turn.plan.clone())
            }
            News::Error(message) => {
                turn.error = Some(message.clone());
                events::failed(message)
            }
            News::Done => return self.done(session, events),
        };
        events.push(AgentEvent::Update { session, update });
    }

    fn done(&mut self, session: SessionId, events: &mut Vec<AgentEvent>) {
        let Some(turn) = self.turns.get_mut(&session) else { return };
        if turn.prompt.is_none() || std::mem::replace(&mut turn.is_done, true) {
            return;
        }
        let end = turn.error.take().map_or(Activity::Idle(StopReason::EndTurn), Activity::Failed);
        // The prompt may not be answered yet, but from now on its turn ends by the update.
        for activity in [Activity::Busy, end] {
            let update = Update::Activity(activity);
            events.push(AgentEvent::Update { session: session.clone(), update });
        }
    }
}

impl Dialect for OpenOxide {
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError> {
        let (method, params) = match call {
            Call::NewSession(place) => (
                "session/create",
                json!({ "workingDir": cwd(place)?, "config": self.session_config() }),
            ),
            Call::Resume(session, place) => (
                "session/resume",
                json!({ "session_id": session.as_str(), "workingDir": cwd(place)? }),
            ),
            Call::Fork(ForkPoint { session, turns }, _) => {
                let mut params = json!({ "source_session_id": session.as_str() });
                if let Some(turns) = turns {
                    params["branch_at_turn"] = json!(turns);
                }
                ("session/fork", params)
            }
            Call::Prompt { session, blocks } => {
                self.last = Some(session.clone());
                self.turns.insert(session.clone(), Turn { prompt: Some(id), ..Turn::default() });
                let content: Vec<_> = blocks.iter().filter_map(text).collect();
                ("prompt/send", json!({ "session_id": session.as_str(), "content": content }))
            }
            other => return Err(EncodeError::NoMethod(other.method())),
        };
        Ok(encoded(id, method, &params)?)
    }

    fn cancel(&self, _id: i64, session: &SessionId) -> Result<String, EncodeError> {
        let prompt = self.turns.get(session).and_then(|turn| turn.prompt);
        let prompt = prompt.ok_or(EncodeError::NoMethod("cancellation without a prompt"))?;
        Ok(notification("$/cancelRequest", &json!({ "id": prompt }))?)
    }

    fn withdraw(&self, id: i64) -> Result<Option<String>, EncodeError> {
        Ok(Some(notification("$/cancelRequest", &json!({ "id": id }))?))
    }

    fn notification(&mut self, _method: &str, params: &str, events: &mut Vec<AgentEvent>) {
        let Some(params) = json(params).and_then(Fields::of) else { return };
        let Some((session, news)) = events::decoded(params) else { return };
        if let Some(session) = session.or_else(|| self.last.clone()) {
            self.received(session, news, events);
        }
    }

    fn result(
        &mut self,
        call: CallKind,
        session: Option<&SessionId>,
        result: &str,
    ) -> Result<Reply, CallError> {
        match call {
            CallKind::NewSession => {
                let id = events::session_id(json(result).unwrap_or_default())
                    .ok_or_else(|| CallError::Malformed("a new session without an id".into()))?;
                self.opened(&id);
                Ok(Reply::Session { id, setup: self.setup() })
            }
            CallKind::Restore => {
                if let Some(session) = session {
                    self.opened(session);
                }
                Ok(Reply::Restored(self.setup()))
            }
            CallKind::Prompt => {
                if let Some(turn) = session.and_then(|session| self.turns.get_mut(session)) {
                    turn.is_answered = true;
                }
                Ok(Reply::PromptReceived { message: None })
            }
            _ => Ok(Reply::Done),
        }
    }

    fn error(&self, error: &str) -> CallError {
        reply::error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        let opens_session = matches!(method, "session/new" | "session/resume" | "session/fork");
        if !opens_session || self.commands.is_empty() {
            return (None, Vec::new());
        }
        let session = events::session_id(json(result).unwrap_or_default());
        (session, vec![Update::Commands(self.commands.clone())])
    }

    fn goodbye(&self, id: i64) -> Option<String> {
        encoded(id, "shutdown", &json!({})).ok()
    }

    fn silence(&self) -> Option<Duration> {
        let is_ending = |turn: &Turn| turn.is_answered && !turn.is_done;
        self.turns.values().any(is_ending).then_some(GRACE)
    }

    fn fell_silent(&mut self, events: &mut Vec<AgentEvent>) {
        let ending = self.turns.iter().filter(|(_, turn)| turn.is_answered && !turn.is_done);
        let ending: Vec<SessionId> = ending.map(|(session, _)| session.clone()).collect();
        for session in ending {
            self.done(session, events);
        }
    }
}

fn cwd(place: &SessionParams) -> Result<&str, EncodeError> {
    place.cwd.to_str().ok_or(EncodeError::NotUtf8)
}

fn text(block: &Content) -> Option<Value> {
    let text = match block {
        Content::Text(text) | Content::Marked { text, .. } => text.clone(),
        Content::ResourceLink { uri, name, .. } => format!("{name}: {uri}"),
        Content::Resource { uri, text, .. } => format!("{uri}:\n{text}"),
        Content::Blob { uri, .. } => uri.clone(),
        Content::Image { .. } | Content::Audio { .. } | Content::Unknown { .. } => return None,
    };
    Some(json!({ "type": "text", "text": text }))
}

fn command(mut fields: Fields) -> Option<Command> {
    let name = fields.text("command").or_else(|| fields.text("name"))?;
    let name = name.trim_start_matches('/').to_owned();
    let description = fields.text("description").unwrap_or_default();
    Some(Command { name, description, hint: None })
}
