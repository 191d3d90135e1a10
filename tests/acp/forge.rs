//! Messages made from a schema: full, with the least there can be, or by chance; as they should be or with something
//! wrong in a known place. It sends nothing and judges nothing.

use super::schema::{Schema, branches};
use serde_json::{Map, Value as Json, json};

/// How much of what a schema allows is there.
#[derive(Debug, Clone)]
pub(crate) enum Filling {
    /// Every field; unions and lists take their branches in turn, from this one on.
    Full(usize),
    /// Only what has to be there.
    Least,
    /// Whatever these draws say; after the last one, the least.
    Chance {
        /// One for each decision.
        draws: Vec<u32>,
        /// Whether something may be wrong, too.
        mischief: bool,
    },
}

/// What can be wrong in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// An optional field is left out.
    Missing,
    /// An optional field is `null`.
    Null,
    /// An optional field has another type.
    WrongType,
    /// An object has a field that no schema knows.
    UnknownField,
    /// A word of an enumeration or a union that no schema knows.
    UnknownWord,
}

impl Flaw {
    pub(crate) const ALL: [Self; 5] =
        [Self::Missing, Self::Null, Self::WrongType, Self::UnknownField, Self::UnknownWord];
}

/// How bad a flaw is, by what the schema says of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    /// The message is still what the schema allows.
    None,
    /// The schema has readers take a default instead, or skip an item.
    Lenient,
    /// The message may be turned down.
    Strict,
}

/// A message, and how bad the worst that was done to it is.
#[derive(Debug)]
pub(crate) struct Forged {
    pub(crate) json: Json,
    pub(crate) harm: Harm,
    /// How many flaws it has.
    pub(crate) flaws: usize,
}

/// Makes one message.
pub(crate) struct Forge<'a> {
    schema: &'a Schema,
    filling: Filling,
    /// The branch that a union of this name takes.
    branch: Option<(&'static str, usize)>,
    /// The kind of flaw that is made, and in which of the places where it can be.
    flaw: Option<(Flaw, usize)>,
    places: usize,
    turn: usize,
    forged: Forged,
}

/// A schema with its references, parts and one branch of each union put together.
#[derive(Default)]
struct Flat<'a> {
    kind: Option<&'a str>,
    constant: Option<&'a Json>,
    words: Option<&'a [Json]>,
    items: Option<&'a Json>,
    entries: Option<&'a Json>,
    fields: Vec<(&'a str, &'a Json)>,
    required: Vec<&'a str>,
    facts: Vec<&'a Json>,
}

impl Flat<'_> {
    fn fact(&self, name: &str) -> Option<&Json> {
        self.facts.iter().find_map(|schema| schema.get(name))
    }
}

impl<'a> Forge<'a> {
    pub(crate) fn new(schema: &'a Schema, filling: Filling) -> Self {
        let forged = Forged { json: Json::Null, harm: Harm::None, flaws: 0 };
        Self { schema, filling, branch: None, flaw: None, places: 0, turn: 0, forged }
    }

    /// The union `name` takes this branch.
    pub(crate) fn branch(mut self, name: &'static str, index: usize) -> Self {
        self.branch = Some((name, index));
        self
    }

    /// One flaw of this kind, in the place of this number.
    pub(crate) fn flaw(mut self, flaw: Flaw, place: usize) -> Self {
        self.flaw = Some((flaw, place));
        self
    }

    /// A message of the definition `name`.
    pub(crate) fn make(mut self, name: &str) -> Forged {
        let definition = self.schema.definition(name);
        self.forged.json = self.value(name, definition, name);
        self.forged
    }

    fn value(&mut self, name: &str, schema: &'a Json, definition: &str) -> Json {
        let mut flat = Flat::default();
        self.flatten(schema, definition, &mut flat);
        let word = match flat.words {
            Some(words) => Some(&words[self.choose(words.len())]),
            None => flat.constant,
        };
        if let Some(word) = word {
            let unknown = word.is_string() && self.strikes(Flaw::UnknownWord, Harm::Lenient);
            return if unknown { json!("x-unknown") } else { word.clone() };
        }
        match flat.kind {
            Some("object") if flat.fields.is_empty() && flat.entries.is_none() => {
                json!({"x": [1, null, {"y": "z"}]})
            }
            Some("object") => self.object(&flat),
            Some("array") => self.list(name, &flat),
            Some("string") => self.text(name, flat.fact("minLength").is_some()),
            Some("integer") => self.integer(&flat),
            Some("number") => [json!(0.5), json!(0), json!(-1.5e300)][self.choose(3)].clone(),
            Some("boolean") => json!(self.choose(2) == 0),
            Some("null") => Json::Null,
            _ => [json!({"any": 1}), json!("any"), json!([]), json!(7)][self.choose(4)].clone(),
        }
    }

    fn flatten(&mut self, schema: &'a Json, name: &str, flat: &mut Flat<'a>) {
        if let Some((name, definition)) = self.schema.follow(schema) {
            self.flatten(definition, name, flat);
        }
        flat.facts.push(schema);
        let kinds = schema["type"].as_array().map_or_else(
            || schema["type"].as_str(),
            |kinds| kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null"),
        );
        flat.kind = kinds.or(flat.kind);
        flat.constant = schema.get("const").or(flat.constant);
        flat.words = schema["enum"].as_array().map(Vec::as_slice).or(flat.words);
        flat.items = schema.get("items").or(flat.items);
        flat.entries =
            schema.get("additionalProperties").filter(|it| it.is_object()).or(flat.entries);
        let fields = schema["properties"].as_object().into_iter().flatten();
        flat.fields.extend(fields.map(|(name, field)| (name.as_str(), field)));
        flat.required
            .extend(schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str));
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.flatten(part, "", flat);
        }
        if let Some(all) = branches(schema) {
            let all: Vec<_> = all.iter().filter(|branch| branch["type"] != "null").collect();
            let index = match self.branch {
                Some((union, index)) if union == name => index,
                _ => self.choose(all.len()),
            };
            self.flatten(all[index], "", flat);
        }
    }

    fn object(&mut self, flat: &Flat<'a>) -> Json {
        let mut object = Map::new();
        let mut fields = flat.fields.clone();
        if self.chance(2, 1) {
            fields.reverse();
        }
        for (name, schema) in fields {
            if flat.required.contains(&name) {
                object.insert(name.to_owned(), self.value(name, schema, ""));
            } else if self.is_there() && !self.strikes(Flaw::Missing, Harm::None) {
                let value = self.optional(name, schema);
                object.insert(name.to_owned(), value);
            }
        }
        if let Some(entry) = flat.entries {
            for index in 0..self.count() {
                object.insert(format!("entry{index}"), self.value("entry", entry, ""));
            }
        }
        if self.strikes(Flaw::UnknownField, Harm::None) {
            object.insert("xUnknown".to_owned(), json!({"deep": [null, {"x": 1}]}));
        }
        Json::Object(object)
    }

    fn optional(&mut self, name: &str, schema: &'a Json) -> Json {
        let forgiven = |key: &str| schema[key] == true;
        let on_error = forgiven("x-deserialize-default-on-error");
        let lenient = |forgiven| if forgiven { Harm::Lenient } else { Harm::Strict };
        let null = if may_be_null(schema) {
            Harm::None
        } else {
            lenient(on_error || forgiven("x-deserialize-default-on-null"))
        };
        if self.strikes(Flaw::Null, null) {
            return Json::Null;
        }
        let value = self.value(name, schema, "");
        if has_a_type(schema) && self.strikes(Flaw::WrongType, lenient(on_error)) {
            return match value {
                Json::String(_) => json!({"not": "a text"}),
                Json::Object(_) | Json::Array(_) => json!(-5),
                _ => json!("something else"),
            };
        }
        value
    }

    fn list(&mut self, name: &str, flat: &Flat<'a>) -> Json {
        let items = flat.items.unwrap_or(&Json::Null);
        let count = self.count().max(usize::from(flat.fact("minItems").is_some()));
        (0..count).map(|_| self.value(name, items, "")).collect()
    }

    fn text(&mut self, name: &str, not_empty: bool) -> Json {
        const TEXTS: [&str; 9] = [
            "text",
            "two\nlines\n",
            "",
            "ünï 🙂\u{2028}\u{200d}",
            "\u{1b}[31m\u{7}\u{0}\r\n",
            "```\n| a | <b>%{x}`",
            " # *not* [a](b) \\",
            "long long long long long long long long long long long long long long long long",
            "tab\there",
        ];
        json!(match name {
            "sessionId" => "s".to_owned(),
            "path" | "cwd" => format!("/project/{}.rs", self.choose(3)),
            "additionalDirectories" => "/more".to_owned(),
            "data" | "blob" => "aGVsbG8=".to_owned(),
            "uri" => "file:///project/a%20b.txt".to_owned(),
            "url" => "https://example.com/a%20b".to_owned(),
            "toolCallId" | "compactionId" | "messageId" => format!("id-{}", self.choose(3)),
            "updatedAt" | "lastModified" => "2026-11-21T10:00:00Z".to_owned(),
            _ => match self.filling {
                Filling::Chance { .. } => {
                    let text = TEXTS[self.choose(TEXTS.len())];
                    if not_empty && text.is_empty() { "x".to_owned() } else { text.to_owned() }
                }
                Filling::Full(_) | Filling::Least => format!("a {name}"),
            },
        })
    }

    fn integer(&mut self, flat: &Flat<'a>) -> Json {
        let largest = match flat.fact("format").and_then(Json::as_str) {
            Some("uint16") => json!(u16::MAX),
            Some("uint32") => json!(u32::MAX),
            Some("uint64") => json!(u64::MAX),
            Some("int32") => json!(i32::MIN),
            _ => json!(i64::MIN),
        };
        [json!(1), json!(0), largest, json!(200)][self.choose(4)].clone()
    }

    /// One of `count` possibilities.
    fn choose(&mut self, count: usize) -> usize {
        match &self.filling {
            Filling::Full(first) => {
                self.turn += 1;
                (first + self.turn - 1) % count
            }
            Filling::Least => 0,
            Filling::Chance { .. } => self.draw() as usize % count,
        }
    }

    fn is_there(&mut self) -> bool {
        match self.filling {
            Filling::Full(_) => true,
            Filling::Least => false,
            Filling::Chance { .. } => !self.draw().is_multiple_of(3),
        }
    }

    fn count(&mut self) -> usize {
        match self.filling {
            Filling::Full(_) => 2,
            Filling::Least => 0,
            Filling::Chance { .. } => self.draw() as usize % 4,
        }
    }

    /// Whether a draw by chance is this one of so many; never where nothing is by chance.
    fn chance(&mut self, of: u32, this: u32) -> bool {
        matches!(self.filling, Filling::Chance { .. }) && self.draw() % of == this
    }

    fn draw(&mut self) -> u32 {
        let Filling::Chance { draws, .. } = &self.filling else { return 0 };
        self.turn += 1;
        draws.get(self.turn - 1).copied().unwrap_or(0)
    }

    /// Whether something goes wrong here.
    fn strikes(&mut self, flaw: Flaw, harm: Harm) -> bool {
        let strikes = match self.flaw {
            Some((wanted, place)) if wanted == flaw => {
                self.places += 1;
                self.places - 1 == place
            }
            Some(_) => false,
            None => {
                matches!(self.filling, Filling::Chance { mischief: true, .. }) && self.chance(25, 7)
            }
        };
        if strikes {
            self.forged.flaws += 1;
            self.forged.harm = self.forged.harm.max(harm);
        }
        strikes
    }
}

fn may_be_null(schema: &Json) -> bool {
    let is_null = |kind: &Json| *kind == "null";
    schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(is_null))
        || branches(schema).is_some_and(|all| all.iter().any(|branch| is_null(&branch["type"])))
}

/// Whether a schema does not allow just anything.
fn has_a_type(schema: &Json) -> bool {
    ["type", "$ref", "allOf", "anyOf", "oneOf"].iter().any(|key| schema.get(key).is_some())
}
