//! Decodes modes, config options and commands (ACP session modes, session config options, slash commands). Version 2 calls
//! some ids differently than version 1; either name is read.

use crate::acp::fields::{Fields, cut, first};
use crate::session::update::{Choice, Command, ConfigOption, OptionValue, Selection};
use serde_json::Value;

/// How many modes, options, choices of one or commands are kept.
const MAX_ITEMS: usize = 1000;

/// Returns the first items of a list. That others are left out is logged only: nobody looks through as many.
fn bounded<T>(items: impl IntoIterator<Item = T>, what: &str) -> Vec<T> {
    let (kept, others) = first(items, MAX_ITEMS);
    if others > 0 {
        tracing::warn!(target: "acp", others, "more {what} than are kept");
    }
    kept
}

/// Decodes `modes` in the result of starting a session; `None` if there are none.
pub(super) fn modes(fields: &mut Fields) -> Option<Selection> {
    let mut modes = fields.object("modes")?;
    let available = modes.objects("availableModes")?.filter_map(|mode| choice(mode, "id"));
    Some(Selection {
        available: bounded(available, "modes"),
        current: modes.text("currentModeId").unwrap_or_default(),
    })
}

/// Decodes `models` in the result of starting a session, which Gemini sends; `None` if there are none.
pub(super) fn models(fields: &mut Fields) -> Option<Selection> {
    let mut models = fields.object("models")?;
    let available = models.objects("availableModels")?.filter_map(|model| choice(model, "modelId"));
    Some(Selection {
        available: bounded(available, "models"),
        current: models.text("currentModelId").unwrap_or_default(),
    })
}

/// Decodes `configOptions`, in the agent's order; `None` if the field is missing. Options of an unknown type are left out (ACP
/// session config options).
pub(super) fn config(fields: &mut Fields) -> Option<Vec<ConfigOption>> {
    Some(bounded(fields.objects("configOptions")?.filter_map(config_option), "options"))
}

fn config_option(mut fields: Fields) -> Option<ConfigOption> {
    let id = fields.text("id").or_else(|| fields.text("configId"))?;
    let name = fields.text("name").unwrap_or_else(|| id.clone());
    let value = match fields.text("type").as_deref() {
        Some("select") => OptionValue::Select {
            current: fields.text("currentValue").unwrap_or_default(),
            choices: choices(fields.list("options")?),
        },
        Some("boolean") => OptionValue::Boolean(fields.flag("currentValue")),
        _ => return None,
    };
    let description = fields.text("description");
    Some(ConfigOption { id, name, description, category: fields.text("category"), value })
}

/// Decodes choices, which may be in groups. A group differs from a choice only by its id.
fn choices(items: Vec<Value>) -> Vec<Choice> {
    let mut flat = Vec::with_capacity(items.len());
    for mut item in items.into_iter().filter_map(Fields::of) {
        let Some(id) = item.text("group").or_else(|| item.text("groupId")) else {
            flat.extend(choice(item, "value"));
            continue;
        };
        let group = item.text("name").unwrap_or(id);
        let inner = item.objects("options").into_iter().flatten();
        flat.extend(
            inner
                .filter_map(|item| choice(item, "value"))
                .map(|choice| Choice { group: Some(group.clone()), ..choice }),
        );
    }
    bounded(flat, "choices")
}

fn choice(mut fields: Fields, id: &str) -> Option<Choice> {
    let value = fields.text(id)?;
    let name = fields.text("name").unwrap_or_else(|| value.clone());
    Some(Choice { value, name, description: fields.text("description"), group: None })
}

/// Decodes `availableCommands`; `None` if the field is missing.
pub(super) fn commands(fields: &mut Fields) -> Option<Vec<Command>> {
    Some(bounded(fields.objects("availableCommands")?.filter_map(command), "commands"))
}

/// The longest name of a command, in bytes; nobody could type a longer one.
const MAX_COMMAND_NAME: usize = 1024;
/// The longest description of a command, in bytes.
const MAX_COMMAND_TEXT: usize = 1024;

/// Decodes a command. One of an unknown type may not be sent as text, so it is left out.
fn command(mut fields: Fields) -> Option<Command> {
    if fields.text("type").is_some_and(|kind| kind != "command") {
        return None;
    }
    let name = fields.text("name").filter(|name| name.len() <= MAX_COMMAND_NAME)?;
    let hint = match fields.any("input") {
        Some(Value::String(hint)) => Some(hint),
        Some(input) => Fields::of(input).and_then(|mut input| input.text("hint")),
        None => None,
    };
    let text = |text: String| cut(text, MAX_COMMAND_TEXT);
    let description = text(fields.text("description").unwrap_or_default());
    Some(Command { name, description, hint: hint.map(text) })
}
