//! The user's options for files that the user and agents change at the same time, for what agents change, and for what they
//! may do.

use crate::core::messages::worktree::Worktree;
use crate::trust::rule::Rule;
use std::path::PathBuf;
use std::sync::Arc;

/// The options passed to `start`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatPolicy {
    /// The option `unsaved`.
    pub unsaved: Unsaved,
    /// The option `write_dirty`.
    pub write_dirty: WriteDirty,
    /// The option `review`.
    pub review: ReviewMode,
    /// What to do about files outside the roots.
    pub outside: Outside,
    /// The real paths that the roots had when `start` was called. Empty if they are not known.
    pub real_roots: Vec<PathBuf>,
    /// The option `permission.rules`.
    pub rules: Arc<[Rule]>,
    /// What is wrong with rules, a line each: no rule allows anything then.
    pub rule_problems: Vec<String>,
    /// The worktree that the chat works in, if it does.
    pub worktree: Option<Arc<Worktree>>,
    /// What the project's settings file changes, a line each, for `:RatInfo`.
    pub project_settings: Vec<String>,
}

/// What to do when an agent wants to use a file outside the roots through us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outside {
    /// Ask the user.
    #[default]
    Ask,
    /// Refuse it.
    Refuse,
    /// Let it be read, and refuse to write it.
    Read,
}

/// How much the user wants to see of what agents have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReviewMode {
    /// Show what is pending, and keep what turns change so that they can be undone.
    #[default]
    After,
    /// Like `After`, and ask before a file is written for an agent.
    Before,
    /// Nothing is shown or kept.
    Off,
}

/// What to do about unsaved text when a prompt is sent to an agent that cannot see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsaved {
    /// Add a diff to the prompt.
    #[default]
    Note,
    /// Add the complete texts to the prompt.
    Embed,
    /// Save the buffers first.
    Save,
    /// Ask the user.
    Ask,
    /// Send the prompt without it.
    Ignore,
}

impl Unsaved {
    /// Returns the value with this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "note" => Self::Note,
            "embed" => Self::Embed,
            "save" => Self::Save,
            "ask" => Self::Ask,
            "ignore" => Self::Ignore,
            _ => return None,
        })
    }
}

/// How an agent writes to a file whose buffer has unsaved changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteDirty {
    /// Leave the user's changes unsaved. If that is not possible, save the buffer.
    #[default]
    Separate,
    /// Save the whole buffer.
    Save,
    /// Leave the user's changes unsaved. If that is not possible, ask the user.
    Ask,
    /// Leave the user's changes unsaved. If that is not possible, leave this one unsaved, too.
    Leave,
}

impl WriteDirty {
    /// Returns the value with this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "separate" => Self::Separate,
            "save" => Self::Save,
            "ask" => Self::Ask,
            _ => return None,
        })
    }
}
