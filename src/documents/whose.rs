//! Who has changed a file on disk while a turn runs. When it changed decides, not when that was noticed. Where the time says
//! nothing, it is whose it was taken to be when it was noticed.

use std::path::Path;
use std::time::SystemTime;

use super::disk;
use super::document::Document;
use super::error::DocumentError;
use super::registry::{Documents, run_to_completion};
use crate::core::messages::files::CallState;
use crate::session::author::Author;

impl Document {
    /// Decides who has changed the file, which was noticed as a change by `by`.
    pub(super) async fn whose(&self, by: &Author) -> Result<Author, DocumentError> {
        let changed = self.call_disk(|path, _| disk::changed_at(path)).await?;
        Ok(self.call_times.decide(by, changed))
    }
}

impl Documents {
    /// A tool call runs from now on, or no more. A command (`is_command`) reads what it changes from the disk when it begins.
    pub fn call_is(&self, by: &Author, state: CallState, is_command: bool) {
        self.call_times.is(by, state, is_command, SystemTime::now());
    }

    /// Decides who has changed a file, which was noticed as a change by `by`. Its tool call is the one that ran at that time, if
    /// one did.
    pub async fn whose(&self, path: &Path, by: &Author) -> Author {
        let (document, noticed) = (self.document(path), by.clone());
        let decided =
            run_to_completion(async move { document.lock().await.whose(&noticed).await }).await;
        decided.unwrap_or_else(|_| by.clone())
    }
}
