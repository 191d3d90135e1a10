//! Changes in place: each ends exactly once, and only with a whole answer.

use super::*;
use crate::core::chat::Phase;
use crate::core::messages::editor::{EditOutcome, Level};
use crate::core::messages::user::NewEdit;
use crate::session::in_place::InPlace;

const CODE: &str = "So:\n\n```\nnew\n```\n";

fn edit_prompt(number: u64) -> Prompt {
    let lines = ["a", "old", "c"].map(str::to_owned).to_vec();
    let in_place = InPlace::new(number, "/project/a".into(), (2, 2), lines);
    Prompt { text: "change it".to_owned(), in_place: in_place.map(Arc::new), ..Prompt::default() }
}

fn edit(number: u64) -> Event {
    Event::User(UserAction::Edit(Box::new(NewEdit {
        config: config(),
        problems: Vec::new(),
        cwd: "/project".into(),
        directories: Vec::new(),
        policy: ChatPolicy { unsaved: Unsaved::Ignore, ..ChatPolicy::default() },
        prompt: edit_prompt(number),
    })))
}

fn edit_again(chat: ChatId, number: u64) -> Event {
    Event::User(UserAction::EditAgain(chat, Box::new(edit_prompt(number))))
}

fn say(world: &mut World, session: &str, words: &str) {
    let content = Content::Text(words.to_owned());
    let update = Update::Chunk { role: Role::Agent, message: None, content };
    world.agent_sends(AgentEvent::Update { session: session.into(), update });
}

/// What has become of the changes, by their numbers.
fn outcomes(world: &World) -> Vec<(u64, EditOutcome)> {
    let over = world.messages.iter().filter_map(|told| match told {
        EditorMessage::Edited { edit, outcome, .. } => Some((*edit, *outcome)),
        _ => None,
    });
    over.collect()
}

fn warnings(world: &World) -> Vec<String> {
    let told = world.messages.iter().filter_map(|told| match told {
        EditorMessage::Notify(Level::Warn | Level::Error, notice) => Some(notice.to_string()),
        _ => None,
    });
    told.collect()
}

/// A change that the agent is working on in its session `s2`.
fn asked() -> World {
    let mut world = World::ready();
    world.handle(edit(1));
    world.reply();
    assert!(matches!(world.calls[..], [(_, Call::Prompt { .. })]), "{:?}", world.calls);
    world
}

fn stop(world: &mut World, reason: StopReason) {
    let (call, _) = world.calls.remove(0);
    world.agent_sends(AgentEvent::Answer { call, result: Ok(Reply::Turn(reason)) });
}

#[test]
fn a_turn_ends_once_its_answer_is_in_place() {
    let mut world = asked();
    say(&mut world, "s2", CODE);
    stop(&mut world, StopReason::EndTurn);
    assert_eq!(world.state.chats[&ChatId(2)].state(), ChatState::Running);
    assert_eq!(outcomes(&world), []);
    let token = world.file_requests.pop().unwrap();
    let outcome = FileOutcome::Written { changes: Vec::new(), notice: None };
    world.handle(Event::File { token, outcome });
    assert_eq!(world.state.chats[&ChatId(2)].state(), ChatState::Ready);
    assert_eq!(outcomes(&world), [(1, EditOutcome::Changed)]);
    assert!(world.answers.is_empty(), "no agent waits for that write");
}

/// Holds (In place): An answer that is not complete is not put in place.
#[test]
fn an_answer_that_was_cut_off_is_not_used() {
    for (reason, words) in [
        (StopReason::MaxTokens, "max tokens"),
        (StopReason::Refusal, "refusal"),
        (StopReason::Unknown("bored".to_owned()), "bored"),
    ] {
        let mut world = asked();
        say(&mut world, "s2", CODE);
        stop(&mut world, reason);
        assert_eq!(world.file_requests, []);
        assert_eq!(outcomes(&world), [(1, EditOutcome::Failed)]);
        let told = warnings(&world);
        assert!(told.len() == 1 && told[0].contains(words), "{told:?}");
    }
    let mut world = asked();
    say(&mut world, "s2", "```\nnew\n");
    stop(&mut world, StopReason::EndTurn);
    assert_eq!((world.file_requests.len(), outcomes(&world)), (0, vec![(1, EditOutcome::Failed)]));
}

#[test]
fn code_in_an_earlier_message_or_of_an_earlier_turn() {
    let mut world = asked();
    say(&mut world, "s2", CODE);
    let patch = ToolCallPatch { status: Some(ToolStatus::Completed), ..ToolCallPatch::default() };
    let update = Update::ToolCall { id: "look".into(), patch: Box::new(patch) };
    world.agent_sends(AgentEvent::Update { session: "s2".into(), update });
    say(&mut world, "s2", "Done.");
    stop(&mut world, StopReason::EndTurn);
    let token = world.file_requests.pop().expect("the code before the tool call is used");
    let outcome = FileOutcome::Written { changes: Vec::new(), notice: None };
    world.handle(Event::File { token, outcome });
    world.handle(edit_again(ChatId(2), 2));
    say(&mut world, "s2", "No.");
    stop(&mut world, StopReason::EndTurn);
    assert_eq!(world.file_requests, [], "the code of the turn before is not");
    assert_eq!(outcomes(&world), [(1, EditOutcome::Changed), (2, EditOutcome::Failed)]);
}

#[test]
fn a_change_ends_if_nobody_can_log_in() {
    let mut world = asked();
    let (code, message) = (AUTH_REQUIRED, "log in".to_owned());
    world.reply_with_error(CallError::Rpc { code, message, detail: None, data: None });
    assert_eq!(outcomes(&world), [(1, EditOutcome::Failed)], "there is no way to log in");
    let told = warnings(&world);
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn a_change_is_not_the_users_draft() {
    let mut world = asked();
    world.agent_sends(AgentEvent::Exited(Exit {
        cause: ExitCause::Status(1),
        stderr: Vec::new(),
        stderr_lines: 0,
        messages: Vec::new(),
    }));
    assert_eq!(outcomes(&world), [(1, EditOutcome::Failed)]);
    let is_draft = |told: &EditorMessage| matches!(told, EditorMessage::Draft { .. });
    assert!(!world.messages.iter().any(is_draft));
    assert_eq!(world.state.current, Some(ChatId(1)));
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Edit,
    EditAgain(u32),
    Say(u8, bool),
    Other(Step),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => Just(Act::Edit),
        2 => (1..4u32).prop_map(Act::EditAgain),
        4 => (1..4u8, any::<bool>()).prop_map(|(session, whole)| Act::Say(session, whole)),
        16 => step().prop_map(Act::Other),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Holds (In place): Each change ends exactly once, whatever happens meanwhile.
    #[test]
    fn each_change_ends_exactly_once(acts in prop::collection::vec(act(), 0..60)) {
        let mut world = World::ready();
        let mut asked = 0;
        for act in acts {
            match act {
                Act::Edit => {
                    asked += 1;
                    world.handle(edit(asked));
                }
                Act::EditAgain(chat) if world.state.chats.contains_key(&ChatId(chat)) => {
                    asked += 1;
                    world.handle(edit_again(ChatId(chat), asked));
                }
                Act::EditAgain(_) => {}
                Act::Say(session, whole) => {
                    let name = if session == 1 { "s".to_owned() } else { format!("s{session}") };
                    say(&mut world, &name, if whole { CODE } else { "```\nnew\n" });
                }
                Act::Other(step) => play(&mut world, step),
            }
            for chat in world.state.chats.values().filter(|chat| chat.phase == Phase::Ready) {
                let queue = format!("{:?}", chat.queue);
                prop_assert!(!queue.contains("in_place: Some"), "it waits for nothing: {queue}");
            }
        }
        for id in world.state.chats.keys().copied().collect::<Vec<_>>() {
            world.handle(Event::User(UserAction::Stop(Some(id))));
        }
        while let Some(token) = world.file_requests.pop() {
            let outcome = FileOutcome::Written { changes: Vec::new(), notice: None };
            world.handle(Event::File { token, outcome });
        }
        let mut over: Vec<u64> = outcomes(&world).into_iter().map(|(number, _)| number).collect();
        over.sort_unstable();
        prop_assert_eq!(over, (1..=asked).collect::<Vec<_>>());
        for token in world.answers.keys() {
            prop_assert!(token.0 < 1 << 63, "an agent got the answer to a write of ours");
        }
    }
}
