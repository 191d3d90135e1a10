//! What an agent does to a file while the user opens it, and what is told of it later than it happened.

use rat_nvim::core::messages::files::BufferEvent;

use super::nvim::{Nvim, session, within};

const FIVE: &str = "1\n2\n3\n4\n5\n";

async fn opened(nvim: &Nvim) {
    nvim.lua("require('rat.document').start()").await;
    nvim.open("a.txt").await;
    within(nvim.files.buffer(&nvim.path("a.txt"), BufferEvent::Read)).await.unwrap();
}

/// Of its read we are told when it has written already.
/// Holds (Changes on disk): A read reported after a write does not count as having seen it.
#[tokio::test]
async fn a_read_that_is_told_after_the_write_is_not_taken_for_knowing_it() {
    for unsaved in [false, true] {
        let nvim = Nvim::start(&format!("late-read-{unsaved}")).await;
        let path = nvim.put("a.txt", FIVE);
        opened(&nvim).await;
        if unsaved {
            nvim.command("call setline(5, 'user')").await;
        }
        nvim.put("a.txt", FIVE.replace("2\n", "two\n"));
        within(nvim.files.agent_read_disk(&path, &session())).await.unwrap();
        let told = nvim.disk_changed(&path).await.unwrap().expect("it is told");
        assert_eq!((told.unresolved, told.hunks.len()), (Vec::new(), 1));
        let last = if unsaved { "user\n" } else { "5\n" };
        let both = FIVE.replace("2\n", "two\n").replace("5\n", last);
        assert_eq!(nvim.text().await + "\n", both);
        assert_eq!(nvim.eval("vim.bo.modified").await, unsaved.to_string());
        // The next one it makes of what it wrote.
        nvim.put("a.txt", FIVE.replace("2\n", "zwei\n"));
        let told = nvim.disk_changed(&path).await.unwrap().expect("it is told");
        assert_eq!((told.unresolved, told.hunks.len()), (Vec::new(), 1));
        nvim.asks_nothing().await;
    }
}

/// Another session saves a line that the user has only typed; both changes are found at once, and taken for those of the first.
/// Holds (Changes on disk): A line that somebody else saved after an agent's first read is not overwritten by that agent.
#[tokio::test]
async fn a_line_that_was_saved_by_another_after_the_first_read_stays() {
    let nvim = Nvim::start("late-other").await;
    let path = nvim.put("a.txt", FIVE);
    opened(&nvim).await;
    nvim.command("call setline(5, 'user')").await;
    nvim.put("a.txt", FIVE.replace("2\n", "two\n"));
    within(nvim.files.agent_read_disk(&path, &session())).await.unwrap();
    nvim.put("a.txt", FIVE.replace("2\n", "two\n").replace("5\n", "user\n"));
    nvim.disk_changed(&path).await.unwrap();
    nvim.put("a.txt", FIVE.replace("2\n", "two\n").replace("1\n", "one\n"));
    nvim.disk_changed(&path).await.unwrap().expect("it is told");
    assert_eq!(nvim.text().await, "one\ntwo\n3\n4\nuser");
    nvim.asks_nothing().await;
}

/// Other plugins take their time after a file was read, and an agent writes it meanwhile.
/// Holds (Changes on disk): A change on disk is followed even between Neovim's read and its autocommands.
#[tokio::test]
async fn a_write_between_a_read_and_its_autocommands_is_followed() {
    for unsaved in [false, true] {
        let nvim = Nvim::start(&format!("late-stamp-{unsaved}")).await;
        let path = nvim.put("a.txt", FIVE);
        let slow = "vim.api.nvim_create_autocmd('BufReadPost', { callback = function()
            vim.fn.writefile({ '1', 'two', '3', '4', '5' }, 'a.txt')
        end })";
        nvim.lua(slow).await;
        opened(&nvim).await;
        if unsaved {
            nvim.command("call setline(5, 'user')").await;
        }
        let told = nvim.disk_changed(&path).await.unwrap().expect("it is told");
        if unsaved {
            // What the user began with is nowhere any more.
            assert!(!told.unresolved.is_empty());
        } else {
            assert_eq!((told.unresolved, told.hunks.len()), (Vec::new(), 1));
            assert_eq!(nvim.text().await + "\n", FIVE.replace("2\n", "two\n"));
            assert_eq!(nvim.eval("vim.bo.modified").await, "false");
        }
        nvim.asks_nothing().await;
    }
}

/// The same after a save.
/// Holds (Changes on disk): A change on disk is followed even between Neovim's save and its autocommands.
#[tokio::test]
async fn a_write_between_a_save_and_its_autocommands_is_followed() {
    let nvim = Nvim::start("late-save").await;
    let path = nvim.put("a.txt", FIVE);
    let slow = "vim.api.nvim_create_autocmd('BufWritePost', { callback = function()
        vim.fn.writefile({ '1', 'two', '3', '4', 'user' }, 'a.txt')
    end })";
    nvim.lua(slow).await;
    opened(&nvim).await;
    nvim.command("call setline(5, 'user') | silent write").await;
    within(nvim.files.buffer(&path, BufferEvent::Saved)).await.unwrap();
    let told = nvim.disk_changed(&path).await.unwrap().expect("it is told");
    assert_eq!((told.unresolved, told.hunks.len()), (Vec::new(), 1));
    let both = FIVE.replace("2\n", "two\n").replace("5\n", "user\n");
    assert_eq!(nvim.text().await + "\n", both);
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
}
