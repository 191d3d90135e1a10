//! What the user has done outside Neovim, between the turns of an agent, is theirs: no undo takes it, in real Neovim.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::support::Chat;
use crate::undo::{answer, in_project, in_project_builder, poll_kept, turn_with_command};
use serde_json::json;

fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A turn changes a file, then the user rewrites it outside Neovim.
fn rewritten_after_a_turn(is_open: bool) -> Chat {
    let mut chat = in_project();
    if is_open {
        chat.nvim.command("wincmd t | edit open.txt");
    }
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
    });
    if is_open {
        crate::undo::poll_open(&mut chat, "TWO");
    }
    fs::write(chat.path("open.txt"), "mine\nmine too\nthree\n").unwrap();
    chat
}

/// Holds (Review): What the user has rewritten outside Neovim stays, whatever a later turn has changed in that file and is undone.
#[test]
fn what_was_rewritten_outside_neovim_stays() {
    for is_open in [false, true] {
        let mut chat = rewritten_after_a_turn(is_open);
        turn_with_command(&mut chat, |root| make_executable(&root.join("open.txt")));
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        let path = chat.path("open.txt");
        let text = || fs::read_to_string(&path).unwrap();
        assert_eq!(text(), "mine\nmine too\nthree\n", "the mode, open: {is_open}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);

        let mut chat = rewritten_after_a_turn(is_open);
        turn_with_command(&mut chat, |root| {
            fs::write(root.join("open.txt"), "mine\nmine too\nTHREE\n").unwrap();
        });
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        let path = chat.path("open.txt");
        let text = || fs::read_to_string(&path).unwrap();
        assert_eq!(text(), "mine\nmine too\nthree\n", "a line, open: {is_open}");
        answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
        assert_eq!(text(), "mine\nmine too\nTHREE\n", "open: {is_open}");
    }
}

/// Holds (Review): What the user has rewritten outside Neovim is not pending as an agent's, so no rejection takes it.
#[test]
fn what_was_rewritten_outside_neovim_is_not_pending() {
    for is_open in [false, true] {
        let mut chat = rewritten_after_a_turn(is_open);
        turn_with_command(&mut chat, |root| {
            fs::write(root.join("open.txt"), "mine\nmine too\nTHREE\n").unwrap();
        });
        chat.nvim.command("RatReject turn");
        let path = chat.path("open.txt");
        chat.nvim.poll("the rejection", |_| {
            fs::read_to_string(&path).unwrap() == "mine\nmine too\nthree\n"
        });
    }
}

/// Starts a command of a running turn.
fn begin_command(chat: &mut Chat, id: &str) {
    chat.tool_call(json!({"toolCallId": id, "title": "sed", "kind": "execute",
        "status": "in_progress"}));
}

fn end_command(chat: &mut Chat, id: &str) {
    chat.tool_call_update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id,
        "status": "completed"}));
}

/// Holds (Review): Whatever is decided on in a file that is not open, what the agent adds there on disk meanwhile is pending and undone with its turn.
#[test]
fn what_an_agent_adds_while_the_user_decides_is_its_own() {
    for key in ["r", "a"] {
        let text: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let mut chat = Chat::builder().file("a.txt", text.as_str()).start();
        let path = chat.path("a.txt");
        chat.prompt("change it all");
        chat.nvim.poll_state("running");
        begin_command(&mut chat, "c1");
        let changed = text.replace("\n5\n", "\nfive\n").replace("\n25\n", "\nxxv\n");
        fs::write(&path, &changed).unwrap();
        end_command(&mut chat, "c1");
        chat.nvim.poll("the first changes", |nvim| {
            nvim.command("RatReview");
            nvim.screen().text().contains("+five")
        });
        begin_command(&mut chat, "c2");
        let added = format!("{changed}more\n");
        fs::write(&path, &added).unwrap();
        chat.nvim.input(&format!("gg/+five<CR>{key}"));
        let now = if key == "r" { added.replace("five", "5") } else { added.clone() };
        chat.nvim.poll("the decision", |nvim| {
            !nvim.screen().text().contains("+five") && fs::read_to_string(&path).unwrap() == now
        });
        let now = format!("{now}and more\n");
        fs::write(&path, &now).unwrap();
        end_command(&mut chat, "c2");
        chat.nvim.poll_screen("+more");
        chat.nvim.poll_screen("+and more");
        chat.end_turn("end_turn");
        chat.nvim.poll_state("ready");
        poll_kept(&mut chat);
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{key}");
    }
}

/// Holds (Review): A folder, or a file, in the place of which a turn has put something of another kind comes back with its undo, or is named with a reason.
#[test]
fn what_becomes_of_another_kind_comes_back_or_is_named() {
    let mut chat = in_project_builder().file("grows.txt", "small\n").start();
    fs::create_dir(chat.path(".git")).unwrap();
    let before = crate::undo::tree(chat.nvim.cwd());
    turn_with_command(&mut chat, |root| {
        fs::remove_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src"), "f\n").unwrap();
        for name in ["binary", "moved.txt"] {
            fs::remove_file(root.join(name)).unwrap();
        }
        let mode = nix::sys::stat::Mode::S_IRWXU;
        nix::unistd::mkfifo(&root.join("binary"), mode).unwrap();
        UnixListener::bind(root.join("moved.txt")).unwrap();
        fs::write(root.join("grows.txt"), "x".repeat(9 << 20)).unwrap();
        fs::write(root.join(".gitignore"), "old\nhidden\n").unwrap();
        fs::write(root.join("old/deep/a.txt"), "changed\n").unwrap();
        fs::create_dir(root.join("hidden")).unwrap();
        fs::write(root.join("hidden/a.txt"), "hidden\n").unwrap();
        fs::write(root.join(".rat-restore-1"), "mine\n").unwrap();
    });
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    let messages = chat.nvim.messages();
    let left = "left hidden as it is: it is a folder with something else in it";
    assert!(messages.replace('\n', " ").contains(left), "{messages}");
    fs::remove_dir_all(chat.path("hidden")).unwrap();
    assert_eq!(crate::undo::tree(chat.nvim.cwd()), before);
}

/// Holds (Review): What an undo could not change is tried again by the next one, before any other turn is undone.
#[test]
fn an_undo_that_failed_in_part_is_tried_again() {
    let mut chat = in_project_builder().file("tool", fs::read("/bin/sleep").unwrap()).start();
    let tool = chat.path("tool");
    make_executable(&tool);
    // A program that has two names is written in place, which fails as long as it runs.
    fs::hard_link(&tool, chat.path("tool2")).unwrap();
    let before = crate::undo::tree(chat.nvim.cwd());
    turn_with_command(&mut chat, |root| {
        let mut file = fs::File::options().append(true).open(root.join("tool")).unwrap();
        file.write_all(b"more").unwrap();
        fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
    });
    let mut running = Command::new(&tool).arg("1000").spawn().unwrap();
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 3 files", "Undid the turn in 1 file");
    let messages = chat.nvim.messages();
    assert!(messages.contains("tool") && messages.contains("Text file busy"), "{messages}");
    running.kill().unwrap();
    running.wait().unwrap();
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 2 files", "Undid the turn in 2 files");
    assert_eq!(crate::undo::tree(chat.nvim.cwd()), before);
    chat.nvim.command("RatUndo");
    chat.nvim.poll("nothing more", |nvim| nvim.messages().contains("Nothing to undo"));
}

/// A turn replaces a file by a name of one outside of the project, and changes that.
fn led_outside(is_open: bool, adds: bool) -> (Chat, std::path::PathBuf) {
    let mut chat = in_project();
    let out = chat.nvim.folder().file("outside.txt", "one\nprivate\nthree\n");
    if is_open {
        chat.nvim.command("wincmd t | edit open.txt");
    }
    let secret = out.clone();
    turn_with_command(&mut chat, move |root| {
        fs::remove_file(root.join("open.txt")).unwrap();
        fs::hard_link(&secret, root.join("open.txt")).unwrap();
        if adds {
            let mut file = fs::File::options().append(true).open(&secret).unwrap();
            file.write_all(b"more\n").unwrap();
        }
    });
    if is_open {
        crate::undo::poll_open(&mut chat, "private");
    }
    (chat, out)
}

/// Holds (Review): A file that a turn has made a name of a file outside of the project gets back what it was, and that file stays as it is.
#[test]
fn an_undo_does_not_go_through_a_name_that_the_turn_has_given() {
    for (is_open, adds) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut chat, out) = led_outside(is_open, adds);
        let left = fs::read_to_string(&out).unwrap();
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        let text = fs::read_to_string(chat.path("open.txt")).unwrap();
        assert_eq!(text, "one\ntwo\nthree\n", "open: {is_open}");
        assert_eq!(fs::read_to_string(&out).unwrap(), left, "open: {is_open}");
        if is_open {
            assert_eq!(chat.nvim.eval("vim.bo.modified"), json!(false));
        }
    }
}

/// Holds (Review): Rejecting what is pending does not change a file outside of the project that the agent has given a name inside.
#[test]
fn a_rejection_does_not_go_through_a_name_that_the_turn_has_given() {
    for is_open in [false, true] {
        let (mut chat, out) = led_outside(is_open, true);
        let left = fs::read_to_string(&out).unwrap();
        chat.nvim.command("RatReject turn");
        let path = chat.path("open.txt");
        chat.nvim
            .poll("the rejection", |_| fs::read_to_string(&path).unwrap() == "one\ntwo\nthree\n");
        assert_eq!(fs::read_to_string(&out).unwrap(), left, "open: {is_open}");
    }
}

/// Holds (Review): A file of two names that a turn has changed under both is undone under both.
#[test]
fn an_undo_keeps_the_names_that_a_file_had_before() {
    for is_open in [false, true] {
        let mut chat = in_project();
        let out = chat.nvim.folder().path().join("outside.txt");
        fs::hard_link(chat.path("open.txt"), &out).unwrap();
        if is_open {
            chat.nvim.command("wincmd t | edit open.txt");
        }
        turn_with_command(&mut chat, |root| {
            fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
        });
        if is_open {
            crate::undo::poll_open(&mut chat, "TWO");
        }
        assert_eq!(fs::read_to_string(&out).unwrap(), "one\nTWO\nthree\n");
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        assert_eq!(fs::read_to_string(&out).unwrap(), "one\ntwo\nthree\n", "open: {is_open}");
    }
}

/// Holds (Review): A folder that a turn has removed comes back, whatever had that name before.
#[test]
fn a_folder_in_the_place_of_a_file_comes_back() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root| fs::write(root.join("place"), "a file\n").unwrap());
    fs::remove_file(chat.path("place")).unwrap();
    fs::create_dir(chat.path("place")).unwrap();
    turn_with_command(&mut chat, |root| {
        fs::remove_dir(root.join("place")).unwrap();
        fs::write(root.join("open.txt"), "one\nTWO\nthree\n").unwrap();
    });
    answer(&mut chat, "RatUndo", "? 1 file and 1 folder", "Undid the turn in 1 file and 1 folder");
    assert!(chat.path("place").is_dir());
}

/// Holds (Review): A line that the user has added outside Neovim stays, however often the turn that created its file is undone and redone.
#[test]
fn a_line_of_the_users_stays_when_a_turn_is_undone_again() {
    let mut chat = in_project();
    turn_with_command(&mut chat, |root| fs::write(root.join("new.txt"), "one\ntwo\n").unwrap());
    let path = chat.path("new.txt");
    fs::write(&path, "one\ntwo\nmine\n").unwrap();
    for _ in 0..3 {
        chat.nvim.command("messages clear");
        answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
        chat.nvim.command("messages clear");
        answer(&mut chat, "RatRedo", "Redo \"change it all\"? 1 file", "Redid the turn in 1 file");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nmine\n");
    }
}

/// Holds (Review): What a turn has made is undone, also if it was added to `.gitignore` since.
#[test]
fn what_is_ignored_since_a_turn_is_undone() {
    let mut chat = in_project();
    fs::create_dir(chat.path(".git")).unwrap();
    let before = crate::undo::tree(chat.nvim.cwd());
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("data.bin"), "\0binary\0").unwrap();
        std::os::unix::fs::symlink("open.txt", root.join("link")).unwrap();
    });
    fs::write(chat.path(".gitignore"), "data.bin\nlink\n").unwrap();
    turn_with_command(&mut chat, |root| fs::write(root.join("a.txt"), "a\n").unwrap());
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    chat.nvim.command("messages clear");
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 2 files", "Undid the turn in 2 files");
    fs::remove_file(chat.path(".gitignore")).unwrap();
    assert_eq!(crate::undo::tree(chat.nvim.cwd()), before);
}

/// Holds (Review): A command over forty files, of which one is open and one has unsaved changes, is undone whole, whenever its end is noticed.
#[test]
fn a_command_over_many_files_is_undone_whole() {
    for _ in 0..3 {
        let mut builder = in_project_builder();
        for number in 0..40 {
            builder = builder.file(&format!("many/{number:02}.txt"), "one\ntwo\nthree\n");
        }
        let mut chat = builder.start();
        let names = ["many/07.txt", "many/23.txt"];
        chat.nvim.command("wincmd t | edit many/07.txt | split many/23.txt");
        chat.nvim.command("call setline(3, 'mine')");
        let before = crate::undo::tree(chat.nvim.cwd());
        turn_with_command(&mut chat, |root| {
            let mut sed = Command::new("sh");
            sed.args(["-c", "sed -i s/two/TWO/ many/*"]).current_dir(root);
            assert!(sed.status().unwrap().success());
        });
        answer(
            &mut chat,
            "RatUndo",
            "Undo \"change it all\"? 40 files",
            "Undid the turn in 40 files",
        );
        let lines = names.map(|name| {
            let path = chat.path(name);
            chat.nvim.buffer_lines(path.to_str().unwrap()).join(" ")
        });
        assert_eq!(lines, ["one two three", "one two mine"]);
        let mut now = crate::undo::tree(chat.nvim.cwd());
        // What is not saved is not written.
        now.insert(names[1].to_owned(), before[names[1]].clone());
        assert_eq!(now, before);
    }
}

/// Holds (Review): A mode that the user has set since stays when a turn is undone in the lines of that file.
#[test]
fn a_mode_that_was_set_since_stays() {
    let text: String = (1..=20).map(|number| format!("{number}\n")).collect();
    let mut chat = Chat::builder().file("a.txt", text.as_str()).start();
    let path = chat.path("a.txt");
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("a.txt"), text.replace("\n3\n", "\nthree\n")).unwrap();
    });
    let mut chat = crate::undo_later::restarted(chat);
    fs::write(&path, text.replace("\n3\n", "\nthree\n") + "mine\n").unwrap();
    make_executable(&path);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"? 1 file", "Undid the turn in 1 file");
    assert_eq!(fs::read_to_string(&path).unwrap(), text + "mine\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}
