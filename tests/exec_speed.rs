//! What `rat-nvim exec` does before it talks to its agent, and in how much memory. Other tests must not run beside this one. How
//! soon it does is measured by `bench/start.rs`.

use crate::alone;
use crate::support::TempFolder;
use serde_json::json;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

/// What it may read until then: calls and bytes, those of its libraries and of what the system tells about itself included.
const MOST_READS: u64 = 40;
const MOST_BYTES: u64 = 32 << 10;
/// How many pages of memory it may touch until then. More of an unoptimized program is read into memory.
const MOST_FAULTS: u64 = 3_000;
const MOST_THREADS: u64 = 12;

/// What was done by a process until now (`man 5 proc`); `None` where the system does not tell.
fn done_by(pid: u32) -> Option<[u64; 5]> {
    let of = |file: &str, name: &str| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?.to_owned();
        line.split_whitespace().next()?.parse().ok()
    };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The tenth field, and the second one in parentheses.
    let faults = stat.rsplit_once(')')?.1.split_whitespace().nth(7)?.parse().ok()?;
    Some([
        of("io", "syscr:")?,
        of("io", "rchar:")?,
        faults,
        of("status", "Threads:")?,
        of("status", "VmHWM:")?,
    ])
}

/// Holds (Scripts): `exec` reads its settings and nothing else before it sends its first message, starts no other program, and takes 20 MB.
#[test]
fn the_agent_is_talked_to_after_little_work_and_in_20_mb() {
    let _alone = alone();
    let folder = TempFolder::new();
    let socket = folder.path().join("agent");
    let listener = UnixListener::bind(&socket).unwrap();
    let agent = json!({"url": format!("unix://{}", socket.display())});
    let settings = folder.path().join("settings.json");
    fs::write(&settings, json!({"agent_servers": {"mine": agent}}).to_string()).unwrap();
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
    assert!(line.contains("\"initialize\""), "{line}");
    // It waits for an answer now.
    let done = done_by(child.id());
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    let Some([reads, bytes, faults, threads, kilobytes]) = done else { return };
    let figures = format!(
        "{reads} reads of {bytes} bytes, {faults} page faults, {threads} threads, {kilobytes} kB"
    );
    let _ = writeln!(std::io::stderr(), "exec: {figures}, children {children:?}");
    let limit = if cfg!(debug_assertions) { 40_000 } else { 20_000 };
    assert!(kilobytes < limit && faults < MOST_FAULTS, "{figures}");
    assert!(reads < MOST_READS && bytes < MOST_BYTES && threads < MOST_THREADS, "{figures}");
    assert_eq!(children.unwrap_or_default(), "");
}
