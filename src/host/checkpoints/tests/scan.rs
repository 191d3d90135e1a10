//! What a scan sees, and what it leaves alone.

use super::super::entry::{Entry, Kind, Skipped};
use super::super::error::{CheckpointError, Refusal};
use super::super::limits::Limits;
use super::super::manifest::Manifest;
use super::super::tree_path::TreePath;
use super::super::worker::check;
use super::{World, back, paths, restore, soon, there_and_back, turn};
use nix::sys::stat::Mode;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Runs git; `None` where there is none.
fn git(world: &World, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    git.current_dir(world.root()).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_OPTIONAL_LOCKS", "0");
    let output = git.args(arguments).stderr(Stdio::inherit()).output().ok()?;
    assert!(output.status.success(), "{arguments:?}");
    Some(output.stdout)
}

#[tokio::test]
async fn a_fifo_does_not_hang() {
    let world = World::new("fifo");
    world.write("file", "text");
    nix::unistd::mkfifo(&world.at("fifo"), Mode::S_IRWXU).unwrap();
    let checkpoints = world.open();
    let turn = turn(&checkpoints, &world, || {
        world.write("other", "text");
        fs::remove_file(world.at("file")).unwrap();
        nix::unistd::mkfifo(&world.at("file"), Mode::S_IRWXU).unwrap();
    });
    let turn = turn.await.unwrap();
    assert_eq!(paths(&turn.changes), ["file", "other"]);
    assert_eq!(turn.changes[0].after.as_ref().unwrap().kind, Kind::Other);
}

#[tokio::test]
async fn a_change_with_its_time_put_back_is_noticed() {
    let world = World::new("touch");
    world.write("file", "one");
    let checkpoints = world.open();
    turn(&checkpoints, &world, || {}).await;
    let times = File::open(world.at("file")).unwrap().metadata().unwrap();
    let turn = turn(&checkpoints, &world, || {
        world.write("file", "two");
        let times = FileTimes::new().set_modified(times.modified().unwrap());
        File::options().write(true).open(world.at("file")).unwrap().set_times(times).unwrap();
    });
    assert_eq!(paths(&turn.await.unwrap().changes), ["file"]);
}

#[tokio::test]
async fn touching_a_file_changes_nothing() {
    let world = World::new("same");
    world.write("file", "one");
    let checkpoints = world.open();
    assert_eq!(turn(&checkpoints, &world, || world.write("file", "one")).await, None);
    assert_eq!(checkpoints.turns(world.root()).await, []);
}

#[tokio::test]
async fn ignored_folders_are_skipped_and_small_ignored_files_held_in_memory() {
    let world = World::new("ignored");
    fs::create_dir(world.at(".git")).unwrap();
    world.write(".git/info/exclude", "excluded/\n");
    world.write(".gitignore", "build/\n.env\n*.log\n");
    world.write("inner/.gitignore", "!kept.log\nout\n");
    world.write("build/one", "1");
    world.write("excluded/one", "1");
    world.write("inner/out/one", "1");
    world.write("inner/kept.log", "1");
    world.write(".env", "SECRET=not for the disk");
    world.write("large.log", "x".repeat(100_000));
    let edit = || {
        for path in ["build/one", "excluded/one", "inner/out/one", "inner/kept.log", "new/build/x"]
        {
            world.write(path, "2");
        }
        world.write(".env", "SECRET=another one for memory");
        world.write("large.log", "y".repeat(100_000));
    };
    let checkpoints = world.open();
    let turn = turn(&checkpoints, &world, edit).await.unwrap();
    assert_eq!(paths(&turn.changes), [".env", "inner/kept.log", "new"]);
    restore(&checkpoints, &world, back(&turn)[..2].to_vec()).await;
    assert_eq!(fs::read(world.at(".env")).unwrap(), b"SECRET=not for the disk");
    assert_eq!(fs::read(world.at("build/one")).unwrap(), b"2");
    checkpoints.flush();
    for entry in fs::read_dir(world.slot(1)).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(memchr::memmem::find(&bytes, b"SECRET").is_none());
        let id = blake3::hash(b"SECRET=not for the disk");
        assert!(memchr::memmem::find(&bytes, id.as_bytes()).is_none());
    }
}

/// A file that was changed right before a scan is read again by the next one.
#[test]
fn patterns_that_are_read_again_hide_nothing_new() {
    let world = World::new("read-again");
    world.write(".gitignore", "build\n");
    let entry = Entry::of(&world.at(".gitignore").metadata().unwrap());
    let named = |name: &str, entry: Entry| (name.as_bytes().into(), entry);
    let racy = Entry { is_racy: true, ..entry.clone() };
    let hidden = Entry { skipped: Some(Skipped::Ignored), ..entry.clone() };
    let of = |entries| Manifest::new([(TreePath::default(), Arc::new(entries))].into());
    let before = of(vec![named(".gitignore", racy)]);
    let after = of(vec![named(".gitignore", entry), named("build", hidden)]);
    assert_eq!(before.hidden_since(&after), []);
}

#[tokio::test]
async fn what_becomes_ignored_has_not_gone() {
    let world = World::new("becomes-ignored");
    fs::create_dir(world.at(".git")).unwrap();
    world.write("build/deep/one", "1");
    world.write("packages/deep/one", "1");
    world.write(".gitignore", "packages\n");
    let checkpoints = world.open();
    let turn = turn(&checkpoints, &world, || world.write(".gitignore", "build\n")).await;
    assert_eq!(paths(&turn.unwrap().changes), [".gitignore"]);
}

#[tokio::test]
async fn git_stays_as_it_is_and_tracked_files_count_though_ignored() {
    let world = World::new("git");
    world.write(".gitignore", "vendor\n*.o\n");
    world.write("a.txt", "a");
    world.write("vendor/tracked/one", "1");
    world.write("vendor/other", "other");
    world.write("big.o", "o".repeat(100_000));
    if git(&world, &["init", "--quiet"]).is_none() {
        return;
    }
    git(&world, &["add", "-f", "a.txt", ".gitignore", "vendor/tracked/one", "big.o"]);
    git(&world, &["commit", "--quiet", "-m", "one"]);
    git(&world, &["update-index", "--index-version", "4"]);
    world.write("nested/file", "nested");
    git(&world, &["init", "--quiet", "nested"]);
    world.write("a.txt", "staged");
    git(&world, &["add", "a.txt"]);
    let facts = || {
        let status = git(&world, &["status", "--porcelain"]).unwrap();
        (fs::read(world.at(".git/index")).unwrap(), status)
    };
    let before = facts();
    let checkpoints = world.open();
    let turn = turn(&checkpoints, &world, || {
        world.write("vendor/tracked/one", "2");
        world.write("vendor/other", "another");
        world.write("big.o", "p".repeat(100_000));
        world.write("nested/file", "changed");
    });
    let turn = turn.await.unwrap();
    assert_eq!(paths(&turn.changes), ["big.o", "nested/file", "vendor/tracked/one"]);
    restore(&checkpoints, &world, back(&turn)).await;
    assert_eq!(facts(), before);
}

#[tokio::test]
async fn rules_of_a_repository_around_the_root_count() {
    let world = World::new("around");
    fs::create_dir_all(world.folder.join(".git/info")).unwrap();
    fs::write(world.folder.join(".gitignore"), "root/build\n").unwrap();
    world.write("build/one", "1");
    world.write("one", "1");
    let turn = there_and_back(&world, || {
        world.write("one", "2");
    });
    assert_eq!(paths(&turn.await.changes), ["one"]);
    let checkpoints = world.open();
    assert_eq!(turn_paths(&checkpoints, &world, || world.write("build/one", "2")).await, [""; 0]);
}

async fn turn_paths(
    checkpoints: &super::Checkpoints,
    world: &World,
    edit: impl FnOnce(),
) -> Vec<String> {
    turn(checkpoints, world, edit).await.map(|turn| paths(&turn.changes)).unwrap_or_default()
}

#[tokio::test]
async fn large_files_are_noticed_but_not_kept() {
    let world = World::new("large");
    world.write("large", "x".repeat(2000));
    world.write("small", "x");
    let limits = Limits { file: 1000, ..Limits::default() };
    let checkpoints = world.open_with(limits);
    let turn = turn(&checkpoints, &world, || world.write("large", "y".repeat(2000)));
    let turn = turn.await.unwrap();
    assert_eq!(paths(&turn.changes), ["large"]);
    assert_eq!(turn.summary.coverage.not_kept, 1);
    let restored = checkpoints.restore(world.root(), back(&turn)).await.unwrap();
    assert_eq!(restored.left.len(), 1);
    assert_eq!(fs::read(world.at("large")).unwrap(), "y".repeat(2000).as_bytes());
}

#[tokio::test]
async fn roots_that_are_too_wide_are_refused() {
    let home = World::new("home");
    let refused = |root: &Path| check(root, Some(&home.root()));
    assert_eq!(refused(Path::new("/")), Err(Refusal::Everything));
    assert_eq!(refused(&home.root()), Err(Refusal::Home));
    assert_eq!(refused(&home.folder), Err(Refusal::AboveHome));
    assert_eq!(refused(&home.at("project")), Ok(()));
    for number in 0..20 {
        home.write(&format!("{number}"), "");
    }
    let checkpoints = home.open_with(Limits { files: 10, ..Limits::default() });
    let begun = checkpoints.begin(home.root(), soon()).await;
    let why = Refusal::TooManyFiles(10);
    assert_eq!(begun.err(), Some(CheckpointError::Refused { root: home.root(), why: why.clone() }));
    let error = CheckpointError::Refused { root: "/a/b".into(), why }.to_string();
    assert_eq!(error, "/a/b is not covered by checkpoints: it has more than 10 files");
    let missing = checkpoints.begin(home.at("missing"), soon()).await.err();
    assert!(matches!(missing, Some(CheckpointError::Refused { .. })), "{missing:?}");
}

#[tokio::test]
async fn the_store_does_not_cover_itself() {
    let world = World::new("itself");
    world.write("file", "1");
    let checkpoints = super::Checkpoints::open(
        Some(world.at("state/checkpoints")),
        crate::secrets::Secrets::default(),
        Limits::default(),
    );
    let turn = turn(&checkpoints, &world, || world.write("file", "2")).await;
    assert_eq!(paths(&turn.unwrap().changes), ["file"]);
}

#[tokio::test]
async fn each_look_shows_what_is_new_and_turns_at_once_see_their_own_time() {
    let world = World::new("looks");
    world.write("file", "1");
    symlink("file", world.at("link")).unwrap();
    let checkpoints = world.open();
    let one = checkpoints.begin(world.root(), soon()).await.unwrap();
    world.write("a", "1");
    assert_eq!(paths(&checkpoints.look(&one).await.unwrap()), ["a"]);
    let other = checkpoints.begin(world.root(), soon()).await.unwrap();
    world.write("b", "1");
    assert_eq!(paths(&checkpoints.look(&one).await.unwrap()), ["b"]);
    assert_eq!(checkpoints.look(&one).await.unwrap(), []);
    fs::remove_file(world.at("a")).unwrap();
    assert_eq!(paths(&checkpoints.look(&other).await.unwrap()), ["a", "b"]);
    let about = super::TurnAbout { prompt: "\n first\nsecond".to_owned(), ..Default::default() };
    let call = |change: &mut super::FileChange| {
        change.by = Some("call".to_owned());
        change.path != super::path("link")
    };
    let ended = checkpoints.end(one, about, Box::new(call)).await.unwrap().unwrap();
    assert_eq!(
        (paths(&ended.changes), ended.summary.prompt.as_str()),
        (vec!["b".to_owned()], "first")
    );
    assert_eq!(ended.changes[0].by.as_deref(), Some("call"));
    drop(other);
    let listed = checkpoints.turns(world.root()).await;
    assert_eq!(listed, [ended.summary]);
    assert!(checkpoints.scan_time(&world.root()).is_some());
    assert_eq!(checkpoints.progress(&world.root()), None);
}

#[tokio::test]
async fn the_first_scan_can_be_watched() {
    let world = World::new("progress");
    world.write("one", "1");
    let checkpoints = world.open();
    assert_eq!(checkpoints.progress(&world.root()), None);
    checkpoints.prepare(world.root());
    if let Some(progress) = checkpoints.progress(&world.root()) {
        assert!(progress.read <= 1 && progress.found <= 1, "{progress:?}");
    }
    checkpoints.states(world.root(), Vec::new()).await.unwrap();
    assert_eq!(checkpoints.progress(&world.root()), None);
}

#[tokio::test]
async fn a_turn_that_begins_before_the_first_scan_is_over_knows_what_was_older() {
    let world = World::new("late");
    world.write("old", "1");
    world.write("changed", "1");
    let checkpoints = world.open();
    let start = checkpoints.begin(world.root(), Instant::now()).await.unwrap();
    if !start.is_late() {
        return;
    }
    // Whatever the scan has read until now, the state before is either right or not known.
    let until = std::time::Instant::now() + Duration::from_millis(50);
    while std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    world.write("old", "2");
    let turn = checkpoints.end(start, super::TurnAbout::default(), Box::new(|_| true)).await;
    let turn = turn.unwrap().unwrap();
    assert!(turn.summary.coverage.is_late);
    let old = turn.changes.iter().find(|change| change.path == super::path("old")).unwrap();
    let content = old.before.as_ref().and_then(|before| before.content);
    if let Some(content) = content {
        assert_eq!(checkpoints.content(world.root(), content).await.unwrap(), b"1");
    }
}

#[tokio::test]
async fn a_turn_begins_at_its_deadline_however_busy_the_thread_of_its_root_is() {
    let world = World::new("busy");
    for name in ["early", "later"] {
        world.write(name, "1");
    }
    let checkpoints = world.open();
    let (go_on, blocked) = std::sync::mpsc::channel::<()>();
    let busy = checkpoints.ask(world.root(), move |_| blocked.recv().is_ok()).unwrap();
    let deadline = Instant::now() + Duration::from_millis(100);
    let start = checkpoints.begin(world.root(), deadline).await.unwrap();
    assert!(start.is_late());
    world.write("early", "2");
    go_on.send(()).unwrap();
    assert!(busy.await.unwrap());
    // It is known from now on what there is.
    checkpoints.look(&start).await.unwrap();
    world.write("later", "2");
    let turn = checkpoints.end(start, super::TurnAbout::default(), Box::new(|_| true)).await;
    let turn = turn.unwrap().unwrap();
    assert!(turn.summary.coverage.is_late);
    let content = |change: &super::FileChange| change.before.as_ref().map(|it| it.content);
    let known: Vec<_> = turn.changes.iter().map(|it| content(it).unwrap().is_some()).collect();
    assert_eq!(
        (paths(&turn.changes), known),
        (vec!["early".into(), "later".into()], vec![false, true])
    );
}
