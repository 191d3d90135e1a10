//! Processes of an agent at the editor's tools that leave lines unfinished and answers unread: the binary needs no more memory than
//! the help states (`:help rat-memory`).

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::hostile_server::{MIB, PATIENCE, expect_bounded_in, repeat};
use crate::support::Chat;

/// Holds (Hostile agents): However many connections an agent makes to the editor's tools, and whatever it leaves unfinished or unread there, they take no more memory than the help says.
#[test]
fn connections_of_tools_share_what_they_may_take() {
    let _alone = crate::alone();
    let mut chat = Chat::start();
    let (pid, servers) = (chat.nvim.binary(), chat.agent.mcp_servers.clone());
    let variable = |name: &str| {
        let env = servers[0]["env"].as_array().unwrap();
        let found = env.iter().find(|variable| variable["name"] == name).unwrap();
        found["value"].as_str().unwrap().to_owned()
    };
    let try_connect = || {
        let mut stream = UnixStream::connect(variable("RAT_NVIM_SOCKET")).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        // Fails if it is refused.
        stream.write_all(format!("{}\n", variable("RAT_NVIM_TOKEN")).as_bytes()).ok()?;
        let mut told = [0; 8];
        stream.read_exact(&mut told).ok()?;
        assert_eq!(&told, b"welcome\n");
        Some(stream)
    };
    let connect = || try_connect().expect("a welcome");
    let mut open: Vec<UnixStream> = (0..16).map(|_| connect()).collect();
    for stream in &mut open {
        repeat(stream, "x", 14 * MIB).unwrap();
    }
    expect_bounded_in("lines that are not finished", pid, || true);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string() + "\n";
    for stream in &mut open {
        // The connection is ended, or nothing more is taken.
        let _ = stream.write_all(b"\n").and_then(|()| repeat(stream, &list, MIB / 4));
    }
    expect_bounded_in("answers that nobody reads", pid, || true);
    let nested = format!("{}{}1{}", "[".repeat(120), "1,".repeat(400_000), "]".repeat(120));
    drop(open);
    for call in 0..20 {
        let mut stream = connect();
        let arguments = format!(r#"{{"query":"x","why":{nested}}}"#);
        let _ = writeln!(
            stream,
            r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"symbols","arguments":{arguments}}}}}"#
        );
        let mut first = [0; 8];
        let _ = stream.read(&mut first);
    }
    expect_bounded_in("arguments that are nested deeply", pid, || true);
    let mut stream = connect();
    let query = "x".repeat(MIB - 100);
    for call in 0..100 {
        // The connection is ended, or nothing more is taken.
        let _ = writeln!(
            stream,
            r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"symbols","arguments":{{"query":"{query}"}}}}}}
{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{call}}}}}"#
        );
    }
    expect_bounded_in("calls that are withdrawn at once", pid, || true);
    // Those that have ended make room once that is noticed.
    let mut open = Vec::new();
    while let Some(stream) = try_connect() {
        open.push(stream);
        assert!(open.len() <= 256, "nobody is refused");
    }
    assert!(open.len() > 200, "{} connections", open.len());
}
