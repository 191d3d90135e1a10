//! The protocol's schemas, as far as these tests have to read them: definitions, methods, tags of unions, capabilities.
//! It makes no messages; that is `forge`.

use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Version 1, stable.
pub(crate) static V1: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("schema/v1.schema.json")));
/// Version 1 with all that is unstable in it.
pub(crate) static UNSTABLE: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("schema/v1.unstable.schema.json")));
/// The draft of version 2.
pub(crate) static V2: LazyLock<Schema> =
    LazyLock::new(|| Schema::read(include_str!("schema/v2.schema.json")));

/// One schema file.
pub(crate) struct Schema {
    definitions: Map<String, Json>,
}

impl Schema {
    fn read(text: &str) -> Self {
        let mut schema: Json = serde_json::from_str(text).unwrap();
        let Json::Object(definitions) = schema["$defs"].take() else { panic!("no definitions") };
        Self { definitions }
    }

    /// The definition of this name.
    pub(crate) fn definition(&self, name: &str) -> &Json {
        self.definitions.get(name).unwrap_or_else(|| panic!("there is no definition {name}"))
    }

    /// What a `$ref` points to: its name and its definition.
    pub(crate) fn follow<'a>(&'a self, schema: &'a Json) -> Option<(&'a str, &'a Json)> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        Some((name, self.definition(name)))
    }

    /// The names of the methods that this side answers or takes: `agent`, `client`, `protocol` or `proxy`.
    pub(crate) fn methods(&self, side: &str) -> BTreeSet<String> {
        let of_side = self.definitions.values().filter(|it| it["x-side"] == side);
        of_side.map(|it| it["x-method"].as_str().unwrap().to_owned()).collect()
    }

    /// The names of the definitions that a method has with this ending: `Request`, `Response` or `Notification`.
    pub(crate) fn of_method(&self, side: &str, method: &str, ending: &str) -> Option<&str> {
        let found = self.definitions.iter().find(|(name, it)| {
            it["x-side"] == side && it["x-method"] == method && name.ends_with(ending)
        });
        found.map(|(name, _)| name.as_str())
    }

    /// The branches of a union.
    pub(crate) fn branches(&self, name: &str) -> &[Json] {
        branches(self.definition(name)).unwrap_or_else(|| panic!("{name} is no union"))
    }

    /// The tags of a union, by the field that tells its branches apart; a branch without a tag is called by what its
    /// definition has beside the union's name, and one that stands for anything else is left out.
    pub(crate) fn tags(&self, name: &str, field: &str) -> BTreeSet<String> {
        let tag = |branch: &Json| match branch["properties"].get(field) {
            Some(tag) => tag["const"].as_str().map(str::to_owned),
            None => {
                let (definition, _) = self.follow(&branch["allOf"][0])?;
                Some(definition.strip_prefix(name).unwrap_or(definition).to_lowercase())
            }
        };
        self.branches(name).iter().filter_map(tag).collect()
    }

    /// The words of an enumeration.
    pub(crate) fn words(&self, name: &str) -> BTreeSet<String> {
        let words = self.branches(name).iter();
        words.filter_map(|branch| branch["const"].as_str().map(str::to_owned)).collect()
    }

    /// The paths of the fields of `json` that the definition does not have, whichever branches it takes.
    pub(crate) fn strangers(&self, name: &str, json: &Json) -> Vec<String> {
        let mut found = Vec::new();
        self.look_for_strangers(&[self.definition(name)], json, name, &mut found);
        found
    }

    fn look_for_strangers(&self, of: &[&Json], json: &Json, path: &str, found: &mut Vec<String>) {
        let mut all = Vec::new();
        for schema in of {
            self.unfold(schema, &mut all);
        }
        match json {
            Json::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, _)| *key != "_meta") {
                    let known: Vec<&Json> =
                        all.iter().filter_map(|it| it["properties"].get(key)).collect();
                    let path = format!("{path}.{key}");
                    if known.is_empty() && all.iter().any(|it| it.get("properties").is_some()) {
                        found.push(path);
                    } else {
                        self.look_for_strangers(&known, value, &path, found);
                    }
                }
            }
            Json::Array(items) => {
                let known: Vec<&Json> = all.iter().filter_map(|it| it.get("items")).collect();
                for item in items {
                    self.look_for_strangers(&known, item, path, found);
                }
            }
            _ => {}
        }
    }

    /// A schema with all it refers to and all its parts and branches.
    fn unfold<'a>(&'a self, schema: &'a Json, all: &mut Vec<&'a Json>) {
        all.push(schema);
        if let Some((_, definition)) = self.follow(schema) {
            self.unfold(definition, all);
        }
        let parts =
            ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array());
        for part in parts.flatten() {
            self.unfold(part, all);
        }
    }

    /// The paths of all capabilities below a definition. An object that has to be there is only a place for others;
    /// one that may be `null` says something by being there. Each with what says yes: `true` or `{}`.
    pub(crate) fn capabilities(&self, name: &str) -> BTreeMap<String, Json> {
        let mut found = BTreeMap::new();
        self.collect(self.definition(name), "", &mut found);
        found
    }

    fn collect(&self, schema: &Json, path: &str, found: &mut BTreeMap<String, Json>) {
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            if key == "_meta" {
                continue;
            }
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let inner = branches(value).or_else(|| value["allOf"].as_array().map(Vec::as_slice));
            let inner = inner.and_then(|parts| parts.iter().find_map(|part| self.follow(part)));
            if value.get("anyOf").is_some() || inner.is_none() {
                let yes = if inner.is_none() { json!(true) } else { json!({}) };
                found.insert(path.clone(), yes);
            }
            if let Some((_, inner)) = inner {
                self.collect(inner, &path, found);
            }
        }
    }
}

/// The branches of a union, without the one that only allows `null`.
pub(crate) fn branches(schema: &Json) -> Option<&[Json]> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array().map(Vec::as_slice)
}
