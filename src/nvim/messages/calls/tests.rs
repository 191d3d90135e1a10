//! Encoding of calls, and decoding of results.

use super::document::*;
use super::*;
use crate::nvim::value::{arguments, read};
use proptest::prelude::*;
use rmpv::Value;
use serde::de::DeserializeOwned;

fn map(fields: Vec<(&str, Value)>) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn facts() -> Vec<(&'static str, Value)> {
    vec![
        ("buf", 3.into()),
        ("tick", 4.into()),
        ("undo", 7.into()),
        ("lines", 5.into()),
        ("bytes", 6.into()),
        ("empty", false.into()),
        ("modified", true.into()),
        ("shape", map(shape())),
        ("formats", "unix,dos".into()),
        ("finds_encoding", true.into()),
    ]
}

fn shape() -> Vec<(&'static str, Value)> {
    vec![
        ("format", "dos".into()),
        ("encoding", "utf-8".into()),
        ("bom", false.into()),
        ("eol", true.into()),
    ]
}

fn refused<T: DeserializeOwned + fmt::Debug>(value: Value) -> String {
    read::<T>(value).unwrap_err().to_string()
}

#[test]
fn missing_arguments_are_nil() {
    let call = Glance { path: "/a", known: None, since: None, from: 1, to: 2 };
    let wanted = vec!["/a".into(), Value::Nil, Value::Nil, 1.into(), 2.into()];
    assert_eq!(arguments(&call), wanted);
    assert_eq!(arguments(&Start {}), [] as [Value; 0]);
    let lines = ["x".to_owned()];
    let edits = vec![Edit(0, -1, 1, -1, &lines)];
    let edit = Value::Array(vec![
        0.into(),
        (-1).into(),
        1.into(),
        (-1).into(),
        Value::Array(vec!["x".into()]),
    ]);
    let call = Apply { buf: 1, tick: 2, edits, unmodified: false };
    assert_eq!(arguments(&call), [1.into(), 2.into(), Value::Array(vec![edit]), false.into()]);
    let call = Decode { bytes: LuaBytes(vec![0xff]), encoding: "cp1250" };
    assert_eq!(arguments(&call), [Value::Binary(vec![0xff]), "cp1250".into()]);
}

/// Holds (Messages between Lua and the binary): An answer from Lua is read whole, or refused with the path of the wrong field.
#[test]
fn each_bad_field_of_an_answer_is_named() {
    let read_facts = read::<Facts>(map(facts()));
    assert_eq!(read_facts.unwrap().shape.format, Format::Dos);
    for (index, (name, value)) in facts().into_iter().enumerate() {
        let mut broken = facts();
        broken[index].1 = Value::Array(vec![1.into()]);
        let error = refused::<Glanced>(map(vec![("facts", map(broken))]));
        assert!(error.starts_with(&format!("facts.{name}: expected ")), "{error}");
        let mut without = facts();
        without.remove(index);
        let error = refused::<Slice>(map(vec![
            ("text", "".into()),
            ("count", 0.into()),
            ("tick", 1.into()),
            ("facts", map(without)),
        ]));
        assert_eq!(error, format!("facts.{name}: missing"), "{value}");
    }
    for (index, (name, _)) in shape().into_iter().enumerate() {
        let mut broken = shape();
        broken[index].1 = Value::Array(vec![1.into()]);
        let error = refused::<Shape>(map(broken));
        assert!(error.starts_with(&format!("{name}: expected ")), "{error}");
    }
    let change = Value::Array(vec![1.into(), "2".into(), Value::Array(vec![])]);
    let mut fields = facts();
    fields.push(("changes", Value::Array(vec![change])));
    let error = refused::<SliceEnds>(map(vec![("facts", map(fields))]));
    assert_eq!(error, "facts.changes[1][2]: expected an integer, got text");
    let error = refused::<Outcome>(map(vec![("saved", (-1).into())]));
    assert_eq!(error, "saved: -1 is out of range (usize)");
    let error = refused::<Option<Facts>>(map(vec![("colour", 1.into())]));
    assert_eq!(error, "colour: no such field");
}

#[test]
fn text_that_is_not_utf8_is_none() {
    let text = |bytes: &[u8]| read::<LuaText>(rmpv::decode::read_value(&mut &*bytes).unwrap());
    assert_eq!(text(b"\xa1a").unwrap().into_string(), Some("a".to_owned()));
    assert_eq!(text(b"\xa1\xff").unwrap().into_string(), None);
    let bytes = read::<LuaBytes>(rmpv::decode::read_value(&mut &b"\xa1\xff"[..]).unwrap());
    assert_eq!(bytes.unwrap().0, [0xff]);
    assert_eq!(refused::<LuaText>(1.into()), "expected text, got an integer");
}

#[test]
fn an_ignored_result_may_be_anything() {
    for value in [Value::Nil, 1.into(), map(facts()), Value::Array(vec![Value::Nil])] {
        assert!(read::<Nothing>(value).is_ok());
    }
}

proptest! {
    #[test]
    fn any_answer_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        field in 0..facts().len(),
    ) {
        let Ok(value) = rmpv::decode::read_value(&mut bytes.as_slice()) else { return Ok(()) };
        let mut fields = facts();
        fields[field].1 = value.clone();
        let _ = read::<Option<Facts>>(map(fields));
        let _ = read::<Outcome>(value.clone());
        let _ = read::<Slice>(value.clone());
        let _ = read::<Encoded>(value.clone());
        let _ = read::<Vec<LuaText>>(value);
    }
}
