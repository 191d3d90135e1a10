//! The process between an agent and the editor, and what is left when something dies.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use super::chat_with_tools;
use crate::support::{Chat, DEADLINE, Mcp, TempFolder, binary, poll_for};

/// A variable of the server's entry.
fn variable(servers: &Json, name: &str) -> String {
    let env = servers[0]["env"].as_array().expect("variables");
    let found = env.iter().find(|variable| variable["name"] == name).expect("the variable");
    found["value"].as_str().expect("a text").to_owned()
}

fn socket(servers: &Json) -> PathBuf {
    variable(servers, "RAT_NVIM_SOCKET").into()
}

/// The servers with another value of a variable.
fn with_variable(servers: &Json, name: &str, value: &str) -> Json {
    let mut servers = servers.clone();
    for variable in servers[0]["env"].as_array_mut().expect("variables") {
        if variable["name"] == name {
            variable["value"] = json!(value);
        }
    }
    servers
}

/// Holds (Editor tools): Nobody but the user can reach the socket.
#[test]
fn the_socket_is_private() {
    let chat = Chat::start();
    let socket = socket(&chat.agent.mcp_servers);
    let folder = socket.parent().expect("a folder");
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(socket.as_os_str().len() < 108);
    let token = variable(&chat.agent.mcp_servers, "RAT_NVIM_TOKEN");
    assert_eq!(token.len(), 64);
    assert_eq!(servers_with_token_in_arguments(&chat.agent.mcp_servers, &token), 0);
}

/// Holds (Editor tools): The token of a session is not in the recorded traffic.
#[test]
fn the_token_is_not_in_the_traffic() {
    let mut chat = Chat::start();
    let token = variable(&chat.agent.mcp_servers, "RAT_NVIM_TOKEN");
    chat.nvim.command("RatTrace");
    chat.nvim.poll_screen("session/new");
    chat.nvim.command("RatTrace save trace.jsonl");
    let file = chat.path("trace.jsonl");
    let saved = chat.nvim.poll_for("the whole file", |_| {
        fs::read_to_string(&file)
            .ok()
            .filter(|saved| saved.contains("RAT_NVIM_TOKEN") && saved.ends_with('\n'))
    });
    assert!(!saved.contains(&token), "{saved}");
}

fn servers_with_token_in_arguments(servers: &Json, token: &str) -> usize {
    let all = servers.as_array().expect("servers").iter();
    all.filter(|server| server["args"].to_string().contains(token)).count()
}

/// Holds (Editor tools): With a token that is not known, the tools are listed, and each call says why it does nothing.
#[test]
fn a_wrong_token_opens_nothing() {
    let (chat, _) = chat_with_tools(&[("a.txt", "one\n")]);
    let servers = with_variable(&chat.agent.mcp_servers, "RAT_NVIM_TOKEN", &"0".repeat(64));
    let mut mcp = Mcp::start(&servers);
    let listed = mcp.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(10));
    let told = mcp.call("read_buffer", json!({"file_path": chat.path("a.txt")}));
    assert!(told.is_error && told.text.contains("was never given the editor's tools"), "{told:?}");
    mcp.close();
}

/// Holds (Editor tools): The token of a session that is closed is void, and its pipe says so from then on.
#[test]
fn an_old_token_opens_nothing() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\n")]);
    let servers = chat.agent.mcp_servers.clone();
    chat.nvim.command("RatStop");
    chat.nvim.poll_state("stopped");
    let mut told = mcp.call("read_buffer", json!({"file_path": chat.path("a.txt")}));
    assert!(told.is_error && told.text.contains("cannot be used"), "{told:?}");
    told = Mcp::start(&servers).call("read_buffer", json!({"file_path": chat.path("a.txt")}));
    assert!(told.is_error && told.text.contains("has ended"), "{told:?}");
}

/// Holds (Editor tools): Another user is refused, even with the token.
#[test]
fn another_user_is_refused() {
    let (chat, _) = chat_with_tools(&[("a.txt", "one\n")]);
    if !nix::unistd::geteuid().is_root() {
        // Only root can become another user.
        return;
    }
    let servers = chat.agent.mcp_servers.clone();
    let folder = socket(&servers).parent().expect("a folder").to_owned();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(socket(&servers), fs::Permissions::from_mode(0o777)).unwrap();
    // The binary may be where only root can read it.
    let copy = std::env::temp_dir().join(format!("rat-nvim-{}", std::process::id()));
    fs::copy(binary(), &copy).unwrap();
    let mut servers_of_copy = servers;
    servers_of_copy[0]["command"] = json!(copy);
    let mut mcp = Mcp::spawn(&servers_of_copy, |command| {
        command.uid(65534).gid(65534).current_dir("/");
    });
    mcp.initialize();
    let told = mcp.call("read_buffer", json!({"file_path": chat.path("a.txt")}));
    let _ = fs::remove_file(&copy);
    assert!(told.is_error && told.text.contains("was never given"), "{told:?}");
}

/// Holds (Editor tools): A pipe that is killed is started again with the same token, and its open call leaves nothing behind.
#[test]
fn a_killed_pipe_is_started_again() {
    let (mut chat, mut mcp) = chat_with_tools(&[("a.txt", "one\n")]);
    mcp.begin_call("edit_buffer", super::edit(&chat, "a.txt", "one", "1"));
    chat.nvim.poll("a card", |nvim| nvim.waiting() > 0);
    mcp.child.kill().unwrap();
    chat.nvim.poll("no card", |nvim| nvim.waiting() == 0);
    let mut again = Mcp::start(&chat.agent.mcp_servers);
    assert_eq!(again.call("read_buffer", json!({"file_path": "a.txt"})).text, "one\n");
}

/// Holds (Editor tools): The server answers while Neovim is busy.
#[test]
fn a_busy_neovim_delays_no_handshake() {
    let mut chat = Chat::in_turn();
    let mut mcp = Mcp::spawn(&chat.agent.mcp_servers, |_| {});
    let (busy, release) = (chat.path("busy"), chat.path("release"));
    let work = "vim.schedule(function()
        io.open('busy', 'w'):close()
        while not vim.uv.fs_stat('release') do end
    end)";
    chat.nvim.lua(work, json!([]));
    assert!(poll_for(DEADLINE, || busy.exists().then_some(())).is_some());
    // Neovim is busy until both are answered.
    mcp.initialize();
    mcp.request("tools/list", json!({}));
    fs::write(&release, "").unwrap();
    assert_eq!(
        mcp.call("read_buffer", json!({"file_path": chat.path("release")})).text,
        "\n[nothing is there]\n"
    );
}

fn is_gone(path: &Path) -> bool {
    poll_for(DEADLINE, || (!path.exists()).then_some(())).is_some()
}

/// Holds (Editor tools): When Neovim or the binary is killed, no pipe and no socket is left.
#[test]
fn nothing_is_left_after_a_kill() {
    for victim in ["the binary", "Neovim"] {
        let (mut chat, mut mcp) = chat_with_tools(&[]);
        let folder = socket(&chat.agent.mcp_servers).parent().expect("a folder").to_owned();
        if victim == "Neovim" {
            chat.nvim.kill();
        } else {
            let pid = i32::try_from(chat.nvim.binary()).unwrap();
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL)
                .unwrap();
        }
        assert!(is_gone(&folder), "{victim}: {} is left", folder.display());
        let told = mcp.call("open_buffers", json!({}));
        assert!(told.is_error && told.text.contains("Neovim is gone"), "{victim}: {told:?}");
        mcp.close();
    }
}

/// Holds (Editor tools): What the bridge leaves open when it is gone is answered as what it is.
#[test]
fn open_requests_are_answered_without_the_bridge() {
    let folder = TempFolder::new();
    let socket = folder.path().join("s");
    let bridge = UnixListener::bind(&socket).unwrap();
    let variables = [("RAT_NVIM_SOCKET", json!(socket)), ("RAT_NVIM_TOKEN", json!("token"))];
    let env = variables.map(|(name, value)| json!({"name": name, "value": value}));
    let entry = json!({"name": "rat", "command": binary(), "args": ["mcp"], "env": env});
    let mut mcp = Mcp::spawn(&json!([entry]), |_| {});
    let (mut stream, _) = bridge.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "token");
    stream.write_all(b"welcome\n").unwrap();
    let ids = ["initialize", "tools/list"].map(|method| mcp.begin(method, json!({})));
    let call = mcp.begin_call("open_buffers", json!({}));
    for _ in 0..3 {
        lines.next().unwrap().unwrap();
    }
    drop((stream, lines));
    assert_eq!(mcp.expect_answer(ids[0])["result"]["serverInfo"]["name"], json!("rat.nvim"));
    assert_eq!(mcp.expect_answer(ids[1])["result"]["tools"].as_array().map(Vec::len), Some(10));
    let told = mcp.expect_told(call);
    assert!(told.is_error && told.text.contains("Neovim is gone"), "{told:?}");
}

/// Holds (Editor tools): `rat-nvim mcp` without a Neovim lists the tools, and says what is missing.
#[test]
fn without_a_neovim_it_says_what_is_missing() {
    let mut child = Command::new(binary())
        .arg("mcp")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let call = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "open_buffers"}});
    child.stdin.take().unwrap().write_all(format!("{call}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answer: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["id"], json!("x"));
    assert_eq!(answer["result"]["isError"], json!(true));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("RAT_NVIM_SOCKET is not set"), "{text}");
}

/// Holds (Editor tools): `rat-nvim mcp` in a terminal says what it is for, and ends.
#[test]
fn by_hand_it_says_what_it_is_for() {
    let mut chat = Chat::start();
    let code = "
        local text = ''
        local job = vim.fn.jobstart({ ..., 'mcp' }, {
          pty = true,
          on_stdout = function(_, data) text = text .. table.concat(data, '\\n') end,
        })
        local code = vim.fn.jobwait({ job }, 10000)[1]
        vim.wait(10000, function() return text:find('nothing to do by hand') end)
        return { code, text }";
    let told = chat.nvim.lua(code, json!([binary()]));
    assert_eq!(told[0], json!(2));
    assert!(told[1].as_str().is_some_and(|text| text.contains(":help rat-editor-tools")), "{told}");
}
