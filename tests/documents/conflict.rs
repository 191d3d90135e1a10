//! Lines the user keeps against the file, until they are decided.

use super::nvim::Nvim;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A buffer in which the user has changed lines 5 and 8, and a file in which an agent has changed 2, 5 and 8.
async fn contested(name: &str) -> Nvim {
    let nvim = Nvim::start(name).await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.command("call setline(5, 'user') | call setline(8, 'mine')").await;
    nvim.files.record_baseline(&path).await.unwrap();
    nvim.put("a.txt", TEN.replace("2\n", "two\n").replace("5\n", "V\n").replace("8\n", "VIII\n"));
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!((written.hunks.len(), written.unresolved.len()), (1, 2));
    nvim
}

/// Rows from 0 and texts of the signs.
const SIGNS: &str = "(function()
  local ns = vim.api.nvim_get_namespaces().rat_conflicts
  local marks = vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('a.txt'), ns, 0, -1, { details = true })
  return table.concat(vim.tbl_map(function(mark)
    return mark[2] .. vim.trim(mark[4].sign_text) .. mark[4].virt_text[3][1]
  end, marks), '|')
end)()";

const BOTH: &str = "4≠  on disk: V|7≠  on disk: VIII";

/// Holds (Changes on disk): An unresolved hunk has a sign and virtual text, and is in the list of conflicts.
#[tokio::test]
async fn what_the_user_keeps_is_marked_and_listed() {
    let nvim = contested("conflict-marks").await;
    assert_eq!(
        nvim.text().await + "\n",
        TEN.replace("2\n", "two\n").replace("5\n", "user\n").replace("8\n", "mine\n")
    );
    assert_eq!(nvim.eval(SIGNS).await, BOTH);
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    nvim.lua("require('rat.diff.conflict_view').list()").await;
    nvim.lua(
        "_G.list = vim.tbl_map(function(i) return i.lnum .. ' ' .. i.text end, vim.fn.getqflist())",
    )
    .await;
    assert_eq!(
        nvim.eval("table.concat(list, ', ')").await,
        "5 yours: user | on disk: V, 8 yours: mine | on disk: VIII"
    );
    nvim.command("cclose").await;
    // The user's next save asks nothing and saves the user's lines.
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.disk("a.txt"), nvim.text().await + "\n");
    assert_eq!(nvim.eval(SIGNS).await, BOTH, "saving decides nothing");
    nvim.command("edit!").await;
    nvim.wait_for(SIGNS, "").await;
}

/// Holds (Changes on disk): The marks of unresolved hunks stay on their text.
#[tokio::test]
async fn marks_stay_on_their_text() {
    let nvim = contested("conflict-move").await;
    nvim.command("call append(0, ['x', 'y'])").await;
    nvim.wait_for(SIGNS, "6≠  on disk: V|9≠  on disk: VIII").await;
    nvim.command("undo").await;
    nvim.wait_for(SIGNS, BOTH).await;
}

#[tokio::test]
async fn each_of_two_that_adjoin_is_marked_until_the_file_changes_there_again() {
    let nvim = contested("conflict-adjoin").await;
    let mark =
        |kept: &str| format!("require('rat.document.conflict').mark(vim.fn.bufnr(), {kept})");
    nvim.lua(&mark("{ { 4, 5, { 'E' } }, { 5, 6, { 'F' } }, { 6, 6, { 'new' } } }")).await;
    let marks = "4≠  on disk: E|5≠  on disk: F|6≠  on disk: new|7≠  on disk: VIII";
    assert_eq!(nvim.eval(SIGNS).await, marks);
    nvim.lua(&mark("{ { 5, 6, { 'G' } } }")).await;
    assert_eq!(nvim.eval(SIGNS).await, marks.replace("on disk: F", "on disk: G"));
}

/// Holds (Changes on disk): Unresolved hunks are resolved in diff mode, and `u` takes that back.
#[tokio::test]
async fn native_diff_mode_decides_and_a_decision_can_be_undone() {
    let nvim = contested("conflict-diff").await;
    nvim.lua("require('rat.diff.conflict_view').open()").await;
    assert_eq!(nvim.eval("vim.fn.tabpagenr('$')").await, "2");
    assert_eq!(
        nvim.eval("vim.fn.winnr('$') .. tostring(vim.wo.diff) .. vim.fn.line('.')").await,
        "2true5"
    );

    nvim.type_until("do", "vim.fn.getline(5)", "V").await;
    nvim.wait_for(SIGNS, "7≠  on disk: VIII").await;
    nvim.type_until("u", "vim.fn.getline(5)", "user").await;
    nvim.wait_for(SIGNS, BOTH).await;
    nvim.type_until("<C-r>", "vim.fn.getline(5)", "V").await;
    nvim.wait_for(SIGNS, "7≠  on disk: VIII").await;
    // The user's.
    nvim.type_until("]c", "vim.fn.getline('.')", "mine").await;
    nvim.type_until("dp", "vim.fn.getbufline(vim.fn.winbufnr(1), 8)[1]", "mine").await;
    nvim.wait_for(SIGNS, "").await;
    nvim.command("1wincmd w | undo | 2wincmd w").await;
    nvim.wait_for(SIGNS, "7≠  on disk: VIII").await;
    nvim.command("1wincmd w | redo | 2wincmd w").await;
    nvim.wait_for(SIGNS, "").await;
    nvim.type_until(":quit<CR>", "vim.fn.tabpagenr('$') .. vim.fn.winnr('$')", "11").await;
    assert_eq!(nvim.eval("vim.wo.diff").await, "false");
    // What the user does with these lines later is no conflict.
    nvim.command("call setline(8, 'later')").await;
    nvim.lua("_G.left = #require('rat.document.conflict').list()").await;
    assert_eq!(nvim.eval("left").await, "0");
    assert_eq!(nvim.text().await, "1\ntwo\n3\n4\nV\n6\n7\nlater\n9\n10");
}

/// Holds (Changes on disk): A decision on a line that was edited after the conflict arose can be undone, too.
#[tokio::test]
async fn a_decision_on_a_line_that_is_still_typed_can_be_undone() {
    let nvim = contested("conflict-typed").await;
    nvim.type_until("5GAs", "vim.fn.getline(5)", "users").await;
    nvim.type_until("<Esc>", "vim.fn.mode()", "n").await;
    nvim.lua("require('rat.diff.conflict_view').open()").await;
    let agents = "vim.fn.getbufline(vim.fn.winbufnr(1), 5)[1]";
    for (key, (place, text), before) in
        [("dp", (agents, "users"), "V"), ("do", ("vim.fn.getline(5)", "V"), "users")]
    {
        nvim.type_until(key, place, text).await;
        nvim.wait_for(SIGNS, "7≠  on disk: VIII").await;
        nvim.type_until("u", place, before).await;
        nvim.wait_for(SIGNS, BOTH).await;
    }
}

/// Holds (Changes on disk): Text that the user saved and the agent has not read is not overwritten.
#[tokio::test]
async fn text_the_user_saved_and_the_agent_has_not_seen_is_not_overwritten() {
    let nvim = Nvim::start("conflict-saved").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(5, 'user') | write").await;
    nvim.put("a.txt", TEN.replace("9\n", "nine\n"));
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!((written.hunks.len(), written.unresolved.len()), (1, 1));
    assert_eq!(nvim.text().await + "\n", TEN.replace("5\n", "user\n").replace("9\n", "nine\n"));
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    assert_eq!(nvim.eval(SIGNS).await, "4≠  on disk: 5");
    // An agent that has read it may change it.
    nvim.command("write").await;
    nvim.read(&path).await.unwrap();
    nvim.put("a.txt", TEN.replace("5\n", "user and agent\n").replace("9\n", "nine\n"));
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!((written.hunks.len(), written.unresolved.len()), (1, 0));
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
}

#[tokio::test]
async fn a_command_has_not_read_what_the_user_saved_elsewhere_in_the_file() {
    let nvim = Nvim::start("conflict-command").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(5, 'user') | write").await;
    // As `sed -i` does, of the text that is there.
    nvim.put("a.txt", TEN.replace("5\n", "user\n").replace("9\n", "nine\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    // Made from what was read before.
    nvim.put("a.txt", TEN.replace("2\n", "two\n").replace("9\n", "nine\n"));
    let written = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(written.unresolved.len(), 1);
    let both = TEN.replace("5\n", "user\n").replace("9\n", "nine\n").replace("2\n", "two\n");
    assert_eq!(nvim.text().await + "\n", both);
}

/// Holds (Changes on disk): Undoing what came from the disk leaves unsaved text.
#[tokio::test]
async fn undoing_what_came_from_the_disk_leaves_unsaved_text() {
    let nvim = Nvim::start("conflict-undo").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.put("a.txt", TEN.replace("5\n", "V\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    nvim.command("undo").await;
    assert_eq!(nvim.text().await + "\n", TEN);
    assert_eq!(nvim.eval("vim.bo.modified").await, "true", "the file has another text");
    nvim.command("redo").await;
    assert_eq!(nvim.eval("vim.bo.modified").await, "false", "the file has this text");
}
