//! The settings file: JSON with `agent_servers` and `mcp_servers`, in the format of other ACP clients. Only a file in the
//! user's own configuration is read, since a file in a project must not be able to start programs.

mod place;

use self::place::Step;
use super::options::{AgentOptions, McpServerOptions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// The largest settings file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The section of agents.
const AGENT_SERVERS: &str = "agent_servers";

/// The key that confines an agent.
const CONFINE: &str = "confine";

/// The section of MCP servers, which some clients write as a list.
const MCP_SERVERS: &str = "mcp_servers";

/// The contents of a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Agents by name.
    pub agents: BTreeMap<String, AgentOptions>,
    /// MCP servers for all agents, by name.
    pub mcp_servers: BTreeMap<String, McpServerOptions>,
    /// Agents whose entry is invalid, by name.
    pub invalid_agents: BTreeMap<String, InvalidAgent>,
    /// Whether the file cannot be parsed and may have confined agents.
    pub may_confine: bool,
    /// The agent that stands first in the file.
    pub first_agent: Option<String>,
    /// The name of the file; empty if there is none.
    pub file: String,
    text: Arc<str>,
}

/// An agent whose entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAgent {
    /// What is wrong with the entry.
    pub problem: String,
    /// Whether it would confine the agent.
    pub is_confined: bool,
}

impl Settings {
    /// Returns the lines of the settings of an agent, by key, and that of its entry, whose key is empty.
    pub fn lines_of(&self, agent: &str) -> BTreeMap<String, usize> {
        let entry = [Step::Key(AGENT_SERVERS.to_owned()), Step::Key(agent.to_owned())];
        place::keys(&self.text, &entry)
    }
}

/// Reads a settings file. It blocks. A missing file counts as empty. Invalid entries are skipped; the second result has one
/// line for each, with its location.
pub fn load(path: &Path) -> (Settings, Vec<String>) {
    match read(path) {
        Ok(Some(text)) => {
            let (settings, problems) = parse(&text);
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = text.trim_start_matches('\u{feff}').into();
            (Settings { file, text, ..settings }, problems)
        }
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
    let mut may_confine = false;
    let mut file = match serde_json::from_str(text) {
        Ok(Value::Object(file)) => file,
        Ok(_) => {
            problems.push("line 1, column 1: expected an object".to_owned());
            Map::new()
        }
        Err(_) if text.trim().is_empty() => {
            problems.push("the file is empty".to_owned());
            Map::new()
        }
        Err(error) => {
            problems.push(syntax_problem(&error));
            may_confine = text.contains(CONFINE);
            Map::new()
        }
    };
    let first_agent = file.get(AGENT_SERVERS).and_then(Value::as_object);
    let first_agent = first_agent.and_then(|agents| agents.keys().next().cloned());
    let mut agents = Section::new(AGENT_SERVERS);
    agents.read(&mut file);
    let mut servers = Section::new(MCP_SERVERS);
    servers.read(&mut file);
    problems.extend(agents.problems(text).chain(servers.problems(text)));
    let invalid_agents = agents.problems_by_name();
    let (agents, mcp_servers) = (agents.valid, servers.valid);
    let settings =
        Settings { agents, mcp_servers, invalid_agents, may_confine, ..Settings::default() };
    (Settings { first_agent, ..settings }, problems)
}

/// Puts the location first, as in "line 3, column 10: expected ident".
fn syntax_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&place).unwrap_or(&text);
    format!("line {}, column {}: {reason}", error.line(), error.column())
}

/// A part of the file that has entries with names.
struct Section<T> {
    key: &'static str,
    valid: BTreeMap<String, T>,
    invalid: Vec<Problem>,
}

/// What is wrong with an entry.
struct Problem {
    /// `None` for the section as a whole.
    entry: Option<String>,
    path: Vec<Step>,
    what: String,
    /// Whether the entry would confine an agent.
    is_confined: bool,
}

impl Problem {
    fn new(entry: Option<&str>, path: Vec<Step>, what: impl Into<String>) -> Self {
        Self { entry: entry.map(str::to_owned), path, what: what.into(), is_confined: false }
    }

    /// Describes it by the path to the value.
    fn describe(&self) -> String {
        let mut keys = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if keys.is_empty() => keys.push_str(key),
                Step::Key(key) => keys.extend([".", key]),
                Step::Index(index) => keys.extend(["[", &index.to_string(), "]"]),
            }
        }
        format!("{keys}: {}", self.what)
    }
}

impl<T: DeserializeOwned> Section<T> {
    fn new(key: &'static str) -> Self {
        Self { key, valid: BTreeMap::new(), invalid: Vec::new() }
    }

    /// The problems, each with its place in the text of the file.
    fn problems(&self, text: &str) -> impl Iterator<Item = String> {
        let describe = |it: &Problem| format!("{}: {}", place::of(text, &it.path), it.describe());
        self.invalid.iter().map(describe)
    }

    fn problems_by_name(&self) -> BTreeMap<String, InvalidAgent> {
        let named = |it: &Problem| {
            let (problem, is_confined) = (it.describe(), it.is_confined);
            Some((it.entry.clone()?, InvalidAgent { problem, is_confined }))
        };
        self.invalid.iter().filter_map(named).collect()
    }

    /// Takes the section out of the file.
    fn read(&mut self, file: &mut Map<String, Value>) {
        let path = vec![Step::Key(self.key.to_owned())];
        match file.remove(self.key) {
            None | Some(Value::Null) => {}
            Some(Value::Object(entries)) => {
                for (name, entry) in entries {
                    self.read_entry(name, entry);
                }
            }
            // Some tools, such as Lua libraries, write an empty object as a list.
            Some(Value::Array(entries)) if entries.is_empty() => {}
            Some(Value::Array(entries)) if self.key == MCP_SERVERS => self.read_list(entries),
            Some(_) => {
                let what = "expected an object with names as keys";
                self.invalid.push(Problem::new(None, path, what));
            }
        }
    }

    /// Reads a list whose items have a `name`.
    fn read_list(&mut self, entries: Vec<Value>) {
        for (index, mut entry) in entries.into_iter().enumerate() {
            let path = vec![Step::Key(self.key.to_owned()), Step::Index(index)];
            let what = match entry.as_object_mut().and_then(|entry| entry.remove("name")) {
                Some(Value::String(name)) if self.valid.contains_key(&name) => {
                    format!("a second entry is named {name:?}")
                }
                Some(Value::String(name)) => {
                    self.read_entry(name, entry);
                    continue;
                }
                Some(_) => "expected a string as its `name`".to_owned(),
                None if entry.is_object() => "expected a `name`".to_owned(),
                None => format!("expected an object, got {}", type_of(&entry)),
            };
            self.invalid.push(Problem::new(None, path, what));
        }
    }

    fn read_entry(&mut self, name: String, entry: Value) {
        if entry.is_null() {
            return;
        }
        let entry = without_nulls(entry);
        let is_confined = entry.get(CONFINE).is_some_and(|value| *value != Value::Bool(false));
        let mut path = vec![Step::Key(self.key.to_owned()), Step::Key(name.clone())];
        if let Some(more) = misplaced_list(&entry) {
            path.extend(more);
            let what = "expected an object, got a list";
            let problem = Problem::new(Some(&name), path, what);
            return self.invalid.push(Problem { is_confined, ..problem });
        }
        match serde_path_to_error::deserialize(entry) {
            Ok(entry) => {
                self.valid.insert(name, entry);
            }
            Err(error) => {
                path.extend(error.path().iter().filter_map(|segment| match segment {
                    Segment::Map { key } => Some(Step::Key(key.clone())),
                    Segment::Seq { index } => Some(Step::Index(*index)),
                    Segment::Enum { .. } | Segment::Unknown => None,
                }));
                let what = without_value(&error.inner().to_string());
                let problem = Problem::new(Some(&name), path, what);
                self.invalid.push(Problem { is_confined, ..problem });
            }
        }
    }
}

/// Returns the path of a list that stands where an object belongs. Serde would take its items for the object's fields.
fn misplaced_list(entry: &Value) -> Option<Vec<Step>> {
    let is_list = |value: &Value| value.as_array().is_some_and(|items| !items.is_empty());
    let key = |name: &str| Step::Key(name.to_owned());
    if is_list(entry) {
        return Some(Vec::new());
    }
    for name in ["timeouts", "capabilities"] {
        if is_list(&entry[name]) {
            return Some(vec![key(name)]);
        }
    }
    let mut servers = entry["mcp_servers"].as_object().into_iter().flatten();
    let (name, _) = servers.find(|(_, server)| is_list(server))?;
    Some(vec![key("mcp_servers"), key(name)])
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
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
mod tests;
