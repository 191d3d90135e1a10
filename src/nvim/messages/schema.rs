//! Generates the annotations for Lua and `doc/messages.md` from the types of the messages. The tests compare them with
//! the files, and write the files if `UPDATE_EXPECT` is set.

mod lua;
mod markdown;
mod model;

use super::applied::FrameAnswer;
use super::calls::{self, Call};
use super::from_lua::FromLua;
use super::to_lua::ToLua;
use super::to_lua::event::SessionEvent;
use expect_test::expect_file;
use model::{Group, Kind, Type};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of a call.
pub(in crate::nvim) struct CallSchema {
    name: String,
    arguments: Schema,
    answer: Schema,
}

impl CallSchema {
    pub(in crate::nvim) fn of<C: Call + JsonSchema>() -> Self
    where
        C::Answer: JsonSchema,
    {
        let name = format!("{}.{}", C::MODULE, C::FUNCTION);
        Self { name, arguments: written::<C>(), answer: read::<C::Answer>() }
    }
}

fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<T>()
}

fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::default().for_deserialize().into_generator().into_root_schema_for::<T>()
}

fn to_lua() -> Group {
    Group::of_messages("rat.msg", &written::<ToLua>())
}

fn events() -> Group {
    Group::of_messages("rat.event", &written::<SessionEvent>())
}

fn from_lua() -> Group {
    Group::of_messages("rat.notify", &read::<FromLua>())
}

fn called() -> Group {
    let mut all = calls::rpc::schema();
    all.extend(calls::document::schema());
    all.extend(calls::completion::schema());
    all.extend(calls::tools::schema());
    let mut group = Group::new("rat.call");
    for call in &all {
        group.add_call(&call.name, &call.arguments, &call.answer);
    }
    // The argument of `apply` is the list of messages to Lua, so only its result is added.
    group.add_answer(&read::<FrameAnswer>());
    group
}

fn in_project(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Holds (Messages between Lua and the binary): The annotations for Lua and the page of messages follow from the types.
#[test]
fn annotations_for_lua_match_the_types() {
    let files = [
        ("to_lua", "What the binary tells Lua, by the fields of each message.", to_lua(), None),
        (
            "from_lua",
            "What Lua tells the binary, by the fields of each message.",
            from_lua(),
            Some(to_lua()),
        ),
        (
            "events",
            "What listeners of `require(\"rat\").on` are told, by the fields of each event.",
            events(),
            Some(to_lua()),
        ),
        (
            "calls",
            "What the binary hands to functions of Lua, and what they answer.",
            called(),
            None,
        ),
    ];
    for (name, what, group, other) in files {
        let path = in_project(&format!("lua/rat/rpc/messages/{name}.lua"));
        expect_file![path].assert_eq(&lua::file(what, &group, other.as_ref()));
    }
}

/// Lua knows the names of the events at runtime, to refuse others.
#[test]
fn the_names_of_events_match_the_types() {
    let path = in_project("lua/rat/rpc/event_names.lua");
    let names: Vec<String> = events().messages.into_iter().map(|event| event.name).collect();
    expect_file![path].assert_eq(&lua::names(&names));
}

#[test]
fn every_event_can_be_listened_to() {
    let group = from_lua();
    let Some(Kind::Words { words, .. }) = group.get("EventName") else { panic!("no words") };
    let words: Vec<_> = words.iter().map(|(word, _)| word.clone()).collect();
    let events: Vec<_> = events().messages.into_iter().map(|event| event.name).collect();
    assert_eq!(words, events);
}

#[test]
fn the_messages_page_matches_the_types() {
    let page = markdown::page(&to_lua(), &from_lua(), &called(), &events());
    expect_file![in_project("doc/messages.md")].assert_eq(&page);
}

#[test]
fn every_message_and_field_is_documented() {
    for group in [to_lua(), from_lua(), called(), events()] {
        for message in &group.messages {
            assert!(
                message.doc.ends_with('.'),
                "{}.{}: {:?}",
                group.prefix,
                message.name,
                message.doc
            );
        }
        for (name, kind) in &group.types {
            let Kind::Table { fields, .. } = kind else { continue };
            for field in fields {
                let (field, doc) = (&field.name, &field.doc);
                assert!(doc.ends_with('.'), "{}.{name}.{field}: {doc:?}", group.prefix);
            }
        }
    }
}

/// If two types had the same name, schemars would append a number to the second.
#[test]
fn type_names_are_unique_within_a_group() {
    for group in [to_lua(), from_lua(), called(), events()] {
        for (name, _) in &group.types {
            assert!(!name.ends_with(|it: char| it.is_ascii_digit()), "{}.{name}", group.prefix);
        }
    }
}

/// Text that agents have had an influence on only reaches the screen through these messages.
/// Holds (Messages between Lua and the binary): No text goes to Lua without saying how it is shown.
#[test]
fn every_text_for_lua_has_a_type_that_says_how_it_is_handled() {
    let (group, events) = (to_lua(), events());
    let open = |ty: &Type| ty.any(&|ty| matches!(ty, Type::Plain("string")));
    for (name, kind) in group.types.iter().chain(&events.types) {
        match kind {
            Kind::Table { fields, .. } => {
                for field in fields {
                    assert!(!open(&field.ty), "{name}.{}: a bare text", field.name);
                }
            }
            Kind::Other { ty, .. } => assert!(!open(ty), "{name}: a bare text"),
            Kind::Text { .. } | Kind::Words { .. } => {}
        }
    }
    assert!(group.types.len() > 20);
}
