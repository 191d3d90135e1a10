//! Starting an agent in real Neovim: what it is told of us, where and in which environment it runs, how the user logs
//! in, and what is said of a configuration that is wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Request};

fn wide() -> Nvim {
    Nvim::start(Options { columns: 120, lines: 40, ..Options::default() })
}

/// Answers `initialize` with these fields beside the version.
fn initialize(agent: &mut Agent, fields: Json) -> Request {
    let request = agent.expect_request("initialize");
    let mut result = json!({"protocolVersion": 1});
    result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    agent.reply(&request, result);
    request
}

fn open(agent: &mut Agent) -> Request {
    let request = agent.expect_request("session/new");
    agent.reply(&request, json!({"sessionId": "s1"}));
    request
}

fn method(id: &str) -> Json {
    json!({"id": id, "name": format!("Log in with {id}")})
}

/// Starts an agent that wants a login before it opens a session.
fn start_locked(nvim: &mut Nvim, methods: Json) -> Agent {
    let mut agent = nvim.start_agent();
    initialize(&mut agent, json!({"authMethods": methods}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "Authentication required");
    agent
}

fn log_in(agent: &mut Agent, method: &str) {
    let request = agent.expect_request("authenticate");
    assert_eq!(request.params, json!({"methodId": method}));
    agent.reply(&request, json!({}));
    open(agent);
}

/// ACP 21, 26.
#[test]
fn initialize_says_who_we_are_and_promises_what_we_do() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.start_agent();
    let params = initialize(&mut agent, json!({})).params;
    assert_eq!(params["protocolVersion"], json!(1));
    assert_eq!(params["clientInfo"]["name"], json!("rat.nvim"));
    assert_eq!(params["clientInfo"]["version"], json!(env!("CARGO_PKG_VERSION")));
    let capabilities = &params["clientCapabilities"];
    assert_eq!(capabilities["fs"]["readTextFile"], json!(true));
    assert_eq!(capabilities["fs"]["writeTextFile"], json!(true));
    assert_eq!(capabilities["terminal"], json!(true));
    assert_eq!(capabilities["_meta"], json!({"terminal_output": true}));
    assert_eq!(open(&mut agent).params["mcpServers"], json!([]));
    nvim.poll_state("ready");
}

/// ACP 37.
#[test]
fn the_folder_is_that_of_the_current_window() {
    let mut nvim = Nvim::plain();
    let local = nvim.folder().folder("project/local");
    nvim.command(&format!("split | lcd {}", local.display()));
    let mut agent = nvim.start_agent();
    assert_eq!(agent.fact("cwd"), &json!(local));
    initialize(&mut agent, json!({}));
    assert_eq!(open(&mut agent).params["cwd"], json!(local));
}

#[test]
fn the_environment_is_neovims_without_its_own_variables_and_with_those_configured() {
    let inherited = ("RAT_TEST_INHERITED".to_owned(), "from outside".to_owned());
    let changed = ("RAT_TEST_CHANGED".to_owned(), "old".to_owned());
    let mut nvim = Nvim::start(Options { env: vec![inherited, changed], ..Options::default() });
    let mut agent = nvim.listen();
    let mut config = agent.config();
    config["env"] = json!({"RAT_TEST_CHANGED": "new", "RAT_TEST_ADDED": "=a b"});
    nvim.setup(json!({"agents": {"fake": config}}));
    nvim.command("let $RAT_TEST_LET = 'inside'");
    nvim.command("RatStart");
    agent.expect_start();
    let env = agent.fact("env").clone();
    for name in ["NVIM", "VIM", "VIMRUNTIME", "MYVIMRC", "RAT_LOG_FILE", "RAT_LOG_LEVEL"] {
        assert_eq!(env.get(name), None, "{name} is passed on");
    }
    let found = ["INHERITED", "CHANGED", "ADDED", "LET"]
        .map(|name| env[format!("RAT_TEST_{name}")].as_str().unwrap_or_default().to_owned());
    assert_eq!(found, ["from outside", "new", "=a b", "inside"]);
    let after = nvim.lua("return vim.env.RAT_TEST_ADDED or 'nothing'", json!([]));
    assert_eq!(after, json!("nothing"), "the agent's environment leaked into Neovim");
    assert_eq!(agent.fact("pid"), agent.fact("pgid"), "no process group of its own");
}

/// ACP 39, 40.
#[test]
fn mcp_servers_go_to_the_agents_that_can_reach_them() {
    for http in [false, true] {
        let mut nvim = Nvim::plain();
        let mut agent = nvim.listen();
        let mut config = agent.config();
        config["mcp_servers"] =
            json!({"web": {"url": "https://example.org/mcp", "headers": {"X-Key": "k"}}});
        nvim.setup(json!({
            "agents": {"fake": config},
            "mcp_servers": {"local": {"command": "sh", "args": ["-c", "true"], "env": {"A": "1"}}},
        }));
        nvim.command("RatStart");
        agent.expect_start();
        initialize(&mut agent, json!({"agentCapabilities": {"mcpCapabilities": {"http": http}}}));
        let servers = open(&mut agent).params["mcpServers"].clone();
        let local = &servers[0];
        assert_eq!(local["name"], json!("local"));
        assert!(local["command"].as_str().unwrap().starts_with('/'), "{local}");
        assert_eq!(local["args"], json!(["-c", "true"]));
        assert_eq!(local["env"], json!([{"name": "A", "value": "1"}]));
        let web = json!({
            "type": "http", "name": "web", "url": "https://example.org/mcp",
            "headers": [{"name": "X-Key", "value": "k"}],
        });
        assert_eq!(servers.get(1), http.then_some(&web));
        nvim.poll_screen(if http { "MCP servers: local, web" } else { "MCP servers: local" });
        if !http {
            nvim.poll_screen("left out, Fake cannot use that kind");
        }
    }
}

/// ACP 30, 31.
#[test]
fn the_only_way_to_log_in_is_used() {
    let mut nvim = Nvim::plain();
    let mut agent = start_locked(&mut nvim, json!([method("browser")]));
    log_in(&mut agent, "browser");
    nvim.poll_state("ready");
}

#[test]
fn of_several_ways_to_log_in_the_user_chooses() {
    let mut nvim = wide();
    let mut agent = start_locked(&mut nvim, json!([method("key"), method("browser")]));
    nvim.poll_screen("2  Log in with browser");
    nvim.poll_screen("wants a login");
    nvim.choose(2);
    log_in(&mut agent, "browser");
    nvim.poll_state("ready");
}

#[test]
fn a_configured_way_to_log_in_is_used_without_asking() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.listen();
    let mut config = agent.config();
    config["auth_method"] = json!("browser");
    nvim.setup(json!({"agents": {"fake": config}}));
    nvim.command("RatStart");
    agent.expect_start();
    initialize(&mut agent, json!({"authMethods": [method("key"), method("browser")]}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "Authentication required");
    log_in(&mut agent, "browser");
    nvim.poll_state("ready");
}

#[test]
fn a_login_that_is_dismissed_or_not_offered_is_explained() {
    let mut nvim = wide();
    let mut agent = start_locked(&mut nvim, json!([method("key"), method("browser")]));
    nvim.poll_screen("2  Log in with browser");
    nvim.dismiss();
    nvim.poll_state("failed");
    nvim.poll_screen("fake is not logged in (no login was chosen): :RatRestart asks again");
    nvim.command("RatRestart");
    agent.expect_start();
    initialize(&mut agent, json!({}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "Authentication required");
    nvim.poll_state("failed");
    nvim.poll_screen("log in with its own program");
}

/// ACP 30.
#[test]
fn a_prompt_that_needs_a_login_is_sent_again_after_it() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.start_agent();
    initialize(&mut agent, json!({"authMethods": [method("browser")]}));
    open(&mut agent);
    nvim.poll_state("ready");
    nvim.send("go");
    let prompt = agent.expect_request("session/prompt");
    agent.reply_error(&prompt, -32000, "Authentication required");
    let request = agent.expect_request("authenticate");
    agent.reply(&request, json!({}));
    let again = agent.expect_request("session/prompt");
    assert_eq!(again.params["prompt"], prompt.params["prompt"]);
}

#[test]
fn the_settings_file_of_other_clients_is_read() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.listen();
    let command = agent.command();
    let servers =
        json!({"mine": {"command": command[0], "args": command[1..], "env": {"FROM_FILE": "yes"}}});
    nvim.folder().file("config/nvim/rat.json", json!({"agent_servers": servers}).to_string());
    nvim.command("RatStart mine");
    agent.expect_start();
    assert_eq!(agent.fact("env")["FROM_FILE"], json!("yes"));
}

#[test]
fn a_malformed_settings_file_is_named_with_the_place() {
    let mut nvim = wide();
    nvim.folder().file("config/nvim/rat.json", "{\n  \"agent_servers\": {,}\n}");
    nvim.command("RatStart nobody");
    nvim.poll("the place", |nvim| {
        let said = nvim.messages();
        said.contains("rat.json: line 2, column ")
    });
}

#[test]
fn an_option_that_is_wrong_is_named_by_its_path() {
    let mut nvim = Nvim::plain();
    let mut refused = |options: Json| {
        let error =
            nvim.try_call("nvim_exec_lua", json!([r#"require("rat").setup(...)"#, [options]]));
        error.unwrap_err()
    };
    let error = refused(json!({"agents": {"x": {"comand": "y"}}}));
    assert!(error.contains("agents.x.comand") && error.contains("command"), "{error}");
    let error = refused(json!({"permission": {"open": "sometimes"}}));
    assert!(error.contains("permission.open") && error.contains("chat"), "{error}");
    let error = refused(json!({"layout": {"size": "big"}}));
    assert!(error.contains("layout.size") && error.contains("number"), "{error}");
}

#[test]
fn start_shows_the_chat_there_is_and_with_a_bang_opens_a_second() {
    let mut nvim = wide();
    let mut agent = nvim.start_agent();
    initialize(&mut agent, json!({}));
    open(&mut agent);
    nvim.poll_state("ready");
    nvim.command("RatToggle");
    nvim.poll("one window", |nvim| nvim.lua("return vim.fn.winnr('$')", json!([])) == 1);
    nvim.command("RatStart fake");
    nvim.poll("the chat", |nvim| nvim.lua("return vim.bo.filetype", json!([])) == "ratprompt");
    assert_eq!(agent.unexpected(), [""; 0]);
    // The same agent takes it.
    nvim.command("RatStart! fake");
    let request = agent.expect_request("session/new");
    agent.reply(&request, json!({"sessionId": "s2"}));
    nvim.poll("the second session", |nvim| nvim.status()["session_id"] == json!("s2"));
    let names = "return vim.fn.bufname()";
    nvim.poll("its prompt", |nvim| nvim.lua(names, json!([])) == "rat://fake/2/prompt");
}

#[test]
fn the_user_who_went_elsewhere_keeps_the_focus() {
    let mut nvim = wide();
    let agent = nvim.listen();
    nvim.setup(json!({"agents": {"fake": agent.config()}}));
    nvim.command("new");
    let other = nvim
        .lua("vim.cmd.RatStart('fake') vim.cmd.wincmd('p') return vim.fn.win_getid()", json!([]));
    nvim.poll_screen("rat://fake/1/prompt");
    assert_eq!(nvim.lua("return vim.fn.win_getid()", json!([])), other);
}
