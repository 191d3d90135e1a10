//! Turns that are cut off, since the program is killed: the next one logs them.

use super::super::covered::Covered;
use super::super::turns::TurnAbout;
use super::{World, assert_same, back, paths};
use std::fs;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

fn begun_files(world: &World) -> usize {
    let names = fs::read_dir(world.slot(1)).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("begun-")).count()
}

fn begin(covered: &mut Covered) {
    covered.begin(1, &AtomicI64::new(0)).unwrap();
    covered.tidy();
}

#[test]
fn a_turn_that_is_killed_is_logged_at_the_next_start() {
    for looks in [true, false] {
        let world = World::new("cut-off");
        world.write("one", "before");
        world.write("two", "before");
        world.write("log/x", "before");
        let before = world.tree();
        let mut covered = world.covered();
        begin(&mut covered);
        world.write("one", "after");
        fs::remove_file(world.at("two")).unwrap();
        world.write("new/file", "after");
        // What the turn hides was covered when it began.
        world.write(".gitignore", "log\n");
        fs::remove_file(world.at("log/x")).unwrap();
        if looks {
            // What changed a moment before the look may have changed again after it.
            let settled = Instant::now() + Duration::from_millis(50);
            while Instant::now() < settled {
                std::thread::yield_now();
            }
            covered.look(1).unwrap();
        }
        // As a kill: nothing of it runs any more.
        drop(covered);
        let mut covered = world.covered();
        covered.complete();
        let turns = covered.turns();
        assert_eq!(turns.len(), 1);
        let turn = covered.turn(turns[0].id).unwrap();
        let wanted = [".gitignore", "log/x", "new", "new/file", "one", "two"];
        assert_eq!(paths(&turn.changes), wanted);
        for change in turn.changes.iter().filter(|change| change.path.to_string() != "new") {
            // What came after the last look may be anybody's.
            assert_eq!(change.shared, !looks, "{}", change.path);
        }
        assert_eq!(covered.restore(back(&turn)).unwrap().left, []);
        assert_same(&world.tree(), &before);
        drop(covered);
        let mut covered = world.covered();
        covered.complete();
        assert_eq!(covered.turns(), turns, "it is logged once");
    }
}

#[test]
fn a_turn_that_ends_leaves_nothing_to_be_logged() {
    let world = World::new("not-cut-off");
    world.write("one", "before");
    let mut covered = world.covered();
    for number in 0..3 {
        begin(&mut covered);
        assert_eq!(begun_files(&world), 1);
        world.write("one", number.to_string());
        covered.end(1, &TurnAbout::default(), Box::new(|_| true)).unwrap();
        assert_eq!(begun_files(&world), 0);
    }
    begin(&mut covered);
    covered.abandon(1);
    assert_eq!(begun_files(&world), 0);
    drop(covered);
    let mut covered = world.covered();
    covered.complete();
    assert_eq!(covered.turns().len(), 3);
}
