//! A model of the JSON schemas of our types that annotations and documentation can be generated from.

use schemars::Schema;
use serde_json::{Map, Value};

/// The messages of one direction, and the types they consist of.
pub(super) struct Group {
    /// The prefix of type names in Lua.
    pub(super) prefix: &'static str,
    pub(super) messages: Vec<Message>,
    /// By name, without duplicates.
    pub(super) types: Vec<(String, Kind)>,
}

/// A message or a call.
pub(super) struct Message {
    pub(super) name: String,
    pub(super) doc: String,
    /// The type of the payload or of the arguments.
    pub(super) payload: String,
    /// Only for calls: the type of the result, and whether it may be missing.
    pub(super) answer: Option<(Type, bool)>,
}

pub(super) struct Field {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) ty: Type,
    pub(super) optional: bool,
}

pub(super) enum Kind {
    Table {
        doc: String,
        fields: Vec<Field>,
        is_arguments: bool,
    },
    /// A newtype that says how Lua handles the text.
    Text {
        doc: String,
    },
    Words {
        doc: String,
        words: Vec<(String, String)>,
    },
    Other {
        doc: String,
        ty: Type,
    },
}

#[derive(Clone)]
pub(super) enum Type {
    Plain(&'static str),
    Named(String),
    Words(Vec<String>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    Map(Box<Type>),
    Either(Vec<Type>),
}

impl Type {
    /// Whether `test` holds for this type or a part of it. Does not look into named types.
    pub(super) fn any(&self, test: &dyn Fn(&Self) -> bool) -> bool {
        let below = match self {
            Self::List(inner) | Self::Map(inner) => inner.any(test),
            Self::Tuple(all) | Self::Either(all) => all.iter().any(|one| one.any(test)),
            Self::Plain(_) | Self::Named(_) | Self::Words(_) => false,
        };
        below || test(self)
    }
}

impl Group {
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, messages: Vec::new(), types: Vec::new() }
    }

    /// Reads an enum whose variants each hold a payload.
    pub(super) fn of_messages(prefix: &'static str, schema: &Schema) -> Self {
        let mut group = Self::new(prefix);
        group.add_types(schema.as_value());
        for variant in list(schema.as_value(), "oneOf") {
            let properties = table(variant, "properties");
            let (name, payload) = match (properties.get("name"), properties.get("data")) {
                (Some(name), Some(payload)) => (name["const"].as_str().unwrap(), payload),
                _ => properties.iter().next().map(|(name, it)| (name.as_str(), it)).unwrap(),
            };
            let (Type::Named(payload), false) = read(payload) else { panic!("{name}: no struct") };
            let (name, doc) = (name.to_owned(), doc(variant));
            group.messages.push(Message { name, doc, payload, answer: None });
        }
        group
    }

    pub(super) fn add_call(&mut self, name: &str, arguments: &Schema, answer: &Schema) {
        let arguments = arguments.as_value();
        let (doc, payload) = (doc(arguments), arguments["title"].as_str().unwrap().to_owned());
        let Kind::Table { fields, .. } = kind(arguments) else { panic!("{name}: no arguments") };
        self.add_types(arguments);
        let table = Kind::Table { doc: doc.clone(), fields, is_arguments: true };
        self.add(payload.clone(), table);
        let answer = Some(self.add_answer(answer));
        self.messages.push(Message { name: name.to_owned(), doc, payload, answer });
    }

    pub(super) fn add_answer(&mut self, answer: &Schema) -> (Type, bool) {
        let answer = answer.as_value();
        self.add_types(answer);
        if answer.get("properties").is_none() {
            return read(answer);
        }
        let name = answer["title"].as_str().unwrap().to_owned();
        self.add(name.clone(), kind(answer));
        (Type::Named(name), false)
    }

    fn add_types(&mut self, schema: &Value) {
        for (name, definition) in table(schema, "$defs") {
            self.add(name.clone(), kind(definition));
        }
    }

    fn add(&mut self, name: String, kind: Kind) {
        if self.get(&name).is_none() {
            self.types.push((name, kind));
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Kind> {
        self.types.iter().find(|(known, _)| known == name).map(|(_, kind)| kind)
    }

    /// Returns the fields of a payload or the arguments of a call.
    pub(super) fn fields(&self, name: &str) -> &[Field] {
        match self.get(name) {
            Some(Kind::Table { fields, .. }) => fields,
            _ => panic!("{name} has no fields"),
        }
    }
}

fn kind(schema: &Value) -> Kind {
    let doc = doc(schema);
    if let Some(words) = words(schema) {
        return Kind::Words { doc, words };
    }
    match schema["type"].as_str() {
        Some("string") => Kind::Text { doc },
        Some("object") => {
            let required: Vec<_> = list(schema, "required").iter().collect();
            let fields = table(schema, "properties").iter().map(|(name, field)| {
                let (ty, nullable) = read(field);
                let optional = nullable || !required.iter().any(|one| *one == name);
                Field { name: name.clone(), doc: self::doc(field), ty, optional }
            });
            Kind::Table { doc, fields: fields.collect(), is_arguments: false }
        }
        _ => Kind::Other { doc, ty: read(schema).0 },
    }
}

/// Returns the words of an enum without payloads, each with its comment.
fn words(schema: &Value) -> Option<Vec<(String, String)>> {
    let word = |it: &Value| Some((it.as_str()?.to_owned(), String::new()));
    if let Some(all) = schema["enum"].as_array() {
        return all.iter().map(word).collect();
    } else if !schema["const"].is_null() {
        return Some(vec![word(&schema["const"])?]);
    }
    let all = list(schema, "oneOf").iter().map(|one| {
        let doc = doc(one);
        let words = words(one)?.into_iter();
        Some(words.map(|(word, _)| (word, doc.clone())).collect::<Vec<_>>())
    });
    let all = all.collect::<Option<Vec<_>>>()?.concat();
    (!all.is_empty()).then_some(all)
}

/// Returns the type, and whether the value may be missing.
fn read(schema: &Value) -> (Type, bool) {
    if let Some(name) = schema["$ref"].as_str() {
        return (Type::Named(name.trim_start_matches("#/$defs/").to_owned()), false);
    } else if let Some(words) = words(schema) {
        return (Type::Words(words.into_iter().map(|(word, _)| word).collect()), false);
    }
    let choices = [list(schema, "anyOf"), list(schema, "oneOf")].concat();
    if !choices.is_empty() {
        let (nulls, others): (Vec<_>, Vec<_>) =
            choices.into_iter().partition(|one| one["type"] == "null");
        let mut types: Vec<Type> = others.iter().map(|one| read(one).0).collect();
        let ty = if types.len() == 1 { types.remove(0) } else { Type::Either(types) };
        return (ty, !nulls.is_empty());
    }
    let mut names: Vec<&str> = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    };
    let nullable = names.contains(&"null");
    names.retain(|name| *name != "null");
    let ty = match names.as_slice() {
        ["string"] => Type::Plain("string"),
        ["integer"] => Type::Plain("integer"),
        ["number"] => Type::Plain("number"),
        ["boolean"] => Type::Plain("boolean"),
        [] => Type::Plain("nil"),
        ["array"] if schema.get("prefixItems").is_some() => {
            Type::Tuple(list(schema, "prefixItems").iter().map(|one| read(one).0).collect())
        }
        ["array"] => Type::List(Box::new(read(&schema["items"]).0)),
        ["object"] if schema.get("additionalProperties").is_none() => Type::Plain("table"),
        ["object"] => Type::Map(Box::new(read(&schema["additionalProperties"]).0)),
        other => panic!("{other:?} in {schema}"),
    };
    (ty, nullable)
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema[key].as_array().map_or(&[], Vec::as_slice)
}

fn table<'a>(schema: &'a Value, key: &str) -> &'a Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema[key].as_object().unwrap_or(&NONE)
}

/// Returns the comment, joined to one line.
fn doc(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}
