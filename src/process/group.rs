//! [`Group`], a process and everything it started, inside its process group or not, together with
//! the [`Watchdog`] that ends it if this program is killed. It does not read or write the process's
//! stdio.

use super::program;
use super::strays::Mark;
use super::watch;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// The command line of the watchdog. The process group and the mark are appended as arguments.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The executable to start.
    pub program: PathBuf,
    /// The arguments that make the program a watchdog.
    pub args: Vec<OsString>,
}

impl Watchdog {
    /// Uses this program as the watchdog, with the hidden subcommand that runs
    /// [`watch::watch_group`].
    pub fn of_this_program() -> std::io::Result<Self> {
        Ok(Self { program: program::running()?, args: vec!["watch-group".into()] })
    }

    /// Has the watchdog also remove what is left of a socket in this folder if this program is killed.
    #[must_use]
    pub fn removing_socket(mut self, folder: &Path) -> Self {
        self.args.extend(["--socket".into(), folder.into()]);
        self
    }

    fn spawn(&self, group: Pid, mark: &Mark) -> std::io::Result<Child> {
        Command::new(&self.program)
            .args(&self.args)
            .args([&group.to_string(), mark.as_str()])
            .env_clear()
            .current_dir("/")
            // `watch_group` calls setsid() only once it runs, and until then a signal from Neovim
            // to our process group must not reach it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// A process and everything it started.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    pgid: Pid,
    mark: Mark,
    watchdog: Option<Child>,
    /// Whether [`Group::kill_and_release`] was called; the process ids may be reused since.
    killed: bool,
}

impl Group {
    /// Takes over a process that leads its own process group and has the mark, and starts a
    /// watchdog for it. `None` if the process was already waited for.
    pub fn new(leader: Child, mark: Mark, watchdog: Option<&Watchdog>) -> Option<Self> {
        let pgid = Pid::from_raw(leader.id().and_then(|pid| i32::try_from(pid).ok())?);
        let watchdog = watchdog.and_then(|watchdog| match watchdog.spawn(pgid, &mark) {
            Ok(child) => Some(child),
            Err(error) => {
                tracing::error!(target: "process", %error, "no watchdog: if this program is killed, the process may stay");
                None
            }
        });
        Some(Self { leader, pgid, mark, watchdog, killed: false })
    }

    /// Returns the process id of the leader, which is also the id of the process group.
    pub fn id(&self) -> i32 {
        self.pgid.as_raw()
    }

    /// Waits for the leader to exit. This is cancel safe.
    pub async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.leader.wait().await
    }

    /// Sends a signal to the process group and to all processes with the mark.
    pub fn signal(&self, signal: Signal) {
        if self.killed {
            return;
        }
        // Before their parents end, by which some are found.
        self.mark.signal(Some(self.pgid), signal);
        // Fails if no process of the group is left.
        let _ = killpg(self.pgid, signal);
    }

    /// Whether any process of the group, or with the mark, is left.
    pub fn is_alive(&self) -> bool {
        !self.killed
            && (killpg(self.pgid, None).is_ok() || !self.mark.processes(Some(self.pgid)).is_empty())
    }

    /// Kills what is left and ends the watchdog. Afterwards [`Group::signal`] does nothing.
    pub async fn kill_and_release(&mut self) {
        if std::mem::replace(&mut self.killed, true) {
            return;
        }
        self.mark.kill(Some(self.pgid));
        let _ = killpg(self.pgid, Signal::SIGKILL);
        let Some(mut watchdog) = self.watchdog.take() else {
            return;
        };
        if let Some(mut pipe) = watchdog.stdin.take() {
            // Fails if the watchdog has exited already.
            let _ = pipe.write_all(watch::RELEASE).await;
        }
        if let Err(error) = watchdog.wait().await {
            tracing::warn!(target: "process", %error, "the watchdog cannot be waited for");
        }
    }
}

/// Returns the name of a signal, such as `SIGKILL`.
pub fn signal_name(number: i32) -> String {
    Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::strays;
    use super::*;
    use nix::unistd::{getpgid, getpgrp};

    /// Neovim sends SIGTERM to the process group of the bridge, and SIGKILL soon after.
    #[tokio::test]
    async fn a_watchdog_is_outside_our_process_group_from_the_start() {
        // A program that does not leave the group itself.
        let watchdog =
            Watchdog { program: "/bin/sh".into(), args: vec!["-c".into(), "cat".into()] };
        let mark = Mark::new();
        let mut command = Command::new("/bin/sleep");
        command.arg("60").env(strays::VARIABLE, mark.as_str()).process_group(0);
        let mut group = Group::new(command.spawn().unwrap(), mark, Some(&watchdog)).unwrap();
        let pid = group.watchdog.as_ref().and_then(Child::id).expect("a watchdog");
        let pid = Pid::from_raw(pid.try_into().unwrap());
        assert_ne!(getpgid(Some(pid)), Ok(getpgrp()));
        group.kill_and_release().await;
    }
}
