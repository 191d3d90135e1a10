//! The watchdog: a process of its own that ends another and all that started when the bridge dies without having
//! done so. It holds nothing but a pipe from the bridge.

use super::strays::Mark;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, setsid};
use std::io::Read;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What the bridge writes before it closes the pipe of a group that is gone: nothing is left to be done.
pub const RELEASE: &[u8] = b".";

/// From SIGTERM to SIGKILL: agents end the shells they started when they are asked to end.
const GRACE: Duration = Duration::from_secs(1);

const POLL: Duration = Duration::from_millis(10);

/// Waits until stdin closes, then ends the process group `pgid` and what carries the mark, unless the bridge said
/// that all is gone. Runs in a session of its own and outlives SIGHUP, SIGINT and SIGTERM.
pub fn watch_group(pgid: i32, mark: &str) -> ExitCode {
    // 0 is our own group, 1 and -1 would be everybody's.
    let Some(mark) = Mark::parse(mark).filter(|_| pgid > 1) else { return ExitCode::FAILURE };
    // Blocked for the only thread, they stay pending for ever.
    let mut deaf = SigSet::empty();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        deaf.add(signal);
    }
    let _ = deaf.thread_block();
    // Fails only for the leader of a group, which is out of reach of the bridge's group already.
    let _ = setsid();
    if !released(std::io::stdin().lock()) {
        end_all(Pid::from_raw(pgid), &mark);
    }
    ExitCode::SUCCESS
}

/// Reads until the end; whether there was anything to read.
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
    let begun = Instant::now();
    let _ = killpg(group, Signal::SIGTERM);
    mark.signal(Signal::SIGTERM);
    let is_alive = || killpg(group, None).is_ok() || !mark.carriers().is_empty();
    while is_alive() && begun.elapsed() < GRACE {
        std::thread::sleep(POLL);
    }
    let _ = killpg(group, Signal::SIGKILL);
    mark.kill();
}
