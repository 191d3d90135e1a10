//! The entries of a transcript, as they are shown and saved. The names of fields and variants are
//! part of the format of saved sessions.

use super::address::Page;
use super::content::{About, Audience, Content};
use super::elicitation::ElicitationKind;
use super::ids::{MessageId, OptionId};
use super::permission::{DecidedBy, OptionKind, PermissionOption};
use super::shown::Shown;
use super::tool_call::ToolCall;
use super::update::{PlanEntry, Role, Severity};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An entry of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// Agent, folder and session, at the top and after each restart.
    Banner(String),
    /// A message of the user or the agent.
    Message(Message),
    /// A tool call.
    Tool(Box<ToolEntry>),
    /// The latest plan of its turn.
    Plan(Vec<PlanEntry>),
    /// An elicitation request.
    Elicitation(ElicitationEntry),
    /// An event: how a turn ended, a notice, an error.
    Note(Note),
}

/// A message, or the part of it that was received so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The author of the message.
    pub role: Role,
    /// Its id, if the agent gave one.
    pub id: Option<MessageId>,
    /// The text exactly as received.
    pub text: String,
    /// Content other than text: attached files, images.
    pub attachments: Vec<Attached>,
    /// How often the agent replaced the whole text. While this stays the same, the text only grows.
    #[serde(default)]
    pub said_anew: u32,
    /// The annotations of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// An attachment of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Attached {
    /// Something the user attached, described in one line.
    Words(String),
    /// Content other than text.
    Content(Content),
}

impl Attached {
    /// Describes it in one line.
    pub fn summary(&self) -> String {
        match self {
            Self::Words(summary) => summary.clone(),
            Self::Content(content) => content.summary(),
        }
    }
}

impl Message {
    pub(super) fn new(
        role: Role,
        id: Option<MessageId>,
        text: String,
        attachments: Vec<Attached>,
    ) -> Self {
        Self { role, id, text, attachments, said_anew: 0, about: None }
    }

    /// Whether the agent says that it is for the model alone.
    pub fn is_for_model(&self) -> bool {
        self.role == Role::Agent
            && self.about.as_ref().is_some_and(|about| about.audience == Some(Audience::Assistant))
    }
}

/// A tool call and the permission request for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// The tool call.
    pub call: ToolCall,
    /// The latest permission request, if there was one.
    pub asked: Option<PermissionEntry>,
    /// The user's rule that denies what it has done without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_rule: Option<String>,
    /// Whether something was refused by a rule while it was open. Then it has not done that.
    #[serde(skip)]
    pub was_refused: bool,
}

impl ToolEntry {
    /// Creates the entry of a call that nobody was asked about.
    pub fn new(call: ToolCall) -> Self {
        Self { call, asked: None, against_rule: None, was_refused: false }
    }

    /// Whether a request for it waits.
    pub fn is_waiting(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.decision == Decision::Waiting)
    }

    /// Whether the user, or what they have set up, allowed it, and not the editor because it is a tool of its own.
    pub fn is_allowed_by_somebody(&self) -> bool {
        self.is_allowed() && self.asked.as_ref().is_some_and(|asked| asked.by != DecidedBy::Editor)
    }

    /// Whether it was allowed.
    pub fn is_allowed(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| match &asked.decision {
            Decision::Chosen(id) => asked.options.iter().any(|option| {
                option.id == *id
                    && matches!(option.kind, OptionKind::AllowOnce | OptionKind::AllowAlways)
            }),
            Decision::Waiting | Decision::Cancelled => false,
        })
    }
}

/// A permission request in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionEntry {
    /// The number we gave the request.
    pub id: u64,
    /// What is asked, if the tool call does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Why none of the user's rules decides on it, although there are rules about such requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The options in the agent's order.
    pub options: Vec<PermissionOption>,
    /// Its outcome so far.
    pub decision: Decision,
    /// Who has answered it.
    #[serde(default, skip_serializing_if = "DecidedBy::is_user")]
    pub by: DecidedBy,
    /// What the answer holds for, if it allows something and the call is open.
    #[serde(skip)]
    pub shown: Option<Box<Shown>>,
}

/// The outcome of a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// The user has not responded yet.
    Waiting,
    /// The user chose this option.
    Chosen(OptionId),
    /// The turn was cancelled, or the agent withdrew the request.
    Cancelled,
}

/// An event in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How severe it is.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// Further lines.
    pub details: Vec<String>,
    /// Identifies a note that is updated in place, such as a compaction.
    pub key: Option<String>,
    /// The path to allow, if the note is about what a confined agent could not write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<PathBuf>,
}

/// How the key of a note begins that repeats what an agent has printed.
const PRINTED: &str = "printed ";

impl Note {
    /// The key of the note with what the agent of this number has printed.
    pub fn printed_key(agent: u32) -> Option<String> {
        Some(format!("{PRINTED}{agent}"))
    }

    /// Returns the note as it is saved: an address to sign in at may have a token in it.
    #[must_use]
    pub fn to_save(&self) -> Self {
        let mut saved = self.clone();
        if self.key.as_ref().is_some_and(|key| key.starts_with(PRINTED)) {
            saved.details.clear();
        }
        saved
    }

    /// Creates a note of one line.
    pub fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self { severity, title: title.into(), details: Vec::new(), key: None, denied: None }
    }
}

/// An elicitation request in the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitationEntry {
    /// The number we gave the request.
    pub id: u64,
    /// Why the agent asks.
    pub message: String,
    /// What the user is asked to do.
    pub about: Requested,
    /// Its outcome so far.
    pub became: ElicitationState,
}

/// What the user is asked to do, as far as it is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requested {
    /// To fill in fields with these titles.
    Fields(Vec<String>),
    /// To open a web page.
    Url {
        /// The host of the URL.
        host: String,
        /// The whole URL. It is not saved, since it may contain an access token.
        #[serde(skip)]
        url: Option<String>,
        /// Warnings about the URL, one line each.
        warnings: Vec<String>,
    },
}

/// The outcome of an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElicitationState {
    /// The user has not responded yet.
    Waiting,
    /// The user submitted the form.
    Sent,
    /// The user consented to open the URL.
    Opened,
    /// The agent reported that the user is done there (ACP `elicitation/complete`).
    Complete,
    /// The user declined.
    Declined,
    /// The user closed it, or it became obsolete.
    Cancelled,
}

impl ElicitationEntry {
    /// Creates the entry for a request.
    pub fn new(id: u64, message: &str, wants: &ElicitationKind, became: ElicitationState) -> Self {
        let about = match wants {
            ElicitationKind::Form(form) => {
                Requested::Fields(form.fields.iter().map(|field| field.title.clone()).collect())
            }
            ElicitationKind::Url(_, Page { url, host, warnings }) => Requested::Url {
                host: host.clone(),
                url: Some(url.clone()),
                warnings: warnings.clone(),
            },
        };
        Self { id, message: message.to_owned(), about, became }
    }

    /// Marks a request of an earlier process as cancelled: no agent waits for it any more.
    pub(super) fn restore(&mut self) {
        if matches!(self.became, ElicitationState::Waiting) {
            self.became = ElicitationState::Cancelled;
        }
    }
}
