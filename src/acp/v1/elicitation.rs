//! What agents ask the user to fill in or to open, and the user's answer on the wire (ACP elicitation). Read leniently: what
//! makes no sense in a form costs its own field or limit, never the form.

use super::fields::{Fields, texts, whole};
use super::request::Refusal;
use super::update::json;
use crate::session::address::Page;
use crate::session::elicitation::{
    Action, Elicitation, Field, Form, Format, Given, Kind, Pattern, Value, Wants,
};
use crate::session::ids::{ElicitationId, SessionId};
use crate::session::update::Choice;
use agent_client_protocol_schema::v1;
use serde_json::Value as Json;

/// What a request belongs to, as the agent names it.
#[derive(Debug, Clone, PartialEq)]
pub enum Named {
    /// A session.
    Session(SessionId),
    /// A request of ours, by its id.
    Request(Json),
}

/// Bytes of a request's params. Nobody reads more, and the editor is told of it in one message.
const LONGEST: usize = 64 * 1024;
/// Choices of one field. All of them are drawn each time one of them changes.
const CHOICES: usize = 500;

/// Reads `elicitation/create`, with the length of its params in bytes. Refused are modes we did not advertise, what lacks
/// the form or the address, and what is too long to be shown.
pub(super) fn create(params: &mut Fields, bytes: usize) -> Result<(Named, Elicitation), Refusal> {
    if bytes > LONGEST {
        let text = format!("an elicitation of {bytes} bytes is too long, at most {LONGEST} can be");
        return Err(Refusal::params(text));
    }
    let message =
        params.text("message").ok_or_else(|| Refusal::params("message must be a string"))?;
    let wants = match params.text("mode").as_deref() {
        Some("form") => Wants::Form(form(params)?),
        Some("url") => address(params)?,
        mode => {
            let mode = mode.unwrap_or("none");
            return Err(Refusal::params(format!("mode must be form or url, not {mode}")));
        }
    };
    let scope = match (params.text("sessionId"), params.any("requestId")) {
        (Some(session), _) => Named::Session(session.into()),
        (None, Some(request)) => Named::Request(request),
        (None, None) => {
            return Err(Refusal::params("sessionId or requestId must say what it belongs to"));
        }
    };
    let tool_call = params.text("toolCallId").map(Into::into);
    Ok((scope, Elicitation { message, tool_call, wants }))
}

fn address(params: &mut Fields) -> Result<Wants, Refusal> {
    let id = params.text("elicitationId");
    let id = id.ok_or_else(|| Refusal::params("elicitationId must be a string"))?;
    let url = params.text("url").ok_or_else(|| Refusal::params("url must be a string"))?;
    Ok(Wants::Address(id.into(), Page::read(&url).map_err(Refusal::params)?))
}

fn form(params: &mut Fields) -> Result<Form, Refusal> {
    let mut schema = params
        .object("requestedSchema")
        .ok_or_else(|| Refusal::params("requestedSchema must be an object"))?;
    let required = texts(schema.list("required").unwrap_or_default());
    let properties = schema.object("properties").unwrap_or_default();
    let fields = properties.entries().map(|(key, property)| {
        let required = required.contains(&key);
        field(key, property, required)
    });
    let fields: Vec<Field> = fields.collect();
    let long = fields.iter().find(|field| field.kind.choices().len() > CHOICES);
    if let Some(Field { key, kind, .. }) = long {
        let count = kind.choices().len();
        let text = format!("{key} has {count} choices, at most {CHOICES} can be in one field");
        return Err(Refusal::params(text));
    }
    Ok(Form { fields, title: schema.text("title"), description: schema.text("description") })
}

fn field(key: String, property: Json, required: bool) -> Field {
    let mut fields = Fields::of(property).unwrap_or_default();
    let title = fields.text("title").filter(|title| !title.trim().is_empty());
    let kind = kind(&key, &mut fields);
    Field {
        title: title.unwrap_or_else(|| key.clone()),
        description: fields.text("description"),
        required,
        default: fields.any("default").and_then(|default| given(&kind, default)),
        key,
        kind,
    }
}

fn kind(key: &str, fields: &mut Fields) -> Kind {
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "string" => match choices(fields) {
            Some(choices) if !choices.is_empty() => Kind::Choice(choices),
            Some(_) => Kind::Unknown("a choice of nothing".to_owned()),
            None => Kind::Text {
                length: (fields.whole("minLength"), fields.whole("maxLength")),
                pattern: fields.text("pattern").and_then(|source| pattern(key, &source)),
                format: fields.text("format").and_then(|name| Format::named(&name)),
            },
        },
        "integer" => {
            let least = limit(fields, "minimum", f64::ceil);
            Kind::Integer(least, limit(fields, "maximum", f64::floor))
        }
        "number" => Kind::Number(fields.float("minimum"), fields.float("maximum")),
        "boolean" => Kind::Boolean,
        "array" => {
            let choices = fields.object("items").and_then(|mut items| choices(&mut items));
            let count = (fields.whole("minItems"), fields.whole("maxItems"));
            match choices.filter(|choices| !choices.is_empty()) {
                Some(choices) => Kind::Several { choices, count },
                None => Kind::Unknown("a list of anything".to_owned()),
            }
        }
        _ => Kind::Unknown(kind),
    }
}

/// A limit of whole numbers; one with a fraction is moved to the next whole number it allows.
fn limit(fields: &mut Fields, key: &str, round: fn(f64) -> f64) -> Option<i64> {
    let limit = fields.any(key)?;
    #[allow(clippy::cast_possible_truncation, reason = "what is too large counts as the largest")]
    limit.as_i64().or_else(|| limit.as_f64().map(|limit| round(limit) as i64))
}

fn pattern(key: &str, source: &str) -> Option<Pattern> {
    Pattern::new(source)
        .inspect_err(|error| tracing::warn!(target: "acp", key, error, "a pattern is not checked"))
        .ok()
}

/// The choices, with titles or without; `None` where the field is none that has any.
fn choices(fields: &mut Fields) -> Option<Vec<Choice>> {
    for key in ["oneOf", "anyOf"] {
        if let Some(titled) = fields.objects(key) {
            return Some(titled.filter_map(choice).collect());
        }
    }
    let values = texts(fields.list("enum")?).into_iter();
    let plain =
        values.map(|value| Choice { name: value.clone(), value, description: None, group: None });
    Some(plain.collect())
}

fn choice(mut fields: Fields) -> Option<Choice> {
    let value = fields.text("const")?;
    let name = fields.text("title").unwrap_or_else(|| value.clone());
    Some(Choice { value, name, description: fields.text("description"), group: None })
}

/// What stands in a field at first. A default that may not be chosen is none.
fn given(kind: &Kind, default: Json) -> Option<Given> {
    let offered = |value: &String| kind.choices().iter().any(|choice| choice.value == *value);
    match (kind, default) {
        (Kind::Text { .. }, Json::String(text)) => Some(Given::Text(text)),
        (Kind::Choice(_), Json::String(value)) => offered(&value).then_some(Given::Text(value)),
        (Kind::Integer(..), Json::Number(number)) => {
            let whole = whole(&Json::Number(number.clone())).map(|number| number.to_string());
            Some(Given::Text(whole.unwrap_or_else(|| number.to_string())))
        }
        (Kind::Number(..), Json::Number(number)) => Some(Given::Text(number.to_string())),
        (Kind::Boolean, Json::Bool(flag)) => Some(Given::Flag(flag)),
        (Kind::Several { .. }, Json::Array(values)) => {
            let values: Vec<String> = texts(values).into_iter().filter(offered).collect();
            Some(Given::Several(values))
        }
        _ => None,
    }
}

/// Reads `elicitation/complete`; nothing where it names none.
pub fn complete(params: &str) -> Option<ElicitationId> {
    let mut params = json(params).and_then(Fields::of)?;
    params.text("elicitationId").map(Into::into)
}

/// The answer to `elicitation/create`.
pub(super) fn response(action: &Action) -> v1::CreateElicitationResponse {
    v1::CreateElicitationResponse::new(match action {
        Action::Decline => v1::ElicitationAction::Decline,
        Action::Cancel => v1::ElicitationAction::Cancel,
        Action::Accept(content) => {
            let content = content.as_ref().map(|content| {
                content.iter().map(|(key, value)| (key.clone(), self::content(value))).collect()
            });
            v1::ElicitationAction::Accept(v1::ElicitationAcceptAction::new().content(content))
        }
    })
}

fn content(value: &Value) -> v1::ElicitationContentValue {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Number(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Texts(texts) => texts.clone().into(),
    }
}

#[cfg(test)]
mod tests;
