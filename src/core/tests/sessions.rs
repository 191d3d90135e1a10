//! Sessions that are not opened at once, or that are no longer wanted once they are.

use super::*;
use crate::core::messages::agent::NOT_FOUND;
use crate::core::messages::editor::Level;
use crate::core::messages::user::SessionAction;
use crate::session::agent::{AgentCapabilities, AuthKind, AuthMethod, Capability};
use crate::session::fork::ForkPoint;
use crate::session::saved::{SavedSession, SavedTranscript};

fn transcript(world: &World, chat: u32) -> String {
    format!("{:?}", world.state.chats[&ChatId(chat)].transcript.entries())
}

fn login_required() -> CallError {
    CallError::Rpc { code: AUTH_REQUIRED, message: String::new(), detail: None, data: None }
}

/// A chat on an agent that supports list, fork, load and close, and has a login method.
fn ready_with_capabilities() -> World {
    let mut world = World::default();
    world.handle(start());
    let (call, _) = world.calls.remove(0);
    let method = AuthMethod {
        id: "key".into(),
        name: "Key".to_owned(),
        description: None,
        kind: AuthKind::Agent,
    };
    let capabilities = AgentCapabilities::of(&[
        Capability::List,
        Capability::Fork,
        Capability::Load,
        Capability::Close,
    ]);
    let info = AgentInfo {
        protocol: Some(crate::session::protocol::Protocol::V1),
        capabilities,
        auth_methods: vec![method],
        ..AgentInfo::default()
    };
    world.agent_sends(AgentEvent::Answer { call, result: Ok(Reply::Initialized(Box::new(info))) });
    world.reply();
    assert_eq!(world.chat_state(), ChatState::Ready);
    world
}

/// Opens a second chat for which nothing is saved.
fn open_second_chat(world: &mut World, target: SessionTarget) {
    world.handle(begin(ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() }, target));
    world.handle(Event::TranscriptLoaded(ChatId(2), SavedTranscript::default()));
}

#[test]
fn a_fork_is_retried_after_a_login() {
    let mut world = ready_with_capabilities();
    world.handle(prompt("go"));
    world.reply();
    open_second_chat(&mut world, SessionTarget::Fork(ForkPoint::whole("s")));
    assert!(matches!(world.calls[..], [(_, Call::Fork(..))]), "{:?}", world.calls);
    world.reply_with_error(login_required());
    assert!(matches!(world.reply(), Some(Call::Authenticate(_))));
    assert!(!transcript(&world, 2).contains("a fork of"), "nothing is claimed too early");
    assert!(matches!(world.reply(), Some(Call::Fork(..))));
    let said = transcript(&world, 2);
    assert_eq!(said.matches("Forked: a new session starts here").count(), 1, "{said}");
    assert!(said.contains("go"), "{said}");
    // The next session of this chat is a new one.
    world.handle(Event::User(UserAction::Restart { chat: Some(ChatId(2)), force: false }));
    while !matches!(world.reply(), None | Some(Call::Fork(..))) {}
    assert!(world.calls.is_empty());
}

fn chunk(session: &str, role: Role, text: &str) -> AgentEvent {
    let update = Update::Chunk { role, message: None, content: Content::Text(text.to_owned()) };
    AgentEvent::Update { session: session.into(), update }
}

#[test]
fn a_replay_after_a_fork_is_not_shown_twice() {
    let mut world = ready_with_capabilities();
    world.handle(prompt("go"));
    world.agent_sends(chunk("s", Role::Agent, "went"));
    world.reply();
    open_second_chat(&mut world, SessionTarget::Fork(ForkPoint::whole("s")));
    // Replayed both before the reply and after it.
    world.agent_sends(chunk("s2", Role::User, "go with a note"));
    world.reply();
    world.agent_sends(chunk("s2", Role::Agent, "went again"));
    let said = transcript(&world, 2);
    assert!(said.contains("went") && !said.contains("again") && !said.contains("note"), "{said}");
    let prompt = Prompt { text: "on".to_owned(), ..Prompt::default() };
    world.handle(Event::User(UserAction::Prompt { chat: Some(ChatId(2)), prompt, now: false }));
    world.agent_sends(chunk("s2", Role::Agent, "went on"));
    assert!(transcript(&world, 2).contains("went on"));
}

#[test]
fn a_request_during_loading_stays_open() {
    let mut world = ready_with_capabilities();
    open_second_chat(&mut world, SessionTarget::Existing("old".into()));
    assert!(matches!(world.calls[..], [(_, Call::Load(..))]), "{:?}", world.calls);
    world.session = Some("old".into());
    world.request_permission("1");
    world.reply();
    let chat = &world.state.chats[&ChatId(2)];
    let tool = chat.transcript.find_tool(&"1".into()).expect("its card");
    assert!(tool.asked.is_some());
    let choice = PermissionChoice::Allow;
    world.handle(Event::User(UserAction::Permission {
        chat: None,
        id: None,
        revision: None,
        choice,
    }));
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Selected("yes".into()))]);
}

#[test]
fn a_request_of_a_session_that_cannot_be_loaded_is_cancelled() {
    let mut world = ready_with_capabilities();
    open_second_chat(&mut world, SessionTarget::Existing("old".into()));
    world.session = Some("old".into());
    world.request_permission("1");
    world.reply_with_error(CallError::Rpc {
        code: NOT_FOUND,
        message: String::new(),
        detail: None,
        data: None,
    });
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Cancelled)]);
    assert!(matches!(world.reply(), Some(Call::NewSession(_))));
}

#[test]
fn a_session_that_begins_after_its_chat_has_stopped_is_closed() {
    let mut world = ready_with_capabilities();
    world.handle(start_new());
    let Some((call, Call::NewSession(_))) = world.calls.first() else {
        panic!("{:?}", world.calls)
    };
    let call = *call;
    world.handle(Event::User(UserAction::Stop(Some(ChatId(2)))));
    assert_eq!(world.withdrawn, [call]);
    world.reply();
    assert!(matches!(&world.calls[..], [(_, Call::Close(id))] if id.as_ref() == "s2"));
}

#[test]
fn an_agent_that_ends_does_not_block_the_session_list() {
    let mut world = ready_with_capabilities();
    let list = |act| Event::User(UserAction::ListSessions { act, cwd: "/project".into() });
    // The second list does not wait for the page of the first one.
    world.handle(list(SessionAction::Open));
    let late = world.calls.remove(0).0;
    world.handle(list(SessionAction::Delete));
    world.handle(Event::SavedSessions("/project".into(), Vec::<SavedSession>::new()));
    let page = Reply::Sessions(Vec::new(), Some("cursor".to_owned()));
    world.agent_sends(AgentEvent::Answer { call: late, result: Ok(page) });
    let shown = |world: &World| {
        world.messages.iter().filter(|it| matches!(it, EditorMessage::Sessions { .. })).count()
    };
    assert_eq!(shown(&world), 0);
    play(&mut world, Step::Exit);
    assert_eq!(shown(&world), 1);
}

/// Holds (Configuration): What is wrong in the settings file is reported once for each state of the file.
#[test]
fn problems_of_the_settings_file_are_reported_once() {
    let mut world = World::default();
    let mut told = |problems: &[&str]| {
        let Event::User(UserAction::Start {
            config, cwd, directories, policy, target, focus, ..
        }) = start()
        else {
            panic!("no start")
        };
        let problems = problems.iter().map(|&problem| problem.to_owned()).collect();
        let action =
            UserAction::Start { config, problems, cwd, directories, policy, target, focus };
        world.messages.clear();
        world.handle(Event::User(action));
        let errors = world.messages.iter().filter_map(|message| match message {
            EditorMessage::Notify(Level::Error, notice) => Some(notice.to_string()),
            _ => None,
        });
        errors.collect::<Vec<_>>()
    };
    assert_eq!(told(&["a", "b", "c"]), ["a (and 2 more: :checkhealth rat)"]);
    assert_eq!(told(&["a", "b", "c"]), [""; 0]);
    assert_eq!(told(&["a"]), ["a"]);
    assert_eq!(told(&[]), [""; 0]);
    assert_eq!(told(&["a"]), ["a"]);
}
