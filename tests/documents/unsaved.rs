//! `fs/write_text_file` to a buffer with unsaved changes.

use super::nvim::{Nvim, lines};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// ACP 95.
/// Holds (Writing files): Unsaved changes elsewhere in the file are merged and stay unsaved.
#[tokio::test]
async fn unsaved_changes_stay_and_stay_unsaved() {
    let nvim = Nvim::start("unsaved-merge").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command("call setline(1, 'user') | call append(5, 'user')").await;
    let written = nvim.write(&path, &TEN.replace("9\n", "nine\n")).await.unwrap();
    assert_eq!(nvim.text().await, "user\n2\n3\n4\n5\nuser\n6\n7\n8\nnine\n10");
    assert_eq!(nvim.disk("a.txt"), TEN.replace("9\n", "nine\n"));
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    assert_eq!(written.hunks.len(), 1);
    assert!(!written.saved_unsaved);
    // The user's own save asks nothing, though the file is newer than Neovim's last read.
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.disk("a.txt"), "user\n2\n3\n4\n5\nuser\n6\n7\n8\nnine\n10\n");
    nvim.command("undo").await;
    assert!(nvim.text().await.contains("\n9\n"), "one step");
    assert!(nvim.text().await.starts_with("user\n"));
}

#[tokio::test]
async fn an_agent_that_read_unsaved_text_need_not_save_it() {
    let nvim = Nvim::start("unsaved-read").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command("call setline(1, 'user')").await;
    let read = nvim.read(&path).await.unwrap();
    nvim.write(&path, &read.replace("9\n", "nine\n")).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), TEN.replace("9\n", "nine\n"));
    assert_eq!(nvim.text().await + "\n", read.replace("9\n", "nine\n"));
    // But where it edits that very text, its edit makes no sense without.
    let read = nvim.read(&path).await.unwrap();
    let written = nvim.write(&path, &read.replace("user", "user and agent")).await.unwrap();
    assert!(written.saved_unsaved);
    assert_eq!(nvim.disk("a.txt"), read.replace("user", "user and agent"));
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
}

/// Holds (Writing files): A write that overlaps an unsaved change is refused, with the lines.
#[tokio::test]
async fn an_overlap_is_refused_with_its_lines() {
    let nvim = Nvim::start("unsaved-overlap").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.read(&path).await.unwrap();
    nvim.command("call append(0, 'new') | call setline(4, 'user')").await;
    let tick = nvim.eval("vim.b.changedtick").await;
    let error = nvim.write(&path, &TEN.replace("3\n", "three\n")).await.unwrap_err().to_string();
    assert!(error.contains("line 4 changed in the editor (not saved yet)"), "{error}");
    assert!(error.contains("read the file again"), "{error}");
    assert_eq!(nvim.eval("vim.b.changedtick").await, tick);
    assert_eq!(nvim.disk("a.txt"), TEN);
    // Read again, it may change what the user wrote.
    let read = nvim.read(&path).await.unwrap();
    nvim.write(&path, &read.replace("user", "user, agreed")).await.unwrap();
    assert!(nvim.text().await.contains("user, agreed"));
}

#[tokio::test]
async fn what_the_user_saved_since_is_merged_or_refused_too() {
    let nvim = Nvim::start("saved-since").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(1, 'user') | write").await;
    nvim.write(&path, &TEN.replace("9\n", "nine\n")).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), TEN.replace("1\n2", "user\n2").replace("9\n", "nine\n"));
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(2, 'user') | write").await;
    let new = TEN.replace("1\n2\n", "user\ntwo\n").replace("9\n", "nine\n");
    // A watcher sees the user's save too; that is no reading by the agent.
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    let error = nvim.write(&path, &new).await.unwrap_err().to_string();
    assert!(error.contains("line 2 changed since you read it"), "{error}");
    assert!(nvim.text().await.starts_with("user\nuser\n"));
}

/// Holds (Writing files): A write arrives however fast the user types.
#[tokio::test]
async fn a_fast_typist_is_not_in_the_way() {
    let nvim = Nvim::start("unsaved-typist").await;
    let text = lines(5_000);
    let path = nvim.edit("a.txt", &text).await;
    nvim.read(&path).await.unwrap();
    // A change at every turn of the main loop, lines coming and going above the agent's.
    nvim.lua(
        "_G.typed = 0
         local buf = vim.api.nvim_get_current_buf()
         local function type()
           typed = typed + 1
           vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'typed ' .. typed })
           if typed < 3000 then vim.defer_fn(type, 0) end
         end
         type()",
    )
    .await;
    let written = nvim.write(&path, &text.replace("line 4000\n", "agent\n")).await.unwrap();
    assert_eq!(written.hunks.len(), 1);
    assert_eq!(nvim.disk("a.txt"), text.replace("line 4000\n", "agent\n"));
    nvim.type_until("", "typed", "3000").await;
    let text = nvim.text().await;
    assert_eq!(text.lines().filter(|line| line.starts_with("typed ")).count(), 3000);
    assert_eq!(text.lines().filter(|line| *line == "agent").count(), 1);
    assert!(!text.contains("line 4000\n"));
}

#[tokio::test]
async fn a_text_that_was_read_is_what_a_write_refers_to_though_another_was_seen_before() {
    let nvim = Nvim::start("dirty-read").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.files.agent_read_disk(&path, &super::nvim::session()).await.unwrap();
    nvim.command("call setline(5, 'mine')").await;
    let read = nvim.read(&path).await.unwrap();
    nvim.command("call setline(2, 'user') | call setline(5, 'mine too')").await;
    nvim.write(&path, &read.replace("9\n", "nine\n")).await.unwrap();
    assert_eq!(nvim.text().await, "1\nuser\n3\n4\nmine too\n6\n7\n8\nnine\n10");
}
