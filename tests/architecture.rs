//! The house rules of `src/lib.rs` and `doc/contributing.md`, held by reading the files as text. A made-up tree that
//! breaks each rule shows that the checker sees it.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

#[path = "architecture/claims.rs"]
mod claims;
#[path = "architecture/dependencies.rs"]
mod dependencies;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/tree.rs"]
mod tree;

use std::path::{Path, PathBuf};

use tree::Tree;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_house_is_in_order() {
    let problems = rules::check(&Tree::read(repository()));
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn the_licences_of_all_dependencies_are_known() {
    let problems = dependencies::check(repository());
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn what_the_words_claim_is_so() {
    let problems = claims::check(repository());
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// A tree in a temporary folder that is in order but for one file.
fn problems_with(name: &str, text: &str) -> Vec<String> {
    let folder = Folder::new(name);
    let files = [
        ("src/lib.rs", "//! The map of the made-up house.\n"),
        (
            "src/core/mod.rs",
            "//! The pure core: events in, effects out.\nuse crate::session::Turn;\n",
        ),
        ("src/session/mod.rs", "//! The life of a session; knows no editor.\n"),
        (
            "lua/rat/ui.lua",
            "--- The only place that writes view buffers.\nlocal M = {}\nreturn M\n",
        ),
        (name, text),
    ];
    for (name, text) in files {
        let path = folder.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    rules::check(&Tree::read(&folder.0))
}

/// Removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let unique = format!("rat-house-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(unique).join(name.replace(['/', '.'], "_"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap_or(&self.0));
    }
}

#[test]
fn a_house_in_order_has_no_problems() {
    let text = "//! The words of a turn; knows no editor.\n\nuse super::Turn;\nuse crate::session::entry;\n";
    assert_eq!(problems_with("src/session/turn.rs", text), [""; 0]);
    let text = "--- Windows of the chat; it draws nothing in them.\nlocal M = { title = x }\n\
        vim.api.nvim_open_win(0, true, {\n  win = f(1),\n})\nreturn M\n";
    assert_eq!(problems_with("lua/rat/window.lua", text), [""; 0]);
}

#[test]
fn each_broken_rule_is_found() {
    let header = "//! What this made-up file owns.\n";
    let lua = "--- What this made-up file owns.\n";
    let broken = [
        (
            "src/session/up.rs",
            format!("{header}use crate::core::State;\n"),
            "imports upwards: core",
        ),
        (
            "src/session/path.rs",
            format!("{header}fn f() {{ crate::view::draw(); }}\n"),
            "imports upwards: view",
        ),
        (
            "src/edit/group.rs",
            format!("{header}use crate::{{\n    edit::Text,\n    core,\n}};\n"),
            "imports upwards: core",
        ),
        (
            "src/session/twice.rs",
            format!("{header}use super::super::bridge::run;\n"),
            "imports upwards: bridge",
        ),
        ("src/view/side.rs", format!("{header}use crate::acp::Peer;\n"), "imports upwards: acp"),
        (
            "src/nvim/side.rs",
            format!("{header}use crate::files::Document;\n"),
            "imports upwards: files",
        ),
        (
            "src/tour/help.rs",
            format!("{header}use crate::session::Turn;\n"),
            "imports upwards: session",
        ),
        ("src/attic/mod.rs", format!("{header}use crate::edit::Text;\n"), "has no floor"),
        (
            "src/core/clock.rs",
            format!("{header}use std::time::Instant;\n"),
            "is pure, yet names Instant",
        ),
        (
            "src/view/task.rs",
            format!("{header}pub async fn draw() {{}}\n"),
            "is pure, yet names async fn",
        ),
        ("src/nvim/second.rs", format!("{header}use nvim_rs::Neovim;\n"), "holds nvim_rs"),
        ("src/edit/bare.rs", "use std::fmt;\n".to_owned(), "begins with no //! sentence"),
        ("src/edit/long.rs", format!("{header}{}", "\n".repeat(500)), "has 501 lines"),
        ("src/acp/print.rs", format!("{header}fn f() {{ println!(\"x\"); }}\n"), "println!("),
        (
            "tests/slow.rs",
            format!("{header}fn f() {{ std::thread::sleep(TIME); }}\n"),
            "thread::sleep",
        ),
        (
            "src/acp/doze.rs",
            format!("{header}fn f() {{}}\n#[cfg(test)]\nfn g() {{ time::sleep(T); }}\n"),
            "4: holds time::sleep",
        ),
        ("tests/skip.rs", format!("{header}#[ignore]\n"), "#[ignore"),
        (
            "lua/rat/write.lua",
            format!("{lua}vim.api.nvim_buf_set_lines(0, 0, -1, true, {{}})\n"),
            "nvim_buf_set_lines",
        ),
        ("lua/rat/shout.lua", format!("{lua}vim.notify('x')\n"), "vim.notify("),
        (
            "lua/rat/beside.lua",
            format!("{lua}local mark = {{ virt_text = {{}} }}\n"),
            "virt_text =",
        ),
        ("lua/rat/leak.lua", format!("{lua}_G.leak = 1\n"), "_G."),
        ("lua/rat/wait.lua", format!("{lua}vim.wait(10)\n"), "vim.wait("),
        ("lua/rat/bare.lua", "local M = {}\n".to_owned(), "begins with no --- sentence"),
        (
            "plugin/rat.lua",
            format!("{lua}local rat = require(\"rat\")\n"),
            "requires at the top level",
        ),
        ("doc/architecture.md", "\n".repeat(251), "has 251 lines"),
        ("doc/path.md", format!("see {}/design.md\n", "/work"), "a path of one machine"),
    ];
    for (name, text, problem) in broken {
        assert_found(name, &text, problem);
    }
}

#[test]
fn a_window_that_is_named_elsewhere_is_found() {
    let lua = "--- What this made-up file owns.\n";
    let broken = [
        (
            "lua/rat/frame.lua",
            format!("{lua}vim.api.nvim_open_win(0, true, {{\n  width = f(1),\n  title = x,\n}})\n"),
            "2: gives a window a title",
        ),
        (
            "lua/rat/foot.lua",
            format!("{lua}vim.api.nvim_win_set_config(0, {{ footer=x }})\n"),
            "gives a window a footer",
        ),
        (
            "lua/rat/place.lua",
            format!("{lua}pcall(vim.api.nvim_open_win, 0, true, place)\n"),
            "takes a window's place from elsewhere",
        ),
        (
            "lua/rat/move.lua",
            format!("{lua}vim.api.nvim_win_set_config(0, place)\n"),
            "takes a window's place from elsewhere",
        ),
    ];
    for (name, text, problem) in broken {
        assert_found(name, &text, problem);
    }
}

fn assert_found(name: &str, text: &str, problem: &str) {
    let problems = problems_with(name, text);
    let found = problems.iter().any(|found| found.contains(name) && found.contains(problem));
    assert!(found, "{name}: {problem:?} was not found, but: {problems:?}");
}

#[test]
fn words_in_comments_and_strings_break_no_rule() {
    let text = r##"//! Not tokio, no Instant.
// crate::core is upstairs
/* nor
tokio */
const A: &str = "tokio \" tokio";
const B: &str = r#"a " tokio"#;
const C: char = '"'; // tokio
"##;
    assert_eq!(problems_with("src/edit/talk.rs", text), [""; 0]);
    let text = r#"--- It never calls vim.wait(
local M = {} -- nor _G.x
--[[ vim.wait(
_G. ]]
M.text = [[it's vim.wait(]] .. '"_G.'
return M
"#;
    assert_eq!(problems_with("lua/rat/talk.lua", text), [""; 0]);
}

#[test]
fn code_after_strings_is_still_read() {
    let text =
        "//! What this made-up file owns.\nconst B: &str = r#\"\"\"#; use crate::core::State;\n";
    assert_eq!(
        problems_with("src/edit/after.rs", text),
        ["src/edit/after.rs:2: imports upwards: core"]
    );
    let text = "--- What this made-up file owns.\nlocal a = 'it\\'s \"' vim.wait(1)\n";
    assert_eq!(problems_with("lua/rat/after.lua", text), ["lua/rat/after.lua:2: holds vim.wait("]);
}

#[test]
fn a_licence_that_nobody_has_read_is_found() {
    let allowed = |name: &str, licence: &str| dependencies::allowed(name, licence);
    assert!(allowed("serde", "MIT OR Apache-2.0") && allowed("x", "MIT/Apache-2.0"));
    assert!(allowed("y", "(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(allowed("nvim-rs", "LGPL-3.0"));
    assert!(!allowed("other", "LGPL-3.0") && !allowed("z", "GPL-3.0") && !allowed("w", ""));
    assert!(!allowed("v", "MIT AND GPL-3.0"));
}
