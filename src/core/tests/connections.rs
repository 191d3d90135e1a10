//! Several sessions on one agent.

use super::*;

/// Two chats on one agent, both ready: sessions `s` and `s2`.
fn two() -> World {
    let mut world = World::ready();
    world.happen(start_new());
    assert!(matches!(world.calls[..], [(_, Call::NewSession(_))]), "the agent is there already");
    world.answer();
    assert_eq!(stands(&world, 2), ChatState::Ready);
    world
}

fn stands(world: &World, chat: u32) -> ChatState {
    world.state.chats[&ChatId(chat)].state()
}

fn say_in(world: &mut World, session: &str, text: &str) {
    let content = Content::Text(text.to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.say(FromAgent::Update { session: session.into(), update });
}

fn transcript(world: &World, chat: u32) -> String {
    format!("{:?}", world.state.chats[&ChatId(chat)].transcript.entries())
}

/// ACP 47.
#[test]
fn each_session_has_its_own_turn_and_its_own_words() {
    let mut world = two();
    world.happen(prompt("second"));
    let first = Prompt { text: "first".to_owned(), attachments: Vec::new() };
    world.happen(Event::User(UserAction::Prompt { chat: Some(ChatId(1)), prompt: first }));
    say_in(&mut world, "s2", "to two");
    say_in(&mut world, "s", "to one");
    assert!(transcript(&world, 1).contains("to one") && !transcript(&world, 1).contains("to two"));
    assert!(transcript(&world, 2).contains("to two") && !transcript(&world, 2).contains("to one"));
    world.permission("1");
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Waiting, ChatState::Running));
    // A cancel answers what waits in its own session only.
    world.happen(Event::User(UserAction::Cancel(Some(ChatId(2)))));
    assert!(world.answers_to(1).is_empty());
    world.answer();
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Waiting, ChatState::Ready));
}

#[test]
fn a_chat_that_stops_leaves_the_agent_to_the_others() {
    let mut world = two();
    world.state.chats.get_mut(&ChatId(2)).unwrap().info.capabilities.close = true;
    world.happen(Event::User(UserAction::Stop(Some(ChatId(2)))));
    assert!(matches!(&world.calls[..], [(_, Call::Close(session))] if session.as_ref() == "s2"));
    world.refuse(CallError::Rpc { code: -32603, message: "no".to_owned(), data: None });
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Ready, ChatState::Stopped));
    world.happen(Event::User(UserAction::Stop(Some(ChatId(1)))));
    assert_eq!(world.agent, None, "the last one ends it");
}

#[test]
fn the_end_of_an_agent_is_the_end_of_all_its_chats_and_told_once() {
    let mut world = two();
    world.happen(prompt("second"));
    play(&mut world, Step::Exit);
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Failed, ChatState::Failed));
    let told = world.seen.iter().filter(|it| matches!(it, ToEditor::Notify(..))).count();
    assert_eq!(told, 1);
    // The next prompt starts one agent, and each chat goes on when it is used.
    world.happen(prompt("again"));
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Failed, ChatState::Starting));
}

#[test]
fn a_restart_takes_all_chats_of_the_agent_along() {
    let mut world = two();
    world.happen(Event::User(UserAction::Restart(Some(ChatId(1)))));
    assert!(matches!(world.calls[..], [(_, Call::Initialize)]), "one agent for both");
    world.answer();
    world.answer();
    world.answer();
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Ready, ChatState::Ready));
}

/// ACP 30.
#[test]
fn one_login_serves_all_sessions_that_wait_for_it() {
    let mut world = World::ready();
    world.happen(start_new());
    let methods = ["key", "browser"].map(|id| AuthMethod {
        id: id.into(),
        name: id.to_owned(),
        description: None,
        kind: AuthKind::Agent,
    });
    for chat in world.state.chats.values_mut() {
        chat.info.auth_methods = methods.to_vec();
    }
    let wanted = || CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None };
    world.refuse(wanted());
    let first = Prompt { text: "first".to_owned(), attachments: Vec::new() };
    world.happen(Event::User(UserAction::Prompt { chat: Some(ChatId(1)), prompt: first }));
    world.refuse(wanted());
    assert_eq!(world.questions.len(), 1, "asked once");
    play(&mut world, Step::Question(Some(1)));
    assert!(matches!(world.answer(), Some(Call::Authenticate(id)) if id.as_ref() == "browser"));
    assert_eq!((stands(&world, 1), stands(&world, 2)), (ChatState::Running, ChatState::Starting));
    let [(_, Call::Prompt { .. }), (_, Call::NewSession(_))] = &world.calls[..] else {
        panic!("{:?}", world.calls)
    };
}
