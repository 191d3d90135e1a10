//! Sessions that do not begin at once, or that nobody wants any more.

use super::*;
use crate::core::event::SessionAct;
use crate::core::event::agent::NOT_FOUND;
use crate::session::agent::{AgentCapabilities, AuthKind, AuthMethod};
use crate::session::remembered::{Past, Remembered};

fn transcript(world: &World, chat: u32) -> String {
    format!("{:?}", world.state.chats[&ChatId(chat)].transcript.entries())
}

fn wanted() -> CallError {
    CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), data: None }
}

/// An agent that can do all that, and whose sessions need a login.
fn able() -> World {
    let mut world = World::default();
    world.happen(start());
    let (call, _) = world.calls.remove(0);
    let method = AuthMethod {
        id: "key".into(),
        name: "Key".to_owned(),
        description: None,
        kind: AuthKind::Agent,
    };
    let capabilities = AgentCapabilities {
        list: true,
        fork: true,
        load: true,
        close: true,
        ..AgentCapabilities::default()
    };
    let info = AgentInfo {
        protocol_version: 1,
        capabilities,
        auth_methods: vec![method],
        ..AgentInfo::default()
    };
    world.say(FromAgent::Answer { call, result: Ok(Reply::Initialized(Box::new(info))) });
    world.answer();
    assert_eq!(world.stands(), ChatState::Ready);
    world
}

/// A second chat, of which nothing is written down.
fn begins(world: &mut World, wish: Wish) {
    world.happen(begin(Policy { unsaved: Unsaved::Ignore, ..Policy::default() }, wish));
    world.happen(Event::Reread(ChatId(2), Past::default()));
}

#[test]
fn a_fork_that_needs_a_login_is_a_fork_after_it() {
    let mut world = able();
    world.happen(prompt("go"));
    world.answer();
    begins(&mut world, Wish::Fork("s".into()));
    assert!(matches!(world.calls[..], [(_, Call::Fork(..))]), "{:?}", world.calls);
    world.refuse(wanted());
    assert!(matches!(world.answer(), Some(Call::Authenticate(_))));
    assert!(!transcript(&world, 2).contains("a fork of"), "nothing is claimed too early");
    assert!(matches!(world.answer(), Some(Call::Fork(..))));
    let said = transcript(&world, 2);
    assert_eq!(said.matches("a fork of the session begins here").count(), 1, "{said}");
    assert!(said.contains("go"), "{said}");
    // The next session of this chat is a new one.
    world.happen(Event::User(UserAction::Restart(Some(ChatId(2)))));
    while !matches!(world.answer(), None | Some(Call::Fork(..))) {}
    assert!(world.calls.is_empty());
}

#[test]
fn what_is_asked_while_a_session_is_loaded_stays_to_be_answered() {
    let mut world = able();
    begins(&mut world, Wish::Session("old".into()));
    assert!(matches!(world.calls[..], [(_, Call::Load(..))]), "{:?}", world.calls);
    world.speaks_of = Some("old".into());
    world.permission("1");
    world.answer();
    let chat = &world.state.chats[&ChatId(2)];
    let tool = chat.transcript.find_tool(&"1".into()).expect("its card");
    assert!(tool.asked.is_some());
    let choice = PermissionChoice::Allow;
    world.happen(Event::User(UserAction::Permission {
        chat: None,
        id: None,
        revision: None,
        choice,
    }));
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Selected("yes".into()))]);
}

#[test]
fn what_is_asked_of_a_session_that_cannot_be_loaded_is_cancelled() {
    let mut world = able();
    begins(&mut world, Wish::Session("old".into()));
    world.speaks_of = Some("old".into());
    world.permission("1");
    world.refuse(CallError::Rpc { code: NOT_FOUND, message: String::new(), data: None });
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Cancelled)]);
    assert!(matches!(world.answer(), Some(Call::NewSession(_))));
}

#[test]
fn a_session_that_begins_after_its_chat_has_stopped_is_closed() {
    let mut world = able();
    world.happen(start_new());
    let Some((call, Call::NewSession(_))) = world.calls.first() else {
        panic!("{:?}", world.calls)
    };
    let call = *call;
    world.happen(Event::User(UserAction::Stop(Some(ChatId(2)))));
    assert_eq!(world.withdrawn, [call]);
    world.answer();
    assert!(matches!(&world.calls[..], [(_, Call::Close(id))] if id.as_ref() == "s2"));
}

#[test]
fn an_agent_that_ends_holds_up_no_list_of_sessions() {
    let mut world = able();
    let list = |act| Event::User(UserAction::ListSessions { act, cwd: "/project".into() });
    // The page of the first list is not waited for by the second one.
    world.happen(list(SessionAct::Open));
    let late = world.calls.remove(0).0;
    world.happen(list(SessionAct::Delete));
    world.happen(Event::Remembered("/project".into(), Vec::<Remembered>::new()));
    let page = Reply::Sessions(Vec::new(), Some("cursor".to_owned()));
    world.say(FromAgent::Answer { call: late, result: Ok(page) });
    let shown = |world: &World| {
        world.seen.iter().filter(|it| matches!(it, ToEditor::Sessions { .. })).count()
    };
    assert_eq!(shown(&world), 0);
    play(&mut world, Step::Exit);
    assert_eq!(shown(&world), 1);
}
