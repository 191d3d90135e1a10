//! An undo is a turn, and logged once, however often and wherever it is interrupted.

use super::super::covered::Covered;
use super::super::entry::{FileChange, State};
use super::super::ids::ContentId;
use super::super::journal::{self, Journal, PendingTurn, Planned};
use super::super::tree::Tree;
use super::super::turns::{Turn, TurnAbout, TurnSummary};
use super::super::undo::Undone;
use super::crash::{edit, fill};
use super::{Kind, World, assert_same, back, path, turn_of, two_changed};
use std::fs;
use std::io;
use std::sync::atomic::AtomicI64;

/// Takes a turn back in so many steps.
fn undo(world: &World, covered: &mut Covered, turn: &Turn, steps: usize) -> Option<Undone> {
    let mut tree = Tree::open(&world.root()).unwrap();
    tree.stop_after(steps);
    covered.begin(2, &AtomicI64::new(0)).unwrap();
    let prompt = "change".to_owned();
    let about = TurnAbout { prompt, undoes: Some(turn.summary.id), ..TurnAbout::default() };
    let undone = covered.undo_in(&tree, 2, back(turn), &about, Box::new(|_| true));
    undone.inspect(|undone| assert_eq!(undone.restored.left, [])).ok()
}

/// The turn that took this one back, which must be the last one.
fn last(covered: &Covered, undone: &Turn, count: usize) -> Turn {
    let turns = covered.turns();
    assert_eq!(turns.len(), count, "{turns:#?}");
    assert_eq!(turns[0].undoes, Some(undone.summary.id));
    covered.turn(turns[0].id).unwrap()
}

/// The changes of a turn the other way around.
fn reversed(turn: &Turn) -> Vec<FileChange> {
    let reversed = turn.changes.iter().map(|change| FileChange {
        path: change.path.clone(),
        before: change.after.clone(),
        after: change.before.clone(),
        by: None,
        shared: false,
        found: None,
    });
    reversed.collect()
}

#[test]
fn an_undo_that_is_killed_anywhere_is_logged_once() {
    let world = World::new("killed-undo");
    fill(&world);
    let before = world.tree();
    let mut covered = world.covered();
    let mut turn = turn_of(&mut covered, || edit(&world));
    let after = world.tree();
    let mut count = 1;
    for steps in 1.. {
        let is_done = undo(&world, &mut covered, &turn, steps).is_some();
        let journal = fs::read(world.slot(1).join("journal"));
        assert_eq!(journal.is_err(), is_done, "{steps}");
        drop(covered);
        covered = world.covered();
        assert_same(&world.tree(), &before);
        let undone = last(&covered, &turn, count + 1);
        assert_eq!(undone.changes, reversed(&turn), "{steps}");
        assert_eq!(&*undone.summary.prompt, "change");
        assert_eq!(undone.summary.files, turn.summary.files);
        if let Ok(journal) = journal {
            // It was killed again before the journal was removed.
            drop(covered);
            fs::write(world.slot(1).join("journal"), journal).unwrap();
            covered = world.covered();
            assert_eq!(last(&covered, &turn, count + 1), undone, "{steps}");
        }
        let redone = undo(&world, &mut covered, &undone, usize::MAX).unwrap();
        assert_eq!(redone.not_logged, None);
        assert_same(&world.tree(), &after);
        turn = last(&covered, &undone, count + 2);
        count += 2;
        if is_done {
            assert!(steps > 20);
            break;
        }
    }
}

#[test]
fn an_undo_in_a_slot_that_nobody_has_is_logged_there() {
    let world = World::new("killed-undo-slot");
    world.write("file", "before");
    let (first, mut second) = (world.covered(), world.covered());
    let turn = turn_of(&mut second, || world.write("file", "after"));
    assert!(undo(&world, &mut second, &turn, 2).is_none());
    drop((first, second));
    let third = world.covered();
    let undone = last(&third, &turn, 2);
    assert_eq!((undone.summary.id.slot, undone.changes), (2, reversed(&turn)));
    assert_eq!(fs::read(world.at("file")).unwrap(), b"before");
    drop(third);
    last(&world.covered(), &turn, 2);
}

#[test]
fn what_the_user_changed_after_a_kill_is_not_of_the_undo() {
    let world = World::new("killed-undo-user");
    let (mut covered, turn) = two_changed(&world);
    assert!(undo(&world, &mut covered, &turn, 1).is_none());
    drop(covered);
    world.write("two", "user");
    let undone = last(&world.covered(), &turn, 2);
    assert_eq!(undone.changes, reversed(&turn)[..1]);
}

#[test]
fn what_has_changed_before_the_files_is_of_the_undo() {
    let world = World::new("undo-buffers");
    let (mut covered, turn) = two_changed(&world);
    for steps in [1, usize::MAX] {
        let mut tree = Tree::open(&world.root()).unwrap();
        tree.stop_after(steps);
        covered.begin(2, &AtomicI64::new(0)).unwrap();
        // As an editor does it, which saves what it has open.
        world.write("one", "before");
        let about = TurnAbout { undoes: Some(turn.summary.id), ..TurnAbout::default() };
        let files = back(&turn).split_off(1);
        let undone = covered.undo_in(&tree, 2, files, &about, Box::new(|_| true));
        assert_eq!(undone.is_ok(), steps > 1);
        drop(covered);
        covered = world.covered();
        let undone = covered.turn(covered.turns()[0].id).unwrap();
        assert_eq!(undone.changes, reversed(&turn), "{steps}");
        world.write("one", "after");
        world.write("two", "after");
    }
}

#[test]
fn a_journal_is_whole_or_not_there() {
    let world = World::new("journal");
    let content = Some(ContentId::of(b"x"));
    let state = State { kind: Kind::File, mode: 0o644, size: 1, content, link: None };
    let file = Planned { path: path(b"\xff/x"), expected: Some(state), target: None };
    let mut covered = world.covered();
    let Turn { summary, changes } = turn_of(&mut covered, || world.write("file", "1"));
    let summary = TurnSummary { undoes: Some(summary.id), ..summary };
    let turn = Some(PendingTurn { summary, changes });
    let folder = world.root();
    let journal = Journal { files: vec![file], turn };
    journal::write(&folder, &journal).unwrap();
    assert_eq!(journal::read(&folder), Some(journal.clone()));
    let bytes = fs::read(folder.join("journal")).unwrap();
    for end in 0..bytes.len() {
        fs::write(folder.join("journal"), &bytes[..end]).unwrap();
        assert_eq!(journal::read(&folder), None, "{end}");
    }
    journal::remove(&folder).unwrap();
    journal::remove(&folder).unwrap();
}

#[test]
fn a_journal_of_an_older_version_is_followed_and_not_logged() {
    let world = World::new("journal-older");
    world.write("file", "before");
    let mut covered = world.covered();
    let turn = turn_of(&mut covered, || world.write("file", "after"));
    drop(covered);
    let state = |state: &Option<State>| serde_json::to_string(state).unwrap();
    let FileChange { before, after, .. } = &turn.changes[0];
    let (after, before) = (state(after), state(before));
    let files = format!(r#"[{{"path":"file","expected":{after},"target":{before}}}]"#);
    let json = format!(r#"{{"version":1,"files":{files}}}"#);
    let checksum = blake3::hash(json.as_bytes()).to_hex();
    fs::write(world.slot(1).join("journal"), format!("{checksum}\n{json}")).unwrap();
    let mut covered = world.covered();
    assert_eq!(covered.take_recovered().len(), 1);
    assert_eq!(fs::read(world.at("file")).unwrap(), b"before");
    assert_eq!(covered.turns(), [turn.summary]);
    let removed = fs::read(world.slot(1).join("journal")).map_err(|error| error.kind());
    assert_eq!(removed, Err(io::ErrorKind::NotFound));
}

#[test]
fn a_full_disk_changes_nothing_or_is_reported_and_files_stay_whole() {
    let mut unchanged = 0;
    for steps in 1.. {
        let world = World::new("full-undo");
        fill(&world);
        let before = world.tree();
        let mut covered = world.covered();
        let turn = turn_of(&mut covered, || edit(&world));
        let after = world.tree();
        let mut tree = Tree::open(&world.root()).unwrap();
        tree.fail_once_after(steps);
        covered.begin(2, &AtomicI64::new(0)).unwrap();
        let about = TurnAbout { undoes: Some(turn.summary.id), ..TurnAbout::default() };
        let undone = covered.undo_in(&tree, 2, back(&turn), &about, Box::new(|_| true));
        let is_journal_left = world.slot(1).join("journal").exists();
        let now = world.tree();
        let Ok(Undone { restored, not_logged }) = undone else {
            let error = undone.unwrap_err().to_string();
            assert!(error.starts_with("no file in ") && error.ends_with("Make room on the disk"));
            assert_same(&now, &after);
            assert_eq!((covered.turns().len(), is_journal_left), (1, false), "{steps}");
            unchanged += 1;
            continue;
        };
        for (path, node) in now.iter().filter(|(_, node)| node.0 != Kind::Folder) {
            let is_known = [&before, &after].iter().any(|tree| tree.get(path) == Some(node));
            assert!(is_known, "{steps}: {path:?} {node:?}");
        }
        if restored.left.is_empty() && not_logged.is_none() && !is_journal_left {
            assert_same(&now, &before);
            assert!(unchanged > 10 && steps > unchanged + 10, "{unchanged} of {steps}");
            break;
        }
    }
}
