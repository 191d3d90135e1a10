//! Which Rust files use which: by the paths that they name, from the root, from above or from beside them. Judges nothing.

use std::collections::BTreeMap;

use super::circles::Graph;
use super::tree::{File, Tree};

/// Which files of the program use which others. What only tests use is left out.
pub(crate) fn of_rust(tree: &Tree) -> Graph {
    let of_tests: Vec<_> = tree.below("src/", ".rs").flat_map(declared_for_tests).collect();
    let own = |file: &&File| {
        let module = module(&file.name);
        !of_tests.iter().any(|path| module.starts_with(path))
    };
    let files = || tree.below("src/", ".rs").filter(own);
    let modules = files().map(|file| (module(&file.name), file.name.as_str())).collect();
    files().map(|file| (file.name.clone(), used(file, &modules).collect())).collect()
}

/// Items with two paths: those that files export again more than once, or though their own module is public. Each with the file
/// that exports it.
pub(crate) fn exported_twice(tree: &Tree) -> Vec<(String, String)> {
    let modules: BTreeMap<_, _> =
        tree.below("src/", ".rs").map(|file| (module(&file.name), file.name.as_str())).collect();
    let mut seen = BTreeMap::new();
    let mut twice = Vec::new();
    for file in tree.below("src/", ".rs") {
        let own = module(&file.name);
        let exports = items_after(&file.code(), is_public).into_iter();
        for path in exports.filter_map(|path| absolute(&path, &own, &modules)) {
            let is_public_there = path.len() > 2 && is_public_module(tree, &path[..path.len() - 1]);
            let first = seen.entry(path.clone()).or_insert_with(|| file.name.clone());
            if is_public_there || *first != file.name {
                twice.push((file.name.clone(), path.join("::")));
            }
        }
    }
    twice
}

/// What a file imports from the program under another name.
pub(crate) fn renamed(file: &File) -> Vec<String> {
    let code = file.code();
    let statements = code.match_indices("use ").filter_map(|(at, word)| {
        let statement = code[at + word.len()..].split(';').next()?;
        ["crate::", "super::"].iter().any(|start| statement.starts_with(start)).then_some(statement)
    });
    let items = statements.flat_map(|statement| statement.split(['{', '}', ','])).map(str::trim);
    let is_named = |item: &&str| {
        item.split_once(" as ").is_some_and(|(_, name)| name.starts_with(char::is_uppercase))
    };
    items.filter(is_named).map(str::to_owned).collect()
}

/// Whether a `use` after this text exports what it names.
fn is_public(before: &str) -> bool {
    let line = before.rsplit(['\n', ';']).next().unwrap_or_default().trim();
    line == "pub" || line.starts_with("pub(") && line.ends_with(')')
}

/// Whether the file above a module declares it as public to all that see that file.
fn is_public_module(tree: &Tree, path: &[String]) -> bool {
    let Some((name, above)) = path.split_last() else { return false };
    let declared = format!("pub mod {name};");
    let mut files = tree.below("src/", ".rs").filter(|file| module(&file.name) == above);
    files.any(|file| file.code().contains(&declared))
}

/// The modules that a file declares for its tests alone.
fn declared_for_tests(file: &File) -> Vec<Vec<String>> {
    let lines = file.text.lines().zip(file.text.lines().skip(1));
    let declared = lines.filter(|(first, _)| *first == "#[cfg(test)]");
    let names = declared.filter_map(|(_, line)| line.strip_suffix(';')?.rsplit_once("mod "));
    names.map(|(_, name)| [module(&file.name), vec![name.to_owned()]].concat()).collect()
}

/// `src/core/chat/mod.rs` is `core::chat`, `src/core/state.rs` is `core::state`.
fn module(name: &str) -> Vec<String> {
    let path = name.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The files that a file names a part of, but itself.
fn used<'a>(
    file: &'a File,
    modules: &'a BTreeMap<Vec<String>, &'a str>,
) -> impl Iterator<Item = String> + 'a {
    let code = file.code();
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let own = module(&file.name);
    let mut paths = used_items(code);
    paths.extend(inline_paths(code));
    paths.into_iter().filter_map(move |path| {
        let path = absolute(&path, &own, modules)?;
        let longest = (1..=path.len()).rev().find_map(|end| modules.get(&path[..end]));
        longest.filter(|name| **name != file.name).map(|name| (*name).to_owned())
    })
}

/// A path from the root; `None` for one that leads out of the program.
fn absolute(
    path: &[String],
    own: &[String],
    modules: &BTreeMap<Vec<String>, &str>,
) -> Option<Vec<String>> {
    let above = path.iter().take_while(|part| *part == "super").count();
    let join = |base: &[String], rest: &[String]| [base, rest].concat();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some(join(own, &path[1..])),
        "super" => Some(join(own.get(..own.len().checked_sub(above)?)?, &path[above..])),
        first => {
            let beside = join(own, &[first.to_owned()]);
            modules.contains_key(&beside).then(|| join(own, path))
        }
    }
}

/// The paths of all `use` lines, groups in braces taken apart.
fn used_items(code: &str) -> Vec<Vec<String>> {
    items_after(code, |_| true)
}

/// The same, of those lines whose text before `use` is `wanted`.
fn items_after(code: &str, wanted: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (at, word) in code.match_indices("use ") {
        let begins = code[..at].chars().next_back().is_none_or(|char| " \n".contains(char));
        if begins
            && wanted(&code[..at])
            && let Some(statement) = code[at + word.len()..].split(';').next()
        {
            take_apart(&[], statement, &mut paths);
        }
    }
    paths
}

fn take_apart(base: &[String], text: &str, paths: &mut Vec<Vec<String>>) {
    let (head, group) =
        text.split_once('{').map_or((text, None), |(head, rest)| (head, Some(rest)));
    let head = head.split(" as ").next().unwrap_or_default();
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty() && *name != "*");
    let path: Vec<String> = base.iter().cloned().chain(names.map(str::to_owned)).collect();
    let Some(group) = group.and_then(|rest| rest.trim_end().strip_suffix('}')) else {
        return paths.push(path);
    };
    let (mut depth, mut from) = (0_usize, 0);
    for (at, char) in group.char_indices().chain([(group.len(), ',')]) {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let item = group[from..at].trim();
                if item == "self" {
                    paths.push(path.clone());
                } else if !item.is_empty() {
                    take_apart(&path, item, paths);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// Paths from the root or from above that stand in code without a `use`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == ':';
    let words = code.split(|char: char| !is_name(char));
    let paths = words.filter(|word| {
        ["crate::", "super::", "self::"].iter().any(|start| word.starts_with(start))
    });
    let parts =
        |word: &str| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    paths.map(parts).collect()
}
