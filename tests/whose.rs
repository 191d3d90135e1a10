//! Whose a change is: what happened before a turn, what a formatter makes of an agent's lines, in real Neovim.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant, SystemTime};

use crate::support::{Chat, Nvim};
use crate::undo::{answer, poll_kept};
use serde_json::{Value as Json, json};

/// Runs a turn in which a tool call does this in the project.
fn turn(chat: &mut Chat, command: impl FnOnce(&Chat)) {
    chat.prompt("change it");
    chat.nvim.poll_state("running");
    chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
        "status": "in_progress"}));
    command(chat);
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(chat);
}

fn write(chat: &Chat, name: &str, text: &str) {
    fs::write(chat.path(name), text).unwrap();
}

fn disk(chat: &Chat, name: &str) -> String {
    fs::read_to_string(chat.path(name)).unwrap_or_else(|error| error.kind().to_string())
}

/// The pending hunks: the file of each, and the lines that are new.
fn pending(chat: &mut Chat) -> Json {
    let code = "vim.g.pending = nil
        require('rat').changes({}, function(changes)
          vim.g.pending = vim.tbl_map(function(change)
            return { vim.fs.basename(change.path), change.added }
          end, changes)
        end)";
    chat.nvim.lua(code, json!([]));
    chat.nvim.poll_for("the changes", |nvim| {
        let pending = nvim.eval("vim.g.pending");
        (!pending.is_null()).then_some(pending)
    })
}

fn reject_all(chat: &mut Chat, message: &str) {
    chat.nvim.command("RatReject all");
    chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
}

/// Holds (Review): What the user has done to an open file in a shell before a turn is not of the turn, whether or not Neovim has read it.
#[test]
fn what_a_shell_did_before_a_turn_is_the_users() {
    let chat = Chat::builder().file("mine.txt", "1\n2\n3\n4\n5\n").file("other.txt", "a\n");
    let mut chat = chat.start();
    chat.nvim.command("wincmd t | edit mine.txt");
    write(&chat, "mine.txt", "1\nmine\n3\n4\n5\n");
    turn(&mut chat, |chat| write(chat, "other.txt", "b\n"));
    assert_eq!(pending(&mut chat), json!([["other.txt", ["b"]]]));
    reject_all(&mut chat, "Rejected");
    assert_eq!(disk(&chat, "mine.txt"), "1\nmine\n3\n4\n5\n");
    assert_eq!(disk(&chat, "other.txt"), "a\n");
}

/// Holds (Review): The same of a file that the turn changes, too: only what the turn did is rejected or undone.
#[test]
fn what_a_shell_did_before_a_turn_stays_where_the_turn_goes_on() {
    for is_open in [true, false] {
        for undoes in [true, false] {
            let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n4\n5\n").start();
            // A turn before makes the file one that is known.
            turn(&mut chat, |chat| write(chat, "a.txt", "1\n2\n3\n4\nfive\n"));
            if is_open {
                chat.nvim.command("wincmd t | edit a.txt");
            }
            write(&chat, "a.txt", "1\nmine\n3\n4\nfive\n");
            turn(&mut chat, |chat| write(chat, "a.txt", "ONE\nmine\n3\n4\nfive\n"));
            if undoes {
                answer(&mut chat, "RatUndo", "Undo \"change it\"?", "Undid the turn");
                assert_eq!(pending(&mut chat), json!([["a.txt", ["five"]]]), "{is_open}");
            } else {
                reject_all(&mut chat, "Rejected 2 hunks in a.txt");
                assert_eq!(pending(&mut chat), json!([]), "{is_open}");
            }
            let end = if undoes { "five" } else { "5" };
            let wanted = format!("1\nmine\n3\n4\n{end}\n");
            assert_eq!(disk(&chat, "a.txt"), wanted, "open: {is_open}, undone: {undoes}");
        }
    }
}

/// Holds (Review): A command knows what the user has saved before it began, undone or rejected: what it changes there is no conflict, on the same line, too.
#[test]
fn a_command_changes_what_was_saved_before_it_began() {
    let chat = Chat::builder().file("a.txt", "1\n2\n3\n4\n5\n");
    let mut chat = chat.start();
    chat.nvim.command("wincmd t | edit a.txt");
    let path = chat.path("a.txt").to_str().unwrap().to_owned();
    let runs = |chat: &mut Chat, text: &str, what: &str| {
        turn(chat, |chat| write(chat, "a.txt", text));
        let wanted: Vec<&str> = text.lines().collect();
        chat.nvim.poll(what, |nvim| nvim.buffer_lines(&path) == wanted);
        assert_eq!(chat.nvim.eval("vim.bo.modified"), false, "{what}");
        assert!(!chat.nvim.messages().contains("same lines"), "{what}");
    };
    runs(&mut chat, "1\nTWO\n3\n4\n5\n", "the first command");
    answer(&mut chat, "RatUndo", "Undo \"change it\"?", "Undid the turn");
    runs(&mut chat, "1\nTWO\n3\n4\n5\n", "the same again, once it is undone");
    reject_all(&mut chat, "Rejected 1 hunk");
    runs(&mut chat, "1\nzwei\n3\n4\n5\n", "another, once that is rejected");
    chat.nvim.command("4s/4/four/ | write");
    runs(&mut chat, "1\nzwei\n3\nvier\n5\n", "on a line that the user has saved");
    write(&chat, "a.txt", "1\n2\n3\n4\n5\n");
    chat.nvim.command("checktime");
    chat.nvim.poll("the file is read", |nvim| nvim.buffer_lines(&path)[1] == "2");
    runs(&mut chat, "1\ntwo\n3\n4\n5\n", "after a checkout outside of Neovim");
    chat.nvim.command("2s/two/mine/ | write | undo | undo | write");
    runs(&mut chat, "1\n2!\n3\n4\n5\n", "after an undo in the editor");
}

/// Holds (Review): What a command has changed in an open file is undone although that is noticed after its call has ended, and the call is named; what happens between two calls may be the user's.
#[test]
fn a_change_is_that_of_the_call_that_ran() {
    let chat = Chat::builder().file("a.txt", "1\n").file("b.txt", "1\n").file("c.txt", "1\n");
    let mut chat = chat.start();
    for name in ["a.txt", "b.txt", "c.txt"] {
        chat.nvim.command(&format!("wincmd t | edit {name}"));
    }
    chat.prompt("change it");
    chat.nvim.poll_state("running");
    let call = |chat: &mut Chat, id: &str, title: &str| {
        chat.tool_call(json!({"toolCallId": id, "title": title, "kind": "execute",
            "status": "in_progress"}));
        chat.nvim.poll_screen(title);
    };
    let ends = |chat: &mut Chat, id: &str| {
        chat.tool_call_update(json!({"toolCallId": id, "status": "completed"}));
    };
    call(&mut chat, "c1", "first command");
    write(&chat, "a.txt", "2\n");
    ends(&mut chat, "c1");
    call(&mut chat, "c2", "second command");
    write(&chat, "b.txt", "2\n");
    ends(&mut chat, "c2");
    chat.nvim.poll_screen("✓ run second command");
    chat.nvim.poll("the changes", |nvim| {
        let first = |name: &str| nvim.cwd().join(name).to_str().unwrap().to_owned();
        let (a, b) = (first("a.txt"), first("b.txt"));
        nvim.buffer_lines(&a) == ["2"] && nvim.buffer_lines(&b) == ["2"]
    });
    // The clock of the file system may lag.
    let ended = SystemTime::now();
    chat.nvim.poll("a time after the call", |nvim| {
        let path = nvim.cwd().with_file_name("clock");
        fs::write(&path, "").unwrap();
        let of = path.metadata().unwrap();
        let (seconds, nanoseconds) = (of.ctime().try_into(), of.ctime_nsec().try_into());
        let changed = Duration::new(seconds.unwrap(), nanoseconds.unwrap());
        SystemTime::UNIX_EPOCH + changed > ended
    });
    write(&chat, "c.txt", "mine\n");
    chat.nvim.poll("the user's change", |nvim| {
        let name = nvim.cwd().join("c.txt").to_str().unwrap().to_owned();
        nvim.buffer_lines(&name) == ["mine"]
    });
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    poll_kept(&mut chat);
    chat.nvim.command("RatReview");
    chat.nvim.poll_screen("Review · 3 files");
    let page = chat.nvim.buffer_lines("rat://review").join("\n");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let order =
        ["a.txt", "first command", "b.txt", "second command", "while no tool call ran", "c.txt"];
    assert!(order.map(place).is_sorted(), "{page}");
    chat.nvim.command("quit");
    answer(&mut chat, "RatUndo", "Undo \"change it\"?", "Undid the turn in 2 files");
    assert_eq!(
        [disk(&chat, "a.txt"), disk(&chat, "b.txt"), disk(&chat, "c.txt")],
        ["1\n", "1\n", "mine\n"]
    );
}

/// Holds (Review): What the user's own `git checkout` does in a turn, while no tool call runs, is not called the agent's, in conflict or not.
#[test]
fn a_checkout_by_hand_is_not_the_agents() {
    let files = [("a.txt", "1\n2\n3\n"), ("gone.txt", "1\n"), ("other.txt", "1\n")];
    let mut builder = Chat::builder();
    for (name, text) in files {
        builder = builder.file(name, text);
    }
    let mut chat = builder.in_turn();
    for (name, _) in files {
        chat.nvim.command(&format!("wincmd t | edit {name}"));
    }
    // A file that changes all the time is not followed.
    let (mut count, mut wrote) = (1, None::<Instant>);
    chat.nvim.poll("the watch", |nvim| {
        let path = nvim.cwd().join("other.txt");
        if wrote.is_none_or(|at| at.elapsed() > Duration::from_millis(500)) {
            count += 1;
            fs::write(&path, format!("{count}\n")).unwrap();
            wrote = Some(Instant::now());
        }
        nvim.buffer_lines(path.to_str().unwrap()) != ["1"]
    });
    chat.nvim.command("buffer a.txt | call setline(2, 'mine')");
    write(&chat, "a.txt", "1\ntwo\n3\n");
    let told = "The lines you changed in a.txt have also changed on disk. Yours are kept; :RatConflicts shows both.";
    chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
    fs::remove_file(chat.path("gone.txt")).unwrap();
    let told = "Deleted on disk: gone.txt. The text is still in the buffer; :write restores it.";
    chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
    chat.nvim.poll_screen("on disk: two");
    assert!(!chat.nvim.messages().contains("Fake agent changed"), "{}", chat.nvim.messages());
    assert!(!chat.nvim.messages().contains("Fake agent deleted"), "{}", chat.nvim.messages());
}

/// Holds (Review): Whoever rejects lines in a buffer with unsaved lines of their own is told that the file keeps them until it is written.
#[test]
fn a_rejection_that_is_not_saved_says_so() {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n4\n").start();
    chat.nvim.command("wincmd t | edit a.txt");
    turn(&mut chat, |chat| write(chat, "a.txt", "1\n2\n3\nfour\n"));
    let path = chat.path("a.txt").to_str().unwrap().to_owned();
    chat.nvim.poll("the change", |nvim| nvim.buffer_lines(&path)[3] == "four");
    chat.nvim.command("call setline(1, 'mine')");
    let told = "Rejected 1 hunk in a.txt (not saved)";
    reject_all(&mut chat, told);
    assert_eq!(disk(&chat, "a.txt"), "1\n2\n3\nfour\n");
    chat.nvim.command("silent write");
    assert_eq!(disk(&chat, "a.txt"), "mine\n2\n3\n4\n");
}

/// Holds (Files): A file whose line ends are not those of its `.editorconfig` takes the agent's writes, through Neovim or on disk: nobody has typed anything.
#[test]
fn an_editorconfig_is_no_typing() {
    for (by_disk, setting, end) in
        [(false, "lf", "\r\n"), (true, "lf", "\r\n"), (false, "crlf", "\n"), (true, "crlf", "\n")]
    {
        let text = ["one", "two", "three", ""].join(end);
        let mut chat = Chat::builder()
            .file(".editorconfig", format!("root = true\n[*]\nend_of_line = {setting}\n"))
            .file("a.txt", text.as_str())
            .in_turn();
        chat.nvim.command("wincmd t | edit a.txt");
        let format = if setting == "lf" { "unix" } else { "dos" };
        chat.nvim.poll("the settings", |nvim| nvim.eval("vim.bo.fileformat") == json!(format));
        let path = chat.path("a.txt");
        if by_disk {
            chat.tool_call(json!({"toolCallId": "c1", "title": "sed", "kind": "execute",
                "status": "in_progress"}));
            write(&chat, "a.txt", &text.replace("two", "TWO"));
            chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed"}));
        } else {
            let read = chat.request("fs/read_text_file", json!({"path": path})).unwrap();
            let text = read["content"].as_str().unwrap().replace("two", "TWO");
            chat.request("fs/write_text_file", json!({"path": path, "content": text})).unwrap();
        }
        let path = path.to_str().unwrap().to_owned();
        chat.nvim.poll("the change", |nvim| nvim.buffer_lines(&path) == ["one", "TWO", "three"]);
        assert!(!chat.nvim.messages().contains("same lines"), "{}", chat.nvim.messages());
        let lines = disk(&chat, "a.txt");
        assert_eq!(lines.lines().collect::<Vec<_>>(), ["one", "TWO", "three"], "{setting}");
    }
}

/// Changes more than white space: quotes, a comma after the last argument, one argument a line, a blank line before `def`.
const FORMATTER: &str = r#"
vim.api.nvim_create_autocmd("BufWritePre", {
  pattern = "*.py",
  callback = function(args)
    local new = {}
    for _, line in ipairs(vim.api.nvim_buf_get_lines(args.buf, 0, -1, true)) do
      line = line:gsub("'", '"')
      local head, first, second = line:match("^(.*%()(%S+), (%S+)%)$")
      if line:find("^def") and #new > 0 and new[#new] ~= "" then
        new[#new + 1] = ""
      end
      vim.list_extend(new, head and { head, "    " .. first .. ",", "    " .. second .. ",", ")" } or { line })
    end
    vim.api.nvim_buf_set_lines(args.buf, 0, -1, true, new)
  end,
})
"#;

fn lines(nvim: &mut Nvim) -> Vec<String> {
    let name = nvim.cwd().join("a.py");
    nvim.buffer_lines(name.to_str().unwrap())
}

/// An agent's turn on an open file, into which the user then types, and which they save: a formatter runs. It is there before us or
/// not.
fn formatted(is_before: bool) -> Chat {
    let mut nvim = Nvim::wide();
    if is_before {
        nvim.lua(FORMATTER, json!([]));
    }
    let mut chat = Chat::builder().neovim(nvim).file("a.py", "x = 'a'\ny = 'b'\nz = 'c'\n").start();
    if !is_before {
        chat.nvim.lua(FORMATTER, json!([]));
    }
    chat.nvim.command("wincmd t | edit a.py");
    let text = "x = 'a'\ny = f('B', 'C')\ndef g(): return 'D'\nz = 'c'\n";
    turn(&mut chat, |chat| write(chat, "a.py", text));
    chat.nvim.poll("the change", |nvim| lines(nvim).len() == 4);
    chat.nvim.input("Gomine = 'e'<Esc>:write<CR>");
    let text = "x = \"a\"\ny = f(\n    \"B\",\n    \"C\",\n)\n\ndef g(): return \"D\"\nz = \"c\"\nmine = \"e\"\n";
    chat.nvim
        .poll("the formatter", |nvim| fs::read_to_string(nvim.cwd().join("a.py")).unwrap() == text);
    chat
}

/// Holds (Review): Lines of an agent that a formatter changes in more than white space stay the agent's: they are rejected and undone.
#[test]
fn what_a_formatter_makes_of_an_agents_lines_is_the_agents() {
    for is_before in [true, false] {
        // What is saved again is formatted again.
        let kept = ["x = \"a\"", "y = \"b\"", "z = \"c\"", "mine = \"e\""];
        let mut chat = formatted(is_before);
        let added = ["y = f(", "    \"B\",", "    \"C\",", ")", "", "def g(): return \"D\""];
        assert_eq!(pending(&mut chat), json!([["a.py", added]]), "{is_before}");
        reject_all(&mut chat, "Rejected 1 hunk in a.py");
        assert_eq!(lines(&mut chat.nvim), kept, "{is_before}");
        let mut chat = formatted(is_before);
        answer(&mut chat, "RatUndo", "Undo \"change it\"?", "Undid the turn in 1 file");
        assert_eq!(lines(&mut chat.nvim), kept, "{is_before}");
    }
}

/// Holds (Changes on disk): An open file that an agent makes binary keeps its text in the buffer, and the user is told in words for them.
#[test]
fn a_buffer_whose_file_becomes_binary_is_told_of_in_words_for_the_user() {
    let mut chat = Chat::builder().file("a.txt", "one\n").start();
    chat.nvim.command("wincmd t | edit a.txt");
    turn(&mut chat, |chat| fs::write(chat.path("a.txt"), b"a\0b\n").unwrap());
    let told = "changed a.txt, but its buffer was not updated: it is not text (it holds NUL bytes)";
    chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
    assert!(!chat.nvim.messages().contains("use another tool"), "{}", chat.nvim.messages());
}
