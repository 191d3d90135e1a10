//! A process and all it starts: how it is found and started, and how all of it ends. Nothing of what is said.

use super::strays::{self, Mark};
use super::watch;
use crate::core::event::ExitCause;
use crate::session::agent::AgentConfig;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How the watchdog is started; the process group and the agent's mark follow as the last arguments.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The program.
    pub program: PathBuf,
    /// What makes it one.
    pub args: Vec<OsString>,
}

impl Watchdog {
    /// This very program with the hidden subcommand that `main` hands to [`watch::watch_group`].
    pub fn of_this_program() -> std::io::Result<Self> {
        // The link leads to the running program even after an update has replaced the file.
        let link = Path::new("/proc/self/exe");
        let program = if link.exists() { link.to_owned() } else { std::env::current_exe()? };
        Ok(Self { program, args: vec!["watch-group".into()] })
    }
}

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
    let program = find(&config.command, path, cwd).map_err(|error| not_started(true, error))?;
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
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let (Some(((stdin, stdout), stderr)), Some(pid)) = (pipes, pid) else {
        return Err(not_started(false, "it ended before it began".to_owned()));
    };
    let watchdog = watchdog.and_then(|watchdog| match watch(watchdog, pid, &mark) {
        Ok(child) => Some(child),
        Err(error) => {
            tracing::error!(target: "acp", %error, "no watchdog: if this program is killed, the agent may stay");
            None
        }
    });
    let group = Group { leader: child, pgid: Pid::from_raw(pid), mark, watchdog };
    Ok((group, Pipes { stdin, stdout, stderr }))
}

/// The program that `command` names: a path (relative ones from `cwd`), or a name looked up on `path`.
fn find(command: &str, path: &str, cwd: &Path) -> Result<PathBuf, String> {
    if command.contains('/') {
        let program = cwd.join(command);
        if is_program(&program) {
            return Ok(program);
        }
        let what = if program.exists() { "cannot be executed" } else { "does not exist" };
        return Err(format!("{} {what}", program.display()));
    }
    // An entry may be relative, and an empty one means the working directory (POSIX).
    let found = std::env::split_paths(path).map(|folder| cwd.join(folder).join(command));
    found
        .into_iter()
        .find(|program| !command.is_empty() && is_program(program))
        .ok_or_else(|| format!("{command} is not on PATH"))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn watch(watchdog: &Watchdog, pgid: i32, mark: &Mark) -> std::io::Result<Child> {
    Command::new(&watchdog.program)
        .args(&watchdog.args)
        .args([&pgid.to_string(), mark.as_str()])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// A process with everything it started, in its group and outside.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    pgid: Pid,
    mark: Mark,
    watchdog: Option<Child>,
}

impl Group {
    /// The process id of the leader, which names the group.
    pub fn id(&self) -> i32 {
        self.pgid.as_raw()
    }

    /// Waits for the leader to end. Dropping the wait loses nothing.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.leader.wait().await
    }

    /// Sends a signal to all there is.
    pub fn signal(&self, signal: Signal) {
        // Fails where nothing is left of the group.
        let _ = killpg(self.pgid, signal);
        self.mark.signal(signal);
    }

    /// Whether anything is left.
    pub fn is_alive(&self) -> bool {
        killpg(self.pgid, None).is_ok() || !self.mark.carriers().is_empty()
    }

    /// Ends what is left at once, and lets the watchdog go.
    pub async fn kill(&mut self) {
        let _ = killpg(self.pgid, Signal::SIGKILL);
        self.mark.kill();
        let Some(mut watchdog) = self.watchdog.take() else {
            return;
        };
        if let Some(mut pipe) = watchdog.stdin.take() {
            // A watchdog that is gone has no use for it.
            let _ = pipe.write_all(watch::RELEASE).await;
        }
        if let Err(error) = watchdog.wait().await {
            tracing::warn!(target: "acp", %error, "the watchdog cannot be waited for");
        }
    }
}

/// How a process ended, in our words.
pub fn cause(status: ExitStatus) -> ExitCause {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitCause::Status(code),
        (None, Some(number)) => ExitCause::Signal(
            Signal::try_from(number)
                .map_or_else(|_| format!("signal {number}"), |signal| signal.to_string()),
        ),
        (None, None) => ExitCause::Signal("unknown".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_a_shell_would_find_them() {
        let here = Path::new("/");
        assert_eq!(find("sh", "/nowhere:/bin", here), Ok("/bin/sh".into()));
        assert_eq!(find("sh", "nowhere:bin", here), Ok("/bin/sh".into()));
        assert_eq!(find("bin/sh", "", here), Ok("/bin/sh".into()));
        assert_eq!(find("./sh", "", Path::new("/bin")), Ok("/bin/./sh".into()));
        assert_eq!(find("no-such-agent", "/bin", here), Err("no-such-agent is not on PATH".into()));
        assert_eq!(find("", "/bin", here), Err(" is not on PATH".into()));
        assert_eq!(find("/etc/passwd", "", here), Err("/etc/passwd cannot be executed".into()));
        assert_eq!(find("/no/such", "", here), Err("/no/such does not exist".into()));
    }

    #[test]
    fn a_status_is_a_number_or_the_name_of_a_signal() {
        assert_eq!(cause(ExitStatus::from_raw(3 << 8)), ExitCause::Status(3));
        assert_eq!(cause(ExitStatus::from_raw(9)), ExitCause::Signal("SIGKILL".into()));
    }
}
