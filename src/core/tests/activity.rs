//! Behaviour specific to ACP version 2: turns that are ended by updates, and content that is sent in pieces.

use super::*;
use crate::core::messages::editor::Level;
use crate::session::entry::Entry;
use crate::session::terminal::TerminalUpdate;
use crate::session::tool_call::ToolContent;
use crate::session::turn::Activity;

/// The agent confirms the oldest prompt, if that is the call it has to reply to.
pub(super) fn confirm_prompt(world: &mut World) {
    if matches!(world.calls.first(), Some((_, Call::Prompt { .. }))) {
        let (call, _) = world.calls.remove(0);
        world.agent_sends(AgentEvent::Answer {
            call,
            result: Ok(Reply::PromptReceived { message: None }),
        });
    }
}

fn report(world: &mut World, activity: Activity) {
    let session = world.session.clone().unwrap_or_else(|| "s".into());
    world.agent_sends(AgentEvent::Update { session, update: Update::Activity(activity) });
}

/// The agent reports that it is busy, done, or has failed.
pub(super) fn report_kind(world: &mut World, kind: u8) {
    let activity = match kind {
        0 => Activity::Busy,
        1 => Activity::Idle(StopReason::EndTurn),
        _ => Activity::Failed("no model".to_owned()),
    };
    report(world, activity);
}

fn prompts(world: &World) -> usize {
    world.calls.iter().filter(|(_, call)| matches!(call, Call::Prompt { .. })).count()
}

#[test]
fn the_answer_to_a_prompt_may_come_long_before_its_turn_ends() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    // This is about an earlier turn.
    report(&mut world, Activity::Idle(StopReason::EndTurn));
    assert_eq!(world.chat_state(), ChatState::Running);
    confirm_prompt(&mut world);
    report(&mut world, Activity::Busy);
    world.request_permission("1");
    assert_eq!(world.chat_state(), ChatState::Waiting);
    play(&mut world, Step::Allow);
    world.handle(prompt("and then"));
    assert_eq!((world.chat_state(), prompts(&world)), (ChatState::Running, 0));
    report(&mut world, Activity::Idle(StopReason::EndTurn));
    assert_eq!((world.chat_state(), prompts(&world)), (ChatState::Running, 1));
    assert_eq!(world.turn_ends.len(), 1);
}

#[test]
fn the_turn_may_begin_before_its_prompt_is_answered() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    report(&mut world, Activity::Busy);
    report(&mut world, Activity::Idle(StopReason::EndTurn));
    assert_eq!(world.chat_state(), ChatState::Ready);
    // The reply comes late and must not end the turn a second time.
    confirm_prompt(&mut world);
    assert_eq!((world.chat_state(), world.turn_ends.len()), (ChatState::Ready, 1));
}

#[test]
fn an_agent_may_begin_a_turn_by_itself_and_prompts_wait_for_its_end() {
    let mut world = World::ready();
    report(&mut world, Activity::Busy);
    assert_eq!(world.chat_state(), ChatState::Running);
    world.handle(prompt("go"));
    assert_eq!(prompts(&world), 0);
    world.handle(Event::User(UserAction::Cancel(None)));
    assert_eq!(world.chat_state(), ChatState::Cancelling);
    report(&mut world, Activity::Idle(StopReason::Cancelled));
    assert_eq!((world.chat_state(), prompts(&world)), (ChatState::Ready, 0), "cancelled: it waits");
    world.handle(Event::User(UserAction::Queue(None, QueueAction::Resume)));
    assert_eq!(prompts(&world), 1);
}

#[test]
fn a_failed_turn_is_reported_once_and_the_next_one_works() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    confirm_prompt(&mut world);
    report(&mut world, Activity::Failed("no model".to_owned()));
    let told = |it: &&EditorMessage| matches!(it, EditorMessage::Notify(Level::Error, notice) if notice.text.contains("no model"));
    assert_eq!(world.messages.iter().filter(told).count(), 1, "{:?}", world.messages);
    assert_eq!(world.chat_state(), ChatState::Ready);
    world.handle(prompt("again"));
    assert_eq!((world.chat_state(), prompts(&world)), (ChatState::Running, 1));
}

#[test]
fn tool_call_content_and_terminal_output_may_arrive_in_pieces() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    let tell = |world: &mut World, update| {
        world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    };
    let text = ToolContent::Content(Content::Text("first".to_owned()));
    let items = [text, ToolContent::Terminal("t".into())];
    for content in items.clone() {
        tell(&mut world, Update::ToolContent { id: "1".into(), content });
    }
    let updates = [
        TerminalUpdate::Output(b"lost".to_vec()),
        TerminalUpdate::Whole(b"one\n".to_vec()),
        TerminalUpdate::Output(b"two\n".to_vec()),
    ];
    for update in updates {
        tell(&mut world, Update::Terminal { id: "t".into(), update });
    }
    let transcript = &world.state.chats[&ChatId(1)].transcript;
    assert_eq!(transcript.find_tool(&"1".into()).unwrap().call.content, items);
    let shown = transcript.terminal(&"t".into()).unwrap().text(100);
    assert_eq!(shown, ("one\ntwo\n".to_owned(), false));
}

#[test]
fn a_replaced_message_stays_in_place() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    let text = |words: &str| Content::Text(words.to_owned());
    let mut tell = |id: &str, words: &[&str]| {
        let content = words.iter().map(|words| text(words)).collect();
        let update = Update::Message { role: Role::Agent, message: id.into(), content };
        world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    };
    tell("1", &["a first ", "try"]);
    tell("2", &["next"]);
    tell("1", &["better"]);
    tell("2", &[]);
    let (role, message, content) = (Role::Agent, Some("2".into()), text("last"));
    let update = Update::Chunk { role, message, content };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    let said =
        world.state.chats[&ChatId(1)].transcript.entries().iter().filter_map(|it| match it {
            Entry::Message(message) if message.role == Role::Agent => Some(message.text.as_str()),
            _ => None,
        });
    assert_eq!(said.collect::<Vec<_>>(), ["better", "last"]);
}
