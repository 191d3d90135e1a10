//! `fs/write_text_file` without unsaved changes.

use std::fs;

use rat_nvim::core::messages::agent::INTERNAL_ERROR;

use super::nvim::Nvim;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// ACP 95.
/// Holds (Writing files): A write changes only the lines that differ, in one undo step, and saves.
#[tokio::test]
async fn a_write_is_a_minimal_saved_edit() {
    let nvim = Nvim::start("write-minimal").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("listen()").await;
    let new = TEN.replace("3\n", "three\n").replace("7\n", "7\n7 and a half\n");
    let written = nvim.write(&path, &new).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), new);
    assert_eq!(nvim.text().await + "\n", new);
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    assert_eq!(nvim.eval("table.concat(seen, ' ')").await, "7-7>8 2-3>3");
    assert_eq!((written.before.content(), written.after.content()), (TEN.to_owned(), new));
    assert_eq!(written.hunks.len(), 2);
    assert!(!written.created);
    nvim.command("undo").await;
    assert_eq!(nvim.text().await + "\n", TEN, "one step");
    nvim.command("redo").await;
    assert!(nvim.text().await.contains("three"));
}

/// Holds (Buffers in unusual states): A write in Insert mode is an undo step beside the user's open one.
#[tokio::test]
async fn a_write_is_a_step_beside_the_users_open_undo_block() {
    let nvim = Nvim::start("write-undo").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("vim.bo.undolevels = 500").await;
    let agent = TEN.replace("2\n", "two\n");
    // While Insert mode lasts the user's undo block is open.
    nvim.type_until("5GA", "vim.api.nvim_get_mode().mode", "i").await;
    nvim.write(&path, &agent).await.unwrap();
    nvim.type_until(" first", "vim.fn.getline(5)", "5 first").await;
    nvim.write(&path, &agent.replace("9\n", "nine\n")).await.unwrap();
    nvim.type_until(" then", "vim.fn.getline(5)", "5 first then").await;
    nvim.type_until("<Esc>", "vim.api.nvim_get_mode().mode", "n").await;
    assert_eq!(nvim.eval("vim.bo.undolevels").await, "500");
    let lines = async || nvim.eval("table.concat(vim.fn.getline(1, '$'), ' ')").await;
    let mut steps = vec![lines().await];
    for _ in 0..4 {
        nvim.command("undo").await;
        steps.push(lines().await);
    }
    let wanted = [
        "1 two 3 4 5 first then 6 7 8 nine 10",
        "1 two 3 4 5 first 6 7 8 nine 10",
        "1 two 3 4 5 first 6 7 8 9 10",
        "1 two 3 4 5 6 7 8 9 10",
        "1 2 3 4 5 6 7 8 9 10",
    ];
    assert_eq!(steps, wanted);
}

/// ACP 95.
/// Holds (Writing files): Marks, cursors and folds stay on their text.
#[tokio::test]
async fn marks_cursors_and_folds_stay_on_their_text() {
    let nvim = Nvim::start("write-marks").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua(
        r#"
        vim.wo.foldmethod = "manual"
        vim.cmd("7,8fold")
        vim.cmd("split")
        vim.api.nvim_win_set_cursor(0, { 9, 0 })
        vim.cmd("wincmd p")
        vim.cmd("5mark a | 6mark B | 1mark c | normal! 6GVj")
        vim.api.nvim_feedkeys(vim.keycode("<Esc>4G"), "nx", false)
        vim.api.nvim_win_set_cursor(0, { 4, 0 })
        _G.ns = vim.api.nvim_create_namespace("test")
        _G.mark = vim.api.nvim_buf_set_extmark(0, ns, 5, 0, { end_col = 1 })
        _G.jumps = #vim.fn.getjumplist()[1]
        "#,
    )
    .await;
    // Lines come before, on and after everything.
    let new = "0\n1\n2\n3\n4 more\n5 more\n6 more\n7\n8\n9\n10\n11\n";
    nvim.write(&path, new).await.unwrap();
    let here = nvim.eval("vim.inspect(vim.api.nvim_win_get_cursor(0))").await;
    assert_eq!(here, "{ 5, 0 }");
    nvim.command("wincmd p").await;
    assert_eq!(nvim.eval("vim.fn.getline('.')").await, "9", "the cursor of the other window");
    nvim.command("wincmd p").await;
    for (mark, line) in [("a", "5 more"), ("B", "6 more"), ("c", "1"), ("<", "6 more"), (">", "7")]
    {
        assert_eq!(nvim.eval(&format!("vim.fn.getline(\"'{mark}\")")).await, line, "'{mark}");
    }
    let mark = nvim.eval("vim.inspect(vim.api.nvim_buf_get_extmark_by_id(0, ns, mark, {}))").await;
    assert_eq!(mark, "{ 6, 0 }");
    let fold = nvim.eval("vim.fn.foldclosed(8) .. '-' .. vim.fn.foldclosedend(8)").await;
    assert_eq!(fold, "8-9");
    assert_eq!(nvim.eval("#vim.fn.getjumplist()[1] - jumps").await, "0");
    assert_eq!(nvim.eval("#vim.api.nvim_list_wins()").await, "2");
}

#[tokio::test]
async fn a_hidden_buffer_is_written_and_no_other_buffer_touched() {
    let nvim = Nvim::start("write-hidden").await;
    let path = nvim.edit("hidden.txt", TEN).await;
    nvim.edit("shown.txt", "shown\n").await;
    nvim.command("call setline(1, 'unsaved')").await;
    let before = nvim.eval("vim.fn.win_getid() .. ' ' .. vim.fn.bufnr('#')").await;
    nvim.write(&path, "1\n").await.unwrap();
    assert_eq!(nvim.disk("hidden.txt"), "1\n");
    assert_eq!(nvim.disk("shown.txt"), "shown\n");
    assert_eq!(nvim.text().await, "unsaved");
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    assert_eq!(nvim.eval("vim.fn.win_getid() .. ' ' .. vim.fn.bufnr('#')").await, before);
}

/// Holds (Writing files): A write during typing is an undo step of its own and leaves the word being typed.
#[tokio::test]
async fn typing_goes_on_in_mid_word() {
    let nvim = Nvim::start("write-insert").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.read(&path).await.unwrap();
    nvim.lua("_G.formatted = 0").await;
    nvim.command("autocmd BufWritePre * lua formatted = formatted + 1").await;
    nvim.type_until("5Gohalf", "vim.fn.getline('.')", "half").await;
    let written = nvim.write(&path, &TEN.replace("2\n", "1.5\ntwo\n")).await.unwrap();
    assert_eq!(written.hunks.len(), 1);
    assert_eq!(nvim.eval("vim.api.nvim_get_mode().mode").await, "i");
    nvim.type_until(" a word", "vim.fn.getline('.')", "half a word").await;
    nvim.type_until("<Esc>", "vim.api.nvim_get_mode().mode", "n").await;
    let text = "1\n1.5\ntwo\n3\n4\n5\nhalf a word\n6\n7\n8\n9\n10";
    assert_eq!(nvim.text().await, text);
    assert_eq!(nvim.disk("a.txt"), TEN.replace("2\n", "1.5\ntwo\n"), "what is typed stays unsaved");
    nvim.command("undo").await;
    assert_eq!(nvim.text().await, text.replace("half a word", "half"));
    nvim.command("undo").await;
    assert_eq!(nvim.text().await, text.replace("half a word", "half").replace("1.5\ntwo", "2"));
    nvim.command("undo").await;
    assert_eq!(nvim.text().await + "\n", TEN);
    assert_eq!(nvim.eval("formatted").await, "0");
}

/// Holds (Writing files): No formatter runs on save while the user is in Insert mode.
#[tokio::test]
async fn no_formatter_runs_where_the_user_types() {
    let nvim = Nvim::start("write-insert-format").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command("autocmd BufWritePre * call append('$', 'formatted')").await;
    nvim.type_until("i", "vim.api.nvim_get_mode().mode", "i").await;
    nvim.write(&path, "1\n").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "1\n");
    nvim.type_until("<Esc>", "vim.api.nvim_get_mode().mode", "n").await;
    nvim.write(&path, "2\n").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "2\nformatted\n");
}

/// Holds (Writing files): What a formatter changes on save is part of the agent's edit.
#[tokio::test]
async fn what_a_formatter_changes_is_part_of_the_agents_edit() {
    let nvim = Nvim::start("write-format").await;
    let path = nvim.edit("a.txt", "a\nb\n").await;
    nvim.command("autocmd BufWritePre * %s/ *$//e").await;
    let written = nvim.write(&path, "a\nB   \n").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "a\nB\n");
    assert_eq!(written.after.content(), "a\nB\n");
    assert_eq!(written.hunks[0].lines, ["B"]);
    nvim.command("undo").await;
    assert_eq!(nvim.text().await, "a\nb", "one step with the formatter's");
    nvim.command("redo | write").await;
    // The agent goes on from what it sent.
    nvim.write(&path, "A\nB   \n").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "A\nB\n");
}

/// Holds (Writing files): A write whose save fails is undone.
#[tokio::test]
async fn a_save_that_fails_is_taken_back() {
    let nvim = Nvim::start("write-fails").await;
    let path = nvim.edit("a.txt", "a\nb\n").await;
    for formatter in ["", "call append('$', 'formatted') | "] {
        nvim.command(&format!("autocmd! | autocmd BufWritePre * {formatter}throw 'not today'"))
            .await;
        let error = nvim.write(&path, "a\nB\nc\n").await.unwrap_err();
        assert_eq!(error.code(), INTERNAL_ERROR);
        assert!(error.to_string().contains("not today"), "{error}");
        assert_eq!(nvim.text().await, "a\nb");
        assert_eq!(nvim.disk("a.txt"), "a\nb\n");
        assert_eq!(nvim.eval("vim.bo.modified").await, "false");
        nvim.asks_nothing().await;
    }
    nvim.command("autocmd!").await;
    nvim.write(&path, "a\nB\n").await.unwrap();
    assert_eq!(nvim.disk("a.txt"), "a\nB\n");
}

/// Holds (Buffers in unusual states): Buffers that are 'readonly' or not 'modifiable' are left alone.
#[tokio::test]
async fn locked_buffers_are_left_alone() {
    let nvim = Nvim::start("write-locked").await;
    let path = nvim.edit("a.txt", "a\n").await;
    for option in ["readonly", "modifiable"] {
        nvim.command(&format!("setlocal {option}!")).await;
        let error = nvim.write(&path, "b\n").await.unwrap_err().to_string();
        assert!(error.contains(option), "{error}");
        assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("a".into(), "a\n".into()));
        nvim.command(&format!("setlocal {option}!")).await;
    }
}

/// ACP 94.
/// Holds (Writing files): A file that is not open is written without a buffer, in a new folder if need be.
#[tokio::test]
async fn files_that_are_not_open_are_written_with_their_folders_and_no_buffer() {
    let nvim = Nvim::start("write-closed").await;
    let path = nvim.path("new/deep/a.txt");
    let written = nvim.write(&path, "a\n").await.unwrap();
    assert!(written.created && written.before.is_empty());
    assert_eq!(nvim.disk("new/deep/a.txt"), "a\n");
    let buffers = nvim.eval("#vim.api.nvim_list_bufs()").await;
    let crlf = nvim.put("crlf.txt", "a\r\nb\r\n");
    let written = nvim.write(&crlf, "a\nB\n").await.unwrap();
    assert_eq!(nvim.disk("crlf.txt"), "a\r\nB\r\n");
    assert!(!written.created);
    assert_eq!(nvim.eval("#vim.api.nvim_list_bufs()").await, buffers);
    // Changed by someone else since: merged, or refused.
    nvim.put("crlf.txt", "a\r\nB\r\nc\r\n");
    nvim.write(&crlf, "A\nB\n").await.unwrap();
    assert_eq!(nvim.disk("crlf.txt"), "A\r\nB\r\nc\r\n");
    nvim.put("crlf.txt", "other\r\nB\r\nc\r\n");
    let error = nvim.write(&crlf, "mine\nB\n").await.unwrap_err().to_string();
    assert!(error.contains("line 1 changed since you read it"), "{error}");
    assert_eq!(nvim.disk("crlf.txt"), "other\r\nB\r\nc\r\n");
}

#[tokio::test]
async fn a_buffer_without_a_file_yet_is_written() {
    let nvim = Nvim::start("write-new").await;
    nvim.open("new.txt").await;
    let written = nvim.write(&nvim.path("new.txt"), "a\nb\n").await.unwrap();
    assert!(written.created);
    assert_eq!((nvim.text().await, nvim.disk("new.txt")), ("a\nb".into(), "a\nb\n".into()));
    nvim.write(&nvim.path("new.txt"), "").await.unwrap();
    assert_eq!(nvim.disk("new.txt"), "");
    nvim.write(&nvim.path("new.txt"), "\n").await.unwrap();
    assert_eq!(nvim.disk("new.txt"), "\n");
}

/// Holds (Writing files): Writing the text that is there changes nothing.
#[tokio::test]
async fn a_text_that_is_there_changes_nothing() {
    let nvim = Nvim::start("write-equal").await;
    let path = nvim.edit("a.txt", TEN).await;
    let facts = |name: &str| fs::metadata(nvim.path(name)).unwrap().modified().unwrap();
    let (time, tick) = (facts("a.txt"), nvim.eval("vim.b.changedtick").await);
    let written = nvim.write(&path, TEN).await.unwrap();
    assert!(written.hunks.is_empty());
    assert_eq!(nvim.eval("vim.b.changedtick").await, tick);
    assert_eq!(facts("a.txt"), time);
    let closed = nvim.put("closed.txt", TEN);
    let time = facts("closed.txt");
    assert!(nvim.write(&closed, TEN).await.unwrap().hunks.is_empty());
    assert_eq!(facts("closed.txt"), time);
}

#[tokio::test]
async fn the_shape_of_a_file_is_kept() {
    let nvim = Nvim::start("write-shape").await;
    let check = async |name: &str, bytes: &[u8], sent: &str, written: &[u8]| {
        let path = nvim.edit(name, bytes).await;
        nvim.write(&path, sent).await.unwrap();
        let disk = fs::read(&path).unwrap();
        assert_eq!(disk, written, "{name}: {:?}", String::from_utf8_lossy(&disk));
    };
    check("crlf", b"a\r\nb\r\n", "a\nB\n", b"a\r\nB\r\n").await;
    check("bom", b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n").await;
    check("noeol", b"a\nb", "a\nB", b"a\nB").await;
    check("eol added", b"a\nb", "a\nb\n", b"a\nb\n").await;
    check("eol removed", b"a\nb\n", "a\nb", b"a\nb").await;
    check("latin1", b"caf\xe9\n", "café au lait\n", b"caf\xe9 au lait\n").await;
    check("mixed", b"a\nb\r\n", "A\nb\r\n", b"A\nb\r\n").await;
    assert_eq!(nvim.eval("vim.bo.fixendofline").await, "true");
    let path = nvim.edit("latin1 without", b"\xe9\n").await;
    let error = nvim.write(&path, "€\n").await.unwrap_err();
    assert!(error.to_string().contains("fileencoding"), "{error}");
    assert_eq!(nvim.text().await, "é");
    assert_eq!(fs::read(&path).unwrap(), b"\xe9\n");
}
