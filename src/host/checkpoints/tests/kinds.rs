//! Turns that make something of another kind of a path, or hide it: everything comes back, or is among the changes.

use super::super::entry::Kind;
use super::super::limits::Limits;
use super::{World, assert_same, back, forth, paths, restore, there_and_back, turn};
use nix::sys::stat::Mode;
use std::fs;
use std::os::unix::net::UnixListener;

fn fifo(world: &World, path: &str) {
    nix::unistd::mkfifo(&world.at(path), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
}

#[tokio::test]
async fn a_folder_in_the_place_of_which_there_is_a_file_comes_back() {
    let world = World::new("folder-file");
    world.write("src/deep/one", "1");
    world.write("src/two", "2");
    let edit = || {
        fs::remove_dir_all(world.at("src")).unwrap();
        world.write("src", "f");
    };
    let turn = there_and_back(&world, edit).await;
    assert_eq!(paths(&turn.changes), ["src", "src/deep", "src/deep/one", "src/two"]);
}

#[tokio::test]
async fn a_file_in_the_place_of_which_there_is_a_fifo_or_socket_comes_back() {
    let world = World::new("file-fifo");
    world.write("one", "1");
    world.write("two", "2");
    world.write("folder/three", "3");
    let checkpoints = world.open();
    let before = world.tree();
    let edit = || {
        for path in ["one", "two"] {
            fs::remove_file(world.at(path)).unwrap();
        }
        fs::remove_dir_all(world.at("folder")).unwrap();
        fifo(&world, "one");
        fifo(&world, "folder");
        fifo(&world, "new");
        UnixListener::bind(world.at("two")).unwrap();
    };
    let turn = turn(&checkpoints, &world, edit).await.unwrap();
    restore(&checkpoints, &world, back(&turn)).await;
    assert_same(&world.tree(), &before);
    // Nothing of this kind is made.
    let restored = checkpoints.restore(world.root(), forth(&turn)).await.unwrap();
    let left = super::left(&restored);
    let left: Vec<&str> = left.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(left, ["folder", "new", "one", "two"]);
}

#[tokio::test]
async fn what_patterns_of_the_same_turn_hide_is_among_its_changes() {
    let world = World::new("hidden");
    fs::create_dir(world.at(".git")).unwrap();
    world.write("build/deep/one", "1");
    world.write("build/two", "2");
    world.write("large.log", "x".repeat(100_000));
    let before = world.tree();
    let checkpoints = world.open();
    let edit = || {
        world.write(".gitignore", "build\nhidden\n*.log\n");
        world.write("build/deep/one", "changed");
        fs::remove_file(world.at("build/two")).unwrap();
        world.write("build/new", "new");
        world.write("large.log", "y".repeat(100_000));
        world.write("hidden/file", "new");
        world.write("new.log", "z".repeat(100_000));
    };
    let turn = turn(&checkpoints, &world, edit).await.unwrap();
    let all = [
        ".gitignore",
        "build/deep/one",
        "build/new",
        "build/two",
        "hidden",
        "large.log",
        "new.log",
    ];
    assert_eq!(paths(&turn.changes), all);
    let restored = checkpoints.restore(world.root(), back(&turn)).await.unwrap();
    let left = super::left(&restored);
    let left: Vec<&str> = left.iter().map(|(path, _)| path.as_str()).collect();
    // Nobody has read what is in these.
    assert_eq!(left, ["new.log", "hidden"]);
    fs::remove_dir_all(world.at("hidden")).unwrap();
    fs::remove_file(world.at("new.log")).unwrap();
    assert_same(&world.tree(), &before);
}

#[tokio::test]
async fn a_file_that_grows_too_large_is_among_the_changes() {
    let world = World::new("grown");
    world.write("file", "small");
    let checkpoints = world.open_with(Limits { file: 100, ..Limits::default() });
    let turn = turn(&checkpoints, &world, || world.write("file", "x".repeat(101))).await.unwrap();
    assert_eq!(paths(&turn.changes), ["file"]);
    assert!(turn.changes[0].before.as_ref().unwrap().content.is_some());
    let after = turn.changes[0].after.as_ref().unwrap();
    assert_eq!((after.kind, after.content), (Kind::File, None));
}

#[tokio::test]
async fn names_like_those_of_a_restore_are_names_like_others() {
    let world = World::new("temporary-names");
    world.write(".rat-restore-one", "1");
    world.write("folder/.rat-restore-0-1", "1");
    let edit = || {
        world.write(".rat-restore-one", "2");
        world.write(".rat-restore-two", "2");
        fs::remove_dir_all(world.at("folder")).unwrap();
    };
    there_and_back(&world, edit).await;
}
