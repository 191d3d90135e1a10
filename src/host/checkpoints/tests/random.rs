//! Random trees and random edits: what a turn has changed leads back to the tree before and forth to the tree after.

use super::{World, assert_same, back, forth, turn_of};
use proptest::prelude::*;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

/// One thing that is done to a tree; it need not succeed.
#[derive(Clone, Debug)]
enum Edit {
    Write(PathBuf, Vec<u8>),
    Append(PathBuf, Vec<u8>),
    Folder(PathBuf),
    Link(PathBuf, PathBuf),
    HardLink(PathBuf, PathBuf),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    Mode(PathBuf, u32),
}

/// A path of few names, so that edits meet.
fn path() -> impl Strategy<Value = PathBuf> {
    let name = prop::sample::select(vec![b"a".as_slice(), b"b", b"b.c", b"\xff\n", b"d-"]);
    prop::collection::vec(name, 1..4)
        .prop_map(|names| names.into_iter().map(OsStr::from_bytes).collect())
}

fn edit() -> impl Strategy<Value = Edit> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let mode = prop::sample::select(vec![0o644, 0o755, 0o600, 0o700, 0o400, 0o500]);
    prop_oneof![
        4 => (path(), bytes()).prop_map(|(path, bytes)| Edit::Write(path, bytes)),
        1 => (path(), bytes()).prop_map(|(path, bytes)| Edit::Append(path, bytes)),
        2 => path().prop_map(Edit::Folder),
        1 => (path(), path()).prop_map(|(path, target)| Edit::Link(path, target)),
        1 => (path(), path()).prop_map(|(path, other)| Edit::HardLink(path, other)),
        2 => path().prop_map(Edit::Remove),
        2 => (path(), path()).prop_map(|(path, other)| Edit::Rename(path, other)),
        2 => (path(), mode).prop_map(|(path, mode)| Edit::Mode(path, mode)),
    ]
}

fn apply(world: &World, edits: &[Edit]) {
    let at = |path: &PathBuf| world.root().join(path);
    for edit in edits {
        // Whatever fails is no edit.
        let _ = match edit {
            Edit::Write(path, bytes) => {
                let _ = fs::create_dir_all(at(path).parent().unwrap());
                fs::write(at(path), bytes)
            }
            Edit::Append(path, bytes) => {
                let content = fs::read(at(path)).map(|old| [old, bytes.clone()].concat());
                content.and_then(|content| fs::write(at(path), content))
            }
            Edit::Folder(path) => fs::create_dir_all(at(path)),
            Edit::Link(path, target) => symlink(target, at(path)),
            Edit::HardLink(path, other) => fs::hard_link(at(path), at(other)),
            Edit::Remove(path) => match at(path).symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(at(path)),
                _ => fs::remove_file(at(path)),
            },
            Edit::Rename(path, other) => fs::rename(at(path), at(other)),
            Edit::Mode(path, mode) => match at(path).symlink_metadata() {
                Ok(metadata) if !metadata.is_symlink() => {
                    fs::set_permissions(at(path), Permissions::from_mode(*mode))
                }
                _ => Ok(()),
            },
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_turn_leads_back_and_forth(
        first in prop::collection::vec(edit(), 0..25),
        then in prop::collection::vec(edit(), 1..15),
    ) {
        let world = World::new("random");
        apply(&world, &first);
        world.write("turn", "before");
        let before = world.tree();
        let mut covered = world.covered();
        let turn = turn_of(&mut covered, || {
            apply(&world, &then);
            world.write("turn", "after");
        });
        let after = world.tree();
        for (files, wanted) in [(back(&turn), &before), (forth(&turn), &after), (back(&turn), &before)] {
            let restored = covered.restore(files).unwrap();
            prop_assert_eq!(restored.left, []);
            assert_same(&world.tree(), wanted);
        }
    }
}
