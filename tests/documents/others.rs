//! More than one view of a file: windows, Neovims, swap files.

use super::nvim::{Nvim, within};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// Holds (Buffers in unusual states): Each window of a buffer keeps its cursor, view and folds.
#[tokio::test]
async fn each_window_keeps_its_cursor_its_view_and_its_folds() {
    let nvim = Nvim::start("others-windows").await;
    let text = super::nvim::lines(100);
    let path = nvim.edit("a.txt", &text).await;
    nvim.lua(
        "vim.o.lines = 30
         vim.wo.foldmethod = 'manual'
         vim.cmd('40,45fold | normal! 60Gzt')
         vim.cmd('split | normal! zE')
         vim.cmd('10,15fold | 70,75fold | normal! 90Gzt')
         _G.views = function()
           return table.concat(vim.tbl_map(function(win)
             return vim.api.nvim_win_call(win, function()
               local folds = {}
               for row = 1, vim.fn.line('$') do
                 if vim.fn.foldclosed(row) == row then folds[#folds + 1] = vim.fn.getline(row) end
               end
               return table.concat({ vim.fn.getline('.'), vim.fn.getline('w0'), unpack(folds) }, ', ')
             end)
           end, vim.api.nvim_list_wins()), ' | ')
         end",
    )
    .await;
    let before = nvim.eval("views()").await;
    let wanted = "line 89, line 89, line 9, line 69 | line 59, line 59, line 39";
    assert_eq!(before, wanted);
    let new = text
        .replace("line 3\n", "")
        .replace("line 50\n", "line 50\nnew\nnew\nnew\n")
        .replace("line 80\n", "changed\n");
    nvim.write(&path, &new).await.unwrap();
    nvim.command("redraw").await;
    assert_eq!(nvim.eval("views()").await, wanted);
}

/// Holds (Buffers in unusual states): Two Neovims with the same file follow each other.
#[tokio::test]
async fn two_neovims_with_one_file_follow_each_other() {
    let one = Nvim::start("others-two").await;
    let two = one.beside(&["-n"]).await;
    let path = one.edit("a.txt", TEN).await;
    two.open("a.txt").await;
    for nvim in [&one, &two] {
        nvim.lua("require('rat.document').start()").await;
        nvim.read(&path).await.unwrap();
    }
    let mut text = TEN.replace("2\n", "two\n");
    one.write(&path, &text).await.unwrap();
    two.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(two.text().await + "\n", text);
    // The other way round, without a word about it, and with unsaved changes on one side.
    one.command("call setline(1, 'user')").await;
    text = text.replace("9\n", "nine\n");
    two.write(&path, &text).await.unwrap();
    one.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(one.text().await + "\n", text.replacen("1\n", "user\n", 1));
    assert_eq!(one.eval("vim.bo.modified").await, "true");
    // Nobody is told before the next write: it merges with what is there.
    one.write(&path, &text.replace("5\n", "five\n")).await.unwrap();
    two.write(&path, &text.replace("7\n", "seven\n")).await.unwrap();
    text = text.replace("5\n", "five\n").replace("7\n", "seven\n");
    assert_eq!((two.text().await + "\n", two.disk("a.txt")), (text.clone(), text.clone()));
    one.disk_changed(&path).await.unwrap().unwrap();
    one.type_until(":write<CR>", "vim.bo.modified", "false").await;
    text = text.replacen("1\n", "user\n", 1);
    two.disk_changed(&path).await.unwrap().unwrap();
    for nvim in [&one, &two] {
        nvim.asks_nothing().await;
        assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (text.clone(), text.clone()));
        nvim.command("checktime").await;
        assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    }
}

/// Holds (Buffers in unusual states): The swap file of another Neovim raises no question.
#[tokio::test]
async fn a_swap_file_of_another_neovim_is_no_question() {
    let here = Nvim::start("others-swap").await;
    let there = here.beside(&["--cmd", "set directory=."]).await;
    here.command("set swapfile updatecount=200 directory=.").await;
    for name in ["both.txt", "there.txt"] {
        there.edit(name, TEN).await;
        there.command("call setline(1, 'unsaved there') | preserve").await;
        assert!(there.path(&format!(".{name}.swp")).exists());
    }
    // Open here too, as a user does who has answered the question.
    here.command("autocmd SwapExists * let v:swapchoice = 'e'").await;
    here.open("both.txt").await;
    here.command("autocmd! SwapExists | autocmd SwapExists * let g:asked = 1").await;
    for name in ["both.txt", "there.txt"] {
        let path = here.path(name);
        let new = TEN.replace("9\n", "nine\n");
        assert_eq!(here.read(&path).await.unwrap(), TEN);
        here.write(&path, &new).await.unwrap();
        assert_eq!(here.disk(name), new);
        here.disk_changed(&path).await.unwrap();
        here.asks_nothing().await;
        // The one who owns the swap file has lost nothing.
        there.command(&format!("buffer {name}")).await;
        assert_eq!(there.text().await + "\n", TEN.replacen("1\n", "unsaved there\n", 1));
        assert!(there.path(&format!(".{name}.swp")).exists());
    }
    assert_eq!(here.eval("vim.g.asked").await, "nil");
}

/// What the user has undone is on the disk still, and not by the doing of who writes there next.
/// Holds (Changes on disk): A line that was saved and undone is not taken for the next writer's.
#[tokio::test]
async fn a_saved_line_that_is_undone_is_not_taken_for_the_next_writers() {
    let nvim = Nvim::start("others-undone").await;
    let path = nvim.edit("a.txt", "1\n2\n3\n4\n5\n").await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    nvim.command("call setline(2, 'user  ') | write").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    // A formatter has taken the blanks off, and the user has put them on again.
    nvim.command("call setline(2, 'user') | write | call setline(2, 'user  ')").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    nvim.put("a.txt", "1\nuser\n3\n4\nfive\n");
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.command("call setline(2, 'user') | write").await;
    within(nvim.files.record_baseline(&path)).await.unwrap();
    // Made from the old text, in which the user's line is not.
    nvim.put("a.txt", "1\n2\n3\nIV\nfive\n");
    let told = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "1\nuser\n3\nIV\nfive");
    assert_eq!(told.unresolved.len(), 1);
}
