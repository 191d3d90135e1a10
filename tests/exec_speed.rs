//! How soon `rat-nvim exec` talks to its agent, and in how much memory. Other tests must not run beside this one.

use crate::alone;
use crate::support::TempFolder;
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Best of so many runs, since whatever else the machine does takes time, too.
const RUNS: usize = 10;

/// Holds (Scripts): `exec` sends its first message within 20 ms, in 20 MB.
#[test]
fn the_agent_is_talked_to_within_20_ms_and_in_20_mb() {
    let _alone = alone();
    let folder = TempFolder::new();
    let socket = folder.path().join("agent");
    let listener = UnixListener::bind(&socket).unwrap();
    let agent = json!({"url": format!("unix://{}", socket.display())});
    let settings = folder.path().join("settings.json");
    std::fs::write(&settings, json!({"agent_servers": {"mine": agent}}).to_string()).unwrap();
    let mut best = (Duration::MAX, u64::MAX);
    for _ in 0..RUNS {
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_rat-nvim"))
            .args(["exec", "--settings", settings.to_str().unwrap(), "hello"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (connection, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        let took = start.elapsed();
        assert!(line.contains("\"initialize\""), "{line}");
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let peak = status.ok().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.to_owned();
            line.split_whitespace().next()?.parse().ok()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        // Only Linux has /proc.
        best = (best.0.min(took), best.1.min(peak.unwrap_or(0)));
    }
    let (took, kilobytes) = best;
    // More of an unoptimized program is read into memory.
    let limit = if cfg!(debug_assertions) { 40_000 } else { 20_000 };
    assert!(took < Duration::from_millis(20) && kilobytes < limit, "{took:?}, {kilobytes} kB");
}
