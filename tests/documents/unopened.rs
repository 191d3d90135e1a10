//! Documents that no buffer shows when an agent changes them, and buffers that look clean and are not.

use rat_nvim::core::messages::files::BufferEvent;
use rat_nvim::core::messages::review::ChangeScope;
use rat_nvim::documents::Via;

use super::nvim::{Nvim, author, session, within};

const FIVE: &str = "1\n2\n3\n4\n5\n";

async fn opened(nvim: &Nvim, name: &str) {
    nvim.open(name).await;
    within(nvim.files.buffer(&nvim.path(name), BufferEvent::Read)).await.unwrap();
}

/// Holds (Writing files): What was written while a file was closed is one undo step once it is opened.
#[tokio::test]
async fn what_was_written_before_a_file_is_opened_is_one_step() {
    let nvim = Nvim::start("unopened").await;
    let path = nvim.put("a.txt", FIVE);
    nvim.write(&path, &FIVE.replace("2\n", "two\n")).await.unwrap();
    nvim.write(&path, &FIVE.replace("2\n", "two\n").replace("4\n", "four\n")).await.unwrap();
    assert_eq!(nvim.eval("#vim.api.nvim_list_bufs()").await, "1");
    // Somebody else adds a line: that is no part of the agent's step.
    let now = "0\n".to_owned() + &nvim.disk("a.txt");
    nvim.put("a.txt", &now);
    opened(&nvim, "a.txt").await;
    assert_eq!(nvim.text().await + "\n", now);
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    nvim.command("undo").await;
    assert_eq!(nvim.text().await + "\n", "0\n".to_owned() + FIVE);
    assert_eq!(nvim.eval("vim.bo.modified").await, "true", "the file has another text");
    nvim.command("redo").await;
    assert_eq!(nvim.text().await + "\n", now);
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    nvim.command("bwipeout!").await;
    opened(&nvim, "a.txt").await;
    assert_eq!(nvim.eval("vim.fn.undotree().seq_last").await, "0", "once");
}

/// Holds (Writing files): What was written while a file was closed is one undo step once it is opened.
#[tokio::test]
async fn an_agent_that_writes_to_disk_itself_makes_such_a_step_too() {
    let nvim = Nvim::start("unopened-disk").await;
    let (old, new) = (nvim.put("old.txt", FIVE), nvim.path("new.txt"));
    for path in [&old, &new] {
        within(nvim.files.preload(path)).await.unwrap();
    }
    nvim.put("old.txt", FIVE.replace("3\n", "three\n"));
    nvim.put("new.txt", "new\n");
    let changed = nvim.disk_changed(&old).await.unwrap().unwrap();
    assert_eq!((changed.hunks.len(), changed.created, changed.via), (1, false, Via::Disk));
    let created = nvim.disk_changed(&new).await.unwrap().unwrap();
    assert_eq!((created.hunks.len(), created.created), (1, true));
    opened(&nvim, "old.txt").await;
    nvim.command("undo").await;
    assert_eq!(nvim.text().await + "\n", FIVE);
    opened(&nvim, "new.txt").await;
    nvim.command("undo").await;
    assert_eq!(nvim.text().await, "");
}

#[tokio::test]
async fn a_file_whose_buffer_has_a_past_or_was_typed_in_gets_no_step() {
    let nvim = Nvim::start("unopened-typed").await;
    let path = nvim.put("a.txt", FIVE);
    nvim.write(&path, &FIVE.replace("2\n", "two\n")).await.unwrap();
    nvim.open("a.txt").await;
    nvim.command("call setline(5, 'user')").await;
    within(nvim.files.buffer(&path, BufferEvent::Read)).await.unwrap();
    assert_eq!(nvim.text().await, "1\ntwo\n3\n4\nuser");
    nvim.command("undo").await;
    assert_eq!(nvim.text().await, "1\ntwo\n3\n4\n5");
}

/// Holds (Changes on disk): A text that was saved once counts as modified after the file has changed.
#[tokio::test]
async fn a_text_that_was_saved_once_is_not_clean_once_the_file_has_another() {
    let nvim = Nvim::start("unopened-clean").await;
    let path = nvim.edit("a.txt", FIVE).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.command("call setline(1, 'user')").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.put("a.txt", FIVE.replace("5\n", "five\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.command("undo | undo").await;
    assert_eq!(nvim.text().await + "\n", FIVE);
    assert_eq!(nvim.eval("vim.bo.modified").await, "false", "Neovim takes it for what it read");
    within(nvim.files.buffer(&path, BufferEvent::Clean)).await.unwrap();
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    nvim.command("redo | redo | undo").await;
    nvim.command("redo").await;
    assert_eq!(nvim.text().await, "user\n2\n3\n4\nfive");
}

/// The same while what an agent has written since is not followed yet; and a save that nobody was told of is one.
/// Holds (Changes on disk): A text that was saved once counts as modified while a change on disk is pending.
#[tokio::test]
async fn an_undo_to_a_saved_text_is_not_clean_while_a_change_on_disk_waits() {
    let nvim = Nvim::start("unopened-clean-late").await;
    let path = nvim.edit("a.txt", FIVE).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.command("call setline(1, 'user')").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.put("a.txt", FIVE.replace("5\n", "five\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.put("a.txt", FIVE.replace("5\n", "V\n"));
    nvim.command("undo | undo").await;
    within(nvim.files.buffer(&path, BufferEvent::Clean)).await.unwrap();
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    nvim.command("noautocmd write!").await;
    within(nvim.files.buffer(&path, BufferEvent::Clean)).await.unwrap();
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
}

/// Holds (Changes on disk): The user's own save is the baseline of the next merge.
#[tokio::test]
async fn a_save_of_the_user_is_what_neovim_last_wrote() {
    let nvim = Nvim::start("unopened-saved").await;
    let path = nvim.edit("a.txt", FIVE).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.write(&path, &FIVE.replace("2\n", "two\n")).await.unwrap();
    nvim.command("call setline(1, 'saved') | write").await;
    within(nvim.files.buffer(&path, BufferEvent::Saved)).await.unwrap();
    nvim.command("call setline(3, 'unsaved')").await;
    let saved = nvim.disk("a.txt");
    nvim.put("a.txt", saved.replace("5\n", "five\n"));
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!((written.hunks.len(), written.unresolved.len()), (1, 0));
    assert_eq!(nvim.text().await, "saved\ntwo\nunsaved\n4\nfive");
}

/// Holds (Writing files): What was written to a file is recorded once, whatever else the agent has read since.
#[tokio::test]
async fn a_file_that_was_written_long_ago_is_not_recorded_again() {
    let nvim = Nvim::start("unopened-long-ago").await;
    let path = nvim.put("a.txt", FIVE);
    nvim.write(&path, &FIVE.replace("2\n", "two\n")).await.unwrap();
    for number in 0..1000 {
        nvim.read(&nvim.put(&format!("other{number}"), "")).await.unwrap();
    }
    let before = Some(FIVE.as_bytes().to_vec());
    within(nvim.files.set_before(&path, before, &author(), false)).await.unwrap();
    assert_eq!(nvim.disk_changed(&path).await.unwrap(), None);
    let record = within(nvim.files.record(&path)).await.unwrap().unwrap();
    let lines: Vec<_> = record.lines().map(|(_, line)| line).collect();
    assert_eq!(lines, ["1", "2", "3", "4", "5", "two"]);
}

/// Holds (Sessions): Once a chat is closed, files in which nothing is pending take no memory, and others stay as they are.
#[tokio::test]
async fn files_of_a_closed_chat_are_forgotten_once_they_are_decided_on() {
    let nvim = Nvim::start("unopened-closed").await;
    for name in ["kept.txt", "pending.txt"] {
        let path = nvim.put(name, FIVE);
        nvim.write(&path, &FIVE.replace("2\n", "two\n")).await.unwrap();
    }
    let scope = ChangeScope::default();
    drop(within(nvim.files.keep(&nvim.path("kept.txt"), scope)).await.unwrap());
    within(nvim.files.close(&session())).await;
    assert_eq!(nvim.files.count(), 1);
    assert_eq!(within(nvim.files.pending(&nvim.path("pending.txt"))).await.unwrap().len(), 1);
}
