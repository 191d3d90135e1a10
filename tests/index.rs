//! The index in `doc/contributing.md`: what must hold, and the tests that say so in a line `Holds (Heading): Sentence.`
//! `make index` writes it.

use crate::annotations::Annotations;
use crate::support::repository;
use expect_test::expect_file;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The headings of the index, in order.
const HEADINGS: &[&str] = &[
    "Files",
    "Reading files",
    "Writing files",
    "Changes on disk",
    "Review",
    "In place",
    "Encodings and line endings",
    "Buffers in unusual states",
    "Prompt context",
    "Content",
    "Turns",
    "Permission requests",
    "Forms and URLs",
    "Terminals",
    "Sessions",
    "Several chats",
    "Searching",
    "Options and logins",
    "Dialects",
    "Transports",
    "Agents elsewhere",
    "Confinement",
    "Crashes",
    "Prompts and keys",
    "Windows and views",
    "Drafts and leaving Neovim",
    "Editor tools",
    "Other plugins",
    "Hostile agents",
    "Messages between Lua and the binary",
    "Traffic",
    "Installation",
    "Configuration",
    "Scripts",
    "Scripts in Lua",
];

const BEGIN: &str = "<!-- Written by `make index` from the tests. Do not edit. -->\n";
const END: &str = "<!-- The end of what `make index` writes. -->\n";

/// What one test holds.
#[derive(Debug, PartialEq)]
struct Claim {
    heading: String,
    sentence: String,
}

/// A comment that claims something.
fn claim(comment: &str) -> Option<Result<Claim, String>> {
    let rest = comment.strip_prefix("Holds (")?;
    let read = || {
        let (heading, sentence) =
            rest.split_once("): ").ok_or("not `Holds (Heading): Sentence.`")?;
        if !HEADINGS.contains(&heading) {
            return Err(format!("no heading of the index is called {heading}"));
        }
        if !sentence.ends_with('.') {
            return Err(format!("not a sentence: {sentence}"));
        }
        Ok(Claim { heading: heading.to_owned(), sentence: sentence.to_owned() })
    };
    Some(read())
}

/// A table under each heading; a sentence that several tests claim has one row.
fn written(claims: &Annotations<Claim>) -> String {
    let mut out = String::new();
    for heading in HEADINGS {
        let mut sentences = Vec::new();
        let mut tests: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for one in claims.found.iter().filter(|one| one.says.heading == *heading) {
            let held_by = tests.entry(&one.says.sentence).or_default();
            if held_by.is_empty() {
                sentences.push(&one.says.sentence);
            }
            held_by.push(format!("`{}`", one.test));
        }
        writeln!(out, "\n#### {heading}\n\n| what | test |\n|---|---|").unwrap();
        for sentence in sentences {
            let held_by = tests[sentence.as_str()].join(", ");
            writeln!(out, "| {} | {held_by} |", sentence.replace('|', "\\|")).unwrap();
        }
    }
    out.push('\n');
    out
}

#[test]
fn the_index_of_what_must_hold_is_up_to_date() {
    let claims = Annotations::below(repository(), claim);
    assert!(claims.problems.is_empty(), "\n{}\n", claims.problems.join("\n"));
    let page = std::fs::read_to_string(repository().join("doc/contributing.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the place where the index begins");
    let (_, after) = rest.split_once(END).expect("the place where the index ends");
    let whole = format!("{before}{BEGIN}{}{END}{after}", written(&claims));
    expect_file!["../doc/contributing.md"].assert_eq(&whole);
}

#[test]
fn a_claim_of_several_tests_has_one_row() {
    let text = "/// Holds (Files): Nothing is lost.\n#[test]\nfn one() {}\n\n\
        /// Why.\n/// Holds (Files): Nothing is lost.\n#[tokio::test]\nasync fn two() {}\n";
    let claims = Annotations::of("tests/a/mod.rs", text, claim);
    assert_eq!(claims.problems, [""; 0]);
    assert!(written(&claims).contains("\n| Nothing is lost. | `a::one`, `a::two` |\n"));
}

#[test]
fn a_claim_that_makes_no_sense_is_found() {
    for (comment, problem) in [
        ("Holds (Fish): They swim.", "no heading of the index is called Fish"),
        ("Holds (Files): nothing", "not a sentence: nothing"),
        ("Holds (Files) Nothing is lost.", "not `Holds (Heading): Sentence.`"),
    ] {
        let text = format!("/// {comment}\n#[test]\nfn one() {{}}\n");
        let claims = Annotations::of("tests/a.rs", &text, claim);
        assert_eq!(claims.problems, [format!("tests/a.rs:1: {problem}")]);
        assert_eq!(claims.found, []);
    }
    let text = "/// Holds (Files): Nothing is lost.\nfn no_test() {}\n";
    assert_eq!(
        Annotations::of("tests/a.rs", text, claim).problems,
        ["tests/a.rs:2: no test follows"]
    );
}

/// Names in a table of the page on security that are no tests of the index.
fn unknown_tests(page: &str, claims: &Annotations<Claim>) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise"));
    let cells = rows.filter_map(|row| row.trim_end_matches([' ', '|']).rsplit_once(" | "));
    let names = cells.flat_map(|(_, tests)| tests.split('`').skip(1).step_by(2));
    let is_command = |name: &&str| name.starts_with("make ");
    let names = names.filter(|name| !is_command(name)).map(|name| name.trim_end_matches("::*"));
    let is_known = |name: &str| {
        claims.found.iter().any(|one| {
            let path = one.test.strip_prefix("src::").unwrap_or(&one.test);
            path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    names.filter(|name| !is_known(name)).map(str::to_owned).collect()
}

#[test]
fn the_page_on_security_names_tests_of_the_index() {
    let claims = Annotations::below(repository(), claim);
    let page = std::fs::read_to_string(repository().join("doc/security.md")).unwrap();
    let unknown = unknown_tests(&page, &claims);
    assert!(unknown.is_empty(), "no test of the index is called {}", unknown.join(", "));
    let made_up = "| promise | tested by |\n|---|---|\n| it holds | `undo`, `made_up::name` |\n";
    assert_eq!(unknown_tests(made_up, &claims), ["made_up::name"]);
}
