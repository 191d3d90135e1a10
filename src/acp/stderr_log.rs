//! What each agent has written to stderr, in a file of its own.

use std::path::{Path, PathBuf};
use tokio::fs::{DirBuilder, File, OpenOptions, rename};
use tokio::io::AsyncWriteExt;

/// A file of more bytes is renamed to `.log.old`, and a new one begun.
const MAX_BYTES: u64 = 1 << 20;

/// The file of one agent. What cannot be written is logged once, and nothing more is written.
#[derive(Debug, Default)]
pub(super) struct StderrLog {
    open: Option<(PathBuf, File, u64)>,
}

impl StderrLog {
    /// Opens the file of `agent` in `folder`; without a folder, nothing is written.
    pub(super) async fn open(folder: Option<&Path>, agent: &str) -> Self {
        let Some(folder) = folder else { return Self::default() };
        let path = folder.join(file_name(agent));
        match Self::opened(&path).await {
            Ok((file, bytes)) => Self { open: Some((path, file, bytes)) },
            Err(error) => {
                tracing::warn!(target: "acp", %error, path = %path.display(), "no log of stderr");
                Self::default()
            }
        }
    }

    /// Appends whole lines.
    pub(super) async fn append(&mut self, lines: &str) {
        let Some((path, mut file, mut bytes)) = self.open.take() else { return };
        let written = async {
            if bytes > MAX_BYTES {
                (file, bytes) = Self::opened(&path).await?;
            }
            file.write_all(lines.as_bytes()).await?;
            file.flush().await
        };
        match written.await {
            Ok(()) => {
                let bytes = bytes + u64::try_from(lines.len()).unwrap_or(u64::MAX);
                self.open = Some((path, file, bytes));
            }
            Err(error) => {
                tracing::warn!(target: "acp", %error, path = %path.display(), "the log of stderr ends");
            }
        }
    }

    /// Opens a file and returns its size. One that is too large makes room for a new one.
    async fn opened(path: &Path) -> std::io::Result<(File, u64)> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
        }
        let size = tokio::fs::metadata(path).await.map_or(0, |it| it.len());
        if size > MAX_BYTES {
            rename(path, path.with_extension("log.old")).await?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).await?;
        Ok((file, if size > MAX_BYTES { 0 } else { size }))
    }
}

/// Returns the name of the file of an agent. A name may have any characters.
fn file_name(agent: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("{}.log", agent.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_a_file_in_the_folder() {
        assert_eq!(file_name("claude"), "claude.log");
        assert_eq!(file_name("../a b/c"), ".._a_b_c.log");
    }
}
