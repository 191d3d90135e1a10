//! Large texts: what a write costs the user who types meanwhile. Figures go to stderr.

use std::io::Write;
use std::time::{Duration, Instant};

use super::nvim::Nvim;

/// Wide, for busy machines that build and test at once; alone it is a tenth of that.
const SLOW: Duration = Duration::from_secs(2);

/// The longest time in which Neovim's main loop did nothing else, `_G.stop`.
const WATCH: &str = "
_G.stop, _G.last = 0, vim.uv.hrtime()
vim.uv.new_timer():start(0, 1, function()
  local now = vim.uv.hrtime()
  stop, last = math.max(stop, now - last), now
end)";

async fn measured<T>(nvim: &Nvim, what: &str, work: impl Future<Output = T>) -> (T, Duration) {
    nvim.lua("_G.stop, _G.last = 0, vim.uv.hrtime()").await;
    let started = Instant::now();
    let done = work.await;
    let took = started.elapsed();
    let stop = Duration::from_nanos(nvim.eval("stop").await.parse().unwrap());
    // A figure that cannot be shown is no failure.
    let _ = writeln!(std::io::stderr(), "{what}: {took:?}, longest stop {stop:?}");
    (done, stop)
}

/// Holds (Encodings and line endings): One word of a 10 MB line is changed as one word.
#[tokio::test]
async fn one_line_of_ten_megabytes_is_changed_by_its_word() {
    let nvim = Nvim::start("large-line").await;
    let line = "0123456789".repeat(1_000_000);
    let path = nvim.edit("line.json", format!("{line}\n")).await;
    nvim.lua(WATCH).await;
    nvim.lua(
        "_G.bytes = {}
         vim.api.nvim_buf_attach(0, false, {
           on_bytes = function(_, _, _, _, _, _, _, _, old, _, _, new)
             table.insert(bytes, old .. '>' .. new)
           end,
         })",
    )
    .await;
    // How often a whole line is fetched.
    nvim.lua(
        "_G.fetched = 0
         local get_lines = vim.api.nvim_buf_get_lines
         vim.api.nvim_buf_get_lines = function(...)
           local lines = get_lines(...)
           fetched = fetched + (#(lines[1] or '') > 1e6 and 1 or 0)
           return lines
         end",
    )
    .await;
    // What `:write` alone costs, the user's part of it.
    let ((), save) =
        measured(&nvim, "one line of 10 MB, :write", nvim.command("silent write")).await;
    let (read, _) = measured(&nvim, "one line of 10 MB, read", nvim.read(&path)).await;
    assert_eq!(read.unwrap(), format!("{line}\n"));
    let mut new = line.clone();
    for round in 0..2 {
        new.replace_range(5_000_000..5_000_004, ["word", "more"][round]);
        let sent = format!("{new}\n");
        let (written, stop) =
            measured(&nvim, "one line of 10 MB, write", Box::pin(nvim.write(&path, &sent))).await;
        assert_eq!(written.unwrap().hunks.len(), 1);
        assert!(nvim.disk("line.json") == sent);
        assert!(nvim.eval("vim.fn.getline(1)").await == new);
        // The one time is for us to have the text as it is now.
        assert_eq!(nvim.eval("fetched").await, (round + 1).to_string());
        assert!(stop < save * 3 + SLOW, "{stop:?}, of which :write {save:?}");
    }
    assert_eq!(nvim.eval("table.concat(bytes, ' ')").await, "4>4 4>4");
    nvim.command("undo").await;
    assert!(nvim.text().await.contains("word"), "one step each");
}

/// Holds (Encodings and line endings): A few lines of 200,000 are changed as those few.
#[tokio::test]
async fn two_hundred_thousand_lines_are_changed_by_their_few() {
    let nvim = Nvim::start("large-lines").await;
    let text = super::nvim::lines(200_000);
    let path = nvim.edit("lines.txt", &text).await;
    nvim.lua(WATCH).await;
    nvim.lua("listen()").await;
    let ((), save) = measured(&nvim, "200 000 lines, :write", nvim.command("silent write")).await;
    let new = text.replace("line 7\n", "seven\n").replace("line 199990\n", "");
    let (written, stop) =
        measured(&nvim, "200 000 lines, write", Box::pin(nvim.write(&path, &new))).await;
    assert_eq!(written.unwrap().hunks.len(), 2);
    assert!(nvim.disk("lines.txt") == new);
    assert_eq!(nvim.eval("table.concat(seen, ' ')").await, "199990-199991>199990 7-8>8");
    assert!(stop < save * 3 + SLOW, "{stop:?}, of which :write {save:?}");
    // Unsaved changes: merged with the file apart from the buffer.
    nvim.command("call setline(100000, 'user')").await;
    let newer = new.replace("line 50000\n", "agent\n");
    let (written, _) =
        measured(&nvim, "200 000 lines, unsaved", Box::pin(nvim.write(&path, &newer))).await;
    assert_eq!(written.unwrap().hunks.len(), 1);
    assert!(nvim.disk("lines.txt") == newer);
    assert_eq!(nvim.eval("vim.fn.getline(100000)").await, "user");
    // And on disk.
    nvim.lua("require('rat.document').start()").await;
    let newest = newer.replace("line 60000\n", "disk\n");
    nvim.put("lines.txt", &newest);
    let (adopted, stop) = measured(&nvim, "200 000 lines, adopted", nvim.disk_changed(&path)).await;
    assert_eq!(adopted.unwrap().unwrap().hunks.len(), 1);
    assert!(stop < SLOW, "{stop:?}");
}
