//! The only place that starts git. It runs without a terminal, without what the user's own git has put into the environment,
//! and in a `Repository`: with none of the configuration and hooks in that one, which an agent may have
//! written.

pub mod diff;
pub(in crate::host) mod repository;
mod scratch;
pub(in crate::host) mod settings;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy};
use tokio::process::{ChildStderr, Command};
use tokio::time::timeout;

/// How long a command may take. Checking a large repository out takes minutes.
const LIMIT: Duration = Duration::from_secs(600);

/// Longest part of git's own words that is told, in characters.
const MAX_REASON: usize = 200;
/// How much of them is read for that, in bytes.
const MAX_STDERR: u64 = 64 << 10;

const NO_ANSWER: &str = "git does not answer";

/// What of the environment says which configuration is the user's own.
const OWN_CONFIGURATION: &[&str] =
    &["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// What is set whatever the user's own configuration says: it may name programs by paths that are relative to a project.
const ALWAYS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
];

/// A command that runs in a folder.
#[derive(Debug)]
pub(in crate::host) struct Git(Command);

impl Git {
    /// In a folder. What is found there is git's own matter, so only a repository of ours uses this.
    fn new(folder: &Path) -> Self {
        let mut command = Command::new("git");
        for (name, _) in env::vars_os() {
            let is_own = OWN_CONFIGURATION.iter().any(|own| name == *own);
            if name.as_encoded_bytes().starts_with(b"GIT_") && !is_own {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder)
            .env("PATH", absolute(&env::var_os("PATH").unwrap_or_default()))
            .env("GIT_TERMINAL_PROMPT", "0")
            // Nothing is fetched, not even an object that is missing.
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_NO_LAZY_FETCH", "1")
            .args(["--no-pager", "--no-optional-locks"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for setting in ALWAYS {
            command.args(["-c", setting]);
        }
        Self(command)
    }

    /// With a variable of the environment.
    fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// With another index.
    pub(in crate::host) fn index(self, file: &Path) -> Self {
        self.env("GIT_INDEX_FILE", file)
    }

    /// With the attributes that files have in this commit, not in the folder. Git before 2.41 takes those of the folder.
    pub(in crate::host) fn attributes_of(self, commit: &str) -> Self {
        self.env("GIT_ATTR_SOURCE", commit)
    }

    /// With these arguments.
    pub(in crate::host) fn args(mut self, args: &[&str]) -> Self {
        self.0.args(args);
        self
    }

    /// With one more argument, such as a path.
    pub(in crate::host) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.0.arg(arg);
        self
    }

    /// Returns what the command prints, or why it has failed.
    pub(in crate::host) async fn run(self) -> Result<Vec<u8>, String> {
        self.read(Vec::new()).await
    }

    /// The same for a command that reads something.
    pub(in crate::host) async fn read(mut self, input: Vec<u8>) -> Result<Vec<u8>, String> {
        if !input.is_empty() {
            self.0.stdin(Stdio::piped());
        }
        let mut child = self.0.spawn().map_err(not_run)?;
        let stdin = child.stdin.take();
        let write = async move {
            if let Some(mut stdin) = stdin {
                // If git does not want it, it says why.
                let _ = stdin.write_all(&input).await;
            }
        };
        let both = async { tokio::join!(write, child.wait_with_output()).1 };
        let output = timeout(LIMIT, both).await.map_err(|_| NO_ANSWER)?.map_err(not_run)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(reason(&output.stderr))
    }

    /// Passes on what the command prints, but no more than `limit` bytes: it is ended then, or when that takes
    /// too long.
    async fn pipe(
        mut self,
        limit: u64,
        patience: Duration,
        mut to: impl AsyncWrite + Unpin,
    ) -> Result<(), String> {
        let mut child = self.0.spawn().map_err(not_run)?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("git has no output".to_owned());
        };
        let words = tokio::spawn(first_words(stderr));
        let all = async {
            let copied = copy(&mut stdout.take(limit), &mut to).await?;
            to.flush().await?;
            // If there is more, git waits for somebody to read it.
            Ok(copied == limit || child.wait().await?.success())
        };
        if timeout(patience, all).await.map_err(|_| NO_ANSWER)?.map_err(not_run)? {
            return Ok(());
        }
        let words = words.await.unwrap_or_default();
        Err(reason(&words))
    }

    /// Returns what the command prints without the newline at its end.
    pub(in crate::host) async fn line(self) -> Result<String, String> {
        let printed = self.run().await?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }
}

/// Reads all that git has to say, and keeps the beginning.
async fn first_words(mut stderr: ChildStderr) -> Vec<u8> {
    let mut words = Vec::new();
    let _ = (&mut stderr).take(MAX_STDERR).read_to_end(&mut words).await;
    let _ = copy(&mut stderr, &mut tokio::io::sink()).await;
    words
}

fn not_run(error: std::io::Error) -> String {
    format!("git could not be run: {error}")
}

/// The entries of a PATH that do not depend on the folder in which a program runs.
fn absolute(path: &OsStr) -> OsString {
    let entries = env::split_paths(path).filter(|entry| entry.is_absolute());
    // What was split at colons can be joined by them.
    env::join_paths(entries).unwrap_or_default()
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
    fn no_program_is_looked_for_in_the_folder_of_a_project() {
        assert_eq!(absolute(OsStr::new("/usr/bin:.::bin:/bin:")), "/usr/bin:/bin");
    }

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
