//! The process of an agent: how it is started, its pipes, and how it ended. Nothing of what is said.

use crate::core::event::agent::ExitCause;
use crate::process::group::{Group, Watchdog, signal_name};
use crate::process::program;
use crate::process::strays::{self, Mark};
use crate::session::agent::AgentConfig;
use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

/// The pipes of a process.
#[derive(Debug)]
pub struct Pipes {
    /// What we write to.
    pub stdin: ChildStdin,
    /// What we read.
    pub stdout: ChildStdout,
    /// What it says for people.
    pub stderr: ChildStderr,
}

/// Starts the agent in `cwd` as the leader of a process group of its own, with the environment of its
/// configuration, a mark and nothing else.
pub fn spawn(
    config: &AgentConfig,
    cwd: &Path,
    watchdog: Option<&Watchdog>,
) -> Result<(Group, Pipes), ExitCause> {
    let not_started = |not_found, error: String| ExitCause::NotStarted { not_found, error };
    if !cwd.is_dir() {
        let error = format!("{} is not a folder, so nothing can start in it", cwd.display());
        return Err(not_started(false, error));
    }
    let env: HashMap<&str, &str> = config
        .base_env
        .iter()
        .chain(&config.env)
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let path = env.get("PATH").copied().unwrap_or_default();
    let program =
        program::find(&config.command, path, cwd).map_err(|error| not_started(true, error))?;
    let mark = Mark::new();
    let mut child = Command::new(&program)
        .args(&config.args)
        .env_clear()
        .envs(&env)
        .env(strays::VARIABLE, mark.as_str())
        .current_dir(cwd)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| not_started(false, format!("{}: {error}", program.display())))?;
    let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
    let group = Group::new(child, mark, watchdog);
    let (Some(((stdin, stdout), stderr)), Some(group)) = (pipes, group) else {
        return Err(not_started(false, "it ended before it began".to_owned()));
    };
    Ok((group, Pipes { stdin, stdout, stderr }))
}

/// How a process ended, in our words.
pub fn cause(status: ExitStatus) -> ExitCause {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCause::Status(code),
        (None, Some(number)) => ExitCause::Signal(signal_name(number)),
        (None, None) => ExitCause::Signal("unknown".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_or_the_name_of_a_signal() {
        assert_eq!(cause(ExitStatus::from_raw(3 << 8)), ExitCause::Status(3));
        assert_eq!(cause(ExitStatus::from_raw(9)), ExitCause::Signal("SIGKILL".into()));
    }
}
