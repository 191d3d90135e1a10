//! What is saved can be loaded again in the same order, whatever happens to sessions.

use super::*;
use crate::core::messages::agent::NOT_FOUND;
use crate::core::messages::user::NewEdit;
use crate::session::agent::Capability;
use crate::session::entry::Entry;
use crate::session::in_place::InPlace;
use crate::session::saved::{SaveResult, SavedTranscript, StoreKey};
use crate::session::transcript::Transcript;
use std::collections::BTreeMap;

/// The files of a store, by session.
type Files = HashMap<SessionId, BTreeMap<usize, Entry>>;

fn files(commands: &[StoreCommand]) -> Files {
    let mut files = Files::new();
    for command in commands {
        match command {
            StoreCommand::Save(session, rewrite, entries) => {
                let file = files.entry(session.id.clone()).or_default();
                if *rewrite {
                    file.clear();
                }
                file.extend(entries.iter().cloned());
            }
            StoreCommand::SavePart(session, part) => {
                let file = files.entry(session.id.clone()).or_default();
                file.extend(part.entries.iter().cloned());
                if let Some((at, more)) = &part.more {
                    let Some(Entry::Message(message)) = file.get_mut(at) else { panic!() };
                    message.text.push_str(more);
                }
            }
            StoreCommand::Forget(session) => drop(files.remove(&session.id)),
            _ => {}
        }
    }
    files
}

/// The sessions that were deleted.
fn forgotten(world: &World) -> Vec<&str> {
    let forgotten = world.stored.iter().filter_map(|command| match command {
        StoreCommand::Forget(key) => Some(key.id.as_str()),
        _ => None,
    });
    forgotten.collect()
}

fn saved(world: &mut World, session: &str, result: SaveResult) {
    let key = StoreKey { cwd: "/project".into(), agent: "fake".into(), id: session.into() };
    world.handle(Event::Saved(key, result));
}

/// Returns the chat's transcript as it has to be loaded again.
fn transcript(world: &World) -> BTreeMap<usize, Entry> {
    let entries = world.state.chats[&ChatId(1)].transcript.entries();
    entries.iter().cloned().enumerate().collect()
}

fn turn(world: &mut World, text: &str) {
    world.handle(prompt(text));
    world.context_collected(0);
    world.reply();
    assert_eq!(world.chat_state(), ChatState::Ready);
}

/// A chat that is about to resume the session `old` with this saved transcript.
fn resuming(past: SavedTranscript) -> World {
    let mut world = World::default();
    let policy = ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() };
    world.handle(begin(policy, SessionTarget::Existing("old".into())));
    world.handle(Event::TranscriptLoaded(ChatId(1), past));
    initialize_with_resume(&mut world);
    world
}

/// The agent reports that it supports `session/resume`, and gets that call.
fn initialize_with_resume(world: &mut World) {
    let (call, _) = world.calls.remove(0);
    let mut info = AgentInfo::default();
    info.capabilities = info.capabilities.with(Capability::Resume, true);
    world.agent_sends(AgentEvent::Answer { call, result: Ok(Reply::Initialized(Box::new(info))) });
    assert!(matches!(world.calls[..], [(_, Call::Resume(..))]));
}

fn saved_transcript(has_gaps: bool) -> SavedTranscript {
    let mut transcript = Transcript::default();
    for prompt in ["one", "two"] {
        transcript.prompt(prompt, Vec::new());
        let content = Content::Text("an answer".to_owned());
        transcript.chunk(Role::Agent, None, &content);
    }
    SavedTranscript {
        entries: transcript.entries().to_vec(),
        has_gaps,
        ..SavedTranscript::default()
    }
}

fn session_not_found() -> CallError {
    CallError::Rpc {
        code: NOT_FOUND,
        message: "no such session".to_owned(),
        detail: None,
        data: None,
    }
}

/// Holds (Sessions): A session that begins below an old transcript is kept with it.
#[test]
fn a_session_under_an_old_transcript_is_saved_with_it() {
    let mut world = resuming(saved_transcript(false));
    world.reply_with_error(session_not_found());
    world.reply();
    turn(&mut world, "three");
    assert_eq!(files(&world.stored), HashMap::from([("s".into(), transcript(&world))]));
    assert_eq!(forgotten(&world), Vec::<&str>::new(), "not before the new one is saved");
    saved(&mut world, "s", SaveResult::Written);
    assert_eq!(forgotten(&world), ["old"]);
    // The same within one Neovim.
    world.handle(Event::User(UserAction::Restart { chat: None, force: false }));
    initialize_with_resume(&mut world);
    world.reply_with_error(session_not_found());
    world.reply();
    turn(&mut world, "four");
    saved(&mut world, "s2", SaveResult::Written);
    saved(&mut world, "s2", SaveResult::Written);
    assert_eq!(forgotten(&world), ["old", "s"]);
    assert_eq!(files(&world.stored), HashMap::from([("s2".into(), transcript(&world))]));
}

/// Holds (Sessions): A session that its agent no longer has stays saved until its whole transcript is saved with another.
#[test]
fn a_session_whose_transcript_was_not_read_whole_stays() {
    for past in [saved_transcript(true), SavedTranscript::default()] {
        let mut world = resuming(past);
        world.reply_with_error(session_not_found());
        world.reply();
        turn(&mut world, "three");
        saved(&mut world, "s", SaveResult::Written);
        assert_eq!(forgotten(&world), Vec::<&str>::new());
        let is_release = |command: &&StoreCommand| matches!(command, StoreCommand::Release(key) if key.id.as_str() == "old");
        assert_eq!(world.stored.iter().filter(is_release).count(), 1);
    }
}

/// Holds (In place): Changes in place are saved as such, until their chat is asked something else.
#[test]
fn a_chat_for_changes_in_place_becomes_a_conversation() {
    let mut world = World::ready();
    let lines = ["a", "old", "c"].map(str::to_owned).to_vec();
    let in_place = InPlace::new(1, "/project/a".into(), (2, 2), lines).map(Arc::new);
    world.handle(Event::User(UserAction::Edit(Box::new(NewEdit {
        config: config(),
        problems: Vec::new(),
        cwd: "/project".into(),
        directories: Vec::new(),
        policy: ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() },
        prompt: Prompt { text: "change it".to_owned(), in_place, ..Prompt::default() },
    }))));
    world.reply();
    world.reply();
    let words = Prompt { text: "why?".to_owned(), ..Prompt::default() };
    let ask = UserAction::Prompt { chat: Some(ChatId(2)), prompt: words, now: false };
    world.handle(Event::User(ask));
    let saved: Vec<bool> = world
        .stored
        .iter()
        .filter_map(|command| match command {
            StoreCommand::Save(session, ..) if session.id.as_str() == "s2" => {
                Some(session.in_place)
            }
            _ => None,
        })
        .collect();
    assert_eq!((saved.first(), saved.last()), (Some(&true), Some(&false)), "{saved:?}");
}

/// Holds (Sessions): A transcript read with gaps is written anew.
#[test]
fn a_transcript_with_gaps_is_rewritten() {
    let mut world = resuming(saved_transcript(true));
    world.reply();
    turn(&mut world, "three");
    let rewrite = |world: &World| {
        let commands = world.stored.iter();
        commands.filter(|command| matches!(command, StoreCommand::Save(_, true, _))).count()
    };
    assert_eq!(rewrite(&world), 1);
    assert_eq!(files(&world.stored)[&SessionId::from("old")], transcript(&world));
    let mut world = resuming(saved_transcript(false));
    world.reply();
    turn(&mut world, "three");
    assert_eq!(rewrite(&world), 0, "what is there stays");
}

/// Holds (Sessions): A transcript that cannot be written is reported once and written whole later.
#[test]
fn a_failed_save_is_reported_once_and_made_up_for_later() {
    let mut world = resuming(saved_transcript(false));
    world.reply();
    turn(&mut world, "three");
    let tell = |world: &mut World, result| {
        world.stored.clear();
        let key = |cwd: &str| StoreKey { cwd: cwd.into(), agent: "fake".into(), id: "old".into() };
        // A result for a session with the same id in another folder is ignored.
        world.handle(Event::Saved(key("/elsewhere"), SaveResult::Failed("gone".to_owned())));
        world.handle(Event::Saved(key("/project"), result));
    };
    let notes = |world: &World| {
        let about =
            |entry: &&Entry| matches!(entry, Entry::Note(note) if note.title.contains("save"));
        transcript(world).values().filter(about).count()
    };
    for result in [
        SaveResult::Written,
        SaveResult::Elsewhere,
        SaveResult::Elsewhere,
        SaveResult::Failed("full".to_owned()),
    ] {
        tell(&mut world, result);
        assert_eq!(world.stored, []);
    }
    assert_eq!(notes(&world), 1);
    tell(&mut world, SaveResult::Behind);
    assert_eq!(files(&world.stored)[&SessionId::from("old")], transcript(&world));
    world.stored.clear();
    tell(&mut world, SaveResult::Overgrown);
    assert_eq!(files(&world.stored)[&SessionId::from("old")], transcript(&world));
    tell(&mut world, SaveResult::Written);
    tell(&mut world, SaveResult::Failed("full".to_owned()));
    assert_eq!(notes(&world), 2);
    // No result of the final save will arrive.
    let last: Vec<StoreCommand> = world
        .state
        .prepare_exit()
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Store(command) => Some(command),
            _ => None,
        })
        .collect();
    assert_eq!(files(&last)[&SessionId::from("old")], transcript(&world));
}

#[test]
fn an_unfinished_answer_is_saved_while_the_turn_runs() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    let say = |world: &mut World, text: &str| {
        let content = Content::Text(text.to_owned());
        let update = Update::Chunk { role: Role::Agent, message: None, content };
        world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    };
    let tick = |world: &mut World| {
        let is_tick = |timer: &Timer| matches!(timer, Timer::SavePart(..));
        let at = world.timers.iter().position(is_tick).expect("a timer");
        let timer = world.timers.remove(at);
        world.handle(Event::Timer(timer));
    };
    let mut writes = 0;
    for number in 0..5 {
        for _ in 0..100 {
            say(&mut world, "a word, ");
        }
        assert_eq!(world.stored.len(), writes + usize::from(number == 0), "no chunk writes");
        tick(&mut world);
        writes = world.stored.len();
        assert_eq!(files(&world.stored)[&SessionId::from("s")], transcript(&world));
    }
    tick(&mut world);
    assert_eq!(world.stored.len(), writes, "nothing new is no work");
    world.reply();
    assert_eq!(files(&world.stored)[&SessionId::from("s")], transcript(&world));
    // The turn has ended, and its timer does not continue.
    tick(&mut world);
    assert!(!world.timers.iter().any(|timer| matches!(timer, Timer::SavePart(..))));
}
