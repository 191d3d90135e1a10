//! The precedence of options, settings file and presets.

use super::*;
use crate::config::settings;

fn options(json: serde_json::Value) -> AgentOptions {
    serde_json::from_value(json).unwrap()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn agent(name: &str, json: serde_json::Value) -> AgentConfig {
    let request =
        AgentSelection { name: name.into(), options: options(json), ..AgentSelection::default() };
    resolve(request, Settings::default(), Path::new("/"), Path::new("/opt/rat-nvim"))
}

fn program_and_args(config: &AgentConfig) -> (&str, Vec<&str>) {
    (&config.command, config.args.iter().map(String::as_str).collect())
}

/// ACP 37, 39.
/// Holds (Configuration): An agent gets the environment without the editor's own variables.
#[test]
fn an_agent_gets_the_environment_without_the_editors_own_variables() {
    let mut environment = map(&[("KEPT", "z"), ("PATH", "/bin"), ("NVIM_APPNAME", "mine")]);
    environment.extend(EDITOR_VARIABLES.iter().map(|name| ((*name).to_owned(), "x".to_owned())));
    let options = options(serde_json::json!({"env": {"B": "2", "A": "1"}}));
    let request =
        AgentSelection { name: "claude".into(), options, environment, ..AgentSelection::default() };
    let config = resolve(request, Settings::default(), Path::new("/"), Path::new("/opt/rat-nvim"));
    let names: Vec<&str> = config.base_env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["KEPT", "NVIM_APPNAME", "PATH"]);
    assert_eq!(config.env, [("A".into(), "1".into()), ("B".into(), "2".into())]);
    assert_eq!(config.command, "claude-agent-acp");
}

#[test]
fn options_override_single_fields_of_a_preset() {
    let gemini = agent("gemini", serde_json::json!({"args": []}));
    assert_eq!(program_and_args(&gemini), ("gemini", vec![]));
    assert_eq!(gemini.install_hint.as_deref(), Some("npm install -g @google/gemini-cli"));
    let opencode =
        agent("opencode", serde_json::json!({"args": ["acp", "--x"], "env": {"A": "b"}}));
    assert_eq!(program_and_args(&opencode), ("opencode", vec!["acp", "--x"]));
    assert_eq!(opencode.env, [("A".into(), "b".into())]);
}

#[test]
fn the_arguments_of_a_preset_are_used_only_with_its_program() {
    let moved = agent("gemini", serde_json::json!({"command": "/opt/gemini/bin/gemini"}));
    assert_eq!(program_and_args(&moved), ("/opt/gemini/bin/gemini", vec!["--acp"]));
    let wrapped = agent("opencode", serde_json::json!({"command": "my-wrapper"}));
    assert_eq!(program_and_args(&wrapped), ("my-wrapper", vec![]));
    let both = agent("cline", serde_json::json!({"command": "my-wrapper", "args": ["x"]}));
    assert_eq!(program_and_args(&both), ("my-wrapper", vec!["x"]));
}

/// Holds (Configuration): Options override the settings file, and both override a preset.
#[test]
fn options_override_the_settings_file_and_both_override_a_preset() {
    let file = r#"{
        "agent_servers": {"claude": {
            "args": ["--file"], "env": {"A": "file", "B": "file"}, "timeouts": {"request": 7, "session": 0}
        }},
        "mcp_servers": {"docs": {"command": "./sh"}, "web": {"url": "http://file", "type": "sse"}}
    }"#;
    let (settings, problems) = settings::parse(file);
    assert_eq!(problems, [""; 0]);
    let web = serde_json::json!({"url": "http://options", "headers": {"K": "v"}});
    let request = AgentSelection {
        name: "claude".into(),
        options: options(serde_json::json!({"env": {"B": "options"}, "timeouts": {"request": 5}})),
        mcp_servers: [("web".to_owned(), serde_json::from_value(web).unwrap())].into(),
        environment: map(&[("PATH", "/nowhere:/bin")]),
        ..AgentSelection::default()
    };
    let config = resolve(request, settings, Path::new("/bin"), Path::new("/opt/rat-nvim"));
    assert_eq!(program_and_args(&config), ("claude-agent-acp", vec!["--file"]));
    assert_eq!(config.env, [("A".into(), "file".into()), ("B".into(), "options".into())]);
    assert_eq!(config.timeouts.request, Some(Duration::from_millis(5)));
    assert_eq!(config.timeouts.session, None, "0 waits for ever");
    assert_eq!(config.timeouts.initialize, Timeouts::default().initialize);
    let docs = McpServer::Stdio {
        name: "docs".into(),
        command: "/bin/./sh".into(),
        args: Vec::new(),
        env: Vec::new(),
    };
    let headers = vec![("K".into(), "v".into())];
    let web = McpServer::Http { name: "web".into(), url: "http://options".into(), headers };
    assert_eq!(config.mcp_servers, [docs, web]);
}

#[test]
fn the_tour_is_this_program_unless_another_command_is_configured() {
    let tour = |json| {
        let request = AgentSelection {
            name: "tour".into(),
            options: options(json),
            ..AgentSelection::default()
        };
        resolve(request, Settings::default(), Path::new("/"), Path::new("/opt/rat-nvim"))
    };
    let own = tour(serde_json::json!({"command": "x"}));
    assert_eq!(program_and_args(&own), ("x", vec![]));
    let ours = tour(serde_json::json!({}));
    assert_eq!(program_and_args(&ours), ("/opt/rat-nvim", vec!["tour"]));
}

#[test]
fn a_tilde_in_a_command_is_expanded() {
    let request = AgentSelection {
        name: "mine".into(),
        options: options(serde_json::json!({"command": "~/bin/agent"})),
        environment: map(&[("HOME", "/home/me/")]),
        ..AgentSelection::default()
    };
    assert_eq!(
        resolve(request, Settings::default(), Path::new("/"), Path::new("/opt/rat-nvim")).command,
        "/home/me/bin/agent"
    );
    assert_eq!(agent("nobody", serde_json::json!({})).command, "");
}

/// Holds (Configuration): Capabilities are on unless they are switched off, one by one; an agent without our files needs those for files.
#[test]
fn capabilities_are_switched_off_one_by_one() {
    let config =
        agent("mine", serde_json::json!({"command": "x", "capabilities": {"terminal": false}}));
    let expected = ClientCapabilities { terminal: false, ..ClientCapabilities::default() };
    assert_eq!((config.capabilities, config.problem), (expected, None));
    let entry =
        serde_json::json!({"command": "x", "shared": false, "capabilities": {"write": false}});
    let problem = agent("mine", entry).problem.unwrap();
    let expected =
        "agents.mine.shared is false, so it needs capabilities.read and capabilities.write";
    assert_eq!(problem, expected);
}

/// Holds (Confinement): A confined agent that has a sandbox or a daemon of its own is told to do without.
#[test]
fn a_confined_agent_gets_the_variables_it_needs_for_that() {
    let environment = map(&[("HOME", "/home/me"), ("INITIAL_AGENT_MODE", "read-only")]);
    let codex = |json| {
        let request = AgentSelection {
            name: "codex".into(),
            options: options(json),
            environment: environment.clone(),
            directories: vec!["/b".into()],
            ..AgentSelection::default()
        };
        resolve(request, Settings::default(), Path::new("/a"), Path::new("/opt/rat-nvim"))
    };
    let free = codex(serde_json::json!({"confine": false}));
    assert!(!free.could_be_confined, "the user does not want it");
    assert_eq!((free.env, free.confinement, free.problem), (Vec::new(), None, None));
    let undecided = codex(serde_json::json!({}));
    assert_eq!(undecided.could_be_confined, confine::kernel().check(false).is_ok());
    let confined = codex(serde_json::json!({"confine": "write"}));
    match confine::kernel().check(false) {
        Ok(()) => {
            let mode = ("INITIAL_AGENT_MODE".to_owned(), "agent-full-access".to_owned());
            assert_eq!((confined.env, confined.problem), (vec![mode], None));
            let roots = confined.confinement.unwrap().roots;
            assert_eq!(roots, ["/a", "/b"].map(PathBuf::from));
        }
        Err(why) => assert!(confined.problem.unwrap().ends_with(why)),
    }
}

/// Holds (Confinement): A settings file or an entry in it that cannot be read does not start an agent unconfined.
#[test]
fn what_cannot_be_read_does_not_start_an_agent_unconfined() {
    let problem = |file: &str, json: serde_json::Value| {
        let request = AgentSelection {
            name: "claude".into(),
            options: options(json),
            environment: map(&[("HOME", "/home/me")]),
            ..AgentSelection::default()
        };
        let (settings, problems) = settings::parse(file);
        assert_eq!(problems.len(), 1);
        resolve(request, settings, Path::new("/"), Path::new("/opt/rat-nvim")).problem.unwrap()
    };
    let none = serde_json::json!({});
    let entry = r#"{"agent_servers": {"claude": {"confine": "write", "args": 7}}}"#;
    let expected = "agent_servers.claude.args (line 1, column 59): expected a list, got an integer";
    assert_eq!(problem(entry, none.clone()), expected);
    let broken = r#"{"agent_servers": {"claude": {"confine": "write",}}}"#;
    assert_eq!(problem(broken, none.clone()), "line 1, column 50: trailing comma");
    for file in [
        entry,
        broken,
        r#"{"agent_servers": {"claude": {"confne": "write"}}}"#,
        r#"{"agent_servers": {"claude": {"args": 7}}}"#,
        r#"{"agent_servers": {"claude": {"confine": false, "args": 7}}}"#,
        r#"{"agent_servers": {"claude": {"args": ["x"],}}}"#,
    ] {
        problem(file, none.clone());
        problem(file, serde_json::json!({"command": "x", "confine": false}));
    }
}
