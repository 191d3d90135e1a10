//! What a write does to a file, computed from texts alone.

use super::editor::Then;
use crate::core::messages::policy::WriteDirty;
use crate::edit::{Conflict, Hunk, Text, apply, diff, merge};

/// What a write does to a file that is not loaded.
pub(super) struct Merged {
    /// The text the agent sent, in the shape of the file.
    pub(super) theirs: Text,
    /// The new text of the file.
    pub(super) after: Text,
    pub(super) hunks: Vec<Hunk>,
}

/// What a write does to a loaded document.
pub(super) struct Plan {
    /// The text the agent sent, in the shape of the file.
    pub(super) theirs: Text,
    /// Edits of the buffer.
    pub(super) hunks: Vec<Hunk>,
    pub(super) then: Then,
    /// The new text of the file, if the buffer is not saved because of the user's unsaved changes.
    pub(super) file: Option<Text>,
    /// Whether the user's unsaved changes are saved with it.
    pub(super) saves_unsaved: bool,
    /// Whether buffer and file already have the change.
    pub(super) is_noop: bool,
}

/// Why a write is refused.
pub(super) enum PlanError {
    /// The user has changed the same lines.
    Overlap(Vec<Conflict>),
    /// It would save the user's unsaved changes with it, and the user wants to be asked before.
    AskUser,
}

/// Merges `content` into the text of a file that is not loaded.
pub(super) fn merge_into(base: &Text, live: &Text, content: &str) -> Result<Merged, Vec<Conflict>> {
    let theirs = Text::matching(content, if live.is_empty() { base } else { live });
    merge(base, live, &theirs).map(|merged| {
        let after = apply(&merged.hunks, live);
        // An empty file has no shape to preserve.
        let shape = if live.is_empty() { theirs.shape() } else { merged.shape };
        Merged { theirs, after: after.with_shape(shape), hunks: merged.hunks }
    })
}

/// Whether `content` reverts a change between `seen`, which is what the model knows, and `read`, which a tool has read
/// right before writing. If so, the model has made `content` from `seen` and does not know of the change.
pub(super) fn reverts_to(seen: &Text, read: &Text, content: &str) -> bool {
    let changes = diff(read, &Text::matching(content, read));
    diff(read, seen).iter().any(|hunk| changes.contains(hunk))
}

/// Merges `content` into the text of the buffer (`live`). If the buffer has unsaved changes, `dirty` says what to do
/// about them; unless they are to be saved, `content` is merged separately into the text of the file. `dirty` is `None`
/// if there are none.
pub(super) fn make_plan(
    base: &Text,
    live: &Text,
    file: Option<&Text>,
    content: &str,
    dirty: Option<WriteDirty>,
) -> Result<Plan, PlanError> {
    let theirs = Text::matching(content, live);
    let merged = merge(base, live, &theirs).map_err(PlanError::Overlap)?;
    let save = Then::Save { eol: merged.shape.final_newline };
    let mut plan = Plan {
        theirs,
        hunks: merged.hunks,
        then: save,
        file: None,
        saves_unsaved: dirty.is_some(),
        is_noop: false,
    };
    let Some(dirty) = dirty else {
        if let Some(file) = file {
            let final_newline = file.shape().final_newline == merged.shape.final_newline;
            plan.is_noop = plan.hunks.is_empty() && final_newline && file.same_lines(live);
        }
        return Ok(plan);
    };
    if let Some(file) = file
        && let Ok(for_file) = merge(base, file, &plan.theirs)
    {
        plan.is_noop =
            plan.hunks.is_empty() && for_file.hunks.is_empty() && for_file.shape == file.shape();
        if dirty != WriteDirty::Save {
            plan.then = Then::Nothing;
            plan.file = Some(apply(&for_file.hunks, file).with_shape(for_file.shape));
            plan.saves_unsaved = false;
        }
    } else if dirty == WriteDirty::Leave {
        plan.then = Then::Nothing;
        plan.saves_unsaved = false;
        plan.file = file.cloned();
    } else if dirty == WriteDirty::Ask {
        // There is no file yet, or the agent has edited unsaved text, so that the edit cannot be applied to the file
        // without it.
        return Err(PlanError::AskUser);
    }
    Ok(plan)
}
