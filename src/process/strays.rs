//! What a process has started outside its process group, found by a mark in the environment that everything inherits.
//! Parents die and shells begin sessions of their own, so neither descent nor groups say enough.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that all that is started for an agent gets beside its own.
pub const VARIABLE: &str = "RAT_NVIM_AGENT";

/// How often what appears while the others are ended is looked for.
const ROUNDS: usize = 5;

/// The mark of one process and all it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// One that no other has.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}.{now}.{number}", std::process::id()))
    }

    /// The one that [`Mark::as_str`] gave; `None` for a text that may be somebody else's.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('.').collect();
        let numbers = parts.iter().all(|part| part.parse::<u128>().is_ok());
        (parts.len() == 3 && numbers).then(|| Self(text.to_owned()))
    }

    /// The value of the variable.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Sends a signal to all that carry the mark.
    pub fn signal(&self, signal: Signal) {
        for pid in self.carriers() {
            // Fails for one that has just ended.
            let _ = kill(pid, signal);
        }
    }

    /// Ends all that carry the mark at once, and what they start meanwhile. What is just beginning may be missed: ask
    /// them to end first, and look again.
    pub fn kill(&self) {
        for _ in 0..ROUNDS {
            let carriers = self.carriers();
            if carriers.is_empty() {
                return;
            }
            for pid in carriers {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }

    /// The processes of this user that carry the mark and have not ended.
    pub fn carriers(&self) -> Vec<Pid> {
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

/// Source: `man 5 proc`. What belongs to others cannot be read, and what has ended has no environment.
fn from_proc(wanted: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .collect()
}

/// Source: `man ps` of macOS, `-E` shows environments.
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
    fn marks_differ_and_are_known_again() {
        let (one, two) = (Mark::new(), Mark::new());
        assert_ne!(one, two);
        assert_eq!(Mark::parse(one.as_str()), Some(one));
        for other in ["", "1", "1.2", "1.2.x", "1.2.3.4"] {
            assert_eq!(Mark::parse(other), None);
        }
    }

    #[test]
    fn only_what_carries_the_mark_is_ended() {
        let start = |mark: &Mark| {
            let mut sleep = Command::new("sleep");
            let child = sleep.arg("60").env(VARIABLE, mark.as_str()).spawn().unwrap();
            // A process that is just beginning has no environment yet.
            let begun = Instant::now();
            while mark.carriers().is_empty() {
                assert!(begun.elapsed() < Duration::from_secs(10), "it does not come up");
                std::thread::yield_now();
            }
            child
        };
        let (mark, other) = (Mark::new(), Mark::new());
        let (mut marked, mut spared) = (start(&mark), start(&other));
        mark.kill();
        assert!(!marked.wait().unwrap().success());
        assert_eq!(mark.carriers(), []);
        assert_eq!(spared.try_wait().unwrap(), None);
        other.signal(Signal::SIGTERM);
        assert!(!spared.wait().unwrap().success());
    }
}
