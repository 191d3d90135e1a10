//! Encodes our messages to agents as JSON lines without the newline, by means of the types of the schema crate.

use crate::acp::dialect::EncodeError;
use crate::acp::v1;
use crate::core::messages::call::{Call, SessionParams};
use crate::core::messages::effect::Answer;
use crate::jsonrpc::outgoing::{notification, request, result};
use crate::session::agent::{AgentCapabilities, Capability, ClientCapabilities, McpServer};
use crate::session::content::Content;
use crate::session::fork::ForkPoint;
use crate::session::ids::SessionId;
use crate::session::permission::Outcome;
use crate::session::update::OptionValue;
use agent_client_protocol_schema::{ProtocolVersion, v2};
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use std::path::PathBuf;

/// Encodes a call with the id `id`. Additional directories and MCP servers for which the agent lacks the capability are left
/// out. There are no modes, no models and no `session/load`: a session that is loaded is resumed with a replay.
pub fn call(id: i64, call: &Call, agent: AgentCapabilities) -> Result<String, EncodeError> {
    Ok(match call {
        Call::Initialize => request(id, "initialize", &offer(ClientCapabilities::default())?),
        Call::Authenticate(method) => {
            request(id, "auth/login", &v2::LoginAuthRequest::new(method.to_string()))
        }
        Call::Logout => request(id, "auth/logout", &v2::LogoutAuthRequest::new()),
        Call::NewSession(place) => {
            let params = v2::NewSessionRequest::new(place.cwd.clone())
                .additional_directories(directories(place, agent))
                .mcp_servers(mcp_servers(place, agent));
            request(id, "session/new", &params)
        }
        Call::Load(session, place) => {
            let start = v2::ReplayFrom::Start(v2::ReplayFromStart::new());
            request(id, "session/resume", &resume(session, place, agent).replay_from(start))
        }
        Call::Resume(session, place) => {
            request(id, "session/resume", &resume(session, place, agent))
        }
        Call::Fork(ForkPoint { session, .. }, place) => {
            let params = v2::ForkSessionRequest::new(session.to_string(), place.cwd.clone())
                .additional_directories(directories(place, agent))
                .mcp_servers(mcp_servers(place, agent));
            request(id, "session/fork", &params)
        }
        Call::List(cwd, cursor) => {
            let params = v2::ListSessionsRequest::new().cwd(v2::AbsolutePath::from(cwd.clone()));
            let cursor = cursor.clone().map(v2::SessionListCursor::new);
            request(id, "session/list", &params.cursor(cursor))
        }
        Call::Delete(session) => {
            request(id, "session/delete", &v2::DeleteSessionRequest::new(session.to_string()))
        }
        Call::Close(session) => {
            request(id, "session/close", &v2::CloseSessionRequest::new(session.to_string()))
        }
        Call::Prompt { session, blocks } => {
            let blocks = blocks.iter().filter_map(block).collect();
            request(id, "session/prompt", &v2::PromptRequest::new(session.to_string(), blocks))
        }
        Call::SetOption { session, option, value } => {
            let value = match value {
                OptionValue::Boolean(value) => {
                    v2::SessionConfigOptionValue::Boolean { value: *value }
                }
                OptionValue::Select { current, .. } => v2::SessionConfigOptionValue::Id {
                    value: v2::SessionConfigValueId::new(current.clone()),
                },
            };
            let session = session.to_string();
            let params = v2::SetSessionConfigOptionRequest::new(session, option.clone(), value);
            request(id, "session/set_config_option", &params)
        }
        Call::SetMode { .. } => return Err(EncodeError::NoMethod("session/set_mode")),
        Call::SetModel { .. } => return Err(EncodeError::NoMethod("session/set_model")),
    }?)
}

fn resume(
    session: &SessionId,
    place: &SessionParams,
    agent: AgentCapabilities,
) -> v2::ResumeSessionRequest {
    v2::ResumeSessionRequest::new(session.to_string(), place.cwd.clone())
        .additional_directories(directories(place, agent))
        .mcp_servers(mcp_servers(place, agent))
}

/// Encodes `session/cancel`.
pub(super) fn cancel(session: &SessionId) -> Result<String, Error> {
    notification("session/cancel", &v2::CancelSessionNotification::new(session.to_string()))
}

/// Encodes `$/cancel_request` for a call of ours.
pub(super) fn withdraw(id: i64) -> Result<String, Error> {
    let params = v2::CancelRequestNotification::new(v2::RequestId::Number(id));
    notification("$/cancel_request", &params)
}

/// Encodes the answer to the agent's request with the id `id`.
pub fn answer(id: &RawValue, answer: &Answer) -> Result<String, EncodeError> {
    Ok(match answer {
        Answer::Permission(outcome) => {
            let outcome = match outcome {
                Outcome::Selected(option) => v2::RequestPermissionOutcome::Selected(
                    v2::SelectedPermissionOutcome::new(option.to_string()),
                ),
                Outcome::Cancelled => {
                    v2::RequestPermissionOutcome::Cancelled(v2::CancelledPermissionOutcome::new())
                }
            };
            result(id, &v2::RequestPermissionResponse::new(outcome))
        }
        // Answers to elicitations and errors are as in version 1; nothing else can be asked.
        other => v1::outgoing::answer(id, other),
    }?)
}

/// Returns the params of `initialize` for agents of both versions: each reads the fields of its own.
pub fn offer(ours: ClientCapabilities) -> Result<Value, Error> {
    let name = "rat.nvim";
    let info = v2::Implementation::new(name, env!("CARGO_PKG_VERSION")).title(name);
    let params =
        v2::InitializeRequest::new(ProtocolVersion::V2, info).capabilities(capabilities(ours));
    let mut offer = serde_json::to_value(params)?;
    let first = serde_json::to_value(v1::outgoing::initialize(ours))?;
    if let (Some(offer), Value::Object(first)) = (offer.as_object_mut(), first) {
        for (key, value) in first {
            offer.entry(key).or_insert(value);
        }
    }
    Ok(offer)
}

/// Returns the capabilities to advertise, all of which are implemented.
fn capabilities(ours: ClientCapabilities) -> v2::ClientCapabilities {
    let elicitation = v2::ElicitationCapabilities::new()
        .form(v2::ElicitationFormCapabilities::new())
        .url(v2::ElicitationUrlCapabilities::new());
    let login = v2::ClientAuthCapabilities::new().terminal(v2::TerminalAuthCapabilities::new());
    v2::ClientCapabilities::new()
        .elicitation(ours.elicitation.then_some(elicitation))
        .auth(ours.terminal_login.then_some(login))
}

fn directories(place: &SessionParams, agent: AgentCapabilities) -> Vec<PathBuf> {
    if agent.has(Capability::Directories) { place.directories.clone() } else { Vec::new() }
}

fn mcp_servers(place: &SessionParams, agent: AgentCapabilities) -> Vec<v2::McpServer> {
    place.mcp_servers.iter().filter_map(|server| mcp_server(server, agent)).collect()
}

fn mcp_server(server: &McpServer, agent: AgentCapabilities) -> Option<v2::McpServer> {
    match server {
        McpServer::Stdio { name, command, args, env } if agent.has(Capability::McpStdio) => {
            let env = env.iter().map(|(name, value)| v2::EnvVariable::new(name, value)).collect();
            let server = v2::McpServerStdio::new(name, command.clone()).args(args.clone()).env(env);
            Some(v2::McpServer::Stdio(server))
        }
        McpServer::Http { name, url, headers } if agent.has(Capability::McpHttp) => {
            let headers = headers.iter().map(|(name, value)| v2::HttpHeader::new(name, value));
            let server = v2::McpServerHttp::new(name, url).headers(headers.collect());
            Some(v2::McpServer::Http(server))
        }
        other => {
            let name = other.name();
            tracing::warn!(target: "acp", "MCP server {name} skipped: the agent does not support its transport");
            None
        }
    }
}

/// Encodes a content block of a prompt. Blocks of an unknown kind are not sent.
fn block(content: &Content) -> Option<v2::ContentBlock> {
    Some(match content {
        Content::Text(text) | Content::Marked { text, .. } => {
            v2::ContentBlock::Text(v2::TextContent::new(text))
        }
        Content::Image { mime, data, uri, .. } => {
            v2::ContentBlock::Image(v2::ImageContent::new(data, mime.as_str()).uri(uri.clone()))
        }
        Content::Audio { mime, data, .. } => {
            v2::ContentBlock::Audio(v2::AudioContent::new(data, mime.as_str()))
        }
        Content::ResourceLink { uri, name, mime, about } => {
            let link = v2::ResourceLink::new(name, uri).mime_type(media_type(mime.as_ref()));
            let notes = about.last_modified.clone();
            let notes = notes.map(|time| v2::Annotations::new().last_modified(time));
            v2::ContentBlock::ResourceLink(link.annotations(notes))
        }
        Content::Resource { uri, mime, text, .. } => {
            resource(v2::EmbeddedResourceResource::TextResourceContents(
                v2::TextResourceContents::new(text, uri).mime_type(media_type(mime.as_ref())),
            ))
        }
        Content::Blob { uri, mime, data, .. } => {
            resource(v2::EmbeddedResourceResource::BlobResourceContents(
                v2::BlobResourceContents::new(data, uri).mime_type(media_type(mime.as_ref())),
            ))
        }
        Content::Unknown { .. } => return None,
    })
}

fn resource(contents: v2::EmbeddedResourceResource) -> v2::ContentBlock {
    v2::ContentBlock::Resource(v2::EmbeddedResource::new(contents))
}

fn media_type(mime: Option<&String>) -> Option<v2::MediaType> {
    mime.map(v2::MediaType::from)
}
