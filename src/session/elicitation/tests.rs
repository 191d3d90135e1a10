//! Tests of formats and validation messages.

use super::*;
use crate::session::update::Choice;

fn text(length: (Option<u64>, Option<u64>), format: Option<Format>) -> Kind {
    Kind::Text { length, pattern: None, format }
}

fn field(kind: Kind, required: bool) -> Field {
    let key = "key".to_owned();
    Field { title: key.clone(), key, description: None, required, kind, default: None }
}

fn validate(field: &Field, given: FieldValue) -> Result<Option<Value>, String> {
    field.validate(Some(&given))
}

/// ACP 126.
#[test]
fn formats_match_only_valid_values() {
    let cases: [(Format, &[&str], &[&str]); 4] = [
        (
            Format::Email,
            &["a@b.c", "first.last+tag@sub.example.com", "o'neil@example", "ü@exämple.de"],
            &["", "a", "a@", "@b", "a@b..c", "a b@c.d", "a@b c", ".a@b.c", "a@-b.c", "a@b.c\n"],
        ),
        (
            Format::Uri,
            &["https://a.b/c?d#e", "mailto:a@b.c", "urn:isbn:1"],
            &["", "a", "/a/b", "//a", "https://", "https://a b.c"],
        ),
        (
            Format::Date,
            &["2026-11-21", "2024-02-29", "2000-02-29", "0000-01-01"],
            &[
                "2026-02-29",
                "1900-02-29",
                "2026-13-01",
                "2026-00-10",
                "2026-11-31",
                "2026-1-1",
                "21.11.2026",
                "2026-11-21T",
            ],
        ),
        (
            Format::DateTime,
            &["2026-11-21T10:00:00Z", "2026-11-21t10:00:00.123z", "2026-11-21T23:59:60+01:00"],
            &[
                "2026-11-21",
                "2026-11-21T10:00Z",
                "2026-11-21T24:00:00Z",
                "2026-11-21T10:00:00",
                "2026-11-21T10:00:00+1",
                "2026-11-21T10:00:00.Z",
                "2026-02-30T10:00:00Z",
            ],
        ),
    ];
    for (format, good, bad) in cases {
        for text in good {
            assert!(format.matches(text), "{text:?} is {}", format.description());
        }
        for text in bad {
            assert!(!format.matches(text), "{text:?} is not {}", format.description());
        }
    }
    for name in ["email", "uri", "date", "date-time"] {
        assert!(Format::named(name).is_some(), "{name}");
    }
    assert_eq!(Format::named("iban"), None);
}

/// ACP 126.
#[test]
fn each_problem_is_one_line() {
    let problem = |kind: Kind, given: FieldValue| validate(&field(kind, true), given).unwrap_err();
    let given = |text: &str| FieldValue::Text(text.to_owned());
    let named = |value: &str| Choice {
        value: value.to_owned(),
        name: value.to_owned(),
        description: None,
        group: None,
    };
    assert_eq!(problem(text((Some(3), None), None), given("äö")), "at least 3 characters, not 2");
    assert_eq!(problem(text((None, Some(1)), None), given("äö")), "at most 1 characters, not 2");
    assert_eq!(
        problem(text((None, None), Some(Format::Email)), given("a")),
        "is not an e-mail address"
    );
    assert_eq!(problem(text((None, None), None), given("")), "is required");
    assert_eq!(problem(Kind::Integer(Some(1), None), given("1.5")), "must be a whole number");
    assert_eq!(problem(Kind::Integer(Some(1), None), given("0")), "at least 1, not 0");
    assert_eq!(
        problem(Kind::Integer(None, None), given("9223372036854775808")),
        "must be a whole number"
    );
    for number in ["inf", "nan", "1e999", "one"] {
        assert_eq!(problem(Kind::Number(None, None), given(number)), "must be a number");
    }
    assert_eq!(problem(Kind::Choice(vec![named("a")]), given("b")), "is not one of the choices");
    let several =
        || Kind::Several { choices: vec![named("a"), named("b")], count: (Some(2), None) };
    assert_eq!(
        problem(several(), FieldValue::Several(vec!["a".into()])),
        "at least 2 chosen, not 1"
    );
    // A choice that is given twice counts once.
    assert_eq!(
        problem(several(), FieldValue::Several(vec!["a".into(), "a".into()])),
        "at least 2 chosen, not 1"
    );
}

#[test]
fn empty_fields_are_not_sent_unless_required() {
    let choices =
        vec![Choice { value: "a".into(), name: "a".into(), description: None, group: None }];
    let several = |least| Kind::Several { choices: choices.clone(), count: (least, None) };
    let none = FieldValue::Several(Vec::new());
    assert_eq!(validate(&field(several(Some(1)), false), none.clone()), Ok(None));
    assert_eq!(field(several(None), true).validate(None), Ok(Some(Value::Texts(Vec::new()))));
    assert_eq!(
        validate(&field(several(None), true), none.clone()),
        Ok(Some(Value::Texts(Vec::new())))
    );
    assert!(validate(&field(several(Some(1)), true), none).is_err());
    assert_eq!(
        validate(&field(text((Some(3), None), None), false), FieldValue::Text(String::new())),
        Ok(None)
    );
    assert_eq!(field(Kind::Boolean, false).validate(None), Ok(None));
    assert!(field(Kind::Boolean, true).validate(None).is_err());
    assert_eq!(
        field(Kind::Unknown("x".into()), false).validate(Some(&FieldValue::Flag(true))),
        Ok(None)
    );
}
