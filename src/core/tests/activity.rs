//! What version 2 of the protocol says in its own way: turns whose end is told by updates, things told piece by piece.

use super::*;
use crate::core::effect::Level;
use crate::session::terminal::TerminalNews;
use crate::session::tool_call::ToolContent;
use crate::session::transcript::Entry;
use crate::session::turn::Activity;

/// The agent takes in the oldest prompt, if that is the call it has to answer.
pub(super) fn accept(world: &mut World) {
    if matches!(world.calls.first(), Some((_, Call::Prompt { .. }))) {
        let (call, _) = world.calls.remove(0);
        world.say(FromAgent::Answer { call, result: Ok(Reply::Accepted) });
    }
}

fn is(world: &mut World, activity: Activity) {
    let session = world.speaks_of.clone().unwrap_or_else(|| "s".into());
    world.say(FromAgent::Update { session, update: Update::Activity(activity) });
}

/// The agent says that it is busy, done, or has failed.
pub(super) fn says(world: &mut World, kind: u8) {
    let activity = match kind {
        0 => Activity::Busy,
        1 => Activity::Idle(StopReason::EndTurn),
        _ => Activity::Failed("no model".to_owned()),
    };
    is(world, activity);
}

fn prompts(world: &World) -> usize {
    world.calls.iter().filter(|(_, call)| matches!(call, Call::Prompt { .. })).count()
}

#[test]
fn the_answer_to_a_prompt_may_come_long_before_its_turn_ends() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    // Of what went before.
    is(&mut world, Activity::Idle(StopReason::EndTurn));
    assert_eq!(world.stands(), ChatState::Running);
    accept(&mut world);
    is(&mut world, Activity::Busy);
    world.permission("1");
    assert_eq!(world.stands(), ChatState::Waiting);
    play(&mut world, Step::Allow);
    world.happen(prompt("and then"));
    assert_eq!((world.stands(), prompts(&world)), (ChatState::Running, 0));
    is(&mut world, Activity::Idle(StopReason::EndTurn));
    assert_eq!((world.stands(), prompts(&world)), (ChatState::Running, 1));
    assert_eq!(world.over.len(), 1);
}

#[test]
fn the_turn_may_begin_before_its_prompt_is_answered() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    is(&mut world, Activity::Busy);
    is(&mut world, Activity::Idle(StopReason::EndTurn));
    assert_eq!(world.stands(), ChatState::Ready);
    // Its answer comes late, and is no second end.
    accept(&mut world);
    assert_eq!((world.stands(), world.over.len()), (ChatState::Ready, 1));
}

#[test]
fn an_agent_may_begin_a_turn_by_itself_and_prompts_wait_for_its_end() {
    let mut world = World::ready();
    is(&mut world, Activity::Busy);
    assert_eq!(world.stands(), ChatState::Running);
    world.happen(prompt("go"));
    assert_eq!(prompts(&world), 0);
    world.happen(Event::User(UserAction::Cancel(None)));
    assert_eq!(world.stands(), ChatState::Cancelling);
    is(&mut world, Activity::Idle(StopReason::Cancelled));
    assert_eq!((world.stands(), prompts(&world)), (ChatState::Ready, 0), "cancelled: it waits");
    world.happen(Event::User(UserAction::ResumeQueue(None)));
    assert_eq!(prompts(&world), 1);
}

#[test]
fn a_turn_that_fails_is_told_once_and_the_next_one_works() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    accept(&mut world);
    is(&mut world, Activity::Failed("no model".to_owned()));
    let told = |it: &&ToEditor| matches!(it, ToEditor::Notify(Level::Error, text) if text.contains("no model"));
    assert_eq!(world.seen.iter().filter(told).count(), 1, "{:?}", world.seen);
    assert_eq!(world.stands(), ChatState::Ready);
    world.happen(prompt("again"));
    assert_eq!((world.stands(), prompts(&world)), (ChatState::Running, 1));
}

#[test]
fn what_a_tool_call_and_its_terminal_show_may_come_piece_by_piece() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    let tell = |world: &mut World, update| {
        world.say(FromAgent::Update { session: "s".into(), update });
    };
    let text = ToolContent::Content(Content::Text("first".to_owned()));
    let items = [text, ToolContent::Terminal("t".into())];
    for content in items.clone() {
        tell(&mut world, Update::ToolContent { id: "1".into(), content });
    }
    let news = [
        TerminalNews::Output(b"lost".to_vec()),
        TerminalNews::Whole(b"one\n".to_vec()),
        TerminalNews::Output(b"two\n".to_vec()),
    ];
    for news in news {
        tell(&mut world, Update::Terminal { id: "t".into(), news });
    }
    let transcript = &world.state.chats[&ChatId(1)].transcript;
    assert_eq!(transcript.find_tool(&"1".into()).unwrap().call.content, items);
    let shown = transcript.terminal(&"t".into()).unwrap().text(100);
    assert_eq!(shown, ("one\ntwo\n".to_owned(), false));
}

#[test]
fn a_message_that_is_said_anew_stands_where_it_stood() {
    let mut world = World::ready();
    world.happen(prompt("go"));
    let text = |words: &str| Content::Text(words.to_owned());
    let mut tell = |id: &str, words: &[&str]| {
        let content = words.iter().map(|words| text(words)).collect();
        let update = Update::Message { role: Role::Agent, message: id.into(), content };
        world.say(FromAgent::Update { session: "s".into(), update });
    };
    tell("1", &["a first ", "try"]);
    tell("2", &["next"]);
    tell("1", &["better"]);
    tell("2", &[]);
    let (role, message, content) = (Role::Agent, Some("2".into()), text("last"));
    let update = Update::Chunk { role, message, content };
    world.say(FromAgent::Update { session: "s".into(), update });
    let said =
        world.state.chats[&ChatId(1)].transcript.entries().iter().filter_map(|it| match it {
            Entry::Message(message) if message.role == Role::Agent => Some(message.text.as_str()),
            _ => None,
        });
    assert_eq!(said.collect::<Vec<_>>(), ["better", "last"]);
}
