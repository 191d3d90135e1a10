//! Runs CPU-bound work, such as diffs of large texts, on tokio's blocking threads. Calls that may block on a file
//! system go through `disks` instead.

use super::error::DocumentError;

/// Runs `work` on a blocking thread. Fails if it panics.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DocumentError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| DocumentError::Editor(error.to_string()))
}
