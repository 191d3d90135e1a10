//! The messages of MCP, as far as a server of tools needs them: `initialize`, `ping`, `tools/list`, `tools/call` and
//! `notifications/cancelled`. The pipe answers by them, too, where there is no bridge.

use super::listing;
use crate::core::messages::tools::{ToolAnswer, UserTool};
use crate::jsonrpc::incoming::{Message, parse};
use crate::jsonrpc::outgoing;
use crate::session::label;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The versions of MCP that are spoken, which differ in nothing that is used here. The last one is proposed to who asks for
/// another.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// How much of what an agent calls something is repeated to it, in characters.
const MAX_NAME: usize = 200;

/// JSON-RPC `method not found`.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC `invalid params`.
const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC `parse error`.
const PARSE_ERROR: i64 = -32700;

/// The longest line that is taken, in bytes. It is more than the longest arguments, so that who sends too many is told.
pub(super) const LONGEST: usize = 16 << 20;

/// The longest arguments of a call, in bytes.
const LONGEST_ARGUMENTS: usize = 1 << 20;

/// What to do about a message.
#[derive(Debug)]
pub(super) enum Reaction<'a> {
    /// Send this.
    Reply(String),
    /// Call a tool.
    Call(CallRequest<'a>),
    /// Withdraw the call with this id.
    Cancel(Box<RawValue>),
    /// Nothing.
    Nothing,
}

/// A call of a tool (MCP `tools/call`).
#[derive(Debug)]
pub(super) struct CallRequest<'a> {
    /// The id to answer with.
    pub(super) id: &'a RawValue,
    /// The name of the tool.
    pub(super) name: String,
    /// Its arguments.
    pub(super) arguments: Value,
    /// What the agent says about the call (MCP `_meta`).
    pub(super) meta: Value,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelParams {
    request_id: Box<RawValue>,
}

/// Decides on a message.
pub(super) fn react<'a>(line: &'a str, own: &[UserTool]) -> Reaction<'a> {
    let (id, method, params) = match parse(line) {
        Ok(Message::Request { id, method, params }) => (id, method, params),
        Ok(Message::Notification { method, params }) => {
            let cancelled = params.filter(|_| method == "notifications/cancelled");
            let cancelled = cancelled.and_then(|it| serde_json::from_str(it.get()).ok());
            return cancelled
                .map_or(Reaction::Nothing, |it: CancelParams| Reaction::Cancel(it.request_id));
        }
        // We make no requests.
        Ok(Message::Response { .. }) => return Reaction::Nothing,
        Err(why) => {
            tracing::debug!(target: "mcp", %why, "a line is no message");
            return Reaction::Nothing;
        }
    };
    match &*method {
        "initialize" => Reaction::Reply(result(id, &initialized(params))),
        "ping" => Reaction::Reply(result(id, &json!({}))),
        "tools/list" => Reaction::Reply(result(id, &listing::tools(own))),
        "tools/call" => call(id, params),
        _ => Reaction::Reply(error(
            id,
            METHOD_NOT_FOUND,
            &format!("there is no method {}", label::short(&method, MAX_NAME)),
        )),
    }
}

fn call<'a>(id: &'a RawValue, params: Option<&'a RawValue>) -> Reaction<'a> {
    let parsed = params.map(|params| serde_json::from_str::<CallParams<'_>>(params.get()));
    let Some(Ok(CallParams { name, arguments, meta })) = parsed else {
        return Reaction::Reply(error(id, INVALID_PARAMS, "a call needs the name of a tool"));
    };
    let arguments = arguments.map_or("{}", RawValue::get);
    if arguments.len() > LONGEST_ARGUMENTS {
        let (bytes, most) = (arguments.len(), LONGEST_ARGUMENTS);
        let why =
            format!("the arguments have {bytes} bytes, but {most} is the limit: nothing was done");
        return Reaction::Reply(called(id, &ToolAnswer::error(why)));
    }
    let arguments = serde_json::from_str(arguments).unwrap_or_default();
    Reaction::Call(CallRequest { id, name: name.into_owned(), arguments, meta })
}

fn initialized(params: Option<&RawValue>) -> Value {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Params {
        protocol_version: Option<String>,
    }
    let params: Params =
        params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
    let [.., latest] = VERSIONS;
    let known = |version: &String| VERSIONS.contains(&version.as_str());
    json!({
        "protocolVersion": params.protocol_version.filter(known).unwrap_or_else(|| latest.to_owned()),
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "rat.nvim", "version": env!("CARGO_PKG_VERSION") },
        "instructions": listing::INSTRUCTIONS,
    })
}

/// The reply to a call.
pub(super) fn called(id: &RawValue, answer: &ToolAnswer) -> String {
    let content = json!([{ "type": "text", "text": answer.text }]);
    result(id, &json!({ "content": content, "isError": answer.is_error }))
}

/// Tells the agent that there are other tools now.
pub(super) fn list_changed() -> String {
    outgoing::notification("notifications/tools/list_changed", &json!({})).unwrap_or_default()
}

/// The answer to a line that is too long to be read.
pub(super) fn too_long(bytes: usize) -> String {
    let why = format!("a line of {bytes} bytes is too long: {LONGEST} is the limit");
    outgoing::error(Value::Null, &json!({ "code": PARSE_ERROR, "message": why }))
        .unwrap_or_default()
}

fn result(id: &RawValue, result: &Value) -> String {
    // JSON that was parsed serializes.
    outgoing::result(id, result).unwrap_or_default()
}

fn error(id: &RawValue, code: i64, message: &str) -> String {
    outgoing::error(id, &json!({ "code": code, "message": message })).unwrap_or_default()
}
