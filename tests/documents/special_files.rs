//! What is no file, is no file any more, or cannot be written.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use rat_nvim::core::messages::agent::NOT_FOUND;

use super::nvim::{Nvim, within};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// Holds (Buffers in unusual states): Pipes, devices and folders are errors and block nothing.
#[tokio::test]
async fn pipes_devices_and_folders_are_told_and_hold_up_nobody() {
    let nvim = Nvim::start("special-pipes").await;
    nvim.lua("assert(vim.fn.system({ 'mkfifo', 'pipe' }) == '')").await;
    fs::create_dir(nvim.path("folder")).unwrap();
    symlink("pipe", nvim.path("link")).unwrap();
    let paths = ["pipe", "folder", "link"].map(|name| nvim.path(name));
    for path in paths.iter().chain([&"/dev/null".into(), &"/dev/zero".into()]) {
        for error in [nvim.read(path).await.map(drop), nvim.write(path, "a\n").await.map(drop)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{}: {error}", path.display());
        }
        assert!(nvim.disk_changed(path).await.unwrap().is_none());
        within(nvim.files.record_baseline(path)).await.unwrap();
    }
}

/// Holds (Buffers in unusual states): A folder in the place of an open file changes nothing.
#[tokio::test]
async fn a_folder_in_the_place_of_an_open_file_changes_nothing() {
    let nvim = Nvim::start("special-folder").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.read(&path).await.unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let tick = nvim.eval("vim.b.changedtick").await;
    for error in [nvim.read(&path).await.map(drop), nvim.write(&path, "a\n").await.map(drop)] {
        assert!(error.unwrap_err().to_string().contains("not a regular file"));
    }
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    assert_eq!(nvim.eval("vim.b.changedtick").await, tick);
    assert_eq!(
        (nvim.text().await + "\n", nvim.eval("vim.bo.modified").await),
        (TEN.into(), "false".into())
    );
    // A file in the place of a folder.
    fs::write(nvim.path("file"), "").unwrap();
    let below = nvim.path("file/below/a.txt");
    let error = nvim.write(&below, "a\n").await.unwrap_err().to_string();
    assert!(error.contains("could not be"), "{error}");
}

/// Holds (Buffers in unusual states): A file that vanishes between read and write is written again.
#[tokio::test]
async fn a_file_that_vanishes_between_read_and_write_is_there_again() {
    let nvim = Nvim::start("special-vanished").await;
    let new = TEN.replace("2\n", "two\n");
    for name in ["open.txt", "unsaved.txt", "folder/open.txt", "folder/closed.txt", "closed.txt"] {
        let path = nvim.put(name, TEN);
        if !name.contains("closed") {
            nvim.open(name).await;
        }
        nvim.read(&path).await.unwrap();
        if name.starts_with("folder") {
            fs::remove_dir_all(nvim.path("folder")).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let unsaved = name == "unsaved.txt";
        if unsaved {
            nvim.command("call setline(9, 'user')").await;
            assert_eq!(nvim.read(&path).await.unwrap(), TEN.replace("9\n", "user\n"));
        } else {
            assert_eq!(nvim.read(&path).await.unwrap_err().code(), NOT_FOUND, "{name}");
        }
        let gone = nvim.disk_changed(&path).await.unwrap();
        assert_eq!(gone.is_some_and(|gone| gone.deleted), !name.contains("closed"), "{name}");
        let sent = if unsaved { new.replace("9\n", "user\n") } else { new.clone() };
        nvim.write(&path, &sent).await.unwrap();
        assert_eq!(nvim.disk(name), sent, "{name}");
        if !name.contains("closed") {
            assert_eq!(nvim.text().await + "\n", sent, "{name}");
            nvim.command("undo").await;
            assert!(!nvim.text().await.contains("two"), "one step");
            nvim.command("redo | silent write").await;
            nvim.asks_nothing().await;
        }
    }
}

/// Holds (Buffers in unusual states): Unsaved text is still read when its folder is gone.
#[tokio::test]
async fn unsaved_text_is_found_when_the_folder_is_gone() {
    let nvim = Nvim::start("special-gone").await;
    let path = nvim.edit("one/two/a.txt", TEN).await;
    nvim.command("call setline(1, 'user')").await;
    fs::remove_dir_all(nvim.path("one")).unwrap();
    assert_eq!(nvim.read(&path).await.unwrap(), TEN.replacen("1\n", "user\n", 1));
}

const FULL: &str = "RAT_TEST_FULL_DISK";

/// A process that may write no more than some blocks to a file finds the disk full: for it, and the
/// Neovim it starts, each write beyond fails as on one.
/// Holds (Buffers in unusual states): A full disk leaves file and buffer as they were.
#[test]
fn a_full_disk_leaves_file_and_buffer_as_they_were() {
    if std::env::var_os(FULL).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(write_to_a_full_disk());
    }
    let this = std::env::current_exe().unwrap();
    let name = "documents::special_files::a_full_disk_leaves_file_and_buffer_as_they_were";
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(this)
        .arg(name)
        .env(FULL, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stdout) + String::from_utf8_lossy(&limited.stderr);
    assert!(limited.status.success() && said.contains("1 passed"), "{said}");
}

async fn write_to_a_full_disk() {
    let nvim = Nvim::start("special-full").await;
    let large = "x".repeat(99) + "\n";
    let large = large.repeat(5_000);
    assert!(fs::write(nvim.path("probe"), &large).is_err(), "the limit holds");
    for name in ["open", "unsaved", "closed", "linked", "new"] {
        let path = nvim.path(name);
        if name != "new" {
            nvim.put(name, TEN);
        }
        if name == "linked" {
            fs::hard_link(&path, nvim.path("other name")).unwrap();
        }
        if name == "open" || name == "unsaved" {
            nvim.open(name).await;
        }
        if name == "unsaved" {
            nvim.command("call setline(1, 'user')").await;
        }
        let modified = nvim.eval("vim.bo.modified").await;
        let text = nvim.text().await;
        let error = nvim.write(&path, &(TEN.to_owned() + &large)).await.unwrap_err().to_string();
        assert!(error.contains("written") && !error.contains("traceback"), "{name}: {error}");
        if name == "new" {
            assert!(!path.exists());
        } else {
            assert!(nvim.disk(name) == TEN, "{name}");
        }
        assert!(nvim.text().await == text, "{name}");
        assert_eq!(nvim.eval("vim.bo.modified").await, modified, "{name}");
        let files = fs::read_dir(nvim.path("")).unwrap();
        let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert!(names.len() <= 6, "nothing is left lying: {names:?}");
    }
    nvim.command("buffer open | call setline(1, 'user')").await;
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    // What fits goes on.
    nvim.write(&nvim.path("open"), "fits\n").await.unwrap();
    assert_eq!(nvim.disk("open"), "fits\n");
}
