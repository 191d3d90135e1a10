//! Everything an agent may say, made from the schemas and played to `Peer` and `State`: nothing panics, each request gets
//! one answer, what is valid is drawn without a complaint, and the session goes on.

use super::forge::{Filling, Flaw, Forge, Forged, Harm};
use super::schema::{Schema, V1, V2};
use super::version::{BOTH, FIRST, SECOND, Version};
use super::world::World;
use proptest::prelude::*;
use rat_nvim::acp::v1::table::handles;
use rat_nvim::core::messages::elicitation::ElicitationChoice;
use rat_nvim::core::messages::status::ChatState;
use rat_nvim::core::messages::user::PermissionChoice;
use serde_json::{Value as Json, json};

/// How many of the flaws of one kind are made at most in one message.
const PLACES: usize = 200;

/// Calls `each` with messages of a definition: full in several ways, least, and each flaw in each place of the full ones.
pub(crate) fn every_way(
    forge: impl Fn(Filling) -> Forge<'static>,
    name: &str,
    mut each: impl FnMut(Forged),
) {
    each(forge(Filling::Least).make(name));
    for first in 0..4 {
        each(forge(Filling::Full(first)).make(name));
        for flaw in Flaw::ALL {
            for place in 0..PLACES {
                let forged = forge(Filling::Full(first)).flaw(flaw, place).make(name);
                if forged.flaws == 0 {
                    break;
                }
                each(forged);
            }
        }
    }
}

/// The names of the variants of `session/update`, with the places of their branches.
fn variants(schema: &'static Schema) -> impl Iterator<Item = (usize, &'static str)> {
    let tag = |branch: &'static Json| branch["properties"]["sessionUpdate"]["const"].as_str();
    let branches = schema.branches("SessionUpdate").iter().enumerate();
    branches.filter_map(move |(index, branch)| Some((index, tag(branch)?)))
}

/// The turn ends, and the next prompt works.
fn goes_on(version: &Version, world: &mut World, what: &dyn std::fmt::Debug) {
    world.deny_all();
    world.answer_forms(&ElicitationChoice::Decline);
    version.end_turn(world);
    // A tool call may go on after its turn.
    let stands = world.stands;
    assert!(matches!(stands, ChatState::Ready | ChatState::Running), "{what:?}: {stands:?}");
    world.prompt("and now?");
    world.update(&json!({"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "It goes on."}, "messageId": "goes-on"}));
    version.end_turn(world);
    assert_eq!(world.stands, ChatState::Ready, "{what:?}");
    assert!(world.drawn().contains("It goes on."), "{what:?}: {}", world.drawn());
}

fn check_update(version: &Version, tag: &str, forged: &Forged) {
    let params = &forged.json;
    let mut world = version.in_a_turn();
    world.receive(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    assert!(world.answers.is_empty(), "a notification was answered: {params}");
    let complaints = world.complaints();
    let known = handles(version.updates, tag);
    let reports_error = params["update"]["stopReason"] == "error";
    let mut complaints = complaints;
    // In version 2, what nobody knows is allowed almost everywhere, and shown as such.
    complaints.retain(|line| version.number == 1 || !line.contains("unknown type"));
    if known && forged.harm == Harm::None && !reports_error {
        assert_eq!(complaints, [""; 0], "{params}");
    }
    // A word that is not known may be that of the update or of a part it consists of; else one row says so.
    let is_strict = forged.harm > Harm::None && version.number == 2;
    let malformed = complaints.iter().any(|line| line.contains("malformed"));
    assert!(!malformed || is_strict, "{params}: {complaints:?}");
    let errors: Vec<_> = complaints.iter().filter(|line| line.starts_with("E|")).collect();
    assert!(errors.is_empty() || reports_error, "{params}: {errors:?}");
    goes_on(version, &mut world, params);
}

/// ACP 77, 79.
#[test]
fn every_update_is_taken_in_every_way_it_can_be_said() {
    for version in &BOTH {
        let mut count = 0;
        for (index, tag) in variants(version.schema) {
            let forge =
                |filling| Forge::new(version.schema, filling).branch("SessionUpdate", index);
            every_way(forge, version.update, |forged| {
                count += 1;
                check_update(version, tag, &forged);
            });
        }
        assert!(count > 2000, "only {count} updates were made of version {}", version.number);
    }
    for (index, tag) in variants(&V1) {
        let forge = Forge::new(&V1, Filling::Full(0)).branch("SessionUpdate", index);
        check_update(&FIRST, tag, &forge.make("SessionNotification"));
    }
}

#[test]
fn an_update_of_version_2_costs_an_agent_of_version_1_a_row_and_no_more() {
    for (index, _) in variants(&V2) {
        for filling in [Filling::Least, Filling::Full(0), Filling::Full(1), Filling::Full(2)] {
            let forge = Forge::new(&V2, filling).branch("SessionUpdate", index);
            let params = forge.make("UpdateSessionNotification").json;
            let mut world = World::in_a_turn();
            world.receive(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
            assert!(world.complaints().iter().all(|line| !line.starts_with("E|")), "{params}");
            goes_on(&FIRST, &mut world, &params);
        }
    }
}

/// What came back for the request of this id: exactly one answer, whose error's code is given.
fn answer_to(world: &World, id: &Json) -> Result<Json, i64> {
    let answers = world.answers.get(&id.to_string()).map_or(&[][..], Vec::as_slice);
    assert_eq!(answers.len(), 1, "{id}: {answers:?}");
    let answer = &answers[0];
    match (answer.get("result"), answer["error"]["code"].as_i64()) {
        (Some(result), None) => Ok(result.clone()),
        (None, Some(code)) => Err(code),
        _ => panic!("neither a result nor an error: {answer}"),
    }
}

/// Whether an elicitation is of a mode we did not advertise, or belongs to a request that we did not make.
fn is_of_nobody(params: &Json) -> bool {
    let known = ["form", "url"].iter().any(|mode| params["mode"] == *mode);
    !known || !params["sessionId"].is_string()
}

fn check_request(version: &Version, method: &str, forged: &Forged) {
    let params = &forged.json;
    let mut world = version.in_a_turn();
    let id = json!("7-é");
    world.receive(&json!({"params": params, "method": method, "id": id}));
    world.decide(PermissionChoice::Allow);
    world.deny_all();
    world.answer_forms(&ElicitationChoice::Accept(Vec::new()));
    world.answer_forms(&ElicitationChoice::Decline);
    let answer = answer_to(&world, &id);
    if !handles(version.to_client, method) {
        assert_eq!(answer, Err(-32601), "{method}: {params}");
    } else if forged.harm < Harm::Strict && params.get("terminalId").is_some() {
        assert_eq!(answer, Err(-32002), "{method}, of a terminal nobody made: {params}");
    } else if method == "elicitation/create" && is_of_nobody(params) {
        assert_eq!(answer, Err(-32602), "{params}");
    } else if forged.harm < Harm::Strict {
        assert!(answer.is_ok(), "{method} is what the schema allows: {params}: {answer:?}");
    } else {
        assert!(matches!(answer, Ok(_) | Err(-32602)), "{method}: {params}: {answer:?}");
    }
    goes_on(version, &mut world, params);
}

/// ACP 11, 12, 14.
#[test]
fn every_request_and_notification_gets_what_it_should_in_every_way_it_can_be_said() {
    for version in &BOTH {
        let mut count = 0;
        for row in version.to_client.iter().filter(|row| row.name != "session/update") {
            let forge = |filling| Forge::new(version.schema, filling);
            if let Some(name) = version.schema.of_method("client", row.name, "Request") {
                every_way(forge, name, |forged| {
                    count += 1;
                    check_request(version, row.name, &forged);
                });
            }
            if let Some(name) = version.schema.of_method("client", row.name, "Notification") {
                every_way(forge, name, |forged| {
                    let mut world = version.in_a_turn();
                    world.receive(&json!({"method": row.name, "params": forged.json}));
                    assert!(world.answers.is_empty(), "{} was answered", row.name);
                    goes_on(version, &mut world, &forged.json);
                });
            }
        }
        assert!(count > 300, "only {count} requests were made of version {}", version.number);
    }
}

/// A required field that is missing or makes no sense is told, and nothing else comes of it.
/// ACP 14.
#[test]
fn a_request_without_what_it_needs_is_told_what_that_is() {
    for version in &BOTH {
        for row in version.to_client {
            let Some(name) = version.schema.of_method("client", row.name, "Request") else {
                continue;
            };
            let whole = Forge::new(version.schema, Filling::Full(0)).make(name).json;
            let required = version.schema.definition(name)["required"].as_array().unwrap();
            for field in required.iter().filter_map(Json::as_str) {
                check_without(version, row.name, &whole, field);
            }
        }
    }
}

fn check_without(version: &Version, method: &str, whole: &Json, field: &str) {
    for wrong in [None, Some(json!(null)), Some(json!(5)), Some(json!(true))] {
        let mut params = whole.clone();
        match wrong {
            Some(wrong) => params[field] = wrong,
            None => drop(params.as_object_mut().unwrap().remove(field)),
        }
        let mut world = version.in_a_turn();
        world.receive(&json!({"id": 1, "method": method, "params": params}));
        let code = answer_to(&world, &json!(1)).unwrap_err();
        let handled = handles(version.to_client, method);
        assert_eq!(code, if handled { -32602 } else { -32601 }, "{method}: {params}");
        let answer = world.answers["1"][0]["error"]["message"].as_str().unwrap().to_owned();
        assert!(!handled || answer.contains(field), "{field}: {answer}");
        goes_on(version, &mut world, &params);
    }
}

/// One thing a random agent does.
#[derive(Debug, Clone)]
struct LuaMessage {
    what: usize,
    mischief: bool,
    draws: Vec<u32>,
}

fn said() -> impl Strategy<Value = LuaMessage> {
    let draws = prop::collection::vec(any::<u32>(), 0..80);
    (any::<usize>(), any::<bool>(), draws).prop_map(|(what, mischief, draws)| LuaMessage {
        what,
        mischief,
        draws,
    })
}

/// Says it. Gives the id of a request.
fn say(version: &Version, world: &mut World, said: LuaMessage, number: usize) -> Option<Json> {
    let LuaMessage { what, mischief, draws } = said;
    let forge = Forge::new(version.schema, Filling::Chance { draws, mischief });
    let variants = version.schema.branches("SessionUpdate").len();
    let which = what % (variants + version.to_client.len());
    if which < variants {
        let params = forge.branch("SessionUpdate", which).make(version.update).json;
        world.receive(&json!({"method": "session/update", "params": params}));
        return None;
    }
    let method = version.to_client[which - variants].name;
    let name = version.schema.of_method("client", method, "Request")?;
    let (params, id) = (forge.make(name).json, json!(number));
    world.receive(&json!({"id": id, "method": method, "params": params}));
    Some(id)
}

fn check_conversation(version: &Version, all: Vec<LuaMessage>) -> Result<(), TestCaseError> {
    let mut world = version.in_a_turn();
    let mut asked = Vec::new();
    for (number, said) in all.into_iter().enumerate() {
        asked.extend(say(version, &mut world, said, number));
    }
    // An agent of version 2 may report the error that ended its turn.
    if version.number == 1 {
        let errors: Vec<_> =
            world.complaints().into_iter().filter(|line| line.starts_with("E|")).collect();
        prop_assert!(errors.is_empty(), "{:?}", errors);
    }
    goes_on(version, &mut world, &"a random conversation");
    for id in &asked {
        prop_assert_eq!(world.answers.get(&id.to_string()).map(Vec::len), Some(1), "{}", id);
    }
    world.stop();
    for (id, answers) in &world.answers {
        prop_assert_eq!(answers.len(), 1, "{}: {:?}", id, answers);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// ACP 11.
    #[test]
    fn any_conversation_leaves_nothing_unanswered(all in prop::collection::vec(said(), 1..8)) {
        check_conversation(&FIRST, all)?;
    }

    #[test]
    fn any_conversation_in_version_2_leaves_nothing_unanswered(
        all in prop::collection::vec(said(), 1..8),
    ) {
        check_conversation(&SECOND, all)?;
    }
}
