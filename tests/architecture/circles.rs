//! Circles among files that use each other, and which Lua files use which. Judges nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::tree::{File, Tree};

/// Who uses whom, by name. What is used and uses nothing may be left out.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// One circle for each group of names that all lead to each other: a shortest one through the first of them, which ends
/// where it begins.
pub(crate) fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut grouped = BTreeSet::new();
    let mut found = Vec::new();
    for name in graph.keys() {
        if grouped.contains(name) {
            continue;
        }
        let Some(circle) = circle_through(graph, name) else { continue };
        let leads_back = |other: &&String| reached(graph, other).contains_key(name);
        grouped.extend(reached(graph, name).keys().filter(leads_back).cloned());
        found.push(circle);
    }
    found
}

/// What a name leads to, in one step or more, each with the name before it on a shortest way.
fn reached(graph: &Graph, start: &String) -> BTreeMap<String, String> {
    let mut before = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(name) = next.pop_front() {
        for used in graph.get(name).into_iter().flatten() {
            if !before.contains_key(used) {
                before.insert(used.clone(), name.clone());
                next.push_back(used);
            }
        }
    }
    before
}

fn circle_through(graph: &Graph, name: &String) -> Option<Vec<String>> {
    let before = reached(graph, name);
    let mut circle = vec![name.clone()];
    let mut last = before.get(name)?;
    while last != name {
        circle.push(last.clone());
        last = before.get(last)?;
    }
    circle.push(name.clone());
    circle.reverse();
    Some(circle)
}

/// Which Lua files of the plugin load which others, when they are loaded themselves or later.
pub(crate) fn of_lua(tree: &Tree) -> Graph {
    let files: BTreeMap<_, _> =
        tree.below("lua/", ".lua").map(|file| (module(file), &file.name)).collect();
    let used = |file: &File| {
        required(file).into_iter().filter_map(|it| files.get(&it?).map(|name| (*name).clone()))
    };
    tree.below("lua/", ".lua").map(|file| (file.name.clone(), used(file).collect())).collect()
}

/// `lua/rat/view/ui.lua` is `rat.view.ui`, `lua/rat/chat/init.lua` is `rat.chat`.
fn module(file: &File) -> String {
    let name = file.name.trim_start_matches("lua/").trim_end_matches(".lua");
    name.trim_end_matches("/init").replace('/', ".")
}

/// What a Lua file requires, also in expressions for Neovim (`v:lua.require'..'`); nothing where no name stands there.
pub(crate) fn required(file: &File) -> Vec<Option<String>> {
    let code = file.without_comments();
    let in_a_word = |at: usize| {
        code[..at].ends_with(|char: char| char.is_alphanumeric() || "_.".contains(char))
            && !code[..at].ends_with("v:lua.")
    };
    let goes_on = |at: usize| {
        code[at..].starts_with(|char: char| char.is_alphanumeric() || "_:".contains(char))
    };
    let calls = code.match_indices("require");
    let calls = calls.filter(|(at, word)| !in_a_word(*at) && !goes_on(at + word.len()));
    let name = |(at, word): (usize, &str)| {
        let rest = &code[at + word.len()..];
        let given = rest.trim_start_matches([' ', '\n', '\t', '(', ',']);
        let quote = given.chars().next().filter(|char| "\"'".contains(*char))?;
        given[1..].split(quote).next().map(str::to_owned)
    };
    calls.map(name).collect()
}
