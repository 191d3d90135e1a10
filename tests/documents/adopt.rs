//! Agents that write to the disk themselves.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::WriteRequest;
use rat_nvim::documents::watch::Watcher;
use rat_nvim::edit::UnresolvedHunk;
use rat_nvim::session::author::Author;
use tokio::sync::mpsc;

use super::nvim::{Nvim, within};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// Holds (Changes on disk): An unmodified buffer follows the file in one undo step, stays unmodified, and asks nothing then or at `:write`.
#[tokio::test]
async fn an_unmodified_buffer_follows_without_a_question() {
    let nvim = Nvim::start("adopt").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start(); vim.cmd('5mark a'); listen()").await;
    let new = TEN.replace("2\n", "two\n").replace("8\n", "");
    nvim.put("a.txt", &new);
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!((written.before.content(), written.after.content()), (TEN.to_owned(), new.clone()));
    assert_eq!(nvim.text().await + "\n", new);
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    assert_eq!(nvim.eval("table.concat(seen, ' ')").await, "7-8>7 1-2>2", "no reload");
    assert_eq!(nvim.eval("vim.fn.getline(\"'a\")").await, "5");
    assert!(nvim.disk_changed(&path).await.unwrap().is_none(), "it is not new a second time");
    nvim.command("checktime").await;
    nvim.asks_nothing().await;
    // The user's next save asks nothing, and is the user's.
    nvim.command("call setline(1, 'one')").await;
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.disk("a.txt"), new.replace("1\ntwo", "one\ntwo"));
    nvim.command("undo | undo").await;
    assert_eq!(nvim.text().await + "\n", TEN, "one step for the agent's edit");
    nvim.command("redo").await;
    assert_eq!(nvim.text().await + "\n", new);
    assert_eq!(nvim.eval("vim.inspect(vim.opt_local.autoread:get())").await, "true");
}

#[tokio::test]
async fn a_file_that_is_read_again_after_adopting_is_saved_without_a_question() {
    let nvim = Nvim::start("adopt-again").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.put("a.txt", TEN.replace("2\n", "two\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.command("edit! | call setline(1, 'user')").await;
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.disk("a.txt"), TEN.replace("1\n2\n", "user\ntwo\n"));
}

/// Holds (Changes on disk): If Neovim is killed while saving, no file keeps the old time it was given for `:write`.
#[tokio::test]
async fn a_neovim_that_is_killed_within_a_save_leaves_no_file_with_an_old_time() {
    let mut nvim = Nvim::start("adopt-killed").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    let new = TEN.replace("2\n", "two\n");
    nvim.put("a.txt", &new);
    let time = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let written = time();
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.lua(
        "vim.api.nvim_create_autocmd('BufWritePre', {
          callback = function() vim.uv.kill(vim.fn.getpid(), 9) end,
        })
        vim.fn.setline(5, 'five')",
    )
    .await;
    nvim.last_keys(":write<CR>").await;
    nvim.ended().await;
    assert_eq!(nvim.disk("a.txt"), new);
    assert!(time() < written, "it had the time that Neovim knew");
    let later = nvim.beside(&["-n"]).await;
    later.lua("require('rat.document').start()").await;
    assert_eq!(time(), written);
    let notes = later
        .eval("#vim.fn.glob(require('rat.util.private_file').root() .. '/times/*/*', true, true)");
    assert_eq!(notes.await, "0");
}

#[tokio::test]
async fn a_save_that_fails_after_adopting_leaves_the_file_as_it_is() {
    let nvim = Nvim::start("adopt-fail").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.put("a.txt", "agent\n");
    nvim.disk_changed(&path).await.unwrap().unwrap();
    let time = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let adopted = time();
    nvim.command("call setline(1, 'user') | autocmd BufWritePre * throw 'no'").await;
    nvim.lua("_G.failed = not pcall(vim.cmd, 'write')").await;
    assert_eq!(nvim.eval("failed").await, "true");
    nvim.type_until("", "vim.bo.modified", "true").await;
    assert_eq!(time(), adopted);
    nvim.command("autocmd! BufWritePre *").await;
}

/// Holds (Changes on disk): A modified buffer is merged with the file; where both changed, the user's lines stay.
#[tokio::test]
async fn unsaved_changes_are_merged_or_kept() {
    let nvim = Nvim::start("adopt-unsaved").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(1, 'user')").await;
    nvim.write(&path, TEN).await.unwrap();
    nvim.put("a.txt", TEN.replace("9\n", "nine\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "user\n2\n3\n4\n5\n6\n7\n8\nnine\n10");
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    nvim.put("a.txt", TEN.replace("1\n2", "agent\n2"));
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(written.unresolved, [UnresolvedHunk { lines: 0..1, theirs: vec!["agent".into()] }]);
    assert_eq!(nvim.text().await + "\n", TEN.replace("1\n2", "user\n2"), "all but the conflict");
    nvim.asks_nothing().await;
}

#[tokio::test]
async fn a_file_that_is_written_within_one_tick_of_the_clock_is_another_one() {
    let nvim = Nvim::start("adopt-tick").await;
    nvim.lua("require('rat.document').start()").await;
    let path = nvim.edit("a.txt", TEN).await;
    let time = std::fs::metadata(&path).unwrap().modified().unwrap();
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.command("call setline(1, 'user')").await;
    nvim.put("a.txt", TEN.replace("9\n", "nine\n"));
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "user\n2\n3\n4\n5\n6\n7\n8\nnine\n10");
}

#[tokio::test]
async fn a_text_that_was_noted_is_what_both_sides_began_with() {
    let nvim = Nvim::start("adopt-noted").await;
    nvim.lua("require('rat.document').start()").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command("call setline(1, 'user')").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.put("a.txt", TEN.replace("9\n", "nine\n"));
    // Too late to be noted as what Neovim has read.
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "user\n2\n3\n4\n5\n6\n7\n8\nnine\n10");
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
}

/// Holds (Changes on disk): A text the agent sends and also writes itself (OpenCode) is one change.
#[tokio::test]
async fn a_text_sent_and_written_once_more_is_not_new() {
    let nvim = Nvim::start("adopt-twice").await;
    let path = nvim.edit("a.txt", "a\nb\n").await;
    nvim.command("autocmd BufWritePre * %s/ *$//e").await;
    let sent = "a\nB  \n";
    nvim.write_to_repeat(&path, sent).await.unwrap();
    nvim.put("a.txt", sent);
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    assert_eq!(nvim.text().await, "a\nB", "the formatter's work stays");
    assert_eq!(nvim.disk("a.txt"), "a\nB\n");
    nvim.command("call setline(1, 'user') | write").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.disk("a.txt"), "user\nB\n");
}

/// As `git checkout` brings it back: what an agent once sent is a text like any other then.
/// Holds (Changes on disk): The same text in a later turn, or from an agent that writes only through us, is a new change.
#[tokio::test]
async fn a_text_sent_long_ago_or_by_an_agent_that_does_not_repeat_itself_is_followed() {
    let nvim = Nvim::start("adopt-back").await;
    let sent = "a\nB  \n";
    let later = SystemTime::now() + Duration::from_secs(60);
    for (name, repeats, time, turn) in [
        ("plain.txt", false, None, 1),
        ("later.txt", true, Some(later), 1),
        ("next-turn.txt", true, None, 2),
    ] {
        let path = nvim.edit(name, "a\nb\n").await;
        nvim.command("autocmd BufWritePre <buffer> %s/ *$//e").await;
        if repeats {
            nvim.write_to_repeat(&path, sent).await.unwrap();
        } else {
            nvim.write(&path, sent).await.unwrap();
        }
        assert_eq!(nvim.disk(name), "a\nB\n");
        nvim.put(name, sent);
        if let Some(time) = time {
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        let by = Author { turn, ..super::nvim::author() };
        let followed = within(nvim.files.disk_changed(&path, &by)).await.unwrap();
        assert_eq!(followed.unwrap().hunks.len(), 1, "{name}");
        assert_eq!((nvim.text().await + "\n", nvim.disk(name)), (sent.into(), sent.into()));
    }
}

#[tokio::test]
async fn a_text_written_once_more_is_not_new_whoever_is_taken_for_its_writer() {
    let nvim = Nvim::start("adopt-twice-other").await;
    let path = nvim.edit("a.txt", "a\nb\n").await;
    nvim.command("autocmd BufWritePre * %s/ *$//e").await;
    nvim.write_to_repeat(&path, "a\nB  \n").await.unwrap();
    nvim.put("a.txt", "a\nB  \n");
    let other = Author { session: super::nvim::session_of("other"), ..super::nvim::author() };
    assert!(within(nvim.files.disk_changed(&path, &other)).await.unwrap().is_none());
    assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("a\nB".into(), "a\nB\n".into()));
}

/// Holds (Changes on disk): A text the agent wrote itself before it asked us to (OpenCode) stays on disk.
#[tokio::test]
async fn a_text_the_agent_was_quicker_to_write_itself_stays_on_disk() {
    for (name, unsaved) in
        [("below", "call setline(3, 'user')"), ("the same", "call setline(2, 'B')")]
    {
        let nvim = Nvim::start(&format!("adopt-quicker-{}", name.replace(' ', "-"))).await;
        let path = nvim.edit("a.txt", "a\nb\nc\nd\n").await;
        within(nvim.files.record_baseline(&path)).await.unwrap();
        nvim.read(&path).await.unwrap();
        nvim.command(unsaved).await;
        let sent = "a\nB\nc\nd\n";
        nvim.put("a.txt", sent);
        nvim.write_to_repeat(&path, sent).await.unwrap();
        assert!(nvim.disk_changed(&path).await.unwrap().is_none(), "{name}");
        assert_eq!(nvim.disk("a.txt"), sent, "{name}");
        assert_eq!(nvim.text().await.lines().nth(1), Some("B"), "{name}");
        nvim.command("write").await;
        nvim.asks_nothing().await;
        assert_eq!(nvim.disk("a.txt"), nvim.text().await + "\n", "{name}");
    }
}

/// Holds (Changes on disk): A text the agent writes itself while we write it (OpenCode) changes the buffer once.
#[tokio::test]
async fn a_text_the_agent_writes_itself_at_the_same_moment_changes_the_buffer_once() {
    let nvim = Nvim::start("adopt-at-once").await;
    let path = nvim.edit("a.txt", "a\nb\nc\nd\n").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(4, 'user')").await;
    let agent = "listen()
        vim.api.nvim_buf_attach(0, false, { on_lines = function()
            local file = io.open('a.txt', 'w')
            file:write('a\\nB\\nc\\nd\\n')
            file:close()
            return true
        end })";
    nvim.lua(agent).await;
    nvim.write_to_repeat(&path, "a\nB\nc\nd\n").await.unwrap();
    assert_eq!(nvim.eval("_G.seen").await, "[\"1-2>2\"]");
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    assert_eq!(nvim.text().await, "a\nB\nc\nuser");
    assert_eq!(nvim.disk("a.txt"), "a\nB\nc\nd\n");
    nvim.command("write").await;
    nvim.asks_nothing().await;
}

#[tokio::test]
async fn a_second_write_finds_the_first_one_written_twice() {
    let nvim = Nvim::start("adopt-twice-again").await;
    let path = nvim.edit("a.txt", "a\nb\n").await;
    nvim.command("autocmd BufWritePre * %s/ *$//e").await;
    nvim.write_to_repeat(&path, "a\nB  \n").await.unwrap();
    nvim.put("a.txt", "a\nB  \n");
    // Nobody has told of that yet when the next one comes.
    let written = nvim.write(&path, "A\nB  \n").await.unwrap();
    assert!(written.disk_change.is_none());
    assert_eq!(written.hunks.len(), 1);
    assert_eq!((nvim.text().await, nvim.disk("a.txt")), ("A\nB".into(), "A\nB\n".into()));
}

#[tokio::test]
async fn a_save_after_a_refused_write_of_a_touched_file_asks_nothing() {
    let nvim = Nvim::start("adopt-touched-refused").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.read(&path).await.unwrap();
    nvim.write(&path, &TEN.replace("3\n", "agent\n")).await.unwrap();
    let time = SystemTime::now() + Duration::from_secs(2);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    let other = Author { session: super::nvim::session_of("other"), ..super::nvim::author() };
    let stale = WriteRequest {
        by: other.clone(),
        path: path.clone(),
        content: TEN.replace("3\n", "stale\n"),
        base: Some(TEN.to_owned()),
        dirty: WriteDirty::default(),
        repeats: false,
        consent: Consent::NotNeeded,
    };
    within(nvim.files.write(stale)).await.unwrap_err();
    assert!(within(nvim.files.disk_changed(&path, &other)).await.unwrap().is_none());
    nvim.command("call setline(1, 'user') | write").await;
    nvim.asks_nothing().await;
    assert!(nvim.disk("a.txt").starts_with("user\n2\nagent\n"));
}

#[tokio::test]
async fn an_agent_that_writes_first_and_tells_then_makes_one_edit() {
    let nvim = Nvim::start("adopt-first").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    let new = TEN.replace("5\n", "five\n");
    nvim.put("a.txt", &new);
    let written = nvim.write(&path, &new).await.unwrap();
    assert!(written.disk_change.is_none());
    assert_eq!(written.hunks.len(), 1);
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (new.clone(), new));
    nvim.command("undo").await;
    assert_eq!(nvim.text().await + "\n", TEN);
}

/// Holds (Changes on disk): A refused text that the agent writes all the same replaces nothing in the buffer.
#[tokio::test]
async fn a_refused_text_that_is_written_all_the_same_replaces_nothing() {
    let nvim = Nvim::start("adopt-refused").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(5, 'user') | write").await;
    let refused = TEN.replace("5\n", "agent\n");
    nvim.write(&path, &refused).await.unwrap_err();
    nvim.put("a.txt", &refused);
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(written.unresolved, [UnresolvedHunk { lines: 4..5, theirs: vec!["agent".into()] }]);
    assert!(nvim.text().await.contains("user"));
    assert_eq!(nvim.eval("vim.bo.modified").await, "true", "it is not reloaded away");
}

#[tokio::test]
async fn a_change_on_disk_comes_in_before_a_write() {
    let nvim = Nvim::start("adopt-before").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    nvim.put("a.txt", TEN.replace("2\n", "shell\n"));
    let written = nvim.write(&path, &TEN.replace("9\n", "nine\n")).await.unwrap();
    let both = TEN.replace("2\n", "shell\n").replace("9\n", "nine\n");
    assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (both.clone(), both));
    assert_eq!(written.disk_change.unwrap().hunks[0].lines, ["shell"]);
    nvim.asks_nothing().await;
}

#[tokio::test]
async fn what_came_in_before_a_refused_write_is_told_all_the_same() {
    let nvim = Nvim::start("adopt-before-refused").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.command("call setline(5, 'user')").await;
    nvim.put("a.txt", TEN.replace("2\n", "shell\n"));
    nvim.write(&path, &TEN.replace("5\n", "agent\n")).await.unwrap_err();
    let told = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(told.hunks[0].lines, ["shell"]);
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
}

#[tokio::test]
async fn what_an_agent_read_by_itself_is_what_its_write_refers_to() {
    let nvim = Nvim::start("adopt-seen").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.write(&path, &TEN.replace("2\n", "two\n")).await.unwrap();
    nvim.command("call setline(2, 'user') | write").await;
    nvim.files.agent_read_disk(&path, &super::nvim::session()).await.unwrap();
    nvim.write(&path, &TEN.replace("2\n", "user and agent\n")).await.unwrap();
    assert_eq!(nvim.eval("vim.fn.getline(2)").await, "user and agent");
}

/// Holds (Changes on disk): A watched file comes in by itself, also while the command-line window is open.
#[tokio::test]
async fn a_watched_file_comes_in_by_itself_also_in_the_command_line_window() {
    let nvim = Nvim::start("adopt-watch").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start(); vim.fn.histadd(':', 'echo')").await;
    let (sender, mut changed) = mpsc::unbounded_channel();
    let mut watcher = Watcher::new(sender).unwrap();
    assert!(watcher.watch(HashSet::from([path.clone()])).is_empty());
    nvim.type_until("q:", "vim.fn.getcmdwintype()", ":").await;
    nvim.put("a.txt", TEN.replace("5\n", "five\n"));
    assert_eq!(within(changed.recv()).await, Some(vec![path.clone()]));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.type_until(":quit<CR>", "vim.fn.getcmdwintype()", "").await;
    assert_eq!(nvim.text().await + "\n", TEN.replace("5\n", "five\n"));
    nvim.lua("listen()").await;
    nvim.command("checktime").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.eval("#seen").await, "0", "nothing was left to reload");
}
