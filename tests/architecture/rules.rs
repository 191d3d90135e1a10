//! The rules, one function each. They read text and name what breaks a rule; exceptions stand in the tables here.

use super::circles;
use super::rust_uses;
use super::tree::{File, Tree};

/// Which rooms each room may use besides itself, as drawn in `src/lib.rs`. `main` is every binary's own business.
const FLOORS: &[(&str, &[&str])] = &[
    (
        "app",
        &[
            "acp",
            "documents",
            "host",
            "mcp",
            "process",
            "core",
            "view",
            "trust",
            "session",
            "edit",
            "secrets",
        ],
    ),
    (
        "bridge",
        &[
            "app",
            "nvim",
            "acp",
            "documents",
            "host",
            "mcp",
            "process",
            "core",
            "view",
            "session",
            "edit",
            "config",
            "log",
            "secrets",
        ],
    ),
    (
        "exec",
        &[
            "app",
            "acp",
            "documents",
            "host",
            "process",
            "core",
            "session",
            "edit",
            "config",
            "secrets",
            "trust",
        ],
    ),
    ("nvim", &["config", "core", "view", "trust", "session", "edit"]),
    ("acp", &["jsonrpc", "process", "core", "view", "session", "edit", "secrets"]),
    ("documents", &["core", "view", "session", "edit"]),
    ("host", &["process", "core", "view", "trust", "session", "edit", "secrets"]),
    ("mcp", &["jsonrpc", "process", "core", "session"]),
    ("process", &["session"]),
    ("jsonrpc", &[]),
    ("core", &["view", "trust", "session", "edit"]),
    ("view", &["session", "edit"]),
    ("session", &[]),
    ("edit", &[]),
    ("trust", &["session"]),
    ("config", &["process", "session"]),
    ("log", &["secrets"]),
    ("secrets", &["session"]),
    ("replay", &["jsonrpc"]),
    ("tour", &["jsonrpc"]),
];

/// Rooms without a world outside, and the names of that world.
const PURE: &[&str] = &["core", "view", "trust", "session", "edit"];
const WORLD: &[&str] = &[
    "tokio",
    "nvim_rs",
    "std::fs",
    "std::process",
    "std::env",
    "std::net",
    "std::thread",
    "Instant",
    "SystemTime",
    "Mutex",
    "RwLock",
    "async fn",
    "tracing",
];

/// The one file that names nvim-rs: its calls must not be dropped, and that is seen to there.
const NVIM_RS: &str = "src/nvim/client.rs";

/// What no Rust file holds, and what no test holds.
const NOWHERE: &[&str] = &["println!(", "todo!(", "dbg!(", "unimplemented!("];
const NOT_IN_TESTS: &[&str] = &["#[ignore", "thread::sleep", "time::sleep", "should_panic"];

/// What no Lua file of the plugin holds.
const NOT_IN_LUA: &[&str] = &["_G.", "vim.wait(", "defer_fn"];
/// Calls that change a buffer, and the files that may use them.
const WRITING: &[&str] = &["nvim_buf_set_lines", "nvim_buf_set_text", "nvim_buf_set_extmark"];
const WRITERS: &[(&str, &str)] = &[
    ("lua/rat/view/ui.lua", "draws the view buffers"),
    ("lua/rat/document/busy.lua", "asks by one that fails whether text may be changed"),
    ("lua/rat/document/edits.lua", "makes an agent's edits in the user's buffers"),
    ("lua/rat/document/conflict.lua", "marks lines the user keeps"),
    ("lua/rat/in_place/marks.lua", "marks lines that an agent is to change, with words beside"),
    ("lua/rat/review/pending.lua", "marks what agents have changed and nobody has decided on"),
    ("lua/rat/review/list.lua", "marks the lines being drawn, for that moment only"),
    ("lua/rat/review/syntax.lua", "marks code in the lines being drawn, for that moment only"),
    ("lua/rat/review/comments.lua", "shows the user's comments below lines of a review"),
    ("lua/rat/view/decoration.lua", "marks the lines being drawn, for that moment only"),
    ("lua/rat/view/margin.lua", "puts the binary's signs before lines of the view buffers"),
    ("lua/rat/view/trace_page.lua", "marks the messages on its page, and adds answers to them"),
    ("lua/rat/view/fold.lua", "marks where folds are in the view buffers"),
    ("lua/rat/view/code.lua", "marks code in the lines being drawn, for that moment only"),
    ("lua/rat/view/scratch.lua", "makes and fills buffers for reading: information, log, traffic"),
    ("lua/rat/chat/slash.lua", "writes the chosen command into the prompt, and its hint behind it"),
    ("lua/rat/chat/prompt_header.lua", "shows above the prompt what waits and what goes with it"),
    ("lua/rat/chat/placeholder.lua", "says in an empty prompt what to do"),
    ("lua/rat/util/toast.lua", "fills a window of its own"),
    ("lua/rat/view/rules_page.lua", "shows beside the user's rules where they come from"),
    ("lua/rat/view/queue_page.lua", "shows beside the user's prompts what goes with them"),
];

/// What hands a text to a place on the screen that is no buffer, and the files that see to it that it is fit for that.
const SHOWING: &[&str] = &["nvim_echo", "vim.notify(", "nvim_err_writeln", "nvim_out_write"];
const SHOWERS: &[(&str, &str)] = &[
    ("lua/rat/util/notify.lua", "cleans every message"),
    ("lua/rat/util/toast.lua", "shows what `notify` has cleaned, and keeps it for `:messages`"),
];
/// The same for texts beside the text of buffers and windows.
const BESIDE: &[&str] = &["virt_text =", "virt_lines =", "winbar ="];
const BESIDE_TEXT: &[(&str, &str)] = &[
    ("lua/rat/chat/prompt_header.lua", "titles of attachments and queued prompts, in one line"),
    ("lua/rat/document/conflict.lua", "a line of the agent's text, as one line"),
    ("lua/rat/in_place/marks.lua", "words that were made one line"),
    ("lua/rat/review/list.lua", "a title escaped by `text`"),
    ("lua/rat/review/comments.lua", "what the user has typed"),
    ("lua/rat/view/rules_page.lua", "a title that the binary has made one line"),
    ("lua/rat/view/queue_page.lua", "numbers and words of ours"),
    ("lua/rat/diff/tab_page.lua", "words of ours, names escaped by `text`"),
    ("lua/rat/chat/placeholder.lua", "words and keys of ours"),
    ("lua/rat/ask/login.lua", "a title escaped by `text`"),
    ("lua/rat/view/decoration.lua", "who speaks, as the binary has cleaned it"),
    ("lua/rat/view/margin.lua", "signs of the binary's own"),
    ("lua/rat/view/page.lua", "a title escaped by `text`"),
    ("lua/rat/ask/form_window.lua", "a bar escaped by `text`"),
    ("lua/rat/view/splits.lua", "none: takes it away"),
    ("lua/rat/chat/slash.lua", "a hint that the binary has cleaned"),
    ("lua/rat/view/window.lua", "bars made by `status`"),
];

/// What can name a window, in its frame, and the only file that does: it cleans the name.
const FRAMING: &[&str] = &["nvim_open_win", "nvim_win_set_config"];
const FRAMER: &str = "lua/rat/view/float.lua";
const NAMES: &[&str] = &["title", "footer"];
/// Who may be given the place of a window by others: splits have no frame.
const PLACERS: &[(&str, &str)] = &[("lua/rat/view/splits.lua", "opens splits")];

/// Names of folders that exist on one machine only, in two parts so that this file does not hold them.
const MACHINE: &[(&str, &str)] = &[("/wo", "rk/"), ("/ro", "ot/")];

/// What lies at the top, besides names that begin with a dot.
const TOP: &[&str] = &[
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "build.lua",
    "doc",
    "lua",
    "plugin",
    "src",
    "tests",
];

/// Where the version stands besides Cargo.toml: made from that, or checked against it. What agents said may name any.
const VERSIONED: &[&str] = &["Cargo.lock", "CHANGELOG.md", "doc/rat.txt"];
const RECORDED: &[&str] = &["tests/fixtures/", "tests/acp/schema/"];

const LONGEST_FILE: usize = 500;
const LONGEST_MAP: usize = 150;

/// Everything that breaks a rule, as `file:line: what`.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut problems = versions(tree);
    problems.extend(tree.files.iter().filter_map(top));
    for file in tree.below("src/", ".rs") {
        problems.extend(imports(file));
        problems.extend(purity(file));
        let renamed = rust_uses::renamed(file).into_iter();
        problems.extend(renamed.map(|item| format!("{}: imports {item}", file.name)));
    }
    for file in tree.below("", ".rs") {
        problems.extend(header(file, "//! "));
        problems.extend(length(file, LONGEST_FILE));
        problems.extend(holds(file, NOWHERE));
        if file.name.starts_with("src/") && file.name != NVIM_RS {
            problems.extend(holds(file, &["nvim_rs"]));
        }
        problems.extend(holds_in(file, &test_code(file), NOT_IN_TESTS));
    }
    for file in tree.below("", ".lua") {
        problems.extend(header(file, "--- "));
        // The classes of messages are written from the Rust types.
        if !file.name.starts_with("lua/rat/rpc/messages/") {
            problems.extend(length(file, LONGEST_FILE));
        }
    }
    for file in tree.below("lua/", ".lua").chain(tree.below("plugin/", ".lua")) {
        problems.extend(holds(file, NOT_IN_LUA));
        problems.extend(frames(file));
        for (words, files) in [(WRITING, WRITERS), (SHOWING, SHOWERS), (BESIDE, BESIDE_TEXT)] {
            if !files.iter().any(|(name, _)| *name == file.name) {
                problems.extend(holds(file, words));
            }
        }
    }
    problems.extend(lua_circles(tree));
    problems.extend(named(&circles::circles(&rust_uses::of_rust(tree))));
    let twice = rust_uses::exported_twice(tree).into_iter();
    problems.extend(twice.map(|(file, item)| format!("{file}: gives {item} a second path")));
    tree.below("plugin/", ".lua").for_each(|file| problems.extend(lazy(file)));
    tree.below("doc/architecture.md", "")
        .for_each(|file| problems.extend(length(file, LONGEST_MAP)));
    tree.files.iter().for_each(|file| problems.extend(portable(file)));
    problems.extend(unbuilt(tree));
    problems
}

/// Tests that no binary has: `Cargo.toml` names the binaries, whose roots name the rest.
fn unbuilt(tree: &Tree) -> Vec<String> {
    let manifest = tree.below("Cargo.toml", "").map(|file| file.text.as_str()).next();
    let module = |file: &File| {
        let name = file.name.strip_prefix("tests/")?.strip_suffix(".rs")?;
        let name = name.strip_suffix("/mod").unwrap_or(name);
        (!name.contains('/')).then(|| name.to_owned())
    };
    let is_root = |name: &str| manifest.unwrap_or_default().contains(&format!("name = \"{name}\""));
    let (roots, others): (Vec<_>, Vec<_>) = tree
        .below("tests/", ".rs")
        .filter_map(|file| Some((module(file)?, file)))
        .partition(|(name, _)| is_root(name));
    others
        .iter()
        .filter(|(name, _)| {
            let line = format!("mod {name};");
            !roots.iter().any(|(_, root)| root.text.lines().any(|it| it == line))
        })
        .map(|(_, file)| format!("{}: no binary of tests has it", file.name))
        .collect()
}

/// Cargo.toml is where the version stands; a copy elsewhere would be forgotten with the next one.
fn versions(tree: &Tree) -> Vec<String> {
    let text = |name: &str| tree.files.iter().find(|file| file.name == name).map(|it| &it.text);
    let line = text("Cargo.toml").and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
    });
    let Some(version) = line else { return vec!["Cargo.toml: names no version".to_owned()] };
    let others = tree.files.iter().filter(|file| {
        file.name != "Cargo.toml"
            && !VERSIONED.contains(&file.name.as_str())
            && !RECORDED.iter().any(|folder| file.name.starts_with(folder))
    });
    let copies = others.flat_map(|file| {
        let lines = file.text.lines().enumerate();
        let held = lines.filter(|(_, line)| holds_version(line, version));
        held.map(|(index, _)| format!("{}:{}: holds a copy of the version", file.name, index + 1))
    });
    let mut problems: Vec<String> = copies.collect();
    let newest = text("CHANGELOG.md").and_then(|text| {
        let mut releases = text.lines().filter_map(|line| line.strip_prefix("## ["));
        releases.find_map(|line| line.split(']').next().filter(|name| *name != "Unreleased"))
    });
    if newest.is_some_and(|newest| newest != version) {
        problems.push(format!("CHANGELOG.md: its newest version is not {version}"));
    }
    problems
}

/// Whether a line has the version by itself, and not as a part of another one.
fn holds_version(line: &str, version: &str) -> bool {
    let part = |it: char| it.is_ascii_digit() || it == '.';
    line.match_indices(version).any(|(at, _)| {
        let rest = line[at + version.len()..].trim_start_matches('.');
        !line[..at].ends_with(part) && !rest.starts_with(|it: char| it.is_ascii_digit())
    })
}

fn top(file: &File) -> Option<String> {
    let name = file.name.split('/').next().unwrap_or_default();
    let known = name.starts_with('.') || TOP.contains(&name);
    (!known).then(|| format!("{}: {name} has no place at the top", file.name))
}

/// `src/core/state.rs` is in the room `core`, `src/config.rs` is the room `config`.
fn room(file: &File) -> &str {
    let below = file.name.trim_start_matches("src/");
    below.split('/').next().unwrap_or(below).trim_end_matches(".rs")
}

fn imports(file: &File) -> Vec<String> {
    let room = room(file);
    if matches!(room, "lib" | "main") {
        return Vec::new();
    }
    let Some((_, floors)) = FLOORS.iter().find(|(name, _)| *name == room) else {
        return vec![format!(
            "{}: the room {room} has no floor in the table of tests/architecture",
            file.name
        )];
    };
    let code = file.code();
    let used = used_rooms(&file.name, &code);
    let upwards =
        used.into_iter().filter(|(_, name)| name != room && !floors.contains(&name.as_str()));
    upwards.map(|(line, name)| format!("{}:{line}: imports upwards: {name}", file.name)).collect()
}

/// The rooms that a file names by `crate::` or by `super::` up to the root, with their lines.
fn used_rooms(name: &str, code: &str) -> Vec<(usize, String)> {
    let depth = name.trim_end_matches("/mod.rs").matches('/').count();
    let to_root = "super::".repeat(depth);
    let starts = |prefix: &str| {
        code.match_indices(prefix).map(|(at, text)| at + text.len()).collect::<Vec<_>>()
    };
    let not_higher = |start: &usize| !code[..start - to_root.len()].ends_with("super::");
    let by_super = starts(&to_root).into_iter().filter(not_higher);
    let mut rooms = Vec::new();
    for start in starts("crate::").into_iter().chain(by_super) {
        let line = code[..start].matches('\n').count() + 1;
        let names = first_names(&code[start..]);
        rooms.extend(names.into_iter().filter(|name| is_room(name)).map(|name| (line, name)));
    }
    rooms
}

fn is_room(name: &str) -> bool {
    FLOORS.iter().any(|(room, _)| *room == name)
}

/// The first names of a path, several where it is a group in braces.
fn first_names(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![word(path)];
    };
    let mut depth = 0;
    let mut names = vec![word(group.trim_start())];
    for (at, char) in group.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(word(group[at + 1..].trim_start())),
            _ => {}
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect()
}

fn purity(file: &File) -> Vec<String> {
    if !PURE.contains(&room(file)) {
        return Vec::new();
    }
    let found = holds(file, WORLD).into_iter();
    found.map(|found| found.replace(": holds ", ": is pure, yet names ")).collect()
}

/// The lines whose code holds one of the words, where a word of letters is a whole one.
fn holds(file: &File, words: &[&str]) -> Vec<String> {
    holds_in(file, &file.code(), words)
}

fn holds_in(file: &File, code: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let held = words.iter().filter(|wanted| contains_word(line, wanted));
        found.extend(held.map(|word| format!("{}:{}: holds {word}", file.name, index + 1)));
    }
    found
}

/// Windows are opened elsewhere, too, but with a place that stands there and names nothing.
fn frames(file: &File) -> Vec<String> {
    if file.name == FRAMER {
        return Vec::new();
    }
    let code = file.code();
    let calls = FRAMING.iter().flat_map(|word| code.match_indices(word));
    let problem = |(at, word): (usize, &str)| {
        let line = code[..at].matches('\n').count() + 1;
        let given = arguments(&code[at + word.len()..]);
        let names = |name: &&&str| contains_word(&given.replace(' ', ""), &format!("{name}="));
        if let Some(name) = NAMES.iter().find(names) {
            return Some(format!("{}:{line}: gives a window a {name}: {FRAMER} does", file.name));
        }
        let is_known = given.trim_end_matches([' ', '\n', ',']).ends_with('}');
        let may = PLACERS.iter().any(|(name, _)| *name == file.name);
        let what = "takes a window's place from elsewhere";
        (!is_known && !may).then(|| format!("{}:{line}: {what}, which may name it", file.name))
    };
    calls.filter_map(problem).collect()
}

/// What stands between the parentheses of a call; nothing where it is not called here.
fn arguments(code: &str) -> &str {
    let mut depth = 0;
    for (at, char) in code.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return code[..at].trim_start_matches('(');
        }
    }
    code
}

fn contains_word(line: &str, wanted: &str) -> bool {
    let letter = |char: char| char.is_alphanumeric() || char == '_';
    let open_end = !wanted.ends_with(letter);
    line.match_indices(wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(letter);
        let after = line[at + wanted.len()..].chars().next().is_some_and(letter);
        !before && (open_end || !after)
    })
}

/// The code of tests: a whole file, or what follows `#[cfg(test)]`, after as many empty lines as stand before it.
fn test_code(file: &File) -> String {
    let code = file.code();
    if file.name.starts_with("tests/") || file.name.ends_with("tests.rs") {
        return code;
    }
    let start = code.find("#[cfg(test)]").unwrap_or(code.len());
    "\n".repeat(code[..start].matches('\n').count()) + &code[start..]
}

/// One sentence at the top says what the file owns. Integration tests' modules have one too.
fn header(file: &File, mark: &str) -> Option<String> {
    let first = file.text.lines().next().unwrap_or_default();
    let sentence = first.strip_prefix(mark).is_some_and(|text| text.split(' ').count() >= 3);
    (!sentence).then(|| format!("{}:1: begins with no {}sentence", file.name, mark))
}

fn length(file: &File, most: usize) -> Option<String> {
    let lines = file.text.lines().count();
    (lines > most).then(|| format!("{}: has {lines} lines, at most {most} are readable", file.name))
}

/// Lua files form no circle, also not by what they load later: each can be understood, and loaded, with those it names.
fn lua_circles(tree: &Tree) -> Vec<String> {
    let files = tree.below("lua/", ".lua");
    let unnamed = files.filter(|file| circles::required(file).contains(&None));
    let unnamed = unnamed.map(|file| format!("{}: requires what has no name there", file.name));
    unnamed.chain(named(&circles::circles(&circles::of_lua(tree)))).collect()
}

fn named(circles: &[Vec<String>]) -> Vec<String> {
    circles.iter().map(|circle| format!("a circle: {}", circle.join(" -> "))).collect()
}

/// Nothing is loaded before it is used: `require` stands inside functions only, which are indented.
fn lazy(file: &File) -> Vec<String> {
    let code = file.code();
    let lines = code.lines().enumerate().filter(|(_, line)| contains_word(line, "require"));
    let eager = lines.filter(|(_, line)| !line.starts_with(' ') && !line.contains("function"));
    eager
        .map(|(index, _)| format!("{}:{}: requires at the top level", file.name, index + 1))
        .collect()
}

fn portable(file: &File) -> Vec<String> {
    let from_root = |line: &str, folder: &str| {
        let inside = |before: char| before.is_alphanumeric() || "}).-_~".contains(before);
        line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(inside))
    };
    let machine =
        |line: &str| MACHINE.iter().any(|(start, end)| from_root(line, &format!("{start}{end}")));
    let lines = file.text.lines().enumerate().filter(|(_, line)| machine(line));
    lines.map(|(index, _)| format!("{}:{}: a path of one machine", file.name, index + 1)).collect()
}
