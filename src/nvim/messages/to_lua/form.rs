//! Messages about elicitations, for `lua/rat/ask/form.lua`.

use super::Chat;
use crate::nvim::text::{Handle, Label, Prose, Word, each};
use crate::session::address::Page;
use crate::session::elicitation::{self, ElicitationKind, FieldValue, Form};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// A form or a URL that waits for the user.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct ElicitationRequest {
    /// The chat.
    chat: Chat,
    /// Our number of the elicitation.
    id: u64,
    /// `form` or `url`.
    mode: Word,
    /// Why the agent asks.
    message: Prose,
    /// For a form: its title.
    title: Option<Label>,
    /// For a form: its description.
    description: Option<Prose>,
    /// For a form: its fields, in the agent's order.
    fields: Option<Vec<Field>>,
    /// For a URL: the complete URL.
    url: Option<Label>,
    /// For a URL: the host.
    host: Option<Label>,
    /// For a URL: warnings, one line each.
    warnings: Option<Vec<Label>>,
}

/// A field of a form.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Field {
    /// The key of its value.
    key: Handle,
    /// The title.
    title: Label,
    /// The description.
    description: Option<Prose>,
    /// Whether a value is required.
    required: bool,
    /// The kind of value.
    kind: EntryKind,
    /// A description of the valid values.
    allows: Prose,
    /// The choices.
    choices: Vec<FieldChoice>,
    /// The initial value.
    value: Option<FirstValue>,
}

/// The kind of value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum EntryKind {
    Text,
    Number,
    Choice,
    Boolean,
    Several,
    /// A kind we do not know, which is entered as text.
    Unknown,
}

/// A choice of a field.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct FieldChoice {
    /// The value to return.
    value: Handle,
    /// What the user sees.
    name: Label,
    /// A description.
    description: Option<Label>,
}

/// The value of a field. Text is shown and can be edited; the values of choices are returned unchanged.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub(in crate::nvim) enum FirstValue {
    Text(Prose),
    Choice(Handle),
    Flag(bool),
    Several(Vec<Handle>),
}

/// The problems with the entered values; an empty list if they are valid.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct FormProblems {
    /// The chat.
    chat: Chat,
    /// Our number of the form.
    id: u64,
    /// The problems, one for each field that has one.
    problems: Vec<Problem>,
}

/// What is wrong with the value of a field.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Problem {
    /// The field's key.
    key: Handle,
    /// The problem in one line.
    line: Label,
}

/// A URL that the user has agreed to open.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Browse {
    /// The chat.
    chat: Chat,
    /// Our number of the elicitation.
    id: u64,
    /// The URL in ASCII, to be opened unchanged.
    url: Handle,
}

impl ElicitationRequest {
    pub(super) fn new(chat: Chat, id: u64, message: &str, wants: ElicitationKind) -> Self {
        let of = Self {
            chat,
            id,
            mode: Word::new(wants.mode()),
            message: Prose::new(message),
            title: None,
            description: None,
            fields: None,
            url: None,
            host: None,
            warnings: None,
        };
        match wants {
            ElicitationKind::Form(Form { title, description, fields }) => Self {
                title: title.map(Label::new),
                description: description.map(Prose::new),
                fields: Some(each(fields, Into::into)),
                ..of
            },
            ElicitationKind::Url(_, Page { url, host, warnings }) => Self {
                url: Some(Label::new(url)),
                host: Some(Label::new(host)),
                warnings: Some(each(warnings, Label::new)),
                ..of
            },
        }
    }
}

impl From<elicitation::Field> for Field {
    fn from(field: elicitation::Field) -> Self {
        let kind = match &field.kind {
            elicitation::Kind::Text { .. } => EntryKind::Text,
            elicitation::Kind::Integer(..) | elicitation::Kind::Number(..) => EntryKind::Number,
            elicitation::Kind::Choice(_) => EntryKind::Choice,
            elicitation::Kind::Boolean => EntryKind::Boolean,
            elicitation::Kind::Several { .. } => EntryKind::Several,
            elicitation::Kind::Unknown(_) => EntryKind::Unknown,
        };
        let choices = each(field.kind.choices(), |choice| FieldChoice {
            value: Handle::new(choice.value.clone()),
            name: Label::new(&choice.name),
            description: choice.description.as_deref().map(Label::new),
        });
        Self {
            key: Handle::new(field.key),
            title: Label::new(field.title),
            description: field.description.map(Prose::new),
            required: field.required,
            kind,
            allows: Prose::new(field.kind.allows()),
            choices,
            value: field.default.map(|given| match given {
                FieldValue::Text(text) if kind == EntryKind::Choice => {
                    FirstValue::Choice(Handle::new(text))
                }
                FieldValue::Text(text) => FirstValue::Text(Prose::new(text)),
                FieldValue::Flag(flag) => FirstValue::Flag(flag),
                FieldValue::Several(values) => FirstValue::Several(each(values, Handle::new)),
            }),
        }
    }
}

impl FormProblems {
    pub(super) fn new(chat: Chat, id: u64, problems: Vec<elicitation::Problem>) -> Self {
        let problem = |(key, line): elicitation::Problem| Problem {
            key: Handle::new(key),
            line: Label::new(line),
        };
        Self { chat, id, problems: each(problems, problem) }
    }
}

impl Browse {
    pub(super) fn new(chat: Chat, id: u64, url: String) -> Self {
        Self { chat, id, url: Handle::new(url) }
    }
}
