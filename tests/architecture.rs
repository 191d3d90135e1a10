//! The house rules of `src/lib.rs` and `doc/contributing.md`, held by reading the files as text. A made-up tree that
//! breaks each rule shows that the checker sees it.

mod circles;
mod claims;
mod dependencies;
mod messages;
mod rules;
mod rust_uses;
mod tree;

use crate::support::{TempFolder, repository};
use circles::Graph;
use tree::Tree;

#[test]
fn the_house_is_in_order() {
    let problems = rules::check(&Tree::read(repository()));
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Holds (Messages between Lua and the binary): Each message has a sender and a handler.
#[test]
fn each_message_has_two_ends() {
    let problems = messages::check(&Tree::read(repository()));
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn a_message_with_one_end_is_found() {
    const PAGE: &str = "## To Lua\n\n### status\n\n## From Lua\n\n### stop\n\n### buffer\n\n## Calls\n\n\
        ### rat.document.find(path, known)\n";
    const INBOX: &str = "local opens = { status = true }\nfunction handlers.status(payload)\nend\n";
    const LUA: &str = "rpc.notify(\"stop\", {})\nrequire(\"rat.rpc\").notify(\"buffer\", {})\n\
        -- rpc.notify(\"old\")\nfunction M.find(path, known)\nend\nvim.notify(\"text\")\n";
    let problems = |page: &str, inbox: &str, lua: &str| {
        let file =
            |name: &str, text: &str| tree::File { name: name.to_owned(), text: text.to_owned() };
        let files = vec![
            file("doc/messages.md", page),
            file("lua/rat/rpc/inbox.lua", inbox),
            file("lua/rat/document.lua", lua),
        ];
        messages::check(&Tree { files })
    };
    assert_eq!(problems(PAGE, INBOX, LUA), [""; 0]);
    let with = |page: &str| PAGE.replace("## From Lua", page);
    let found = [
        (
            problems(&with("### login\n\n## From Lua"), INBOX, LUA),
            "lua/rat/rpc/inbox.lua: has no handler for the message login",
        ),
        (
            problems(&with("## From Lua\n\n### login"), INBOX, LUA),
            "lua: has no sender for the message login",
        ),
        (
            problems(PAGE, &format!("{INBOX}function handlers.open()\nend\n"), LUA),
            "lua/rat/rpc/inbox.lua: has a handler for open, which is no message",
        ),
        (
            problems(PAGE, &INBOX.replace("status = true }", "status = true, open = true }"), LUA),
            "lua/rat/rpc/inbox.lua: has a handler for open, which is no message",
        ),
        (
            problems(PAGE, &format!("{INBOX}function handlers.status()\nend\n"), LUA),
            "lua/rat/rpc/inbox.lua: has two handlers for status",
        ),
        (
            problems(PAGE, INBOX, &format!("{LUA}rpc.request(\"paint\", {{}})\n")),
            "lua: has a sender for paint, which is no message",
        ),
        (
            problems(PAGE, INBOX, &LUA.replace("M.find(path, known)", "M.find(path)")),
            "lua/rat/document.lua: has no function M.find(path, known), which is called",
        ),
    ];
    for (problems, problem) in found {
        assert_eq!(problems, [problem]);
    }
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
    problems_in(&[(name, text)])
}

/// The same with several such files, the later in the place of the earlier.
fn problems_in(others: &[(&str, &str)]) -> Vec<String> {
    let folder = TempFolder::new();
    let files = [
        ("Cargo.toml", "[package]\nversion = \"9.8.7\"\n"),
        ("src/lib.rs", "//! The map of the made-up house.\n"),
        (
            "src/core/mod.rs",
            "//! The pure core: events in, effects out.\nuse crate::session::Turn;\n",
        ),
        ("src/session/mod.rs", "//! The life of a session; knows no editor.\n"),
        (
            "lua/rat/view/ui.lua",
            "--- The only place that writes view buffers.\nlocal M = {}\nreturn M\n",
        ),
    ];
    for (name, text) in files.iter().chain(others) {
        folder.file(name, text);
    }
    rules::check(&Tree::read(folder.path()))
}

#[test]
fn a_house_in_order_has_no_problems() {
    let text = "//! The words of a turn; knows no editor.\n\nuse super::Turn;\nuse crate::session::entry;\n";
    assert_eq!(problems_with("src/session/turn.rs", text), [""; 0]);
    let text = "--- Windows of the chat; it draws nothing in them.\nlocal M = { title = x }\n\
        vim.api.nvim_open_win(0, true, {\n  win = f(1),\n})\nreturn M\n";
    assert_eq!(problems_with("lua/rat/view/window.lua", text), [""; 0]);
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
            format!("{header}use crate::documents::Document;\n"),
            "imports upwards: documents",
        ),
        (
            "src/tour/help.rs",
            format!("{header}use crate::session::Turn;\n"),
            "imports upwards: session",
        ),
        ("tests/left_out.rs", header.to_owned(), "no binary of tests has it"),
        ("tests/left_out/mod.rs", header.to_owned(), "no binary of tests has it"),
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
            "lua/rat/ask/chooser_layout.lua",
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
fn circles_are_found_and_named() {
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    let found = |edges: &[(&str, &str)]| {
        circles::circles(&graph(edges)).into_iter().map(|names| names.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(found(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "a")]), [""; 0]);
    assert_eq!(found(&[("a", "b"), ("b", "c"), ("c", "b")]), ["b c b"]);
    assert_eq!(found(&[("a", "a")]), ["a a"]);
    // The shortest of a group, and each group once.
    let groups =
        [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "c"), ("x", "y"), ("y", "x")];
    assert_eq!(found(&groups), ["a b c a", "x y x"]);
}

#[test]
fn a_circle_of_rust_files_is_found() {
    let header = "//! What this made-up file owns.\n";
    let file = |text: &str| format!("{header}{text}\n");
    let (chat, turn) = ("src/core/chat.rs", "src/core/turn.rs");
    let circle = format!("a circle: {chat} -> {turn} -> {chat}");
    let ways = [
        ("use super::turn::Turn;", "use crate::core::chat::Chat;"),
        ("use crate::core::{turn::{Turn, Stop}, word};", "fn f(_: &super::chat::Chat) {}"),
        ("pub use super::turn as other;", "use super::{self, chat::{self, Chat}};"),
    ];
    for (first, other) in ways {
        let problems = problems_in(&[(chat, &file(first)), (turn, &file(other))]);
        assert_eq!(problems, std::slice::from_ref(&circle), "{first}");
    }
    // What only tests use, and what leads out of the program, is no circle.
    let of_tests = "#[cfg(test)]\nmod tests {\n    use super::super::chat::Chat;\n}";
    let first = file("use super::turn::Turn;");
    assert_eq!(problems_in(&[(chat, &first), (turn, &file(of_tests))]), [""; 0]);
    assert_eq!(problems_in(&[(chat, &first), (turn, &file("use other::core::chat;"))]), [""; 0]);
    // A folder's own file and one in it.
    let (folder, inside) = ("src/core/chat/mod.rs", "src/core/chat/turn.rs");
    let problems =
        problems_in(&[(folder, &file("use turn::Turn;")), (inside, &file("use super::Chat;"))]);
    assert_eq!(problems, [format!("a circle: {folder} -> {inside} -> {folder}")]);
}

#[test]
fn an_item_with_two_paths_or_names_is_found() {
    let header = "//! What this made-up file owns.\n";
    let file = |text: &str| format!("{header}{text}\n");
    let (room, word, other) = ("src/edit/mod.rs", "src/edit/word.rs", "src/edit/other.rs");
    let problem = |file: &str| format!("{file}: gives edit::word::Word a second path");
    let private = file("mod other;\nmod word;\npub use word::Word;");
    let alone = [(room, private.as_str()), (word, header)];
    assert_eq!(problems_in(&alone), [""; 0]);
    let again = file("pub use super::word::{self, Word};");
    let twice = [(other, again.as_str()), (room, &private), (word, header)];
    assert_eq!(problems_in(&twice), [problem(other)]);
    let public = file("pub mod word;\npub(crate) use word::Word;");
    assert_eq!(problems_in(&[(room, &public), (word, header)]), [problem(room)]);
    let renamed = file("use super::{word::Word as Text, hunks};");
    let imports = format!("{other}: imports word::Word as Text");
    assert_eq!(problems_in(&[(other, &renamed)]), [imports]);
}

#[test]
fn a_circle_of_lua_files_is_found() {
    let (ui, view) = ("lua/rat/view/ui.lua", "lua/rat/view/init.lua");
    let lua = "--- What this made-up file owns.\n";
    let first = format!("{lua}local view = require(\"rat.view\")\nreturn view\n");
    // What names that one in turn, at once or later.
    let ways = [
        "local ui = require(\"rat.view.ui\")\n",
        "local function f()\n  return require 'rat.view.ui'.draw()\nend\n",
        "local _, ui = pcall(require, \"rat.view.ui\")\n",
        "vim.bo.completefunc = \"v:lua.require'rat.view.ui'.draw\"\n",
    ];
    for way in ways {
        let other = format!("{lua}{way}return {{}}\n");
        let circle = format!("a circle: {view} -> {ui} -> {view}");
        assert_eq!(problems_in(&[(view, &other), (ui, &first)]), [circle], "{way}");
        assert_eq!(problems_in(&[(view, &other)]), [""; 0], "{way}");
    }
    let words = "-- as require(\"rat.view.ui\") does\nlocal required = { M.require, is_require }\n";
    assert_eq!(problems_in(&[(ui, &format!("{lua}{words}return M\n"))]), [""; 0]);
    let unnamed = format!("{lua}return require(name)\n");
    assert_found("lua/rat/any.lua", &unnamed, "requires what has no name");
}

#[test]
fn a_second_version_and_a_stray_folder_are_found() {
    let lua = "--- What this made-up file owns.\nreturn \"9.8.7\"\n";
    assert_found("lua/rat/version.lua", lua, "2: holds a copy of the version");
    assert_found("README.md", "Get v9.8.7.\n", "a copy of the version");
    assert_found("CHANGELOG.md", "## [9.8.6] - then\n", "newest version is not 9.8.7");
    assert_found("notes/idea.md", "An idea.\n", "has no place at the top");
}

#[test]
fn versions_of_others_are_no_copies() {
    let text = "Needs 19.8.7, 9.8.70, 9.8.7.1 or 1.9.8.7.\n";
    assert_eq!(problems_with("README.md", text), [""; 0]);
    assert_eq!(problems_with("CHANGELOG.md", "## [Unreleased]\n\n## [9.8.7] - now\n"), [""; 0]);
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
