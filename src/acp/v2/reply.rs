//! Decodes the agents' answers to our calls.

use crate::acp::dialect::CallKind;
use crate::acp::fields::{Fields, json};
use crate::acp::options;
use crate::acp::quirks;
use crate::acp::v1::reply;
use crate::core::messages::agent::{CallError, Reply};
use crate::session::agent::{AgentCapabilities, AgentInfo, Capability};
use crate::session::ids::SessionId;
use crate::session::prompt::PromptCapabilities;
use crate::session::protocol::Protocol;
use crate::session::update::Update;

/// What every agent with sessions has to support.
const BASELINE: [Capability; 4] =
    [Capability::Load, Capability::Resume, Capability::List, Capability::Close];

/// Decodes a result. The answer to a prompt only says that it was received.
pub fn decode(kind: CallKind, result: &str) -> Result<Reply, CallError> {
    match kind {
        CallKind::Prompt => {
            let mut fields = json(result).and_then(Fields::of).unwrap_or_default();
            Ok(Reply::PromptReceived { message: fields.text("messageId").map(Into::into) })
        }
        _ => reply::decode(kind, result),
    }
}

/// Decodes the commands in a result that opens a session, with the session if the result names one. `None` if there are none.
pub(super) fn commands(result: &str) -> Option<(Option<SessionId>, Update)> {
    let mut fields = json(result).and_then(Fields::of)?;
    let session = fields.text("sessionId").map(Into::into);
    Some((session, Update::Commands(options::commands(&mut fields)?)))
}

/// Decodes what an agent says about itself in its answer to `initialize`.
pub fn initialized(mut fields: Fields) -> AgentInfo {
    let mut about = fields.object("info").unwrap_or_default();
    let name = about.text("name");
    let auth_methods: Vec<_> = fields
        .objects("authMethods")
        .into_iter()
        .flatten()
        .filter_map(reply::auth_method)
        .collect();
    let capabilities = capabilities(fields.object("capabilities").unwrap_or_default());
    AgentInfo {
        protocol: Some(Protocol::V2),
        quirks: quirks::of_agent(name.as_deref().unwrap_or_default()),
        current_session: None,
        name,
        title: about.text("title"),
        version: about.text("version"),
        // An agent with ways to log in has `auth/logout`, too.
        capabilities: capabilities.with(Capability::Logout, !auth_methods.is_empty()),
        auth_methods,
    }
}

/// Decodes the capabilities of an agent: what is supported is an object.
fn capabilities(mut fields: Fields) -> AgentCapabilities {
    let Some(mut session) = fields.object("session") else { return AgentCapabilities::default() };
    let mut prompt = session.object("prompt").unwrap_or_default();
    let mut mcp = session.object("mcp").unwrap_or_default();
    let prompt = PromptCapabilities {
        image: prompt.marker("image"),
        audio: prompt.marker("audio"),
        embedded: prompt.marker("embeddedContext"),
    };
    let others = [
        (Capability::Fork, session.marker("fork")),
        (Capability::Delete, session.marker("delete")),
        (Capability::Directories, session.marker("additionalDirectories")),
        (Capability::McpStdio, mcp.marker("stdio")),
        (Capability::McpHttp, mcp.marker("http")),
    ];
    let baseline = BASELINE.map(|capability| (capability, true));
    let all = AgentCapabilities::taking(prompt);
    let others = baseline.into_iter().chain(others);
    others.fold(all, |all, (capability, can)| all.with(capability, can))
}
