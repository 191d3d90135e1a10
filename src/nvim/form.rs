//! Forms and addresses to and from the editor: what `lua/rat/form.lua` is handed, and what it sends. It checks nothing.

use super::decode::Fields;
use super::encode::{map, optional, strings};
use crate::core::elicitation::{Choice, News};
use crate::core::event::{ChatId, UserAction};
use crate::core::status::WaitingElicitation;
use crate::session::address::Page;
use crate::session::elicitation::{Field, Form, Given, Kind, Problem, Wants};
use rmpv::Value;

/// The kind and the payload of a message.
pub(super) fn message(chat: ChatId, id: u64, news: News) -> (&'static str, Value) {
    let about = [("chat", chat.0.into()), ("id", id.into())];
    let (kind, fields) = match news {
        News::Asked(message, wants) => ("elicitation", asked(message, wants)),
        News::Problems(problems) => ("problems", map([("problems", self::problems(problems))])),
        News::Open(url) => ("browse", map([("url", url.into())])),
    };
    match (map(about), fields) {
        (Value::Map(mut about), Value::Map(fields)) => {
            about.extend(fields);
            (kind, Value::Map(about))
        }
        (_, fields) => (kind, fields),
    }
}

fn asked(message: String, wants: Wants) -> Value {
    let mode = ("mode", wants.mode().into());
    let message = ("message", message.into());
    match wants {
        Wants::Form(Form { title, description, fields }) => map([
            mode,
            message,
            ("title", optional(title)),
            ("description", optional(description)),
            ("fields", Value::Array(fields.into_iter().map(field).collect())),
        ]),
        Wants::Address(_, Page { url, host, warnings }) => map([
            mode,
            message,
            ("url", url.into()),
            ("host", host.into()),
            ("warnings", strings(warnings)),
        ]),
    }
}

fn field(field: Field) -> Value {
    let kind = match &field.kind {
        Kind::Text { .. } => "text",
        Kind::Integer(..) | Kind::Number(..) => "number",
        Kind::Choice(_) => "choice",
        Kind::Boolean => "boolean",
        Kind::Several { .. } => "several",
        Kind::Unknown(_) => "unknown",
    };
    let choices = field.kind.choices().iter().map(|choice| {
        map([
            ("value", choice.value.as_str().into()),
            ("name", choice.name.as_str().into()),
            ("description", optional(choice.description.as_deref())),
        ])
    });
    map([
        ("key", field.key.into()),
        ("title", field.title.into()),
        ("description", optional(field.description)),
        ("required", field.required.into()),
        ("kind", kind.into()),
        ("allows", field.kind.allows().into()),
        ("choices", Value::Array(choices.collect())),
        ("value", field.default.map_or(Value::Nil, given)),
    ])
}

fn given(given: Given) -> Value {
    match given {
        Given::Text(text) => text.into(),
        Given::Flag(flag) => flag.into(),
        Given::Several(values) => strings(values),
    }
}

fn problems(problems: Vec<Problem>) -> Value {
    let problem = |(key, line): Problem| map([("key", key.into()), ("line", line.into())]);
    Value::Array(problems.into_iter().map(problem).collect())
}

/// Those that wait, for the status.
pub(super) fn waiting(all: Vec<WaitingElicitation>) -> Value {
    let one = |it: WaitingElicitation| {
        map([("id", it.id.into()), ("mode", it.mode.into()), ("message", it.message.into())])
    };
    Value::Array(all.into_iter().map(one).collect())
}

/// What the user does with one.
pub(super) fn action(fields: &Fields<'_>) -> Result<UserAction, String> {
    let chat = fields.number("chat").and_then(|id| u32::try_from(id).ok());
    let choice = match fields.text("action")?.as_str() {
        "check" => Choice::Check(entered(fields)),
        "accept" => Choice::Accept(entered(fields)),
        "decline" => Choice::Decline,
        "cancel" => Choice::Cancel,
        other => return Err(format!("elicitation: nothing is called {other}")),
    };
    Ok(UserAction::Elicitation {
        chat: chat.map(ChatId).ok_or("elicitation: no chat")?,
        id: fields.number("id").ok_or("elicitation: no id")?,
        choice,
    })
}

/// What is entered; a field without a value is none.
fn entered(fields: &Fields<'_>) -> Vec<(String, Given)> {
    let one = |value: &Value| {
        let one = Fields { value, name: "field" };
        let given = match one.get("value")? {
            Value::Boolean(flag) => Given::Flag(*flag),
            Value::Array(_) => Given::Several(one.texts("value")),
            // Lua's empty table may be either.
            Value::Map(_) => Given::Several(Vec::new()),
            _ => Given::Text(one.text("value").ok()?),
        };
        Some((one.text("key").ok()?, given))
    };
    fields.list("entered").iter().filter_map(one).collect()
}
