//! Tests of `edit::own`.

use super::super::record::Turnover;
use super::super::text::Text;
use super::without_own;

fn without(before: &str, after: &str, brought: &[&str], taken: &[&str]) -> Option<String> {
    let own = Turnover { brought: brought.to_vec(), taken: taken.to_vec() };
    let text = without_own(&Text::parse(before), &Text::parse(after), &own);
    text.map(|text| text.content())
}

#[test]
fn what_only_the_author_has_changed_is_as_before() {
    assert_eq!(without("a\nb\nc\n", "a\nB\nc\nd\n", &["B", "d"], &["b"]), None);
    assert_eq!(without("a\n", "a\n", &[], &[]), None);
}

#[test]
fn what_others_have_changed_stays() {
    let found = without("a\nb\nc\n", "a\nB\nc\nmine\n", &["B"], &["b"]);
    assert_eq!(found.as_deref(), Some("a\nb\nc\nmine\n"));
    let found = without("a\nb\nc\nd\n", "A\nb\nc\n", &["A"], &["a"]);
    assert_eq!(found.as_deref(), Some("a\nb\nc\n"));
}

#[test]
fn what_may_be_anothers_stays() {
    // One of the empty lines is the author's, and nobody knows which.
    let found = without("a\nb\nc\n", "a\n\nb\n\nC\n", &["", "C"], &["c"]);
    assert_eq!(found.as_deref(), Some("a\n\nb\n\nC\n"));
    let found = without("a\nb\nc\n", "a\nB\nmine\nc\n", &["B"], &["b"]);
    assert_eq!(found.as_deref(), Some("a\nB\nmine\nc\n"));
}

#[test]
fn a_line_of_anothers_that_the_author_has_changed_is_as_it_was() {
    let found = without("a\n", "a\nmine\nC\n", &["mine", "C"], &["mine  "]);
    assert_eq!(found.as_deref(), Some("a\nmine  \n"));
    let found = without("a\nb\n", "a\nB\nmine, too\n", &["B", "mine, too"], &["b", "mine"]);
    assert_eq!(found.as_deref(), Some("a\nb\nmine\n"));
    assert_eq!(without("  a\n", "    a\n", &["    a"], &["  a"]), None, "of before");
    assert_eq!(without("a\n", "a\nC\n", &["C ", "C"], &["C "]), None, "the author's own");
    let found = without("a\n", "a\nmine!\n", &["mine", "mine!"], &["mine", "mine"]);
    assert_eq!(found.as_deref(), Some("a\nmine\n"), "another's, which it has put back");
}

#[test]
fn a_line_of_anothers_that_the_author_has_moved_stays() {
    let found = without("a\nb\n", "a\nC\nmine\nb\n", &["C", "mine"], &["mine"]);
    assert_eq!(found.as_deref(), Some("a\nmine\nb\n"));
    assert_eq!(without("a\nb\n", "C\na\nb\n", &["C", "C"], &["C"]), None, "the author's own");
    assert_eq!(without("a\nb\nc\n", "b\nc\na\n", &["a"], &["a"]), None, "of before");
}

#[test]
fn a_line_that_both_have_moved_is_in_one_of_the_places() {
    let found = without("a\nmine\nb\nc\n", "x\nb\nmine\nc\n", &["mine"], &["mine"]);
    assert_eq!(found.as_deref(), Some("x\nb\nmine\nc\n"));
    let found = without("a\nb\nc\nd\n", "x\nc\nd\nb\n", &["b"], &[]);
    assert_eq!(found.as_deref(), Some("x\nc\nd\n"), "the author's, while another's went");
}
