//! What agents may answer to our calls, made from the schemas: no answer ends a session that it does not have to end, and
//! one that lacks what it needs is one clear message.

use super::forge::{Filling, Forge, Forged};
use super::generated::every_way;
use super::schema::UNSTABLE;
use super::world::World;
use proptest::prelude::*;
use rat_nvim::core::messages::editor::Level;
use rat_nvim::core::messages::status::ChatState;
use rat_nvim::core::messages::user::{SessionAction, SessionTarget, UserAction};
use rat_nvim::session::fork::ForkPoint;
use serde_json::{Value as Json, json};

/// A call of ours, and how it comes about.
struct Case {
    method: &'static str,
    pending: fn() -> World,
}

const CASES: &[Case] = &[
    Case { method: "initialize", pending: World::start },
    Case { method: "authenticate", pending: logging_in },
    Case { method: "session/new", pending: || initialized(&json!({})) },
    Case { method: "session/load", pending: || restarted(&json!({"loadSession": true})) },
    Case {
        method: "session/resume",
        pending: || restarted(&json!({"sessionCapabilities": {"resume": {}}})),
    },
    Case { method: "session/fork", pending: forking },
    Case { method: "session/list", pending: listing },
    Case { method: "session/set_config_option", pending: setting_an_option },
    Case { method: "session/set_mode", pending: setting_the_mode },
    Case { method: "session/prompt", pending: World::in_a_turn },
];

fn initialized(capabilities: &Json) -> World {
    let mut world = World::start();
    let result = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
    world.answer("initialize", &result);
    world
}

/// A session that the agent had is being opened again.
fn restarted(capabilities: &Json) -> World {
    let mut world = initialized(capabilities);
    world.answer("session/new", &json!({"sessionId": "s"}));
    world.user(UserAction::Restart { chat: None, force: false });
    let result = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
    world.answer("initialize", &result);
    world
}

/// A session begins where another one is.
fn forking() -> World {
    let capabilities = json!({"sessionCapabilities": {"fork": {}}});
    let mut world = initialized(&capabilities);
    world.answer("session/new", &json!({"sessionId": "old"}));
    world.start_chat("/project", SessionTarget::Fork(ForkPoint::whole("old")));
    world
}

/// The user wants to choose from all sessions.
fn listing() -> World {
    let mut world = initialized(&json!({"sessionCapabilities": {"list": {}}}));
    world.answer("session/new", &json!({"sessionId": "s"}));
    world.user(UserAction::ListSessions { act: SessionAction::Open, cwd: "/project".into() });
    world
}

fn setting(setup: &Json, option: &str, value: &str) -> World {
    let mut world = initialized(&json!({}));
    let mut session = json!({"sessionId": "s"});
    session.as_object_mut().unwrap().extend(setup.as_object().unwrap().clone());
    world.answer("session/new", &session);
    let (option, value) = (option.to_owned(), value.to_owned());
    world.user(UserAction::SetOption { chat: None, option, value });
    world
}

fn setting_an_option() -> World {
    let option = json!({"id": "web", "name": "Web", "type": "boolean", "currentValue": false});
    setting(&json!({"configOptions": [option]}), "web", "on")
}

fn setting_the_mode() -> World {
    let modes = json!([{"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}]);
    setting(&json!({"modes": {"currentModeId": "ask", "availableModes": modes}}), "mode", "plan")
}

fn logging_in() -> World {
    let mut world = World::start();
    let methods = json!([{"id": "key", "name": "Key"}]);
    world.answer("initialize", &json!({"protocolVersion": 1, "authMethods": methods}));
    let called = world.take_call("session/new");
    let error = json!({"code": -32000, "message": "Authentication required"});
    world.receive(&json!({"jsonrpc": "2.0", "id": called.id, "error": error}));
    world
}

/// Answers whatever is called until the chat is ready for a prompt, and has one answered.
fn reaches_a_turn(world: &mut World, what: &Json) {
    for _ in 0..4 {
        let Some(called) = world.calls.first().cloned() else { break };
        let result = match &*called.method {
            "initialize" => json!({"protocolVersion": 1}),
            "session/new" => json!({"sessionId": "s"}),
            "session/prompt" => json!({"stopReason": "end_turn"}),
            _ => json!({}),
        };
        world.answer(&called.method, &result);
    }
    assert_eq!(world.stands, ChatState::Ready, "{what}: {}", world.drawn());
    assert!(world.complaints().is_empty(), "{what}: {:?}", world.complaints());
    world.prompt("and now?");
    world.answer("session/prompt", &json!({"stopReason": "end_turn"}));
    assert_eq!(world.stands, ChatState::Ready, "{what}");
}

fn response(method: &str) -> &'static str {
    UNSTABLE.of_method("agent", method, "Response").unwrap()
}

/// The answer, of an agent that speaks our version.
fn speaking_our_version(case: &Case, forged: Forged) -> Json {
    let mut result = forged.json;
    if case.method == "initialize" {
        result["protocolVersion"] = json!(1);
    }
    result
}

/// ACP 25.
#[test]
fn every_answer_is_taken_in_every_way_it_can_be_said() {
    let mut count = 0;
    for case in CASES {
        let forge = |filling| Forge::new(&UNSTABLE, filling);
        every_way(forge, response(case.method), |forged| {
            count += 1;
            let result = speaking_our_version(case, forged);
            let mut world = (case.pending)();
            world.answer(case.method, &result);
            reaches_a_turn(&mut world, &result);
        });
    }
    assert!(count > 500, "only {count} answers were made");
}

/// An answer that says nothing is enough where nothing has to be said.
/// ACP 43.
#[test]
fn no_answer_is_needed_where_nothing_has_to_be_said() {
    for case in CASES
        .iter()
        .filter(|case| UNSTABLE.definition(response(case.method)).get("required").is_none())
    {
        for result in [json!(null), json!({}), json!(5), json!([1])] {
            let mut world = (case.pending)();
            world.answer(case.method, &result);
            reaches_a_turn(&mut world, &result);
        }
    }
}

/// What the user was told of errors, each line once.
fn errors(world: &World) -> Vec<&str> {
    let mut errors: Vec<&str> = Vec::new();
    for (level, text) in &world.told {
        if *level == Level::Error && !errors.contains(&text.as_str()) {
            errors.push(text);
        }
    }
    errors
}

#[test]
fn an_answer_without_what_it_needs_is_one_clear_message() {
    for case in CASES {
        let name = response(case.method);
        let whole = Forge::new(&UNSTABLE, Filling::Full(0)).make(name).json;
        let required = UNSTABLE.definition(name)["required"].as_array();
        for field in required.into_iter().flatten().filter_map(Json::as_str) {
            for wrong in [json!(null), json!(true), json!({}), json!(-1)] {
                let mut result = whole.clone();
                result[field] = wrong;
                let mut world = (case.pending)();
                world.answer(case.method, &result);
                if case.method == "session/prompt" {
                    // A turn has ended, whatever the reason is.
                    assert!(world.drawn().contains("The turn ended without a reason"), "{result}");
                    reaches_a_turn(&mut world, &result);
                    continue;
                }
                // What the session goes on without.
                let less = match case.method {
                    "session/list" => Some("list its sessions"),
                    "session/set_config_option" => Some("could not change Web"),
                    _ => None,
                };
                if let Some(what) = less {
                    let told = world.told.iter().filter(|(_, text)| text.contains(what));
                    assert_eq!(told.count(), 1, "{result}: {:?}", world.told);
                    reaches_a_turn(&mut world, &result);
                    continue;
                }
                let errors = errors(&world);
                assert_eq!(errors.len(), 1, "{result}: {errors:?}");
                assert!(errors[0].contains(field), "{result}: {errors:?}");
                assert!(errors[0].contains(case.method), "{result}: {errors:?}");
                let rows = world.drawn().lines().filter(|line| line.starts_with("E|")).count();
                assert_eq!(rows, 1, "{result}: {}", world.drawn());
                assert_eq!(world.stands, ChatState::Failed, "{result}");
                // The next prompt begins anew.
                world.prompt("again");
                let begins = ["initialize", "session/new", "session/fork"];
                assert!(begins.contains(&&*world.calls[0].method), "{result}: {:?}", world.calls);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_answer_leads_to_a_turn(
        which in 0..CASES.len(),
        draws in prop::collection::vec(any::<u32>(), 0..100),
    ) {
        let case = &CASES[which];
        let forge = Forge::new(&UNSTABLE, Filling::Chance { draws, mischief: true });
        let result = speaking_our_version(case, forge.make(response(case.method)));
        let mut world = (case.pending)();
        world.answer(case.method, &result);
        reaches_a_turn(&mut world, &result);
    }
}
