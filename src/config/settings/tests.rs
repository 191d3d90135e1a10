//! Tests of `config::settings`.

use super::*;

/// Holds (Configuration): What is wrong in the settings file is reported with its place, and the rest counts.
#[test]
fn a_file_in_the_format_of_other_clients_is_read_without_its_invalid_entries() {
    let text = r#"{
        "theme": "One Dark",
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

/// Holds (Configuration): What is wrong in the settings file is reported with its place, and the rest counts.
#[test]
fn malformed_json_is_reported_with_line_and_column() {
    let (settings, problems) = parse("{\n  \"agent_servers\": {\n    \"a\": nope\n  }\n}");
    assert_eq!(settings, Settings::default());
    assert_eq!(problems, ["line 3, column 11: expected ident"]);
    assert_eq!(parse("\u{feff}{}"), Default::default(), "a byte order mark is no error");
    for text in ["", "[", "{", "{\"a\"", "7", "\"x\"", "null"] {
        assert_eq!(parse(text).1.len(), 1, "{text}");
    }
}

#[test]
fn mcp_servers_are_a_list_with_names_or_an_object() {
    let list =
        r#"{"mcp_servers": [{"name": "docs", "command": "x", "args": ["-v"], "env": {"A": "b"}}]}"#;
    let map = r#"{"mcp_servers": {"docs": {"command": "x", "args": ["-v"], "env": {"A": "b"}}}}"#;
    assert_eq!(parse(list), parse(map));
    let (settings, problems) = parse(list);
    assert_eq!(settings.mcp_servers["docs"].command.as_deref(), Some("x"));
    assert_eq!(problems, [""; 0]);
    assert_eq!(parse(r#"{"mcp_servers": [], "agent_servers": {}}"#), Default::default());
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
    assert_eq!(load(Path::new("/")).1.len(), 1);
}
