//! Starting an agent in real Neovim: what it is told of us, where and in which environment it runs, how the user logs
//! in, and what is said of a configuration that is wrong.

use crate::support::{Agent, Chat, Nvim, Options, text};
use serde_json::{Value as Json, json};

fn method(id: &str) -> Json {
    json!({"id": id, "name": format!("Log in with {id}")})
}

/// An agent that wants a login before it opens a session.
fn that_wants_a_login(methods: Json) -> (Nvim, Agent) {
    let (nvim, mut agent) = Chat::builder().launch();
    agent.initialize(json!({"authMethods": methods}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "Authentication required");
    (nvim, agent)
}

fn log_in(agent: &mut Agent, method: &str) {
    let request = agent.expect_request("authenticate");
    assert_eq!(request.params, json!({"methodId": method}));
    agent.reply(&request, json!({}));
    agent.open("s1");
}

/// ACP 21, 26.
#[test]
fn initialize_says_who_we_are_and_promises_what_we_do() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    let params = agent.initialize(json!({})).params;
    assert_eq!(params["protocolVersion"], json!(2));
    assert_eq!(params["clientInfo"]["name"], json!("rat.nvim"));
    assert_eq!(params["clientInfo"]["version"], json!(env!("CARGO_PKG_VERSION")));
    let capabilities = &params["clientCapabilities"];
    assert_eq!(capabilities["fs"]["readTextFile"], json!(true));
    assert_eq!(capabilities["fs"]["writeTextFile"], json!(true));
    assert_eq!(capabilities["terminal"], json!(true));
    assert_eq!(capabilities["_meta"], json!({"terminal_output": true}));
    assert_eq!(agent.open("s1").params["mcpServers"][0]["name"], json!("rat"));
    nvim.poll_state("ready");
}

/// ACP 37.
#[test]
fn the_folder_is_that_of_the_current_window() {
    let mut nvim = Nvim::wide();
    let local = nvim.folder().folder("project/local");
    nvim.command(&format!("split | lcd {}", local.display()));
    let (_nvim, mut agent) = Chat::builder().neovim(nvim).launch();
    assert_eq!(agent.fact("cwd"), &json!(local));
    agent.initialize(json!({}));
    assert_eq!(agent.open("s1").params["cwd"], json!(local));
}

#[test]
fn the_environment_is_neovims_without_its_own_variables_and_with_those_configured() {
    let inherited = ("RAT_TEST_INHERITED".to_owned(), "from outside".to_owned());
    let changed = ("RAT_TEST_CHANGED".to_owned(), "old".to_owned());
    let options = Options { env: vec![inherited, changed], ..Options::wide() };
    let mut nvim = Nvim::start(options);
    nvim.command("let $RAT_TEST_LET = 'inside'");
    let env = json!({"env": {"RAT_TEST_CHANGED": "new", "RAT_TEST_ADDED": "=a b"}});
    let (mut nvim, agent) = Chat::builder().neovim(nvim).agent(env).launch();
    let env = agent.fact("env").clone();
    assert_ne!(nvim.eval("vim.env.NVIM_LOG_FILE"), json!(null), "Neovim has no log");
    let own =
        ["NVIM", "VIM", "VIMRUNTIME", "MYVIMRC", "NVIM_LOG_FILE", "RAT_LOG_FILE", "RAT_LOG_LEVEL"];
    for name in own {
        assert_eq!(env.get(name), None, "{name} is passed on");
    }
    let found = ["INHERITED", "CHANGED", "ADDED", "LET"]
        .map(|name| env[format!("RAT_TEST_{name}")].as_str().unwrap_or_default().to_owned());
    assert_eq!(found, ["from outside", "new", "=a b", "inside"]);
    let after = nvim.eval("vim.env.RAT_TEST_ADDED or 'nothing'");
    assert_eq!(after, json!("nothing"), "the agent's environment leaked into Neovim");
    assert_eq!(agent.fact("pid"), agent.fact("pgid"), "no process group of its own");
}

/// ACP 39, 40.
#[test]
fn mcp_servers_go_to_the_agents_that_can_reach_them() {
    for http in [false, true] {
        let web = json!({"url": "https://example.org/mcp", "headers": {"X-Key": "k"}});
        let local = json!({"command": "sh", "args": ["-c", "true"], "env": {"A": "1"}});
        let (mut nvim, mut agent) = Chat::builder()
            .agent(json!({"mcp_servers": {"web": web}}))
            .setup(json!({"mcp_servers": {"local": local}, "editor_tools": false}))
            .launch();
        agent.initialize(json!({"agentCapabilities": {"mcpCapabilities": {"http": http}}}));
        let servers = agent.open("s1").params["mcpServers"].clone();
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
            nvim.poll_screen("Skipped MCP servers");
        }
    }
}

/// ACP 30, 31.
#[test]
fn the_only_way_to_log_in_is_used() {
    let (mut nvim, mut agent) = that_wants_a_login(json!([method("browser")]));
    log_in(&mut agent, "browser");
    nvim.poll_state("ready");
}

#[test]
fn of_several_ways_to_log_in_the_user_chooses() {
    let (mut nvim, mut agent) = that_wants_a_login(json!([method("key"), method("browser")]));
    nvim.poll_screen("2  Log in with browser");
    nvim.poll_screen("requires a login");
    nvim.choose(2);
    log_in(&mut agent, "browser");
    nvim.poll_state("ready");
}

#[test]
fn a_configured_way_to_log_in_is_used_without_asking() {
    let configured = json!({"auth_method": "browser"});
    let (mut nvim, mut agent) = Chat::builder().agent(configured).launch();
    agent.initialize(json!({"authMethods": [method("key"), method("browser")]}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "Authentication required");
    log_in(&mut agent, "browser");
    nvim.poll_state("ready");
}

#[test]
fn a_login_that_is_dismissed_or_not_offered_is_explained() {
    let (mut nvim, mut agent) = that_wants_a_login(json!([method("key"), method("browser")]));
    nvim.poll_screen("2  Log in with browser");
    nvim.dismiss();
    nvim.poll_state("failed");
    nvim.poll_screen("fake is not logged in: no method was chosen. :RatRestart asks again.");
    nvim.command("RatRestart");
    agent.expect_start();
    agent.initialize(json!({}));
    let request = agent.expect_request("session/new");
    agent.reply_error(&request, -32000, "Authentication required");
    nvim.poll_state("failed");
    nvim.poll_screen("Log in with its own program");
}

/// ACP 30.
#[test]
fn a_prompt_that_needs_a_login_is_sent_again_after_it() {
    let (mut nvim, mut agent) = Chat::builder().launch();
    agent.initialize(json!({"authMethods": [method("browser")]}));
    agent.open("s1");
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
fn a_malformed_settings_file_is_named_with_the_place_once() {
    let mut nvim = Nvim::wide();
    nvim.folder().file("config/nvim/rat.json", "{\n  \"agent_servers\": {,}\n}");
    nvim.command("RatStart nobody");
    nvim.poll("the file", |nvim| nvim.messages().contains("rat.json is not valid JSON."));
    nvim.command("RatStart tour");
    nvim.poll("the place", |nvim| nvim.messages().contains("rat.json: line 2, column "));
    nvim.poll_state("ready");
    nvim.command("RatStart! tour");
    nvim.poll("a second chat", |nvim| {
        nvim.lua("return #require('rat.chat.registry').list()", json!([])) == 2
    });
    assert_eq!(nvim.messages().matches("rat.json: line 2").count(), 1);
}

/// Holds (Configuration): What is wrong in the settings file is reported with its place, and the rest counts.
#[test]
fn an_entry_of_the_settings_file_that_makes_no_sense_is_named_and_the_others_count() {
    let mut nvim = Nvim::wide();
    let mut agent = nvim.listen();
    let command = agent.command();
    let servers = json!({
        "mine": {"command": command[0], "args": command[1..]},
        "bad": {"command": 7},
    });
    nvim.folder().file("config/nvim/rat.json", json!({"agent_servers": servers}).to_string());
    nvim.command("RatStart mine");
    agent.expect_start();
    nvim.poll_screen("agent_servers.bad.command: expected a string");
    nvim.command("RatStart bad");
    nvim.poll_screen("bad cannot be started: agent_servers.bad");
}

/// Writes the settings file with an agent whose program is named by this key.
fn write_settings(nvim: &Nvim, command: &[String], key: &str) {
    let mine = json!({key: command[0], "args": command[1..]});
    let file = json!({"agent_servers": {"mine": mine}}).to_string();
    nvim.folder().file("config/nvim/rat.json", file);
}

/// Holds (Configuration): Each way to start an agent again reads the settings file again.
#[test]
fn each_way_to_start_an_agent_again_reads_the_settings_file_again() {
    for way in [":RatRestart<CR>", "ihello<Esc><CR>", "queued", "page"] {
        let mut nvim = Nvim::wide();
        let mut agent = nvim.listen();
        let command = agent.command();
        write_settings(&nvim, &command, "comand");
        nvim.command("RatStart mine");
        nvim.poll_state("failed");
        nvim.enter("rat://mine/1/prompt");
        if way == "queued" {
            nvim.input("ihello<Esc><CR>");
            nvim.poll_queue(&["hello"]);
            nvim.poll_state("failed");
        }
        write_settings(&nvim, &command, "command");
        match way {
            "queued" => nvim.input("<CR>"),
            "page" => {
                nvim.command("RatChats");
                nvim.poll_screen("mine");
                nvim.input("r");
            }
            keys => nvim.input(keys),
        }
        agent.expect_start();
        agent.handshake();
        if way.starts_with(':') || way == "page" {
            nvim.poll_state("ready");
        } else {
            let prompt = agent.expect_request("session/prompt");
            assert_eq!(prompt.params["prompt"], json!([text("hello")]), "{way}");
        }
    }
}

/// Holds (Configuration): Each way to start an agent again reads the settings file again.
#[test]
fn a_restart_reads_the_settings_file_again_for_all_chats_of_the_agent() {
    let mut nvim = Nvim::wide();
    let mut agent = nvim.listen();
    let command = agent.command();
    write_settings(&nvim, &command, "command");
    nvim.command("RatStart mine");
    agent.expect_start();
    agent.handshake();
    nvim.poll_state("ready");
    nvim.command("RatStart! mine");
    agent.open("s2");
    nvim.poll("the second session", |nvim| nvim.status()["session_id"] == json!("s2"));
    let mine = json!({"command": command[0], "args": command[1..], "env": {"LATER": "yes"}});
    let file = json!({"agent_servers": {"mine": mine}}).to_string();
    nvim.folder().file("config/nvim/rat.json", file);
    nvim.command("RatRestart");
    agent.expect_start();
    assert_eq!(agent.fact("env")["LATER"], json!("yes"));
    agent.handshake();
    agent.open("s3");
    // With the agent gone from the file, nothing is sent, and the text stays.
    nvim.folder().file("config/nvim/rat.json", "{}");
    nvim.command("RatStop");
    nvim.poll_state("stopped");
    nvim.enter("rat://mine/2/prompt");
    nvim.input("ihello<Esc><CR>");
    nvim.poll_screen("No agent is named \"mine\"");
    assert_eq!(nvim.buffer_lines("rat://mine/2/prompt"), ["hello"]);
}

/// Holds (Configuration): `:checkhealth rat` shows for each configured agent whether it can be started.
#[test]
fn checkhealth_says_of_each_configured_agent_whether_it_can_be_started() {
    let mut nvim = Nvim::wide();
    nvim.setup(json!({"agents": {
        "here": {"command": "sh", "env": {}},
        "gone": {"command": "no-such-agent", "install_hint": "npm install -g ghost"},
    }}));
    nvim.folder().file("config/nvim/rat.json", r#"{"agent_servers": {"bad": {"args": 1}}}"#);
    nvim.command("checkhealth rat");
    for line in [
        "here: /",
        "gone: no-such-agent is not on PATH",
        "npm install -g ghost",
        "rat.json: line 1, column 36: agent_servers.bad.args: expected a list",
    ] {
        nvim.poll_screen(line);
    }
}

#[test]
fn an_option_that_is_wrong_is_named_by_its_path() {
    let mut nvim = Nvim::plain();
    let mut refused = |options: Json| {
        let code =
            r#"Said = nil; vim.notify = function(text) Said = text end; require("rat").setup(...)"#;
        nvim.lua(code, json!([options]));
        nvim.poll("the message", |nvim| nvim.eval("Said ~= nil") == true);
        nvim.eval("Said").as_str().unwrap().to_owned()
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
    let Chat { mut nvim, mut agent, .. } = Chat::start();
    nvim.command("RatToggle");
    nvim.poll("one window", |nvim| nvim.eval("vim.fn.winnr('$')") == 1);
    nvim.command("RatStart fake");
    nvim.poll("the chat", |nvim| nvim.eval("vim.bo.filetype") == "ratprompt");
    assert_eq!(agent.unexpected(), [""; 0]);
    let answered = "return not require('rat.chat.launch').is_starting()";
    nvim.poll("the answer", |nvim| nvim.lua(answered, json!([])) == true);
    // The same agent takes it.
    nvim.command("RatStart! fake");
    agent.open("s2");
    nvim.poll("the second session", |nvim| nvim.status()["session_id"] == json!("s2"));
    let names = "return vim.fn.bufname()";
    nvim.poll("its prompt", |nvim| nvim.lua(names, json!([])) == "rat://fake/2/prompt");
}

#[test]
fn the_user_who_went_elsewhere_keeps_the_focus() {
    let (mut nvim, _agent) = Chat::builder().configure();
    nvim.command("new");
    let other = nvim
        .lua("vim.cmd.RatStart('fake') vim.cmd.wincmd('p') return vim.fn.win_getid()", json!([]));
    nvim.poll_screen("rat://fake/1/prompt");
    assert_eq!(nvim.eval("vim.fn.win_getid()"), other);
}
