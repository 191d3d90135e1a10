//! Small parts of a chat: file access, session settings, and what has to be saved and redrawn.

use crate::core::messages::file_scope::AllowedPath;
use crate::core::messages::page::View;
use crate::core::messages::policy::ChatPolicy;
use crate::core::messages::review::EditedDiff;
use crate::session::ids::ToolCallId;
use crate::session::saved::StoreKey;
use crate::session::update::{ConfigOption, Selection};
use crate::trust::kept::KeptRule;
use crate::trust::rule::Rule;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What the agent may do with files.
#[derive(Debug, Default)]
pub(in crate::core) struct FileAccess {
    /// The user's options for unsaved text.
    pub policy: ChatPolicy,
    /// Rules that the user has made for this session.
    pub session_rules: Vec<KeptRule>,
    /// All rules that hold: those of the policy, the saved ones and those of this session.
    pub rules: Arc<[Rule]>,
    /// How many times they have changed.
    pub rules_version: u64,
    /// Paths outside the roots that the user has allowed.
    pub allowed: Vec<AllowedPath>,
    /// Paths outside the roots that the user has refused.
    pub refused: Vec<AllowedPath>,
    /// Files that the agent may read although a rule says to ask: the user has allowed it.
    pub read_by_consent: Vec<PathBuf>,
    /// Files of that kind that the user does not want to be read.
    pub unread: Vec<PathBuf>,
    /// Whether the agent has ever used `fs/read_text_file`.
    pub reads_through_us: bool,
    /// Whether the agent has ever used `fs/write_text_file`, and does not write the same to disk.
    pub writes_through_us: bool,
    /// Changes that the user has edited before allowing them, until the agent writes them.
    pub edited: Vec<EditedDiff>,
}

/// What can be set in a session.
#[derive(Debug, Default)]
pub(in crate::core) struct SessionSettings {
    /// ACP session modes; ignored if there are options.
    pub modes: Option<Selection>,
    /// Models of an agent that has no options.
    pub models: Option<Selection>,
    /// ACP session config options.
    pub options: Vec<ConfigOption>,
}

/// What still has to be saved.
#[derive(Debug, Default)]
pub(in crate::core) struct SaveState {
    /// Write the whole transcript, not only the changed entries.
    pub rewrite: bool,
    /// The last attempt failed, and the user has been told.
    pub failed: bool,
    /// The user has asked for something else than a change in place.
    pub is_conversation: bool,
    /// The session that its agent no longer has, and whose whole transcript this one goes on with. It is deleted once this one
    /// is saved.
    pub continues: Option<StoreKey>,
}

/// What has to be redrawn, besides the changed entries of the transcript.
#[derive(Debug)]
pub(in crate::core) struct RedrawState {
    /// The chat's status has changed.
    pub status: bool,
    /// Views to redraw completely.
    pub views: BTreeSet<View>,
    /// Tool calls that have changed.
    pub tool_calls: BTreeSet<ToolCallId>,
}

impl Default for RedrawState {
    fn default() -> Self {
        Self { status: true, views: View::ALL.into(), tool_calls: BTreeSet::new() }
    }
}
