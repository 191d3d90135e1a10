//! Changes that come while a command of the user's has noted lines by their numbers: they wait for its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::{DocumentError, WriteRequest};

use super::modes::COUNT;
use super::nvim::{Nvim, author, within};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// The keys that begin a command, what says that it has begun, and the keys that end it. Without a selection, an
/// operator and the like each of them changed other lines than it was typed for.
const COMMANDS: [(&str, &str, &str); 19] = [
    (":3,5s/$/X/c<CR>", "r?", "yyy"),
    (":3,5s/$/X/c<CR>y", "r?", "a"),
    (":3,5g/./s/$/X/c<CR>", "r?", "yyy"),
    (":argdo 3,5s/$/X/c<CR>", "r?", "yyy"),
    (":cdo s/$/X/c<CR>", "r?", "yy"),
    (":3,5d", "c", "<CR>"),
    (":/4/;6normal ix", "c", "<CR>"),
    (":call setline(4, input(''))<CR>ab", "c", "c<CR>"),
    (":4append<CR>X<CR>", "c", ".<CR>"),
    ("5G<C-v>jjI", "i", "XY<Esc>"),
    ("5G<C-v>jjIX", "i", "Y<Esc>"),
    ("5G<C-v>jjA", "i", "X<Esc>"),
    ("5G<C-v>jj$A", "i", "X<Esc>"),
    ("5G<C-v>jjc", "i", "X<Esc>"),
    ("5G<C-v>jj<C-g>X", "i", "Y<Esc>"),
    ("3Gd/7", "c", "<CR>"),
    ("3GV/7", "c", "<CR>d"),
    ("7Gd?4", "c", "<CR>"),
    ("5Go<C-n>", "ic", "<C-n><C-e>x<Esc>"),
];

/// Waits until Neovim is in a mode. Where it holds calls back in that mode by itself, `true`.
async fn poll_mode(nvim: &Nvim, wanted: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let (mode, blocked) = nvim.mode().await;
        if mode == wanted || (wanted == "c" && mode == "V") {
            return blocked;
        }
        assert!(Instant::now() < end, "the mode is {mode:?}, not {wanted:?}");
        if blocked && mode.starts_with('r') {
            nvim.keys("<CR>").await;
        }
        tokio::task::yield_now().await;
    }
}

async fn edit(nvim: &Nvim, name: &str) -> std::path::PathBuf {
    let path = nvim.edit(name, TEN).await;
    nvim.lua(
        "vim.cmd('set nomore cmdheight=3 | args %')
        vim.fn.setqflist({ { bufnr = vim.fn.bufnr(), lnum = 4 }, { bufnr = vim.fn.bufnr(), lnum = 6 } })
        refused = 0",
    )
    .await;
    path
}

/// Holds (Buffers in unusual states): Commands that hold line numbers (`:s///c`, a typed range) change the lines they were typed for.
#[tokio::test]
async fn commands_change_the_lines_they_were_typed_for() {
    for (number, (begin, mode, end)) in COMMANDS.into_iter().enumerate() {
        let nvim = Nvim::start(&format!("line-numbers-{number}")).await;
        nvim.lua("require('rat.document').start()").await;
        nvim.lua(COUNT).await;
        edit(&nvim, "alone.txt").await;
        nvim.keys(&format!("{begin}{end}")).await;
        poll_mode(&nvim, "n").await;
        let wanted = nvim.text().await.replacen("1\n2\n", "0\n1\ntwo\n", 1);
        assert_ne!(wanted + "\n", agents(), "{begin}");
        for by_disk in [false, true] {
            let name = if by_disk { "disk.txt" } else { "protocol.txt" };
            let path = edit(&nvim, name).await;
            nvim.files.record_baseline(&path).await.unwrap();
            nvim.keys(begin).await;
            let blocked = poll_mode(&nvim, mode).await;
            let files = Arc::clone(&nvim.files);
            let work = if by_disk {
                std::fs::write(&path, agents()).unwrap();
                tokio::spawn(async move { files.disk_changed(&path, &author()).await.map(drop) })
            } else {
                tokio::spawn(async move { files.write(request(path)).await.map(drop) })
            };
            if !blocked {
                nvim.wait_for(&format!("refused > 1 -- {begin} {name}"), "true").await;
            }
            nvim.keys(end).await;
            poll_mode(&nvim, "n").await;
            within(work).await.unwrap().unwrap();
            let alone = nvim.eval("table.concat(vim.fn.getbufline('alone.txt', 1, '$'), '\\n')");
            let wanted = alone.await.replacen("1\n2\n", "0\n1\ntwo\n", 1);
            assert_eq!(nvim.text().await, wanted, "{begin}, {name}");
        }
    }
}

fn agents() -> String {
    TEN.replace("1\n2\n", "0\n1\ntwo\n")
}

fn request(path: std::path::PathBuf) -> WriteRequest {
    WriteRequest {
        by: author(),
        path,
        content: agents(),
        base: None,
        dirty: WriteDirty::default(),
        repeats: false,
        consent: Consent::NotNeeded,
    }
}

/// Holds (Buffers in unusual states): Commands whose place moves with the text delay no write.
#[tokio::test]
async fn what_moves_with_its_lines_holds_nothing_up() {
    let commands = [
        ("5Gcw", "i", "X<Esc>", "X"),
        ("5G3iX", "i", "Y<Esc>", "XYXYXY5"),
        ("5GVjc", "i", "X<Esc>", "X"),
        ("5G/8", "c", "<CR>iX<Esc>", "X8"),
        ("5G:.,+1s/5/X", "c", "<CR>", "X"),
        ("5G:s/5/X3", "c", "<CR>", "X3"),
    ];
    for (number, (begin, mode, end, line)) in commands.into_iter().enumerate() {
        let nvim = Nvim::start(&format!("line-numbers-free-{number}")).await;
        nvim.lua("require('rat.document').start()").await;
        nvim.lua(COUNT).await;
        // A block was selected before: that says nothing about now.
        nvim.command("execute \"normal! \\<C-v>j\\<Esc>\"").await;
        let path = edit(&nvim, "a.txt").await;
        nvim.keys(begin).await;
        poll_mode(&nvim, mode).await;
        nvim.write_request(request(path)).await.unwrap();
        assert_eq!(nvim.eval("refused").await, "0", "{begin}");
        nvim.keys(end).await;
        poll_mode(&nvim, "n").await;
        assert_eq!(nvim.eval("vim.fn.getline('.')").await, line, "{begin}");
    }
}

/// Holds (Buffers in unusual states): A write that a command holds up too long is an error that says how to end the command.
#[tokio::test]
async fn a_command_that_does_not_end_is_an_error_that_says_so() {
    let nvim = Nvim::start("line-numbers-held").await;
    nvim.lua("require('rat.document').start()").await;
    let path = edit(&nvim, "a.txt").await;
    nvim.keys("5G<C-v>jjI").await;
    poll_mode(&nvim, "i").await;
    let error = nvim.write_request(request(path)).await.unwrap_err();
    assert!(
        matches!(error, DocumentError::Held(_)) && error.to_string().contains("<Esc>"),
        "{error}"
    );
    assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (TEN.into(), TEN.into()));
}
