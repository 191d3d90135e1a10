//! Logging in and out in real Neovim: by the agent, in a terminal, in the middle of a session.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options};

/// An agent that is a login where `--login` follows its own arguments.
const PROGRAM: &str = r#"
if [ "$1" = --login ]; then
  echo "as $LOGIN_AS in $PWD, nvim: ${NVIM:-none}"
  printf 'code: '
  read -r code
  [ "$code" = 1234 ]
else
  exec "$@"
fi
"#;

fn terminal_method() -> Json {
    json!({"id": "term", "name": "In a terminal", "type": "terminal",
        "args": ["--login"], "env": {"LOGIN_AS": "someone"}})
}

fn initialize(agent: &mut Agent, methods: Json) {
    let request = agent.expect_request("initialize");
    let capabilities = &request.params["clientCapabilities"];
    assert_eq!(capabilities["auth"]["terminal"], json!(true));
    agent.reply(
        &request,
        json!({"protocolVersion": 1, "authMethods": methods,
            "agentCapabilities": {"auth": {"logout": {}}}}),
    );
}

fn open(agent: &mut Agent) {
    let request = agent.expect_request("session/new");
    agent.reply(&request, json!({"sessionId": "s1"}));
}

/// An agent that is ready.
fn start(methods: Json) -> (Nvim, Agent) {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.start_agent();
    initialize(&mut agent, methods);
    open(&mut agent);
    nvim.poll_state("ready");
    (nvim, agent)
}

/// An agent that wants a login in a terminal before its first session; the terminal is open.
fn in_terminal() -> (Nvim, Agent) {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.listen();
    let mut words = vec!["-c".to_owned(), PROGRAM.to_owned(), "agent".to_owned()];
    words.extend(agent.command());
    // The relay's own words come first otherwise, and `--login` would not be the first.
    let program = "if [ \"$4\" = --login ]; then shift 3; fi\n".to_owned() + PROGRAM;
    words[1] = program;
    let fake = json!({"command": "sh", "args": words});
    nvim.setup(json!({"agents": {"fake": fake}, "default_agent": "fake"}));
    nvim.command("RatStart");
    agent.expect_start();
    let unknown = json!({"id": "new", "name": "By telepathy", "type": "telepathy"});
    initialize(&mut agent, json!([terminal_method(), unknown]));
    nvim.send("what waits");
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "log in first");
    nvim.poll_screen("wants a login");
    assert!(!nvim.screen().text().contains("By telepathy"), "nobody knows how");
    nvim.poll_screen("<CR> choose");
    nvim.input("1<CR>");
    nvim.poll_screen("as someone in");
    nvim.poll_screen("nvim: none");
    (nvim, agent)
}

/// ACP 30, 32, 33, 34, 35.
#[test]
fn a_login_in_a_terminal_connects_anew_and_goes_on() {
    let (mut nvim, mut agent) = in_terminal();
    nvim.poll("the terminal", |nvim| nvim.lua("return vim.fn.mode()", json!([])) == "t");
    nvim.input("1234<CR>");
    agent.expect_gone();
    assert_eq!(agent.unexpected(), [""; 0], "never `authenticate`");
    agent.expect_start();
    initialize(&mut agent, json!([terminal_method()]));
    open(&mut agent);
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("what waits"));
    nvim.poll("no terminal", |nvim| !nvim.screen().text().contains("as someone in"));
}

/// ACP 33.
#[test]
fn a_login_in_a_terminal_that_fails_is_told() {
    let (mut nvim, mut agent) = in_terminal();
    nvim.poll("the terminal", |nvim| nvim.lua("return vim.fn.mode()", json!([])) == "t");
    nvim.input("4321<CR>");
    nvim.poll_screen("not logged in (the login ended with exit status 1): :RatRestart asks again");
    nvim.poll_state("failed");
    agent.expect_gone();
    assert_eq!(nvim.status()["queued"], json!(["what waits"]));
}

/// ACP 31.
#[test]
fn a_prompt_that_needs_a_login_waits_for_it() {
    let methods = json!([{"id": "key", "name": "Key"}, {"id": "web", "name": "Browser"}]);
    let (mut nvim, mut agent) = start(methods);
    nvim.send("what waits");
    let prompt = agent.expect_request("session/prompt");
    agent.reply_error(&prompt, -32000, "expired");
    nvim.poll_screen("wants a login");
    nvim.poll_screen("<CR> choose");
    nvim.input("2<CR>");
    let request = agent.expect_request("authenticate");
    assert_eq!(request.params, json!({"methodId": "web"}));
    agent.reply(&request, Json::Null);
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("what waits"));
}

#[test]
fn a_login_that_fails_in_a_session_leaves_it_and_its_prompt_alone() {
    let (mut nvim, mut agent) = start(json!([{"id": "key", "name": "Key"}]));
    nvim.send("what waits");
    let prompt = agent.expect_request("session/prompt");
    agent.reply_error(&prompt, -32000, "expired");
    let request = agent.expect_request("authenticate");
    agent.reply_error(&request, -32603, "the browser is gone");
    nvim.poll_screen("the browser is gone");
    nvim.poll_state("ready");
    assert_eq!(nvim.status()["queued"], json!(["what waits"]));
    assert_eq!(agent.unexpected(), [""; 0]);
}

#[test]
fn the_user_logs_in_and_takes_it_back() {
    let methods = json!([{"id": "key", "name": "Key"}, {"id": "web", "name": "Browser"}]);
    let (mut nvim, mut agent) = start(methods);
    nvim.command("RatLogin telepathy");
    nvim.poll_screen("has no login \"telepathy\", only key, web");
    nvim.command("RatLogin web");
    let request = agent.expect_request("authenticate");
    nvim.command("RatCancel");
    let cancel = agent.expect_notification("$/cancel_request");
    agent.reply_error(&request, -32800, "cancelled");
    assert!(cancel["requestId"].is_number());
    nvim.poll_state("ready");
    nvim.send("go");
    agent.expect_request("session/prompt");
}

/// ACP 36.
#[test]
fn a_logout_is_told_in_every_chat_of_the_agent() {
    let (mut nvim, mut agent) = start(json!([{"id": "key", "name": "Key"}]));
    nvim.command("RatStart!");
    let request = agent.expect_request("session/new");
    agent.reply(&request, json!({"sessionId": "s2"}));
    nvim.poll("the second", |nvim| nvim.status()["session_id"] == json!("s2"));
    nvim.command("RatLogout");
    let request = agent.expect_request("logout");
    agent.reply(&request, json!({}));
    for chat in 1..=2 {
        let name = format!("rat://fake/{chat}");
        nvim.poll("told", |nvim| nvim.buffer_lines(&name).join("\n").contains("logged out"));
    }
    // What comes next asks for a login, as the agent wants it.
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    agent.reply_error(&prompt, -32000, "log in first");
    agent.expect_request("authenticate");
}

#[test]
fn an_agent_that_cannot_log_out_is_not_asked_to() {
    let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
    let mut agent = nvim.start_agent();
    agent.handshake();
    nvim.poll_state("ready");
    nvim.command("RatLogout");
    nvim.poll_screen("offers no logout");
    nvim.command("RatLogin");
    nvim.poll_screen("offers no login here");
    assert_eq!(agent.unexpected(), [""; 0]);
}
