//! When the user is told that an agent could be confined.

use super::*;
use crate::session::entry::{Entry, Note};
use crate::session::tool_call::ToolKind;

/// Plays a turn with a completed tool call of this kind, for which the agent may have asked.
fn turn(world: &mut World, kind: ToolKind, asks: bool) {
    world.handle(prompt("go"));
    world.context_collected(0);
    if asks {
        world.request_permission("1");
    }
    let patch = ToolCallPatch {
        kind: Some(kind),
        status: Some(ToolStatus::Completed),
        ..ToolCallPatch::default()
    };
    let update = Update::ToolCall { id: "1".into(), patch: Box::new(patch) };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    world.reply();
}

fn times_told(world: &World) -> usize {
    let entries = world.state.chats[&ChatId(1)].transcript.entries().iter();
    let is_told = |entry: &&Entry| matches!(entry, Entry::Note(Note { title, .. }) if title.contains("did not ask"));
    entries.filter(is_told).count()
}

fn ready(could_be_confined: bool) -> World {
    let mut world = World::ready();
    let chat = world.state.chats.get_mut(&ChatId(1)).unwrap();
    chat.config.could_be_confined = could_be_confined;
    world
}

/// Holds (Confinement): The user is told once that an agent could be confined which acts without asking.
#[test]
fn an_agent_that_acts_without_asking_could_be_confined() {
    for kind in [ToolKind::Edit, ToolKind::Delete, ToolKind::Move, ToolKind::Execute] {
        let mut world = ready(true);
        turn(&mut world, ToolKind::Read, false);
        assert_eq!(times_told(&world), 0);
        turn(&mut world, kind, false);
        turn(&mut world, kind, false);
        assert_eq!(times_told(&world), 1, "{kind:?}");
    }
}

#[test]
fn neither_one_that_asks_nor_one_that_cannot_be_confined_is_told_of() {
    let mut world = ready(true);
    turn(&mut world, ToolKind::Edit, true);
    assert_eq!(times_told(&world), 0);
    let mut world = ready(false);
    turn(&mut world, ToolKind::Edit, false);
    assert_eq!(times_told(&world), 0);
}
