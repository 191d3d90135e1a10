//! Whatever agents and the user do one after the other, in a property test.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Agent(bool, Vec<u8>),
    User(Vec<u8>),
    Formatter(Vec<u8>),
    PutBack(Option<bool>, prop::sample::Index),
    GoTo(prop::sample::Index),
    Keep(bool),
    Reject(Option<bool>),
    Undo(bool),
    RejectLines(prop::sample::Index),
}

fn act() -> impl Strategy<Value = Act> {
    let ops = || prop::collection::vec(prop_oneof![5 => Just(0_u8), 1 => 1_u8..5], 12);
    prop_oneof![
        5 => (any::<bool>(), ops()).prop_map(|(by, ops)| Act::Agent(by, ops)),
        4 => ops().prop_map(Act::User),
        2 => ops().prop_map(Act::Formatter),
        2 => any::<(Option<bool>, prop::sample::Index)>().prop_map(|(by, it)| Act::PutBack(by, it)),
        3 => any::<prop::sample::Index>().prop_map(Act::GoTo),
        1 => any::<bool>().prop_map(Act::Keep),
        2 => any::<Option<bool>>().prop_map(Act::Reject),
        1 => any::<bool>().prop_map(Act::Undo),
        1 => any::<prop::sample::Index>().prop_map(Act::RejectLines),
    ]
}

/// Some lines replaced, removed, repeated, moved to the end or followed by a new one.
fn edited(old: &Text, ops: &[u8], name: &str, count: &mut u32) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut moved = Vec::new();
    let mut new = || {
        *count += 1;
        format!("{name}{count}")
    };
    for (line, op) in old.lines().zip(ops.iter().chain(std::iter::repeat(&0))) {
        match op {
            1 => lines.push(new()),
            2 => {}
            3 => lines.extend([line.to_owned(), new()]),
            4 => moved.push(line.to_owned()),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.append(&mut moved);
    if lines.is_empty() {
        lines.push(new());
    }
    lines.join("\n") + "\n"
}

/// Some lines in quotes or in brackets, with a blank line before them, or moved to the end, as where lines are sorted.
fn formatted(old: &Text, ops: &[u8]) -> String {
    let (mut new, mut moved) = (String::new(), String::new());
    for (line, op) in old.lines().zip(ops.iter().chain(std::iter::repeat(&0))) {
        match op {
            1 => new.extend(["\"", line, "\",\n"]),
            2 => new.extend([line, "(\n)\n"]),
            3 => new.extend(["\n", line, "\n"]),
            4 => moved.extend([line, "\n"]),
            _ => new.extend([line, "\n"]),
        }
    }
    new + &moved
}

fn name(by: bool) -> &'static str {
    if by { "a" } else { "b" }
}

fn has_pending(record: &Record<&'static str>, by: &str) -> bool {
    let mut steps = record.pending().into_iter().flat_map(|hunk| hunk.steps);
    steps.any(|step| record.origin(step).is_some_and(|origin| *origin == by))
}

/// Rejects what is pending, which never changes the base.
fn rejects(world: &mut World, choice: &Choice) -> Vec<(usize, usize)> {
    let (base, before) = (world.record.base(), world.now().clone());
    let conflicts = world.reject(choice);
    assert_eq!(world.record.base(), base, "what is not pending stays what it is");
    world.check_users_lines(&base, &before);
    conflicts
}

/// Undoes what an agent did, whether it was kept or not. Then the base is what it would be had nothing of that been kept.
fn undoes(world: &mut World, by: &'static str) {
    let planned = world.record.clone().as_if_pending(|origin| *origin == by);
    let (base, before) = (planned.base(), world.now().clone());
    let rejection = planned.plan_rejection(&planned.choose(None, |origin| *origin == by));
    world.becomes(apply(&rejection.hunks, world.now()));
    let after = world.version();
    world.record.reject(&rejection, &after);
    world.check_users_lines(&base, &before);
    if rejection.conflicts.is_empty() {
        assert_eq!(world.record.base(), base);
        assert!(!has_pending(&world.record, by));
    }
}

fn play(acts: Vec<Act>) {
    let mut world = World::new("1\n2\n3\n4\n5\n6\n");
    let mut count = 0;
    let mut decisions = 0;
    let mut pending_at = HashMap::new();
    // Whose changes are all rejected.
    let mut gone = HashSet::new();
    for act in acts {
        match &act {
            Act::Agent(by, _) | Act::PutBack(Some(by), _) => drop(gone.remove(by)),
            Act::GoTo(_) => gone.clear(),
            _ => {}
        }
        match act {
            Act::Agent(by, ops) => {
                let new = edited(world.now(), &ops, name(by), &mut count);
                world.agent(name(by), &new);
            }
            Act::User(ops) => {
                let new = edited(world.now(), &ops, "user", &mut count);
                world.user(&new);
            }
            Act::Formatter(ops) => {
                let new = formatted(world.now(), &ops);
                world.formatter(&new);
            }
            Act::PutBack(by, index) => {
                let old = world.history[index.index(world.history.len())].0.file_content();
                match by {
                    Some(by) => world.agent(name(by), &old),
                    None => world.user(&old),
                }
            }
            Act::GoTo(index) => {
                let state = index.index(world.history.len());
                world.goes_to(state);
            }
            Act::Keep(by) => {
                world.record.keep(&world.choose(name(by)));
                assert!(world.choose(name(by)).is_empty());
                decisions += 1;
            }
            Act::Reject(by) => {
                let choice =
                    world.record.choose(None, |origin| by.is_none_or(|by| *origin == name(by)));
                let (base, at) = (world.record.base(), world.at);
                let conflicts = rejects(&mut world, &choice);
                // What is rejected may not show in the text.
                decisions += usize::from(world.at == at);
                if conflicts.is_empty() {
                    assert!(by.is_some() || *world.now() == base);
                    gone.extend(by);
                    gone.extend(by.is_none().then_some([true, false]).into_iter().flatten());
                }
            }
            Act::RejectLines(index) => {
                let row = index.index(world.now().len().max(1));
                let choice = world.record.choose(Some(&(row..row + 1)), |_| true);
                let at = world.at;
                rejects(&mut world, &choice);
                decisions += usize::from(world.at == at);
            }
            Act::Undo(by) => {
                let at = world.at;
                undoes(&mut world, name(by));
                decisions += usize::from(world.at == at);
            }
        }
        world.check();
        let before = pending_at.insert((world.at, decisions), world.pending());
        assert!(before.is_none_or(|before| before == world.pending()), "as it was in this state");
        for &by in &gone {
            assert!(!has_pending(&world.record, name(by)), "what was rejected does not come back");
        }
    }
}

proptest! {
    #[test]
    fn base_and_pending_hunks_give_the_text_whatever_happens(acts in prop::collection::vec(act(), 1..25)) {
        play(acts);
    }
}
