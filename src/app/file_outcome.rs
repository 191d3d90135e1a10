//! Converts the results of `documents` into outcomes for the agent and changes to show to the user.

use crate::core::messages::files::{FileChange, FileOutcome};
use crate::core::messages::policy::WriteDirty;
use crate::documents::{AgentChange, DocumentError, Via};

/// Converts the result of a read.
pub(super) fn read_outcome(read: Result<String, DocumentError>) -> FileOutcome {
    read.map_or_else(|error| failure(&error), FileOutcome::Text)
}

/// Converts the result of a write that was made under the policy `dirty`. Changes without any effect are left out.
pub(super) fn write_outcome(
    written: Result<AgentChange, DocumentError>,
    dirty: WriteDirty,
) -> FileOutcome {
    match written {
        Ok(change) => {
            let notice = change.saved_unsaved.then(|| saved_notice(&change, dirty));
            let changes = all_changes(&change).filter(has_effect).collect();
            FileOutcome::Written { changes, notice }
        }
        Err(DocumentError::Unsaved(path)) => FileOutcome::Unsaved(path),
        Err(error) => failure(&error),
    }
}

/// Converts an error into an answer to the agent.
pub(super) fn failure(error: &DocumentError) -> FileOutcome {
    let (message, reason) = (error.to_string(), error.message_for_user());
    FileOutcome::Failed { code: error.code(), message, reason }
}

/// Returns the agent's change, preceded by the external change that was merged before it, if any.
pub(super) fn all_changes(change: &AgentChange) -> impl Iterator<Item = FileChange> {
    change.disk_change.as_deref().into_iter().chain([change]).map(file_change)
}

fn saved_notice(change: &AgentChange, dirty: WriteDirty) -> String {
    let why = if dirty == WriteDirty::Save { "" } else { ", which the agent's edit builds on" };
    format!("Saved {} with your unsaved changes{why}", change.path.display())
}

fn file_change(change: &AgentChange) -> FileChange {
    FileChange {
        path: change.path.clone(),
        hunks: change.hunks.len(),
        conflicts: change.unresolved.len(),
        created: change.created,
        deleted: change.deleted,
        via: match change.via {
            Via::Protocol => "protocol",
            Via::Disk => "disk",
        },
        is_certain: change.via == Via::Protocol || change.by.tool_call.is_some(),
    }
}

fn has_effect(change: &FileChange) -> bool {
    change.hunks > 0 || change.conflicts > 0 || change.deleted
}
