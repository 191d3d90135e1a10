//! Turns: cancelled, allowed, interrupted by a login.

use super::*;

/// ACP 67, 72.
#[test]
fn cancel_answers_what_waits_and_ends_with_the_agents_answer() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    world.permission("1");
    assert_eq!(world.stands(), ChatState::Waiting);
    world.happen(Event::User(UserAction::Cancel(None)));
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Cancelled)]);
    assert_eq!(world.stands(), ChatState::Cancelling);
    world.permission("2");
    assert_eq!(world.answers_to(2), [Answer::Permission(Outcome::Cancelled)]);
    world.refuse(CallError::Rpc { code: -32603, message: "aborted".to_owned(), data: None });
    assert_eq!(world.stands(), ChatState::Ready);
}

#[test]
fn an_always_settles_requests_that_are_alike() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    world.permission("1");
    world.permission("2");
    let choice = PermissionChoice::Option("always".into());
    world.happen(Event::User(UserAction::Permission {
        chat: None,
        id: None,
        revision: None,
        choice,
    }));
    let always = [Answer::Permission(Outcome::Selected("always".into()))];
    assert_eq!(world.answers_to(1), always);
    assert_eq!(world.answers_to(2), always);
}

/// ACP 45.
#[test]
fn updates_before_the_session_is_known_are_kept() {
    let mut world = World::default();
    world.happen(start());
    world.answer();
    let content = Content::Text("early".to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.say(FromAgent::Update { session: "s".into(), update });
    world.answer();
    let chat = &world.state.chats[&ChatId(1)];
    assert!(chat.transcript.entries().iter().any(|entry| format!("{entry:?}").contains("early")));
}

#[test]
fn a_login_in_the_middle_of_a_session_keeps_the_prompt() {
    let mut world = World::ready();
    let method = AuthMethod {
        id: "key".into(),
        name: "Key".to_owned(),
        description: None,
        kind: AuthKind::Agent,
    };
    world.state.chats.get_mut(&ChatId(1)).unwrap().info.auth_methods.push(method);
    world.happen(prompt("go"));
    world.refuse(CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None });
    assert!(matches!(world.answer(), Some(Call::Authenticate(_))));
    assert!(matches!(&world.calls[..], [(_, Call::Prompt { .. })]));
    assert!(matches!(world.state.chats[&ChatId(1)].phase, Phase::Running(_)));
}
