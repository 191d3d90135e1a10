//! The protocol of the Go package `go-acp`: a serial server with sessions, prompts, messages and tool calls, and nothing
//! else. It reads lines of limited length, and a cancellation only after the turn.

use super::content;
use super::dialect::{CallKind, Dialect, EncodeError, unknown_notification};
use super::fields::{Fields, json};
use super::plan;
use super::tool_data;
use super::v1::reply;
use crate::core::messages::agent::{AgentEvent, CallError, INTERNAL_ERROR, Reply, SessionSetup};
use crate::core::messages::call::Call;
use crate::jsonrpc::outgoing;
use crate::process::repository;
use crate::session::agent::{AgentCapabilities, AgentInfo, Quirks};
use crate::session::content::Content;
use crate::session::ids::SessionId;
use crate::session::prompt::PromptCapabilities;
use crate::session::protocol::Protocol;
use crate::session::tool_call::{ToolCallPatch, ToolContent, ToolStatus};
use crate::session::turn::StopReason;
use crate::session::update::{Choice, Command, ConfigOption, OptionValue, Role, Update};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The longest line the package reads, in bytes, without the line ending.
const LONGEST_LINE: usize = 65_535;

const NO_SESSION: &str = "a new session without an id";

/// The configured option that names the commands of the agent, separated by commas or spaces: the package has no message for
/// that, and an agent on it may fail a turn for a command that it does not know.
const COMMANDS: &str = "commands";

/// The dialect with one agent.
#[derive(Debug)]
pub struct Go {
    /// The value of `COMMANDS`.
    named: Option<String>,
    commands: Vec<Command>,
    /// The folder here that sessions work in, whatever the agent calls it.
    cwd: PathBuf,
}

impl Go {
    /// Decodes an answer to `initialize`.
    pub(super) fn answered(
        mut answer: Fields,
        options: &[(String, String)],
        cwd: PathBuf,
    ) -> (Box<dyn Dialect>, Box<AgentInfo>) {
        let mut about = answer.object("agentInfo").unwrap_or_default();
        let mut capabilities = answer.object("capabilities").unwrap_or_default();
        let mut takes = capabilities.object("promptCapabilities").unwrap_or_default();
        let prompt = PromptCapabilities {
            image: takes.flag("image"),
            audio: takes.flag("audio"),
            embedded: false,
        };
        let info = AgentInfo {
            protocol: Some(Protocol::Go),
            name: about.text("name"),
            title: about.text("title"),
            version: about.text("version"),
            capabilities: AgentCapabilities::taking(prompt),
            auth_methods: Vec::new(),
            quirks: Quirks::default(),
            current_session: None,
        };
        let named = options.iter().find(|(name, _)| name == COMMANDS);
        let named = named.map(|(_, value)| value.clone());
        let commands = named.as_deref().map(commands).unwrap_or_default();
        (Box::new(Self { named, commands, cwd }), Box::new(info))
    }

    /// The metadata of a new session, whose values are texts.
    fn metadata(&self, cwd: &str) -> Value {
        let mut metadata = json!({ "workDir": cwd });
        if let Some(branch) = repository::branch(&self.cwd) {
            metadata["branch"] = branch.into();
        }
        metadata
    }

    /// The command that a prompt calls, if the agent has it.
    fn called(&self, blocks: &[Content]) -> Option<Value> {
        let text = blocks.first().and_then(Content::text)?.trim();
        let (name, input) = text.strip_prefix('/').map(|rest| {
            rest.split_once(char::is_whitespace)
                .map_or((rest, ""), |(name, input)| (name, input.trim()))
        })?;
        self.commands.iter().find(|command| command.name == name)?;
        Some(if input.is_empty() {
            json!({ "name": name })
        } else {
            json!({ "name": name, "input": input })
        })
    }

    /// Returns the one option of a session: the commands that the settings name.
    fn setup(&self) -> SessionSetup {
        let option = self.named.clone().map(|value| {
            let choice = Choice {
                value: value.clone(),
                name: value.clone(),
                description: None,
                group: None,
            };
            ConfigOption {
                id: COMMANDS.to_owned(),
                name: COMMANDS.to_owned(),
                description: None,
                category: None,
                value: OptionValue::Select { current: value, choices: vec![choice] },
            }
        });
        SessionSetup { options: option.into_iter().collect(), ..SessionSetup::default() }
    }
}

fn commands(setting: &str) -> Vec<Command> {
    let names = setting.split([',', ' ']).map(|name| name.trim_start_matches('/'));
    let names = names.filter(|name| !name.is_empty());
    let command =
        |name: &str| Command { name: name.to_owned(), description: String::new(), hint: None };
    names.map(command).collect()
}

impl Dialect for Go {
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError> {
        let params = match call {
            Call::NewSession(place) => {
                let cwd = place.cwd.to_str().ok_or(EncodeError::NotUtf8)?;
                json!({ "metadata": self.metadata(cwd) })
            }
            Call::Prompt { session, blocks } => {
                let mut params = json!({ "sessionId": session.as_str(), "prompt": parts(blocks) });
                if let Some(command) = self.called(blocks) {
                    params["command"] = command;
                }
                params
            }
            other => return Err(EncodeError::NoMethod(other.method())),
        };
        short(outgoing::request(id, call.method(), &params)?)
    }

    fn cancel(&self, id: i64, session: &SessionId) -> Result<String, EncodeError> {
        let params = json!({ "sessionId": session.as_str() });
        Ok(outgoing::request(id, "session/cancel", &params)?)
    }

    fn notification(&mut self, method: &str, params: &str, events: &mut Vec<AgentEvent>) {
        if method != "session/update" {
            events.extend(unknown_notification(method, params));
            return;
        }
        let Some(mut params) = json(params).and_then(Fields::of) else { return };
        let Some(session) = params.text("sessionId").map(SessionId::from) else { return };
        let update = params.object("update").unwrap_or_default();
        events.push(AgentEvent::Update { session, update: decoded(update) });
    }

    fn result(
        &mut self,
        call: CallKind,
        _session: Option<&SessionId>,
        result: &str,
    ) -> Result<Reply, CallError> {
        let mut fields = json(result).and_then(Fields::of).unwrap_or_default();
        match call {
            CallKind::NewSession => {
                let id = fields.object("session").and_then(|mut session| session.text("id"));
                let id = id.ok_or_else(|| CallError::Malformed(NO_SESSION.to_owned()))?;
                Ok(Reply::Session { id: id.into(), setup: self.setup() })
            }
            CallKind::Prompt => stop_reason(&mut fields),
            _ => Ok(Reply::Done),
        }
    }

    fn error(&self, error: &str) -> CallError {
        reply::error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        if method != "session/new" || self.commands.is_empty() {
            return (None, Vec::new());
        }
        let mut session = json(result).and_then(Fields::of).unwrap_or_default().object("session");
        let id = session.as_mut().and_then(|session| session.text("id")).map(SessionId::from);
        (id, vec![Update::Commands(self.commands.clone())])
    }
}

/// Refuses a line that would end the agent.
fn short(line: String) -> Result<String, EncodeError> {
    let bytes = line.len();
    if bytes <= LONGEST_LINE {
        Ok(line)
    } else {
        Err(EncodeError::TooLong { bytes, limit: LONGEST_LINE })
    }
}

/// Returns the parts of a prompt. Texts come first and as one, because there are agents that read only the first part.
fn parts(blocks: &[Content]) -> Vec<Value> {
    let mut texts = Vec::new();
    let mut media = Vec::new();
    for block in blocks {
        match block {
            Content::Text(text) | Content::Marked { text, .. } => texts.push(text.clone()),
            Content::Image { mime, data, .. } => {
                media.push(json!({ "type": "image", "data": data, "mimeType": mime }));
            }
            Content::Audio { mime, data, .. } => {
                media.push(json!({ "type": "audio", "data": data, "mimeType": mime }));
            }
            Content::ResourceLink { uri, name, .. } => texts.push(format!("{name}: {uri}")),
            Content::Resource { uri, text, .. } => texts.push(format!("{uri}:\n{text}")),
            Content::Blob { uri, .. } => texts.push(uri.clone()),
            Content::Unknown { .. } => {}
        }
    }
    let text = (!texts.is_empty()).then(|| json!({ "type": "text", "text": texts.join("\n\n") }));
    text.into_iter().chain(media).collect()
}

fn decoded(mut update: Fields) -> Update {
    let tag = update.text("type").or_else(|| update.text("sessionUpdate")).unwrap_or_default();
    let known = match tag.as_str() {
        "messageChunk" => chunk(&mut update),
        "toolCall" => update.object("toolCall").and_then(tool_call),
        // The package gives it no content.
        "planUpdate" => return plan::decode(&mut update).unwrap_or_else(|| unknown(tag, None)),
        _ => return unknown(tag, None),
    };
    known.unwrap_or_else(|| unknown(tag, Some("a part is missing")))
}

fn unknown(tag: String, problem: Option<&str>) -> Update {
    Update::Unknown { tag, problem: problem.map(str::to_owned) }
}

fn chunk(update: &mut Fields) -> Option<Update> {
    let role = match update.text("role").as_deref() {
        Some("user") => Role::User,
        _ => Role::Agent,
    };
    let content = content::block(update.any("chunk")?);
    Some(Update::Chunk { role, message: None, content })
}

fn tool_call(mut call: Fields) -> Option<Update> {
    let id = call.text("id")?.into();
    let status = call.text("status").and_then(|status| match status.as_str() {
        "running" => Some(ToolStatus::InProgress),
        "completed" => Some(ToolStatus::Completed),
        "error" => Some(ToolStatus::Failed),
        _ => None,
    });
    let output = call.text("output").filter(|output| !output.is_empty());
    let content = output.clone().map(|text| vec![ToolContent::Content(Content::Text(text))]);
    let input = call.text("input").filter(|input| !input.is_empty());
    let input = input.map(|text| json(&text).unwrap_or(Value::String(text)));
    let title = call.text("name");
    let patch = ToolCallPatch {
        title,
        status,
        input: input.and_then(tool_data::input),
        output,
        content,
        ..ToolCallPatch::default()
    };
    Some(Update::ToolCall { id, patch: Box::new(patch) })
}

fn stop_reason(answer: &mut Fields) -> Result<Reply, CallError> {
    let reason = answer.text("stopReason").unwrap_or_default();
    Ok(Reply::Turn(match reason.as_str() {
        "endTurn" => StopReason::EndTurn,
        "cancelled" => StopReason::Cancelled,
        "error" => {
            let message = "the agent ended the turn with an error".to_owned();
            let (detail, data) = (None, None);
            return Err(CallError::Rpc { code: INTERNAL_ERROR, message, detail, data });
        }
        _ => StopReason::Unknown(reason),
    }))
}
