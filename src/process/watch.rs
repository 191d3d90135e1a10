//! The watchdog: a separate process that ends a process group, and everything started from it, if
//! the bridge dies without having done so. All it has of the bridge is a pipe on stdin.

use super::strays::Mark;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, setsid};
use std::io::Read;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What the bridge writes to the pipe when the group has ended and the watchdog has nothing to do.
pub const RELEASE: &[u8] = b".";

/// Time between SIGTERM and SIGKILL, in which agents can end the shells they started.
const GRACE: Duration = Duration::from_secs(1);

const POLL: Duration = Duration::from_millis(10);

/// Waits until stdin closes, then ends the process group `pgid` and all processes with the mark,
/// unless [`RELEASE`] was read. Runs in a session of its own and blocks SIGHUP, SIGINT and SIGTERM.
pub fn watch_group(pgid: i32, mark: &str) -> ExitCode {
    // 0 means our own group; 1 and -1 mean every process we may signal.
    let Some(mark) = Mark::parse(mark).filter(|_| pgid > 1) else { return ExitCode::FAILURE };
    // Signals that the only thread blocks stay pending forever.
    let mut blocked = SigSet::empty();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        blocked.add(signal);
    }
    let _ = blocked.thread_block();
    // Fails only for a process group leader, which is not in the bridge's group anyway.
    let _ = setsid();
    if !released(std::io::stdin().lock()) {
        end_all(Pid::from_raw(pgid), &mark);
    }
    ExitCode::SUCCESS
}

/// Reads until there is a byte, or the pipe is closed. Returns whether there was one.
fn released(mut pipe: impl Read) -> bool {
    let mut byte = [0];
    loop {
        match pipe.read(&mut byte) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

fn end_all(group: Pid, mark: &Mark) {
    let started = Instant::now();
    // Before their parents end, by which some are found.
    mark.signal(Some(group), Signal::SIGTERM);
    let _ = killpg(group, Signal::SIGTERM);
    let is_alive = || killpg(group, None).is_ok() || !mark.processes(Some(group)).is_empty();
    while is_alive() && started.elapsed() < GRACE {
        std::thread::sleep(POLL);
    }
    mark.kill(Some(group));
    let _ = killpg(group, Signal::SIGKILL);
}
