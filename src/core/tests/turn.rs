//! Turns that are cancelled, wait for permission, or require a login.

use super::*;
use crate::core::messages::editor::UserAutocmd;
use crate::session::entry::Entry;
use crate::session::update::Usage;
use std::time::Duration;

/// ACP 67, 72.
#[test]
fn a_cancel_answers_waiting_requests_and_the_turn_ends_with_the_reply() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.request_permission("1");
    assert_eq!(world.chat_state(), ChatState::Waiting);
    world.handle(Event::User(UserAction::Cancel(None)));
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Cancelled)]);
    assert_eq!(world.chat_state(), ChatState::Cancelling);
    world.request_permission("2");
    assert_eq!(world.answers_to(2), [Answer::Permission(Outcome::Cancelled)]);
    world.reply_with_error(CallError::Rpc {
        code: -32603,
        message: "aborted".to_owned(),
        detail: None,
        data: None,
    });
    assert_eq!(world.chat_state(), ChatState::Ready);
}

/// Holds (Turns): A turn that takes longer than `timeouts.prompt` is cancelled and told of, but not while the user is asked.
#[test]
fn a_turn_has_the_time_that_was_set() {
    let mut world = World::ready();
    for chat in world.state.chats.values_mut() {
        chat.config.timeouts.prompt = Some(Duration::from_secs(7));
    }
    world.handle(prompt("go"));
    let limit = world.waits.iter().find(|(it, _)| matches!(it, Timer::TurnLimit(..))).copied();
    let (timer, after) = limit.unwrap();
    assert_eq!(after, Duration::from_secs(7));
    world.request_permission("1");
    world.handle(Event::Timer(timer));
    assert_eq!(world.chat_state(), ChatState::Waiting, "the user has time");
    world.handle(Event::User(UserAction::Permission {
        chat: None,
        id: None,
        revision: None,
        choice: PermissionChoice::Allow,
    }));
    for _ in 0..2 {
        world.handle(Event::Timer(timer));
        assert_eq!(world.chat_state(), ChatState::Cancelling);
        let told = "The turn took longer than 7 s, so it was cancelled (agents.";
        assert_eq!(notes(&world).iter().filter(|note| note.starts_with(told)).count(), 1);
    }
}

/// Holds (Permission requests): A request that nobody answers within `timeouts.permission` is cancelled and told of, and the turn goes on.
#[test]
fn an_answer_has_the_time_that_was_set() {
    let mut world = World::ready();
    for chat in world.state.chats.values_mut() {
        chat.config.timeouts.permission = Some(Duration::from_secs(7));
    }
    world.handle(prompt("go"));
    world.request_permission("1");
    let limit =
        world.waits.iter().find(|(it, _)| matches!(it, Timer::PermissionLimit(..))).copied();
    let (timer, after) = limit.unwrap();
    assert_eq!((after, world.answers_to(1)), (Duration::from_secs(7), &[][..]));
    for _ in 0..2 {
        world.handle(Event::Timer(timer));
        assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Cancelled)]);
        assert_eq!(world.chat_state(), ChatState::Running);
    }
    let told = "Nobody answered within 7 s, so the request was cancelled (agents.";
    assert_eq!(notes(&world).iter().filter(|note| note.starts_with(told)).count(), 1);
}

fn notes(world: &World) -> Vec<String> {
    let entries = world.state.chats[&ChatId(1)].transcript.entries().iter();
    let notes = entries.filter_map(|entry| match entry {
        Entry::Note(note) => Some(note.title.clone()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn an_always_settles_requests_that_are_alike() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.request_permission("1");
    world.request_permission("2");
    let choice = PermissionChoice::Option("always".into());
    world.handle(Event::User(UserAction::Permission {
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
fn updates_before_the_session_is_known_are_held() {
    let mut world = World::default();
    world.handle(start());
    world.reply();
    let content = Content::Text("early".to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    world.reply();
    let chat = &world.state.chats[&ChatId(1)];
    assert!(chat.transcript.entries().iter().any(|entry| format!("{entry:?}").contains("early")));
}

#[test]
fn a_login_during_a_session_sends_the_prompt_again() {
    let mut world = World::ready();
    let method = AuthMethod {
        id: "key".into(),
        name: "Key".to_owned(),
        description: None,
        kind: AuthKind::Agent,
    };
    world.state.chats.get_mut(&ChatId(1)).unwrap().info.auth_methods.push(method);
    world.handle(prompt("go"));
    world.reply_with_error(CallError::Rpc {
        code: AUTH_REQUIRED,
        message: String::new(),
        detail: None,
        data: None,
    });
    assert!(matches!(world.reply(), Some(Call::Authenticate(_))));
    assert!(matches!(&world.calls[..], [(_, Call::Prompt { .. })]));
    assert!(matches!(world.state.chats[&ChatId(1)].phase, Phase::Running(_)));
}

/// Holds (Windows and views): The end of a turn out of sight is announced once.
#[test]
fn the_end_of_a_turn_says_whether_a_queued_prompt_follows() {
    let ends = |world: &World| {
        let ends = world.messages.iter().filter_map(|told| match told {
            EditorMessage::Autocommand(UserAutocmd::TurnEnd(_, why, next)) => {
                Some((why.clone(), *next))
            }
            _ => None,
        });
        ends.collect::<Vec<_>>()
    };
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.request_permission("1");
    let choice = PermissionChoice::Deny(Some("not that".to_owned()));
    world.handle(Event::User(UserAction::Permission {
        chat: None,
        id: None,
        revision: None,
        choice,
    }));
    world.reply();
    assert_eq!(world.chat_state(), ChatState::Running, "the reason is on its way");
    world.reply();
    assert_eq!(ends(&world), [("end_turn".to_owned(), true), ("end_turn".to_owned(), false)]);
    // Prompts that wait for the user do not start a turn.
    world.handle(prompt("go"));
    world.handle(prompt("later"));
    world.handle(Event::User(UserAction::Cancel(None)));
    world.reply();
    assert_eq!(ends(&world)[2..], [("cancelled".to_owned(), false)]);
}

/// Holds (Turns): A queue that a cancel has paused stays paused when the agent is started again, by a restart or by a new prompt.
#[test]
fn a_paused_queue_stays_paused_when_the_agent_starts_again() {
    let queued = |world: &World| {
        let queue = &world.state.chats[&ChatId(1)].queue;
        queue.texts().map(str::to_owned).collect::<Vec<_>>()
    };
    let start_again = |world: &mut World| {
        world.reply();
        world.reply();
    };
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.handle(prompt("later"));
    world.handle(Event::User(UserAction::Cancel(None)));
    world.handle(Event::User(UserAction::Restart { chat: None, force: false }));
    start_again(&mut world);
    assert_eq!((world.chat_state(), queued(&world)), (ChatState::Ready, vec!["later".to_owned()]));
    let exit = Exit {
        cause: ExitCause::ClosedPipe,
        stderr: Vec::new(),
        stderr_lines: 0,
        messages: Vec::new(),
    };
    world.agent_sends(AgentEvent::Exited(exit));
    assert_eq!(world.chat_state(), ChatState::Failed);
    world.handle(prompt("now"));
    start_again(&mut world);
    world.context_collected(0);
    assert_eq!(world.chat_state(), ChatState::Running, "it was sent");
    world.reply();
    assert_eq!((world.chat_state(), queued(&world)), (ChatState::Ready, vec!["later".to_owned()]));
}

/// Holds (Review): While the first look at a large folder takes long, the chat says how far it is.
#[test]
fn the_progress_of_a_long_first_scan_is_shown() {
    let mut world = World::ready();
    let detail = |world: &World| world.state.chats[&ChatId(1)].status().detail;
    world.handle(Event::FolderScan(ChatId(1), Some(120)));
    assert!(detail(&world).is_some_and(|text| text.ends_with(": 120 files")));
    world.handle(Event::FolderScan(ChatId(1), None));
    assert_eq!(detail(&world), None);
}

/// Holds (Turns): A prompt that is to be sent now cancels the turn and is sent next; what was queued goes on after it.
#[test]
fn a_prompt_that_is_sent_now_does_not_pause_the_queue() {
    let running = |world: &World| {
        world.state.chats[&ChatId(1)]
            .turn()
            .map(|turn| turn.prompt.text.clone())
            .unwrap_or_default()
    };
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.handle(prompt("later"));
    world.handle(send("now", true));
    assert_eq!(world.chat_state(), ChatState::Cancelling);
    world.reply();
    assert_eq!(running(&world), "now");
    world.handle(prompt("last"));
    let last = world.state.chats[&ChatId(1)].status().queue_numbers[1];
    world.handle(Event::User(UserAction::Queue(None, QueueAction::Send(last))));
    world.reply();
    assert_eq!(running(&world), "last");
    world.handle(Event::User(UserAction::Cancel(None)));
    world.reply();
    let status = world.state.chats[&ChatId(1)].status();
    assert!(status.queue_paused, "a cancel of the user pauses it");
    assert_eq!(status.queued, ["later"]);
    world.handle(Event::User(UserAction::Queue(None, QueueAction::Resume)));
    assert_eq!(running(&world), "later");
}

/// Holds (Windows and views): A chat says once that its context is nearly full, and again only after it was emptied.
#[test]
fn a_context_that_is_nearly_full_is_named_once() {
    let mut world = World::ready();
    let notes = |world: &World| {
        let entries = world.state.chats[&ChatId(1)].transcript.entries();
        let is_meant = |entry: &&Entry| format!("{entry:?}").contains("of the context is used");
        entries.iter().filter(is_meant).count()
    };
    for (used, wanted) in [(89, 0), (90, 1), (99, 1), (80, 1), (95, 1), (10, 1), (95, 2)] {
        world.handle(prompt("go"));
        let update = Update::Usage(Usage { used, size: 100, cost: None });
        world.agent_sends(AgentEvent::Update { session: "s".into(), update });
        world.reply();
        assert_eq!(notes(&world), wanted, "{used}");
    }
    assert_eq!(Usage { used: 1, size: 0, cost: None }.percent(), None);
}
