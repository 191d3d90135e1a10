//! How commands end: killed, released, with their session, their agent or the editor; and that nothing of them stays.

use super::pid;
use crate::support::{Chat, DEADLINE, Processes};
use serde_json::{Value as Json, json};

/// A command that SIGTERM does not end, with one in its group and two outside that do not listen either, one of them without
/// any environment. Writes their four pids.
const STUBBORN: &str = "trap '' TERM HUP INT; echo $$; sh -c 'echo $$; exec sleep 60' & \
    setsid sh -c 'echo $$; exec sleep 60' & \
    env -i $(command -v setsid) /bin/sh -c 'echo $$; exec sleep 60' & echo up; wait; sleep 60";

fn pids(chat: &mut Chat, terminal: &str) -> Vec<u32> {
    let Chat { nvim, agent, session, .. } = chat;
    let params = json!({"sessionId": session, "terminalId": terminal});
    nvim.poll_for("four pids", |_| {
        let output = agent.request("terminal/output", params.clone()).unwrap();
        let text = output["output"].as_str().unwrap().to_owned();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        (pids.len() == 4).then_some(pids)
    })
}

fn expect_gone(pids: &[u32]) {
    for pid in pids {
        assert!(Processes::is_gone(*pid), "{pid} lives");
    }
}

/// ACP 107, 108.
/// Holds (Terminals): Killing a command ends all it has started, and keeps its terminal.
#[test]
fn killing_ends_all_of_it_and_the_terminal_stays() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    assert_eq!(chat.on_terminal("kill", &terminal), Ok(json!({})));
    let output = chat.output(&terminal);
    assert_eq!(output["exitStatus"], json!({"signal": "SIGKILL"}));
    assert_eq!(chat.wait_for_exit(&terminal), output["exitStatus"]);
    expect_gone(&pids);
    assert_eq!(chat.on_terminal("kill", &terminal), Ok(json!({})));
    assert_eq!(chat.on_terminal("release", &terminal), Ok(json!({})));
}

/// ACP 108.
/// A command that ends on its own may leave others behind; they end with its release.
/// Holds (Terminals): Releasing a terminal ends what its command has left running.
#[test]
fn what_a_command_leaves_running_ends_with_its_release() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("sleep 60 & echo $!");
    assert_eq!(chat.wait_for_exit(&terminal)["exitCode"], json!(0));
    let left = pid(&chat.output(&terminal));
    assert!(Processes::is_alive(left), "it did not live on");
    chat.on_terminal("release", &terminal).unwrap();
    expect_gone(&[left]);
}

/// ACP 108, 109.
/// Holds (Terminals): Releasing a terminal ends its command and answers every wait.
#[test]
fn releasing_answers_who_waits_ends_the_command_and_frees_the_name() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    let wait = chat.ask_terminal("wait_for_exit", &terminal);
    assert_eq!(chat.on_terminal("release", &terminal), Ok(json!({})));
    assert_eq!(chat.agent.expect_answer(wait).unwrap_err()["code"], json!(-32800));
    for method in ["output", "wait_for_exit", "kill", "release"] {
        assert_eq!(
            chat.on_terminal(method, &terminal).unwrap_err()["code"],
            json!(-32002),
            "{method}"
        );
    }
    expect_gone(&pids);
}

/// ACP 109.
/// Whoever waits for a kill is answered once, also by a release.
#[test]
fn a_kill_that_is_overtaken_by_a_release_is_answered() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    pids(&mut chat, &terminal);
    let kill = chat.ask_terminal("kill", &terminal);
    assert_eq!(chat.on_terminal("release", &terminal), Ok(json!({})));
    assert_eq!(chat.agent.expect_answer(kill), Ok(json!({})));
}

/// ACP 111.
/// Holds (Terminals): Commands end with their agent.
#[test]
fn the_death_of_an_agent_ends_its_commands() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    chat.show("call", "a long command", &[&terminal]);
    chat.agent.exit(1, "");
    chat.nvim.poll_state("failed");
    expect_gone(&pids);
    chat.poll_line("killed by SIGKILL after 1 s · <CR> opens it");
}

/// ACP 76, 111.
/// Holds (Terminals): Commands end with their session.
#[test]
fn the_end_of_a_session_answers_who_waits_and_ends_its_commands() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    let wait = chat.ask_terminal("wait_for_exit", &terminal);
    // Once this is answered, the wait has been heard.
    chat.output(&terminal);
    chat.nvim.command("RatStop");
    assert_eq!(chat.agent.expect_answer(wait).unwrap_err()["code"], json!(-32800));
    chat.agent.expect_stdin_closed();
    expect_gone(&pids);
}

/// ACP 76, 111.
/// Holds (Terminals): Commands end with Neovim, even when it is killed.
#[test]
fn the_end_of_neovim_answers_who_waits_and_ends_the_commands() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    let wait = chat.ask_terminal("wait_for_exit", &terminal);
    // Once this is answered, the wait has been heard.
    chat.output(&terminal);
    chat.nvim.quit();
    assert_eq!(chat.agent.expect_answer(wait).unwrap_err()["code"], json!(-32800));
    expect_gone(&pids);
    let processes = chat.nvim.processes().clone();
    if let Err(left) = processes.wait_until_gone(DEADLINE) {
        panic!("left behind:\n{left}");
    }
}

/// ACP 111.
/// Nothing is asked first.
/// Holds (Terminals): Commands end with Neovim, even when it is killed.
#[test]
fn killing_neovim_leaves_no_command() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    chat.nvim.kill();
    expect_gone(&pids);
    let processes = chat.nvim.processes().clone();
    if let Err(left) = processes.wait_until_gone(DEADLINE) {
        panic!("left behind:\n{left}");
    }
}

/// ACP 111.
/// Nor here.
/// Holds (Terminals): Commands end with the binary, even when it is killed.
#[test]
fn killing_the_binary_leaves_no_command() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script(STUBBORN);
    let pids = pids(&mut chat, &terminal);
    Processes::signal(chat.nvim.binary(), "KILL");
    expect_gone(&pids);
}

/// ACP 69, 107.
/// What the turn waits for ends with it; its agent can still ask how.
/// Holds (Terminals): Cancelling a turn ends the commands it waits for and no others.
#[test]
fn cancelling_a_turn_ends_what_it_waits_for_and_nothing_else() {
    let mut chat = Chat::in_turn();
    let server = chat.script("echo up; exec sleep 60");
    let shown = chat.script("echo up; exec sleep 60");
    let awaited = chat.script("echo up; exec sleep 60");
    for terminal in [&server, &shown, &awaited] {
        chat.poll_output(terminal, "up");
    }
    chat.show("call", "a long command", &[&shown]);
    let wait = chat.ask_terminal("wait_for_exit", &awaited);
    chat.poll_line("running · <CR> opens it");
    chat.nvim.command("RatCancel");
    chat.agent.expect_notification("session/cancel");
    assert_eq!(chat.answer(wait)["signal"], json!("SIGTERM"));
    assert_eq!(chat.wait_for_exit(&shown)["signal"], json!("SIGTERM"));
    assert_eq!(chat.output(&server)["exitStatus"], Json::Null);
    let error = chat.request("terminal/create", json!({"command": "ls"})).unwrap_err();
    assert_eq!(error["code"], json!(-32800), "{error}");
}
