//! Documents that go, come back, move or change their mode under an open buffer.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::nvim::Nvim;

const THREE: &str = "1\n2\n3\n";

async fn start(name: &str) -> (Nvim, std::path::PathBuf) {
    let nvim = Nvim::start(name).await;
    let path = nvim.edit("a.txt", THREE).await;
    nvim.lua("require('rat.document').start()").await;
    nvim.read(&path).await.unwrap();
    (nvim, path)
}

/// Holds (Changes on disk): A deleted file leaves its text unsaved in the buffer.
#[tokio::test]
async fn a_deleted_file_leaves_its_text_unsaved_in_the_buffer() {
    let (nvim, path) = start("gone-deleted").await;
    fs::remove_file(&path).unwrap();
    let gone = nvim.disk_changed(&path).await.unwrap().unwrap();
    assert!(gone.deleted && gone.hunks.is_empty());
    assert_eq!(nvim.text().await + "\n", THREE);
    assert_eq!(nvim.eval("vim.bo.modified").await, "true");
    assert!(nvim.disk_changed(&path).await.unwrap().is_none(), "it is told once");
    nvim.command("checktime").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.eval("vim.v.errmsg").await, "", "no E211");
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.disk("a.txt"), THREE);
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
}

/// Holds (Changes on disk): A file that comes back is followed again.
#[tokio::test]
async fn a_file_that_comes_back_is_followed_again() {
    let (nvim, path) = start("gone-back").await;
    fs::remove_file(&path).unwrap();
    nvim.disk_changed(&path).await.unwrap().unwrap();
    nvim.put("a.txt", THREE.replace("2\n", "two\n"));
    nvim.disk_changed(&path).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "1\ntwo\n3");
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    nvim.command("checktime").await;
    nvim.asks_nothing().await;
}

/// Holds (Changes on disk): A file renamed by the user is followed under its new name.
#[tokio::test]
async fn a_renamed_file_stays_in_its_buffer_and_is_followed_under_its_new_name() {
    let (nvim, path) = start("gone-renamed").await;
    let new = nvim.path("b.txt");
    fs::rename(&path, &new).unwrap();
    assert!(nvim.disk_changed(&path).await.unwrap().unwrap().deleted);
    assert_eq!(nvim.text().await + "\n", THREE);
    nvim.open("b.txt").await;
    nvim.put("b.txt", THREE.replace("3\n", "three\n"));
    nvim.disk_changed(&new).await.unwrap().unwrap();
    assert_eq!(nvim.text().await, "1\n2\nthree");
}

/// Holds (Changes on disk): A file replaced by another of its name is followed.
#[tokio::test]
async fn a_file_replaced_by_another_of_its_name_is_followed() {
    let (nvim, path) = start("gone-replaced").await;
    let other = nvim.put("other.txt", THREE.replace("1\n", "one\n"));
    fs::rename(other, &path).unwrap();
    assert_eq!(nvim.disk_changed(&path).await.unwrap().unwrap().hunks.len(), 1);
    assert_eq!(nvim.text().await, "one\n2\n3");
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
}

/// Holds (Changes on disk): A file made executable is not a change, and stays executable.
#[tokio::test]
async fn a_file_made_executable_is_no_news_and_stays_executable() {
    let (nvim, path) = start("gone-mode").await;
    nvim.write(&path, &THREE.replace("2\n", "two\n")).await.unwrap();
    nvim.lua("listen()").await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(nvim.disk_changed(&path).await.unwrap().is_none());
    nvim.command("checktime").await;
    nvim.asks_nothing().await;
    assert_eq!(nvim.eval("#seen").await, "0", "it is not read again");
    nvim.write(&path, THREE).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    nvim.command("call setline(1, 'user')").await;
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn a_folder_in_place_of_a_file_changes_nothing() {
    let (nvim, path) = start("gone-folder").await;
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(nvim.disk_changed(&path).await.unwrap_or_default().is_none());
    assert_eq!(nvim.text().await + "\n", THREE);
    let error = nvim.write(&path, "new\n").await.unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
    assert_eq!(nvim.text().await + "\n", THREE);
}
