//! Encodes our messages to agents as JSON lines without the newline, by means of the types of the schema crate.

use super::elicitation;
use crate::core::messages::call::{Call, SessionParams};
use crate::core::messages::effect::Answer;
use crate::jsonrpc::outgoing::{self, notification, request, result};
use crate::session::agent::{AgentCapabilities, Capability, ClientCapabilities, McpServer};
use crate::session::content::Content;
use crate::session::fork::ForkPoint;
use crate::session::ids::SessionId;
use crate::session::permission::Outcome;
use crate::session::terminal::TerminalExit;
use crate::session::update::OptionValue;
use agent_client_protocol_schema::{ProtocolVersion, v1};
use serde_json::value::RawValue;
use serde_json::{Error, json};
use std::path::PathBuf;

/// Encodes a call with the id `id`. Additional directories and MCP servers for which the agent lacks the capability are left
/// out.
pub fn call(id: i64, call: &Call, agent: AgentCapabilities) -> Result<String, Error> {
    let method = call.method();
    match call {
        Call::Initialize => request(id, method, &initialize(ClientCapabilities::default())),
        Call::Authenticate(auth) => {
            request(id, method, &v1::AuthenticateRequest::new(auth.to_string()))
        }
        Call::Logout => request(id, method, &v1::LogoutRequest::new()),
        Call::NewSession(place) => {
            let params = v1::NewSessionRequest::new(&place.cwd)
                .additional_directories(directories(place, agent))
                .mcp_servers(mcp_servers(place, agent));
            request(id, method, &params)
        }
        Call::Load(session, place) => {
            let params = v1::LoadSessionRequest::new(session.to_string(), &place.cwd)
                .additional_directories(directories(place, agent))
                .mcp_servers(mcp_servers(place, agent));
            request(id, method, &params)
        }
        Call::Resume(session, place) => {
            let params = v1::ResumeSessionRequest::new(session.to_string(), &place.cwd)
                .additional_directories(directories(place, agent))
                .mcp_servers(mcp_servers(place, agent));
            request(id, method, &params)
        }
        Call::List(cwd, cursor) => {
            let mut params = v1::ListSessionsRequest::new();
            (params.cwd, params.cursor) = (Some(cwd.clone()), cursor.clone());
            request(id, method, &params)
        }
        Call::Fork(ForkPoint { session, .. }, place) => {
            let params = v1::ForkSessionRequest::new(session.to_string(), &place.cwd)
                .additional_directories(directories(place, agent))
                .mcp_servers(mcp_servers(place, agent));
            request(id, method, &params)
        }
        Call::Delete(session) => {
            request(id, method, &v1::DeleteSessionRequest::new(session.to_string()))
        }
        Call::Close(session) => {
            request(id, method, &v1::CloseSessionRequest::new(session.to_string()))
        }
        Call::Prompt { session, blocks } => {
            let blocks = blocks.iter().filter_map(block).collect();
            request(id, method, &v1::PromptRequest::new(session.to_string(), blocks))
        }
        Call::SetOption { session, option, value } => {
            let value = match value {
                OptionValue::Boolean(value) => {
                    v1::SessionConfigOptionValue::Boolean { value: *value }
                }
                OptionValue::Select { current, .. } => {
                    v1::SessionConfigOptionValue::value_id(current.clone())
                }
            };
            let session = session.to_string();
            let params = v1::SetSessionConfigOptionRequest::new(session, option.clone(), value);
            request(id, method, &params)
        }
        Call::SetMode { session, mode } => {
            let params = v1::SetSessionModeRequest::new(session.to_string(), mode.clone());
            request(id, method, &params)
        }
        Call::SetModel { session, model } => {
            request(id, method, &json!({"sessionId": session.to_string(), "modelId": model}))
        }
    }
}

/// Encodes `session/cancel`.
pub fn cancel(session: &SessionId) -> Result<String, Error> {
    notification("session/cancel", &v1::CancelNotification::new(session.to_string()))
}

/// Encodes `$/cancel_request` for a call of ours.
pub fn withdraw(id: i64) -> Result<String, Error> {
    let params = v1::CancelRequestNotification::new(v1::RequestId::Number(id));
    notification("$/cancel_request", &params)
}

/// Encodes the answer to the agent's request with the id `id`.
pub fn answer(id: &RawValue, answer: &Answer) -> Result<String, Error> {
    match answer {
        Answer::Text(text) => result(id, &v1::ReadTextFileResponse::new(text.as_str())),
        Answer::Written => result(id, &v1::WriteTextFileResponse::new()),
        Answer::Permission(outcome) => {
            let outcome = match outcome {
                Outcome::Selected(option) => v1::RequestPermissionOutcome::Selected(
                    v1::SelectedPermissionOutcome::new(option.to_string()),
                ),
                Outcome::Cancelled => v1::RequestPermissionOutcome::Cancelled,
            };
            result(id, &v1::RequestPermissionResponse::new(outcome))
        }
        Answer::Terminal(terminal) => {
            result(id, &v1::CreateTerminalResponse::new(terminal.to_string()))
        }
        Answer::Output { text, truncated, exit } => {
            let exit = exit.as_ref().map(exit_status);
            let output = v1::TerminalOutputResponse::new(text.as_str(), *truncated);
            result(id, &output.exit_status(exit))
        }
        Answer::Exited(exit) => {
            result(id, &v1::WaitForTerminalExitResponse::new(exit_status(exit)))
        }
        Answer::Done => result(id, &v1::KillTerminalResponse::new()),
        Answer::Elicitation(action) => result(id, &elicitation::response(action)),
        Answer::Error { code, message } => {
            outgoing::error(id, &json!({ "code": code, "message": message }))
        }
    }
}

fn exit_status(exit: &TerminalExit) -> v1::TerminalExitStatus {
    v1::TerminalExitStatus::new().exit_code(exit.code).signal(exit.signal.clone())
}

/// Returns the params of `initialize`.
pub fn initialize(ours: ClientCapabilities) -> v1::InitializeRequest {
    let name = "rat.nvim";
    v1::InitializeRequest::new(ProtocolVersion::V1)
        .client_info(v1::Implementation::new(name, env!("CARGO_PKG_VERSION")).title(name))
        .client_capabilities(capabilities(ours))
}

/// Returns the capabilities to advertise, all of which are implemented. `terminal_output` makes agents send the output of the
/// commands that they run themselves.
fn capabilities(ours: ClientCapabilities) -> v1::ClientCapabilities {
    let files = v1::FileSystemCapabilities::new();
    let elicitation = v1::ElicitationCapabilities::new()
        .form(v1::ElicitationFormCapabilities::new())
        .url(v1::ElicitationUrlCapabilities::new());
    v1::ClientCapabilities::new()
        .fs(files.read_text_file(ours.files.read).write_text_file(ours.files.write))
        .terminal(ours.terminal)
        .meta(v1::Meta::from_iter([("terminal_output".to_owned(), true.into())]))
        .elicitation(ours.elicitation.then_some(elicitation))
        .auth(v1::AuthCapabilities::new().terminal(ours.terminal_login))
        .session(
            v1::ClientSessionCapabilities::new()
                .config_options(
                    v1::SessionConfigOptionsCapabilities::new()
                        .boolean(v1::BooleanConfigOptionCapabilities::new()),
                )
                .notices(v1::NoticeCapabilities::new())
                .compaction(v1::CompactionCapabilities::new()),
        )
}

fn directories(place: &SessionParams, agent: AgentCapabilities) -> Vec<PathBuf> {
    if agent.has(Capability::Directories) { place.directories.clone() } else { Vec::new() }
}

fn mcp_servers(place: &SessionParams, agent: AgentCapabilities) -> Vec<v1::McpServer> {
    place.mcp_servers.iter().filter_map(|server| mcp_server(server, agent)).collect()
}

fn mcp_server(server: &McpServer, agent: AgentCapabilities) -> Option<v1::McpServer> {
    match server {
        McpServer::Stdio { name, command, args, env } => {
            let env = env.iter().map(|(name, value)| v1::EnvVariable::new(name, value)).collect();
            let server = v1::McpServerStdio::new(name, command).args(args.clone()).env(env);
            Some(v1::McpServer::Stdio(server))
        }
        McpServer::Http { name, url, headers } if agent.has(Capability::McpHttp) => {
            let server = v1::McpServerHttp::new(name, url).headers(http_headers(headers));
            Some(v1::McpServer::Http(server))
        }
        McpServer::Sse { name, url, headers } if agent.has(Capability::McpSse) => {
            let server = v1::McpServerSse::new(name, url).headers(http_headers(headers));
            Some(v1::McpServer::Sse(server))
        }
        McpServer::Http { name, .. } | McpServer::Sse { name, .. } => {
            tracing::warn!(target: "acp", "MCP server {name} skipped: the agent does not support its transport");
            None
        }
    }
}

fn http_headers(headers: &[(String, String)]) -> Vec<v1::HttpHeader> {
    headers.iter().map(|(name, value)| v1::HttpHeader::new(name, value)).collect()
}

/// Encodes a content block of a prompt. Blocks of an unknown kind are not sent.
fn block(content: &Content) -> Option<v1::ContentBlock> {
    Some(match content {
        Content::Text(text) | Content::Marked { text, .. } => {
            v1::ContentBlock::Text(v1::TextContent::new(text))
        }
        Content::Image { mime, data, uri, .. } => {
            v1::ContentBlock::Image(v1::ImageContent::new(data, mime).uri(uri.clone()))
        }
        Content::Audio { mime, data, .. } => {
            v1::ContentBlock::Audio(v1::AudioContent::new(data, mime))
        }
        Content::ResourceLink { uri, name, mime, about } => {
            let link = v1::ResourceLink::new(name, uri).mime_type(mime.clone());
            let notes = about.last_modified.clone();
            let notes = notes.map(|time| v1::Annotations::new().last_modified(time));
            v1::ContentBlock::ResourceLink(link.annotations(notes))
        }
        Content::Resource { uri, mime, text, .. } => {
            resource(v1::EmbeddedResourceResource::TextResourceContents(
                v1::TextResourceContents::new(text, uri).mime_type(mime.clone()),
            ))
        }
        Content::Blob { uri, mime, data, .. } => {
            resource(v1::EmbeddedResourceResource::BlobResourceContents(
                v1::BlobResourceContents::new(data, uri).mime_type(mime.clone()),
            ))
        }
        Content::Unknown { .. } => return None,
    })
}

fn resource(contents: v1::EmbeddedResourceResource) -> v1::ContentBlock {
    v1::ContentBlock::Resource(v1::EmbeddedResource::new(contents))
}
