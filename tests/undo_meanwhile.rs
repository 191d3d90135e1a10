//! What others do to files while the user is asked about an undo or a merge, or between an undo and its redo, in real Neovim.

use std::fs;

use crate::support::{Chat, Nvim};
use crate::undo::{answer, in_project, poll_open, ravage, turn_with_command};
use crate::worktrees::{change, merge, read, start, worktree, write};
use serde_json::json;

/// A picker of the user's that only keeps what it was asked.
const PICKER: &str = r"
    _G.asked = {}
    vim.ui.select = function(items, opts, on_choice)
      local choose = function(index) on_choice(items[index], index) end
      table.insert(asked, { prompt = opts.prompt, choose = choose })
    end";

/// Chooses the first answer to every question that a command leads to, after doing what changes a file meanwhile. Returns the
/// questions.
fn answer_late(
    chat: &mut Chat,
    command: &str,
    meanwhile: &mut [&mut dyn FnMut(&mut Nvim)],
    message: &str,
) -> Vec<String> {
    chat.nvim.lua(PICKER, json!([]));
    chat.nvim.command(command);
    for (number, change) in meanwhile.iter_mut().enumerate() {
        chat.nvim.poll("the question", |nvim| nvim.eval("#asked") == json!(number + 1));
        change(&mut chat.nvim);
        chat.nvim.lua("asked[#asked].choose(1)", json!([]));
    }
    chat.nvim.poll(message, |nvim| nvim.messages().contains(message));
    let asked =
        chat.nvim.lua("return vim.tbl_map(function(it) return it.prompt end, asked)", json!([]));
    asked.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// Holds (Review): If files change between the question and the answer, what would be done then is asked about, and nothing is done.
#[test]
fn a_plan_that_files_have_changed_is_a_new_question() {
    let mut chat = in_project();
    chat.nvim.command("wincmd t | edit open.txt");
    turn_with_command(&mut chat, ravage);
    poll_open(&mut chat, "TWO");
    let (closed, open) = (chat.path("src/3.txt"), chat.path("open.txt"));
    let other = chat.path("src/5.txt");
    let is_as_before = || assert_eq!(fs::read_to_string(&other).unwrap(), "one\nTWO 5\nthree\n");
    let rewrite = |text: &str| {
        is_as_before();
        fs::write(&closed, text).unwrap();
    };
    let asked = answer_late(
        &mut chat,
        "RatUndo",
        &mut [
            &mut |_| rewrite("one\nTWO 3\nthree\nmine\n"),
            // It stays a merge.
            &mut |_| rewrite("one\nTWO 3\nthree\nmine\nand this\n"),
            &mut |nvim| {
                is_as_before();
                nvim.command("call appendbufline(bufnr('open.txt'), 3, 'typed')");
            },
            &mut |_| is_as_before(),
        ],
        "Undid the turn",
    );
    let again = "Files have changed. Undo \"change it all\"? 28 files";
    assert!(asked[0].starts_with("Undo \"change it all\"? 28 files"), "{asked:?}");
    assert!(asked[1..].iter().all(|it| it.starts_with(again)), "{asked:?}");
    let lines = chat.nvim.buffer_lines(open.to_str().unwrap());
    assert_eq!(lines, ["one", "two", "three", "typed"]);
    let text = fs::read_to_string(&closed).unwrap();
    assert_eq!(text, "one\ntwo 3\nthree\nmine\nand this\n");
    assert_eq!(fs::read_to_string(&other).unwrap(), "one\ntwo 5\nthree\n");
}

/// Holds (Review): What the user wrote into a closed file while a turn was undone is not part of it once it is redone.
#[test]
fn a_redo_takes_nothing_for_the_turns() {
    let mut chat = Chat::builder().file("a.txt", "1\n2\n3\n4\n").start();
    turn_with_command(&mut chat, |root| fs::write(root.join("a.txt"), "1\n2\n3\nFOUR\n").unwrap());
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    fs::write(chat.path("a.txt"), "mine\n2\n3\n4\n").unwrap();
    answer(&mut chat, "RatRedo", "Redo \"change it all\"?", "Redid the turn");
    assert_eq!(fs::read_to_string(chat.path("a.txt")).unwrap(), "mine\n2\n3\nFOUR\n");
    chat.nvim.command("RatReject all");
    chat.nvim.poll("rejected", |nvim| nvim.messages().contains("Rejected 1 hunk"));
    assert_eq!(fs::read_to_string(chat.path("a.txt")).unwrap(), "mine\n2\n3\n4\n");
}

/// Holds (Several chats): If a file changes between the question and the answer, what would be merged then is asked about.
#[test]
fn a_merge_that_files_have_changed_is_a_new_question() {
    let mut chat = start();
    change(&mut chat, |root| write(root, "src/1.txt", "one\nTWO\nthree\n"));
    let root = worktree(&mut chat);
    let project = chat.nvim.cwd().to_owned();
    let is_as_before = || {
        let text = fs::read_to_string(project.join("src/1.txt")).unwrap();
        assert_eq!(text, "one\ntwo 1\nthree\n");
    };
    let asked = answer_late(
        &mut chat,
        "RatWorktree merge",
        &mut [
            &mut |_| {
                write(&root, "src/1.txt", "one\nLATER\nthree\n");
                write(&root, "src/2.txt", "one\nLATER\nthree\n");
            },
            &mut |_| {
                is_as_before();
                write(&root, "src/1.txt", "one\nLATEST\nthree\n");
            },
            &mut |_| is_as_before(),
        ],
        "Merged 2 files",
    );
    let again = "Files have changed. Merge project-1? 2 files";
    assert!(asked[0].starts_with("Merge project-1? 1 file"), "{asked:?}");
    assert!(asked[1..].iter().all(|it| it.starts_with(again)), "{asked:?}");
    assert_eq!(read(&chat, "src/1.txt"), "one\nLATEST\nthree\n");
    assert_eq!(read(&chat, "src/2.txt"), "one\nLATER\nthree\n");
}

/// Holds (Several chats): What the user had changed in a closed file is not part of what is merged into it: rejecting that leaves it.
#[test]
fn what_the_user_has_changed_is_not_rejected_with_a_merge() {
    let mut chat = start();
    change(&mut chat, |root| write(root, "src/1.txt", "one\ntwo 1\nTHREE\n"));
    let project = chat.nvim.cwd().to_owned();
    write(&project, "src/1.txt", "mine\ntwo 1\nthree\n");
    merge(&mut chat, "Merge project-1? 1 file", "Merged 1 file");
    assert_eq!(read(&chat, "src/1.txt"), "mine\ntwo 1\nTHREE\n");
    chat.nvim.command("RatReject all");
    chat.nvim.poll("rejected", |nvim| {
        fs::read_to_string(nvim.cwd().join("src/1.txt")).unwrap() == "mine\ntwo 1\nthree\n"
    });
}

/// A language server of the project that keeps what it is told of files.
const SERVER: &str = r#"
    _G.told = {}
    vim.lsp.start({
      name = "fake",
      root_dir = vim.fn.getcwd(),
      cmd = function()
        return {
          request = function(method, _, callback)
            vim.schedule(function() callback(nil, method == "initialize" and { capabilities = {} } or nil) end)
            return true, 1
          end,
          notify = function(method, params)
            if method == "workspace/didChangeWatchedFiles" then
              for _, change in ipairs(params.changes) do
                told[vim.fs.basename(vim.uri_to_fname(change.uri))] = change.type
              end
            end
            return true
          end,
          is_closing = function() return false end,
          terminate = function() end,
        }
      end,
    })"#;

/// Holds (Review): Language servers are told of files that nobody has open when an undo, a redo or a rejection changes them.
#[test]
fn language_servers_are_told_of_what_is_put_back() {
    let mut chat = Chat::builder().file("changed.txt", "one\n").file("gone.txt", "1\n").start();
    chat.nvim.lua(SERVER, json!([]));
    chat.nvim.poll("the server", |nvim| {
        nvim.eval("#vim.lsp.get_clients({ name = 'fake' })") == json!(1)
    });
    // LSP's numbers for what was created, changed and deleted.
    let expect = |chat: &mut Chat, what: &str, [changed, gone, new]: [u8; 3]| {
        let wanted = json!({"changed.txt": changed, "gone.txt": gone, "new.txt": new});
        chat.nvim.poll(what, |nvim| nvim.eval("told") == wanted);
        chat.nvim.lua("_G.told = {}", json!([]));
    };
    turn_with_command(&mut chat, |root| {
        fs::write(root.join("changed.txt"), "ONE\n").unwrap();
        fs::remove_file(root.join("gone.txt")).unwrap();
        fs::write(root.join("new.txt"), "new\n").unwrap();
    });
    expect(&mut chat, "the turn", [2, 3, 1]);
    answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn");
    expect(&mut chat, "the undo", [2, 1, 3]);
    answer(&mut chat, "RatRedo", "Redo \"change it all\"?", "Redid the turn");
    expect(&mut chat, "the redo", [2, 3, 1]);
    chat.nvim.command("RatReject all");
    expect(&mut chat, "the rejection", [2, 1, 3]);
}

/// Holds (Review): Turns of commands that are undone one after the other leave an open file on disk as it was, too.
#[test]
fn turns_are_undone_one_after_the_other() {
    let text = |upper: &[usize]| -> String {
        let line = |at: usize| if upper.contains(&at) { "LINE" } else { "line" };
        (0..20).map(|at| format!("{} {at}\n", line(at))).collect()
    };
    let mut chat = Chat::builder().file("a.txt", text(&[])).file("b.txt", text(&[])).start();
    chat.nvim.command("wincmd t | edit a.txt");
    let path = chat.path("a.txt").to_str().unwrap().to_owned();
    for round in 0..3 {
        turn_with_command(&mut chat, |root| {
            for name in ["a.txt", "b.txt"] {
                let now = fs::read_to_string(root.join(name)).unwrap();
                assert_eq!(now, text(&[]), "{round}: {name}");
                fs::write(root.join(name), text(&[round * 2])).unwrap();
            }
        });
        let wanted = text(&[round * 2]);
        chat.nvim.poll("the change", |nvim| nvim.buffer_lines(&path).join("\n") + "\n" == wanted);
        chat.nvim.command("messages clear");
        answer(&mut chat, "RatUndo", "Undo \"change it all\"?", "Undid the turn in 2 files");
        assert_eq!(chat.nvim.buffer_lines(&path).join("\n") + "\n", text(&[]), "{round}");
        assert_eq!(fs::read_to_string(chat.path("a.txt")).unwrap(), text(&[]), "{round}");
    }
}
