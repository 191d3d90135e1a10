//! How soon `rat-nvim exec` talks to its agent, beside how long `rat-nvim --version` takes.

use super::compare;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

#[test]
fn of_exec() {
    let folder = std::env::temp_dir().join(format!("rat-bench-start-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (socket, settings) = (folder.join("agent"), folder.join("settings.json"));
    let listener = UnixListener::bind(&socket).unwrap();
    let url = format!("unix://{}", socket.display());
    let text = serde_json::json!({"agent_servers": {"mine": {"url": url}}}).to_string();
    fs::write(&settings, text).unwrap();
    let mut children = Vec::new();
    let program = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_rat-nvim"));
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        program
    };
    let talk = || {
        let settings = settings.to_str().unwrap();
        let child = program().args(["exec", "--settings", settings, "hello"]).spawn().unwrap();
        children.push(child);
        let (connection, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(connection).read_line(&mut line).unwrap();
        assert!(line.contains("\"initialize\""), "{line}");
    };
    let version = || assert!(program().arg("--version").status().unwrap().success());
    compare("exec until its first message", "--version", talk, version);
    for mut child in children {
        // Its connection has ended, and so perhaps has it.
        let _ = child.kill();
        child.wait().unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}
