//! What is kept of a buffer that changes: always its text.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_nvim::documents::Documents;
use rat_nvim::documents::editor::Editor;
use rmpv::Value;

use super::nvim::{Nvim, author, lines};

/// All that a user does to lines, at random; the seed is in the message.
const STEPS: &str = r#"
local seed, steps = ...
math.randomseed(seed)
local function lines(most)
  local list = {}
  for i = 1, math.random(0, most) do list[i] = string.rep("x", math.random(0, 5)) .. math.random(99) end
  return list
end
for _ = 1, steps do
  local count = vim.api.nvim_buf_line_count(0)
  local from = math.random(0, count)
  local to = math.min(count, from + math.random(0, 3))
  local act = math.random(9)
  if act <= 3 then
    vim.api.nvim_buf_set_lines(0, from, to, true, lines(3))
  elseif act == 4 then
    vim.cmd("silent! undo " .. math.random(0, vim.fn.undotree().seq_last))
  elseif act == 5 then
    vim.cmd("silent! redo")
  elseif act == 6 then
    vim.cmd("silent! keeppatterns %s/x/y" .. (math.random(2) == 1 and "\\r" or "") .. "/e")
  elseif act == 7 then
    vim.cmd("silent! " .. math.random(1, count) .. "move " .. math.random(0, count))
  elseif act == 8 then
    vim.cmd("silent! normal! " .. math.random(1, count) .. "Gddp")
  else
    vim.cmd("silent! " .. math.random(1, count) .. "join")
  end
end
"#;

#[tokio::test]
async fn the_text_that_is_kept_is_the_buffers_after_anything() {
    let nvim = Nvim::start("follow").await;
    let path = nvim.edit("a.txt", "1\n2\n3\n4\n").await;
    nvim.command("set nofixendofline").await;
    for seed in 0..150_i64 {
        nvim.lua_with(STEPS, vec![Value::from(seed), Value::from(1 + seed % 7)]).await;
        nvim.command("let &modified = 1").await;
        let read = nvim.read(&path).await.unwrap();
        let empty = nvim.eval("vim.fn.wordcount().bytes == 0").await == "true";
        let wanted = if empty { String::new() } else { nvim.text().await + "\n" };
        assert_eq!(read, wanted, "seed {seed}");
    }
}

#[tokio::test]
async fn a_reload_and_a_flood_of_changes_are_noticed() {
    let nvim = Nvim::start("follow-reload").await;
    let path = nvim.edit("a.txt", "1\n2\n").await;
    nvim.command("call setline(1, 'user')").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "user\n2\n");
    nvim.command("edit! | call setline(2, 'user')").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "1\nuser\n");
    nvim.command("call setline(1, map(range(100000), {i -> 'line ' .. i}))").await;
    assert_eq!(nvim.read(&path).await.unwrap().lines().nth(99_999), Some("line 99999"));
    nvim.command("bdelete!").await;
    assert_eq!(nvim.read(&path).await.unwrap(), "1\n2\n");
}

#[tokio::test]
async fn a_snapshot_is_of_one_moment_while_the_user_types() {
    let nvim = Nvim::start("follow-snapshot").await;
    let text = lines(60_000);
    let path = nvim.edit("a.txt", &text).await;
    let found = nvim.editor.find(&path, None).await.unwrap().unwrap();
    // Each change makes two lines that belong together, one at each end.
    nvim.lua(
        "_G.typed = 0
         local function type()
           typed = typed + 1
           vim.api.nvim_buf_set_lines(0, 0, typed % 3, true, { 'top ' .. typed })
           vim.api.nvim_buf_set_lines(0, -2, -1, true, { 'end ' .. typed })
           if typed < 500 then vim.defer_fn(type, 0) end
         end
         type()",
    )
    .await;
    for _ in 0..5 {
        let (buffer, text) = nvim.editor.snapshot(found.buffer.id).await.unwrap();
        assert_eq!(text.len(), buffer.lines);
        assert_eq!(
            text.line(0).strip_prefix("top "),
            text.line(text.len() - 1).strip_prefix("end ")
        );
    }
    nvim.type_until("", "typed", "500").await;
}

/// Without what is told twice in a row: a save leaves the buffer clean, too.
const TOLD: &str = "(function()
  local list = {}
  for _, t in ipairs(told) do
    local text = t[1] .. ' ' .. t[2].kind .. ' ' .. vim.fs.basename(t[2].path)
    if list[#list] ~= text then table.insert(list, text) end
  end
  return table.concat(list, ', ')
end)()";

#[tokio::test]
async fn the_binary_is_told_in_order() {
    let nvim = Nvim::start("follow-facts").await;
    let path = nvim.put("a.txt", "1\n2\n");
    nvim.lua("require('rat.document').start()").await;
    nvim.open("a.txt").await;
    nvim.command("call setline(1, 'user') | write").await;
    nvim.write(&path, "user\ntwo\n").await.unwrap();
    nvim.type_until("xu", "vim.bo.modified", "false").await;
    nvim.wait_for(TOLD, "buffer read a.txt, buffer saved a.txt, buffer clean a.txt").await;
}

/// Holds (Files): A file is read only once its writer has probably written all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_being_written_is_not_read_half() {
    let nvim = Nvim::start("follow-half").await;
    let files = Documents::new(Arc::clone(&nvim.editor) as Arc<dyn Editor>);
    let path = nvim.edit("a.txt", lines(1000)).await;
    let path = fs::canonicalize(path).unwrap();
    files.disk_changed(&path, &author()).await.unwrap();
    let shortest = "_G.shortest = 1000
        vim.api.nvim_buf_attach(0, false, { on_lines = function(_, buf)
          _G.shortest = math.min(_G.shortest, vim.api.nvim_buf_line_count(buf))
        end })";
    nvim.lua(shortest).await;
    let author = author();
    // At first the file is empty, then it ends within a line.
    for written in [0, 4003] {
        for attempt in 0.. {
            let text = lines(1000).replacen('\n', &format!(" {written} {attempt}\n"), 1);
            let (start, end) = text.split_at(written);
            assert!(!start.ends_with('\n'));
            let mut file = File::create(&path).unwrap();
            file.write_all(start.as_bytes()).unwrap();
            let begun = Instant::now();
            let followed = files.disk_changed(&path, &author);
            let (followed, took) = tokio::join!(followed, async {
                nvim.eval("1").await;
                file.write_all(end.as_bytes()).unwrap();
                begun.elapsed()
            });
            followed.unwrap();
            // A slow machine takes too long over the second half.
            if took < Duration::from_millis(10) {
                break;
            }
            files.disk_changed(&path, &author).await.unwrap();
            nvim.lua("_G.shortest = 1000").await;
            assert!(attempt < 100, "{took:?}");
        }
    }
    assert_eq!(nvim.eval("_G.shortest").await, "1000");
}
