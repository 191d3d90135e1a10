//! Other people's autocommands around a write, and saves that fail.

use std::fs;
use std::sync::Arc;

use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::{AgentChange, DocumentError, ReadRequest, WriteRequest};
use tokio::task::JoinHandle;

use super::nvim::{Nvim, author, session, within};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

fn write(nvim: &Nvim, content: &str) -> JoinHandle<Result<AgentChange, DocumentError>> {
    let (path, content, files) = (nvim.path("a.txt"), content.to_owned(), Arc::clone(&nvim.files));
    let request = WriteRequest {
        by: author(),
        path,
        content,
        base: None,
        dirty: WriteDirty::default(),
        repeats: false,
        consent: Consent::NotNeeded,
    };
    tokio::spawn(async move { files.write(request).await })
}

fn read(nvim: &Nvim) -> JoinHandle<Result<String, DocumentError>> {
    let (path, files) = (nvim.path("a.txt"), Arc::clone(&nvim.files));
    let request = ReadRequest { session: session(), path, line: None, limit: None };
    tokio::spawn(async move { files.read(request).await })
}

/// Has the first save wait, with events going on, until [`go`]; `_G.waits` counts saves.
async fn wait_in_saves(nvim: &Nvim, then: &str) {
    nvim.lua(&format!(
        "_G.waits, _G.go = 0, false
         vim.api.nvim_create_autocmd('BufWritePre', {{ callback = function()
           waits = waits + 1
           if waits == 1 then vim.wait(20000, function() return _G.go end, 1) end
           {then}
         end }})"
    ))
    .await;
}

async fn go(nvim: &Nvim) {
    nvim.lua("_G.go = true").await;
}

/// Holds (Buffers in unusual states): While a formatter waits, other requests wait and nothing is lost.
#[tokio::test]
async fn a_formatter_that_waits_lets_others_wait_and_loses_nothing() {
    let nvim = Nvim::start("autocommands-wait").await;
    nvim.edit("a.txt", TEN).await;
    let other = nvim.put("closed.txt", "1\n");
    wait_in_saves(&nvim, "vim.cmd([[silent! keeppatterns %s/ *$//]])").await;
    let first = write(&nvim, &TEN.replace("2\n", "two  \n"));
    nvim.type_until("", "waits", "1").await;
    let second = write(&nvim, &TEN.replace("2\n", "two\n").replace("9\n", "nine\n"));
    let third = read(&nvim);
    nvim.write(&other, "2\n").await.unwrap();
    assert!(!first.is_finished() && !second.is_finished() && !third.is_finished());
    nvim.keys("5Gccuser").await;
    go(&nvim).await;
    let written = within(first).await.unwrap().unwrap();
    assert!(written.after.content().contains("two\n"), "formatted");
    within(second).await.unwrap().unwrap();
    within(third).await.unwrap().unwrap();
    nvim.type_until("<Esc>", "vim.api.nvim_get_mode().mode", "n").await;
    let text = TEN.replace("2\n", "two\n").replace("9\n", "nine\n");
    assert_eq!(nvim.text().await + "\n", text.replace("5\n", "user\n"));
    assert_eq!(nvim.read(&nvim.path("a.txt")).await.unwrap(), text.replace("5\n", "user\n"));
    assert_eq!(nvim.disk("a.txt"), text, "the user saves what the user typed");
}

/// Holds (Buffers in unusual states): While a formatter waits, other requests wait and nothing is lost.
#[tokio::test]
async fn a_formatter_that_is_a_program_lets_others_wait_and_loses_nothing() {
    let nvim = Nvim::start("autocommands-system").await;
    nvim.edit("a.txt", TEN).await;
    // It reads until somebody writes, and Neovim hears nobody meanwhile.
    nvim.lua("assert(vim.fn.system({ 'mkfifo', 'pipe' }) == '')").await;
    nvim.command("autocmd BufWritePre * ++once call append(0, trim(system(['cat', 'pipe'])))")
        .await;
    let first = write(&nvim, &TEN.replace("2\n", "two\n"));
    let second = write(&nvim, &TEN.replace("2\n", "two\n").replace("9\n", "nine\n"));
    let third = read(&nvim);
    let pipe = nvim.path("pipe");
    within(tokio::task::spawn_blocking(move || fs::write(pipe, "formatted\n")))
        .await
        .unwrap()
        .unwrap();
    within(first).await.unwrap().unwrap();
    within(second).await.unwrap().unwrap();
    let text = "formatted\n".to_owned() + &TEN.replace("2\n", "two\n").replace("9\n", "nine\n");
    assert_eq!(within(third).await.unwrap().unwrap(), text);
    assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (text.clone(), text));
}

/// Holds (Buffers in unusual states): What the user typed survives a save that fails.
#[tokio::test]
async fn what_the_user_typed_outlives_a_save_that_fails() {
    let nvim = Nvim::start("autocommands-fail").await;
    nvim.edit("a.txt", TEN).await;
    let then = "vim.api.nvim_buf_set_lines(0, -1, -1, true, { 'formatted' }) error('not today')";
    wait_in_saves(&nvim, then).await;
    let first = write(&nvim, &TEN.replace("2\n", "1.5\ntwo\n"));
    nvim.type_until("", "waits", "1").await;
    // Heard as soon as the save is over.
    nvim.keys("6Gccuser").await;
    go(&nvim).await;
    let error = within(first).await.unwrap().unwrap_err().to_string();
    assert!(error.contains("was not written") && error.contains("not today"), "{error}");
    nvim.type_until("<Esc>", "vim.api.nvim_get_mode().mode", "n").await;
    assert_eq!(nvim.disk("a.txt"), TEN);
    assert_eq!(nvim.text().await + "\n", TEN.replace("5\n", "user\n"));
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
}

/// Holds (Buffers in unusual states): What autocommands change or break after a save is told apart from the save.
#[tokio::test]
async fn what_comes_after_a_save_is_told_apart_from_it() {
    let nvim = Nvim::start("autocommands-post").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command("autocmd BufWritePost * call append('$', 'after')").await;
    let new = TEN.replace("2\n", "two\n");
    nvim.write(&path, &new).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), new);
    assert_eq!(nvim.text().await + "\n", format!("{new}after\n"));
    nvim.command("autocmd! BufWritePost").await;
    // Neovim calls it unmodified all the same. Once it is not, the line is unsaved like any other.
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    nvim.command("call setline(1, 'user')").await;
    nvim.write(&path, &new.replace("9\n", "nine\n")).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), new.replace("9\n", "nine\n"));
    let text = format!("{}after\n", new.replace("1\ntwo", "user\ntwo").replace("9\n", "nine\n"));
    assert_eq!(nvim.text().await + "\n", text);
    // One that fails has no say about a file that is written.
    nvim.command("silent write | autocmd BufWritePost * throw 'too late'").await;
    nvim.read(&path).await.unwrap();
    nvim.write(&path, "all new\n").await.unwrap();
    assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("all new".into(), "all new\n".into()));
}

/// Holds (Buffers in unusual states): Buffers with a 'buftype' are not documents.
#[tokio::test]
async fn special_buffers_are_no_documents() {
    let nvim = Nvim::start("autocommands-special").await;
    for kind in ["acwrite", "nofile", "nowrite", "help"] {
        let name = format!("{kind}.txt");
        let path = nvim.put(&name, "on disk\n");
        nvim.open(&name).await;
        nvim.command(&format!("setlocal modifiable buftype={kind}")).await;
        nvim.command("autocmd! BufWriteCmd <buffer> throw 'it is not for you'").await;
        nvim.command("call setline(1, 'shown')").await;
        let tick = nvim.eval("vim.b.changedtick").await;
        assert_eq!(nvim.read(&path).await.unwrap(), "on disk\n", "{kind}");
        nvim.write(&path, "by the agent\n").await.unwrap();
        assert_eq!(nvim.disk(&name), "by the agent\n", "{kind}");
        assert_eq!(nvim.eval("vim.b.changedtick").await, tick, "{kind}");
    }
    assert_eq!(nvim.read(&nvim.path("acwrite.txt")).await.unwrap(), "by the agent\n");
}

/// Holds (Buffers in unusual states): A buffer with a `BufWriteCmd` autocommand is saved by that.
#[tokio::test]
async fn a_buffer_that_saves_itself_is_saved_by_itself() {
    let nvim = Nvim::start("autocommands-writecmd").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command(
        "autocmd BufWriteCmd <buffer> call writefile(['own'] + getline(1, '$'), expand('<afile>')) | set nomodified",
    )
    .await;
    nvim.write(&path, "1\n").await.unwrap();
    assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("1".into(), "own\n1\n".into()));
    assert_eq!(nvim.read(&path).await.unwrap(), "own\n1\n", "what is in the file counts");
}

/// Holds (Buffers in unusual states): A protected buffer still follows the disk.
#[tokio::test]
async fn a_protected_buffer_follows_the_disk_without_a_warning() {
    let nvim = Nvim::start("autocommands-protected").await;
    nvim.lua("require('rat.document').start()").await;
    for option in ["readonly", "nomodifiable"] {
        let path = nvim.edit(option, TEN).await;
        nvim.command(&format!("setlocal {option}")).await;
        nvim.put(option, TEN.replace("2\n", "two\n"));
        nvim.command("let v:warningmsg = ''").await;
        nvim.disk_changed(&path).await.unwrap().unwrap();
        // Where Neovim warns of a change to a 'readonly' buffer (W10), it stands still for a second.
        assert_eq!(nvim.eval("vim.v.warningmsg").await, "", "{option}");
        let messages = nvim.eval("vim.fn.execute('messages')").await;
        assert!(!messages.contains("W10"), "{option}: {messages}");
        assert_eq!(nvim.text().await + "\n", TEN.replace("2\n", "two\n"));
        let set = nvim.eval("vim.bo.readonly or not vim.bo.modifiable").await;
        assert_eq!((set, nvim.eval("vim.bo.modified").await), ("true".into(), "false".into()));
        let error = nvim.write(&path, "1\n").await.unwrap_err().to_string();
        assert!(error.contains(option.trim_start_matches("no")), "{error}");
    }
}
