//! Large texts: what a write costs the user who types meanwhile, in counted work. Figures go to stderr.

use super::nvim::Nvim;
use super::work::work_of;
use crate::support::Amount;

/// All work for a few lines of a text, however long that is.
const FEW_LINES: Amount = Amount { steps: 40_000, calls: 1_500, bytes: 15_000 };

/// Holds (Encodings and line endings): One word of a 10 MB line is changed as one word.
#[tokio::test]
async fn one_line_of_ten_megabytes_is_changed_by_its_word() {
    let nvim = Nvim::start("large-line").await;
    let line = "0123456789".repeat(1_000_000);
    let path = nvim.edit("line.json", format!("{line}\n")).await;
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
    let (read, _) = work_of(&nvim, "one line of 10 MB, read", nvim.read(&path)).await;
    assert_eq!(read.unwrap(), format!("{line}\n"));
    let mut new = line.clone();
    for round in 0..2 {
        new.replace_range(5_000_000..5_000_004, ["word", "more"][round]);
        let sent = format!("{new}\n");
        let write = Box::pin(nvim.write(&path, &sent));
        let (written, work) = work_of(&nvim, "one line of 10 MB, write", write).await;
        assert_eq!(written.unwrap().hunks.len(), 1);
        assert!(nvim.disk("line.json") == sent);
        assert!(nvim.eval("vim.fn.getline(1)").await == new);
        // The one time is for us to have the text as it is now.
        assert_eq!(nvim.eval("fetched").await, (round + 1).to_string());
        // It is counted twice: where it is fetched, and where it is returned to us.
        let bytes = 2 * line.len() as u64 + FEW_LINES.bytes;
        work.expect_within("one line of 10 MB", Amount { bytes, ..FEW_LINES });
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
    nvim.lua("listen()").await;
    let new = text.replace("line 7\n", "seven\n").replace("line 199990\n", "");
    let write = Box::pin(nvim.write(&path, &new));
    let (written, work) = work_of(&nvim, "200 000 lines, write", write).await;
    assert_eq!(written.unwrap().hunks.len(), 2);
    assert!(nvim.disk("lines.txt") == new);
    assert_eq!(nvim.eval("table.concat(seen, ' ')").await, "199990-199991>199990 7-8>8");
    work.expect_within("a few lines", FEW_LINES);
    // Unsaved changes: merged with the file apart from the buffer.
    nvim.command("call setline(100000, 'user')").await;
    let newer = new.replace("line 50000\n", "agent\n");
    let write = Box::pin(nvim.write(&path, &newer));
    let (written, work) = work_of(&nvim, "200 000 lines, unsaved", write).await;
    work.expect_within("a few lines", FEW_LINES);
    assert_eq!(written.unwrap().hunks.len(), 1);
    assert!(nvim.disk("lines.txt") == newer);
    assert_eq!(nvim.eval("vim.fn.getline(100000)").await, "user");
    // And on disk.
    nvim.lua("require('rat.document').start()").await;
    let newest = newer.replace("line 60000\n", "disk\n");
    nvim.put("lines.txt", &newest);
    let adopt = nvim.disk_changed(&path);
    let (adopted, work) = work_of(&nvim, "200 000 lines, adopted", adopt).await;
    assert_eq!(adopted.unwrap().unwrap().hunks.len(), 1);
    work.expect_within("one line on disk", FEW_LINES);
}
