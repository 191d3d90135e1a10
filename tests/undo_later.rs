//! A turn is undone by a later Neovim, after the binary was killed, and where that is not possible, in real Neovim.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::support::{Chat, Dice, Nvim, Options, files_below};
use crate::undo::{
    answer, git, in_project, in_project_builder, poll_kept, poll_open, ravage, tree,
    turn_with_command,
};

/// A new Neovim in the same folder, after this one has ended.
pub(crate) fn restarted(mut chat: Chat) -> Chat {
    chat.nvim.quit();
    chat.agent.expect_gone();
    Chat::builder().neovim(chat.nvim.beside(Options::wide())).start()
}

/// Holds (Review): A turn of an earlier Neovim is undone byte for byte, and redone.
#[test]
fn a_turn_of_an_earlier_neovim_is_undone() {
    let mut chat = in_project();
    let before = tree(chat.nvim.cwd());
    turn_with_command(&mut chat, ravage);
    let after = tree(chat.nvim.cwd());
    let mut chat = restarted(chat);
    poll_kept(&mut chat);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 28 files", "Undid the turn in 28 files");
    assert_eq!(tree(chat.nvim.cwd()), before);
    let mut chat = restarted(chat);
    answer(&mut chat, "RatRedo", "Redo \"change it all\"? 28 files", "Redid the turn in 28 files");
    assert_eq!(tree(chat.nvim.cwd()), after);
}

/// Holds (Review): Undoing a turn of an earlier Neovim takes nothing of the user's away, saved during it or since, or unsaved.
#[test]
fn undoing_a_turn_of_an_earlier_neovim_keeps_what_the_user_has_done() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    ravage(chat.nvim.cwd());
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    let open = chat.path("open.txt");
    let open = open.to_str().unwrap();
    chat.nvim.poll("the change", |nvim| nvim.buffer_lines(open)[1] == "TWO");
    chat.nvim.command("call append(3, 'during') | write");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
    chat.nvim.command("call append(4, 'since') | write");
    fs::write(chat.path("src/3.txt"), "one\nTWO 3\nthree\nmine\n").unwrap();
    fs::write(chat.path("src/4.txt"), "one\nmine\nthree\n").unwrap();
    let mut chat = restarted(chat);
    chat.nvim.command("wincmd t | edit src/5.txt | call append(3, 'unsaved')");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    let root = chat.nvim.cwd().to_owned();
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert_eq!(text("open.txt"), "one\ntwo\nthree\nduring\nsince\n");
    assert_eq!(text("src/3.txt"), "one\ntwo 3\nthree\nmine\n");
    assert_eq!(text("src/4.txt"), "one\nmine\nthree\n");
    let left = "left src/4.txt as it is: the same";
    assert!(chat.nvim.messages().contains(left), "{}", chat.nvim.messages());
    assert_eq!(text("src/6.txt"), "one\ntwo 6\nthree\n");
    let unsaved = chat.path("src/5.txt");
    let lines = chat.nvim.buffer_lines(unsaved.to_str().unwrap());
    assert_eq!(lines, ["one", "two 5", "three", "unsaved"]);
    assert_eq!(fs::read_to_string(unsaved).unwrap(), "one\nTWO 5\nthree\n", "nothing was saved");
}

/// Where checkpoints are stored: the folder of the only slot of the only root.
fn slot(chat: &Chat) -> PathBuf {
    let files = files_below(&chat.nvim.folder().path().join("state"));
    let log = files.into_iter().find(|path| path.ends_with("turns.jsonl")).expect("a log of turns");
    log.parent().unwrap().to_owned()
}

/// Runs a command, which says one line, and changes nothing.
pub(crate) fn says(chat: &mut Chat, command: &str, message: &str) {
    let before = tree(chat.nvim.cwd());
    chat.nvim.command("messages clear");
    chat.nvim.command(command);
    // It may take several rows.
    let said = |nvim: &mut Nvim| nvim.messages().replace('\n', " ");
    chat.nvim.poll(message, |nvim| said(nvim).contains(message));
    let messages = said(&mut chat.nvim);
    assert_eq!(messages.matches("[rat]").count(), 1, "{messages}");
    assert_eq!(tree(chat.nvim.cwd()), before);
}

fn one_turn(chat: &mut Chat) {
    turn_with_command(chat, |root| fs::write(root.join("a.txt"), "two\n").unwrap());
}

fn in_small_project() -> Chat {
    Chat::builder().file("a.txt", "one\n").start()
}

/// Holds (Review): Where a turn cannot be undone, one line says why and nothing changes.
#[test]
fn a_turn_that_is_not_known_is_not_undone() {
    let mut chat = in_small_project();
    one_turn(&mut chat);
    let root = chat.nvim.cwd().display().to_string();
    for (id, message) in [
        ("1-7", "The changes of turn 1-7 are not kept any more"),
        ("9-1", "The changes of turn 9-1 are not kept any more"),
        ("", "This is no id of a content or a turn"),
        ("1-1-1", "This is no id of a content or a turn"),
    ] {
        let undo = format!("lua require('rat').undo({{ root = '{root}', id = '{id}' }})");
        says(&mut chat, &undo, message);
    }
    let nowhere = "lua require('rat').undo({ root = '/no/such/folder', id = '1-1' })";
    says(&mut chat, nowhere, "/no/such/folder is not covered by checkpoints: it cannot be read");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
}

/// Holds (Review): Where a turn cannot be undone, one line says why and nothing changes.
#[test]
fn what_is_damaged_is_not_undone() {
    for (file, message) in [
        ("turns.jsonl", "cannot be kept: the log of turns is damaged; without"),
        ("pack", "Nothing of \"change it all\" to undo: a.txt: its content is not kept"),
    ] {
        let mut chat = in_small_project();
        one_turn(&mut chat);
        let slot = slot(&chat);
        chat.nvim.quit();
        chat.agent.expect_gone();
        // What follows the first bytes, by which the version is known, is garbage.
        let bytes = fs::read(slot.join(file)).unwrap();
        let garbage: Vec<u8> = (0..=250).cycle().step_by(7).take(bytes.len()).collect();
        let _ = fs::remove_file(slot.join("pack.index"));
        let kept = if file == "pack" { 8 } else { 0 };
        fs::write(slot.join(file), [&bytes[..kept], &garbage[kept..]].concat()).unwrap();
        let later = chat.nvim.beside(Options::wide());
        let mut chat = Chat::builder().neovim(later).start();
        says(&mut chat, "RatUndo", message);
    }
}

/// Holds (Review): Where a turn cannot be undone, one line says why and nothing changes.
#[test]
fn checkpoints_of_another_version_are_left_alone() {
    let mut chat = in_small_project();
    one_turn(&mut chat);
    let log = slot(&chat).join("turns.jsonl");
    chat.nvim.quit();
    chat.agent.expect_gone();
    let other = fs::read_to_string(&log).unwrap().replacen("\"version\":1", "\"version\":2", 1);
    fs::write(&log, &other).unwrap();
    let later = chat.nvim.beside(Options::wide());
    let mut chat = Chat::builder().neovim(later).start();
    says(&mut chat, "RatUndo", "they are of another version of rat.nvim");
    assert_eq!(fs::read_to_string(&log).unwrap(), other);
}

/// Holds (Review): Where a turn cannot be undone, one line says why and nothing changes.
#[test]
fn a_folder_for_checkpoints_that_cannot_be_written_is_told() {
    let mut chat = in_small_project();
    one_turn(&mut chat);
    let store = slot(&chat).parent().unwrap().parent().unwrap().to_owned();
    chat.nvim.quit();
    chat.agent.expect_gone();
    fs::remove_dir_all(&store).unwrap();
    // Not even root can write there.
    fs::write(&store, "").unwrap();
    let later = chat.nvim.beside(Options::wide());
    let mut chat = Chat::builder().neovim(later).start();
    says(&mut chat, "RatUndo", "Nothing to undo: checkpoints of");
    chat.prompt("go on");
    chat.nvim.poll_state("running");
    chat.end_turn("end_turn");
}

/// Holds (Review): Files that a switch to another branch has changed since are left alone by an undo, which is said.
#[test]
fn after_a_switch_of_the_branch_files_that_differ_are_left_alone() {
    let mut chat = Chat::builder().file("a.txt", "one\n").file("b.txt", "one\n").start();
    let root = chat.nvim.cwd().to_owned();
    if git(&root, &["init", "-q", "-b", "main"]).is_none() {
        return; // There is no git here.
    }
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "all"]);
    git(&root, &["checkout", "-q", "-b", "other"]);
    fs::write(root.join("a.txt"), "other\n").unwrap();
    git(&root, &["commit", "-q", "-a", "-m", "other"]);
    git(&root, &["checkout", "-q", "main"]);
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("a.txt"), "two\n").unwrap();
        fs::write(root.join("b.txt"), "two\n").unwrap();
    });
    git(&root, &["commit", "-q", "-a", "-m", "two"]);
    git(&root, &["checkout", "-q", "other"]);
    fs::write(root.join("b.txt"), "two\n").unwrap();
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn in 1 file");
    let text = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert_eq!((text("a.txt"), text("b.txt")), ("other\n".into(), "one\n".into()));
    let left = "left a.txt as it is";
    assert!(chat.nvim.messages().contains(left), "{}", chat.nvim.messages());
}

/// In so many moments an undo is killed.
const MOMENTS: usize = 50;
/// In so many projects at once.
const ABREAST: usize = 5;
/// The files of the large project beside those of the other.
const MORE: usize = 40;
const UNDO: &str = "Undo \"change it all\"? 68 files";
const REDO: &str = "Redo \"change it all\"? 68 files";

fn more(root: &Path, number: usize) -> PathBuf {
    root.join(format!("more/{number:02}.txt"))
}

fn ravage_more(root: &Path) {
    ravage(root);
    for number in 0..MORE {
        fs::write(more(root, number), format!("TWO {number}\n").repeat(200)).unwrap();
    }
}

/// Undoes the turn, and kills the binary once a file has changed or after some time.
fn kill_in_undo(chat: &mut Chat, dice: &mut Dice, turn: &str) {
    chat.nvim.command(&format!("lua require('rat').undo({turn})"));
    chat.nvim.poll_screen(UNDO);
    let pid = i32::try_from(chat.nvim.binary()).unwrap();
    let file = more(chat.nvim.cwd(), dice.within(0..MORE));
    let waits_for_file = dice.once_in(2);
    let wait = Duration::from_micros(dice.within(0..60_000) as u64);
    chat.nvim.input("1<CR>");
    let began = Instant::now();
    let is_over = || {
        let is_changed = || fs::read(&file).is_ok_and(|bytes| !bytes.starts_with(b"TWO"));
        if waits_for_file { is_changed() } else { began.elapsed() >= wait }
    };
    while !is_over() && began.elapsed() < Duration::from_secs(10) {
        std::hint::spin_loop();
    }
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    chat.nvim.poll_state("failed");
}

/// Kills undos of a turn in a project of its own. Returns how many of them have changed everything, and how many were
/// interrupted.
fn kill_undos(seed: u64) -> (usize, usize) {
    let mut builder = in_project_builder();
    for number in 0..MORE {
        let text = format!("two {number}\n").repeat(100);
        builder = builder.file(&format!("more/{number:02}.txt"), text);
    }
    let mut chat = builder.start();
    let root = chat.nvim.cwd().to_owned();
    let before = tree(&root);
    turn_with_command(&mut chat, ravage_more);
    let after = tree(&root);
    let turn = format!("{{ root = '{}', id = '1-1' }}", root.display());
    let mut dice = Dice::new(seed);
    let (mut undone, mut between) = (0, 0);
    for moment in 0..MOMENTS / ABREAST {
        kill_in_undo(&mut chat, &mut dice, &turn);
        let killed = tree(&root);
        between += usize::from(killed != before && killed != after);
        chat.nvim.command("RatRestart");
        chat.agent.expect_start();
        chat.agent.handshake();
        chat.nvim.poll_state("ready");
        poll_kept(&mut chat);
        let now = tree(&root);
        chat.nvim.command("messages clear");
        if now == before {
            undone += 1;
        } else {
            let differ = now.iter().filter(|(name, node)| after.get(*name) != Some(node));
            let differ: Vec<&String> = differ.map(|(name, _)| name).collect();
            assert!(now == after, "moment {moment}: {differ:?} are neither old nor new");
            says(&mut chat, "RatRedo", "Nothing to redo");
            answer(&mut chat, "RatUndo", UNDO, "Undid the turn in 68 files");
            assert!(tree(&root) == before, "moment {moment}: not undone");
        }
        answer(&mut chat, "RatRedo", REDO, "Redid the turn in 68 files");
        assert!(tree(&root) == after, "moment {moment}: not redone");
        says(&mut chat, "RatRedo", "Nothing to redo");
    }
    (undone, between)
}

/// Holds (Review): An undo that is killed at any moment has changed nothing or everything once rat.nvim has started again, and is redone or repeated then.
#[test]
fn an_undo_that_is_killed_has_changed_nothing_or_everything() {
    let seed = std::env::var("RAT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20_261_123);
    let mut out = std::io::stderr();
    writeln!(out, "RAT_SEED={seed}").unwrap();
    // Most of the time is spent waiting for Neovim and the binary to start.
    let projects: Vec<_> = (0..ABREAST)
        .map(|number| thread::spawn(move || kill_undos(seed + number as u64)))
        .collect();
    let (mut undone, mut between) = (0, 0);
    for project in projects {
        let (of_undone, of_between) = project.join().unwrap();
        (undone, between) = (undone + of_undone, between + of_between);
    }
    writeln!(out, "{undone} undone, {between} interrupted").unwrap();
    assert!(between > 0 && undone < MOMENTS, "{undone} undone, {between} interrupted");
}

/// Holds (Review): Undo and redo of a turn also change the permissions of a file that is open.
#[test]
fn an_open_file_gets_its_permissions_back() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
        fs::set_permissions(root.join("open.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    });
    poll_open(&mut chat, "TWO");
    let mode = |chat: &Chat| fs::metadata(chat.path("open.txt")).unwrap().permissions().mode();
    for _ in 0..2 {
        answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn in 1 file");
        poll_open(&mut chat, "two");
        assert_eq!(mode(&chat) & 0o777, 0o644);
        chat.nvim.command("messages clear");
        answer(&mut chat, "RatRedo", "Redo \"change it all\"?", "Redid the turn in 1 file");
        poll_open(&mut chat, "TWO");
        assert_eq!(mode(&chat) & 0o777, 0o755);
        chat.nvim.command("messages clear");
    }
}

fn kill_binary(chat: &mut Chat) {
    let pid = i32::try_from(chat.nvim.binary()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    chat.nvim.poll_state("failed");
}

/// A command runs in a turn.
fn calls(chat: &mut Chat, id: &str, command: impl FnOnce(&Path)) {
    chat.tool_call(json!({"toolCallId": id, "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    command(chat.nvim.cwd());
    chat.tool_call_update(json!({"toolCallId": id, "status": "completed"}));
}

/// When the folder of a turn that runs was last looked at.
fn looked(chat: &Chat) -> Option<std::time::SystemTime> {
    let files = files_below(&chat.nvim.folder().path().join("state"));
    let begun = files.iter().find(|path| path.to_string_lossy().contains("/begun-"))?;
    fs::metadata(begun).ok()?.modified().ok()
}

/// Holds (Review): What was seen of a turn before rat.nvim is killed within it is undone by `:RatUndo`.
#[test]
fn what_was_seen_of_a_turn_that_is_killed_is_undone() {
    let mut chat = in_project();
    let before = tree(chat.nvim.cwd());
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    calls(&mut chat, "c1", ravage);
    // A look right after a change may have come before it: clocks are coarse.
    let late = std::time::SystemTime::now() + Duration::from_millis(50);
    let deadline = Instant::now() + Duration::from_secs(20);
    for call in 2.. {
        if looked(&chat).is_some_and(|looked| looked > late) {
            break;
        }
        assert!(Instant::now() < deadline, "nobody looks");
        calls(&mut chat, &format!("c{call}"), |_| {});
        chat.nvim.poll_idle();
    }
    kill_binary(&mut chat);
    let mut chat = restarted(chat);
    answer(&mut chat, "RatUndo", "Undo \"A turn that was cut off\"?", "Undid the turn in 28 files");
    assert_eq!(tree(chat.nvim.cwd()), before);
}

/// Holds (Review): A turn that has ended is undone by `:RatUndo` although rat.nvim was killed right after it.
#[test]
fn a_turn_after_which_rat_is_killed_is_undone() {
    let mut chat = in_project();
    let before = tree(chat.nvim.cwd());
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    calls(&mut chat, "c1", ravage);
    chat.end_turn("end_turn");
    let state = chat.nvim.folder().path().join("state");
    chat.nvim.poll("the log", |_| {
        let is_log = |path: &&PathBuf| path.ends_with("turns.jsonl");
        let files = files_below(&state);
        let log = files.iter().find(is_log).and_then(|log| fs::read_to_string(log).ok());
        log.is_some_and(|log| log.contains("change it all") && log.ends_with('\n'))
    });
    kill_binary(&mut chat);
    let mut chat = restarted(chat);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn in 28 files");
    assert_eq!(tree(chat.nvim.cwd()), before);
}

/// Holds (Review): A turn within which rat.nvim is killed can be undone afterwards; what changed after the last look needs `:RatUndo!`.
#[test]
fn a_turn_that_is_killed_is_undone() {
    let mut chat = in_project();
    let before = tree(chat.nvim.cwd());
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    calls(&mut chat, "c1", ravage);
    kill_binary(&mut chat);
    let mut chat = restarted(chat);
    chat.nvim.command("RatUndo!");
    chat.nvim.poll_screen("Undo \"A turn that was cut off\"?");
    chat.nvim.input("1<CR>");
    chat.nvim.poll("undone", |nvim| nvim.messages().contains("Undid the turn"));
    assert_eq!(tree(chat.nvim.cwd()), before);
}
