//! Forms and addresses to and from the editor: what `lua/rat/form.lua` is handed, and what it sends. It checks nothing.

use super::data::{Data, map};
use super::decode::Fields;
use super::encode::labels;
use crate::core::elicitation::{Choice, News};
use crate::core::event::{ChatId, UserAction};
use crate::core::status::WaitingElicitation;
use crate::session::address::Page;
use crate::session::elicitation::{Field, Form, Given, Kind, Problem, Wants};
use rmpv::Value;

/// The kind and the payload of a message.
pub(super) fn message(chat: ChatId, id: u64, news: News) -> (&'static str, Data) {
    let about = [("chat", chat.0.into()), ("id", id.into())];
    match news {
        News::Asked(message, wants) => ("elicitation", asked(about, message, wants)),
        News::Problems(all) => {
            let [chat, id] = about;
            ("problems", map([chat, id, ("problems", problems(all))]))
        }
        News::Open(url) => {
            let [chat, id] = about;
            // Parsed and in ASCII: it is opened as it stands there.
            ("browse", map([chat, id, ("url", Data::handle(url))]))
        }
    }
}

fn asked(about: [(&'static str, Data); 2], message: String, wants: Wants) -> Data {
    let [chat, id] = about;
    let mode = ("mode", Data::word(wants.mode()));
    let message = ("message", Data::prose(message));
    match wants {
        Wants::Form(Form { title, description, fields }) => map([
            chat,
            id,
            mode,
            message,
            ("title", Data::optional(title, Data::label)),
            ("description", Data::optional(description, Data::prose)),
            ("fields", Data::list(fields.into_iter().map(field))),
        ]),
        Wants::Address(_, Page { url, host, warnings }) => map([
            chat,
            id,
            mode,
            message,
            ("url", Data::label(url)),
            ("host", Data::label(host)),
            ("warnings", labels(warnings)),
        ]),
    }
}

fn field(field: Field) -> Data {
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
            ("value", Data::handle(&choice.value)),
            ("name", Data::label(&choice.name)),
            ("description", Data::optional(choice.description.as_deref(), Data::label)),
        ])
    });
    map([
        ("key", Data::handle(&field.key)),
        ("title", Data::label(&field.title)),
        ("description", Data::optional(field.description.as_deref(), Data::prose)),
        ("required", field.required.into()),
        ("kind", Data::word(kind)),
        ("allows", Data::prose(field.kind.allows())),
        ("choices", Data::list(choices)),
        ("value", field.default.map_or(Data::NIL, |value| given(&field.kind, value))),
    ])
}

/// What stands in a field at first: the text of one is shown and edited, the values of choices come back as they are.
fn given(kind: &Kind, given: Given) -> Data {
    match given {
        Given::Text(text) if matches!(kind, Kind::Choice(_)) => Data::handle(text),
        Given::Text(text) => Data::prose(text),
        Given::Flag(flag) => flag.into(),
        Given::Several(values) => Data::list(values.into_iter().map(Data::handle)),
    }
}

fn problems(problems: Vec<Problem>) -> Data {
    let problem =
        |(key, line): Problem| map([("key", Data::handle(key)), ("line", Data::label(line))]);
    Data::list(problems.into_iter().map(problem))
}

/// Those that wait, for the status.
pub(super) fn waiting(all: Vec<WaitingElicitation>) -> Data {
    let one = |it: WaitingElicitation| {
        let message = Data::label(it.message);
        map([("id", it.id.into()), ("mode", Data::word(it.mode)), ("message", message)])
    };
    Data::list(all.into_iter().map(one))
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
