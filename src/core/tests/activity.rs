//! Turns whose end is told by updates.

use super::*;
use crate::core::effect::Level;
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
