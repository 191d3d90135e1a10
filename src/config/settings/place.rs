//! Finds the place of a value in the text of a settings file. It judges nothing.

use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// A step from a value into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of a key. In a list, the item with this `name`.
    Key(String),
    /// An item of a list, from 0.
    Index(usize),
}

/// A place in a text, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    line: usize,
    column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Returns where the value at this path begins in `text`, which has to be JSON. For a path that leads nowhere, the place
/// of the last value on the way.
pub(super) fn of(text: &str, path: &[Step]) -> Place {
    let mut value = text.trim_ascii_start();
    for step in path {
        match child(value, step) {
            Some(found) => value = found,
            None => break,
        }
    }
    at(text, value)
}

/// Returns where `part` begins, which is a slice of `text`.
pub(super) fn at(text: &str, part: &str) -> Place {
    let before = &text[..part.as_ptr().addr() - text.as_ptr().addr()];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Returns the lines of the keys of the object at this path, and that of the object, whose key is empty; nothing if there is no
/// such object.
pub(super) fn keys(text: &str, path: &[Step]) -> BTreeMap<String, usize> {
    let mut value = text.trim_ascii_start();
    for step in path {
        let Some(found) = child(value, step) else { return BTreeMap::new() };
        value = found;
    }
    let fields = fields(value).into_iter().map(|field| (field.key, field.value));
    let line =
        |part: &str| text[..part.as_ptr().addr() - text.as_ptr().addr()].matches('\n').count() + 1;
    fields.chain([(String::new(), value)]).map(|(key, part)| (key, line(part))).collect()
}

/// A key of an object with its value, as they stand in the text.
#[derive(Debug)]
pub(super) struct Field<'a> {
    /// The key without its quotes and escapes.
    pub(super) key: String,
    /// The key in the text.
    pub(super) raw_key: &'a str,
    /// The value in the text.
    pub(super) value: &'a str,
}

/// Returns the fields of an object in their order, also those whose key stands there more than once; nothing of another value.
pub(super) fn fields(object: &str) -> Vec<Field<'_>> {
    let Some(mut rest) = object.strip_prefix('{') else { return Vec::new() };
    let mut found = Vec::new();
    while let Some(raw_key) = take(&mut rest) {
        let key = serde_json::from_str::<String>(raw_key);
        let (Ok(key), Some(value)) = (key, take(&mut rest)) else { break };
        found.push(Field { key, raw_key, value });
    }
    found
}

/// Takes the next value from the text inside an object.
fn take<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start_matches([' ', '\t', '\r', '\n', ',', ':']);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    *rest = &text[values.byte_offset()..];
    Some(value.get())
}

fn child<'a>(value: &'a str, step: &Step) -> Option<&'a str> {
    match step {
        Step::Index(index) => items(value).get(*index).copied(),
        Step::Key(key) if value.starts_with('[') => {
            items(value).into_iter().find(|item| name(item).as_deref() == Some(key))
        }
        Step::Key(key) => {
            // Of keys that stand there twice, the last one counts, as for serde.
            fields(value).into_iter().rfind(|field| field.key == *key).map(|field| field.value)
        }
    }
}

/// Returns the items of a list; nothing of another value.
pub(super) fn items(list: &str) -> Vec<&str> {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    items.into_iter().map(RawValue::get).collect()
}

/// Returns the name of an item of a list.
pub(super) fn name(item: &str) -> Option<String> {
    let item: Value = serde_json::from_str(item).ok()?;
    item.get("name")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(key: &str) -> Step {
        Step::Key(key.to_owned())
    }

    #[test]
    fn the_place_of_a_value_is_where_it_begins() {
        let text = "\n{\"a\": {\n  \"ü\": [1, {\"name\": \"x\", \"b\\u0063\": 7}]}}";
        let place = |path: &[Step]| of(text, path).to_string();
        assert_eq!(place(&[]), "line 2, column 1");
        assert_eq!(place(&[key("a")]), "line 2, column 7");
        assert_eq!(place(&[key("a"), key("ü")]), "line 3, column 8");
        assert_eq!(place(&[key("a"), key("ü"), Step::Index(1)]), "line 3, column 12");
        assert_eq!(place(&[key("a"), key("ü"), key("x"), key("bc")]), "line 3, column 37");
        assert_eq!(place(&[key("a"), key("no"), key("x")]), "line 2, column 7");
    }

    #[test]
    fn fields_are_all_that_stand_there() {
        let text = r#"{ "a":1,"b\u0063" : [true,{}] , "a": -2.5e3, "":"x,:" }"#;
        let found = fields(text);
        let found: Vec<_> =
            found.iter().map(|it| (it.key.as_str(), it.raw_key, it.value)).collect();
        let expected = [
            ("a", "\"a\"", "1"),
            ("bc", "\"b\\u0063\"", "[true,{}]"),
            ("a", "\"a\"", "-2.5e3"),
            ("", "\"\"", "\"x,:\""),
        ];
        assert_eq!(found, expected);
        assert!(fields("[1]").is_empty() && fields("{}").is_empty() && fields("{ }").is_empty());
        assert_eq!(of(text, &[key("a")]).to_string(), "line 1, column 38", "the last one counts");
    }

    proptest! {
        /// Any text that is no JSON has a place, too.
        #[test]
        fn any_text_and_path_have_a_place(text in "[\\[\\]{}\",:a\\n ]{0,30}", index in 0_usize..3) {
            let place = of(&text, &[key("a"), Step::Index(index)]);
            prop_assert!(place.line >= 1 && place.column >= 1);
        }
    }
}
