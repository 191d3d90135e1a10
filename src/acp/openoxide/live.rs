//! Looks for an OpenOxide that is running in a folder already, by the process ids and ports in its `.openoxide`. Where these
//! are is not specified, so any file that is named after one counts.

use crate::process::short_file::content;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

const FOLDERS: [&str; 2] = [".openoxide", ".openoxide/sessions"];

/// More files of a folder than these are not looked at: a project brings them.
const MAX_FILES: usize = 256;

/// Reaching a port of this machine takes no time.
const REACHED: Duration = Duration::from_millis(200);

/// What a file says of an agent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trace {
    process: Option<i32>,
    port: Option<u16>,
}

/// Describes an agent that runs in `folder`; `None` if there is none. Its command line has the name of `program` or of OpenOxide:
/// ids of processes are used again.
pub fn running(folder: &Path, program: &str) -> Option<String> {
    let files = FOLDERS.iter().filter_map(|name| fs::read_dir(folder.join(name)).ok());
    let files = files.flat_map(|entries| entries.flatten().take(MAX_FILES));
    for file in files.map(|entry| entry.path()) {
        let found = file.file_name().and_then(|name| trace(name.to_str()?, || content(&file)));
        let Some(Trace { process, port }) = found else { continue };
        let file = file.strip_prefix(folder).unwrap_or(&file).display();
        if let Some(process) = process.filter(|process| is_agent(*process, program)) {
            return Some(format!("process {process}, {file}"));
        }
        if let Some(port) = port.filter(|port| is_open(*port)) {
            return Some(format!("port {port}, {file}"));
        }
    }
    None
}

fn trace(name: &str, content: impl FnOnce() -> Option<String>) -> Option<Trace> {
    let kind = name.rsplit_once('.').map_or(name, |(_, kind)| kind);
    if !matches!(kind, "pid" | "port" | "lock" | "json") {
        return None;
    }
    let value: Value = serde_json::from_str(&content()?).ok()?;
    let number = |value: &Value| value.as_u64();
    let process = |number: u64| i32::try_from(number).ok().filter(|process| *process > 1);
    let port = |number: u64| u16::try_from(number).ok().filter(|port| *port > 0);
    Some(match (kind, &value) {
        ("port", Value::Number(_)) => Trace { port: number(&value).and_then(port), process: None },
        (_, Value::Number(_)) => Trace { process: number(&value).and_then(process), port: None },
        _ => Trace {
            process: value.get("pid").and_then(number).and_then(process),
            port: value.get("port").and_then(number).and_then(port),
        },
    })
}

fn is_agent(process: i32, program: &str) -> bool {
    let is_there = !matches!(kill(Pid::from_raw(process), None), Err(Errno::ESRCH));
    let is_other = u32::try_from(process).is_ok_and(|process| process != std::process::id());
    let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program);
    let is_named = || match fs::read(format!("/proc/{process}/cmdline")) {
        Ok(words) => {
            let words = String::from_utf8_lossy(&words);
            words.contains("openoxide") || words.contains(program)
        }
        // There is no such folder on this system.
        Err(_) => !Path::new("/proc/self").exists(),
    };
    is_there && is_other && is_named()
}

fn is_open(port: u16) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), REACHED).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    #[test]
    fn only_a_live_agent_counts() {
        let folder = std::env::temp_dir().join(format!("rat-live-{}", std::process::id()));
        fs::create_dir_all(folder.join(".openoxide/sessions")).unwrap();
        let file = folder.join(".openoxide/agent.pid");
        assert_eq!(running(&folder, "fake"), None);
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        fs::write(&file, other.id().to_string()).unwrap();
        assert_eq!(running(&folder, "fake"), None, "another program has the id now");
        assert!(running(&folder, "/usr/bin/sleep").is_some(), "under another name");
        other.kill().unwrap();
        other.wait().unwrap();
        let mut agent = Command::new("sleep").arg0("openoxide").arg("600").spawn().unwrap();
        let said = format!("process {}, .openoxide/agent.pid", agent.id());
        for content in [format!("{}\n", agent.id()), format!("{{\"pid\": {}}}", agent.id())] {
            fs::write(&file, content).unwrap();
            assert_eq!(running(&folder, "fake").as_deref(), Some(said.as_str()));
        }
        agent.kill().unwrap();
        agent.wait().unwrap();
        assert_eq!(running(&folder, "fake"), None, "it has ended");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        fs::write(folder.join(".openoxide/sessions/port"), port.to_string()).unwrap();
        let said = format!("port {port}, .openoxide/sessions/port");
        assert_eq!(running(&folder, "fake").as_deref(), Some(said.as_str()));
        fs::write(folder.join(".openoxide/sessions/port"), "1").unwrap();
        assert_eq!(running(&folder, "fake"), None, "nobody listens");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_no_number_of_a_process_or_port_is_ignored() {
        for (name, content) in [
            ("agent.pid", ""),
            ("agent.pid", "-1"),
            ("agent.pid", "0"),
            ("agent.pid", "1"),
            ("agent.pid", "99999999999"),
            ("port", "70000"),
            ("port", "0"),
            ("agent.json", "[]"),
            ("agent.json", "{\"pid\": \"x\"}"),
        ] {
            let found = trace(name, || Some(content.to_owned())).unwrap_or_default();
            assert_eq!(found, Trace::default(), "{name}: {content}");
        }
        assert_eq!(trace("notes.txt", || Some("7".to_owned())), None);
    }
}
