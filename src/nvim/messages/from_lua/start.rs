//! The `start` message: which agent to start, its options, and which session to open.

use super::Chat;
use super::edit::InPlaceEdit;
use super::worktree;
use crate::config::options::{AgentOptions, McpServerOptions};
use crate::config::resolve::AgentSelection;
use crate::core::messages::policy::{self, ChatPolicy};
use crate::core::messages::user::SessionTarget;
use crate::nvim::value::ReadError;
use crate::session::author::ChatId;
use crate::session::fork::ForkPoint;
use crate::session::keys::Keys;
use crate::session::prompt::Prompt;
use crate::trust::kept::{rule_lines, without_allowing};
use crate::trust::rule::Rule;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The file of a project's rules, below its folder.
const PROJECT_RULES: &str = ".rat/rules";

/// Starts an agent, or shows the existing chat with it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Start {
    /// The name of the agent.
    agent: String,
    /// The options that `setup()` sets for this agent.
    #[serde(default)]
    options: AgentOptions,
    /// The MCP servers that `setup()` sets for all agents, by name.
    #[serde(default)]
    mcp_servers: BTreeMap<String, McpServerOptions>,
    /// The absolute path of the user's settings file.
    settings_file: Option<String>,
    /// Neovim's environment.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// The absolute path of the session's working directory.
    cwd: String,
    /// The absolute paths of additional folders the agent may use.
    #[serde(default)]
    directories: Vec<String>,
    /// The option of the same name.
    #[serde(default)]
    unsaved: Unsaved,
    /// The option of the same name.
    #[serde(default)]
    write_dirty: WriteDirty,
    /// The option of the same name.
    #[serde(default)]
    review: ReviewMode,
    /// The option `permission.rules`.
    #[serde(default)]
    rules: Vec<String>,
    /// The lines of the project's file of rules, if the user trusts it.
    #[serde(default)]
    project_rules: Vec<String>,
    /// What the project's settings file changes, a line each.
    #[serde(default)]
    project_settings: Vec<String>,
    /// The option `permission.mode`.
    #[serde(default)]
    permission_mode: PermissionMode,
    /// The option `permission.default`.
    #[serde(default)]
    permission_default: BTreeMap<String, String>,
    /// What the user has in place of keys of the chat: other keys, or an empty text.
    #[serde(default)]
    keys: BTreeMap<String, String>,
    /// Whether signs are written in ASCII.
    #[serde(default)]
    ascii: bool,
    /// The session to open; without it, the one that is open, else a new one.
    wish: Option<Wish>,
    /// For `session` and `fork`: the id that the agent gave the session.
    session: Option<String>,
    /// Whether to put the cursor into the prompt.
    #[serde(default)]
    focus: bool,
    /// The worktree that `cwd` is in, if it is one of ours.
    worktree: Option<worktree::Worktree>,
    /// `:RatEdit`: what to ask for in a new session, whose chat is not shown.
    edit: Option<InPlaceEdit>,
    /// Nothing is started: the chat whose agent is started like this the next time.
    renew: Option<Chat>,
}

/// A request for a chat whose agent configuration has not been resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRequest {
    /// The agent and its options.
    pub agent: AgentSelection,
    /// The absolute path of the user's settings file.
    pub settings_file: Option<PathBuf>,
    /// The session's working directory; absolute.
    pub cwd: PathBuf,
    /// Additional folders the agent may use; absolute.
    pub directories: Vec<PathBuf>,
    /// The options for unsaved text and rules.
    pub policy: ChatPolicy,
    /// What is wrong with the rules, one line each.
    pub problems: Vec<String>,
    /// The session to open.
    pub target: SessionTarget,
    /// Whether to put the cursor into the prompt.
    pub focus: bool,
    /// A change of lines in place to ask for, in a session of its own.
    pub edit: Option<Box<Prompt>>,
    /// What the user has in place of keys of the chat.
    pub keys: Keys,
    /// Whether signs are written in ASCII.
    pub ascii: bool,
    /// The chat whose agent is started like this the next time; nothing is started now.
    pub renew: Option<ChatId>,
}

/// The session to open.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Wish {
    /// The one that is open; else the most recent one of the folder, if the agent can resume it; else a new one.
    Last,
    /// The one that is open; else a new one.
    Never,
    /// A new one.
    New,
    /// The one in `session`.
    Session,
    /// A fork of the one in `session`.
    Fork,
}

/// What to do about unsaved text when a prompt is sent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Unsaved {
    #[default]
    Note,
    Embed,
    Save,
    Ask,
    Ignore,
}

/// How an agent writes to a file whose buffer has unsaved changes.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum WriteDirty {
    #[default]
    Separate,
    Save,
    Ask,
}

/// How much the user wants to see of what agents have changed.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum ReviewMode {
    #[default]
    After,
    Before,
    Off,
}

impl From<ReviewMode> for policy::ReviewMode {
    fn from(review: ReviewMode) -> Self {
        match review {
            ReviewMode::After => Self::After,
            ReviewMode::Before => Self::Before,
            ReviewMode::Off => Self::Off,
        }
    }
}

/// What happens to what no rule decides on.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(in crate::nvim) enum PermissionMode {
    #[default]
    Agent,
    Ask,
    ReadOnly,
}

impl PermissionMode {
    /// Returns what it decides, by kind of tool call.
    fn defaults(self) -> Vec<(&'static str, &'static str)> {
        let all =
            |kinds: &[&'static str], decision| kinds.iter().map(|kind| (*kind, decision)).collect();
        match self {
            Self::Agent => Vec::new(),
            Self::Ask => all(&Rule::kind_names().collect::<Vec<_>>(), "ask"),
            Self::ReadOnly => {
                let mut kinds: Vec<_> = all(&["edit", "delete", "move", "execute"], "deny");
                // It is not known what they do.
                kinds.push(("other", "ask"));
                kinds
            }
        }
    }
}

/// Parses the options `permission.rules`, `mode` and `default` and the project's rules, and returns what is wrong with them. If
/// something is, nothing is allowed by a rule: the one that cannot be read may have been meant to deny it.
fn parse_rules(
    lines: &[String],
    project: &[String],
    mode: PermissionMode,
    default: &BTreeMap<String, String>,
) -> (Arc<[Rule]>, Vec<String>) {
    const MEANWHILE: &str = "No rule allows anything until this is corrected.";
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    let mut parse = |line: &str, place: String| match line.parse::<Rule>() {
        Ok(rule) => rules.push(rule),
        Err(why) => problems.push(format!("{place}: {why}. {MEANWHILE}")),
    };
    for (index, line) in lines.iter().enumerate() {
        parse(line, format!("permission.rules[{}]", index + 1));
    }
    for (index, line) in rule_lines(project) {
        parse(line, format!("{PROJECT_RULES}:{}", index + 1));
    }
    // Those of the user come first: the first one about a kind counts.
    for (kind, decision) in default {
        match Rule::default_for(kind, decision) {
            Ok(rule) => rules.push(rule),
            Err(why) => problems.push(format!("permission.default.{kind}: {why}. {MEANWHILE}")),
        }
    }
    let of_mode = mode.defaults().into_iter();
    rules.extend(of_mode.filter_map(|(kind, decision)| Rule::default_for(kind, decision).ok()));
    if !problems.is_empty() {
        rules = without_allowing(rules);
    }
    (rules.into(), problems)
}

impl TryFrom<Start> for StartRequest {
    type Error = ReadError;

    fn try_from(start: Start) -> Result<Self, ReadError> {
        let session = || {
            let named = start.session.clone().map(Into::into);
            named.ok_or_else(|| ReadError::of("session", "missing"))
        };
        let target = match start.wish {
            Some(Wish::Last) => SessionTarget::Last,
            Some(Wish::New) => SessionTarget::New,
            Some(Wish::Session) => SessionTarget::Existing(session()?),
            Some(Wish::Fork) => SessionTarget::Fork(ForkPoint::whole(session()?)),
            Some(Wish::Never) | None => SessionTarget::Current,
        };
        let edit = start.edit.map(Prompt::try_from).transpose();
        let edit = edit.map_err(|error| error.within("edit"))?;
        let (rules, problems) = parse_rules(
            &start.rules,
            &start.project_rules,
            start.permission_mode,
            &start.permission_default,
        );
        let directories: Vec<_> = start.directories.into_iter().map(PathBuf::from).collect();
        Ok(Self {
            agent: AgentSelection {
                name: start.agent,
                options: start.options,
                mcp_servers: start.mcp_servers,
                environment: start.environment,
                directories: directories.clone(),
            },
            settings_file: start.settings_file.map(Into::into),
            cwd: start.cwd.into(),
            directories,
            policy: ChatPolicy {
                unsaved: start.unsaved.into(),
                write_dirty: start.write_dirty.into(),
                review: start.review.into(),
                outside: policy::Outside::Ask,
                real_roots: Vec::new(),
                rules,
                rule_problems: problems.clone(),
                worktree: start.worktree.map(|worktree| Arc::new(worktree.into())),
                project_settings: start.project_settings,
            },
            problems,
            target,
            focus: start.focus,
            edit: edit.map(Box::new),
            keys: start.keys,
            ascii: start.ascii,
            renew: start.renew.map(ChatId),
        })
    }
}

impl From<Unsaved> for policy::Unsaved {
    fn from(unsaved: Unsaved) -> Self {
        match unsaved {
            Unsaved::Note => Self::Note,
            Unsaved::Embed => Self::Embed,
            Unsaved::Save => Self::Save,
            Unsaved::Ask => Self::Ask,
            Unsaved::Ignore => Self::Ignore,
        }
    }
}

impl From<WriteDirty> for policy::WriteDirty {
    fn from(dirty: WriteDirty) -> Self {
        match dirty {
            WriteDirty::Separate => Self::Separate,
            WriteDirty::Save => Self::Save,
            WriteDirty::Ask => Self::Ask,
        }
    }
}
