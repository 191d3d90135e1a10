//! `@files` in a project of a hundred thousand: offered for each key, in small pieces of work for Neovim, in little memory. How
//! fast they are found is measured by `bench/project_files.rs`.

use crate::alone;
use crate::support::{Amount, Chat, Held, Nvim, Work};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::path::Path;

const FOLDERS: usize = 400;
const FILES_IN_EACH: usize = 250;
/// The most work that a key may have to wait for, of one answer.
const MOST: Amount = Amount { steps: 250_000, calls: 1_500, bytes: 110_000 };
/// Neovim and the binary may take this much memory together, in bytes.
const MEMORY: u64 = 50 << 20;
/// So many paths are offered at most.
const OFFERED: u64 = 200;
const ROUNDS: usize = 3;

/// Counts the paths of each answer.
const SETUP: &str = r#"
    Found = {}
    local files = require("rat.complete.files")
    local found = files.found
    function files.found(folder, typed, paths)
      found(folder, typed, paths)
      Found[typed] = #paths
    end"#;

fn make_files(root: &Path) {
    for folder in 0..FOLDERS {
        let folder = root.join(format!("src/module_{folder}/part_{}", folder % 7));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES_IN_EACH {
            fs::write(folder.join(format!("file_with_a_name_{file}.lua")), "").unwrap();
        }
    }
}

/// What both hold, in bytes; `None` where that cannot be read.
fn memory(nvim: &mut Nvim) -> Option<u64> {
    Some(Held::by(nvim.pid())?.memory + Held::by(nvim.binary())?.memory)
}

/// Types a name in the prompt and waits for the files of each key.
fn type_a_name(chat: &mut Chat) -> Work {
    chat.nvim.input("<Esc>S@");
    chat.nvim.poll("the menu", |nvim| nvim.eval("vim.fn.pumvisible()") == json!(1));
    chat.nvim.lua("Found = {}", json!([]));
    Work::begin(&mut chat.nvim);
    let mut typed = String::new();
    for key in "src/mod77file99".chars() {
        typed.push(key);
        chat.nvim.input(&key.to_string());
        let answered = format!("Found[{typed:?}]");
        let offered = chat.nvim.poll_for("an answer", |nvim| nvim.eval(&answered).as_u64());
        assert!((1..=OFFERED).contains(&offered), "{offered} paths for {typed}");
    }
    chat.nvim.poll_screen("module_77/part_0/file");
    Work::stop(&mut chat.nvim)
}

fn play(prepare: impl FnOnce(&Path)) {
    let _alone = alone();
    let nvim = Nvim::wide();
    make_files(nvim.cwd());
    prepare(nvim.cwd());
    // Checkpoints would list the files, too.
    let mut chat = Chat::builder().neovim(nvim).setup(json!({"review": "off"})).start();
    chat.nvim.lua(SETUP, json!([]));
    Work::prepare(&mut chat.nvim);
    let before = memory(&mut chat.nvim);
    chat.nvim.command("RatSend");
    Work::begin(&mut chat.nvim);
    chat.nvim.input("i");
    chat.nvim.poll("the list", |nvim| nvim.eval("Found['']") == json!(OFFERED));
    let mut works = vec![Work::stop(&mut chat.nvim)];
    works.extend((0..ROUNDS).map(|_| type_a_name(&mut chat)));
    let grown =
        memory(&mut chat.nvim).zip(before).map(|(after, before)| after.saturating_sub(before));
    for work in works {
        let _ = writeln!(std::io::stderr(), "files are offered: {work}");
        work.expect_pieces_within("files are offered", MOST);
    }
    let _ = writeln!(std::io::stderr(), "{grown:?} bytes more");
    assert!(grown.is_none_or(|bytes| bytes <= MEMORY), "{grown:?} bytes more");
}

/// Holds (Prompts and keys): Of a hundred thousand files 200 are offered for each key, in small pieces of work for Neovim.
#[test]
fn of_a_hundred_thousand_files_a_few_are_offered_for_each_key() {
    play(|_| {});
}

/// Holds (Prompts and keys): Of a hundred thousand files 200 are offered for each key, in small pieces of work for Neovim.
#[test]
fn the_same_in_a_repository_that_tracks_them() {
    play(|root| {
        for arguments in [&["init", "-q"][..], &["add", "."]] {
            let mut git = std::process::Command::new("git");
            let ended = git.args(arguments).current_dir(root).status();
            assert!(ended.unwrap().success());
        }
    });
}
