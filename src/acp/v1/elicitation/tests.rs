//! Decodes forms from generated schemas and compares them with an independent interpretation of the schema.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn read(params: &Json) -> Result<(ElicitationOwner, Elicitation), Refusal> {
    create(&mut Fields::of(params.clone()).unwrap(), params.to_string().len())
}

fn form_of(schema: &Json) -> Form {
    let params =
        json!({"sessionId": "s", "mode": "form", "message": "?", "requestedSchema": schema});
    match read(&params).unwrap().1.wants {
        ElicitationKind::Form(form) => form,
        ElicitationKind::Url(..) => panic!("no form: {params}"),
    }
}

fn refusal(params: &Json) -> String {
    let refusal = read(params).unwrap_err();
    assert_eq!(refusal.code, -32602);
    refusal.message
}

/// A pattern and an equivalent predicate.
type PatternCase = (&'static str, fn(&str) -> bool);

const PATTERNS: &[PatternCase] = &[
    ("^[a-z]+$", |text| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase())),
    (r"\d", |text| text.contains(|c: char| c.is_ascii_digit())),
    (r"^\w{2,3}$", |text| {
        (2..=3).contains(&text.chars().count())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }),
    ("[[a]", |text| text.contains(['[', 'a'])),
    (r"^[\D]*$", |text| !text.contains(|c: char| c.is_ascii_digit())),
];

/// Returns whether the schema of a property allows a value, by an independent implementation.
fn allows(property: &Json, value: &Json) -> bool {
    let limit = |key: &str| property.get(key).and_then(Json::as_f64);
    let within = |number: f64, least: &str, most: &str| {
        limit(least).is_none_or(|least| number >= least)
            && limit(most).is_none_or(|most| number <= most)
    };
    let offered = |schema: &Json, value: &Json| {
        let listed =
            |key: &str| schema.get(key).and_then(Json::as_array).cloned().unwrap_or_default();
        listed("enum").contains(value)
            || ["oneOf", "anyOf"]
                .iter()
                .flat_map(|key| listed(key))
                .any(|choice| choice["const"] == *value)
    };
    match property["type"].as_str().unwrap() {
        "string" if property.get("enum").or(property.get("oneOf")).is_some() => {
            offered(property, value)
        }
        "string" => {
            let text = value.as_str().unwrap();
            let source = property.get("pattern").and_then(Json::as_str);
            let known = PATTERNS.iter().find(|(pattern, _)| Some(*pattern) == source);
            let length = u32::try_from(text.chars().count()).unwrap();
            within(length.into(), "minLength", "maxLength")
                && known.is_none_or(|(_, matches)| matches(text))
        }
        "integer" => value.is_i64() && within(value.as_f64().unwrap(), "minimum", "maximum"),
        "number" => value.is_number() && within(value.as_f64().unwrap(), "minimum", "maximum"),
        "boolean" => value.is_boolean(),
        _ => {
            let values = value.as_array().unwrap();
            within(u32::try_from(values.len()).unwrap().into(), "minItems", "maxItems")
                && values.iter().all(|value| offered(&property["items"], value))
        }
    }
}

fn limits(kind: &str, keys: [&str; 2], least: Option<i64>, most: Option<i64>) -> Json {
    let mut property = json!({"type": kind});
    for (key, limit) in keys.into_iter().zip([least, most]) {
        if let Some(limit) = limit {
            property[key] = json!(limit);
        }
    }
    property
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[abc]", 1..4).prop_map(|words| words.into_iter().collect())
}

/// Generates the schema of a property, the user's input, and the input as JSON.
fn case() -> impl Strategy<Value = (Json, FieldValue, Json)> {
    let few = || prop::option::of(0..6i64);
    let limit = || prop::option::of(-20..20i64);
    let text = (few(), few(), prop::option::of(0..PATTERNS.len()), "[aé1_\\[ ]{1,7}");
    let text = text.prop_map(|(least, most, pattern, text)| {
        let mut property = limits("string", ["minLength", "maxLength"], least, most);
        if let Some(pattern) = pattern {
            property["pattern"] = json!(PATTERNS[pattern].0);
        }
        (property, FieldValue::Text(text.clone()), json!(text))
    });
    let integer = (limit(), limit(), -25..25i64).prop_map(|(least, most, number)| {
        let property = limits("integer", ["minimum", "maximum"], least, most);
        (property, FieldValue::Text(number.to_string()), json!(number))
    });
    let number = (limit(), limit(), -25.0..25.0f64).prop_map(|(least, most, number)| {
        let property = limits("number", ["minimum", "maximum"], least, most);
        (property, FieldValue::Text(number.to_string()), json!(number))
    });
    let flag = any::<bool>()
        .prop_map(|flag| (json!({"type": "boolean"}), FieldValue::Flag(flag), json!(flag)));
    let titled = |words: Vec<String>| -> Vec<Json> {
        words.into_iter().map(|word| json!({"const": word, "title": word.to_uppercase()})).collect()
    };
    let choice = (words(), "[abcd]", any::<bool>()).prop_map(move |(words, value, plain)| {
        let property = if plain {
            json!({"type": "string", "enum": words})
        } else {
            json!({"type": "string", "oneOf": titled(words)})
        };
        (property, FieldValue::Text(value.clone()), json!(value))
    });
    let chosen = prop::collection::btree_set("[abcd]", 1..4);
    let several = (words(), few(), few(), chosen, any::<bool>()).prop_map(
        move |(words, least, most, chosen, plain)| {
            let mut property = limits("array", ["minItems", "maxItems"], least, most);
            property["items"] = if plain {
                json!({"type": "string", "enum": words})
            } else {
                json!({"anyOf": titled(words)})
            };
            let chosen: Vec<String> = chosen.into_iter().collect();
            (property, FieldValue::Several(chosen.clone()), json!(chosen))
        },
    );
    prop_oneof![text, integer, number, flag, choice, several]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Input that the schema allows is sent unchanged. Any other is not sent, and the problem is reported for its field.
    /// ACP 126, 127.
    /// Holds (Forms and URLs): Only what the schema of a form allows is sent.
    #[test]
    fn only_input_that_the_schema_allows_is_sent(cases in prop::collection::vec(case(), 1..5)) {
        let named = || cases.iter().enumerate().map(|(index, case)| (format!("field{index}"), case));
        let properties: serde_json::Map<_, _> =
            named().map(|(key, case)| (key, case.0.clone())).collect();
        let form = form_of(&json!({"type": "object", "properties": properties}));
        let entered: Vec<_> = named().map(|(key, case)| (key, case.1.clone())).collect();
        let forbidden: Vec<String> =
            named().filter(|(_, case)| !allows(&case.0, &case.2)).map(|(key, _)| key).collect();
        match form.validate(&entered) {
            Err(problems) => {
                let reported: Vec<String> = problems.into_iter().map(|(key, _)| key).collect();
                prop_assert_eq!(reported, forbidden, "{:?}", cases);
            }
            Ok(values) => {
                prop_assert!(forbidden.is_empty(), "{:?} was sent: {:?}", forbidden, cases);
                let encoded = serde_json::to_value(response(&Action::Accept(Some(values)))).unwrap();
                prop_assert_eq!(&encoded["action"], &json!("accept"));
                for (key, (property, _, value)) in named() {
                    prop_assert!(allows(property, &encoded["content"][&key]), "{}: {}", key, encoded);
                    prop_assert_eq!(&encoded["content"][&key], value);
                }
            }
        }
    }

    /// No pattern makes the whole form fail.
    #[test]
    fn any_pattern_is_compiled_or_ignored(source in "[\\[\\]\\\\(){}a-c*+?^$|&~d]{0,12}", text in "[a-c\\[\\]&~]{0,5}") {
        if let Ok(pattern) = Pattern::new(&source) {
            pattern.matches(&text);
        }
        let form = form_of(&json!({"properties": {"a": {"type": "string", "pattern": source}}}));
        prop_assert_eq!(form.fields.len(), 1);
    }
}

/// ACP 131.
#[test]
fn an_invalid_part_of_a_form_affects_only_its_own_field_or_limit() {
    let form = form_of(&json!({
        "properties": {
            "a": {"type": "hologram", "title": "Hologram", "default": 5}, "b": 7, "c": {"title": "No type"},
            "d": {"type": "string", "minLength": "two", "pattern": "(?=x)", "format": "iban", "default": 5},
            "e": {"type": "string", "enum": []}, "f": {"type": "array", "items": {"type": "string"}},
            "g": {"type": "integer", "minimum": 1.5, "maximum": null, "default": 3.0},
            "h": {"type": "string", "enum": ["x", 5], "default": "y"}, "i": {"type": "boolean", "default": "yes"},
            "j": {"type": "array", "items": {"enum": ["x"]}, "default": ["x", "y", 5]},
        },
        "required": ["a", "g", "nowhere", 7],
    }));
    let kinds: Vec<_> = form.fields.iter().map(|field| field.kind.allows()).collect();
    assert_eq!(
        kinds,
        [
            "of unknown type \"hologram\"",
            "of unknown type",
            "of unknown type",
            "text",
            "of unknown type \"a choice of nothing\"",
            "of unknown type \"a list of anything\"",
            "a whole number, at least 2",
            "one of 1",
            "yes or no",
            "any of 1",
        ]
    );
    let defaults: Vec<_> = form.fields.iter().filter_map(|field| field.default.clone()).collect();
    assert_eq!(defaults, [FieldValue::Text("3".into()), FieldValue::Several(vec!["x".into()])]);
    let problems = form.validate(&[]).unwrap_err();
    let problems: Vec<_> =
        problems.iter().map(|(key, line)| (key.as_str(), line.as_str())).collect();
    assert_eq!(problems, [("a", "cannot be filled in here"), ("g", "is required")]);
}

/// ACP 131.
#[test]
fn a_mode_that_was_not_advertised_is_refused() {
    let with = |more: Json| {
        let mut params = json!({"sessionId": "s", "message": "?"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    assert!(refusal(&with(json!({"mode": "_telepathy"}))).contains("_telepathy"));
    assert!(refusal(&with(json!({}))).contains("mode"));
    assert!(refusal(&with(json!({"mode": "form"}))).contains("requestedSchema"));
    assert!(refusal(&with(json!({"mode": "url", "url": "https://a.b"}))).contains("elicitationId"));
    for url in ["no URL", "file:///etc/passwd", "javascript:alert(1)", "https://"] {
        let params = with(json!({"mode": "url", "elicitationId": "e", "url": url}));
        assert!(refusal(&params).contains("url"), "{url}");
    }
    let nowhere = json!({"mode": "form", "message": "?", "requestedSchema": {}});
    assert!(refusal(&nowhere).contains("sessionId or requestId"));
}

#[test]
fn answers_are_encoded_as_the_protocol_requires() {
    let encoded = |action: Action| serde_json::to_string(&response(&action)).unwrap();
    assert_eq!(encoded(Action::Decline), r#"{"action":"decline"}"#);
    assert_eq!(encoded(Action::Cancel), r#"{"action":"cancel"}"#);
    assert_eq!(encoded(Action::Accept(None)), r#"{"action":"accept"}"#);
    let content = vec![
        ("i".to_owned(), Value::Integer(3)),
        ("n".to_owned(), Value::Number(2.5)),
        ("s".to_owned(), Value::Texts(vec!["x".into(), "y".into()])),
    ];
    assert_eq!(
        encoded(Action::Accept(Some(content))),
        r#"{"action":"accept","content":{"i":3,"n":2.5,"s":["x","y"]}}"#
    );
}

/// Holds (Forms and URLs): A form too long to show is refused, with what can be shown.
#[test]
fn an_elicitation_over_a_limit_is_refused_with_the_limit() {
    let with = |message: &str, schema: Json| json!({"sessionId": "s", "mode": "form", "message": message, "requestedSchema": schema});
    let rest = with("", json!({"properties": {}})).to_string().len();
    assert!(read(&with(&"x".repeat(MAX_PARAMS_BYTES - rest), json!({"properties": {}}))).is_ok());
    let text = refusal(&with(&"x".repeat(MAX_PARAMS_BYTES - rest + 1), json!({"properties": {}})));
    assert_eq!(text, "an elicitation of 65537 bytes is too long, at most 65536 can be");
    let choices = |count: usize| (0..count).map(|n| json!(n.to_string())).collect::<Vec<_>>();
    for several in [false, true] {
        let schema = |count| {
            let one = json!({"type": "string", "enum": choices(count)});
            let property = if several { json!({"type": "array", "items": one}) } else { one };
            json!({"properties": {"a": {"type": "boolean"}, "b": property}})
        };
        assert!(read(&with("?", schema(MAX_CHOICES))).is_ok());
        let text = refusal(&with("?", schema(MAX_CHOICES + 1)));
        assert_eq!(text, "b has 501 choices, at most 500 can be in one field");
    }
}
