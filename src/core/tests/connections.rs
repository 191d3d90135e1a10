//! Several sessions on one agent.

use super::*;
use crate::session::agent::Capability;

/// Two chats on one agent, both ready: sessions `s` and `s2`.
fn two_ready_chats() -> World {
    let mut world = World::ready();
    world.handle(start_new());
    assert!(matches!(world.calls[..], [(_, Call::NewSession(_))]), "the agent is there already");
    world.reply();
    assert_eq!(chat_state(&world, 2), ChatState::Ready);
    world
}

fn chat_state(world: &World, chat: u32) -> ChatState {
    world.state.chats[&ChatId(chat)].state()
}

fn say_in(world: &mut World, session: &str, text: &str) {
    let content = Content::Text(text.to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.agent_sends(AgentEvent::Update { session: session.into(), update });
}

fn transcript(world: &World, chat: u32) -> String {
    format!("{:?}", world.state.chats[&ChatId(chat)].transcript.entries())
}

/// ACP 47.
/// Holds (Sessions): Sessions on one connection have their own turns and transcripts.
#[test]
fn each_session_has_its_own_turn_and_its_own_words() {
    let mut world = two_ready_chats();
    world.handle(prompt("second"));
    let first = Prompt { text: "first".to_owned(), ..Prompt::default() };
    world.handle(Event::User(UserAction::Prompt {
        chat: Some(ChatId(1)),
        prompt: first,
        now: false,
    }));
    say_in(&mut world, "s2", "to two");
    say_in(&mut world, "s", "to one");
    assert!(transcript(&world, 1).contains("to one") && !transcript(&world, 1).contains("to two"));
    assert!(transcript(&world, 2).contains("to two") && !transcript(&world, 2).contains("to one"));
    world.request_permission("1");
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Waiting, ChatState::Running)
    );
    // A cancel only answers requests of its own session.
    world.handle(Event::User(UserAction::Cancel(Some(ChatId(2)))));
    assert!(world.answers_to(1).is_empty());
    world.reply();
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Waiting, ChatState::Ready)
    );
}

#[test]
fn a_chat_that_stops_leaves_the_agent_to_the_others() {
    let mut world = two_ready_chats();
    world.state.chats.get_mut(&ChatId(2)).unwrap().info.capabilities = world
        .state
        .chats
        .get_mut(&ChatId(2))
        .unwrap()
        .info
        .capabilities
        .with(Capability::Close, true);
    world.handle(Event::User(UserAction::Stop(Some(ChatId(2)))));
    assert!(matches!(&world.calls[..], [(_, Call::Close(session))] if session.as_ref() == "s2"));
    world.reply_with_error(CallError::Rpc {
        code: -32603,
        message: "no".to_owned(),
        detail: None,
        data: None,
    });
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Ready, ChatState::Stopped)
    );
    world.handle(Event::User(UserAction::Stop(Some(ChatId(1)))));
    assert_eq!(world.agent, None, "the last one ends it");
}

#[test]
fn the_end_of_an_agent_ends_all_its_chats_and_is_reported_once() {
    let mut world = two_ready_chats();
    world.handle(prompt("second"));
    play(&mut world, Step::Exit);
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Failed, ChatState::Failed)
    );
    let told = world.messages.iter().filter(|it| matches!(it, EditorMessage::Notify(..))).count();
    assert_eq!(told, 1);
    // The next prompt starts one agent. Each chat reconnects when it is used.
    world.handle(prompt("again"));
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Failed, ChatState::Starting)
    );
}

#[test]
fn a_restart_reconnects_all_chats_of_the_agent() {
    let mut world = two_ready_chats();
    world.handle(Event::User(UserAction::Restart { chat: Some(ChatId(1)), force: false }));
    assert!(matches!(world.calls[..], [(_, Call::Initialize)]), "one agent for both");
    world.reply();
    world.reply();
    world.reply();
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Ready, ChatState::Ready)
    );
}

/// Holds (Sessions): `:RatRestart` ends no turn of another chat without `!`.
#[test]
fn a_restart_ends_no_turn_of_another_chat_unless_forced() {
    let mut world = two_ready_chats();
    world.handle(prompt("in the second"));
    let restart =
        |chat, force| Event::User(UserAction::Restart { chat: Some(ChatId(chat)), force });
    world.handle(restart(1, false));
    assert_eq!(chat_state(&world, 2), ChatState::Running);
    let text = "Fake is also working in 1 other chat. :RatRestart! ends that turn and restarts it.";
    assert!(
        world.messages.iter().any(|it| {
            matches!(it, EditorMessage::Notify(_, notice) if notice.to_string() == text)
        }),
        "{:?}",
        world.messages
    );
    world.handle(restart(1, true));
    assert_eq!(chat_state(&world, 2), ChatState::Starting);
}

/// ACP 30.
/// Holds (Sessions): One login serves all sessions that wait for it.
#[test]
fn one_login_serves_all_sessions_that_wait_for_it() {
    let mut world = World::ready();
    world.handle(start_new());
    let methods = ["key", "browser"].map(|id| AuthMethod {
        id: id.into(),
        name: id.to_owned(),
        description: None,
        kind: AuthKind::Agent,
    });
    for chat in world.state.chats.values_mut() {
        chat.info.auth_methods = methods.to_vec();
    }
    let login_required =
        || CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), detail: None, data: None };
    world.reply_with_error(login_required());
    let first = Prompt { text: "first".to_owned(), ..Prompt::default() };
    world.handle(Event::User(UserAction::Prompt {
        chat: Some(ChatId(1)),
        prompt: first,
        now: false,
    }));
    world.reply_with_error(login_required());
    assert_eq!(world.questions.len(), 1, "asked once");
    play(&mut world, Step::Question(Some(1)));
    assert!(matches!(world.reply(), Some(Call::Authenticate(id)) if id.as_ref() == "browser"));
    assert_eq!(
        (chat_state(&world, 1), chat_state(&world, 2)),
        (ChatState::Running, ChatState::Starting)
    );
    // The prompt waits for its checkpoint first.
    let [(_, Call::NewSession(_)), (_, Call::Prompt { .. })] = &world.calls[..] else {
        panic!("{:?}", world.calls)
    };
}
