//! The settings file: JSON with `agent_servers` and `mcp_servers`, in the format of other ACP clients. Only a file in the
//! user's own configuration is read, since a file in a project must not be able to start programs.

mod closest;
mod keys;
mod place;
mod problem;

use self::place::{Place, Step};
use self::problem::{Owner, Problem};
use super::confine::wrong_form;
use super::options::{AgentOptions, McpServerOptions};
use super::presets::TOUR;
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
    /// What is wrong with agents whose entry cannot be used, by name.
    pub invalid_agents: BTreeMap<String, Problem>,
    /// Why nothing in the file can be relied on: it may have said something about any agent.
    pub unreliable: Option<String>,
    /// The agent that stands first in the file.
    pub first_agent: Option<String>,
    /// The name of the file; empty if there is none.
    pub file: String,
    text: Arc<str>,
}

impl Settings {
    /// Returns the lines of the settings of an agent, by key, and that of its entry, whose key is empty.
    pub fn lines_of(&self, agent: &str) -> BTreeMap<String, usize> {
        let entry = [Step::Key(AGENT_SERVERS.to_owned()), Step::Key(agent.to_owned())];
        place::keys(&self.text, &entry)
    }

    /// Returns why an agent cannot be started as it was written: its entry is wrong, or the file as a whole.
    pub fn problem_of(&self, agent: &str) -> Option<String> {
        let own = self.invalid_agents.get(agent).map(|problem| problem.in_file(&self.file));
        own.or_else(|| self.unreliable.clone().filter(|_| agent != TOUR))
    }
}

/// Reads a settings file. It blocks. A missing file counts as empty. Invalid entries are skipped; the second result has one
/// line for each thing that is wrong, with its location.
pub fn load(path: &Path) -> (Settings, Vec<String>) {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match read(path) {
        Ok(Some(text)) => parse_file(file, &text),
        Ok(None) => Default::default(),
        Err(problem) => {
            let unreliable = Some(format!("{file}: {problem}"));
            (Settings { unreliable, file, ..Settings::default() }, vec![problem])
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let metadata = match path.metadata() {
        Err(error) if is_missing(&error) && !path.is_symlink() => return Ok(None),
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

fn is_missing(error: &std::io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind())
}

/// Parses the text of a settings file without a name, like [`load`].
#[cfg(test)]
pub fn parse(text: &str) -> (Settings, Vec<String>) {
    parse_file(String::new(), text)
}

fn parse_file(file: String, text: &str) -> (Settings, Vec<String>) {
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut content, problem) = match serde_json::from_str(text) {
        Ok(Value::Object(content)) => (content, None),
        Ok(_) => (Map::new(), Some("line 1, column 1: expected an object".to_owned())),
        Err(_) if text.trim().is_empty() => (Map::new(), Some("the file is empty".to_owned())),
        Err(error) => (Map::new(), Some(syntax_problem(&error))),
    };
    if let Some(problem) = problem {
        let comma = if file.is_empty() { "" } else { ": " };
        let unreliable = Some(format!("{file}{comma}{problem}"));
        return (Settings { unreliable, file, ..Settings::default() }, vec![problem]);
    }
    let first_agent = content.get(AGENT_SERVERS).and_then(Value::as_object);
    let first_agent = first_agent.and_then(|agents| agents.keys().next().cloned());
    let mut agents = Section::new(AGENT_SERVERS, text);
    agents.read(&mut content);
    let mut servers = Section::new(MCP_SERVERS, text);
    servers.read(&mut content);
    let mut problems = keys::check(text);
    let of_values = agents.problems.drain(..).chain(servers.problems.drain(..));
    let more = of_values.filter(|it| !problems.iter().any(|known| known.is_about_same(it)));
    problems = more.collect::<Vec<_>>().into_iter().chain(problems).collect();
    problems.sort();
    let mut invalid_agents = BTreeMap::new();
    for problem in &problems {
        match &problem.owner {
            Owner::File => {}
            Owner::Agent(name) => {
                invalid_agents.entry(name.clone()).or_insert_with(|| problem.clone());
                agents.valid.remove(name);
            }
            Owner::Server(name) => {
                servers.valid.remove(name);
            }
        }
    }
    let unreliable = problems.iter().find(|problem| problem.owner == Owner::File);
    let settings = Settings {
        agents: agents.valid,
        mcp_servers: servers.valid,
        invalid_agents,
        unreliable: unreliable.map(|problem| problem.in_file(&file)),
        first_agent,
        file,
        text: text.into(),
    };
    (settings, problems.iter().map(Problem::after_file).collect())
}

/// Puts the location first, as in "line 3, column 10: expected ident".
fn syntax_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&place).unwrap_or(&text);
    format!("line {}, column {}: {reason}", error.line(), error.column())
}

/// A part of the file that has entries with names.
struct Section<'a, T> {
    key: &'static str,
    text: &'a str,
    valid: BTreeMap<String, T>,
    problems: Vec<Problem>,
}

impl<'a, T: DeserializeOwned> Section<'a, T> {
    fn new(key: &'static str, text: &'a str) -> Self {
        Self { key, text, valid: BTreeMap::new(), problems: Vec::new() }
    }

    /// Reports something about an entry, or about the section.
    fn report(&mut self, entry: Option<&str>, path: &[Step], what: impl Into<String>) {
        let owner = match entry {
            _ if self.key == MCP_SERVERS => Owner::Server(entry.unwrap_or_default().to_owned()),
            Some(entry) => Owner::Agent(entry.to_owned()),
            None => Owner::File,
        };
        let place: Place = place::of(self.text, path);
        self.problems.push(Problem::new(owner, place, path, what));
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
                self.report(None, &path, "expected an object with names as keys");
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
            self.report(None, &path, what);
        }
    }

    fn read_entry(&mut self, name: String, entry: Value) {
        if entry.is_null() {
            return;
        }
        let entry = without_nulls(entry);
        let mut path = vec![Step::Key(self.key.to_owned()), Step::Key(name.clone())];
        if let Some(more) = misplaced_list(&entry) {
            path.extend(more);
            return self.report(Some(&name), &path, "expected an object, got a list");
        }
        let confine = entry.get(CONFINE).filter(|_| self.key == AGENT_SERVERS);
        if let Some(wrong) = confine.and_then(wrong_form) {
            let key = wrong.key.as_str();
            path.push(Step::Key(CONFINE.to_owned()));
            path.extend(
                Some(key).filter(|key| !key.is_empty()).map(|key| Step::Key(key.to_owned())),
            );
            // Any other key is found where keys are checked.
            if key.is_empty() || keys::CONFINE_KEYS.contains(&key) {
                self.report(Some(&name), &path, wrong.what);
            }
            return;
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
                self.report(Some(&name), &path, what);
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
