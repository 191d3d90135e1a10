//! Options and modes of a session in real Neovim: shown, completed, picked, set by command and by configuration.

use crate::support::{Chat, Nvim, PROMPT, TRANSCRIPT};
use serde_json::{Value as Json, json};

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

/// A chat whose session was opened with these fields.
fn opened_with(fields: Json) -> Chat {
    Chat::builder().opened(fields).start()
}

fn complete(nvim: &mut Nvim, line: &str) -> Json {
    nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", json!([line]))
}

fn poll_mode(nvim: &mut Nvim, mode: &str) {
    nvim.poll(mode, |nvim| nvim.status()["mode"] == json!(mode));
}

/// ACP 113, 114, 115.
/// Holds (Options and logins): Config options win over modes, keep their order, and may have unknown types and groups.
#[test]
fn options_are_completed_in_the_agents_order_and_modes_beside_them_ignored() {
    let mut chat =
        opened_with(json!({"configOptions": options("code", "f1", false), "modes": modes("ask")}));
    poll_mode(&mut chat.nvim, "Write code");
    assert_eq!(complete(&mut chat.nvim, "RatOption "), json!(["mode", "m", "web"]));
    assert_eq!(complete(&mut chat.nvim, "RatOption m "), json!(["f1", "g1"]));
    assert_eq!(complete(&mut chat.nvim, "RatOption model g"), json!(["g1"]));
    assert_eq!(complete(&mut chat.nvim, "RatOption web "), json!(["on", "off"]));
    assert_eq!(complete(&mut chat.nvim, "RatMode "), json!(["plan", "code"]));
}

/// ACP 116, 118.
/// Holds (Options and logins): An option can be set during a turn, and its value is what the agent answers.
#[test]
fn a_mode_is_set_during_a_turn_and_the_answer_is_the_truth() {
    let mut chat = opened_with(json!({"configOptions": options("code", "f1", false)}));
    chat.prompt("go");
    chat.nvim.command("RatMode plan");
    let request = chat.agent.expect_request("session/set_config_option");
    assert_eq!(request.params, json!({"sessionId": "s1", "configId": "mode", "value": "plan"}));
    assert_eq!(chat.nvim.status()["mode"], json!("Write code"), "not before the agent says so");
    // It has set the model as well.
    chat.agent.reply(&request, json!({"configOptions": options("plan", "g1", false)}));
    poll_mode(&mut chat.nvim, "Plan");
    chat.nvim.poll_screen("Mode is now Plan");
    chat.nvim.command("RatOption");
    chat.nvim.poll_screen("Model: Good 1");
    chat.nvim.input("<Esc>");
    // What is not in the answer is gone.
    let one = json!([options("code", "f1", true)[0]]);
    chat.update(json!({"sessionUpdate": "config_option_update", "configOptions": one}));
    poll_mode(&mut chat.nvim, "Write code");
    chat.nvim.poll("one option", |nvim| complete(nvim, "RatOption ") == json!(["mode"]));
    chat.end_turn("end_turn");
}

/// ACP 117.
/// Holds (Options and logins): A boolean option is sent as a boolean.
#[test]
fn a_boolean_goes_out_as_one() {
    let mut chat = opened_with(json!({"configOptions": options("code", "f1", false)}));
    chat.nvim.command("RatOption web on");
    let request = chat.agent.expect_request("session/set_config_option");
    let wanted = json!({"sessionId": "s1", "configId": "web", "type": "boolean", "value": true});
    assert_eq!(request.params, wanted);
    chat.agent.reply(&request, json!({"configOptions": options("code", "f1", true)}));
    chat.nvim.poll_screen("Web search is now on");
    chat.nvim.command("RatOption Web search on");
    chat.nvim.poll_screen("has no option \"Web\"");
    chat.nvim.poll("the option is on", |nvim| {
        nvim.input("<Esc>");
        nvim.command("RatOption web");
        nvim.screen().contains("on (current)")
    });
}

/// Holds (Options and logins): `<S-Tab>` sets the next mode of the agent, in Insert mode, too, and twice before it answers.
#[test]
fn a_key_sets_the_next_mode() {
    let mut chat = opened_with(json!({"configOptions": options("plan", "f1", false)}));
    poll_mode(&mut chat.nvim, "Plan");
    let asked = |chat: &mut Chat, value: &str| {
        let request = chat.agent.expect_request("session/set_config_option");
        let wanted = json!({"sessionId": "s1", "configId": "mode", "value": value});
        assert_eq!(request.params, wanted);
        request
    };
    chat.nvim.enter(PROMPT);
    chat.nvim.input("ia draft<S-Tab>");
    let request = asked(&mut chat, "code");
    chat.nvim.input("<S-Tab>");
    chat.agent.reply(&request, json!({"configOptions": options("code", "f1", false)}));
    let request = asked(&mut chat, "plan");
    chat.agent.reply(&request, json!({"configOptions": options("plan", "f1", false)}));
    poll_mode(&mut chat.nvim, "Plan");
    assert_eq!(chat.nvim.eval("vim.fn.mode()"), "i");
    chat.poll_draft(&["a draft"]);
    chat.nvim.input("<Esc>");
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.input("<S-Tab>");
    let request = asked(&mut chat, "code");
    chat.agent.reply(&request, json!({"configOptions": options("code", "f1", false)}));
    poll_mode(&mut chat.nvim, "Write code");
}

#[test]
fn what_is_not_named_is_picked() {
    let mut chat = opened_with(json!({"configOptions": options("code", "f1", false)}));
    chat.nvim.command("RatOption");
    chat.nvim.poll_screen("Which option?");
    chat.nvim.poll_screen("Model: Fast 1");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("Fast ones: Fast 1 (current)");
    chat.nvim.choose(2);
    let request = chat.agent.expect_request("session/set_config_option");
    assert_eq!(request.params, json!({"sessionId": "s1", "configId": "m", "value": "g1"}));
    chat.agent.reply(&request, json!({"configOptions": options("code", "g1", false)}));
    chat.nvim.poll_screen("Model is now Good 1");
    chat.nvim.command("RatMode");
    chat.nvim.poll_screen("Plan · Changes nothing");
    chat.nvim.input("<Esc>");
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}

/// ACP 119.
#[test]
fn modes_are_set_where_there_are_no_options() {
    let mut chat = opened_with(json!({"modes": modes("ask")}));
    poll_mode(&mut chat.nvim, "Ask");
    assert_eq!(complete(&mut chat.nvim, "RatMode "), json!(["ask", "code"]));
    chat.nvim.command("RatMode Write code");
    let request = chat.agent.expect_request("session/set_mode");
    assert_eq!(request.params, json!({"sessionId": "s1", "modeId": "code"}));
    chat.agent.reply(&request, Json::Null);
    poll_mode(&mut chat.nvim, "Write code");
    chat.nvim.poll_screen("Mode is now Write code");
    chat.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}));
    poll_mode(&mut chat.nvim, "Ask");
    chat.update(json!({"sessionUpdate": "current_mode_update", "modeId": "code"}));
    poll_mode(&mut chat.nvim, "Write code");
}

/// No option but a field of its own, from before there were options; Gemini sends it.
/// Holds (Options and logins): Models of an agent without config options are set by `session/set_model`.
#[test]
fn models_are_set_where_there_are_no_options() {
    let models = json!({"currentModelId": "elsewhere", "availableModels": [
        {"modelId": "auto", "name": "Auto", "description": "The best for the task"},
        {"modelId": "fast-1", "name": "Fast 1"},
    ]});
    let mut chat = opened_with(json!({"modes": modes("ask"), "models": models}));
    poll_mode(&mut chat.nvim, "Ask");
    assert_eq!(complete(&mut chat.nvim, "RatOption "), json!(["mode", "model"]));
    assert_eq!(complete(&mut chat.nvim, "RatOption model "), json!(["auto", "fast-1"]));
    chat.nvim.poll("the model", |nvim| nvim.status()["model"] == "elsewhere");
    chat.nvim.command("RatOption model Fast 1");
    let request = chat.agent.expect_request("session/set_model");
    assert_eq!(request.params, json!({"sessionId": "s1", "modelId": "fast-1"}));
    chat.agent.reply(&request, json!({}));
    chat.nvim.poll_screen("Model is now Fast 1");
    chat.nvim.poll("the model", |nvim| nvim.status()["model"] == "Fast 1");
    assert_eq!(chat.nvim.status()["mode"], json!("Ask"));

    chat.nvim.command("RatOption model auto");
    let request = chat.agent.expect_request("session/set_model");
    chat.agent.reply_error(&request, -32603, "no quota");
    chat.nvim.poll_screen("could not change the model: no quota");
    assert_eq!(chat.nvim.status()["model"], json!("Fast 1"));
}

#[test]
fn what_does_not_exist_is_told_and_not_sent() {
    let mut chat = opened_with(json!({"configOptions": options("code", "f1", false)}));
    chat.nvim.command("RatMode fly");
    chat.nvim.poll_screen("Mode has no value \"fly\" (available: plan, code)");
    chat.nvim.command("RatOption colour red");
    chat.nvim.poll_screen("has no option \"colour\" (available: mode, m, web)");
    chat.nvim.command("RatOption web perhaps");
    chat.nvim.poll_screen("Web search must be on or off, not \"perhaps\"");
    assert_eq!(chat.agent.unexpected(), [""; 0]);
    chat.nvim.command("RatMode plan");
    let request = chat.agent.expect_request("session/set_config_option");
    chat.agent.reply_error(&request, -32602, "not while you are logged out");
    chat.nvim.poll_screen("could not change Mode: not while you are logged out (error -32602)");
    assert_eq!(chat.nvim.status()["mode"], json!("Write code"));
}

/// Holds (Options and logins): Configured options are set in a new session before its first prompt.
#[test]
fn a_new_session_begins_with_what_is_configured_and_prompts_wait_for_it() {
    let wanted = json!({"mode": "Plan", "model": "f1", "web": "on", "colour": "red"});
    let (mut nvim, mut agent) = Chat::builder().agent(json!({"options": wanted})).launch();
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
    assert!(!nvim.messages().contains("is now"), "only what the user sets is told");
}
