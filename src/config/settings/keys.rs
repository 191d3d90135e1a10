//! Which keys a settings file may have where. A key that is misspelt, stands in another place or stands there twice would
//! otherwise be ignored, and an agent started with less than what was written.

use super::closest::closest;
use super::place::{self, Field, Step};
use super::problem::{Owner, Problem};
use super::{AGENT_SERVERS, CONFINE, MCP_SERVERS, type_of};
use crate::config::options::{AgentOptions, CapabilityOptions, McpServerOptions, TimeoutOptions};
use crate::config::presets;
use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// Options of an agent that only `setup()` reads.
const OF_SETUP: [&str; 2] = ["env_from", "editor_tools"];

/// The keys of a table that confines an agent.
pub(super) const CONFINE_KEYS: [&str; 3] = ["write", "hide", "net"];

/// The kind of an agent, as other clients write it. It says nothing that we need.
const TYPE: &str = "type";

/// The description of the file for editors.
const SCHEMA: &str = "$schema";

/// What may stand in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    File,
    Agents,
    Agent,
    Capabilities,
    Timeouts,
    Confinement,
    Servers,
    Server,
    /// A server in a list, which has its name in it.
    NamedServer,
    /// Keys that the user chooses, with texts.
    Texts,
    /// No keys.
    Other,
}

impl Shape {
    /// The keys that may stand there; `None` if the user chooses them.
    fn keys(self) -> Option<Vec<&'static str>> {
        Some(match self {
            Self::File => vec![AGENT_SERVERS, MCP_SERVERS, SCHEMA],
            Self::Agent => {
                let keys = fields::<AgentOptions>().iter().copied();
                keys.filter(|key| !OF_SETUP.contains(key)).chain([TYPE]).collect()
            }
            Self::Capabilities => fields::<CapabilityOptions>().to_vec(),
            Self::Timeouts => fields::<TimeoutOptions>().to_vec(),
            Self::Confinement => CONFINE_KEYS.to_vec(),
            Self::Server => fields::<McpServerOptions>().to_vec(),
            Self::NamedServer => {
                fields::<McpServerOptions>().iter().copied().chain(["name"]).collect()
            }
            Self::Agents | Self::Servers | Self::Texts | Self::Other => return None,
        })
    }

    /// What stands at a key.
    fn at(self, key: &str) -> Self {
        match (self, key) {
            (Self::File, AGENT_SERVERS) => Self::Agents,
            (Self::File | Self::Agent, MCP_SERVERS) => Self::Servers,
            (Self::Agents, _) => Self::Agent,
            (Self::Servers, _) => Self::Server,
            (Self::Agent, "capabilities") => Self::Capabilities,
            (Self::Agent, "timeouts") => Self::Timeouts,
            (Self::Agent, CONFINE) => Self::Confinement,
            (Self::Agent, "env" | "headers" | "options" | "paths")
            | (Self::Server | Self::NamedServer, "env" | "headers") => Self::Texts,
            _ => Self::Other,
        }
    }

    /// What keys here are called.
    fn called(self) -> &'static str {
        match self {
            Self::File | Self::Other => "the settings file",
            Self::Agents => "the agents",
            Self::Agent => "an agent",
            Self::Capabilities => "`capabilities`",
            Self::Timeouts => "`timeouts`",
            Self::Confinement => "`confine`",
            Self::Servers => "the MCP servers",
            Self::Server | Self::NamedServer => "an MCP server",
            Self::Texts => "names that you choose",
        }
    }
}

/// Whether a name is a key of an agent or of the file, which nobody calls anything else.
fn is_ours(name: &str) -> bool {
    let agent = Shape::Agent.keys().unwrap_or_default();
    agent.contains(&name) || OF_SETUP.contains(&name) || name == AGENT_SERVERS
}

/// Whether a name is a key of any place.
fn is_known(name: &str) -> bool {
    let shapes = [Shape::Capabilities, Shape::Timeouts, Shape::Confinement, Shape::NamedServer];
    is_ours(name) || shapes.iter().filter_map(|shape| shape.keys()).any(|keys| keys.contains(&name))
}

/// Returns what is wrong with the keys of a file, whose text has to be JSON.
pub(super) fn check(text: &str) -> Vec<Problem> {
    let mut check = Check { text, path: Vec::new(), problems: Vec::new() };
    check.walk(text.trim_ascii_start(), Shape::File, &Owner::File);
    check.problems
}

struct Check<'a> {
    text: &'a str,
    path: Vec<Step>,
    problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn walk(&mut self, value: &'a str, shape: Shape, owner: &Owner) {
        if shape == Shape::Servers {
            for (index, item) in place::items(value).into_iter().enumerate() {
                self.path.push(Step::Index(index));
                let owner = match owner {
                    Owner::Server(_) => &Owner::Server(place::name(item).unwrap_or_default()),
                    other => other,
                };
                self.walk(item, Shape::NamedServer, owner);
                self.path.pop();
            }
        }
        let fields = place::fields(value);
        for (index, field) in fields.iter().enumerate() {
            let owner = &match (shape, owner) {
                (Shape::Agents, _) => Owner::Agent(field.key.clone()),
                (Shape::File, _) if field.key == MCP_SERVERS => Owner::Server(String::new()),
                (Shape::Servers, Owner::Server(_)) => Owner::Server(field.key.clone()),
                _ => owner.clone(),
            };
            self.path.push(Step::Key(field.key.clone()));
            if fields[..index].iter().any(|before| before.key == field.key) {
                let owner = if shape == Shape::File { &Owner::File } else { owner };
                self.report(owner, field.raw_key, "is there twice");
            } else if let Some((owner, what)) = misplaced(shape, field, owner) {
                self.report(&owner, field.raw_key, &what);
            } else if let Some((owner, what)) = misspelt_agent(shape, field, &fields) {
                self.report(&owner, field.raw_key, &what);
            } else if let Some(found) = not_text(shape, field) {
                self.report(owner, field.value, &format!("expected a string, got {found}"));
            } else {
                self.walk(field.value, shape.at(&field.key), owner);
            }
            self.path.pop();
        }
    }

    fn report(&mut self, owner: &Owner, part: &'a str, what: &str) {
        let place = place::at(self.text, part);
        self.problems.push(Problem::new(owner.clone(), place, &self.path, what));
    }
}

/// Returns the type of a value that nothing else checks, since it is not needed, if it is no text.
fn not_text(shape: Shape, field: &Field<'_>) -> Option<&'static str> {
    let is_unused =
        matches!((shape, field.key.as_str()), (Shape::File, SCHEMA) | (Shape::Agent, TYPE));
    let value = serde_json::from_str::<Value>(field.value).ok().filter(|_| is_unused)?;
    let is_text = value.is_string() || value.is_null();
    (!is_text).then(|| type_of(&value))
}

/// Returns why a key cannot stand here, and what is not known because of it.
fn misplaced(shape: Shape, field: &Field<'_>, owner: &Owner) -> Option<(Owner, String)> {
    let key = field.key.as_str();
    // Where a key of an agent stands outside of one, it is not known which one it was meant for.
    let of_all = || match owner {
        Owner::Server(_) => Owner::File,
        other => other.clone(),
    };
    let Some(keys) = shape.keys() else {
        let is_object = field.value.starts_with('{');
        let is_taken = match shape {
            Shape::Agents | Shape::Servers => is_ours(key) || (is_known(key) && !is_object),
            Shape::Texts => is_ours(key),
            _ => false,
        };
        let owner = if shape == Shape::Agents { Owner::File } else { of_all() };
        let what = || format!("this key cannot stand among {}", shape.called());
        return is_taken.then(|| (owner, what()));
    };
    if keys.contains(&key) {
        return None;
    }
    if OF_SETUP.contains(&key) {
        return Some((of_all(), "only setup() reads this option; set it there".to_owned()));
    }
    let near = closest(key, keys.iter().copied(), (key.len() / 3).max(2)).map_or_else(
        || format!("{} can have {}", shape.called(), keys.join(", ")),
        |near| format!("did you mean {near}?"),
    );
    let owner = if is_ours(key) { of_all() } else { owner.clone() };
    Some((owner, format!("unknown key, {near}")))
}

/// Returns what is wrong with an entry that does not say how its agent is started, and whose name is almost that of a preset
/// without an entry: it was probably meant for that one.
fn misspelt_agent(shape: Shape, field: &Field<'_>, all: &[Field<'_>]) -> Option<(Owner, String)> {
    let names = || presets::PRESETS.iter().map(|preset| preset.name).chain([presets::TOUR]);
    let is_absent = field.value == "null";
    if shape != Shape::Agents || is_absent || names().any(|name| name == field.key) {
        return None;
    }
    let starts = |it: &Field<'_>| ["command", "url"].contains(&it.key.as_str());
    if place::fields(field.value).iter().any(starts) {
        return None;
    }
    let others = names().filter(|name| all.iter().all(|other| other.key != *name));
    let near = closest(&field.key, others, (field.key.len() / 4).max(1))?;
    let what = format!("no agent is known by this name, did you mean {near}? If not, set command");
    Some((Owner::Agent(near.to_owned()), what))
}

/// Returns the names of the fields of a struct that is deserialized.
fn fields<T: Deserialize<'static>>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // It fails: all it wants to know are the fields.
    drop(T::deserialize(Fields(&mut found)));
    found
}

struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(failed())
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(failed())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn failed() -> Error {
    serde::de::Error::custom("only the fields were asked for")
}
