//! Gives a path whose file has other names (hard links) a file of its own, before something is put back there that those names
//! have never had.

use std::path::Path;

use super::disk;
use super::document::Document;
use super::error::DocumentError;
use super::registry::{Documents, run_to_completion};

impl Document {
    async fn separate(&mut self) -> Result<(), DocumentError> {
        let before = self.facts().await?;
        let separated = self.call_disk(disk::separate).await?;
        separated.map_err(|error| DocumentError::write_failed(self.path.clone(), &error))?;
        let after = self.facts().await?;
        // It is the version that was followed, with another inode.
        if let Some((baseline, after)) = self.baseline.as_mut().zip(after)
            && Some(baseline.facts) == before
        {
            baseline.facts = after;
        }
        Ok(())
    }
}

impl Documents {
    /// Gives a path a file of its own if its file has other names.
    pub async fn separate(&self, path: &Path) -> Result<(), DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.separate().await }).await
    }
}
