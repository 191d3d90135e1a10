//! What is written down can be read again, in its order, whatever becomes of sessions.

use super::*;
use crate::core::event::agent::NOT_FOUND;
use crate::session::remembered::{Kept, Past, StoreKey};
use crate::session::transcript::{Entry, Transcript};
use std::collections::BTreeMap;

/// Files as a store keeps them, by session.
type Files = HashMap<SessionId, BTreeMap<usize, Entry>>;

fn files(kept: &[Keeping]) -> Files {
    let mut files = Files::new();
    for keeping in kept {
        match keeping {
            Keeping::Note(session, anew, entries) => {
                let file = files.entry(session.id.clone()).or_default();
                if *anew {
                    file.clear();
                }
                file.extend(entries.iter().cloned());
            }
            Keeping::Forget(session) => drop(files.remove(&session.id)),
            _ => {}
        }
    }
    files
}

/// What was said in the chat, as it has to be read again.
fn said(world: &World) -> BTreeMap<usize, Entry> {
    let entries = world.state.chats[&ChatId(1)].transcript.entries();
    entries.iter().cloned().enumerate().collect()
}

fn turn(world: &mut World, text: &str) {
    world.happen(prompt(text));
    world.gathered(0);
    world.answer();
    assert_eq!(world.stands(), ChatState::Ready);
}

/// A chat that is about to go on with the session `old`, of which this much is known.
fn going_on(past: Past) -> World {
    let mut world = World::default();
    let policy = Policy { unsaved: Unsaved::Ignore, ..Policy::default() };
    world.happen(begin(policy, Wish::Session("old".into())));
    world.happen(Event::Reread(ChatId(1), past));
    greet(&mut world);
    world
}

/// The agent says that it can resume sessions, and is asked to.
fn greet(world: &mut World) {
    let (call, _) = world.calls.remove(0);
    let mut info = AgentInfo { protocol_version: 1, ..AgentInfo::default() };
    info.capabilities.resume = true;
    world.say(FromAgent::Answer { call, result: Ok(Reply::Initialized(Box::new(info))) });
    assert!(matches!(world.calls[..], [(_, Call::Resume(..))]));
}

fn past(has_gaps: bool) -> Past {
    let mut transcript = Transcript::default();
    for prompt in ["one", "two"] {
        transcript.prompt(prompt, Vec::new());
        let content = Content::Text("an answer".to_owned());
        transcript.chunk(Role::Agent, None, &content);
    }
    Past { entries: transcript.entries().to_vec(), has_gaps, ..Past::default() }
}

fn unknown() -> CallError {
    CallError::Rpc { code: NOT_FOUND, message: "no such session".to_owned(), data: None }
}

#[test]
fn a_session_that_begins_below_an_old_transcript_is_kept_with_it() {
    let mut world = going_on(past(false));
    world.refuse(unknown());
    world.answer();
    turn(&mut world, "three");
    assert_eq!(files(&world.kept), HashMap::from([("s".into(), said(&world))]));
    // The same within one Neovim.
    world.happen(Event::User(UserAction::Restart(None)));
    greet(&mut world);
    world.refuse(unknown());
    world.answer();
    turn(&mut world, "four");
    assert_eq!(files(&world.kept), HashMap::from([("s2".into(), said(&world))]));
}

#[test]
fn what_was_read_with_gaps_is_written_down_anew() {
    let mut world = going_on(past(true));
    world.answer();
    turn(&mut world, "three");
    let anew = |world: &World| {
        let kept = world.kept.iter();
        kept.filter(|keeping| matches!(keeping, Keeping::Note(_, true, _))).count()
    };
    assert_eq!(anew(&world), 1);
    assert_eq!(files(&world.kept)[&SessionId::from("old")], said(&world));
    let mut world = going_on(past(false));
    world.answer();
    turn(&mut world, "three");
    assert_eq!(anew(&world), 0, "what is there stays");
}

#[test]
fn what_is_not_kept_is_told_once_and_kept_whole_later() {
    let mut world = going_on(past(false));
    world.answer();
    turn(&mut world, "three");
    let tell = |world: &mut World, kept| {
        world.kept.clear();
        let key = |cwd: &str| StoreKey { cwd: cwd.into(), agent: "fake".into(), id: "old".into() };
        // Of a session of that name elsewhere it says nothing.
        world.happen(Event::Kept(key("/elsewhere"), Kept::Failed("gone".to_owned())));
        world.happen(Event::Kept(key("/project"), kept));
    };
    let notes = |world: &World| {
        let about =
            |entry: &&Entry| matches!(entry, Entry::Note(note) if note.title.contains("not kept"));
        said(world).values().filter(about).count()
    };
    for kept in [Kept::Written, Kept::Elsewhere, Kept::Elsewhere, Kept::Failed("full".to_owned())] {
        tell(&mut world, kept);
        assert_eq!(world.kept, []);
    }
    assert_eq!(notes(&world), 1);
    tell(&mut world, Kept::Behind);
    assert_eq!(files(&world.kept)[&SessionId::from("old")], said(&world));
    tell(&mut world, Kept::Written);
    tell(&mut world, Kept::Failed("full".to_owned()));
    assert_eq!(notes(&world), 2);
    // Of what becomes of the last words nothing will be heard.
    let last: Vec<Keeping> = world
        .state
        .farewell()
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Keep(keeping) => Some(keeping),
            _ => None,
        })
        .collect();
    assert_eq!(files(&last)[&SessionId::from("old")], said(&world));
}
