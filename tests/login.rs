//! Logging in and out in real Neovim: by the agent, in a terminal, in the middle of a session.

use crate::support::{Agent, Chat, Nvim, TRANSCRIPT};
use serde_json::{Value as Json, json};

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
    let can = json!({"auth": {"logout": {}}});
    let request = agent.initialize(json!({"authMethods": methods, "agentCapabilities": can}));
    let capabilities = &request.params["clientCapabilities"];
    assert_eq!(capabilities["auth"]["terminal"], json!(true));
}

/// A chat with an agent that offers these logins.
fn with_logins(methods: Json) -> Chat {
    let can = json!({"auth": {"logout": {}}});
    Chat::builder().initialized(json!({"authMethods": methods, "agentCapabilities": can})).start()
}

/// An agent that wants a login in a terminal before its first session; the terminal is open.
fn in_terminal() -> (Nvim, Agent) {
    let mut nvim = Nvim::wide();
    let mut agent = nvim.listen();
    let mut words = vec!["-c".to_owned(), PROGRAM.to_owned(), "agent".to_owned()];
    words.extend(agent.command());
    // The relay's own words come first otherwise, and `--login` would not be the first.
    let program = "if [ \"$5\" = --login ]; then shift 4; fi\n".to_owned() + PROGRAM;
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
    nvim.poll_screen("requires a login");
    assert!(!nvim.screen().text().contains("By telepathy"), "nobody knows how");
    nvim.poll_screen("<CR> choose");
    nvim.input("1<CR>");
    nvim.poll_screen("as someone in");
    nvim.poll_screen("nvim: none");
    (nvim, agent)
}

/// ACP 30, 32, 33, 34, 35.
/// Holds (Options and logins): A login in a terminal is followed by a new connection.
#[test]
fn a_login_in_a_terminal_connects_anew_and_goes_on() {
    let (mut nvim, mut agent) = in_terminal();
    nvim.poll("the terminal", |nvim| nvim.eval("vim.fn.mode()") == "t");
    nvim.input("1234<CR>");
    agent.expect_gone();
    assert_eq!(agent.unexpected(), [""; 0], "never `authenticate`");
    agent.expect_start();
    initialize(&mut agent, json!([terminal_method()]));
    agent.open("s1");
    let prompt = agent.expect_request("session/prompt");
    assert_eq!(prompt.params["prompt"][0]["text"], json!("what waits"));
    nvim.poll("no terminal", |nvim| !nvim.screen().text().contains("as someone in"));
}

/// ACP 33.
/// Holds (Options and logins): A login in a terminal that fails is reported.
#[test]
fn a_login_in_a_terminal_that_fails_is_told() {
    let (mut nvim, mut agent) = in_terminal();
    nvim.poll("the terminal", |nvim| nvim.eval("vim.fn.mode()") == "t");
    nvim.input("4321<CR>");
    nvim.poll_screen("not logged in: the login exited with status 1. :RatRestart asks again.");
    nvim.poll_state("failed");
    agent.expect_gone();
    assert_eq!(nvim.status()["queued"], json!(["what waits"]));
}

/// ACP 31.
/// Holds (Options and logins): A prompt that needs a login is sent again after it.
/// Holds (Options and logins): The chooser of a login shows what each method says about itself.
#[test]
fn a_prompt_that_needs_a_login_waits_for_it() {
    let about = "Uses the key in $FAKE_KEY.\nIt is billed.";
    let methods = json!([{"id": "key", "name": "Key", "description": about},
        {"id": "web", "name": "Browser", "description": null}]);
    let mut chat = with_logins(methods);
    let prompt = chat.prompt("what waits");
    chat.agent.reply_error(&prompt, -32000, "expired");
    chat.nvim.poll_screen("requires a login");
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.poll_screen("Key: Uses the key in $FAKE_KEY. It is billed.");
    chat.nvim.input("2<CR>");
    let request = chat.agent.expect_request("authenticate");
    assert_eq!(request.params, json!({"methodId": "web"}));
    chat.agent.reply(&request, Json::Null);
    let prompt = chat.expect_prompt();
    assert_eq!(prompt.params["prompt"][0]["text"], json!("what waits"));
}

#[test]
fn a_login_that_fails_in_a_session_leaves_it_and_its_prompt_alone() {
    let mut chat = with_logins(json!([{"id": "key", "name": "Key"}]));
    let prompt = chat.prompt("what waits");
    chat.agent.reply_error(&prompt, -32000, "expired");
    let request = chat.agent.expect_request("authenticate");
    chat.agent.reply_error(&request, -32603, "the browser is gone");
    chat.nvim.poll_screen("the browser is gone");
    chat.nvim.poll_state("ready");
    assert_eq!(chat.nvim.status()["queued"], json!(["what waits"]));
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}

#[test]
fn the_user_logs_in_and_takes_it_back() {
    let methods = json!([{"id": "key", "name": "Key"}, {"id": "web", "name": "Browser"}]);
    let mut chat = with_logins(methods);
    chat.nvim.command("RatLogin telepathy");
    chat.nvim.poll_screen("has no login method \"telepathy\" (available: key, web)");
    chat.nvim.command("RatLogin web");
    let request = chat.agent.expect_request("authenticate");
    chat.nvim.command("RatCancel");
    let cancel = chat.agent.expect_notification("$/cancel_request");
    assert!(cancel["requestId"].is_number());
    chat.nvim.poll_screen("fake is not logged in: cancelled.");
    chat.nvim.poll_state("ready");
    // An agent that answers late, or never, holds nobody up.
    let prompt = chat.prompt("go");
    chat.agent.reply_error(&request, -32800, "cancelled");
    chat.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    chat.nvim.poll_state("ready");
    assert!(!chat.nvim.screen().text().contains("-32800"));
}

/// ACP 36.
/// Holds (Options and logins): A logout is reported in every chat of the agent.
#[test]
fn a_logout_is_told_in_every_chat_of_the_agent() {
    let mut chat = with_logins(json!([{"id": "key", "name": "Key"}]));
    chat.nvim.command("RatStart!");
    chat.agent.open("s2");
    chat.nvim.poll("the second", |nvim| nvim.status()["session_id"] == json!("s2"));
    chat.nvim.command("RatLogout");
    let request = chat.agent.expect_request("logout");
    chat.agent.reply(&request, json!({}));
    for name in [TRANSCRIPT, "rat://fake/2"] {
        chat.nvim.poll("told", |nvim| nvim.buffer_lines(name).join("\n").contains("Logged out"));
    }
    // What comes next asks for a login, as the agent wants it.
    chat.session = "s2".to_owned();
    let prompt = chat.prompt("go");
    chat.agent.reply_error(&prompt, -32000, "log in first");
    chat.agent.expect_request("authenticate");
}

#[test]
fn an_agent_that_cannot_log_out_is_not_asked_to() {
    let mut chat = Chat::start();
    chat.nvim.command("RatLogout");
    chat.nvim.poll_screen("does not support logging out");
    chat.nvim.command("RatLogin");
    chat.nvim.poll_screen("has no login method");
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}
