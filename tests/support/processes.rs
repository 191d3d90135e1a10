//! Questions about other processes: which live, which came from a test. Ends only those it is told to.
//!
//! Parents die and their children move to another one, so descent is not followed: every process started under a
//! test carries the test's mark in its environment.

use std::process::Command;
use std::time::Duration;

use super::{DEADLINE, poll_for};

/// The environment variable that marks what a test has started.
pub const MARK: &str = "RAT_TEST_MARK";

/// The processes that carry one mark.
#[derive(Clone, Debug)]
pub struct Processes {
    mark: String,
}

impl Processes {
    /// The processes whose environment has [`MARK`] set to `mark`, which nobody else uses.
    pub fn marked(mark: impl Into<String>) -> Self {
        Self { mark: mark.into() }
    }

    /// Those of a server that runs beside these and outlives them.
    pub fn of_server(&self) -> Self {
        Self::marked(format!("{}-server", self.mark))
    }

    /// The variable that marks them, as `NAME=VALUE`.
    pub fn variable(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// The pids of those that live now, in rising order.
    pub fn living(&self) -> Vec<u32> {
        let wanted = self.variable();
        let mut pids =
            if cfg!(target_os = "linux") { from_proc(&wanted) } else { from_ps(&wanted) };
        pids.retain(|pid| Self::is_alive(*pid));
        pids.sort_unstable();
        pids
    }

    /// Waits until none lives. Gives those that still do, with their command lines, after the deadline.
    pub fn wait_until_gone(&self, deadline: Duration) -> Result<(), String> {
        poll_for(deadline, || self.living().is_empty().then_some(())).ok_or_else(|| {
            let left = self.living();
            left.iter()
                .map(|pid| format!("{pid}: {}", command_line(*pid)))
                .collect::<Vec<_>>()
                .join("\n")
        })
    }

    /// Ends by force those that live.
    pub fn kill(&self) {
        for pid in self.living() {
            Self::signal(pid, "KILL");
        }
    }

    /// Whether the process exists and is no zombie.
    pub fn is_alive(pid: u32) -> bool {
        state(pid).is_some_and(|state| state != 'Z')
    }

    /// Waits until one process is gone. Gives whether it is.
    pub fn is_gone(pid: u32) -> bool {
        poll_for(DEADLINE, || (!Self::is_alive(pid)).then_some(())).is_some()
    }

    /// Sends a signal, named without SIG, to one process.
    pub fn signal(pid: u32, name: &str) {
        let _ = Command::new("kill").args([format!("-{name}"), pid.to_string()]).output();
    }
}

/// The first letter of the process's state; nothing where there is no such process.
fn state(pid: u32) -> Option<char> {
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold some itself.
        return stat.rsplit(") ").next()?.chars().next();
    }
    ps("stat=", pid).chars().next()
}

fn command_line(pid: u32) -> String {
    if cfg!(target_os = "linux") {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        return String::from_utf8_lossy(&words).replace('\0', " ");
    }
    ps("command=", pid)
}

/// One field of a process where there is no `/proc`.
fn ps(what: &str, pid: u32) -> String {
    let output = Command::new("ps").args(["-o", what, "-p", &pid.to_string()]).output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

fn from_proc(wanted: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

fn from_ps(wanted: &str) -> Vec<u32> {
    let Ok(output) = Command::new("ps").args(["-axEww", "-o", "pid=,command="]).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.split_whitespace().any(|word| word == wanted));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}
