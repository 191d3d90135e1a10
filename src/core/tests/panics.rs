//! A handler that panics, and news of writes that nobody waits for any more.

use super::*;
use crate::core::effect::{Happened, Level};
use crate::core::event::FileChange;
use crate::core::event::agent::INTERNAL_ERROR;

fn told(world: &World, part: &str) -> usize {
    let says =
        |it: &&ToEditor| matches!(it, ToEditor::Notify(Level::Error, text) if text.contains(part));
    world.seen.iter().filter(says).count()
}

fn answer_all(world: &mut World) {
    while world.answer().is_some() {}
}

fn running() -> World {
    let mut world = World::ready();
    world.happen(prompt("go"));
    world
}

#[test]
fn a_handler_that_panics_ends_its_session_and_nothing_else() {
    let mut world = running();
    let agent = world.agent.unwrap();
    world.permission("call_1");
    world.next_token += 1;
    let token = Token(world.next_token);
    world.asked.push(token);
    world.happen(Event::Break(agent, token));
    let failed = |answers: &Vec<Answer>| matches!(&answers[..], [Answer::Error { code, .. }] if *code == INTERNAL_ERROR);
    assert!(failed(&world.answered[&token]));
    // What else waited has its answer, too.
    assert!(world.asked.iter().all(|token| world.answered[token].len() == 1));
    assert_eq!(world.state.chats[&ChatId(1)].state(), ChatState::Failed);
    assert_eq!(told(&world, ":RatLog"), 1);
    // All goes on.
    world.agent = None;
    world.happen(start());
    answer_all(&mut world);
    assert_eq!(world.state.chats[&ChatId(1)].state(), ChatState::Ready);
}

#[test]
fn a_write_that_was_withdrawn_but_happened_is_news() {
    let mut world = running();
    world.request(AgentRequest::Write { path: "/project/a".into(), content: "x".to_owned() });
    let token = *world.asked.last().unwrap();
    let agent = world.agent.unwrap();
    world.happen(Event::Agent(agent, FromAgent::Withdrawn(token)));
    let change = FileChange {
        path: "/project/a".into(),
        hunks: 1,
        conflicts: 0,
        deleted: false,
        via: "protocol",
    };
    let outcome = FileOutcome::Written { changes: vec![change], notice: None };
    world.happen(Event::File { token, outcome: outcome.clone() });
    let is_news = |it: &&ToEditor| matches!(it, ToEditor::Autocommand(Happened::FileChanged(..)));
    assert_eq!(world.seen.iter().filter(is_news).count(), 1);
    assert_eq!(world.answered[&token].len(), 1);
    // Nothing is told twice, and nothing is kept for ever.
    world.happen(Event::File { token, outcome });
    assert_eq!(world.seen.iter().filter(is_news).count(), 1);
    assert!(world.state.answered_early.is_empty());
}

#[test]
fn a_drawing_that_panics_ends_its_session_and_is_left_alone() {
    let mut world = running();
    world.state.chats.get_mut(&ChatId(1)).unwrap().breaks_when_drawn = true;
    let content = Content::Text("more".to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.say(FromAgent::Update { session: "s".into(), update });
    for _ in 0..3 {
        let frame = world.state.take_frame();
        world.seen.extend(frame.messages);
    }
    assert!(!world.state.has_frame());
    assert_eq!(world.state.chats[&ChatId(1)].state(), ChatState::Failed);
    assert_eq!(told(&world, ":RatLog"), 1);
    assert!(world.state.links.is_empty(), "its agent is ended");
}

#[test]
fn a_closed_session_is_free_for_others() {
    let mut world = running();
    let session = world.state.chats[&ChatId(1)].session.clone().unwrap();
    world.happen(Event::User(UserAction::Stop(None)));
    let free = |it: &Keeping| matches!(it, Keeping::Release(key) if key.id == session);
    assert!(world.kept.iter().any(free));
}

#[test]
fn a_session_that_another_neovim_claims_first_is_left_to_it_and_told() {
    use crate::session::remembered::{Past, Remembered};
    let mut world = World::default();
    world.happen(begin(Policy { unsaved: Unsaved::Ignore, ..Policy::default() }, Wish::Last));
    let last = Remembered {
        agent: "fake".into(),
        id: "old".into(),
        cwd: "/project".into(),
        title: None,
        used_at: 1,
        open: false,
    };
    world.happen(Event::Recalled(ChatId(1), Some(last)));
    assert!(matches!(world.kept.last(), Some(Keeping::Reread(_, _, true))));
    world.happen(Event::Reread(ChatId(1), Past { is_elsewhere: true, ..Past::default() }));
    answer_all(&mut world);
    let chat = &world.state.chats[&ChatId(1)];
    assert_ne!(chat.session.as_ref().map(SessionId::as_str), Some("old"));
    let says = |text: &str| {
        chat.transcript.entries().iter().any(|entry| {
        matches!(entry, crate::session::transcript::Entry::Note(note) if note.title.contains(text))
    })
    };
    assert!(says("another Neovim has your last session open"));
}
