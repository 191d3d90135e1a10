//! From our words to msgpack: what `lua/rat/ui.lua` and `lua/rat/inbox.lua` are handed.

mod content;

use crate::core::effect::{Happened, Level, Page, Scratch, SessionItem, ToEditor, View};
use crate::core::event::{ChatId, SessionAct};
use crate::core::status::{Status, WaitingPermission};
use crate::session::ids::SessionId;
use crate::session::permission::{OptionKind, PermissionOption};
use crate::session::prompt::{Attachment, Body, Prompt};
use crate::session::tool_call::Diff;
use crate::session::update::{Command, ConfigOption, Meta, OptionValue};
use crate::view::line::Line;
use crate::view::patch::{Op, Patch};
use rmpv::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A frame as the batch `rat.ui.apply` takes: `{kind, payload}` pairs, in order.
pub fn frame(frame: Vec<ToEditor>) -> Value {
    Value::Array(frame.into_iter().map(message).collect())
}

fn message(message: ToEditor) -> Value {
    let (kind, payload) = match message {
        ToEditor::Chat { chat, agent, title, cwd, show, focus } => (
            "chat",
            map([
                ("chat", chat.0.into()),
                ("agent", agent.into()),
                ("title", title.into()),
                ("cwd", cwd.to_string_lossy().as_ref().into()),
                ("show", show.into()),
                ("focus", focus.into()),
            ]),
        ),
        ToEditor::Status(status) => ("status", self::status(*status)),
        ToEditor::Draw { chat, view, reset, patch } => (
            "draw",
            map([
                ("chat", chat.0.into()),
                ("view", self::view(view).into()),
                ("ops", ops(reset, patch)),
            ]),
        ),
        ToEditor::Notify(level, text) => {
            let level = match level {
                Level::Info => "info",
                Level::Warn => "warn",
                Level::Error => "error",
            };
            ("notify", map([("level", level.into()), ("text", text.into())]))
        }
        ToEditor::Autocommand(happened) => ("event", self::happened(happened)),
        ToEditor::Elicitation(chat, id, news) => super::form::message(chat, id, news),
        ToEditor::Ask { id, title, items } => {
            ("ask", map([("id", id.into()), ("title", title.into()), ("items", strings(items))]))
        }
        ToEditor::Sessions { act, cwd, items, more } => {
            ("sessions", sessions(act, &cwd, items, more))
        }
        ToEditor::Unask(id) => ("unask", map([("id", id.into())])),
        ToEditor::Scratch(scratch) => ("scratch", self::scratch(scratch)),
        ToEditor::Offer(offer) => ("offer", content::offer(*offer)),
        ToEditor::Exported { chat, id, path, exists, then } => {
            ("exported", content::exported(chat, &id, &path, exists, then))
        }
        ToEditor::Terminal { chat, terminal, title, open, bytes } => (
            "terminal",
            map([
                ("chat", chat.0.into()),
                ("terminal", terminal.as_str().into()),
                ("title", title.into()),
                ("open", open.into()),
                ("bytes", Value::Binary(bytes)),
            ]),
        ),
        ToEditor::Draft(chat, Prompt { text, attachments }) => {
            let attachments = Value::Array(attachments.into_iter().map(attachment).collect());
            let fields =
                [("chat", chat.0.into()), ("text", text.into()), ("attachments", attachments)];
            ("draft", map(fields))
        }
        ToEditor::Login { chat, title, command, env, cwd, by_user } => {
            ("login", login(chat, title, command, env, &cwd, by_user))
        }
        ToEditor::Options(chat, options) => {
            let options = options.into_iter().map(config_option).collect();
            ("options", map([("chat", chat.0.into()), ("options", Value::Array(options))]))
        }
        ToEditor::Meta { chat, session, meta } => ("meta", self::meta(chat, session, meta)),
        ToEditor::Commands(chat, commands) => ("commands", self::commands(chat, commands)),
        ToEditor::Diff { chat, request, title, files } => {
            ("diff", diff(chat, request, title, files))
        }
    };
    Value::Array(vec![kind.into(), payload])
}

fn scratch(scratch: Scratch) -> Value {
    let lines = scratch.text.lines().map(Value::from).collect();
    let (kind, id) = match scratch.page {
        Page::Info => ("info", None),
        Page::Trace => ("trace", None),
        Page::Output(tool_call) => ("output", Some(tool_call.to_string())),
        Page::Content(content) => ("content", Some(content.encode())),
    };
    map([
        ("chat", scratch.chat.0.into()),
        ("kind", kind.into()),
        ("id", optional(id)),
        ("title", scratch.title.into()),
        ("filetype", scratch.filetype.into()),
        ("like", optional(scratch.like)),
        ("more", scratch.more.into()),
        ("lines", Value::Array(lines)),
        ("focus", true.into()),
    ])
}

fn meta(chat: ChatId, session: Option<SessionId>, meta: Meta) -> Value {
    map([
        ("chat", chat.0.into()),
        ("session_id", optional(session.as_ref().map(SessionId::as_str))),
        ("kind", meta.kind.into()),
        ("id", optional(meta.id)),
        ("json", optional(meta.json)),
        ("size", meta.size.into()),
    ])
}

fn login(
    chat: ChatId,
    title: String,
    command: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: &Path,
    by_user: bool,
) -> Value {
    let env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    map([
        ("chat", chat.0.into()),
        ("title", title.into()),
        ("command", strings(command)),
        ("env", Value::Map(env)),
        ("cwd", cwd.to_string_lossy().as_ref().into()),
        ("by_user", by_user.into()),
    ])
}

fn diff(chat: ChatId, request: Option<u64>, title: String, files: Vec<Diff>) -> Value {
    let files = files.into_iter().map(|file| {
        map([
            ("path", file.path.to_string_lossy().as_ref().into()),
            ("old", file.old.unwrap_or_default().into()),
            ("new", file.new.into()),
        ])
    });
    map([
        ("chat", chat.0.into()),
        ("id", optional(request)),
        ("title", title.into()),
        ("files", Value::Array(files.collect())),
    ])
}

fn config_option(option: ConfigOption) -> Value {
    let (kind, current, choices) = match option.value {
        OptionValue::Boolean(on) => {
            ("boolean", Value::from(if on { "on" } else { "off" }), Vec::new())
        }
        OptionValue::Select { current, choices } => ("select", current.into(), choices),
    };
    let choices = choices.into_iter().map(|choice| {
        map([
            ("value", choice.value.into()),
            ("name", choice.name.into()),
            ("description", optional(choice.description)),
            ("group", optional(choice.group)),
        ])
    });
    map([
        ("id", option.id.into()),
        ("name", option.name.into()),
        ("description", optional(option.description)),
        ("category", optional(option.category)),
        ("type", kind.into()),
        ("current", current),
        ("choices", Value::Array(choices.collect())),
    ])
}

fn session_act(act: SessionAct) -> &'static str {
    match act {
        SessionAct::Open => "open",
        SessionAct::Fork => "fork",
        SessionAct::Close => "close",
        SessionAct::Delete => "delete",
    }
}

fn sessions(act: SessionAct, cwd: &Path, items: Vec<SessionItem>, more: bool) -> Value {
    map([
        ("act", session_act(act).into()),
        ("cwd", cwd.to_string_lossy().as_ref().into()),
        ("items", Value::Array(items.into_iter().map(session).collect())),
        ("more", more.into()),
    ])
}

fn session(item: SessionItem) -> Value {
    map([
        ("agent", item.agent.as_str().into()),
        ("session", item.id.as_str().into()),
        ("title", optional(item.title)),
        ("used_at", optional(item.used_at)),
        ("updated_at", optional(item.updated_at)),
        ("chat", optional(item.chat.map(|chat| chat.0))),
        ("elsewhere", item.open_elsewhere.into()),
    ])
}

fn commands(chat: ChatId, commands: Vec<Command>) -> Value {
    let commands = commands.into_iter().map(|command| {
        map([
            ("name", command.name.into()),
            ("description", command.description.into()),
            ("hint", optional(command.hint)),
        ])
    });
    map([("chat", chat.0.into()), ("commands", Value::Array(commands.collect()))])
}

fn attachment(attachment: Attachment) -> Value {
    let (first, last) = attachment.lines.unzip();
    let (key, body) = match attachment.body {
        Body::Text(text) => ("text", text.into()),
        Body::File(path) => ("path", path.to_string_lossy().as_ref().into()),
    };
    map([
        ("uri", attachment.uri.into()),
        ("label", attachment.label.into()),
        ("first", optional(first)),
        ("last", optional(last)),
        ("mime", optional(attachment.mime)),
        (key, body),
    ])
}

fn view(view: View) -> &'static str {
    match view {
        View::Chat => "chat",
        View::Plan => "plan",
        View::Tools => "tools",
    }
}

fn ops(reset: bool, patch: Patch) -> Value {
    let first = reset.then(|| Value::Array(vec!["r".into()]));
    Value::Array(first.into_iter().chain(patch.ops.into_iter().map(op)).collect())
}

fn op(op: Op) -> Value {
    Value::Array(match op {
        Op::Lines { first, last, lines } => {
            let mut texts = Vec::with_capacity(lines.len());
            let mut looks = Vec::with_capacity(lines.len());
            let mut prefixes = Vec::new();
            for (row, Line { text, look, prefix }) in lines.into_iter().enumerate() {
                texts.push(text.into());
                looks.push(look.into());
                if let Some((prefix, look)) = prefix {
                    prefixes.extend([row.into(), prefix.into(), look.letter().to_string().into()]);
                }
            }
            let (texts, looks) = (Value::Array(texts), Value::Array(looks));
            vec!["l".into(), first.into(), last.into(), texts, looks, Value::Array(prefixes)]
        }
        Op::Text { row, col, text, looks } => {
            let pieces = text.split('\n').map(Value::from).collect();
            vec!["t".into(), row.into(), col.into(), Value::Array(pieces), strings(looks)]
        }
        Op::Looks { row, looks } => vec!["s".into(), row.into(), strings(looks)],
        Op::Fold { first, last } => vec!["f".into(), first.into(), last.into()],
    })
}

fn status(status: Status) -> Value {
    let usage = status.usage.map(|usage| {
        let (cost, unit) = usage.cost.unzip();
        map([
            ("used", usage.used.into()),
            ("size", usage.size.into()),
            ("cost", optional(cost)),
            ("unit", optional(unit)),
        ])
    });
    let plan =
        status.plan.map(|(done, total)| map([("done", done.into()), ("total", total.into())]));
    let permissions = status.permissions.into_iter().map(permission).collect();
    map([
        ("chat", status.chat.0.into()),
        ("agent", status.agent.into()),
        ("title", status.title.into()),
        ("session_id", optional(status.session)),
        ("state", status.state.word().into()),
        ("detail", optional(status.detail)),
        ("queued", strings(status.queued)),
        ("queue_paused", status.queue_paused.into()),
        ("permissions", Value::Array(permissions)),
        ("elicitations", super::form::waiting(status.elicitations)),
        ("usage", optional(usage)),
        ("mode", optional(status.mode)),
        ("plan", optional(plan)),
    ])
}

fn permission(permission: WaitingPermission) -> Value {
    map([
        ("id", permission.id.into()),
        ("tool_call", permission.tool_call.into()),
        ("title", permission.title.into()),
        ("kind", permission.kind.into()),
        ("command", optional(permission.command)),
        ("options", Value::Array(permission.options.into_iter().map(option).collect())),
        ("diffs", permission.diffs.into()),
    ])
}

fn option(option: PermissionOption) -> Value {
    let kind = match option.kind {
        OptionKind::AllowOnce => "allow_once",
        OptionKind::AllowAlways => "allow_always",
        OptionKind::RejectOnce => "reject_once",
        OptionKind::RejectAlways => "reject_always",
        OptionKind::Unknown => "unknown",
    };
    map([("id", option.id.as_str().into()), ("name", option.name.into()), ("kind", kind.into())])
}

fn happened(happened: Happened) -> Value {
    let (name, data) = match happened {
        Happened::TurnStart(chat) => ("RatTurnStart", map([("chat", chat.0.into())])),
        Happened::TurnEnd(chat, reason) => {
            ("RatTurnEnd", map([("chat", chat.0.into()), ("stop_reason", reason.into())]))
        }
        Happened::Permission(chat, id, title) => (
            "RatPermission",
            map([("chat", chat.0.into()), ("id", id.into()), ("title", title.into())]),
        ),
        Happened::Elicitation(chat, id, mode) => (
            "RatElicitation",
            map([("chat", chat.0.into()), ("id", id.into()), ("mode", mode.into())]),
        ),
        Happened::FileChanged(chat, change) => (
            "RatFileChanged",
            map([
                ("chat", chat.0.into()),
                ("path", change.path.to_string_lossy().as_ref().into()),
                ("hunks", change.hunks.into()),
                ("conflicts", change.conflicts.into()),
                ("deleted", change.deleted.into()),
                ("via", change.via.into()),
            ]),
        ),
        Happened::Error(chat, message) => {
            ("RatError", map([("chat", chat.0.into()), ("message", message.into())]))
        }
    };
    map([("name", name.into()), ("data", data)])
}

pub(super) fn map<const N: usize>(fields: [(&str, Value); N]) -> Value {
    // A missing field and `vim.NIL` are different things in Lua: what is not there is left out.
    let there = fields.into_iter().filter(|(_, value)| !value.is_nil());
    Value::Map(there.map(|(name, value)| (name.into(), value)).collect())
}

pub(super) fn optional(value: Option<impl Into<Value>>) -> Value {
    value.map_or(Value::Nil, Into::into)
}

pub(super) fn strings(texts: Vec<String>) -> Value {
    Value::Array(texts.into_iter().map(Value::from).collect())
}
