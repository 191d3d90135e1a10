//! What is kept on disk: it outlives the program, is shared with care, and does not grow for ever.

use super::super::error::CheckpointError;
use super::super::limits::Limits;
use super::super::manifest::Manifest;
use super::{World, assert_same, back, paths, restore, soon, turn};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

#[tokio::test]
async fn turns_outlive_the_program() {
    let world = World::new("restart");
    world.write("file", "1");
    let before = world.tree();
    let checkpoints = world.open();
    let made = turn(&checkpoints, &world, || world.write("file", "2")).await.unwrap();
    world.close(checkpoints);
    world.write("elsewhere", "by the user");
    fs::remove_file(world.at("elsewhere")).unwrap();
    let checkpoints = world.open();
    assert_eq!(checkpoints.turns(world.root()).await, std::slice::from_ref(&made.summary));
    restore(&checkpoints, &world, back(&made)).await;
    assert_same(&world.tree(), &before);
}

#[tokio::test]
async fn a_manifest_that_cannot_be_used_counts_as_absent() {
    let world = World::new("manifest");
    world.write("file", "1");
    let checkpoints = world.open();
    let first = turn(&checkpoints, &world, || world.write("file", "2")).await.unwrap();
    world.close(checkpoints);
    let manifest = world.slot(1).join("manifest");
    let bytes = fs::read(&manifest).unwrap();
    assert!(Manifest::decode(&bytes).is_some_and(|manifest| !manifest.is_empty()));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(Manifest::decode(&damaged), None, "{at}");
        assert_eq!(Manifest::decode(&bytes[..at]), None, "{at}");
    }
    let mut other = bytes;
    other[7] += 1;
    fs::write(&manifest, other).unwrap();
    let checkpoints = world.open();
    let second = turn(&checkpoints, &world, || world.write("file", "3")).await.unwrap();
    assert_eq!(second.changes[0].before, first.changes[0].after);
    assert_eq!(checkpoints.turns(world.root()).await.len(), 2);
}

#[tokio::test]
async fn two_programs_keep_their_checkpoints_apart_and_see_each_others() {
    let world = World::new("two");
    world.write("file", "1");
    let before = world.tree();
    let (one, other) = (world.open(), world.open());
    let first = turn(&one, &world, || world.write("file", "2")).await.unwrap();
    let second = turn(&other, &world, || world.write("file", "3")).await.unwrap();
    assert_ne!(first.summary.id.slot, second.summary.id.slot);
    assert_eq!(one.turns(world.root()).await.len(), 2);
    for checkpoints in [&one, &other] {
        for made in [&first, &second] {
            let read = checkpoints.turn(world.root(), made.summary.id).await.unwrap();
            assert_eq!(read, *made);
        }
    }
    restore(&one, &world, back(&second)).await;
    restore(&other, &world, back(&first)).await;
    assert_same(&world.tree(), &before);
}

#[tokio::test]
async fn a_root_in_a_root_is_a_root() {
    let world = World::new("nested");
    world.write("inner/file", "1");
    let checkpoints = world.open();
    let outer = checkpoints.begin(world.root(), soon()).await.unwrap();
    let inner = checkpoints.begin(world.at("inner"), soon()).await.unwrap();
    world.write("inner/file", "2");
    assert_eq!(paths(&checkpoints.look(&outer).await.unwrap()), ["inner/file"]);
    assert_eq!(paths(&checkpoints.look(&inner).await.unwrap()), ["file"]);
}

#[tokio::test]
async fn old_turns_and_what_only_they_need_are_forgotten() {
    let world = World::new("forget");
    world.write("file", "0");
    let limits = Limits { turns: 2, stored: 1000, ..Limits::default() };
    let checkpoints = world.open_with(limits);
    let mut turns = Vec::new();
    for number in 0..8_u8 {
        // Nothing that could be compressed.
        let content: Vec<u8> =
            (0..8).flat_map(|part| *blake3::hash(&[number, part]).as_bytes()).collect();
        turns.push(turn(&checkpoints, &world, || world.write("file", content)).await.unwrap());
    }
    let listed = checkpoints.turns(world.root()).await;
    let newest = turns.last().unwrap();
    assert_eq!(listed[0], newest.summary);
    assert!(listed.len() <= 2);
    let id = turns[0].summary.id;
    assert_eq!(checkpoints.turn(world.root(), id).await, Err(CheckpointError::NoTurn(id)));
    let content = turns[0].changes[0].after.as_ref().unwrap().content.unwrap();
    let gone = checkpoints.content(world.root(), content).await;
    assert_eq!(gone, Err(CheckpointError::NoContent(content)));
    assert!(fs::metadata(world.slot(1).join("pack")).unwrap().len() < 2000);
    restore(&checkpoints, &world, back(newest)).await;
}

#[tokio::test]
async fn what_is_kept_is_private() {
    let world = World::new("private");
    world.write("file", "1");
    let checkpoints = world.open();
    turn(&checkpoints, &world, || world.write("file", "2")).await.unwrap();
    checkpoints.flush();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.slot(1)), 0o700);
    for entry in fs::read_dir(world.slot(1)).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(path.clone()), 0o600, "{path:?}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_one_clear_line() {
    let world = World::new("unusable");
    world.write("file", "1");
    drop(world.covered());
    let pack = world.slot(1).join("pack");
    fs::write(&pack, "a pack of another version").unwrap();
    let error = world.open().begin(world.root(), soon()).await.unwrap_err().to_string();
    let root = world.root().display().to_string();
    let reason = "they are of another version of rat.nvim";
    assert_eq!(error, format!("checkpoints of {root} cannot be kept: {reason}"));
    assert_eq!(fs::read(&pack).unwrap(), b"a pack of another version");
    let off = super::Checkpoints::open(None, crate::secrets::Secrets::default(), Limits::default());
    assert_eq!(off.begin(world.root(), soon()).await.err(), Some(CheckpointError::Off));
    assert_eq!(off.turns(world.root()).await, []);
    off.prepare(world.root());
    off.flush();
}
