//! Whatever is interrupted, files are old or new, and what was written before can be read.

use super::super::entry::FileChange;
use super::super::ids::{ContentId, TurnId};
use super::super::pack::{Pack, Record};
use super::super::tree::{Tree, is_half_written};
use super::super::turns::{Coverage, Turn, TurnLog, TurnSummary};
use super::{Kind, World, assert_same, back, forth, path, turn_of, two_changed};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// What is there before changes of every kind.
pub(super) fn fill(world: &World) {
    world.write("edited", "before");
    world.write("linked", "before\n".repeat(10_000));
    fs::hard_link(world.at("linked"), world.at("other-name")).unwrap();
    world.write("gone/one", "before");
    fs::create_dir(world.at("gone/empty")).unwrap();
    symlink("before", world.at("link")).unwrap();
    world.write("becomes-folder", "before");
    world.write("becomes-file/file", "before");
}

/// Changes of every kind.
pub(super) fn edit(world: &World) {
    world.write("edited", "after");
    world.write("linked", "after");
    fs::remove_dir_all(world.at("gone")).unwrap();
    world.write("new/deep/file", "after");
    fs::remove_file(world.at("link")).unwrap();
    symlink("after", world.at("link")).unwrap();
    fs::remove_file(world.at("becomes-folder")).unwrap();
    world.write("becomes-folder/file", "after");
    fs::remove_dir_all(world.at("becomes-file")).unwrap();
    world.write("becomes-file", "after");
}

#[test]
fn a_restore_that_is_killed_anywhere_is_finished_later() {
    let world = World::new("killed");
    fill(&world);
    let before = world.tree();
    let mut covered = world.covered();
    let turn = turn_of(&mut covered, || edit(&world));
    let after = world.tree();
    for (files, from, to) in [(back(&turn), &after, &before), (forth(&turn), &before, &after)] {
        for steps in 1.. {
            let mut tree = Tree::open(&world.root()).unwrap();
            tree.stop_after(steps);
            let is_done = covered.restore_in(&tree, files.clone()).is_ok();
            for (path, node) in world.tree() {
                let name = path.file_name().unwrap().to_str().unwrap();
                let is_in_place = matches!(name, "linked" | "other-name");
                // A folder may still lack its mode, and a restore may be writing a file of its own.
                let is_ours = node.0 == Kind::Folder || name.starts_with(".rat-restore-");
                let is_known = [from, to].iter().any(|tree| tree.get(&path) == Some(&node));
                assert!(is_known || is_in_place || is_ours, "{steps}: {path:?} {node:?}");
            }
            drop(covered);
            covered = world.covered();
            assert_same(&world.tree(), to);
            let recovered = covered.take_recovered();
            assert_eq!(recovered.len(), usize::from(!is_done), "{steps}");
            assert!(recovered.iter().all(|restored| restored.left.is_empty()), "{recovered:?}");
            if is_done {
                assert!(steps > 20);
                break;
            }
            let reverse = if from == &after { forth(&turn) } else { back(&turn) };
            covered.restore(reverse).unwrap();
            assert_same(&world.tree(), from);
        }
    }
}

#[test]
fn what_the_user_changed_after_a_kill_is_left() {
    let world = World::new("killed-user");
    let (mut covered, turn) = two_changed(&world);
    let mut tree = Tree::open(&world.root()).unwrap();
    tree.stop_after(1);
    assert!(covered.restore_in(&tree, back(&turn)).is_err());
    drop(covered);
    world.write("two", "user");
    let recovered = world.covered().take_recovered();
    assert_eq!(recovered[0].done, [path("one")]);
    assert_eq!(recovered[0].left[0].path, path("two"));
    assert_eq!(fs::read(world.at("two")).unwrap(), b"user");
}

#[test]
fn a_restore_in_a_slot_that_nobody_has_is_finished_by_another() {
    let world = World::new("killed-slot");
    world.write("file", "before");
    let (first, mut second) = (world.covered(), world.covered());
    let turn = turn_of(&mut second, || world.write("file", "after"));
    assert_eq!(turn.summary.id.slot, 2);
    let mut tree = Tree::open(&world.root()).unwrap();
    tree.stop_after(2);
    assert!(second.restore_in(&tree, back(&turn)).is_err());
    drop(first);
    // The second program still lives, so this is its affair.
    let mut third = world.covered();
    assert_eq!(third.take_recovered(), []);
    drop((second, third));
    let mut fourth = world.covered();
    assert_eq!(fourth.take_recovered().len(), 1);
    assert_eq!(fs::read(world.at("file")).unwrap(), b"before");
    assert_eq!(world.tree().len(), 1);
    assert!(!world.slot(2).join("journal").exists());
}

#[test]
fn writing_in_place_can_be_told_from_other_changes() {
    let (old, new) = (b"0123456789".as_slice(), b"abcdefgh".as_slice());
    for written in 0..=new.len() {
        let now = [&new[..written], &old[written..]].concat();
        assert!(is_half_written(&now, old, new), "{written}");
        let now = [&old[..written], &new[written..], b"ij"].concat();
        assert!(is_half_written(&now, new, &now), "{written}");
    }
    assert!(is_half_written(new, old, new));
    for now in [b"abXdefgh89".as_slice(), b"012345678", b"", b"abcdefgh8"] {
        assert!(!is_half_written(now, old, new), "{now:?}");
    }
}

fn put(pack: &mut Pack, content: &[u8]) {
    pack.append(&Record::new(ContentId::of(content), content).unwrap()).unwrap();
}

#[test]
fn a_pack_that_is_cut_anywhere_has_what_was_whole() {
    let contents = [b"one".to_vec(), b"two".repeat(50), Vec::new(), b"four".to_vec()];
    for has_index in [false, true] {
        let world = World::new("pack");
        let folder = world.root();
        let mut pack = Pack::open(&folder).unwrap();
        let mut ends = Vec::new();
        for (number, content) in contents.iter().enumerate() {
            put(&mut pack, content);
            ends.push(pack.length());
            if number == 1 && has_index {
                pack.sync().unwrap();
                pack.save_index().unwrap();
            }
        }
        pack.sync().unwrap();
        drop(pack);
        let bytes = fs::read(folder.join("pack")).unwrap();
        for end in 0..=bytes.len() {
            fs::write(folder.join("pack"), &bytes[..end]).unwrap();
            check_pack(&folder, &contents, &ends, end as u64);
        }
        // The records that the index does not know are checked.
        let mut damaged = bytes.clone();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(folder.join("pack"), damaged).unwrap();
        check_pack(&folder, &contents, &ends, bytes.len() as u64 - 1);
    }
}

fn check_pack(folder: &Path, contents: &[Vec<u8>], ends: &[u64], end: u64) {
    let mut pack = Pack::open(folder).unwrap();
    for (content, whole) in contents.iter().zip(ends) {
        let found = pack.read(&ContentId::of(content)).unwrap();
        assert_eq!(found.as_ref(), (*whole <= end).then_some(content), "{end}");
    }
    put(&mut pack, b"five");
    pack.sync().unwrap();
    let again = Pack::open(folder).unwrap().read(&ContentId::of(b"five"));
    assert_eq!(again.unwrap().unwrap(), b"five", "{end}");
}

#[test]
fn a_pack_that_cannot_be_written_has_what_was_written_before() {
    let world = World::new("full");
    let folder = world.root();
    let mut pack = Pack::open(&folder).unwrap();
    put(&mut pack, b"one");
    pack.sync().unwrap();
    let mut full = Pack::open_read_only(&folder).unwrap();
    put(&mut full, b"two");
    assert!(full.has(&ContentId::of(b"two")));
    assert!(full.flush().is_err());
    assert!(!full.has(&ContentId::of(b"two")));
    assert_eq!(full.read(&ContentId::of(b"one")).unwrap().unwrap(), b"one");
    assert_eq!(full.length(), pack.length());
}

#[test]
fn a_log_that_is_cut_anywhere_has_the_turns_that_were_whole() {
    let world = World::new("log");
    let folder = world.root();
    let turn = |number| {
        let change = FileChange {
            path: path(format!("file {number}\n")),
            before: None,
            after: None,
            by: Some("call".to_owned()),
            shared: number == 2,
            found: None,
        };
        let summary = TurnSummary {
            failed: 0,
            added: 0,
            removed: 0,
            id: TurnId { slot: 1, number },
            time: number.into(),
            agent: "agent".to_owned(),
            session: "session".to_owned(),
            prompt: "prompt".to_owned(),
            undoes: Some(TurnId { slot: 3, number: 7 }),
            coverage: Coverage::default(),
            files: 1,
        };
        Turn { summary, changes: vec![change] }
    };
    let mut log = TurnLog::open(&folder).unwrap();
    let mut ends = Vec::new();
    let file = folder.join("turns.jsonl");
    for number in 1..=3 {
        assert_eq!(log.next_number(), number);
        log.append(&turn(number)).unwrap();
        ends.push(fs::metadata(&file).unwrap().len());
    }
    let bytes = fs::read(&file).unwrap();
    for end in 0..=bytes.len() {
        fs::write(&file, &bytes[..end]).unwrap();
        let mut log = TurnLog::open(&folder).unwrap();
        let whole = ends.iter().filter(|whole| **whole <= end as u64).count();
        assert_eq!(log.count(), whole, "{end}");
        let next = log.next_number();
        log.append(&turn(next)).unwrap();
        let log = TurnLog::open(&folder).unwrap();
        assert_eq!(log.count(), whole + 1, "{end}");
        assert_eq!(log.turn(next).unwrap(), Some(turn(next)), "{end}");
    }
}
