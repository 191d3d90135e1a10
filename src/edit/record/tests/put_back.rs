//! Lines that an agent has brought, that were kept and went, and that somebody has put back since.

use super::*;

impl World {
    fn keeps(&mut self, by: &str) {
        let choice = self.choose(by);
        self.record.keep(&choice);
    }

    /// Rejects what an agent did, whether it was kept or not.
    fn undo(&mut self, by: &str) {
        let planned = self.record.clone().as_if_pending(|origin| *origin == by);
        let rejection = planned.plan_rejection(&planned.choose(None, |origin| *origin == by));
        assert!(rejection.conflicts.is_empty());
        self.becomes(apply(&rejection.hunks, self.now()));
        let after = self.version();
        self.record.reject(&rejection, &after);
        self.check();
    }
}

#[test]
fn a_kept_line_that_another_has_put_back_stays_when_its_first_author_is_undone() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2 a\n3\n");
    world.keeps("a");
    world.agent("b", "1\n2\n3\n");
    world.keeps("b");
    world.agent("c", "1\nc\n3\n");
    world.agent("b", "1\n2 a\n3\n");
    world.undo("a");
    assert_eq!(*world.now(), Text::parse("1\n2 a\n3\n"));
    assert_eq!(world.pending(), one("2", "2 a"));
}

#[test]
fn a_kept_line_that_the_user_has_put_back_stays_whatever_is_undone() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\n2\na\n");
    world.keeps("a");
    world.user("1\n2\n");
    world.user("1\n2\na\n");
    world.agent("b", "1\n2\n");
    world.undo("b");
    assert_eq!(*world.now(), Text::parse("1\n2\na\n"));
    world.undo("a");
    world.undo("a");
    assert_eq!(*world.now(), Text::parse("1\n2\na\n"));
}

#[test]
fn a_kept_line_that_its_author_has_put_back_goes() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\n2\na\n");
    world.keeps("a");
    world.user("1\n2\n");
    world.agent("a", "1\n2\na\n");
    world.undo("a");
    assert_eq!(*world.now(), Text::parse("1\n2\n"));
}

#[test]
fn a_line_of_the_users_comes_back_when_who_first_brought_it_is_undone_and_has_taken_it_away() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\n2\na\n");
    world.keeps("a");
    world.user("1\n2\n");
    world.user("1\n2\na\n");
    world.agent("a", "1\n2\n");
    world.undo("a");
    assert_eq!(*world.now(), Text::parse("1\n2\na\n"));
}

#[test]
fn a_line_the_user_has_put_back_is_not_pending_when_it_is_kept_no_longer() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\n2\na\n");
    world.keeps("a");
    world.user("1\n2\n");
    world.user("1\n2\na\n");
    let all = 0..3;
    world.record.keep_no_longer(&[all]);
    world.check();
    assert_eq!(world.pending(), []);
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(*world.now(), Text::parse("1\n2\na\n"));
}

/// Agents and the user by turns put one line in place of another and back.
fn taken_and_put_back() -> World {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\na\n3\n");
    world.keeps("a");
    world.agent("b", "1\n2\n3\n");
    world.agent("c", "1\na\n3\n");
    world.user("1\n2\n3\n");
    assert_eq!(world.pending(), []);
    world
}

#[test]
fn what_the_user_has_put_back_stays_theirs_when_what_took_it_away_is_rejected() {
    for order in [["b", "c"], ["c", "b"]] {
        let mut world = taken_and_put_back();
        for by in order {
            assert_eq!(world.reject(&world.choose(by)), []);
            world.check();
            assert_eq!(world.pending(), [], "{by} of {order:?}");
            assert_eq!(*world.now(), Text::parse("1\n2\n3\n"), "{by} of {order:?}");
        }
    }
}

#[test]
fn a_line_that_two_agents_have_put_back_stays_until_both_are_rejected() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n3\n");
    world.keeps("a");
    world.agent("b", "1\n2\n3\n");
    world.agent("c", "1\n3\n");
    world.agent("d", "1\n2\n3\n");
    for (by, text) in [("c", "1\n2\n3\n"), ("b", "1\n2\n3\n"), ("d", "1\n3\n")] {
        assert_eq!(world.reject(&world.choose(by)), []);
        world.check();
        assert_eq!(*world.now(), Text::parse(text), "{by}");
    }
}

#[test]
fn a_line_that_two_agents_have_taken_away_comes_back_once_both_are_rejected() {
    for order in [["a", "c"], ["c", "a"]] {
        let mut world = World::new("1\n2\n3\n");
        world.agent("a", "1\n3\n");
        world.agent("b", "1\n2\n3\n");
        world.agent("c", "1\n3\n");
        assert_eq!(world.reject(&world.choose("b")), []);
        assert_eq!(world.pending(), one("2", ""));
        assert_eq!(world.reject(&world.choose(order[0])), []);
        assert_eq!(*world.now(), Text::parse("1\n3\n"), "{order:?}");
        world.check();
        assert_eq!(world.reject(&world.choose(order[1])), []);
        assert_eq!(*world.now(), Text::parse("1\n2\n3\n"), "{order:?}");
        world.check();
    }
}

#[test]
fn what_the_user_has_taken_away_stays_away_when_what_put_it_back_is_rejected() {
    for (order, text) in [(["b", "a"], "1\na\n3\n"), (["a", "b"], "1\n3\n")] {
        let mut world = World::new("1\n2\n3\n");
        world.agent("a", "1\na\n3\n");
        world.agent("b", "1\n2\n3\n");
        world.user("1\n3\n");
        // What "b" replaced is there again, for nothing is in its place.
        assert_eq!(world.reject(&world.choose(order[0])), []);
        assert_eq!(*world.now(), Text::parse(text), "{order:?}");
        world.check();
        assert_eq!(world.reject(&world.choose(order[1])), []);
        assert_eq!(*world.now(), Text::parse("1\n3\n"), "{order:?}");
        world.check();
    }
}

#[test]
fn a_rejected_line_that_another_had_taken_away_stays_away_when_that_is_rejected_too() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2\na\n3\n");
    world.agent("b", "1\n2\n3\n");
    assert_eq!(world.reject(&world.choose("a")), []);
    assert!(world.record.plan_rejection(&world.choose("a")).is_empty(), "it is done");
    assert_eq!(world.reject(&world.choose("b")), []);
    world.check();
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

#[test]
fn a_kept_line_that_is_undone_stays_away_when_what_took_it_away_is_rejected() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2\na\n3\n");
    world.keeps("a");
    world.agent("b", "1\n2\n3\n");
    assert_eq!(world.pending(), one("a", ""));
    world.undo("a");
    assert_eq!(world.pending(), []);
    assert_eq!(world.reject(&world.choose("b")), []);
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

#[test]
fn a_rejected_deletion_does_not_come_back_when_what_had_put_the_line_back_is_undone() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n3\n");
    world.agent("b", "1\n2\n3\n");
    world.keeps("b");
    assert_eq!(world.reject(&world.choose("a")), []);
    world.undo("b");
    assert_eq!(world.pending(), []);
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

/// Of a line that one agent has brought and another has replaced, only what it has become is seen and kept.
#[test]
fn a_line_below_a_kept_one_comes_back_once_that_is_undone() {
    let mut world = World::new("1\n2\n");
    world.agent("a", "1\na\n2\n");
    world.agent("b", "1\na b\n2\n");
    let shown = world.record.pending()[0].id;
    let choice = world.record.choose_hunks(&[shown].into(), |_| true);
    world.record.keep(&choice);
    assert_eq!(world.pending(), []);
    assert_eq!(world.reject(&world.record.choose(None, |_| true)), []);
    world.undo("b");
    assert_eq!(*world.now(), Text::parse("1\na\n2\n"));
}

/// Holds (Review): A line that an agent has put back stays where what had taken its place before has gone since.
#[test]
fn a_line_that_was_put_back_is_not_taken_where_nothing_else_is_left() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2 a\n3\n");
    world.keeps("a");
    world.agent("b", "1\n2\n3\n");
    world.user("1\n2\nuser\n3\n");
    let changed = world.record.pending().last().unwrap().id;
    let choice = world.record.choose_hunks(&[changed].into(), |_| true);
    assert_eq!(world.reject(&choice), []);
    assert_eq!(*world.now(), Text::parse("1\n2\nuser\n2 a\n3\n"));
    // The user reads the file again, which was not saved.
    world.user("1\n2\n3\n");
    let choice = world.choose("b");
    assert_eq!(world.reject(&choice), [(1, 2)]);
    assert_eq!(*world.now(), Text::parse("1\n2\n3\n"));
}

#[test]
fn a_line_that_came_where_none_was_goes_again() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\n2 a\n3\n");
    world.keeps("a");
    world.user("1\n3\n");
    world.agent("b", "1\n2\n3\n");
    world.undo("b");
    assert_eq!(*world.now(), Text::parse("1\n3\n"));
}

#[test]
fn what_replaced_a_line_is_kept_with_its_going_also_where_the_user_has_deleted_it() {
    let mut world = World::new("1\n2\n3\n");
    world.agent("a", "1\ntwo\n3\n");
    world.user("1\n3\n");
    let choice = world.record.choose(Some(&(1..1)), |_| true);
    world.record.keep(&choice);
    world.goes_to(1);
    assert_eq!(world.pending(), []);
    assert_eq!(world.reject(&world.choose("a")), []);
    assert_eq!(*world.now(), Text::parse("1\ntwo\n3\n"));
}
