//! The list of what a client has to do, held against the tests that name its items: `doc/conformance.md` is written from
//! both. It reads text only. `make conformance` writes the list.

use crate::support::repository;
use expect_test::expect_file;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// An item of the checklist.
#[derive(Debug, Default, Clone, PartialEq)]
struct Item {
    what: String,
    section: String,
    /// Why it cannot apply.
    cannot_apply: Option<String>,
}

/// The items by their numbers, and which of them nothing holds yet.
#[derive(Debug, Default)]
struct Checklist {
    items: BTreeMap<usize, Item>,
    open: BTreeSet<usize>,
}

impl Checklist {
    fn read(text: &str) -> Self {
        let mut list = Self::default();
        let (mut section, mut latest) = (String::new(), 0);
        for line in text.lines() {
            let numbered = line
                .split_once(". ")
                .and_then(|(number, what)| Some((number.parse::<usize>().ok()?, what.to_owned())));
            if let Some(title) = line.strip_prefix("## ") {
                title.clone_into(&mut section);
            } else if let Some((number, what)) = numbered {
                let item = Item { what, section: section.clone(), cannot_apply: None };
                assert_eq!(list.items.insert(number, item), None, "{number} stands there twice");
                latest = number;
            } else if let Some(why) = line.strip_prefix("    not applicable: ") {
                list.items.get_mut(&latest).unwrap().cannot_apply = Some(why.to_owned());
            } else if let Some(open) = line.strip_prefix("open: ") {
                list.open.extend(numbers(open).unwrap_or_else(|| panic!("no numbers: {open}")));
            }
        }
        list
    }
}

/// `1, 2` as numbers.
fn numbers(text: &str) -> Option<Vec<usize>> {
    text.split(", ").map(|number| number.parse().ok()).collect()
}

/// The items a file's tests name, each with its tests, and what is wrong with how they are named.
fn named(name: &str, text: &str) -> (Vec<(usize, String)>, Vec<String>) {
    let lua = Path::new(name).extension().is_some_and(|extension| extension == "lua");
    let mark = if lua { "--- ACP " } else { "/// ACP " };
    let stem = name.strip_prefix("tests/").unwrap_or(name);
    let stem = stem.trim_end_matches(".rs").trim_end_matches("/main").replace('/', "::");
    let (mut found, mut problems, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_test = false;
    for (index, line) in text.lines().map(str::trim).enumerate() {
        let items =
            line.strip_prefix(mark).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(items) = items {
            // A word about them may follow.
            let list =
                items.split_once('.').filter(|(_, more)| more.is_empty() || more.starts_with(' '));
            match list.and_then(|(list, _)| numbers(list)) {
                Some(items) => pending = items,
                None => problems.push(format!("{name}:{}: not a list of items: {line}", index + 1)),
            }
            is_test = lua;
        } else if !pending.is_empty() {
            is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
            let called = if lua { lua_case(line) } else { function(line) };
            if let Some(called) = called.filter(|_| is_test) {
                let by =
                    if lua { format!("{name}: {called}") } else { format!("{stem}::{called}") };
                found.extend(pending.drain(..).map(|item| (item, by.clone())));
            } else if !(line.starts_with("///") || line.starts_with("--") || line.starts_with("#["))
            {
                problems.push(format!("{name}:{}: no test follows the items", index + 1));
                pending.clear();
            }
        }
    }
    (found, problems)
}

fn function(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("fn ")?;
    Some(rest.split('(').next()?.to_owned())
}

fn lua_case(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("case(\"")?.split_once('"')?;
    Some(name.to_owned())
}

/// Every Rust file and every Lua spec.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("src"), root.join("tests")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let extension = path.extension().unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if extension == "rs" || extension == "lua" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The tests by the items they name, and what is wrong with the list.
fn check(list: &Checklist, root: &Path) -> (BTreeMap<usize, Vec<String>>, Vec<String>) {
    let mut tests: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for path in sources(root) {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let (found, wrong) = named(&name, &std::fs::read_to_string(&path).unwrap());
        problems.extend(wrong);
        for (item, test) in found {
            tests.entry(item).or_default().push(test);
        }
    }
    for (item, tests) in tests.iter().filter(|(item, _)| !list.items.contains_key(item)) {
        problems.push(format!("{tests:?} name item {item}, which does not exist"));
    }
    for (item, Item { what, cannot_apply, .. }) in &list.items {
        let (tested, open) = (tests.contains_key(item), list.open.contains(item));
        let wrong = match (tested, open, cannot_apply) {
            (true, true, _) => "is open, but has a test",
            (true, _, Some(_)) => "cannot apply, but has a test",
            (false, true, Some(_)) => "is open, but cannot apply",
            (false, false, None) => "has no test",
            _ => continue,
        };
        problems.push(format!("{item} {wrong}: {what}"));
    }
    (tests, problems)
}

/// The list as `doc/conformance.md` has it.
fn written(list: &Checklist, tests: &BTreeMap<usize, Vec<String>>) -> String {
    let mut out = String::from(
        "# What a client of the protocol has to do, and what holds it\n\n\
         Written by `make conformance` from `tests/acp/checklist.md` and the tests that name its items. Do not edit.\n",
    );
    let count =
        |of: &dyn Fn(&usize, &Item) -> bool| list.items.iter().filter(|(n, i)| of(n, i)).count();
    let held = count(&|number, _| tests.contains_key(number));
    let cannot = count(&|_, item| item.cannot_apply.is_some());
    writeln!(
        out,
        "\nOf {} items {held} are held by tests, {cannot} cannot apply, {} are open.",
        list.items.len(),
        list.open.len()
    )
    .unwrap();
    let mut section = "";
    for (number, item) in &list.items {
        if item.section != section {
            section = &item.section;
            writeln!(out, "\n## {section}\n\n| | what | held by |\n|---|---|---|").unwrap();
        }
        let by = match (&item.cannot_apply, tests.get(number)) {
            (Some(why), _) => format!("cannot apply: {why}"),
            (None, Some(tests)) => {
                tests.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", ")
            }
            (None, None) => "**open**".to_owned(),
        };
        writeln!(out, "| {number} | {} | {by} |", item.what.replace('|', "\\|")).unwrap();
    }
    out
}

#[test]
fn the_list_of_what_is_held_is_up_to_date() {
    let list = Checklist::read(include_str!("checklist.md"));
    assert!(list.items.keys().copied().eq(1..=139), "the items are 1 to 139");
    let (tests, problems) = check(&list, repository());
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    expect_file!["../../doc/conformance.md"].assert_eq(&written(&list, &tests));
}

#[test]
fn items_are_found_at_the_tests_that_name_them() {
    let mark = "///";
    let text = format!(
        "{mark} Why.\n{mark} ACP 1, 23.\n#[test]\nfn one() {{}}\n{mark} ACP session set-up\nfn two() {{}}\n"
    );
    let at = |item, test: &str| (item, test.to_owned());
    let (found, problems) = named("tests/a/main.rs", &text);
    assert_eq!(found, [at(1, "a::one"), at(23, "a::one")]);
    assert!(problems.is_empty(), "{problems:?}");
    let (found, _) = named("tests/lua/x.lua", "--- ACP 7.\ncase(\"it works\", function()\n");
    assert_eq!(found, [at(7, "tests/lua/x.lua: it works")]);
    for wrong in
        ["ACP 1 and 2.\n#[test]\nfn f() {}", "ACP 1\n#[test]\nfn f() {}", "ACP 1.\nfn f() {}\n"]
    {
        let (found, problems) = named("src/a.rs", &format!("{mark} {wrong}"));
        assert!(found.is_empty() && problems.len() == 1, "{wrong}: {found:?} {problems:?}");
    }
}

#[test]
fn what_is_wrong_with_a_list_is_said() {
    let folder = crate::support::TempFolder::new();
    folder.file("src/a.rs", "/// ACP 1, 2, 3, 9.\n#[test]\nfn one() {}\n");
    folder.file("tests/b.rs", "");
    let text = "## Part\n1. One.\n2. Two.\n3. Three.\n    not applicable: no\n4. Four.\n5. Five.\n\nopen: 2, 5\n";
    let (_, problems) = check(&Checklist::read(text), folder.path());
    let said = |text: &str| problems.iter().any(|problem| problem.contains(text));
    assert!(
        said("item 9, which does not exist") && said("2 is open, but has a test"),
        "{problems:?}"
    );
    assert!(said("3 cannot apply, but has") && said("4 has no test"), "{problems:?}");
    assert_eq!(problems.len(), 4, "{problems:?}");
}
