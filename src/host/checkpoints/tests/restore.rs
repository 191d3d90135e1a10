//! What a turn changed is taken back byte for byte, and made again.

use super::super::entry::{Kind, State};
use super::super::restore::Restore;
use super::{World, assert_same, back, left, path, paths, restore, stamp, there_and_back, turn};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

#[tokio::test]
async fn edits_of_many_files_are_taken_back() {
    let world = World::new("edits");
    for number in 0..500 {
        world.write(&format!("src/{}/{number}.txt", number % 7), format!("file {number}\n"));
    }
    world.write("other", "stays");
    let other = stamp(&world.at("other"));
    let turn = there_and_back(&world, || {
        for number in 0..500 {
            let line = format!("another text in {number}\n").repeat(number % 50);
            world.write(&format!("src/{}/{number}.txt", number % 7), line);
        }
    })
    .await;
    assert_eq!((turn.changes.len(), turn.summary.files), (500, 500));
    assert_eq!(stamp(&world.at("other")), other);
}

#[tokio::test]
async fn files_that_move_and_go_come_back() {
    let world = World::new("moves");
    world.write("a/b/c.txt", "c");
    world.write("a/b/d.txt", "d");
    world.write("gone/deep/er/file", "file");
    fs::create_dir_all(world.at("gone/empty/folder")).unwrap();
    fs::set_permissions(world.at("gone/deep"), Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(world.at("gone/deep/er"), Permissions::from_mode(0o500)).unwrap();
    let turn = there_and_back(&world, || {
        fs::rename(world.at("a/b/c.txt"), world.at("moved.txt")).unwrap();
        fs::rename(world.at("a/b"), world.at("b")).unwrap();
        fs::set_permissions(world.at("gone/deep/er"), Permissions::from_mode(0o700)).unwrap();
        fs::remove_dir_all(world.at("gone")).unwrap();
        fs::create_dir_all(world.at("new/folder")).unwrap();
    })
    .await;
    let changed = paths(&turn.changes);
    assert!(changed.contains(&"gone/empty/folder".to_owned()), "{changed:?}");
    assert!(changed.contains(&"new/folder".to_owned()), "{changed:?}");
}

#[tokio::test]
async fn modes_links_and_kinds_come_back() {
    let world = World::new("kinds");
    world.write("script", "#!/bin/sh\n");
    world.write("becomes-folder", "file");
    world.write("becomes-file/with/content", "inner");
    world.write("becomes-link", "file");
    symlink("script", world.at("link")).unwrap();
    symlink("nowhere", world.at("becomes-folder-too")).unwrap();
    let mut script = None;
    there_and_back(&world, || {
        script = Some(world.at("script").metadata().unwrap().ino());
        fs::set_permissions(world.at("script"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(world.at("link")).unwrap();
        symlink("elsewhere", world.at("link")).unwrap();
        fs::remove_file(world.at("becomes-folder")).unwrap();
        world.write("becomes-folder/file", "inner");
        fs::remove_dir_all(world.at("becomes-file")).unwrap();
        world.write("becomes-file", "file");
        fs::remove_file(world.at("becomes-link")).unwrap();
        symlink("script", world.at("becomes-link")).unwrap();
        fs::remove_file(world.at("becomes-folder-too")).unwrap();
        fs::create_dir(world.at("becomes-folder-too")).unwrap();
    })
    .await;
    // The mode alone was changed.
    assert_eq!(world.at("script").metadata().ok().map(|of| of.ino()), script);
}

#[tokio::test]
async fn any_bytes_in_contents_and_names_come_back() {
    let world = World::new("bytes");
    let name = world.root().join(OsStr::from_bytes(b"\xff\xfe \n'\"name"));
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    fs::write(&name, &binary).unwrap();
    world.write("crlf.txt", "one\r\ntwo\r\n");
    world.write("empty", "");
    let turn = there_and_back(&world, || {
        fs::write(&name, "text").unwrap();
        fs::rename(&name, world.root().join(OsStr::from_bytes(b"\x80"))).unwrap();
        world.write("crlf.txt", "one\ntwo\n");
        world.write("empty", "full");
    })
    .await;
    // They are the same after a restart, too.
    let checkpoints = world.open();
    let again = checkpoints.turn(world.root(), turn.summary.id).await.unwrap();
    assert_eq!(again, turn);
}

#[tokio::test]
async fn what_has_changed_since_is_left_alone() {
    let world = World::new("since");
    world.write("one", "1");
    world.write("two", "2");
    fs::create_dir(world.at("folder")).unwrap();
    let checkpoints = world.open();
    let turn = turn(&checkpoints, &world, || {
        world.write("one", "agent");
        fs::remove_file(world.at("two")).unwrap();
        world.write("new/file", "agent");
    })
    .await
    .unwrap();
    world.write("one", "user");
    world.write("two", "user");
    world.write("new/other", "user");
    let restored = checkpoints.restore(world.root(), back(&turn)).await.unwrap();
    let why = |path: &str, why: &str| (path.to_owned(), why.to_owned());
    let mut found = left(&restored);
    found.sort();
    let changed = "it has changed since";
    let not_empty = why("new", "it is a folder with something else in it");
    assert_eq!(found, [not_empty, why("one", changed), why("two", changed)]);
    assert_eq!(restored.done, [path("new/file")]);
    assert_eq!(fs::read(world.at("one")).unwrap(), b"user");
    assert_eq!(fs::read(world.at("new/other")).unwrap(), b"user");
}

#[tokio::test]
async fn a_file_with_several_names_keeps_them() {
    let world = World::new("hard-link");
    world.write("one", "a text\n".repeat(100_000));
    fs::hard_link(world.at("one"), world.at("other")).unwrap();
    let checkpoints = world.open();
    let before = world.tree();
    let turn = turn(&checkpoints, &world, || world.write("one", "short")).await.unwrap();
    assert_eq!(paths(&turn.changes), ["one", "other"]);
    restore(&checkpoints, &world, back(&turn)).await;
    assert_same(&world.tree(), &before);
    assert_eq!(stamp(&world.at("one")).0, stamp(&world.at("other")).0);
}

#[tokio::test]
async fn nothing_is_changed_outside_the_root() {
    let world = World::new("outside");
    world.write("folder/file", "inside");
    let checkpoints = world.open();
    let turn =
        turn(&checkpoints, &world, || fs::remove_file(world.at("folder/file")).unwrap()).await;
    let outside = world.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir(world.at("folder")).unwrap();
    symlink(&outside, world.at("folder")).unwrap();
    let restored = checkpoints.restore(world.root(), back(&turn.unwrap())).await.unwrap();
    assert_eq!((restored.done.len(), restored.left.len()), (0, 1), "{restored:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    for improper in ["../outside/file", "a/../../file", "/etc/file", "", ".git/config", "a//b"] {
        let state = State { kind: Kind::File, mode: 0o644, size: 0, content: None, link: None };
        let bytes = Some(b"text".to_vec());
        let file = Restore { path: path(improper), expected: None, target: Some(state), bytes };
        let restored = checkpoints.restore(world.root(), vec![file]).await.unwrap();
        assert_eq!(restored.done, [], "{improper}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[tokio::test]
async fn a_single_file_of_a_folder_comes_back_in_a_folder_like_it() {
    let world = World::new("parents");
    world.write("a/b/one", "1");
    world.write("a/b/two", "2");
    fs::set_permissions(world.at("a/b"), Permissions::from_mode(0o711)).unwrap();
    let checkpoints = world.open();
    let turn = turn(&checkpoints, &world, || fs::remove_dir_all(world.at("a")).unwrap()).await;
    let mut files = back(&turn.unwrap());
    files.retain(|file| file.path == path("a/b/two"));
    restore(&checkpoints, &world, files).await;
    let tree = world.tree();
    assert_eq!(tree[&world.at("a/b/two")].2, b"2");
    assert_eq!(tree[&world.at("a/b")].1, 0o711);
    assert_eq!(tree.len(), 3);
}

#[tokio::test]
async fn given_bytes_are_written() {
    let world = World::new("merged");
    world.write("file", "one");
    let checkpoints = world.open();
    let expected = checkpoints.states(world.root(), vec![path("file"), path("none")]).await;
    let [expected, none] = expected.unwrap().try_into().unwrap();
    assert_eq!(none, None);
    let expected = expected.unwrap();
    let content = expected.content.unwrap();
    assert_eq!(checkpoints.content(world.root(), content).await.unwrap(), b"one");
    let target = Some(State { mode: 0o600, ..expected.clone() });
    let (expected, bytes) = (Some(expected), Some(b"merged".to_vec()));
    let file = Restore { path: path("file"), expected, target, bytes };
    restore(&checkpoints, &world, vec![file]).await;
    assert_eq!(world.tree()[&world.at("file")], (Kind::File, 0o600, b"merged".to_vec()));
}

#[tokio::test]
async fn a_file_that_became_another_name_of_one_does_not_change_that() {
    let world = World::new("relinked");
    world.write("one", "1");
    world.write("other", "2");
    fs::write(world.folder.join("outside"), "3").unwrap();
    world.write("third", "4");
    fs::hard_link(world.at("third"), world.at("fourth")).unwrap();
    there_and_back(&world, || {
        fs::remove_file(world.at("one")).unwrap();
        fs::hard_link(world.at("other"), world.at("one")).unwrap();
        fs::remove_file(world.at("third")).unwrap();
        fs::hard_link(world.folder.join("outside"), world.at("third")).unwrap();
    })
    .await;
    assert_eq!(fs::read(world.folder.join("outside")).unwrap(), b"3");
}
