//! Finds every process that was started for an agent by a [`Mark`] in the environment, which all
//! descendants inherit. Parent processes exit and shells start sessions of their own, so neither
//! parent ids nor process groups are enough.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The environment variable that holds the mark.
pub const VARIABLE: &str = "RAT_NVIM_AGENT";

/// How often [`Mark::kill`] looks for processes that were started while it killed the others.
const ROUNDS: usize = 5;

/// A unique value in the environment of one process and all of its descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// Creates a mark that no other process has.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}.{now}.{number}", std::process::id()))
    }

    /// Parses the result of [`Mark::as_str`]. `None` for anything else, which might match processes
    /// that are not ours.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('.').collect();
        let numbers = parts.iter().all(|part| part.parse::<u128>().is_ok());
        (parts.len() == 3 && numbers).then(|| Self(text.to_owned()))
    }

    /// Returns the value of the variable.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Sends a signal to all processes with the mark.
    pub fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            // Fails if the process has just exited.
            let _ = kill(pid, signal);
        }
    }

    /// Kills all processes with the mark, and those they start in the meantime. A process that is
    /// just being started may be missed: send SIGTERM first, then call this.
    pub fn kill(&self) {
        for _ in 0..ROUNDS {
            let processes = self.processes();
            if processes.is_empty() {
                return;
            }
            for pid in processes {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }

    /// Returns the running processes of this user that have the mark.
    pub fn processes(&self) -> Vec<Pid> {
        let wanted = format!("{VARIABLE}={}", self.0);
        let pids = if cfg!(target_os = "linux") { from_proc(&wanted) } else { from_ps(&wanted) };
        pids.into_iter().map(Pid::from_raw).collect()
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// Source: `man 5 proc`. The environment of other users' processes cannot be read, and a process
/// that has exited has none.
fn from_proc(wanted: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

/// Source: `man ps` of macOS; `-E` shows the environment.
fn from_ps(wanted: &str) -> Vec<i32> {
    let Ok(output) = Command::new("ps").args(["-axEww", "-o", "pid=,command="]).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.split_whitespace().any(|word| word == wanted));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn marks_are_unique_and_can_be_parsed() {
        let (one, two) = (Mark::new(), Mark::new());
        assert_ne!(one, two);
        assert_eq!(Mark::parse(one.as_str()), Some(one));
        for other in ["", "1", "1.2", "1.2.x", "1.2.3.4"] {
            assert_eq!(Mark::parse(other), None);
        }
    }

    #[test]
    fn only_processes_with_the_mark_are_killed() {
        let start = |mark: &Mark| {
            let mut sleep = Command::new("sleep");
            let child = sleep.arg("60").env(VARIABLE, mark.as_str()).spawn().unwrap();
            // A process that is just being started has no environment yet.
            let started = Instant::now();
            while mark.processes().is_empty() {
                assert!(started.elapsed() < Duration::from_secs(10), "it did not start");
                std::thread::yield_now();
            }
            child
        };
        let (mark, other) = (Mark::new(), Mark::new());
        let (mut marked, mut unmarked) = (start(&mark), start(&other));
        mark.kill();
        assert!(!marked.wait().unwrap().success());
        assert_eq!(mark.processes(), []);
        assert_eq!(unmarked.try_wait().unwrap(), None);
        other.signal(Signal::SIGTERM);
        assert!(!unmarked.wait().unwrap().success());
    }
}
