//! Tests of `config::settings`.

use super::*;

/// Holds (Configuration): What is wrong in the settings file is reported with its place, and the rest counts.
#[test]
fn a_file_in_the_format_of_other_clients_is_read_without_its_invalid_entries() {
    let text = r#"{
        "$schema": "https://example.com/schema.json",
        "agent_servers": {
            "mine": {"type": "custom", "command": "my-agent", "args": ["acp"], "env": {"A": "b", "B": null}, "cwd": null},
            "bad": {"command": 7},
            "worse": {"env": {"A": ["b"]}},
            "worst": {"env": "A=b"},
            "none": 5,
            "absent": null,
            "listed": ["sh"],
            "timed": {"timeouts": [5]},
            "early": {"timeouts": {"request": -1}}
        },
        "mcp_servers": {"docs": {"url": "http://localhost:1/mcp"}}
    }"#;
    let (settings, problems) = parse(text);
    let mine = &settings.agents["mine"];
    assert_eq!(mine.command.as_deref(), Some("my-agent"));
    assert_eq!(mine.args, Some(vec!["acp".to_owned()]));
    assert_eq!(mine.env["A"], "b");
    assert_eq!(settings.agents.len(), 1, "invalid entries are skipped");
    assert_eq!(settings.mcp_servers["docs"].url.as_deref(), Some("http://localhost:1/mcp"));
    let expected = [
        "line 5, column 32: agent_servers.bad.command: expected a string, got an integer",
        "line 6, column 36: agent_servers.worse.env.A: expected a string, got a list",
        "line 7, column 30: agent_servers.worst.env: expected an object, got text",
        "line 8, column 21: agent_servers.none: expected an object, got an integer",
        "line 10, column 23: agent_servers.listed: expected an object, got a list",
        "line 11, column 35: agent_servers.timed.timeouts: expected an object, got a list",
        "line 12, column 47: agent_servers.early.timeouts.request: expected a whole number of at least 0, got an integer",
    ];
    assert_eq!(problems, expected);
}

/// What is wrong with the keys of files that are otherwise right, and of which agents it says that they are not started: those
/// named, or all of them.
const KEYS: [(&str, &str, &[&str]); 17] = [
    (
        r#"{"agent_servers": {"claude": {"confne": "write"}, "b": {"command": "x"}}}"#,
        "line 1, column 31: agent_servers.claude.confne: unknown key, did you mean confine?",
        &["claude"],
    ),
    (
        r#"{"agent_servrs": {"claude": {"confine": "write"}}}"#,
        "line 1, column 2: agent_servrs: unknown key, did you mean agent_servers?",
        ALL,
    ),
    (
        "{\n  \"theme\": \"One Dark\"}",
        "line 2, column 3: theme: unknown key, the settings file can have agent_servers, mcp_servers, $schema",
        ALL,
    ),
    (
        r#"{"confine": "write", "agent_servers": {"claude": {}}}"#,
        "line 1, column 2: confine: unknown key, the settings file can have agent_servers, mcp_servers, $schema",
        ALL,
    ),
    (
        r#"{"agent_servers": {"claude": {}, "confine": "write"}}"#,
        "line 1, column 34: agent_servers.confine: this key cannot stand among the agents",
        ALL,
    ),
    (
        r#"{"agent_servers": {"claude": {"confine": false, "confine": "write", "confine": false}}}"#,
        "line 1, column 49: agent_servers.claude.confine: is there twice\n\
         line 1, column 69: agent_servers.claude.confine: is there twice",
        &["claude"],
    ),
    (
        r#"{"agent_servers": {"claude": {}}, "agent_servers": {}}"#,
        "line 1, column 35: agent_servers: is there twice",
        ALL,
    ),
    (
        r#"{"agent_servers": {"cluade": {"confine": "write"}, "gemini": {}}}"#,
        "line 1, column 20: agent_servers.cluade: no agent is known by this name, did you mean claude? If not, set command",
        &["claude"],
    ),
    (
        r#"{"agent_servers": {"a": {"command": "x", "env_from": {"K": ["x"]}, "editor_tools": false}}}"#,
        "line 1, column 42: agent_servers.a.env_from: only setup() reads this option; set it there\n\
         line 1, column 68: agent_servers.a.editor_tools: only setup() reads this option; set it there",
        &["a"],
    ),
    (
        r#"{"agent_servers": {"a": {"command": "x", "env": {"confine": "write"}}}}"#,
        "line 1, column 50: agent_servers.a.env.confine: this key cannot stand among names that you choose",
        &["a"],
    ),
    (
        r#"{"agent_servers": {"a": {"command": "x", "confine": {"wirte": ["/tmp"]}}}}"#,
        "line 1, column 54: agent_servers.a.confine.wirte: unknown key, did you mean write?",
        &["a"],
    ),
    (
        r#"{"agent_servers": {"a": {"command": "x", "confine": {"net": [70000]}}}}"#,
        "line 1, column 61: agent_servers.a.confine.net: [70000]; it can be a list of TCP ports",
        &["a"],
    ),
    (
        r#"{"agent_servers": {"a": {"command": "x", "confine": true}}}"#,
        "line 1, column 53: agent_servers.a.confine: true; it can be false, \"write\" or a table with write, hide and net",
        &["a"],
    ),
    (
        r#"{"agent_servers": {"a": {"command": "x", "type": 7, "mcp_servers": {"m": {"commnd": "x"}}}}}"#,
        "line 1, column 50: agent_servers.a.type: expected a string, got a number\n\
         line 1, column 75: agent_servers.a.mcp_servers.m.commnd: unknown key, did you mean command?",
        &["a"],
    ),
    (
        r#"{"mcp_servers": {"m": {"command": "x", "agrs": ["-v"]}, "n": {"command": "y"}}}"#,
        "line 1, column 40: mcp_servers.m.agrs: unknown key, did you mean args?",
        &[],
    ),
    (
        r#"{"mcp_servers": [{"name": "m", "command": "x", "nmae": "n"}, {"name": "n", "command": "y"}]}"#,
        "line 1, column 48: mcp_servers[0].nmae: unknown key, did you mean name?",
        &[],
    ),
    (
        r#"{"agent_servers": {"claude": {}}, "mcp_servers": {"m": {"command": "x", "confine": "write"}}}"#,
        "line 1, column 73: mcp_servers.m.confine: unknown key, an MCP server can have type, command, args, env, url, headers",
        ALL,
    ),
];

/// Stands for all agents.
const ALL: &[&str] = &["claude", "a", "any", "gemini"];

/// Holds (Configuration): A key of the settings file that is misspelt, in another place or there twice is named with its line and column, and no agent is started that would be less strict.
#[test]
fn a_key_that_cannot_stand_where_it_is_starts_nothing_less_strict() {
    for (text, expected, refused) in KEYS {
        let (settings, problems) = parse(text);
        assert_eq!(problems.join("\n"), expected, "{text}");
        for name in ["claude", "a", "any", "gemini", TOUR] {
            let problem = settings.problem_of(name);
            assert_eq!(problem.is_some(), refused.contains(&name), "{name}: {problem:?} {text}");
        }
        assert!(refused == ALL || !settings.mcp_servers.contains_key("m"), "{text}");
    }
    let (settings, _) = parse(KEYS[15].0);
    assert!(settings.mcp_servers.contains_key("n"), "the rest counts");
}

/// Holds (Configuration): What is wrong in the settings file is reported with its place, and the rest counts.
#[test]
fn malformed_json_is_reported_with_line_and_column() {
    let (settings, problems) = parse("{\n  \"agent_servers\": {\n    \"a\": nope\n  }\n}");
    assert_eq!(problems, ["line 3, column 11: expected ident"]);
    assert_eq!(settings.problem_of("any").as_ref(), problems.first());
    assert_eq!(settings.problem_of(TOUR), None, "there is always one to try");
    assert_eq!(Settings { unreliable: None, ..settings }, Settings::default());
    assert_eq!(parse("\u{feff}{}"), parse("{}"), "a byte order mark is no error");
    for text in ["", "[", "{", "{\"a\"", "7", "\"x\"", "null"] {
        assert_eq!(parse(text).1.len(), 1, "{text}");
        assert!(parse(text).0.unreliable.is_some(), "{text}");
    }
}

#[test]
fn mcp_servers_are_a_list_with_names_or_an_object() {
    let list =
        r#"{"mcp_servers": [{"name": "docs", "command": "x", "args": ["-v"], "env": {"A": "b"}}]}"#;
    let map = r#"{"mcp_servers": {"docs": {"command": "x", "args": ["-v"], "env": {"A": "b"}}}}"#;
    let without_text = |text| Settings { text: "".into(), ..parse(text).0 };
    assert_eq!(without_text(list), without_text(map));
    let (settings, problems) = parse(list);
    assert_eq!(settings.mcp_servers["docs"].command.as_deref(), Some("x"));
    assert_eq!(problems, [""; 0]);
    let empty = r#"{"mcp_servers": [], "agent_servers": {}}"#;
    assert_eq!((without_text(empty), parse(empty).1), Default::default());
}

/// Texts of settings files, and what is wrong in each.
const MALFORMED: [(&str, &str); 34] = [
    (" \n", "the file is empty"),
    ("{", "line 1, column 1: EOF while parsing an object"),
    ("{\n\"agent_servers\": {,}}", "line 2, column 19: key must be a string"),
    ("{\n  // mine\n}", "line 2, column 3: key must be a string"),
    ("{'a': 1}", "line 1, column 2: key must be a string"),
    ("{\"a\": 1,}", "line 1, column 9: trailing comma"),
    ("{\"a\": 1}}", "line 1, column 9: trailing characters"),
    ("{\"a\": nope}", "line 1, column 8: expected ident"),
    (
        "{\"a\": \"\n\"}",
        "line 2, column 0: control character (\\u0000-\\u001F) found while parsing a string",
    ),
    ("{\"a\": \"\\x\"}", "line 1, column 9: invalid escape"),
    ("{\"a\": 01}", "line 1, column 8: invalid number"),
    ("[]", "line 1, column 1: expected an object"),
    ("null", "line 1, column 1: expected an object"),
    (
        r#"{"agent_servers": 7}"#,
        "line 1, column 19: agent_servers: expected an object with names as keys",
    ),
    (
        r#"{"agent_servers": [{"name": "a"}]}"#,
        "line 1, column 19: agent_servers: expected an object with names as keys",
    ),
    (
        r#"{"agent_servers": {"a": "sh"}}"#,
        "line 1, column 25: agent_servers.a: expected an object, got text",
    ),
    (
        r#"{"agent_servers": {"a": {"command": ["sh"]}}}"#,
        "line 1, column 37: agent_servers.a.command: expected a string, got a list",
    ),
    (
        r#"{"agent_servers": {"a": {"args": "x"}}}"#,
        "line 1, column 34: agent_servers.a.args: expected a list, got text",
    ),
    (
        r#"{"agent_servers": {"a": {"args": ["x", 7]}}}"#,
        "line 1, column 40: agent_servers.a.args[1]: expected a string, got an integer",
    ),
    (
        r#"{"agent_servers": {"a": {"env": ["A=b"]}}}"#,
        "line 1, column 33: agent_servers.a.env: expected an object, got a list",
    ),
    (
        r#"{"agent_servers": {"a": {"env": {"A": true}}}}"#,
        "line 1, column 39: agent_servers.a.env.A: expected a string, got a boolean",
    ),
    (
        r#"{"agent_servers": {"a": {"env": {"A": 1.5}}}}"#,
        "line 1, column 39: agent_servers.a.env.A: expected a string, got a number",
    ),
    (
        r#"{"agent_servers": {"a": {"capabilities": {"write": "no"}}}}"#,
        "line 1, column 52: agent_servers.a.capabilities.write: expected a boolean, got text",
    ),
    (
        r#"{"agent_servers": {"a": {"timeouts": {"request": "1s"}}}}"#,
        "line 1, column 50: agent_servers.a.timeouts.request: expected a whole number of at least 0, got text",
    ),
    (
        r#"{"agent_servers": {"a": {"mcp_servers": {"m": {"args": 1}}}}}"#,
        "line 1, column 56: agent_servers.a.mcp_servers.m.args: expected a list, got an integer",
    ),
    (
        r#"{"mcp_servers": "x"}"#,
        "line 1, column 17: mcp_servers: expected an object with names as keys",
    ),
    (
        r#"{"mcp_servers": ["x"]}"#,
        "line 1, column 18: mcp_servers[0]: expected an object, got text",
    ),
    (
        r#"{"mcp_servers": [[1]]}"#,
        "line 1, column 18: mcp_servers[0]: expected an object, got a list",
    ),
    (
        r#"{"mcp_servers": [{"command": "x"}]}"#,
        "line 1, column 18: mcp_servers[0]: expected a `name`",
    ),
    (
        r#"{"mcp_servers": [{"name": 7}]}"#,
        "line 1, column 18: mcp_servers[0]: expected a string as its `name`",
    ),
    (
        r#"{"mcp_servers": [{"name": "a"}, {"name": "a"}]}"#,
        "line 1, column 33: mcp_servers[1]: a second entry is named \"a\"",
    ),
    (
        "{\"mcp_servers\": [\n  {\"name\": \"a\", \"args\": {}}\n]}",
        "line 2, column 25: mcp_servers.a.args: expected a list, got an object",
    ),
    (
        r#"{"mcp_servers": [{"name": "a", "env": {"A": null, "B": 1}}]}"#,
        "line 1, column 56: mcp_servers.a.env.B: expected a string, got an integer",
    ),
    (
        r#"{"mcp_servers": {"a": {"headers": {"A": []}}}}"#,
        "line 1, column 41: mcp_servers.a.headers.A: expected a string, got a list",
    ),
];

/// Holds (Configuration): What is wrong in the settings file is reported with its line and column, in the format of this plugin and in that of others.
#[test]
fn whatever_is_wrong_is_reported_once_with_its_place() {
    for (text, problem) in MALFORMED {
        assert_eq!(parse(text).1, [problem], "{text}");
    }
}

#[test]
fn a_missing_file_is_no_problem() {
    assert_eq!(load(Path::new("/no/such/file")), Default::default());
    assert_eq!(load(Path::new("/dev/null/no/folder")), Default::default());
    let (settings, problems) = load(Path::new("/dev"));
    assert_eq!(problems, ["not a regular file"]);
    assert_eq!(settings.problem_of("any").unwrap(), "dev: not a regular file");
}
