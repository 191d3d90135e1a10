//! A process with everything it started, in its process group and outside, and the watchdog that ends it when this
//! program is killed. Nothing of what goes through its pipes.

use super::strays::Mark;
use super::watch;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// How the watchdog is started; the process group and the mark follow as the last arguments.
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

    fn watch(&self, group: Pid, mark: &Mark) -> std::io::Result<Child> {
        Command::new(&self.program)
            .args(&self.args)
            .args([&group.to_string(), mark.as_str()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// A process with everything it started.
#[derive(Debug)]
pub struct Group {
    leader: Child,
    pgid: Pid,
    mark: Mark,
    watchdog: Option<Child>,
    /// Nothing is left of it, and its number may be another's by now.
    gone: bool,
}

impl Group {
    /// Takes charge of a process that leads a group of its own and carries the mark. `None` where it has been waited
    /// for already.
    pub fn new(leader: Child, mark: Mark, watchdog: Option<&Watchdog>) -> Option<Self> {
        let pgid = Pid::from_raw(leader.id().and_then(|pid| i32::try_from(pid).ok())?);
        let watchdog = watchdog.and_then(|watchdog| match watchdog.watch(pgid, &mark) {
            Ok(child) => Some(child),
            Err(error) => {
                tracing::error!(target: "process", %error, "no watchdog: if this program is killed, the process may stay");
                None
            }
        });
        Some(Self { leader, pgid, mark, watchdog, gone: false })
    }

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
        if self.gone {
            return;
        }
        // Fails where nothing is left of the group.
        let _ = killpg(self.pgid, signal);
        self.mark.signal(signal);
    }

    /// Whether anything is left.
    pub fn is_alive(&self) -> bool {
        !self.gone && (killpg(self.pgid, None).is_ok() || !self.mark.carriers().is_empty())
    }

    /// Ends what is left at once, and lets the watchdog go. From then on no signal goes anywhere.
    pub async fn kill(&mut self) {
        if std::mem::replace(&mut self.gone, true) {
            return;
        }
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
            tracing::warn!(target: "process", %error, "the watchdog cannot be waited for");
        }
    }
}

/// The name of a signal, such as `SIGKILL`.
pub fn signal_name(number: i32) -> String {
    Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.to_string())
}
