//! Messages about the rules that the user makes.

use super::Chat;
use crate::core::messages::user::UserAction;
use crate::session::author::ChatId;
use crate::trust::kept;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// The user wants to make a rule of a permission request.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SuggestRule {
    /// The chat.
    pub(super) chat: Chat,
    /// Our number of the request.
    pub(super) request: u64,
}

/// The user keeps rules made of a permission request.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct KeepRules {
    /// The chat.
    chat: Chat,
    /// Our number of the request.
    request: u64,
    /// Where they hold.
    extent: Extent,
    /// The rules.
    lines: Vec<String>,
}

/// The user has written lists of rules.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SetRules {
    /// The chat.
    chat: Chat,
    /// The folder of its session.
    cwd: String,
    /// The lists.
    lists: Vec<RuleList>,
}

/// The rules of one extent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
struct RuleList {
    /// Where they hold.
    extent: Extent,
    /// The lines.
    lines: Vec<String>,
}

/// Where rules hold.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Extent {
    /// Until the session ends.
    Session,
    /// In all sessions of the folder.
    Project,
    /// In all sessions.
    Everywhere,
}

impl From<Extent> for kept::Extent {
    fn from(extent: Extent) -> Self {
        match extent {
            Extent::Session => Self::Session,
            Extent::Project => Self::Project,
            Extent::Everywhere => Self::Everywhere,
        }
    }
}

impl From<SuggestRule> for UserAction {
    fn from(SuggestRule { chat, request }: SuggestRule) -> Self {
        Self::SuggestRule(ChatId(chat), request)
    }
}

impl From<KeepRules> for UserAction {
    fn from(KeepRules { chat, request, extent, lines }: KeepRules) -> Self {
        Self::KeepRules { chat: ChatId(chat), request, extent: extent.into(), lines }
    }
}

impl From<SetRules> for UserAction {
    fn from(SetRules { chat, cwd, lists }: SetRules) -> Self {
        let lists = lists.into_iter().map(|list| (list.extent.into(), list.lines));
        Self::SetRules(ChatId(chat), cwd.into(), lists.collect())
    }
}
