//! The user's answers to permission requests, elicitations and our own questions.

use super::{Chat, from_zero};
use crate::core::messages::elicitation::ElicitationChoice;
use crate::core::messages::review::{
    self, ListPurpose, ReviewAction, ReviewList, ReviewRequest, ReviewScope, SelectedHunks,
};
use crate::core::messages::user::{PermissionChoice, UserAction};
use crate::edit::HunkId;
use crate::nvim::value::ReadError;
use crate::session::author::ChatId;
use crate::session::elicitation::FieldValue;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Answers a permission request: with `option` if it is set, otherwise according to `allow`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Permission {
    /// The chat; without it, the one with the oldest request.
    chat: Option<Chat>,
    /// The number of the request; without it, the oldest.
    id: Option<u64>,
    /// The revision of the request that the user has seen; without it, any.
    revision: Option<u64>,
    /// The id of the chosen option.
    option: Option<String>,
    /// Whether to allow it once instead of rejecting it once.
    #[serde(default)]
    allow: bool,
    /// The reason for rejecting it, for the agent.
    reason: Option<String>,
    /// Whether the permission provider answers, in place of the user. Then `chat`, `id` and `revision` are there.
    #[serde(default)]
    automatic: bool,
}

/// Decides on what agents have changed, in one file or in all.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Review {
    /// The chat.
    chat: Option<Chat>,
    /// Whether to keep the changes instead of rejecting them.
    keep: bool,
    /// The name of the file's buffer; without it, all files.
    path: Option<String>,
    /// The path that the file had before, if it was moved.
    from: Option<String>,
    /// Which kind of changes; without it, all.
    part: Option<Part>,
    /// The first line, from 1; without it, the whole file.
    first: Option<u32>,
    /// The last line, inclusive; the line before `first` means the place between the two.
    last: Option<u32>,
    /// Only these hunks, if they are still pending.
    hunks: Option<Vec<u32>>,
    /// Of the only hunk just some lines.
    selected: Option<SelectedRows>,
    /// Which changes there.
    scope: DecisionScope,
    /// Whether it is about what is not known to be an agent's, or about the rest; without it, about all, but of a turn about
    /// the rest.
    unknown: Option<bool>,
    /// For a decision that the user can take back in the review: its number, which all of its parts have.
    decision: Option<u64>,
    /// Whether another part of the decision follows.
    #[serde(default)]
    more: bool,
}

/// Selected lines of a hunk.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct SelectedRows {
    /// The first selected row that the hunk has removed, counted from its first one in the base, from 0.
    removed: u32,
    /// How many are selected.
    removed_count: u32,
    /// The first selected row that it has added, counted from its first one in the file, from 0.
    added: u32,
    /// How many are selected.
    added_count: u32,
}

impl From<SelectedRows> for review::SelectedRows {
    fn from(rows: SelectedRows) -> Self {
        let range = |first: u32, count: u32| {
            first as usize..(first as usize).saturating_add(count as usize)
        };
        Self {
            removed: range(rows.removed, rows.removed_count),
            added: range(rows.added, rows.added_count),
        }
    }
}

/// Which kind of changes of a file a decision is about.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Part {
    /// The lines of its text.
    Lines,
    /// The file as a whole.
    State,
}

/// Which changes a decision is about.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum DecisionScope {
    /// Those of all sessions.
    All,
    /// Those of the last turn of the chat.
    Turn,
    /// Those that the latest review shows.
    Listed,
}

/// Shows what is pending in all files.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct ListChanges {
    /// The chat.
    chat: Option<Chat>,
    /// Which changes.
    scope: Scope,
    /// Whether to update a review that is open.
    #[serde(default)]
    update: bool,
    /// Whether only to count their lines. The answer is `pending_counts`.
    #[serde(default)]
    count: bool,
    /// The number of the call of `require("rat").changes()` that wants them.
    request: Option<u64>,
}

/// Compares a file with its base.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Compare {
    /// The file.
    pub(super) path: String,
    /// The path that it had before, if it was moved.
    pub(super) from: Option<String>,
    /// Whether it is shown already, and only to be updated.
    #[serde(default)]
    pub(super) update: bool,
}

/// Keeps what is pending in a file where it agrees with another base.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct KeepAsBase {
    /// The file.
    pub(super) path: String,
    /// The lines of the base.
    pub(super) lines: Vec<String>,
}

/// Which changes a review shows.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Scope {
    /// Those of all sessions.
    All,
    /// Those of the chat's session.
    Session,
    /// Those of its last turn.
    Turn,
    /// Those of the last tool call that has changed anything.
    Tool,
}

impl From<ListChanges> for UserAction {
    fn from(list: ListChanges) -> Self {
        let scope = match list.scope {
            Scope::All => ReviewScope::All,
            Scope::Session => ReviewScope::Session,
            Scope::Turn => ReviewScope::Turn,
            Scope::Tool => ReviewScope::ToolCall,
        };
        let chat = list.chat.map(ChatId);
        let purpose = match list.request {
            Some(request) => ListPurpose::Call(request),
            None if list.count => ListPurpose::Count,
            None if list.update => ListPurpose::Update,
            None => ListPurpose::Open,
        };
        Self::ListChanges(ReviewList { chat, scope, purpose })
    }
}

/// Answers an elicitation or validates its form.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Elicitation {
    /// The chat.
    chat: Chat,
    /// The number of the elicitation.
    id: u64,
    /// What the user does.
    action: Action,
    /// For `check` and `accept`: the values of the fields that have one.
    #[serde(default)]
    entered: Vec<Entered>,
}

/// What the user does with a form or a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::nvim) enum Action {
    /// Validate the entered values.
    Check,
    /// Submit the values, or agree to open the URL.
    Accept,
    /// Decline.
    Decline,
    /// Close it.
    Cancel,
}

/// The value of a field.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Entered {
    /// The field's key.
    key: String,
    /// The value as it was entered.
    value: Entry,
}

/// A text, a number as text or the value of a choice; a boolean; or the values of several choices.
#[derive(Debug, PartialEq)]
#[cfg_attr(test, derive(JsonSchema), schemars(untagged))]
pub(in crate::nvim) enum Entry {
    Text(String),
    Flag(bool),
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a boolean or a list")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Entry, E> {
        Ok(Entry::Flag(flag))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Entry, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Entry::Several(values))
    }

    /// An empty table in Lua may be a list.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Entry, A::Error> {
        match fields.next_key::<String>()? {
            None => Ok(Entry::Several(Vec::new())),
            Some(_) => Err(A::Error::custom("expected text, a boolean or a list, got a table")),
        }
    }
}

/// Answers one of our own questions.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Answer {
    /// The number of the question.
    id: u64,
    /// The chosen item, from 1; missing if the user closed the question.
    index: Option<u32>,
}

impl TryFrom<Review> for UserAction {
    type Error = ReadError;

    fn try_from(review: Review) -> Result<Self, ReadError> {
        let first = review.first.map(from_zero).transpose()?;
        // The row after the last one; of an empty range, the first.
        let end = review.last.and_then(|last| usize::try_from(last).ok());
        let lines = first.map(|first| first..end.map_or(first + 1, |end| end.max(first)));
        Ok(Self::Review(ReviewRequest {
            action: if review.keep { ReviewAction::Keep } else { ReviewAction::Reject },
            decision: review.decision,
            is_last: !review.more,
            chat: review.chat.map(ChatId),
            scope: match review.scope {
                DecisionScope::All => review::DecisionScope::All,
                DecisionScope::Turn => review::DecisionScope::Turn,
                DecisionScope::Listed => review::DecisionScope::Listed,
            },
            paths: review.path.into_iter().map(Into::into).collect(),
            from: review.from.map(Into::into),
            part: match review.part {
                None => review::ReviewedPart::All,
                Some(Part::Lines) => review::ReviewedPart::Lines,
                Some(Part::State) => review::ReviewedPart::State,
            },
            certainty: match (review.unknown, review.scope) {
                (Some(true), _) => review::Certainty::Unknown,
                (Some(false), _) | (None, DecisionScope::Turn) => review::Certainty::Certain,
                (None, _) => review::Certainty::Any,
            },
            hunks: match (review.hunks, review.selected) {
                (Some(hunks), Some(rows)) if let [hunk] = hunks[..] => {
                    SelectedHunks::Rows(HunkId(hunk), rows.into())
                }
                (Some(hunks), _) => {
                    let hunks = hunks.into_iter().map(HunkId).collect();
                    match lines {
                        Some(lines) => SelectedHunks::TheseOrAt(hunks, lines),
                        None => SelectedHunks::These(hunks),
                    }
                }
                (None, _) => lines.map_or(SelectedHunks::All, SelectedHunks::At),
            },
        }))
    }
}

impl From<Permission> for UserAction {
    fn from(it: Permission) -> Self {
        let choice = match (it.option, it.allow) {
            (Some(option), _) => PermissionChoice::Option(option.into()),
            (None, true) => PermissionChoice::Allow,
            (None, false) => PermissionChoice::Deny(it.reason.filter(|it| !it.is_empty())),
        };
        match (it.automatic, it.chat, it.id, it.revision) {
            (true, Some(chat), Some(id), Some(revision)) => {
                Self::PermissionProvided { chat: ChatId(chat), id, revision, choice }
            }
            (_, chat, id, revision) => {
                Self::Permission { chat: chat.map(ChatId), id, revision, choice }
            }
        }
    }
}

/// Lets a confined agent write a path that it was kept from writing.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Widen {
    /// The chat.
    pub(in crate::nvim) chat: Chat,
    /// The path; absolute.
    pub(in crate::nvim) path: String,
}

impl From<Elicitation> for UserAction {
    fn from(Elicitation { chat, id, action, entered }: Elicitation) -> Self {
        let entered = entered.into_iter().map(|one| (one.key, one.value.into())).collect();
        let choice = match action {
            Action::Check => ElicitationChoice::Check(entered),
            Action::Accept => ElicitationChoice::Accept(entered),
            Action::Decline => ElicitationChoice::Decline,
            Action::Cancel => ElicitationChoice::Cancel,
        };
        Self::Elicitation { chat: ChatId(chat), id, choice }
    }
}

impl From<Entry> for FieldValue {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Text(text) => Self::Text(text),
            Entry::Flag(flag) => Self::Flag(flag),
            Entry::Several(values) => Self::Several(values),
        }
    }
}

impl TryFrom<Answer> for UserAction {
    type Error = ReadError;

    fn try_from(Answer { id, index }: Answer) -> Result<Self, ReadError> {
        Ok(Self::Answer { id, index: index.map(from_zero).transpose()? })
    }
}
