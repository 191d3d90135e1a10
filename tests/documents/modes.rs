//! Writes that come while the user is in the middle of something.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_nvim::core::messages::files::Consent;
use rat_nvim::core::messages::policy::WriteDirty;
use rat_nvim::documents::{AgentChange, DocumentError, WriteRequest};

use super::nvim::{Nvim, author};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
const MODE: &str = "vim.api.nvim_get_mode().mode";

/// Ten lines with one before the others and the second changed: what the agent makes.
fn agents() -> String {
    TEN.replace("1\n2\n", "0\n1\ntwo\n")
}

/// Holds (Buffers in unusual states): Replace mode continues across a write, and `<BS>` restores the replaced text.
#[tokio::test]
async fn replace_mode_goes_on_and_gives_back_what_it_replaced() {
    let nvim = Nvim::start("modes-replace").await;
    let path = nvim.edit("a.txt", TEN.replace("5\n", "five\n")).await;
    nvim.type_until("5GR", MODE, "R").await;
    nvim.write(&path, &agents().replace("5\n", "five\n")).await.unwrap();
    nvim.type_until("FI", "vim.fn.getline('.')", "FIve").await;
    nvim.write(&path, &agents().replace("5\n", "five\n").replace("9\n", "nine\n")).await.unwrap();
    assert_eq!(nvim.eval(MODE).await, "R");
    nvim.type_until("V", "vim.fn.getline('.')", "FIVe").await;
    nvim.type_until("<BS><BS>", "vim.fn.getline('.')", "Five").await;
    nvim.type_until("<Esc>", MODE, "n").await;
    let text = agents().replace("5\n", "Five\n").replace("9\n", "nine\n");
    assert_eq!(nvim.text().await + "\n", text);
    assert_eq!(nvim.disk("a.txt"), text.replace("Five", "five"), "what is typed stays unsaved");
}

/// Holds (Buffers in unusual states): A Visual selection stays on its text.
#[tokio::test]
async fn a_visual_selection_stays_on_its_text() {
    let nvim = Nvim::start("modes-visual").await;
    let base = TEN.replace("5\n6\n", "five\nsix\n");
    let agent = base.replace("1\n2\n", "0\n1\ntwo\n").replace("9\n", "");
    for (number, (keys, mode, left)) in [
        ("5GVj", "V", ""),
        ("6GVk", "V", ""),
        ("5Glvjl", "v", "f\n"),
        ("6Gvk$h", "v", "fivix\n"),
        ("5G<C-v>j", "\u{16}", "ive\nix\n"),
        ("5Glvjl<C-g>", "s", "fd\n"),
        ("5GVj<C-g>", "S", "d"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.txt");
        let path = nvim.edit(&name, &base).await;
        nvim.type_until(keys, MODE, mode).await;
        nvim.write(&path, &agent).await.unwrap();
        assert_eq!(nvim.eval(MODE).await, mode);
        assert_eq!(nvim.disk(&name), agent);
        let after = if mode.eq_ignore_ascii_case("s") { "d<Esc>" } else { "d" };
        nvim.type_until(after, MODE, "n").await;
        assert_eq!(nvim.text().await + "\n", agent.replace("five\nsix\n", left), "{keys}");
        nvim.command("bwipeout!").await;
    }
}

/// Holds (Buffers in unusual states): A pending operator takes the lines it was typed for.
#[tokio::test]
async fn an_operator_takes_the_lines_it_was_typed_for() {
    let nvim = Nvim::start("modes-operator").await;
    nvim.edit("a.txt", TEN).await;
    let other = nvim.put("closed.txt", "1\n");
    nvim.lua(COUNT).await;
    nvim.type_until("5Gd", MODE, "no").await;
    let waiting = write(&nvim, agents());
    nvim.type_until("", "refused > 1", "true").await;
    nvim.write(&other, "2\n").await.unwrap();
    assert_eq!((nvim.eval(MODE).await, nvim.text().await + "\n"), ("no".into(), TEN.into()));
    nvim.type_until("d", MODE, "n").await;
    waiting.await.unwrap().unwrap();
    assert_eq!(nvim.text().await + "\n", agents().replace("5\n", ""));
    assert_eq!(nvim.disk("a.txt"), agents(), "what the user did stays unsaved");
}

/// Holds (Buffers in unusual states): The command line stays as typed.
#[tokio::test]
async fn a_command_line_stays_as_typed() {
    let nvim = Nvim::start("modes-cmdline").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.type_until(":call setline(1, 'us", "vim.fn.getcmdline()", "call setline(1, 'us").await;
    nvim.write(&path, &agents()).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), agents());
    nvim.type_until("er')<CR>", "vim.fn.getline(1)", "user").await;
    assert_eq!(nvim.text().await + "\n", agents().replacen("0\n", "user\n", 1));
}

/// Holds (Buffers in unusual states): The command-line window stays open.
#[tokio::test]
async fn the_command_line_window_stays_open() {
    let nvim = Nvim::start("modes-cmdwin").await;
    let path = nvim.edit("a.txt", TEN).await;
    nvim.command("autocmd BufWritePre * call append('$', 'formatted')").await;
    nvim.lua("vim.fn.histadd(':', 'echo')").await;
    nvim.type_until("q:", "vim.fn.getcmdwintype()", ":").await;
    nvim.write(&path, &agents()).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), agents() + "formatted\n");
    assert_eq!(nvim.eval("vim.fn.getcmdwintype()").await, ":");
    // With unsaved changes the file is written by us, and Neovim takes note of it later.
    let buffer = nvim.eval("vim.fn.bufnr('a.txt')").await;
    nvim.lua(&format!("vim.api.nvim_buf_set_lines({buffer}, 0, 1, false, {{ 'user' }})")).await;
    nvim.write(&path, &(agents().replace("9\n", "nine\n") + "formatted\n")).await.unwrap();
    assert_eq!(nvim.disk("a.txt"), agents().replace("9\n", "nine\n") + "formatted\n");
    nvim.type_until(":quit<CR>", "vim.fn.getcmdwintype()", "").await;
    nvim.command("autocmd! BufWritePre").await;
    nvim.type_until(":write<CR>", "vim.bo.modified", "false").await;
    nvim.asks_nothing().await;
    let text = agents().replacen("0\n", "user\n", 1).replace("9\n", "nine\n") + "formatted\n";
    assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (text.clone(), text));
}

/// Two ways in which Neovim waits for a key and lets nobody change text (`:help textlock`).
const LOCKS: [(&str, &str); 2] = [
    ("nnoremap <expr> X getcharstr()", "5GX"),
    ("set completefunc={_,__->getcharstr()=='l'?-3:-3}", "5GA<C-x><C-u>"),
];

/// Counts what is refused because of the lock.
pub(crate) const COUNT: &str = "
_G.refused = 0
local buffers = require('rat.document.buffers')
for _, name in ipairs({ 'write', 'apply', 'follow_disk' }) do
  local original = buffers[name]
  buffers[name] = function(...)
    local result = original(...)
    refused = refused + (result.busy and 1 or 0)
    return result
  end
end";

async fn lock(nvim: &Nvim, lock: (&str, &str)) {
    nvim.command(lock.0).await;
    nvim.lua(COUNT).await;
    nvim.type_until(lock.1, "pcall(vim.api.nvim_buf_set_lines, 0, 0, 0, true, {})", "false").await;
}

fn write(
    nvim: &Nvim,
    content: String,
) -> tokio::task::JoinHandle<Result<AgentChange, DocumentError>> {
    let (path, files) = (nvim.path("a.txt"), Arc::clone(&nvim.files));
    let request = WriteRequest {
        by: author(),
        path,
        content,
        base: None,
        dirty: WriteDirty::default(),
        repeats: false,
        consent: Consent::NotNeeded,
    };
    tokio::spawn(async move { files.write(request).await })
}

/// Holds (Buffers in unusual states): A write waits while text is locked, and delays no other.
#[tokio::test]
async fn a_write_waits_while_text_is_locked_and_holds_up_no_other() {
    for (number, how) in LOCKS.into_iter().enumerate() {
        let nvim = Nvim::start(&format!("modes-lock-{number}")).await;
        nvim.edit("a.txt", TEN).await;
        let other = nvim.put("closed.txt", "1\n");
        lock(&nvim, how).await;
        let waiting = write(&nvim, agents());
        nvim.type_until("", "refused > 1", "true").await;
        nvim.write(&other, "2\n").await.unwrap();
        assert_eq!(
            (nvim.text().await + "\n", nvim.disk("a.txt")),
            (TEN.to_owned(), TEN.to_owned())
        );
        assert!(!waiting.is_finished());
        nvim.type_until("l", "vim.api.nvim_buf_line_count(0)", "11").await;
        waiting.await.unwrap().unwrap();
        assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (agents(), agents()));
    }
}

/// Holds (Buffers in unusual states): A symlink that takes the place of a file while its write waits is not followed.
#[tokio::test]
async fn a_link_put_in_the_place_of_a_file_while_its_write_waits_leads_nowhere() {
    let nvim = Nvim::start("modes-lock-link").await;
    let path = nvim.edit("a.txt", TEN).await;
    let outside = nvim.put("outside/a.txt", TEN);
    lock(&nvim, LOCKS[0]).await;
    let waiting = write(&nvim, agents());
    nvim.type_until("", "refused > 1", "true").await;
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let error = waiting.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("a symbolic link has taken its place"), "{error}");
    nvim.type_until("l", "pcall(vim.api.nvim_buf_set_lines, 0, 0, 0, true, {})", "true").await;
    assert_eq!(nvim.disk("outside/a.txt"), TEN);
    assert!(!nvim.text().await.contains("two"));
}

/// Holds (Buffers in unusual states): A file is followed as soon as text is no longer locked.
#[tokio::test]
async fn a_file_is_followed_once_text_is_not_locked_any_more() {
    let nvim = Nvim::start("modes-lock-adopt").await;
    nvim.lua("require('rat.document').start()").await;
    let path = nvim.edit("a.txt", TEN).await;
    lock(&nvim, LOCKS[0]).await;
    nvim.put("a.txt", agents());
    let files = Arc::clone(&nvim.files);
    let waiting = tokio::spawn(async move { files.disk_changed(&path, &author()).await });
    nvim.type_until("", "refused > 1", "true").await;
    nvim.type_until("l", "vim.api.nvim_buf_line_count(0)", "11").await;
    waiting.await.unwrap().unwrap();
    assert_eq!(nvim.eval("vim.bo.modified").await, "false");
    assert_eq!(nvim.text().await + "\n", agents());
}

/// Holds (Buffers in unusual states): If text stays locked, the error says what to do.
#[tokio::test]
async fn a_lock_that_stays_is_an_error_that_says_what_to_do() {
    let nvim = Nvim::start("modes-lock-stays").await;
    nvim.edit("a.txt", TEN).await;
    lock(&nvim, LOCKS[0]).await;
    let started = Instant::now();
    let error = write(&nvim, agents()).await.unwrap().unwrap_err();
    assert!(
        matches!(error, DocumentError::Held(_)) && error.to_string().contains("<Esc>"),
        "{error}"
    );
    assert!(started.elapsed() > Duration::from_secs(2), "it was tried for a while");
    assert!(nvim.eval("refused").await.parse::<u32>().unwrap() < 60, "and not all the time");
    nvim.type_until("l", MODE, "n").await;
    assert_eq!((nvim.text().await + "\n", nvim.disk("a.txt")), (TEN.to_owned(), TEN.to_owned()));
    write(&nvim, agents()).await.unwrap().unwrap();
}

/// Holds (Buffers in unusual states): 'undolevels' stay as they are.
#[tokio::test]
async fn undolevels_stay_as_they_are() {
    let nvim = Nvim::start("modes-undolevels").await;
    for (set, global, local) in [
        ("set undolevels=-1", "-1", "-123456"),
        ("set undolevels=1000 | setlocal undolevels=-1", "1000", "-1"),
        ("setlocal undolevels=3", "1000", "3"),
        ("setlocal undolevels=0", "1000", "0"),
    ] {
        let path = nvim.edit(&format!("{local}.txt"), TEN).await;
        nvim.command(set).await;
        nvim.write(&path, &agents()).await.unwrap();
        assert_eq!(
            (nvim.text().await + "\n", nvim.disk(&format!("{local}.txt"))),
            (agents(), agents()),
            "{set}"
        );
        assert_eq!(nvim.eval("vim.go.undolevels").await, global, "{set}");
        let own = "vim.api.nvim_get_option_value('undolevels', { buf = 0 })";
        assert_eq!(nvim.eval(own).await, local, "{set}");
        if local == "3" {
            nvim.command("undo").await;
            assert_eq!(nvim.text().await + "\n", TEN);
        }
        nvim.command("bwipeout!").await;
    }
}
