//! Handlers that panic, and requests that end in unusual ways.

use super::*;
use crate::core::messages::agent::INTERNAL_ERROR;
use crate::core::messages::editor::{Level, UserAutocmd};
use crate::core::messages::files::FileChange;

fn told(world: &World, part: &str) -> usize {
    let says = |it: &&EditorMessage| matches!(it, EditorMessage::Notify(Level::Error, notice) if notice.to_string().contains(part));
    world.messages.iter().filter(says).count()
}

fn answer_all(world: &mut World) {
    while world.reply().is_some() {}
}

fn running() -> World {
    let mut world = World::ready();
    world.handle(prompt("go"));
    world
}

/// Holds (Crashes): A panic in the binary ends one session, is reported once, and leaves the rest alone.
#[test]
fn a_handler_that_panics_ends_its_session_and_nothing_else() {
    let mut world = running();
    let agent = world.agent.unwrap();
    world.request_permission("call_1");
    world.next_token += 1;
    let token = RequestToken(world.next_token);
    world.request_tokens.push(token);
    world.handle(Event::Panic(agent, token));
    let failed = |answers: &Vec<Answer>| matches!(&answers[..], [Answer::Error { code, .. }] if *code == INTERNAL_ERROR);
    assert!(failed(&world.answers[&token]));
    // Every other waiting request was answered as well.
    assert!(world.request_tokens.iter().all(|token| world.answers[token].len() == 1));
    assert_eq!(world.state.chats[&ChatId(1)].state(), ChatState::Failed);
    assert_eq!(told(&world, ":RatLog"), 1);
    // Everything else continues to work.
    world.agent = None;
    world.handle(start());
    answer_all(&mut world);
    assert_eq!(world.state.chats[&ChatId(1)].state(), ChatState::Ready);
}

/// Holds (Crashes): A write that was withdrawn but happened counts as a change on disk.
#[test]
fn a_withdrawn_write_that_happened_is_reported() {
    let mut world = running();
    world.request(AgentRequest::Write { path: "/project/a".into(), content: "x".to_owned() });
    let token = *world.request_tokens.last().unwrap();
    let agent = world.agent.unwrap();
    world.handle(Event::Agent(agent, AgentEvent::Withdrawn(token)));
    let change = FileChange {
        path: "/project/a".into(),
        hunks: 1,
        conflicts: 0,
        deleted: false,
        created: false,
        via: "protocol",
        is_certain: true,
    };
    let outcome = FileOutcome::Written { changes: vec![change], notice: None };
    world.handle(Event::File { token, outcome: outcome.clone() });
    let is_news = |it: &&EditorMessage| {
        matches!(it, EditorMessage::Autocommand(UserAutocmd::FileChanged(..)))
    };
    assert_eq!(world.messages.iter().filter(is_news).count(), 1);
    assert_eq!(world.answers[&token].len(), 1);
    // Nothing is reported twice, and nothing is stored forever.
    world.handle(Event::File { token, outcome });
    assert_eq!(world.messages.iter().filter(is_news).count(), 1);
    assert!(world.state.answered_early.is_empty());
}

/// Holds (Crashes): A panic in the binary ends one session, is reported once, and leaves the rest alone.
#[test]
fn a_drawing_that_panics_ends_its_session_and_is_not_tried_again() {
    let mut world = running();
    world.state.chats.get_mut(&ChatId(1)).unwrap().panics_when_drawn = true;
    let content = Content::Text("more".to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    for _ in 0..3 {
        let frame = world.state.take_frame();
        world.messages.extend(frame.messages);
    }
    assert!(!world.state.has_frame());
    assert_eq!(world.state.chats[&ChatId(1)].state(), ChatState::Failed);
    assert_eq!(told(&world, ":RatLog"), 1);
    assert!(world.state.connections.is_empty(), "its agent is ended");
}

#[test]
fn a_stopped_session_is_released() {
    let mut world = running();
    let session = world.state.chats[&ChatId(1)].session.clone().unwrap();
    world.handle(Event::User(UserAction::Stop(None)));
    let free = |it: &StoreCommand| matches!(it, StoreCommand::Release(key) if key.id == session);
    assert!(world.stored.iter().any(free));
}

#[test]
fn a_session_that_another_neovim_claims_first_is_left_to_it() {
    use crate::session::saved::{SavedSession, SavedTranscript};
    let mut world = World::default();
    world.handle(begin(
        ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() },
        SessionTarget::Last,
    ));
    let last = SavedSession {
        agent: "fake".into(),
        id: "old".into(),
        cwd: "/project".into(),
        title: None,
        used_at: 1,
        in_place: false,
        open: false,
    };
    world.handle(Event::LastSession(ChatId(1), Some(last)));
    assert!(matches!(world.stored.last(), Some(StoreCommand::LoadTranscript(_, _, true))));
    world.handle(Event::TranscriptLoaded(
        ChatId(1),
        SavedTranscript { is_elsewhere: true, ..SavedTranscript::default() },
    ));
    answer_all(&mut world);
    let chat = &world.state.chats[&ChatId(1)];
    assert_ne!(chat.session.as_ref().map(SessionId::as_str), Some("old"));
    let says = |text: &str| {
        chat.transcript.entries().iter().any(|entry| {
        matches!(entry, crate::session::entry::Entry::Note(note) if note.title.contains(text))
    })
    };
    assert!(says("Your last session is open in another Neovim"));
}
