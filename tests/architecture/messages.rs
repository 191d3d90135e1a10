//! The messages between Lua and the binary have two ends each: what `doc/messages.md` names, which is written from their
//! types, is handled or sent in Lua, and nothing else is.

use super::tree::{File, Tree};

const PAGE: &str = "doc/messages.md";
const INBOX: &str = "lua/rat/rpc/inbox.lua";

/// Functions that tell the binary something, and the files where they are ours.
const TELLING: &[(&str, &str)] = &[
    ("rpc.notify(", "lua/"),
    ("rpc.request(", "lua/"),
    ("require(\"rat.rpc\").notify(", "lua/"),
    ("require(\"rat.rpc\").request(", "lua/"),
    ("M.notify(", "lua/rat/rpc/init.lua"),
    ("send(", "lua/rat/rpc/init.lua"),
    ("send(", "lua/rat/commands.lua"),
];

/// Everything that has one end only.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.files.iter().find(|file| file.name == PAGE) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let handled: Vec<String> = tree.below(INBOX, "").flat_map(handlers).collect();
    let known = headings(page, "## To Lua");
    differ(&mut problems, INBOX, "handler", &handled, &known);
    for name in &handled {
        if handled.iter().filter(|it| *it == name).count() > 1 {
            problems.push(format!("{INBOX}: has two handlers for {name}"));
        }
    }
    let sent: Vec<String> = tree.below("lua/", ".lua").flat_map(told).collect();
    differ(&mut problems, "lua", "sender", &sent, &headings(page, "## From Lua"));
    for call in headings(page, "## Calls") {
        problems.extend(uncalled(tree, &call));
    }
    problems.sort();
    problems.dedup();
    problems
}

fn differ(problems: &mut Vec<String>, place: &str, what: &str, there: &[String], known: &[String]) {
    let missing = known.iter().filter(|name| !there.contains(name));
    problems.extend(missing.map(|name| format!("{place}: has no {what} for the message {name}")));
    let extra = there.iter().filter(|name| !known.contains(name));
    problems
        .extend(extra.map(|name| format!("{place}: has a {what} for {name}, which is no message")));
}

/// The names below a heading of the page.
fn headings(page: &File, part: &str) -> Vec<String> {
    let rest = page.text.lines().skip_while(|line| *line != part).skip(1);
    let lines = rest.take_while(|line| !line.starts_with("## "));
    lines.filter_map(|line| line.strip_prefix("### ").map(str::to_owned)).collect()
}

/// `function handlers.name(`, also where it is said to open a window.
fn handlers(file: &File) -> Vec<String> {
    let functions = file.text.lines().filter_map(|line| {
        line.strip_prefix("function handlers.")?.split('(').next().map(str::to_owned)
    });
    let opens = file.text.lines().find_map(|line| line.strip_prefix("local opens = {"));
    let opens = opens.into_iter().flat_map(|line| line.split(','));
    let opens = opens.filter_map(|one| Some(one.split_once(" = true")?.0.trim().to_owned()));
    let functions: Vec<String> = functions.collect();
    let unhandled: Vec<String> = opens.filter(|name| !functions.contains(name)).collect();
    [functions, unhandled].concat()
}

/// The messages that a file sends by name.
fn told(file: &File) -> Vec<String> {
    let code = file.text.lines().filter(|line| !line.trim_start().starts_with("--"));
    let code: Vec<&str> = code.collect();
    let code = code.join("\n");
    let mut names = Vec::new();
    for (call, place) in TELLING {
        if !file.name.starts_with(place) {
            continue;
        }
        for (at, _) in code.match_indices(call) {
            let is_whole =
                !code[..at].ends_with(|it: char| it.is_alphanumeric() || ".:_".contains(it));
            let name =
                code[at + call.len()..].strip_prefix('"').and_then(|rest| rest.split('"').next());
            names.extend(name.filter(|_| is_whole).map(str::to_owned));
        }
    }
    names
}

/// Whether the function of a call, `module.name(a, b)`, is there and takes just that.
fn uncalled(tree: &Tree, call: &str) -> Option<String> {
    let (path, parameters) = call.split_once('(')?;
    let (module, function) = path.rsplit_once('.')?;
    let file = format!("lua/{}", module.replace('.', "/"));
    let names = [format!("{file}.lua"), format!("{file}/init.lua")];
    let file = tree.files.iter().find(|file| names.contains(&file.name));
    let line = format!("function M.{function}({parameters}");
    let found = file.is_some_and(|file| file.text.lines().any(|it| it == line));
    (!found).then(|| format!("{}: has no {line}, which is called", names[0]))
}
