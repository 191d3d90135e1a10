//! Finds every process that was started for an agent by a [`Mark`] in the environment, which
//! descendants inherit. Parent processes exit and shells start sessions of their own, so neither
//! parent ids nor process groups are enough. A descendant that was started with another environment
//! is found as long as those between it and a marked process, or one of the agent's process group, are
//! running.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashSet;
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

    /// Sends a signal to all of [`Mark::processes`].
    pub fn signal(&self, group: Option<Pid>, signal: Signal) {
        for pid in self.processes(group) {
            // Fails if the process has just exited.
            let _ = kill(pid, signal);
        }
    }

    /// Kills all of them, and those they start in the meantime. A process that is
    /// just being started may be missed: send SIGTERM first, then call this.
    pub fn kill(&self, group: Option<Pid>) {
        for _ in 0..ROUNDS {
            let processes = self.processes(group);
            if processes.is_empty() {
                return;
            }
            for pid in processes {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }

    /// Returns the running processes of this user that have the mark or belong to a process group, and their descendants.
    pub fn processes(&self, group: Option<Pid>) -> Vec<Pid> {
        let wanted = format!("{VARIABLE}={}", self.0);
        let all = if cfg!(target_os = "linux") { from_proc(&wanted) } else { from_ps(&wanted) };
        let group = group.map(Pid::as_raw);
        let is_root = |process: &Process| process.is_marked || Some(process.group) == group;
        with_descendants(&all, is_root).into_iter().map(Pid::from_raw).collect()
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// A running process.
#[derive(Debug)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    is_marked: bool,
}

/// Returns the ids of some processes and of their descendants.
fn with_descendants(processes: &[Process], is_root: impl Fn(&Process) -> bool) -> Vec<i32> {
    let roots = processes.iter().filter(|process| is_root(process));
    let mut found: Vec<_> = roots.map(|process| process.pid).collect();
    let mut known: HashSet<_> = found.iter().copied().collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = processes.iter().filter(|process| process.parent == parent);
        found.extend(children.map(|process| process.pid).filter(|pid| known.insert(*pid)));
        at += 1;
    }
    found
}

/// Source: `man 5 proc`. The environment of other users' processes cannot be read, and a process
/// that has exited has none.
fn from_proc(wanted: &str) -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |pid: i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let is_marked = environment.split(|byte| *byte == 0).any(|it| it == wanted.as_bytes());
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name, in parentheses, may have any byte.
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let is_running = !matches!(fields.next(), None | Some("Z" | "X"));
        let mut number = || fields.next().and_then(|id| id.parse().ok()).unwrap_or(0);
        let (parent, group) = (number(), number());
        (is_running || is_marked).then_some(Process { pid, parent, group, is_marked })
    };
    pids.filter_map(process).collect()
}

/// Source: `man ps` of macOS; `-E` shows the environment.
fn from_ps(wanted: &str) -> Vec<Process> {
    let Ok(output) =
        Command::new("ps").args(["-axEww", "-o", "pid=,ppid=,pgid=,command="]).output()
    else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let process = |line: &str| {
        let mut words = line.split_whitespace();
        let mut number = || words.next()?.parse().ok();
        let (pid, parent, group) = (number()?, number()?, number()?);
        Some(Process { pid, parent, group, is_marked: words.any(|word| word == wanted) })
    };
    text.lines().filter_map(process).collect()
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
    fn descendants_of_marked_processes_are_found() {
        let process = |pid, parent, is_marked| Process { pid, parent, group: 1, is_marked };
        let all = [
            process(9, 7, false),
            process(7, 3, false),
            process(3, 1, true),
            process(4, 1, false),
            process(5, 4, false),
            process(8, 3, true),
        ];
        let mut found = with_descendants(&all, |process| process.is_marked);
        found.sort_unstable();
        assert_eq!(found, [3, 7, 8, 9]);
    }

    #[test]
    fn only_processes_with_the_mark_are_killed() {
        let start = |mark: &Mark| {
            let mut sleep = Command::new("sleep");
            let child = sleep.arg("60").env(VARIABLE, mark.as_str()).spawn().unwrap();
            // A process that is just being started has no environment yet.
            let started = Instant::now();
            while mark.processes(None).is_empty() {
                assert!(started.elapsed() < Duration::from_secs(10), "it did not start");
                std::thread::yield_now();
            }
            child
        };
        let (mark, other) = (Mark::new(), Mark::new());
        let (mut marked, mut unmarked) = (start(&mark), start(&other));
        mark.kill(None);
        assert!(!marked.wait().unwrap().success());
        assert_eq!(mark.processes(None), []);
        assert_eq!(unmarked.try_wait().unwrap(), None);
        other.signal(None, Signal::SIGTERM);
        assert!(!unmarked.wait().unwrap().success());
    }
}
