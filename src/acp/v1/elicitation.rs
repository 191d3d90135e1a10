//! Decodes elicitations and encodes the user's answer (ACP elicitation). Decoding is lenient: an invalid part of a form
//! affects only its own field or limit.

use crate::acp::dialect::{ElicitationOwner, Refusal};
use crate::acp::fields::{Fields, json, texts, whole};
use crate::session::address::Page;
use crate::session::elicitation::{
    Action, Elicitation, ElicitationKind, Field, FieldValue, Form, Format, Kind, Pattern, Value,
};
use crate::session::ids::ElicitationId;
use crate::session::update::Choice;
use agent_client_protocol_schema::v1;
use serde_json::Value as Json;

/// The largest params of a request, in bytes. A user would not read more, and all of it goes to the editor in one message.
const MAX_PARAMS_BYTES: usize = 64 * 1024;
/// How many choices a field may have. All of them are drawn whenever one changes.
const MAX_CHOICES: usize = 500;

/// Decodes `elicitation/create`, whose params have `bytes` bytes. Refuses modes that are not advertised, params without a form
/// or a URL, and those that are too long to be shown.
pub fn create(
    params: &mut Fields,
    bytes: usize,
) -> Result<(ElicitationOwner, Elicitation), Refusal> {
    if bytes > MAX_PARAMS_BYTES {
        let text = format!(
            "an elicitation of {bytes} bytes is too long, at most {MAX_PARAMS_BYTES} can be"
        );
        return Err(Refusal::invalid_params(text));
    }
    let message = params
        .text("message")
        .ok_or_else(|| Refusal::invalid_params("message must be a string"))?;
    let wants = match params.text("mode").as_deref() {
        Some("form") => ElicitationKind::Form(form(params)?),
        Some("url") => address(params)?,
        mode => {
            let mode = mode.unwrap_or("none");
            return Err(Refusal::invalid_params(format!("mode must be form or url, not {mode}")));
        }
    };
    let owner = match (params.text("sessionId"), params.any("requestId")) {
        (Some(session), _) => ElicitationOwner::Session(session.into()),
        (None, Some(request)) => ElicitationOwner::Call(request),
        (None, None) => {
            return Err(Refusal::invalid_params(
                "sessionId or requestId must say what it belongs to",
            ));
        }
    };
    let tool_call = params.text("toolCallId").map(Into::into);
    Ok((owner, Elicitation { message, tool_call, wants }))
}

fn address(params: &mut Fields) -> Result<ElicitationKind, Refusal> {
    let id = params.text("elicitationId");
    let id = id.ok_or_else(|| Refusal::invalid_params("elicitationId must be a string"))?;
    let url = params.text("url").ok_or_else(|| Refusal::invalid_params("url must be a string"))?;
    Ok(ElicitationKind::Url(id.into(), Page::parse(&url).map_err(Refusal::invalid_params)?))
}

fn form(params: &mut Fields) -> Result<Form, Refusal> {
    let mut schema = params
        .object("requestedSchema")
        .ok_or_else(|| Refusal::invalid_params("requestedSchema must be an object"))?;
    let required = texts(schema.list("required").unwrap_or_default());
    let properties = schema.object("properties").unwrap_or_default();
    let fields = properties.entries().map(|(key, property)| {
        let required = required.contains(&key);
        field(key, property, required)
    });
    let fields: Vec<Field> = fields.collect();
    let long = fields.iter().find(|field| field.kind.choices().len() > MAX_CHOICES);
    if let Some(Field { key, kind, .. }) = long {
        let count = kind.choices().len();
        let text = format!("{key} has {count} choices, at most {MAX_CHOICES} can be in one field");
        return Err(Refusal::invalid_params(text));
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
        default: fields.any("default").and_then(|default| default_value(&kind, default)),
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

/// Decodes a limit of an integer field. One with a fraction is rounded to the nearest integer within it.
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

/// Decodes the choices of a field, with titles or without. `None` if the field does not have any.
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

/// Decodes the default of a field. `None` if the field cannot have that value.
fn default_value(kind: &Kind, default: Json) -> Option<FieldValue> {
    let offered = |value: &String| kind.choices().iter().any(|choice| choice.value == *value);
    match (kind, default) {
        (Kind::Text { .. }, Json::String(text)) => Some(FieldValue::Text(text)),
        (Kind::Choice(_), Json::String(value)) => {
            offered(&value).then_some(FieldValue::Text(value))
        }
        (Kind::Integer(..), Json::Number(number)) => {
            let whole = whole(&Json::Number(number.clone())).map(|number| number.to_string());
            Some(FieldValue::Text(whole.unwrap_or_else(|| number.to_string())))
        }
        (Kind::Number(..), Json::Number(number)) => Some(FieldValue::Text(number.to_string())),
        (Kind::Boolean, Json::Bool(flag)) => Some(FieldValue::Flag(flag)),
        (Kind::Several { .. }, Json::Array(values)) => {
            let values: Vec<String> = texts(values).into_iter().filter(offered).collect();
            Some(FieldValue::Several(values))
        }
        _ => None,
    }
}

/// Decodes `elicitation/complete`. `None` if it has no id.
pub fn complete(params: &str) -> Option<ElicitationId> {
    let mut params = json(params).and_then(Fields::of)?;
    params.text("elicitationId").map(Into::into)
}

/// Encodes the result of `elicitation/create`.
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
