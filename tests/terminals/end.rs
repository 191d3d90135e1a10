//! How commands end: killed, released, with their session, their agent or the editor; and that nothing of them stays.

use super::{Talk, pid};
use crate::support::{DEADLINE, Processes};
use serde_json::{Value as Json, json};

/// A command that SIGTERM does not end, with one in its group and one outside that do not listen either. Writes their
/// three pids.
const STUBBORN: &str = "trap '' TERM HUP INT; echo $$; sh -c 'echo $$; exec sleep 60' & \
    setsid sh -c 'echo $$; exec sleep 60' & echo up; wait; sleep 60";

fn pids(talk: &mut Talk, terminal: &str) -> Vec<u32> {
    let params = talk.with_session(json!({"terminalId": terminal}));
    let agent = &mut talk.agent;
    talk.nvim.poll_for("three pids", |_| {
        let output = agent.request("terminal/output", params.clone()).unwrap();
        let text = output["output"].as_str().unwrap().to_owned();
        let pids: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        (pids.len() == 3).then_some(pids)
    })
}

fn expect_gone(pids: &[u32]) {
    for pid in pids {
        assert!(Processes::is_gone(*pid), "{pid} lives");
    }
}

/// ACP 107, 108.
#[test]
fn killing_ends_all_of_it_and_the_terminal_stays() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    assert_eq!(talk.on("kill", &terminal), Ok(json!({})));
    let output = talk.output(&terminal);
    assert_eq!(output["exitStatus"], json!({"signal": "SIGKILL"}));
    assert_eq!(talk.wait(&terminal), output["exitStatus"]);
    expect_gone(&pids);
    assert_eq!(talk.on("kill", &terminal), Ok(json!({})));
    assert_eq!(talk.on("release", &terminal), Ok(json!({})));
}

/// ACP 108.
/// A command that ends on its own may leave others behind; they end with its release.
#[test]
fn what_a_command_leaves_running_ends_with_its_release() {
    let mut talk = Talk::start();
    let terminal = talk.script("sleep 60 & echo $!");
    assert_eq!(talk.wait(&terminal)["exitCode"], json!(0));
    let left = pid(&talk.output(&terminal));
    assert!(Processes::is_alive(left), "it did not live on");
    talk.on("release", &terminal).unwrap();
    expect_gone(&[left]);
}

/// ACP 108, 109.
#[test]
fn releasing_answers_who_waits_ends_the_command_and_frees_the_name() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    let wait = talk.ask("wait_for_exit", &terminal);
    assert_eq!(talk.on("release", &terminal), Ok(json!({})));
    assert_eq!(talk.agent.expect_answer(wait).unwrap_err()["code"], json!(-32800));
    for method in ["output", "wait_for_exit", "kill", "release"] {
        assert_eq!(talk.on(method, &terminal).unwrap_err()["code"], json!(-32002), "{method}");
    }
    expect_gone(&pids);
}

/// ACP 109.
/// Whoever waits for a kill is answered once, also by a release.
#[test]
fn a_kill_that_is_overtaken_by_a_release_is_answered() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    pids(&mut talk, &terminal);
    let kill = talk.ask("kill", &terminal);
    assert_eq!(talk.on("release", &terminal), Ok(json!({})));
    assert_eq!(talk.agent.expect_answer(kill), Ok(json!({})));
}

/// ACP 111.
#[test]
fn the_death_of_an_agent_ends_its_commands() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    talk.show("call", "a long command", &[&terminal]);
    talk.agent.exit(1, "");
    talk.nvim.poll_state("failed");
    expect_gone(&pids);
    talk.poll_line("ended by SIGKILL after 1 s · <CR> opens it");
}

/// ACP 76, 111.
#[test]
fn the_end_of_a_session_answers_who_waits_and_ends_its_commands() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    let wait = talk.ask("wait_for_exit", &terminal);
    // Once this is answered, the wait has been heard.
    talk.output(&terminal);
    talk.nvim.command("RatStop");
    assert_eq!(talk.agent.expect_answer(wait).unwrap_err()["code"], json!(-32800));
    talk.agent.expect_stdin_closed();
    expect_gone(&pids);
}

/// ACP 76, 111.
#[test]
fn the_end_of_neovim_answers_who_waits_and_ends_the_commands() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    let wait = talk.ask("wait_for_exit", &terminal);
    // Once this is answered, the wait has been heard.
    talk.output(&terminal);
    talk.nvim.quit();
    assert_eq!(talk.agent.expect_answer(wait).unwrap_err()["code"], json!(-32800));
    expect_gone(&pids);
    let processes = talk.nvim.processes().clone();
    if let Err(left) = processes.wait_until_gone(DEADLINE) {
        panic!("left behind:\n{left}");
    }
}

/// ACP 111.
/// Nothing is asked first.
#[test]
fn killing_neovim_leaves_no_command() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    talk.nvim.kill();
    expect_gone(&pids);
    let processes = talk.nvim.processes().clone();
    if let Err(left) = processes.wait_until_gone(DEADLINE) {
        panic!("left behind:\n{left}");
    }
}

/// ACP 111.
/// Nor here.
#[test]
fn killing_the_binary_leaves_no_command() {
    let mut talk = Talk::start();
    let terminal = talk.script(STUBBORN);
    let pids = pids(&mut talk, &terminal);
    Processes::signal(talk.binary(), "KILL");
    expect_gone(&pids);
}

/// ACP 69, 107.
/// What the turn waits for ends with it; its agent can still ask how.
#[test]
fn cancelling_a_turn_ends_what_it_waits_for_and_nothing_else() {
    let mut talk = Talk::start();
    let server = talk.script("echo up; exec sleep 60");
    let shown = talk.script("echo up; exec sleep 60");
    let awaited = talk.script("echo up; exec sleep 60");
    for terminal in [&server, &shown, &awaited] {
        talk.poll_output(terminal, "up");
    }
    talk.show("call", "a long command", &[&shown]);
    let wait = talk.ask("wait_for_exit", &awaited);
    talk.poll_line("runs · <CR> opens it");
    talk.nvim.command("RatCancel");
    talk.agent.expect_notification("session/cancel");
    assert_eq!(talk.agent.expect_answer(wait).unwrap()["signal"], json!("SIGTERM"));
    assert_eq!(talk.wait(&shown)["signal"], json!("SIGTERM"));
    assert_eq!(talk.output(&server)["exitStatus"], Json::Null);
    let error = talk.request("create", json!({"command": "ls"})).unwrap_err();
    assert_eq!(error["code"], json!(-32800), "{error}");
}
