//! Formats and the words for what is allowed and wrong, by example.

use super::*;
use crate::session::update::Choice;

fn text(length: (Option<u64>, Option<u64>), format: Option<Format>) -> Kind {
    Kind::Text { length, pattern: None, format }
}

fn field(kind: Kind, required: bool) -> Field {
    let key = "key".to_owned();
    Field { title: key.clone(), key, description: None, required, kind, default: None }
}

fn read(field: &Field, given: Given) -> Result<Option<Value>, String> {
    field.read(Some(&given))
}

/// ACP 126.
#[test]
fn formats_are_told_apart_from_what_only_looks_like_them() {
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
            assert!(format.fits(text), "{text:?} is {}", format.words());
        }
        for text in bad {
            assert!(!format.fits(text), "{text:?} is not {}", format.words());
        }
    }
    for name in ["email", "uri", "date", "date-time"] {
        assert!(Format::named(name).is_some(), "{name}");
    }
    assert_eq!(Format::named("iban"), None);
}

/// ACP 126.
#[test]
fn problems_are_told_in_one_line() {
    let problem = |kind: Kind, given: Given| read(&field(kind, true), given).unwrap_err();
    let given = |text: &str| Given::Text(text.to_owned());
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
    assert_eq!(problem(text((None, None), None), given("")), "is needed");
    assert_eq!(problem(Kind::Integer(Some(1), None), given("1.5")), "has to be a whole number");
    assert_eq!(problem(Kind::Integer(Some(1), None), given("0")), "at least 1, not 0");
    assert_eq!(
        problem(Kind::Integer(None, None), given("9223372036854775808")),
        "has to be a whole number"
    );
    for number in ["inf", "nan", "1e999", "one"] {
        assert_eq!(problem(Kind::Number(None, None), given(number)), "has to be a number");
    }
    assert_eq!(problem(Kind::Choice(vec![named("a")]), given("b")), "is not one of the choices");
    let several =
        || Kind::Several { choices: vec![named("a"), named("b")], count: (Some(2), None) };
    assert_eq!(problem(several(), Given::Several(vec!["a".into()])), "at least 2 chosen, not 1");
    // One that is chosen twice is one.
    assert_eq!(
        problem(several(), Given::Several(vec!["a".into(), "a".into()])),
        "at least 2 chosen, not 1"
    );
}

#[test]
fn what_is_left_out_is_not_sent_unless_it_is_needed() {
    let choices =
        vec![Choice { value: "a".into(), name: "a".into(), description: None, group: None }];
    let several = |least| Kind::Several { choices: choices.clone(), count: (least, None) };
    let none = Given::Several(Vec::new());
    assert_eq!(read(&field(several(Some(1)), false), none.clone()), Ok(None));
    assert_eq!(field(several(None), true).read(None), Ok(Some(Value::Texts(Vec::new()))));
    assert_eq!(read(&field(several(None), true), none.clone()), Ok(Some(Value::Texts(Vec::new()))));
    assert!(read(&field(several(Some(1)), true), none).is_err());
    assert_eq!(
        read(&field(text((Some(3), None), None), false), Given::Text(String::new())),
        Ok(None)
    );
    assert_eq!(field(Kind::Boolean, false).read(None), Ok(None));
    assert!(field(Kind::Boolean, true).read(None).is_err());
    assert_eq!(field(Kind::Unknown("x".into()), false).read(Some(&Given::Flag(true))), Ok(None));
}
