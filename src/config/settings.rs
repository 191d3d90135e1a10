//! The settings file: JSON with `agent_servers` and `mcp_servers`, in the format of other ACP clients. Only a file in the
//! user's own configuration is read, since a file in a project must not be able to start programs.

use super::options::{AgentOptions, McpServerOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// The largest settings file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The contents of a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Agents by name.
    pub agents: BTreeMap<String, AgentOptions>,
    /// MCP servers for all agents, by name.
    pub mcp_servers: BTreeMap<String, McpServerOptions>,
    /// The problems of agents whose entry is invalid, by name.
    pub invalid_agents: BTreeMap<String, String>,
    /// The agent that stands first in the file.
    pub first_agent: Option<String>,
}

/// Reads a settings file. It blocks. A missing file counts as empty. Invalid entries are skipped; the second result has one
/// line for each, with its location.
pub fn load(path: &Path) -> (Settings, Vec<String>) {
    match read(path) {
        Ok(Some(text)) => parse(&text),
        Ok(None) => Default::default(),
        Err(problem) => (Settings::default(), vec![problem]),
    }
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let metadata = match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| error.to_string())?,
    };
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > MAX_BYTES {
        return Err(format!("larger than {} KiB", MAX_BYTES / 1024));
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| error.to_string())
}

/// Parses the text of a settings file, like [`load`]. Unknown keys are ignored, since they belong to other clients.
pub fn parse(text: &str) -> (Settings, Vec<String>) {
    let mut problems = Vec::new();
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut file = match serde_json::from_str(text) {
        Ok(Value::Object(file)) => file,
        Ok(_) => {
            problems.push("line 1, column 1: expected an object".to_owned());
            Map::new()
        }
        Err(error) => {
            problems.push(syntax_problem(&error));
            Map::new()
        }
    };
    let first_agent = file.get("agent_servers").and_then(Value::as_object);
    let first_agent = first_agent.and_then(|agents| agents.keys().next().cloned());
    let (agents, invalid_agents) = section(&mut file, "agent_servers", &mut problems);
    let (mcp_servers, invalid_servers) = section(&mut file, "mcp_servers", &mut problems);
    problems.extend(invalid_agents.values().chain(invalid_servers.values()).cloned());
    (Settings { agents, mcp_servers, invalid_agents, first_agent }, problems)
}

/// Puts the location first, as in "line 3, column 10: expected ident".
fn syntax_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&place).unwrap_or(&text);
    format!("line {}, column {}: {reason}", error.line(), error.column())
}

/// Removes a section from `file`. Returns its valid entries, and the problems of the others, by name.
fn section<T: DeserializeOwned>(
    file: &mut Map<String, Value>,
    key: &str,
    problems: &mut Vec<String>,
) -> (BTreeMap<String, T>, BTreeMap<String, String>) {
    let entries = match file.remove(key) {
        None | Some(Value::Null) => return Default::default(),
        // Some tools, such as Lua libraries, write an empty object as a list.
        Some(Value::Array(entries)) if entries.is_empty() => return Default::default(),
        Some(Value::Object(entries)) => entries,
        Some(_) => {
            problems.push(format!("{key}: expected an object with names as keys"));
            return Default::default();
        }
    };
    let (mut valid, mut invalid) = (BTreeMap::new(), BTreeMap::new());
    for (name, entry) in entries {
        if entry.is_null() {
            continue;
        }
        let entry = without_nulls(entry);
        if let Some(path) = misplaced_list(&entry) {
            let problem = format!("{key}.{name}{path}: expected an object, got a list");
            invalid.insert(name, problem);
            continue;
        }
        match serde_path_to_error::deserialize(entry) {
            Ok(entry) => {
                valid.insert(name, entry);
            }
            Err(error) => {
                let path = error.path().to_string();
                let path = if path == "." { String::new() } else { format!(".{path}") };
                let problem = without_value(&error.inner().to_string());
                let problem = format!("{key}.{name}{path}: {problem}");
                invalid.insert(name, problem);
            }
        }
    }
    (valid, invalid)
}

/// Returns the path of a list that stands where an object belongs. Serde would take its items for the object's fields.
fn misplaced_list(entry: &Value) -> Option<String> {
    let is_list = |value: &Value| value.as_array().is_some_and(|items| !items.is_empty());
    if is_list(entry) {
        return Some(String::new());
    }
    if is_list(&entry["timeouts"]) {
        return Some(".timeouts".to_owned());
    }
    let mut servers = entry["mcp_servers"].as_object().into_iter().flatten();
    servers.find(|(_, server)| is_list(server)).map(|(name, _)| format!(".mcp_servers.{name}"))
}

/// Rewrites serde's message about a wrong type in terms of JSON and without the value, which may be a secret.
fn without_value(error: &str) -> String {
    let Some((found, expected)) = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| error.strip_prefix(start)?.rsplit_once(", expected "))
    else {
        return error.to_owned();
    };
    let found = match found.split([' ', ',']).next().unwrap_or_default() {
        "sequence" => "a list",
        "map" => "an object",
        "string" => "text",
        "boolean" => "a boolean",
        "null" => "null",
        "integer" => "an integer",
        _ => "a number",
    };
    let expected = match expected {
        "a table" => "an object",
        "a sequence" => "a list",
        "u64" => "a whole number of at least 0",
        other => other,
    };
    format!("expected {expected}, got {found}")
}

/// Removes everything that is `null`: it leaves its option unset.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, field)| !field.is_null());
            fields.map(|(name, field)| (name, without_nulls(field))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
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
            "agent_servers.bad.command: expected a string, got an integer",
            "agent_servers.early.timeouts.request: expected a whole number of at least 0, got an integer",
            "agent_servers.listed: expected an object, got a list",
            "agent_servers.none: expected an object, got an integer",
            "agent_servers.timed.timeouts: expected an object, got a list",
            "agent_servers.worse.env.A: expected a string, got a list",
            "agent_servers.worst.env: expected an object, got text",
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
    fn a_list_of_servers_without_names_is_reported() {
        let (_, problems) = parse(r#"{"mcp_servers": [{"name": "docs", "command": "x"}]}"#);
        assert_eq!(problems, ["mcp_servers: expected an object with names as keys"]);
        assert_eq!(parse(r#"{"mcp_servers": [], "agent_servers": {}}"#), Default::default());
    }

    #[test]
    fn a_missing_file_is_no_problem() {
        assert_eq!(load(Path::new("/no/such/file")), Default::default());
        assert_eq!(load(Path::new("/")).1.len(), 1);
    }
}
