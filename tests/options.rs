//! Options and modes of a session in real Neovim: shown, completed, picked, set by command and by configuration.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

/// `mode`, a grouped `model`, a boolean, a type and a category nobody knows.
fn options(mode: &str, model: &str, web: bool) -> Json {
    json!([
        {"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": mode,
            "options": [{"value": "plan", "name": "Plan", "description": "Changes nothing"},
                {"value": "code", "name": "Write code"}]},
        {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": model,
            "options": [
                {"group": "fast", "name": "Fast ones", "options": [{"value": "f1", "name": "Fast 1"}]},
                {"group": "good", "name": "Good ones", "options": [{"value": "g1", "name": "Good 1"}]},
            ]},
        {"id": "dial", "name": "Dial", "type": "dial", "currentValue": 7},
        {"id": "web", "name": "Web search", "category": "_own", "type": "boolean", "currentValue": web},
    ])
}

fn modes(current: &str) -> Json {
    json!({"currentModeId": current, "availableModes": [
        {"id": "ask", "name": "Ask"}, {"id": "code", "name": "Write code"},
    ]})
}

fn start(opened: Json) -> (Nvim, Agent) {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.start_agent();
    agent.handshake_with(json!({}), opened);
    nvim.poll_state("ready");
    (nvim, agent)
}

fn complete(nvim: &mut Nvim, line: &str) -> Json {
    nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", json!([line]))
}

fn poll_mode(nvim: &mut Nvim, mode: &str) {
    nvim.poll(mode, |nvim| nvim.status()["mode"] == json!(mode));
}

/// ACP 113, 114, 115.
#[test]
fn options_are_completed_in_the_agents_order_and_modes_beside_them_ignored() {
    let (mut nvim, _agent) =
        start(json!({"configOptions": options("code", "f1", false), "modes": modes("ask")}));
    poll_mode(&mut nvim, "Write code");
    assert_eq!(complete(&mut nvim, "RatOption "), json!(["mode", "m", "web"]));
    assert_eq!(complete(&mut nvim, "RatOption m "), json!(["f1", "g1"]));
    assert_eq!(complete(&mut nvim, "RatOption model g"), json!(["g1"]));
    assert_eq!(complete(&mut nvim, "RatOption web "), json!(["on", "off"]));
    assert_eq!(complete(&mut nvim, "RatMode "), json!(["plan", "code"]));
}

/// ACP 116, 118.
#[test]
fn a_mode_is_set_during_a_turn_and_the_answer_is_the_truth() {
    let (mut nvim, mut agent) = start(json!({"configOptions": options("code", "f1", false)}));
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    nvim.command("RatMode plan");
    let request = agent.expect_request("session/set_config_option");
    assert_eq!(request.params, json!({"sessionId": "s1", "configId": "mode", "value": "plan"}));
    assert_eq!(nvim.status()["mode"], json!("Write code"), "not before the agent says so");
    // It has set the model as well.
    agent.reply(&request, json!({"configOptions": options("plan", "g1", false)}));
    poll_mode(&mut nvim, "Plan");
    nvim.command("RatOption");
    nvim.poll_screen("Model: Good 1");
    nvim.input("<Esc>");
    // What is not in the answer is gone.
    let one = json!([options("code", "f1", true)[0]]);
    agent.update("s1", json!({"sessionUpdate": "config_option_update", "configOptions": one}));
    poll_mode(&mut nvim, "Write code");
    nvim.poll("one option", |nvim| complete(nvim, "RatOption ") == json!(["mode"]));
    agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    nvim.poll_state("ready");
}

/// ACP 117.
#[test]
fn a_boolean_goes_out_as_one() {
    let (mut nvim, mut agent) = start(json!({"configOptions": options("code", "f1", false)}));
    nvim.command("RatOption web on");
    let request = agent.expect_request("session/set_config_option");
    let wanted = json!({"sessionId": "s1", "configId": "web", "type": "boolean", "value": true});
    assert_eq!(request.params, wanted);
    agent.reply(&request, json!({"configOptions": options("code", "f1", true)}));
    nvim.command("RatOption Web search on");
    nvim.poll_screen("has no option \"Web\"");
    nvim.poll("the option is on", |nvim| {
        nvim.input("<Esc>");
        nvim.command("RatOption web");
        nvim.screen().contains("on (now)")
    });
}

#[test]
fn what_is_not_named_is_picked() {
    let (mut nvim, mut agent) = start(json!({"configOptions": options("code", "f1", false)}));
    nvim.command("RatOption");
    nvim.poll_screen("Which option?");
    nvim.poll_screen("Model: Fast 1");
    nvim.input("2<CR>");
    nvim.poll_screen("Fast ones: Fast 1 (now)");
    nvim.choose(2);
    let request = agent.expect_request("session/set_config_option");
    assert_eq!(request.params, json!({"sessionId": "s1", "configId": "m", "value": "g1"}));
    agent.reply(&request, json!({"configOptions": options("code", "g1", false)}));
    nvim.command("RatMode");
    nvim.poll_screen("Plan · Changes nothing");
    nvim.input("<Esc>");
    assert_eq!(agent.unexpected(), [""; 0]);
}

/// ACP 119.
#[test]
fn modes_are_set_where_there_are_no_options() {
    let (mut nvim, mut agent) = start(json!({"modes": modes("ask")}));
    poll_mode(&mut nvim, "Ask");
    assert_eq!(complete(&mut nvim, "RatMode "), json!(["ask", "code"]));
    nvim.command("RatMode Write code");
    let request = agent.expect_request("session/set_mode");
    assert_eq!(request.params, json!({"sessionId": "s1", "modeId": "code"}));
    agent.reply(&request, Json::Null);
    poll_mode(&mut nvim, "Write code");
    agent.update("s1", json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}));
    poll_mode(&mut nvim, "Ask");
    agent.update("s1", json!({"sessionUpdate": "current_mode_update", "modeId": "code"}));
    poll_mode(&mut nvim, "Write code");
}

#[test]
fn what_does_not_exist_is_told_and_not_sent() {
    let (mut nvim, mut agent) = start(json!({"configOptions": options("code", "f1", false)}));
    nvim.command("RatMode fly");
    nvim.poll_screen("Mode has no \"fly\", only plan, code");
    nvim.command("RatOption colour red");
    nvim.poll_screen("has no option \"colour\", only mode, m, web");
    nvim.command("RatOption web perhaps");
    nvim.poll_screen("Web search is on or off, not \"perhaps\"");
    assert_eq!(agent.unexpected(), [""; 0]);
    nvim.command("RatMode plan");
    let request = agent.expect_request("session/set_config_option");
    agent.reply_error(&request, -32602, "not while you are logged out");
    nvim.poll_screen("did not change Mode (error -32602: not while you are logged out)");
    assert_eq!(nvim.status()["mode"], json!("Write code"));
}

#[test]
fn a_new_session_begins_with_what_is_configured_and_prompts_wait_for_it() {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.listen();
    let mut fake = agent.config();
    fake["options"] = json!({"mode": "Plan", "model": "f1", "web": "on", "colour": "red"});
    nvim.setup(json!({"agents": {"fake": fake}, "default_agent": "fake"}));
    nvim.command("RatStart");
    agent.expect_start();
    agent.handshake_with(json!({}), json!({"configOptions": options("code", "f1", false)}));
    nvim.send("go");
    let mode = agent.expect_request("session/set_config_option");
    assert_eq!(mode.params["value"], json!("plan"));
    let web = agent.expect_request("session/set_config_option");
    assert_eq!(web.params["value"], json!(true), "the model is set already");
    nvim.poll_screen("agents.fake.options.colour: the agent has no such option");
    assert_eq!(agent.unexpected(), [""; 0], "the prompt waits");
    agent.reply(&mode, json!({"configOptions": options("plan", "f1", false)}));
    agent.reply_error(&web, -32603, "no");
    agent.expect_request("session/prompt");
    poll_mode(&mut nvim, "Plan");
}
