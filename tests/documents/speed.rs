//! What documents cost Neovim, in counted work; the figures go to stderr.

use rat_nvim::documents::editor::Editor;

use super::nvim::Nvim;
use super::work::work_of;
use crate::support::Amount;

fn numbered(lines: usize, width: usize) -> String {
    let lines: Vec<String> = (0..lines).map(|i| format!("{i:>0$}", width - 1)).collect();
    lines.join("\n") + "\n"
}

/// The most work that a key may have to wait for while a text of any length is read.
const SLICE: Amount = Amount { steps: 130_000, calls: 5_700, bytes: 1 << 20 };
/// All work for one line of a megabyte that an agent writes, or that is another one on disk.
const ONE_LINE: Amount = Amount { steps: 24_000, calls: 1_000, bytes: 10_000 };

/// Holds (Reading files): A text of ten megabytes is read from Neovim in small pieces of work.
#[tokio::test]
async fn ten_megabytes_are_read_in_small_pieces() {
    let nvim = Nvim::start("speed-read").await;
    let path = nvim.edit("big.txt", numbered(200_000, 52)).await;
    nvim.command("call setline(7, 'unsaved')").await;
    let found = nvim.editor.find(&path, None).await.unwrap().unwrap();
    let snapshot = nvim.editor.snapshot(found.buffer.id);
    let (text, work) = work_of(&nvim, "10 MB, snapshot", snapshot).await;
    assert_eq!(text.unwrap().1.len(), 200_000);
    work.expect_pieces_within("a snapshot", SLICE);
    let part = nvim.read_part(&path, Some(150_000), Some(50));
    let (part, work) = work_of(&nvim, "10 MB, 50 lines", part).await;
    assert_eq!(part.unwrap().lines().count(), 50);
    work.expect_within("50 lines", SLICE);
    let (whole, work) = work_of(&nvim, "10 MB, whole", nvim.read(&path)).await;
    assert_eq!(whole.unwrap().len(), 200_000 * 52 - 44);
    work.expect_pieces_within("the whole text", SLICE);
}

/// Holds (Writing files): A line of a buffer of 20,000 is written by the work for one line, and reported as one line.
#[tokio::test]
async fn a_megabyte_is_written_by_its_one_line() {
    let nvim = Nvim::start("speed-write").await;
    let content = numbered(20_000, 52);
    let path = nvim.edit("big.txt", &content).await;
    nvim.lua("listen()").await;
    for round in 0..4 {
        let line = format!("changed {round}\n");
        let new = content.replacen("  10000\n", &line, 1);
        let write = Box::pin(nvim.write(&path, &new));
        let (written, work) = work_of(&nvim, "1 MB, one line written", write).await;
        assert_eq!(written.unwrap().hunks.len(), 1);
        assert_eq!(nvim.disk("big.txt"), new);
        work.expect_within("one line", ONE_LINE);
    }
    assert_eq!(nvim.eval("table.concat(seen, ' ')").await, ["10000-10001>10001"; 4].join(" "));
}

/// Both what the first change costs and what the next one does; the user's own unsaved change is far away.
/// Holds (Changes on disk): A buffer of 20,000 lines follows one changed line by the work for one line, and reports one line.
#[tokio::test]
async fn twenty_thousand_lines_follow_one_line_on_disk_by_one_line() {
    let nvim = Nvim::start("speed-follow").await;
    nvim.lua("require('rat.document').start()").await;
    let content = numbered(20_000, 52);
    for name in ["saved", "unsaved"] {
        let path = nvim.edit(name, &content).await;
        if name == "unsaved" {
            nvim.command("call setline(9, 'user')").await;
            // It went with the prompt.
            nvim.read(&path).await.unwrap();
        }
        // As at the beginning of a turn.
        nvim.files.record_baseline(&path).await.unwrap();
        nvim.lua("listen()").await;
        for text in ["first\n", "second\n"] {
            nvim.put(name, content.replacen("  10000\n", text, 1));
            let what = format!("1 MB, one line on disk, {name}, {}", text.trim());
            let (written, work) = work_of(&nvim, &what, nvim.disk_changed(&path)).await;
            let written = written.unwrap().unwrap();
            assert_eq!((written.hunks.len(), written.unresolved.len()), (1, 0));
            assert_eq!(nvim.disk(name).len(), content.len() - 8 + text.len());
            work.expect_within(&what, ONE_LINE);
        }
        let seen = ["10000-10001>10001"; 2].join(" ");
        assert_eq!(nvim.eval("table.concat(seen, ' ')").await, seen);
        assert_eq!(nvim.eval("vim.trim(vim.fn.getline(10001))").await, "second");
    }
}
