//! From our words to msgpack: what `lua/rat/ui.lua` and `lua/rat/inbox.lua` are handed.

mod content;

use super::data::{Data, map};
use crate::core::effect::{Happened, Level, Page, Scratch, SessionItem, ToEditor, View};
use crate::core::event::{ChatId, SessionAct};
use crate::core::status::{Status, WaitingPermission};
use crate::session::ids::SessionId;
use crate::session::label;
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
    Data::list(frame.into_iter().map(message)).into_value()
}

fn message(message: ToEditor) -> Data {
    let (kind, payload) = match message {
        ToEditor::Chat { chat, agent, title, cwd, show, focus } => (
            "chat",
            map([
                ("chat", chat.0.into()),
                ("agent", Data::handle(agent)),
                ("title", Data::label(title)),
                ("cwd", Data::path(&cwd)),
                ("show", show.into()),
                ("focus", focus.into()),
            ]),
        ),
        ToEditor::Status(status) => ("status", self::status(*status)),
        ToEditor::Draw { chat, view, reset, patch } => (
            "draw",
            map([
                ("chat", chat.0.into()),
                ("view", Data::word(self::view(view))),
                ("ops", ops(reset, patch)),
            ]),
        ),
        ToEditor::Notify(level, text) => {
            let level = match level {
                Level::Info => "info",
                Level::Warn => "warn",
                Level::Error => "error",
            };
            ("notify", map([("level", Data::word(level)), ("text", Data::label(text))]))
        }
        ToEditor::Autocommand(happened) => ("event", self::happened(happened)),
        ToEditor::Elicitation(chat, id, news) => super::form::message(chat, id, news),
        ToEditor::Ask { id, chat, title, items, by_user, lasting } => (
            "ask",
            map([
                ("id", id.into()),
                ("chat", chat.0.into()),
                ("title", Data::label(title)),
                ("items", labels(items)),
                ("by_user", by_user.into()),
                ("lasting", lasting.into()),
            ]),
        ),
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
                ("terminal", Data::handle(terminal)),
                ("title", Data::label(title)),
                ("open", open.into()),
                ("bytes", Data::terminal(bytes)),
            ]),
        ),
        ToEditor::Draft(chat, Prompt { text, attachments }) => (
            "draft",
            map([
                ("chat", chat.0.into()),
                ("text", Data::buffer(text)),
                ("attachments", Data::list(attachments.into_iter().map(attachment))),
            ]),
        ),
        ToEditor::Login { chat, title, command, env, cwd, by_user } => {
            ("login", login(chat, title, command, env, &cwd, by_user))
        }
        ToEditor::Options(chat, options) => {
            let options = Data::list(options.into_iter().map(config_option));
            ("options", map([("chat", chat.0.into()), ("options", options)]))
        }
        ToEditor::Meta { chat, session, meta } => ("meta", self::meta(chat, session, meta)),
        ToEditor::Commands(chat, commands) => ("commands", self::commands(chat, commands)),
        ToEditor::Diff { chat, request, title, files } => {
            ("diff", diff(chat, request, title, files))
        }
    };
    Data::list([Data::word(kind), payload])
}

fn scratch(scratch: Scratch) -> Data {
    let (kind, id) = match scratch.page {
        Page::Info => ("info", Data::NIL),
        Page::Trace => ("trace", Data::NIL),
        Page::Output(tool_call) => ("output", Data::handle(tool_call)),
        Page::Content(content) => ("content", Data::handle(content.encode())),
    };
    map([
        ("chat", scratch.chat.0.into()),
        ("kind", Data::word(kind)),
        ("id", id),
        ("title", Data::label(scratch.title)),
        ("filetype", Data::word(scratch.filetype)),
        ("like", Data::optional(scratch.like, Data::label)),
        ("more", scratch.more.into()),
        ("lines", Data::list(scratch.text.lines().map(Data::buffer))),
        ("focus", true.into()),
    ])
}

fn meta(chat: ChatId, session: Option<SessionId>, meta: Meta) -> Data {
    map([
        ("chat", chat.0.into()),
        ("session_id", Data::optional(session, Data::handle)),
        ("kind", Data::handle(meta.kind)),
        ("id", Data::optional(meta.id, Data::handle)),
        ("json", Data::optional(meta.json, Data::handle)),
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
) -> Data {
    let env = env.into_iter().map(|(name, value)| (name, Data::handle(value)));
    map([
        ("chat", chat.0.into()),
        ("title", Data::label(title)),
        ("command", Data::list(command.into_iter().map(Data::handle))),
        ("env", Data::pairs(env)),
        ("cwd", Data::path(cwd)),
        ("by_user", by_user.into()),
    ])
}

fn diff(chat: ChatId, request: Option<u64>, title: String, files: Vec<Diff>) -> Data {
    let files = files.into_iter().map(|file| {
        map([
            ("path", Data::path_label(&file.path)),
            ("old", Data::buffer(file.old.unwrap_or_default())),
            ("new", Data::buffer(file.new)),
        ])
    });
    map([
        ("chat", chat.0.into()),
        ("id", request.into()),
        ("title", Data::label(title)),
        ("files", Data::list(files)),
    ])
}

fn config_option(option: ConfigOption) -> Data {
    let (kind, current, choices) = match option.value {
        OptionValue::Boolean(on) => {
            ("boolean", Data::word(if on { "on" } else { "off" }), Vec::new())
        }
        OptionValue::Select { current, choices } => ("select", Data::handle(current), choices),
    };
    let choices = choices.into_iter().map(|choice| {
        map([
            ("value", Data::handle(choice.value)),
            ("name", Data::label(choice.name)),
            ("description", Data::optional(choice.description, Data::label)),
            ("group", Data::optional(choice.group, Data::label)),
        ])
    });
    map([
        ("id", Data::handle(option.id)),
        ("name", Data::label(option.name)),
        ("description", Data::optional(option.description, Data::label)),
        ("category", Data::optional(option.category, Data::handle)),
        ("type", Data::word(kind)),
        ("current", current),
        ("choices", Data::list(choices)),
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

fn sessions(act: SessionAct, cwd: &Path, items: Vec<SessionItem>, more: bool) -> Data {
    map([
        ("act", Data::word(session_act(act))),
        ("cwd", Data::path(cwd)),
        ("items", Data::list(items.into_iter().map(session))),
        ("more", more.into()),
    ])
}

fn session(item: SessionItem) -> Data {
    let title = item.title.filter(|title| !title.trim().is_empty());
    map([
        ("agent", Data::handle(item.agent)),
        ("session", Data::handle(&item.id)),
        ("title", Data::label(title.as_deref().unwrap_or(item.id.as_str()))),
        ("used_at", item.used_at.into()),
        ("updated_at", Data::optional(item.updated_at, Data::label)),
        ("chat", item.chat.map(|chat| chat.0).into()),
        ("elsewhere", item.open_elsewhere.into()),
    ])
}

/// A command whose name would be shown as another is none that the user could type.
fn commands(chat: ChatId, commands: Vec<Command>) -> Data {
    let commands = commands.into_iter().filter(|command| label::is_plain(&command.name));
    let commands = commands.map(|command| {
        map([
            ("name", Data::label(command.name)),
            ("description", Data::prose(command.description)),
            ("hint", Data::optional(command.hint, Data::label)),
        ])
    });
    map([("chat", chat.0.into()), ("commands", Data::list(commands))])
}

fn attachment(attachment: Attachment) -> Data {
    let (first, last) = attachment.lines.unzip();
    let (key, body) = match attachment.body {
        Body::Text(text) => ("text", Data::buffer(text)),
        Body::File(path) => ("path", Data::path(&path)),
    };
    map([
        ("uri", Data::handle(attachment.uri)),
        ("label", Data::label(attachment.label)),
        ("first", first.into()),
        ("last", last.into()),
        ("mime", Data::optional(attachment.mime, Data::handle)),
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

fn ops(reset: bool, patch: Patch) -> Data {
    let first = reset.then(|| Data::list([Data::word("r")]));
    Data::list(first.into_iter().chain(patch.ops.into_iter().map(op)))
}

fn op(op: Op) -> Data {
    let looks = |looks: Vec<String>| Data::list(looks.into_iter().map(Data::handle));
    match op {
        Op::Lines { first, last, lines } => {
            let mut texts = Vec::with_capacity(lines.len());
            let mut all = Vec::with_capacity(lines.len());
            let mut prefixes = Vec::new();
            for (row, Line { text, look, prefix }) in lines.into_iter().enumerate() {
                texts.push(Data::buffer(text));
                all.push(look);
                if let Some((prefix, look)) = prefix {
                    let group = Data::handle(look.letter().to_string());
                    prefixes.extend([row.into(), Data::label(prefix), group]);
                }
            }
            let (texts, prefixes) = (Data::list(texts), Data::list(prefixes));
            Data::list([Data::word("l"), first.into(), last.into(), texts, looks(all), prefixes])
        }
        Op::Text { row, col, text, looks: all } => {
            let pieces = Data::list(text.split('\n').map(Data::buffer));
            Data::list([Data::word("t"), row.into(), col.into(), pieces, looks(all)])
        }
        Op::Looks { row, looks: all } => Data::list([Data::word("s"), row.into(), looks(all)]),
        Op::Fold { first, last } => Data::list([Data::word("f"), first.into(), last.into()]),
    }
}

fn status(status: Status) -> Data {
    let usage = status.usage.map_or(Data::NIL, |usage| {
        let (cost, unit) = usage.cost.unzip();
        map([
            ("used", usage.used.into()),
            ("size", usage.size.into()),
            ("cost", cost.into()),
            ("unit", Data::optional(unit, Data::label)),
        ])
    });
    let plan = status
        .plan
        .map_or(Data::NIL, |(done, total)| map([("done", done.into()), ("total", total.into())]));
    map([
        ("chat", status.chat.0.into()),
        ("agent", Data::handle(status.agent)),
        ("title", Data::label(status.title)),
        ("session_id", Data::optional(status.session, Data::handle)),
        ("state", Data::word(status.state.word())),
        ("detail", Data::optional(status.detail, Data::label)),
        ("queued", Data::list(status.queued.into_iter().map(Data::prose))),
        ("queue_paused", status.queue_paused.into()),
        ("permissions", Data::list(status.permissions.into_iter().map(permission))),
        ("elicitations", super::form::waiting(status.elicitations)),
        ("usage", usage),
        ("mode", Data::optional(status.mode, Data::label)),
        ("plan", plan),
    ])
}

fn permission(permission: WaitingPermission) -> Data {
    map([
        ("id", permission.id.into()),
        ("tool_call", Data::handle(permission.tool_call)),
        ("title", Data::label(permission.title)),
        ("kind", Data::word(permission.kind)),
        ("command", Data::optional(permission.command, Data::prose)),
        ("asks", Data::prose(permission.asks)),
        ("revision", permission.revision.into()),
        ("options", Data::list(permission.options.into_iter().map(option))),
        ("diffs", permission.diffs.into()),
    ])
}

fn option(option: PermissionOption) -> Data {
    let kind = match option.kind {
        OptionKind::AllowOnce => "allow_once",
        OptionKind::AllowAlways => "allow_always",
        OptionKind::RejectOnce => "reject_once",
        OptionKind::RejectAlways => "reject_always",
        OptionKind::Unknown => "unknown",
    };
    map([
        ("id", Data::handle(option.id)),
        ("name", Data::label(option.name)),
        ("kind", Data::word(kind)),
    ])
}

fn happened(happened: Happened) -> Data {
    let (name, data) = match happened {
        Happened::TurnStart(chat) => ("RatTurnStart", map([("chat", chat.0.into())])),
        Happened::TurnEnd(chat, reason) => {
            ("RatTurnEnd", map([("chat", chat.0.into()), ("stop_reason", Data::label(reason))]))
        }
        Happened::Permission(chat, id, title) => (
            "RatPermission",
            map([("chat", chat.0.into()), ("id", id.into()), ("title", Data::label(title))]),
        ),
        Happened::Elicitation(chat, id, mode) => (
            "RatElicitation",
            map([("chat", chat.0.into()), ("id", id.into()), ("mode", Data::word(mode))]),
        ),
        Happened::FileChanged(chat, change) => (
            "RatFileChanged",
            map([
                ("chat", chat.0.into()),
                ("path", Data::path(&change.path)),
                ("hunks", change.hunks.into()),
                ("conflicts", change.conflicts.into()),
                ("deleted", change.deleted.into()),
                ("via", Data::word(change.via)),
            ]),
        ),
        Happened::Error(chat, message) => {
            ("RatError", map([("chat", chat.0.into()), ("message", Data::label(message))]))
        }
    };
    map([("name", Data::word(name)), ("data", data)])
}

pub(super) fn labels(texts: Vec<String>) -> Data {
    Data::list(texts.into_iter().map(Data::label))
}
