//! Generated settings files: valid ones are read, and with one key misspelt, of a wrong type, in another place or there twice
//! they are refused by its name, in its place, and start nothing with less than what was written. `RAT_SEED` and `RAT_STEPS`
//! choose others.

use crate::support::{Dice, TempFolder};
use rat_nvim::config::resolve::{AgentSelection, resolve};
use rat_nvim::config::settings::{self, Settings};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::Path;

const SEED: u64 = 20_261_127;
const STEPS: usize = 600;

/// What may stand in a place: written down here once more, so that a mistake in the one list shows in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    Agents,
    Agent,
    Capabilities,
    Timeouts,
    Confinement,
    Servers,
    Server,
    ListedServer,
    Texts,
    Value,
}

const AGENT: &[&str] = &[
    "type",
    "command",
    "args",
    "url",
    "headers",
    "ca_file",
    "env",
    "cwd",
    "mcp_servers",
    "options",
    "auth_method",
    "install_hint",
    "paths",
    "shared",
    "dialect",
    "reconnect",
    "on_cancel_timeout",
    "confine",
    "capabilities",
    "timeouts",
];

impl Place {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::File => &["agent_servers", "mcp_servers", "$schema"],
            Self::Agent => AGENT,
            Self::Capabilities => &["read", "write", "terminal", "elicitation"],
            Self::Timeouts => &["initialize", "authenticate", "session", "request", "cancel"],
            Self::Confinement => &["write", "hide", "net"],
            Self::Server => &["type", "command", "args", "env", "url", "headers"],
            Self::ListedServer => &["type", "command", "args", "env", "url", "headers", "name"],
            Self::Agents | Self::Servers | Self::Texts | Self::Value => &[],
        }
    }

    fn at(self, key: &str) -> Self {
        match (self, key) {
            (Self::File, "agent_servers") => Self::Agents,
            (Self::File | Self::Agent, "mcp_servers") => Self::Servers,
            (Self::Agents, _) => Self::Agent,
            (Self::Servers, _) => Self::Server,
            (Self::Agent, "capabilities") => Self::Capabilities,
            (Self::Agent, "timeouts") => Self::Timeouts,
            (Self::Agent, "confine") => Self::Confinement,
            (Self::Agent | Self::Server | Self::ListedServer, "env" | "headers")
            | (Self::Agent, "options" | "paths") => Self::Texts,
            _ => Self::Value,
        }
    }
}

fn some<'a>(dice: &mut Dice, all: &[&'a str]) -> Vec<&'a str> {
    all.iter().copied().filter(|_| dice.once_in(2)).collect()
}

/// A text, or several.
fn text(dice: &mut Dice) -> Json {
    json!(*dice.pick(&["x", "a b", "ü", "\"", "confne", "{"]))
}

fn texts(dice: &mut Dice) -> Json {
    let names: &[&str] = &["A", "B_2", "ünï", "my key", "x.y"];
    some(dice, names).iter().map(|name| (*name, text(dice))).collect()
}

fn list(dice: &mut Dice) -> Json {
    (0..dice.within(0..3)).map(|_| text(dice)).collect()
}

/// A valid value of a key.
fn value(dice: &mut Dice, place: Place, key: &str) -> Json {
    match (place, key) {
        (Place::Confinement, "hide") if dice.once_in(2) => json!(true),
        (Place::Confinement, "net") => json!([443, 8080]),
        (Place::Confinement, _) => list(dice),
        (Place::Capabilities, _) | (_, "shared") => json!(dice.once_in(2)),
        (Place::Timeouts, _) => json!(dice.within(0..100_000)),
        (_, "args") => list(dice),
        (_, "env" | "headers" | "options" | "paths") => texts(dice),
        (_, "mcp_servers") => json!({"own": entry(dice, Place::Server)}),
        (_, "confine") if dice.once_in(3) => json!("write"),
        (_, "confine") if dice.once_in(3) => json!(false),
        (_, "confine") => entry(dice, Place::Confinement),
        (_, "capabilities") => entry(dice, Place::Capabilities),
        (_, "timeouts") => entry(dice, Place::Timeouts),
        _ => text(dice),
    }
}

fn entry(dice: &mut Dice, place: Place) -> Json {
    let keys = some(dice, place.keys());
    keys.iter().map(|key| (*key, value(dice, place, key))).collect()
}

/// A valid file. Agents of the user have a command, those that are known by name need none.
fn valid(dice: &mut Dice) -> Json {
    let mut agents = serde_json::Map::new();
    for name in ["claude", "mine", "gemini", "own one", "opencode"] {
        if dice.once_in(2) {
            let mut agent = entry(dice, Place::Agent);
            if name.contains(['m', ' ']) {
                agent["command"] = json!("x");
            }
            agents.insert(name.to_owned(), agent);
        }
    }
    let mut file = json!({"agent_servers": agents});
    if dice.once_in(2) {
        file["mcp_servers"] =
            json!({"docs": entry(dice, Place::Server), "web": entry(dice, Place::Server)});
    } else if dice.once_in(3) {
        let mut server = entry(dice, Place::ListedServer);
        server["name"] = json!("docs");
        file["mcp_servers"] = json!([server]);
    }
    file
}

/// A place of an object in a file: the keys that lead there, and what it is.
type Site = (Vec<String>, Place);

fn sites(value: &Json, path: &mut Vec<String>, place: Place, found: &mut Vec<Site>) {
    if let (Place::Servers, Some(items)) = (place, value.as_array()) {
        for (index, item) in items.iter().enumerate() {
            path.push(index.to_string());
            sites(item, path, Place::ListedServer, found);
            path.pop();
        }
    }
    let Some(fields) = value.as_object() else { return };
    found.push((path.clone(), place));
    for (key, field) in fields {
        path.push(key.clone());
        sites(field, path, place.at(key), found);
        path.pop();
    }
}

fn pointer(path: &[String]) -> String {
    let escaped = path.iter().map(|key| key.replace('~', "~0").replace('/', "~1"));
    escaped.map(|key| format!("/{key}")).collect()
}

fn object<'a>(file: &'a mut Json, path: &[String]) -> &'a mut serde_json::Map<String, Json> {
    file.pointer_mut(&pointer(path)).unwrap().as_object_mut().unwrap()
}

/// What was done to a file.
#[derive(Debug)]
struct Change {
    text: String,
    /// What the problem has to name.
    key: String,
    /// Where that has to stand: what the text has there.
    begins: Vec<String>,
    /// Agents that would start with less than what was written; `None` if that may be any.
    less: Option<Vec<String>>,
}

fn is_name_of_preset(key: &str) -> bool {
    ["claude", "gemini", "opencode"].contains(&key)
}

/// Keys with a meaning, each with its place.
fn keys(file: &Json) -> Vec<(Site, String)> {
    let mut found = Vec::new();
    sites(file, &mut Vec::new(), Place::File, &mut found);
    let with_keys = |site: Site| {
        let fields = file.pointer(&pointer(&site.0)).unwrap().as_object().unwrap();
        let keys: Vec<String> = fields
            .iter()
            .filter(|(key, value)| match site.1 {
                Place::Agents => {
                    is_name_of_preset(key)
                        && value.get("command").is_none()
                        && value.get("url").is_none()
                }
                place => place.keys().contains(&key.as_str()),
            })
            .map(|(key, _)| key.clone())
            .collect();
        keys.into_iter().map(move |key| (site.clone(), key))
    };
    found.into_iter().flat_map(with_keys).collect()
}

/// The agent that a place belongs to; `None` for what is said of all, and `Some` with nothing for an MCP server of all.
fn agents_at(path: &[String], key: &str) -> Option<Vec<String>> {
    match (path.first().map(String::as_str), path.get(1)) {
        (Some("agent_servers"), Some(name)) => Some(vec![name.clone()]),
        (Some("agent_servers"), None) => Some(vec![key.to_owned()]),
        (Some("mcp_servers"), Some(_)) => Some(Vec::new()),
        _ => None,
    }
}

fn misspelt(dice: &mut Dice, key: &str) -> String {
    let mut letters: Vec<char> = key.chars().collect();
    let at = dice.within(0..letters.len());
    match dice.within(0..5) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, letters[at]),
        2 if at > 0 => letters.swap(at - 1, at),
        3 => letters[at] = *dice.pick(&['x', 'q', '-']),
        _ => letters[at] = letters[at].to_ascii_uppercase(),
    }
    letters.into_iter().collect()
}

/// Misspells a key.
fn misspell(dice: &mut Dice, file: &Json) -> Option<Change> {
    let all = keys(file);
    let ((path, place), key) = dice.pick(&all).clone();
    let wrong = misspelt(dice, &key);
    if wrong == key
        || place.keys().contains(&&*wrong)
        || place == Place::ListedServer && key == "name"
    {
        return None;
    }
    let mut file = file.clone();
    let fields = object(&mut file, &path);
    let renamed = std::mem::take(fields).into_iter();
    *fields =
        renamed.map(|(it, value)| (if it == key { wrong.clone() } else { it }, value)).collect();
    let begins = vec![json!(wrong).to_string()];
    let less = agents_at(&path, &key);
    Some(Change { text: printed(dice, &file), key: wrong, begins, less })
}

/// Gives a key a value of a type that it cannot have.
fn mistype(dice: &mut Dice, file: &Json) -> Option<Change> {
    let all = keys(file);
    let ((path, place), key) = dice.pick(&all).clone();
    let wrong = dice
        .pick(&[json!(7.5), json!("text"), json!(true), json!([[7]]), json!({"0": [7]})])
        .clone();
    let old = &file.pointer(&pointer(&path))?[&key];
    let fits = match (place, key.as_str()) {
        (Place::Confinement, "hide") => wrong.is_boolean(),
        (Place::File, "mcp_servers") => wrong.is_object() || wrong.is_array(),
        (Place::Agent, "confine") | (Place::Agents, _) => wrong.is_object(),
        _ => {
            std::mem::discriminant(old) == std::mem::discriminant(&wrong)
                && !wrong.is_array()
                && !wrong.is_number()
        }
    };
    // An object with a key that is not known is refused by that key, an empty map of texts is one of a wrong type.
    if fits {
        return None;
    }
    let mut file = file.clone();
    object(&mut file, &path)[&key] = wrong.clone();
    let begins = vec![wrong.to_string(), "[7]".into(), "7".into()];
    // Without MCP servers an agent can do less.
    let is_of_servers = place == Place::File && key == "mcp_servers";
    let less = if is_of_servers { Some(Vec::new()) } else { agents_at(&path, &key) };
    Some(Change { text: printed(dice, &file), key, begins, less })
}

/// Moves a key to a place where it cannot stand.
fn misplace(dice: &mut Dice, file: &Json) -> Option<Change> {
    let all = keys(file);
    let ((path, place), key) = dice.pick(&all).clone();
    if place == Place::Agents || place == Place::File {
        return None;
    }
    let mut file = file.clone();
    let value = object(&mut file, &path).shift_remove(&key)?;
    let mut targets = Vec::new();
    sites(&file, &mut Vec::new(), Place::File, &mut targets);
    let (target, to) = dice.pick(&targets).clone();
    let fields = object(&mut file, &target);
    let can_stand = to.keys().contains(&key.as_str()) || fields.contains_key(&key);
    // What the user may name as they like and what has the right type there is nothing wrong.
    let is_free = match to {
        Place::Texts => value.is_string() && !AGENT.contains(&&*key),
        Place::Agents | Place::Servers => value.is_object() && !AGENT.contains(&&*key),
        _ => false,
    };
    if can_stand || is_free || to == Place::Value {
        return None;
    }
    fields.insert(key.clone(), value.clone());
    let begins = vec![json!(key).to_string(), value.to_string()];
    // In another agent's entry it is that one which is wrong.
    let less = match (agents_at(&path, &key), target.first().map(String::as_str), target.get(1)) {
        (_, Some("agent_servers"), Some(name)) => Some(vec![name.clone()]),
        (Some(own), ..) if own.is_empty() => Some(own),
        (Some(own), ..) if AGENT.contains(&&*key) => Some(own),
        _ => Some(Vec::new()),
    };
    Some(Change { text: printed(dice, &file), key, begins, less })
}

/// Writes a key a second time, perhaps with another value.
fn repeat(dice: &mut Dice, file: &Json) -> Option<Change> {
    let mut all = keys(file);
    all.retain(|((path, _), _)| !path.iter().any(|key| key == "0"));
    if all.is_empty() {
        return None;
    }
    let ((path, place), key) = dice.pick(&all).clone();
    let mut file = file.clone();
    let fields = object(&mut file, &path);
    let value = if place == Place::File { fields[&key].clone() } else { value(dice, place, &key) };
    let value = if place == Place::Agents { json!({}) } else { value };
    // The text gets its name back below.
    fields.insert("AGAIN".to_owned(), value);
    let text = printed(dice, &file).replace("\"AGAIN\"", &json!(key).to_string());
    let begins = vec![json!(key).to_string()];
    let less = agents_at(&path, &key);
    Some(Change { text, key, begins, less })
}

/// Prints JSON with chance in its white space.
fn printed(dice: &mut Dice, value: &Json) -> String {
    let compact = value.to_string();
    match dice.within(0..3) {
        0 => compact,
        1 => serde_json::to_string_pretty(value).unwrap(),
        _ => format!("\u{feff}\n{compact}\n"),
    }
}

/// The text at a place that a problem begins with.
fn at<'a>(text: &'a str, problem: &str) -> &'a str {
    let numbers = problem.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    let (line, column) =
        numbers.and_then(|(place, _)| place.split_once(", column ")).unwrap_or_else(|| {
            panic!("no place: {problem}");
        });
    let text = text.trim_start_matches('\u{feff}');
    let line = text.split('\n').nth(line.parse::<usize>().unwrap() - 1).unwrap();
    let column = line.char_indices().nth(column.parse::<usize>().unwrap() - 1);
    &line[column.unwrap().0..]
}

fn started(settings: &Settings, name: &str) -> Option<String> {
    let environment = [("HOME".to_owned(), "/home/me".to_owned())].into();
    let agent = AgentSelection { name: name.to_owned(), environment, ..AgentSelection::default() };
    resolve(agent, settings.clone(), Path::new("/"), Path::new("/bin/true")).problem
}

/// Holds (Configuration): A settings file with one key misspelt, of a wrong type, in a wrong place or there twice is refused by the name of the key, wherever it is.
#[test]
fn a_file_with_one_wrong_key_is_refused_by_its_name() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed: u64 = number("RAT_SEED").unwrap_or(SEED);
    let steps = number("RAT_STEPS").map_or(STEPS, |steps| usize::try_from(steps).unwrap());
    writeln!(std::io::stdout(), "RAT_SEED={seed} RAT_STEPS={steps}").unwrap();
    let folder = TempFolder::new();
    let path = folder.path().join("rat.json");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        settings::load(&path)
    };
    let kinds = [misspell, mistype, misplace, repeat];
    let mut counts = [0; 4];
    let mut step = 0;
    while counts.iter().sum::<usize>() < steps {
        let dice = &mut Dice::new(seed + step);
        let again = format!("RAT_SEED={} RAT_STEPS=1 does this again", seed + step);
        step += 1;
        let file = valid(dice);
        let (_, problems) = read(&printed(dice, &file));
        assert_eq!(problems, [""; 0], "{file}\n{again}");
        let kind = dice.within(0..4);
        let Some(change) = kinds[kind](dice, &file) else { continue };
        counts[kind] += 1;
        let (settings, problems) = read(&change.text);
        let about = format!("{change:?}\n{problems:?}\n{again}");
        // A name that is no text is told at its entry, and the compact form of a value may be on several lines of the text.
        let is_elsewhere = change.key == "name" || change.text.starts_with("{\n");
        let begins =
            |it: &str| change.begins.iter().any(|start| at(&change.text, it).starts_with(start));
        let named =
            problems.iter().any(|it| it.contains(&change.key) && (is_elsewhere || begins(it)));
        assert!(named, "not named: {about}");
        let agents = file["agent_servers"].as_object().unwrap().keys();
        let all: Vec<String> = agents.cloned().chain(["claude".to_owned()]).collect();
        for name in change.less.clone().unwrap_or(all) {
            let problem = started(&settings, &name);
            let why = problem.unwrap_or_else(|| panic!("{name} would be started: {about}"));
            assert!(why.contains(&change.key) && why.contains("line "), "{why}: {about}");
        }
    }
    assert!(steps < STEPS || counts.iter().all(|count| *count > steps / 20), "{counts:?}");
}
