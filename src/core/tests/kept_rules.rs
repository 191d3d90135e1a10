//! Saved rules that hold in chats.

use super::world::World;
use super::*;
use crate::core::messages::rules::ThenTell;
use crate::trust::kept::{Extent, KeptRules, RulesChange, RulesFailure, parse};

fn rules(world: &World) -> Vec<String> {
    let chat = &world.state.chats[&ChatId(1)];
    chat.access.rules.iter().map(ToString::to_string).collect()
}

fn kept(lines: &[&str]) -> KeptRules {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let mut rules = KeptRules::default();
    rules.change(RulesChange::Add(None, parse(&lines, None).unwrap()));
    rules
}

fn saved(world: &mut World, rules: Result<KeptRules, RulesFailure>) {
    world.handle(Event::RulesSaved(rules, ThenTell::Nothing));
}

fn told(world: &World, text: &str) -> usize {
    let is_it = |message: &&EditorMessage| matches!(message, EditorMessage::Notify(_, notice) if notice.to_string().contains(text));
    world.messages.iter().filter(is_it).count()
}

/// Holds (Permission requests): While saved rules cannot be read, no rule allows anything, and that is told once.
#[test]
fn where_saved_rules_cannot_be_read_nothing_is_allowed() {
    let mut world = World::ready().with_rules();
    saved(&mut world, Ok(kept(&["deny fetch", "allow read"])));
    assert_eq!(rules(&world), ["allow execute", "deny fetch", "allow read"]);
    for _ in 0..2 {
        saved(&mut world, Err(RulesFailure::Unreadable("a reason".to_owned())));
        assert_eq!(rules(&world), ["deny fetch"]);
    }
    assert_eq!(told(&world, "Your saved rules cannot be read: a reason."), 1);
    saved(&mut world, Ok(kept(&[])));
    assert_eq!(rules(&world), ["allow execute"]);
    saved(&mut world, Err(RulesFailure::Unsaved("the disk is full".to_owned())));
    assert_eq!(told(&world, "Your rules could not be saved: the disk is full."), 1);
    assert_eq!(rules(&world), ["allow execute"]);
}

/// Holds (Permission requests): What rules decided while they changed is decided on again.
#[test]
fn a_decision_by_rules_of_before_does_not_count() {
    let mut world = World::ready().with_rules();
    world.handle(prompt("go"));
    world.context_collected(0);
    world.request_permission("1");
    saved(&mut world, Ok(kept(&["deny execute"])));
    assert_eq!(world.cases.len(), 2);
    world.judge(Decision::Allow, &["allow execute"]);
    assert_eq!(world.answers_to(1), []);
    world.judge(Decision::Deny, &["deny execute"]);
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Selected("no".into()))]);
}

/// Holds (Permission requests): Rules written for a chat that is gone are not taken for those of another.
#[test]
fn rules_of_a_chat_that_is_gone_change_nothing() {
    let mut world = World::ready().with_rules();
    let lists = vec![(Extent::Session, vec!["deny fetch".to_owned()])];
    world.handle(Event::User(UserAction::SetRules(ChatId(1), "/elsewhere".into(), lists)));
    assert_eq!(told(&world, "The chat in /elsewhere is gone. Nothing was changed."), 1);
    assert_eq!(rules(&world), ["allow execute"]);
}

/// Holds (Permission requests): Options that change while a request waits are asked about it, too.
#[test]
fn other_options_decide_on_what_waits() {
    let mut world = World::ready();
    world.handle(prompt("go"));
    world.context_collected(0);
    world.request_permission("1");
    let policy =
        ChatPolicy { rules: Arc::new(["deny execute".parse().unwrap()]), ..ChatPolicy::default() };
    world.handle(start_with(policy));
    assert_eq!(world.cases.len(), 1);
    world.judge(Decision::Deny, &["deny execute"]);
    assert_eq!(world.answers_to(1), [Answer::Permission(Outcome::Selected("no".into()))]);
}

/// Holds (Permission requests): A rule that could not be saved is not said to be kept.
#[test]
fn what_is_not_saved_is_not_said_to_be_kept() {
    let mut world = World::ready();
    let keep = |extent| {
        let lines = vec!["deny fetch".to_owned()];
        Event::User(UserAction::KeepRules { chat: ChatId(1), request: 1, extent, lines })
    };
    world.handle(keep(Extent::Everywhere));
    assert_eq!(told(&world, "Kept"), 0);
    let then = || ThenTell::Kept("Kept for all projects: deny fetch.".to_owned());
    let failure = RulesFailure::Unsaved("the disk is full".to_owned());
    world.handle(Event::RulesSaved(Err(failure), then()));
    assert_eq!(told(&world, "Kept"), 0);
    world.handle(Event::RulesSaved(Ok(kept(&["deny fetch"])), then()));
    assert_eq!(told(&world, "Kept for all projects: deny fetch. :RatRules lists your rules."), 1);
    world.handle(keep(Extent::Session));
    assert_eq!(told(&world, "Kept until this session ends: deny fetch."), 1);
}
