//! A turn is undone and redone in all files it has changed, however the agent did it, in real Neovim.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::{fs, io};

use crate::support::{Chat, ChatBuilder, Nvim};
use serde_json::json;

/// Every file below a folder: its mode and its bytes, those of a link its target.
pub(crate) type Tree = BTreeMap<String, (u32, Vec<u8>)>;

pub(crate) fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    collect(root, root, &mut found).unwrap();
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Tree) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let bytes = if metadata.is_symlink() {
            fs::read_link(&path)?.into_os_string().into_encoded_bytes()
        } else if metadata.is_dir() {
            collect(root, &path, found)?;
            b"folder".to_vec()
        } else {
            fs::read(&path)?
        };
        found.insert(name, (metadata.permissions().mode(), bytes));
    }
    Ok(())
}

/// A chat in a project of its own folder, so that nothing else is in it.
pub(crate) fn in_project() -> Chat {
    in_project_builder().start()
}

pub(crate) fn in_project_builder() -> ChatBuilder {
    let mut builder = Chat::builder();
    for number in 0..20 {
        builder = builder.file(&format!("src/{number}.txt"), format!("one\ntwo {number}\nthree\n"));
    }
    builder
        .file("crlf.txt", "one\r\ntwo\r\n")
        .file("binary", b"\0\x01two\xff".to_vec())
        .file("old/deep/a.txt", "gone\n")
        .file("moved.txt", "moved\n")
        .file("open.txt", "one\ntwo\nthree\n")
}

/// What a command of an agent may do to a project.
pub(crate) fn ravage(root: &Path) {
    for number in 0..20 {
        let path = root.join(format!("src/{number}.txt"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("two", "TWO")).unwrap();
    }
    fs::write(root.join("crlf.txt"), "one\r\nTWO\r\n").unwrap();
    fs::write(root.join("binary"), b"\0\x02two\xfe").unwrap();
    fs::remove_dir_all(root.join("old")).unwrap();
    fs::rename(root.join("moved.txt"), root.join("renamed.txt")).unwrap();
    fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
    fs::create_dir_all(root.join("new/empty")).unwrap();
    fs::write(root.join("new/b.txt"), "new\n").unwrap();
    let script = root.join("src/0.txt");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("src/1.txt", root.join("link")).unwrap();
}

pub(crate) fn turn_with_command(chat: &mut Chat, command: impl FnOnce(&Path)) {
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed -i s/two/TWO/", "kind": "execute",
        "status": "in_progress"}));
    command(chat.nvim.cwd());
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
        "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(chat);
}

/// Whoever changes files before the turn is kept may have been the agent.
pub(crate) fn poll_kept(chat: &mut Chat) {
    chat.nvim.command("RatTurns");
    chat.nvim.poll_screen("Turns that changed files");
    chat.nvim.input("<Esc>");
    chat.nvim.poll_no("Turns that changed files");
}

/// Waits until the second line of the open file is this.
pub(crate) fn poll_open(chat: &mut Chat, wanted: &str) {
    let path = chat.path("open.txt");
    chat.nvim.poll(wanted, |nvim| nvim.buffer_lines(path.to_str().unwrap())[1] == wanted);
}

pub(crate) fn answer(chat: &mut Chat, command: &str, question: &str, message: &str) {
    chat.nvim.command(command);
    chat.nvim.poll_screen(question);
    chat.nvim.input("1<CR>");
    chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
}

/// Holds (Review): Undoing a turn gives back every file byte for byte, with its mode, however it was changed; redoing it is exact, too.
#[test]
fn undo_and_redo_of_a_turn_are_exact() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    let before = tree(chat.nvim.cwd());
    turn_with_command(&mut chat, ravage);
    let after = tree(chat.nvim.cwd());
    assert_ne!(before, after);
    poll_open(&mut chat, "TWO");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    assert_eq!(tree(chat.nvim.cwd()), before);
    poll_open(&mut chat, "two");
    answer(&mut chat, "RatRedo", "Redo \"change it all\"?", "Redid the turn");
    assert_eq!(tree(chat.nvim.cwd()), after);
    poll_open(&mut chat, "TWO");
}

/// Holds (Review): After a redo, all that the turn has changed is pending again, with the same titles, and can be rejected.
#[test]
fn a_redone_turn_is_pending_again() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, ravage);
    let review = |chat: &mut Chat| {
        chat.nvim.command("RatReview");
        chat.nvim.poll_screen("Review · 27 files");
        chat.nvim.buffer_lines("rat://review")
    };
    let first = review(&mut chat);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    chat.nvim.poll_screen("Nothing is pending");
    answer(&mut chat, "RatRedo", "Redo \"change it all\"?", "Redid the turn");
    assert_eq!(review(&mut chat), first);
    chat.nvim.command("RatReject turn");
    chat.nvim.poll_screen("Nothing is pending");
    let text = |name: &str| fs::read_to_string(chat.path(name)).ok();
    assert_eq!(text("new/b.txt"), None);
    assert_eq!(text("moved.txt").as_deref(), Some("moved\n"));
}

/// Holds (Review): Undoing a turn takes nothing of the user's away, in buffers and in files.
#[test]
fn undo_keeps_what_the_user_has_done_since() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, ravage);
    poll_open(&mut chat, "TWO");
    chat.nvim.command("call append(3, 'mine')");
    fs::write(chat.path("src/3.txt"), "one\nTWO 3\nthree\nalso mine\n").unwrap();
    fs::write(chat.path("src/4.txt"), "one\nmine too\nthree\n").unwrap();
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    let path = chat.path("open.txt");
    assert_eq!(chat.nvim.buffer_lines(path.to_str().unwrap()), ["one", "two", "three", "mine"]);
    let text = |name: &str| fs::read_to_string(chat.path(name)).unwrap();
    assert_eq!(text("src/3.txt"), "one\ntwo 3\nthree\nalso mine\n");
    assert_eq!(text("src/4.txt"), "one\nmine too\nthree\n", "the same line has changed");
    assert_eq!(text("src/5.txt"), "one\ntwo 5\nthree\n");
    let left = "left src/4.txt as it is: the same";
    assert!(chat.nvim.messages().contains(left), "{}", chat.nvim.messages());
}

/// A turn in which an agent changes a file that is open, and the user adds a line and saves it.
fn turn_with_a_saved_line() -> Chat {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    let call = json!({"toolCallId": "c1", "title": "sed", "kind": "execute", "status": "pending"});
    chat.tool_call(call);
    fs::write(chat.path("open.txt"), "one\nTWO\nthree\n").unwrap();
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    poll_open(&mut chat, "TWO");
    chat.nvim.command("call append(3, 'mine') | write");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat
}

/// Holds (Review): Undoing a turn takes nothing of the user's away, in buffers and in files.
#[test]
fn a_line_that_was_saved_during_a_turn_stays_when_it_is_undone() {
    let mut chat = turn_with_a_saved_line();
    // So that only the checkpoint knows what the turn has changed.
    chat.nvim.command("RatAccept all");
    chat.nvim.poll("accepted", |nvim| nvim.messages().contains("Accepted 1 hunk"));
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    let text = |chat: &Chat| fs::read_to_string(chat.path("open.txt")).unwrap();
    assert_eq!(text(&chat), "one\ntwo\nthree\nmine\n");
    answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
    assert_eq!(text(&chat), "one\nTWO\nthree\nmine\n");
}

/// Holds (Review): Undoing a turn takes back what was accepted of it, too, and redoing brings it back.
#[test]
fn what_was_accepted_is_undone_with_its_turn() {
    let text: String = (1..=40).map(|number| format!("{number}\n")).collect();
    let mut chat = Chat::builder().file("open.txt", text.as_str()).start();
    chat.nvim.command("wincmd t | edit open.txt");
    let changed = text.replace("\n5\n", "\nfive\n").replace("\n32\n", "\nxxxii\n");
    turn_with_command(&mut chat, |root| fs::write(root.join("open.txt"), &changed).unwrap());
    let path = chat.path("open.txt");
    chat.nvim.poll("five", |nvim| nvim.buffer_lines(path.to_str().unwrap())[4] == "five");
    chat.nvim.command("5 | RatAccept");
    chat.nvim.poll("accepted", |nvim| nvim.messages().contains("Accepted 1 hunk"));
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
    assert_eq!(fs::read_to_string(&path).unwrap(), changed);
}

/// A turn in which a call changes a line of a file, and then somebody else adds one. `None` if that came while it was still
/// looked for what the call has changed: then nobody can tell them apart.
fn turn_beside_somebody(is_open: bool) -> Option<Chat> {
    let mut chat = in_project();
    if is_open {
        chat.nvim.command("wincmd t | edit open.txt");
    }
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    let call = json!({"toolCallId": "c1", "title": "Edit open.txt", "kind": "edit",
        "status": "pending", "locations": [{"path": chat.path("open.txt")}]});
    chat.tool_call(call);
    // Once that is on the screen, the file has been looked at.
    chat.nvim.poll_screen("Edit open.txt");
    // At once, as editors write: the file may be read at any moment.
    let beside = chat.nvim.cwd().with_extension("new");
    let replace = |chat: &Chat, text: &str| {
        fs::write(&beside, text).unwrap();
        fs::rename(&beside, chat.path("open.txt")).unwrap();
    };
    replace(&chat, "one\nTWO\nthree\n");
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    let authors = |nvim: &mut Nvim| {
        let list = "require('rat').changes({}, function(changes)
            vim.g.tools = vim.tbl_map(function(c) return c.tool or 'unknown' end, changes)
        end)";
        nvim.lua(list, json!([]));
        nvim.eval("vim.g.tools or vim.empty_dict()").as_array().map_or(0, Vec::len)
    };
    chat.nvim.poll("what the call has changed", |nvim| authors(nvim) == 1);
    replace(&chat, "one\nTWO\nthree\nmine\n");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
    chat.nvim.poll("what somebody has changed", |nvim| authors(nvim) == 2);
    (chat.nvim.eval("vim.g.tools") == json!(["c1", "unknown"])).then_some(chat)
}

/// Holds (Review): Of a file that somebody else has changed during a turn, what the agent certainly did is undone.
#[test]
fn what_an_agent_did_is_undone_where_somebody_else_was_at_work() {
    for is_open in [false, true] {
        let mut tries = (0..50).map(|_| turn_beside_somebody(is_open));
        let mut chat = tries.find_map(|chat| chat).expect("a turn whose authors are known");
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        let text = fs::read_to_string(chat.path("open.txt")).unwrap();
        assert_eq!(text, "one\ntwo\nthree\nmine\n", "open: {is_open}");
    }
}

/// Holds (Review): An undo that changes only buffers, since they have unsaved changes, can be redone, too.
#[test]
fn an_undo_in_unsaved_text_is_redone() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    let write = |root: &Path| fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
    turn_with_command(&mut chat, write);
    poll_open(&mut chat, "TWO");
    chat.nvim.command("call append(3, 'mine')");
    let told = "Undid the turn in 1 file; open.txt is not saved. :RatRedo redoes it.";
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", told);
    let path = chat.path("open.txt");
    let lines = |chat: &mut Chat| chat.nvim.buffer_lines(path.to_str().unwrap());
    assert_eq!(lines(&mut chat), ["one", "two", "three", "mine"]);
    answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
    assert_eq!(lines(&mut chat), ["one", "TWO", "three", "mine"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\nTWO\nthree\n", "nothing was saved");
}

/// Holds (Review): What a command changed in files nobody has open is reviewed like any other change.
#[test]
fn a_review_shows_what_a_command_has_changed() {
    let mut chat = in_project();
    turn_with_command(&mut chat, ravage);
    chat.nvim.poll("all changed files", |nvim| {
        nvim.command("RatReview");
        nvim.screen().text().contains("Review · 27 files")
    });
    for text in ["crlf.txt  +1 -1", "@@ -1,2 +1,2 @@ sed -i s/two/TWO/", "-two", "+TWO"] {
        chat.nvim.poll_screen(text);
    }
    let lines = chat.nvim.buffer_lines("rat://review");
    for line in [
        "binary  binary, 6 to 6 bytes · sed -i s/two/TWO/",
        "link  new symbolic link → src/1.txt · sed -i s/two/TWO/",
        "src/0.txt  mode 644 to 755 · sed -i s/two/TWO/",
        "moved.txt → renamed.txt  renamed · sed -i s/two/TWO/",
        "old/deep/a.txt (deleted)  +0 -1",
        "new/b.txt (new file)  +1 -0",
    ] {
        assert!(lines.iter().any(|it| it == line), "{line} in {lines:#?}");
    }
}

/// Holds (Review): What changes during a turn while no tool call runs is not undone unasked.
#[test]
fn what_somebody_else_may_have_changed_is_undone_only_if_asked_for() {
    let mut chat = Chat::builder().file("a.txt", "one\n").file("b.txt", "one\n").start();
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    let call = json!({"toolCallId": "c1", "title": "sed", "kind": "execute", "status": "pending"});
    chat.tool_call(call);
    fs::write(chat.path("b.txt"), "two\n").unwrap();
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    chat.nvim.poll("what the call has changed", |nvim| {
        let count = "require('rat').changes({}, function(c) vim.g.pending = #c end)";
        nvim.lua(count, json!([]));
        nvim.eval("vim.g.pending") == json!(1)
    });
    fs::write(chat.path("a.txt"), "mine\n").unwrap();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let question = "Undo \"change it all\"? 1 file; 1 left alone";
    answer(&mut chat, "RatUndo", question, "Undid the turn in 1 file");
    let text = |chat: &Chat, name: &str| fs::read_to_string(chat.path(name)).unwrap();
    assert_eq!((text(&chat, "a.txt"), text(&chat, "b.txt")), ("mine\n".into(), "one\n".into()));
    answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
    let question = "Undo \"change it all\"? 2 files";
    answer(&mut chat, "RatUndo!", question, "Undid the turn in 2 files");
    assert_eq!((text(&chat, "a.txt"), text(&chat, "b.txt")), ("one\n".into(), "one\n".into()));
}

/// Holds (Review): A new file that an agent writes itself before it writes it through Neovim is reviewed and undone, whether it was looked at before or after.
#[test]
fn a_new_file_that_is_written_twice_is_undone() {
    for is_announced_first in [true, false] {
        let mut chat = Chat::builder().file("a.txt", "one\n").start();
        chat.prompt("change it all");
        chat.nvim.poll_state("running");
        let path = chat.path("new.txt");
        let write = || fs::write(&path, "new\n").unwrap();
        if !is_announced_first {
            write();
        }
        chat.tool_call(json!({"toolCallId": "c1", "title": "Write new.txt", "kind": "edit",
            "status": "in_progress", "locations": [{"path": path}]}));
        // Once that is on the screen, the file has been looked at.
        chat.nvim.poll_screen("Write new.txt");
        if is_announced_first {
            write();
        }
        chat.request("fs/write_text_file", json!({"path": path, "content": "new\n"})).unwrap();
        chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
        chat.end_turn("end_turn");
        chat.nvim.poll_state("ready");
        chat.nvim.command("RatReview");
        chat.nvim.poll_screen("new.txt (new file)  +1 -0");
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        assert!(!path.exists());
    }
}

/// Holds (Review): A file that an agent names only after it has written it is reviewed and undone like any other.
#[test]
fn an_edit_that_is_announced_once_it_is_made_is_undone() {
    let mut chat = Chat::builder().file("a.txt", "one\n").start();
    chat.prompt("change it all");
    chat.nvim.poll_state("running");
    let path = chat.path("a.txt");
    fs::write(&path, "two\n").unwrap();
    chat.tool_call(json!({"toolCallId": "c1", "title": "Write a.txt", "kind": "edit",
        "status": "in_progress", "locations": [{"path": path}]}));
    // Once that is on the screen, the file has been looked at.
    chat.nvim.poll_screen("Write a.txt");
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
}

/// Holds (Review): Where nothing of a turn is left, one line says so and nothing changes.
#[test]
fn a_turn_that_was_rejected_is_not_undone_again() {
    let mut chat = Chat::builder().file("open.txt", "one\ntwo\n").start();
    chat.nvim.command("RatRedo");
    chat.nvim.poll("no redo", |nvim| nvim.messages().contains("Nothing to redo"));
    chat.nvim.command("RatUndo");
    chat.nvim.poll("no undo", |nvim| nvim.messages().contains("Nothing to undo: no turn has"));
    turn_with_command(&mut chat, |root| fs::write(root.join("open.txt"), "one\n2\n").unwrap());
    chat.nvim.command("RatReject all");
    chat.nvim.poll("rejected", |nvim| nvim.messages().contains("Rejected 1 hunk"));
    chat.nvim.command("RatUndo");
    let nothing = "Nothing of \"change it all\" to undo: open.txt: already as before the turn";
    chat.nvim.poll(nothing, |nvim| nvim.messages().contains(nothing));
    assert_eq!(fs::read_to_string(chat.path("open.txt")).unwrap(), "one\ntwo\n");
}

/// Holds (Review): What an undo would change is read before the question comes back, and says what will happen to each file.
#[test]
fn the_page_of_an_undo_is_read_before_the_question_comes_back() {
    let mut chat = Chat::builder().file("a.txt", "one\n").start();
    turn_with_command(&mut chat, |root| fs::write(root.join("new.txt"), "new\n").unwrap());
    fs::write(chat.path("new.txt"), "new\nmine\n").unwrap();
    chat.nvim.command("RatUndo");
    chat.nvim.poll_screen("2  Show what would change");
    chat.nvim.input("2<CR>");
    chat.nvim.poll_screen("Undoing \"change it all\" would change");
    chat.nvim.poll_screen("new.txt: undo; later changes stay");
    assert!(!chat.nvim.screen().contains("2  Show what would change"), "it covers the page");
    chat.nvim.input("q");
    chat.nvim.poll_screen("2  Show what would change");
    assert!(!chat.nvim.screen().contains("Undoing \"change it all\" would change"));
    chat.nvim.input("1<CR>");
    chat.nvim.poll("undone", |nvim| nvim.messages().contains("Undid the turn in 1 file"));
    assert_eq!(fs::read_to_string(chat.path("new.txt")).unwrap(), "mine\n");
    chat.nvim.command("RatUndo");
    let all = "Nothing to undo: all turns in this folder are undone. :RatRedo brings";
    chat.nvim.poll(all, |nvim| nvim.messages().contains(all));
    chat.nvim.command("RatTurns");
    chat.nvim.poll_screen("(undone) change it all");
}

/// Holds (Review): With the option `review` "off", every command about changes says so.
#[test]
fn without_review_its_commands_say_so() {
    let mut chat = Chat::builder().setup(json!({"review": "off"})).start();
    for (command, what) in [
        ("RatUndo", "Turns"),
        ("RatTurns", "Turns"),
        ("RatReview", "Changes"),
        ("RatAccept all", "Changes"),
        ("RatReject all", "Changes"),
    ] {
        chat.nvim.command("messages clear");
        chat.nvim.command(command);
        chat.nvim.poll(command, |nvim| {
            let told = nvim.messages();
            told.contains(what) && told.contains("since the option review is \"off\"")
        });
    }
}

pub(crate) fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = std::process::Command::new("git");
    command.current_dir(root).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("GIT_DIR");
    let output = command.output().ok()?;
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Holds (Review): Undoing a turn in 500 files of a repository with staged and other work changes neither its status nor its index.
#[test]
fn undo_leaves_git_alone() {
    let mut builder = Chat::builder();
    for number in 0..500 {
        builder = builder.file(&format!("src/{number}.txt"), format!("one\ntwo {number}\n"));
    }
    let mut chat = builder.start();
    let root = chat.nvim.cwd().to_owned();
    if git(&root, &["init", "-q"]).is_none() {
        return; // There is no git here.
    }
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "all"]);
    fs::write(root.join("src/1.txt"), "staged\n").unwrap();
    git(&root, &["add", "src/1.txt"]);
    fs::write(root.join("src/2.txt"), "not committed\n").unwrap();
    fs::write(root.join("untracked.txt"), "new\n").unwrap();
    let is_gits = |name: &String| name.starts_with(".git");
    let without_git =
        |tree: Tree| -> Tree { tree.into_iter().filter(|(name, _)| !is_gits(name)).collect() };
    let (before, status) = (tree(&root), git(&root, &["status", "--porcelain"]));
    turn_with_command(&mut chat, |root| {
        for number in 0..500 {
            let path = root.join(format!("src/{number}.txt"));
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace("two", "TWO")).unwrap();
        }
        // Two files that the user was working on.
        git(root, &["checkout", "--", "src/1.txt", "src/2.txt"]);
        fs::remove_file(root.join("untracked.txt")).unwrap();
    });
    let index = fs::read(root.join(".git/index")).unwrap();
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    assert_eq!(fs::read(root.join(".git/index")).unwrap(), index);
    assert_eq!(without_git(tree(&root)), without_git(before));
    assert_eq!(git(&root, &["status", "--porcelain"]), status);
}
