//! Permission requests that the user's rules decide on.

use super::world::World;
use super::*;
use crate::session::permission::DecidedBy;

fn in_turn() -> World {
    let mut world = World::ready().with_rules();
    world.handle(prompt("go"));
    world.context_collected(0);
    world
}

/// Returns how many requests the user is asked about.
fn asked(world: &World) -> usize {
    world.state.chats[&ChatId(1)].status().permissions.len()
}

fn chosen(world: &World, token: u64) -> Option<String> {
    match world.answers_to(token) {
        [Answer::Permission(Outcome::Selected(option))] => Some(option.to_string()),
        _ => None,
    }
}

#[test]
fn what_the_rules_decide_is_answered_without_the_user() {
    for (decision, option) in [(Decision::Allow, "yes"), (Decision::Deny, "no")] {
        let mut world = in_turn();
        world.request_permission("1");
        assert_eq!(asked(&world), 0, "the rules have not decided");
        world.judge(decision, &["a rule"]);
        assert_eq!((chosen(&world, 1).as_deref(), asked(&world)), (Some(option), 0));
        let by = world.state.chats[&ChatId(1)].incoming().find_tool(&"1".into()).unwrap();
        let by = by.asked.as_ref().map(|asked| asked.by.clone());
        assert_eq!(by, Some(DecidedBy::Rules(vec!["a rule".to_owned()])));
    }
}

#[test]
fn what_they_leave_to_the_user_is_asked_about() {
    for by in [&["a rule"][..], &[]] {
        let mut world = in_turn();
        world.request_permission("1");
        world.judge(Decision::Ask, by);
        let status = world.state.chats[&ChatId(1)].status();
        assert_eq!(status.permissions.len(), 1);
        assert_eq!(status.permissions[0].for_user, !by.is_empty());
        assert_eq!(world.answers_to(1), []);
    }
}

#[test]
fn a_request_that_changes_meanwhile_is_decided_on_again() {
    let mut world = in_turn();
    world.request_permission("1");
    let patch = ToolCallPatch { title: Some("Something else".into()), ..ToolCallPatch::default() };
    let update = Update::ToolCall { id: "1".into(), patch: Box::new(patch) };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    world.judge(Decision::Allow, &["a rule"]);
    assert_eq!((chosen(&world, 1), world.cases.len()), (None, 1));
    world.judge(Decision::Deny, &["a rule"]);
    assert_eq!(chosen(&world, 1).as_deref(), Some("no"));
}

#[test]
fn a_request_that_changes_while_the_user_is_asked_is_decided_on_again() {
    let mut world = in_turn();
    world.request_permission("1");
    world.judge(Decision::Ask, &[]);
    assert_eq!(asked(&world), 1);
    let patch = ToolCallPatch { title: Some("Something else".into()), ..ToolCallPatch::default() };
    let update = Update::ToolCall { id: "1".into(), patch: Box::new(patch) };
    world.agent_sends(AgentEvent::Update { session: "s".into(), update });
    assert_eq!((asked(&world), world.cases.len()), (0, 1));
    world.judge(Decision::Deny, &["a rule"]);
    assert_eq!(chosen(&world, 1).as_deref(), Some("no"));
}

#[test]
fn what_the_rules_decide_too_late_is_ignored() {
    let mut world = in_turn();
    world.request_permission("1");
    world.handle(Event::User(UserAction::Cancel(None)));
    let cancelled = [Answer::Permission(Outcome::Cancelled)];
    assert_eq!(world.answers_to(1), cancelled);
    world.judge(Decision::Allow, &["a rule"]);
    assert_eq!(world.answers_to(1), cancelled);
}
