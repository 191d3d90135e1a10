//! What the user has chosen about files that agents and the user change side by side. Choices only: what follows from
//! them is decided where it comes up.

/// The options that `start` brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// The option `unsaved`.
    pub unsaved: Unsaved,
    /// The option `write_dirty`.
    pub write_dirty: WriteDirty,
}

/// What becomes of unsaved text when a prompt is sent to an agent that cannot see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsaved {
    /// The prompt carries a diff.
    #[default]
    Note,
    /// The prompt carries the texts whole.
    Embed,
    /// The buffers are saved.
    Save,
    /// The user is asked.
    Ask,
    /// Nothing.
    Ignore,
}

impl Unsaved {
    /// By its name among the options.
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
    /// The user's changes stay unsaved; where that cannot be, the buffer is saved.
    #[default]
    Separate,
    /// The buffer is saved whole.
    Save,
    /// The user's changes stay unsaved; where that cannot be, the user is asked.
    Ask,
}

impl WriteDirty {
    /// By its name among the options.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "separate" => Self::Separate,
            "save" => Self::Save,
            "ask" => Self::Ask,
            _ => return None,
        })
    }
}
