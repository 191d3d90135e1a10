//! The transport to agents that run as child processes: pipes for stdin, stdout and stderr.

use super::{Opened, Remote, Transport};
use crate::core::messages::agent::ExitCause;
use crate::process::confine::Launcher;
use crate::process::group::{Group, Watchdog, signal_name};
use crate::process::program;
use crate::process::strays::{self, Mark};
use crate::session::agent::AgentConfig;
use async_trait::async_trait;
use nix::sys::signal::Signal;
use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::process::Command;

/// Starts each agent in its own process group.
#[derive(Debug)]
pub struct ChildProcesses {
    launcher: Launcher,
    watchdog: Option<Watchdog>,
}

impl ChildProcesses {
    /// Creates the transport. Without a watchdog, agents that ignore the end of their stdin survive if this process is killed.
    /// Agents that are confined are started by the launcher.
    pub fn new(launcher: Launcher, watchdog: Option<Watchdog>) -> Self {
        Self { launcher, watchdog }
    }
}

impl Transport for ChildProcesses {
    fn open(&self, config: &AgentConfig, cwd: &Path) -> Result<Opened, ExitCause> {
        spawn(config, cwd, &self.launcher, self.watchdog.as_ref())
    }
}

#[async_trait]
impl Remote for Group {
    async fn wait_for_exit(&mut self) -> ExitCause {
        cause(self.wait().await.unwrap_or_default())
    }

    fn terminate(&mut self) {
        self.signal(Signal::SIGTERM);
    }

    fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
    }

    fn is_alive(&self) -> bool {
        Group::is_alive(self)
    }

    async fn release(&mut self) {
        self.kill_and_release().await;
    }
}

/// Starts the agent in `cwd` as the leader of a new process group. Its environment consists of that in its configuration and
/// the [`Mark`] by which its descendants are found.
fn spawn(
    config: &AgentConfig,
    cwd: &Path,
    launcher: &Launcher,
    watchdog: Option<&Watchdog>,
) -> Result<Opened, ExitCause> {
    let not_started = |not_found, error: String| ExitCause::NotStarted { not_found, error };
    if let Some(problem) = &config.problem {
        return Err(not_started(false, problem.clone()));
    }
    if !cwd.is_dir() {
        let error = format!("{} is not a folder", cwd.display());
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
    let args = config.args.iter().map(Into::into).collect();
    let (starts, args) = launcher
        .wrap(config.confinement.as_ref(), program.clone(), args)
        .map_err(|error| not_started(false, error))?;
    let mark = Mark::new();
    let mut child = Command::new(&starts)
        .args(&args)
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
        return Err(not_started(false, "it exited before it started".to_owned()));
    };
    tracing::info!(target: "acp", agent = %config.name, pgid = group.id(), "started");
    Ok(Opened {
        input: Box::new(stdin),
        output: Box::new(stdout),
        diagnostics: Box::new(stderr),
        remote: Box::new(group),
    })
}

/// Converts the exit status of a process.
fn cause(status: ExitStatus) -> ExitCause {
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
    fn an_exit_status_is_a_code_or_the_name_of_a_signal() {
        assert_eq!(cause(ExitStatus::from_raw(3 << 8)), ExitCause::Status(3));
        assert_eq!(cause(ExitStatus::from_raw(9)), ExitCause::Signal("SIGKILL".into()));
    }
}
