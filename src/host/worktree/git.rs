//! Runs git, without a terminal and without what the user's own git has put into the environment.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a command may take. Checking a large repository out takes minutes.
const LIMIT: Duration = Duration::from_secs(600);

/// Longest part of git's own words that is told, in characters.
const MAX_REASON: usize = 200;

/// A command that runs in a folder.
#[derive(Debug)]
pub(super) struct Git(Command);

impl Git {
    /// In the repository that the folder is in.
    pub(super) fn in_folder(folder: &Path) -> Self {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder)
            .env("GIT_TERMINAL_PROMPT", "0")
            .args(["-c", "core.fsmonitor=false"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self(command)
    }

    /// In this worktree of this repository, whatever its `.git` says.
    pub(super) fn in_worktree(git_dir: &Path, top: &Path) -> Self {
        let mut git = Self::in_folder(top);
        git.0.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", top);
        git
    }

    /// With another index.
    pub(super) fn index(mut self, file: &Path) -> Self {
        self.0.env("GIT_INDEX_FILE", file);
        self
    }

    /// With these arguments.
    pub(super) fn args(mut self, args: &[&str]) -> Self {
        self.0.args(args);
        self
    }

    /// With one more argument, such as a path.
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.0.arg(arg);
        self
    }

    /// Returns what the command prints, or why it has failed.
    pub(super) async fn run(self) -> Result<Vec<u8>, String> {
        self.read(Vec::new()).await
    }

    /// The same for a command that reads something.
    pub(super) async fn read(mut self, input: Vec<u8>) -> Result<Vec<u8>, String> {
        if !input.is_empty() {
            self.0.stdin(Stdio::piped());
        }
        let failed = |error: std::io::Error| format!("git could not be run: {error}");
        let mut child = self.0.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let write = async move {
            if let Some(mut stdin) = stdin {
                // If git does not want it, it says why.
                let _ = stdin.write_all(&input).await;
            }
        };
        let both = async { tokio::join!(write, child.wait_with_output()).1 };
        let output = timeout(LIMIT, both).await.map_err(|_| "git does not answer".to_owned())?;
        let output = output.map_err(failed)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(reason(&output.stderr))
    }

    /// Returns what the command prints without the newline at its end.
    pub(super) async fn line(self) -> Result<String, String> {
        let printed = self.run().await?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }
}

/// The line in which git says what is wrong.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let told = |line: &str| {
        let said = line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: "));
        said.map(str::to_owned)
    };
    let last = || text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
    let line = text.lines().find_map(told).or_else(last);
    let line = line.unwrap_or_else(|| "git has failed without saying why".to_owned());
    line.chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_told_in_one_line() {
        assert_eq!(
            reason(b"hint: x\nfatal: not a git repository (or\nmore"),
            "not a git repository (or"
        );
        assert_eq!(reason(b"warning\nlast words\n\n"), "last words");
        assert_eq!(reason(b""), "git has failed without saying why");
        assert_eq!(reason("é".repeat(300).as_bytes()).chars().count(), MAX_REASON);
    }
}
