//! The list of what a client has to do, held against the tests that name its items: `doc/conformance.md` is written from
//! both. It reads text only. `make conformance` writes the list.

use crate::annotations::{Annotation, Annotations};
use crate::support::repository;
use expect_test::expect_file;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

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

/// The items that a comment names; a word about them may follow.
fn items(comment: &str) -> Option<Result<Vec<usize>, String>> {
    let rest = comment.strip_prefix("ACP ")?;
    let rest = rest.starts_with(|first: char| first.is_ascii_digit()).then_some(rest)?;
    let list = rest.split_once('.').filter(|(_, more)| more.is_empty() || more.starts_with(' '));
    let items = list.and_then(|(list, _)| numbers(list));
    Some(items.ok_or_else(|| format!("not a list of items: {comment}")))
}

/// The tests by the items they name, and what is wrong with the list.
fn check(list: &Checklist, root: &Path) -> (BTreeMap<usize, Vec<String>>, Vec<String>) {
    let mut tests: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let Annotations { found, mut problems } = Annotations::below(root, items);
    for Annotation { says, test } in found {
        for item in says {
            tests.entry(item).or_default().push(test.clone());
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
    assert!(list.items.keys().copied().eq(1..=157), "the items are 1 to 157");
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
    let at = |says: &[usize], test: &str| Annotation { says: says.to_vec(), test: test.to_owned() };
    let named = Annotations::of("tests/a/mod.rs", &text, items);
    assert_eq!(named.found, [at(&[1, 23], "a::one")]);
    assert!(named.problems.is_empty(), "{:?}", named.problems);
    let spec = "--- ACP 7.\ncase(\"it works\", function()\n";
    let named = Annotations::of("tests/lua/x.lua", spec, items);
    assert_eq!(named.found, [at(&[7], "tests/lua/x.lua: it works")]);
    for wrong in
        ["ACP 1 and 2.\n#[test]\nfn f() {}", "ACP 1\n#[test]\nfn f() {}", "ACP 1.\nfn f() {}\n"]
    {
        let named = Annotations::of("src/a.rs", &format!("{mark} {wrong}"), items);
        assert!(named.found.is_empty() && named.problems.len() == 1, "{wrong}: {named:?}");
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
