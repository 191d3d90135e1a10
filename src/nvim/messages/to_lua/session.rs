//! Messages about sessions: the session list, options, slash commands, logins and `_meta`.

use super::Chat;
use crate::core::messages::editor::SessionItem;
use crate::core::messages::user;
use crate::nvim::text::{FilePath, Handle, Label, Prose, each};
use crate::session::ids::SessionId;
use crate::session::label;
use crate::session::update::{self, OptionValue};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Sessions to choose from.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Sessions {
    /// What to do with the chosen session.
    act: SessionAct,
    /// The folder of the sessions.
    cwd: FilePath,
    /// The sessions, most recently used first.
    items: Vec<ListedSession>,
    /// Whether agents have further pages.
    more: bool,
}

/// What to do with a session that the user chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum SessionAct {
    /// Show it, or resume it.
    Open,
    /// Fork it.
    Fork,
    /// Close it.
    Close,
    /// Delete it.
    Delete,
}

/// A session.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct ListedSession {
    /// The agent's name in the configuration.
    agent: Handle,
    /// The id that the agent gave the session.
    session: Handle,
    /// The title; the id if there is no title.
    title: Label,
    /// When it was last used here, in seconds since 1970.
    used_at: Option<u64>,
    /// When it last changed, as reported by the agent (ISO 8601).
    updated_at: Option<Label>,
    /// The chat that has it open.
    chat: Option<Chat>,
    /// Whether another Neovim has it open.
    elsewhere: bool,
}

/// A login with a program in a terminal of the editor.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Login {
    /// The chat.
    chat: Chat,
    /// The name of the authentication method.
    title: Label,
    /// The program and its arguments.
    command: Vec<Handle>,
    /// The complete environment, by name.
    env: BTreeMap<String, Handle>,
    /// The working directory.
    cwd: FilePath,
    /// Whether the user has just asked for it, so that its window may open at once.
    by_user: bool,
}

/// Data that an agent sent in `_meta` (`:help rat-meta`).
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Meta {
    /// The chat.
    chat: Chat,
    /// The session, if the data is about one.
    session_id: Option<Handle>,
    /// The kind of message it came with.
    kind: Handle,
    /// The id of what the message was about.
    id: Option<Handle>,
    /// The data as JSON; missing if it is too large.
    json: Option<Handle>,
    /// The size of the JSON in bytes.
    size: usize,
}

/// What can be set in a session.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Options {
    /// The chat.
    chat: Chat,
    /// The options, in the agent's order.
    options: Vec<ConfigOption>,
}

/// An option of a session.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct ConfigOption {
    /// The id.
    id: Handle,
    /// What the user sees.
    name: Label,
    /// A description.
    description: Option<Label>,
    /// The category, such as `mode`.
    category: Option<Handle>,
    /// How it is set.
    r#type: OptionType,
    /// The current value; for a boolean, `on` or `off`.
    current: Handle,
    /// The choices.
    choices: Vec<OptionChoice>,
}

/// How an option is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum OptionType {
    Boolean,
    Select,
}

/// A choice of an option.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct OptionChoice {
    /// The value to return.
    value: Handle,
    /// What the user sees.
    name: Label,
    /// A description.
    description: Option<Label>,
    /// The group it belongs to.
    group: Option<Label>,
}

/// The agent's slash commands.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Commands {
    /// The chat.
    chat: Chat,
    /// The commands that can be typed.
    commands: Vec<Command>,
}

/// A slash command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Command {
    /// The name, without the slash.
    name: Label,
    /// What it does.
    description: Prose,
    /// A hint for its argument.
    hint: Option<Label>,
}

impl Sessions {
    pub(super) fn new(
        act: user::SessionAction,
        cwd: &Path,
        items: Vec<SessionItem>,
        more: bool,
    ) -> Self {
        let act = match act {
            user::SessionAction::Open => SessionAct::Open,
            user::SessionAction::Fork => SessionAct::Fork,
            user::SessionAction::Close => SessionAct::Close,
            user::SessionAction::Delete => SessionAct::Delete,
        };
        Self { act, cwd: FilePath::new(cwd), items: each(items, Into::into), more }
    }
}

impl From<SessionItem> for ListedSession {
    fn from(item: SessionItem) -> Self {
        let title = item.title.filter(|title| !title.trim().is_empty());
        Self {
            title: Label::new(title.as_deref().unwrap_or(item.id.as_str())),
            agent: Handle::new(item.agent),
            session: Handle::new(item.id),
            used_at: item.used_at,
            updated_at: item.updated_at.map(Label::new),
            chat: item.chat.map(|chat| chat.0),
            elsewhere: item.open_elsewhere,
        }
    }
}

impl Login {
    pub(super) fn new(
        chat: Chat,
        title: &str,
        command: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: &Path,
        by_user: bool,
    ) -> Self {
        let env = env.into_iter().map(|(name, value)| (name, Handle::new(value))).collect();
        let command = each(command, Handle::new);
        Self { chat, title: Label::new(title), command, env, cwd: FilePath::new(cwd), by_user }
    }
}

impl Meta {
    pub(super) fn new(chat: Chat, session: Option<SessionId>, meta: update::Meta) -> Self {
        Self {
            chat,
            session_id: session.map(Handle::new),
            kind: Handle::new(meta.kind),
            id: meta.id.map(Handle::new),
            json: meta.json.map(Handle::new),
            size: meta.size,
        }
    }
}

impl Options {
    pub(super) fn new(chat: Chat, options: Vec<update::ConfigOption>) -> Self {
        Self { chat, options: each(options, Into::into) }
    }
}

impl From<update::ConfigOption> for ConfigOption {
    fn from(option: update::ConfigOption) -> Self {
        let (r#type, current, choices) = match option.value {
            OptionValue::Boolean(on) => {
                (OptionType::Boolean, if on { "on" } else { "off" }.to_owned(), Vec::new())
            }
            OptionValue::Select { current, choices } => (OptionType::Select, current, choices),
        };
        let choices = each(choices, |choice| OptionChoice {
            value: Handle::new(choice.value),
            name: Label::new(choice.name),
            description: choice.description.map(Label::new),
            group: choice.group.map(Label::new),
        });
        Self {
            id: Handle::new(option.id),
            name: Label::new(option.name),
            description: option.description.map(Label::new),
            category: option.category.map(Handle::new),
            r#type,
            current: Handle::new(current),
            choices,
        }
    }
}

impl Commands {
    /// Leaves out commands whose name would be displayed differently, because the user could not type them.
    pub(super) fn new(chat: Chat, commands: Vec<update::Command>) -> Self {
        let commands = commands.into_iter().filter(|command| label::is_plain(&command.name));
        Self { chat, commands: each(commands, Into::into) }
    }
}

impl From<update::Command> for Command {
    fn from(command: update::Command) -> Self {
        Self {
            name: Label::new(command.name),
            description: Prose::new(command.description),
            hint: command.hint.map(Label::new),
        }
    }
}
