//! Turns that change the same lines, undone in any order. Each line has a place of its own: whatever is undone, there is never
//! more than one line in a place, and it is either the one that is there or the one that the turn had found.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const PLACES: usize = 6;
const TURNS: [&str; 8] = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];

#[derive(Clone)]
enum Act {
    /// The next turn.
    Turn(Vec<Op>),
    User(Vec<Op>),
    Undo(prop::sample::Index),
}

#[derive(Clone, Copy)]
enum Op {
    Nothing,
    Replace,
    Delete,
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nothing => ".",
            Self::Replace => "+",
            Self::Delete => "-",
        })
    }
}

impl std::fmt::Debug for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Turn(ops) => write!(f, "turn {ops:?}"),
            Self::User(ops) => write!(f, "user {ops:?}"),
            Self::Undo(index) => write!(f, "undo {}/1000", index.index(1000)),
        }
    }
}

/// What somebody has made of a place; `None` is the user.
#[derive(Debug, Clone)]
struct Made {
    by: Option<usize>,
    line: Option<String>,
}

fn act() -> impl Strategy<Value = Act> {
    let op = prop_oneof![6 => Just(Op::Nothing), 4 => Just(Op::Replace), 1 => Just(Op::Delete)];
    let ops = move || prop::collection::vec(op.clone(), PLACES);
    prop_oneof![
        4 => ops().prop_map(Act::Turn),
        1 => ops().prop_map(Act::User),
        3 => any::<prop::sample::Index>().prop_map(Act::Undo),
    ]
}

struct Places {
    world: World,
    /// What became of each place, the latest last.
    made: Vec<Vec<Made>>,
    turns: usize,
    undone: HashSet<usize>,
    /// The turn that was the last to change anything.
    last: Option<usize>,
    count: usize,
}

impl Places {
    fn new() -> Self {
        let lines: Vec<String> = (0..PLACES).map(|place| format!("{place}:base")).collect();
        let made = lines.iter().map(|line| vec![Made { by: None, line: Some(line.clone()) }]);
        let made = made.collect();
        let world = World::new(&(lines.join("\n") + "\n"));
        Self { world, made, turns: 0, undone: HashSet::new(), last: None, count: 0 }
    }

    fn now(&self, place: usize) -> &Made {
        self.made[place].last().unwrap()
    }

    fn writes(&mut self, by: Option<usize>, ops: &[Op]) {
        for (place, op) in ops.iter().enumerate() {
            if self.now(place).line.is_none() {
                continue;
            }
            self.count += 1;
            let line = match op {
                Op::Nothing => continue,
                Op::Replace => Some(format!("{place}:{}", self.count)),
                Op::Delete => None,
            };
            self.made[place].push(Made { by, line });
            self.last = by;
        }
        let lines: Vec<&str> =
            (0..PLACES).filter_map(|place| self.now(place).line.as_deref()).collect();
        let text = lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
        match by {
            Some(turn) => self.world.agent(TURNS[turn], &text),
            None => self.world.user(&text),
        }
    }

    /// What may be in a place after a turn is undone: how much was made of it then.
    fn allowed(&self, place: usize, turn: usize) -> Vec<usize> {
        let made = &self.made[place];
        let mut allowed = vec![made.len()];
        let is_undone =
            |made: &Made| made.by.is_some_and(|by| by == turn || self.undone.contains(&by));
        let mut left = made.len();
        // What the turn had put there, and the user has deleted, is not there to be replaced.
        if self.now(place).line.is_none() {
            while left > 1 && made[left - 1].by.is_none() {
                left -= 1;
            }
        }
        if made[left - 1].by != Some(turn) {
            return allowed;
        }
        while is_undone(&made[left - 1]) {
            left -= 1;
            allowed.push(left);
        }
        allowed
    }

    fn undoes(&mut self, turn: usize) {
        let is_of = |origin: &&'static str| *origin == TURNS[turn];
        let planned = self.world.record.clone().as_if_pending(is_of);
        let rejection = planned.plan_rejection(&planned.choose(None, is_of));
        let text = apply(&rejection.hunks, self.world.now());
        self.world.becomes(text);
        let after = self.world.version();
        self.world.record.reject(&rejection, &after);
        let lines: Vec<String> = self.world.now().lines().map(str::to_owned).collect();
        let mut lines = lines.iter().peekable();
        let is_said = !rejection.conflicts.is_empty();
        let is_last = self.last.take() == Some(turn);
        assert!(!is_last || !is_said, "nobody has changed anything since");
        for place in 0..PLACES {
            let prefix = format!("{place}:");
            let line = lines.next_if(|line| line.starts_with(&prefix)).cloned();
            let allowed = self.allowed(place, turn);
            let is_it = |left: &&usize| self.made[place][**left - 1].line == line;
            let left = allowed.iter().rev().find(is_it).copied();
            let left = left.unwrap_or_else(|| panic!("{line:?} is in place {place}"));
            let (was, made) = (self.now(place).clone(), &mut self.made[place]);
            let is_buried = |made: &Made| made.by == Some(turn) && made.line.is_some();
            if was.by == Some(turn) && left == made.len() && was.line.is_some() {
                assert!(is_said, "place {place} stays, and that is not said");
            } else if was.by != Some(turn) && was.line.is_some() && made.iter().any(is_buried) {
                let is_new = !self.undone.contains(&turn);
                assert!(is_said || !is_new, "others stand on place {place}, and that is not said");
            }
            made.truncate(left);
        }
        assert_eq!(lines.next(), None, "that is in no place, or twice");
        self.undone.insert(turn);
        self.world.check();
    }
}

proptest! {
    /// Holds (Review): A turn that is undone takes back only lines that nobody has replaced since; where others stand on its lines, they stay, alone, and that is said.
    #[test]
    fn a_place_never_has_two_lines_whatever_is_undone(acts in prop::collection::vec(act(), 3..20)) {
        let mut places = Places::new();
        for act in acts {
            match act {
                Act::Turn(ops) if places.turns < TURNS.len() => {
                    places.turns += 1;
                    places.writes(Some(places.turns - 1), &ops);
                }
                Act::User(ops) => places.writes(None, &ops),
                Act::Undo(index) if places.turns > 0 => places.undoes(index.index(places.turns)),
                _ => {}
            }
        }
    }
}

#[test]
fn the_first_of_three_turns_on_one_line_stays() {
    let mut world = World::new("one\ntwo\nthree\n");
    for (by, line) in [("a", "TURN1"), ("b", "TURN2"), ("c", "TURN3")] {
        world.agent(by, &format!("one\n{line}\nthree\n"));
    }
    assert_eq!(world.reject(&world.choose("a")), [(1, 2)]);
    assert_eq!(world.now().content(), "one\nTURN3\nthree\n");
    assert_eq!(world.reject(&world.choose("c")), []);
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(world.now().content(), "one\nTURN1\nthree\n");
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(world.now().content(), "one\ntwo\nthree\n");
}

#[test]
fn a_line_that_the_user_has_changed_before_holds_no_turn_back() {
    let mut world = World::new("one\ntwo\nthree\n");
    world.agent("a", "ONE\nTWO\nTHREE\n");
    world.user("ONE\nmine\nTHREE\n");
    world.agent("b", "all\n");
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(world.now().content(), "ONE\nmine\nTHREE\n");
}
