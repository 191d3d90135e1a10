//! Collects the context of a prompt: unsaved text, files that changed since the last turn, attachments. The prompt waits for
//! it, so each part has a time limit.

use super::file_scope::filter_in_scope;
use crate::core::messages::effect::CollectPromptContext;
use crate::core::messages::files::PromptContext;
use crate::core::messages::policy::Unsaved;
use crate::documents::editor::Editor;
use crate::documents::{Documents, attachments};
use crate::session::author::SessionKey;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a prompt waits for unsaved text, and again for changed files.
const CONTEXT_LIMIT: Duration = Duration::from_secs(2);
/// How long it waits until the buffers contain what the previous turn left on disk.
const SCAN_LIMIT: Duration = Duration::from_secs(5);
/// How long it waits for buffers to be saved, which may run a formatter.
const SAVE_LIMIT: Duration = Duration::from_secs(10);
/// How long it waits for attached files. They get more time because the user chose them.
const ATTACH_LIMIT: Duration = Duration::from_secs(10);

/// Waits until the buffers contain what the previous turn of a session left on disk: until then, its changes cannot be told
/// from the user's.
pub(super) async fn wait_for_scans(documents: &Documents, session: &SessionKey) {
    if !documents.scans_done(session, Instant::now() + SCAN_LIMIT).await {
        tracing::warn!("a prompt is sent before buffers have followed the previous turn");
    }
}

/// Collects the context that `request` asks for. Parts that take too long are left out.
pub(super) async fn collect(
    editor: Arc<dyn Editor>,
    documents: Arc<Documents>,
    request: CollectPromptContext,
) -> PromptContext {
    let CollectPromptContext { session, turn, cwd, scope, unsaved, reads_buffers, files, .. } =
        request;
    let (editor, disks) = (editor.as_ref(), documents.disks());
    let (now, save) = (Instant::now(), unsaved == Unsaved::Save);
    let open = async {
        let (modified, open) = tokio::join!(loaded(editor, true), loaded(editor, false));
        let modified = filter_in_scope(disks, &scope, modified).await;
        (modified, filter_in_scope(disks, &scope, open).await)
    };
    let (modified, open) = timeout_at(now + CONTEXT_LIMIT, open).await.unwrap_or_else(|_| {
        tracing::warn!("a prompt is sent without unsaved changes: the editor did not answer");
        (Vec::new(), Vec::new())
    });
    // The agent may change files as soon as it has the prompt, so their texts have to be recorded before.
    let recording = async {
        for path in &open {
            if let Err(error) = documents.record_baseline(path).await {
                tracing::debug!(path = %path.display(), %error, "no baseline");
            }
        }
        let known = filter_in_scope(disks, &scope, documents.known_paths()).await;
        let paths: BTreeSet<PathBuf> = known.into_iter().chain(open).collect();
        documents.note_found(paths, (&session, turn), now + CONTEXT_LIMIT).await;
    };
    if timeout_at(now + CONTEXT_LIMIT, recording).await.is_err() {
        tracing::warn!("the base of unsaved changes is not known yet");
    }
    let limit = if save { SAVE_LIMIT } else { CONTEXT_LIMIT };
    let modified = if unsaved == Unsaved::Ignore { Vec::new() } else { modified };
    let (unsaved, problems) = documents.unsaved(modified, &cwd, save, now + limit).await;
    // Files that were saved just now have changed for the agent, too. Saving may have used up the time, so it starts anew.
    let start = if save { Instant::now() } else { now };
    let changed = documents.changed(&session, &cwd, reads_buffers, start + CONTEXT_LIMIT).await;
    let files = attachments::read_all(disks, files, Instant::now() + ATTACH_LIMIT).await;
    PromptContext { unsaved, changed, problems, files }
}

/// Returns the files of all loaded buffers, or only of those with unsaved changes; none if the editor does not answer.
pub(super) async fn loaded(editor: &dyn Editor, modified: bool) -> Vec<PathBuf> {
    editor.loaded(modified).await.unwrap_or_else(|error| {
        if !editor.is_gone() {
            tracing::warn!(%error, "the editor did not list the loaded files");
        }
        Vec::new()
    })
}
