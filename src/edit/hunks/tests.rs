//! Tests of `edit::hunks`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::Hasher;

use proptest::prelude::*;

use super::*;

/// Makes the edits in a buffer as Neovim would, and returns its lines.
fn apply_edits(edits: &[Edit], text: &Text) -> Vec<String> {
    let mut buffer: Vec<String> = text.lines().map(str::to_owned).collect();
    if buffer.is_empty() {
        buffer.push(String::new());
    }
    for edit in edits.iter().rev() {
        match edit {
            Edit::Lines { old, lines } => {
                buffer.splice(old.clone(), lines.iter().cloned());
            }
            Edit::Text { start, end, lines } => {
                let mut new = lines.clone();
                new[0].insert_str(0, &buffer[start.0][..start.1]);
                new.last_mut().unwrap().push_str(&buffer[end.0][end.1..]);
                buffer.splice(start.0..=end.0, new);
            }
        }
    }
    buffer
}

fn text() -> impl Strategy<Value = Text> {
    prop::collection::vec("[abé]{0,3}", 0..12).prop_map(|lines| {
        let empty = lines.is_empty();
        Text::from_body(lines.join("\n"), crate::edit::Shape::default(), empty)
    })
}

proptest! {
    #[test]
    fn applying_a_diff_gives_the_new_text(a in text(), b in text()) {
        prop_assert_eq!(apply(&diff(&a, &b), &a), b);
    }

    #[test]
    fn equal_texts_have_no_hunks_and_hunks_never_touch(a in text(), b in text()) {
        prop_assert!(diff(&a, &a).is_empty());
        let hunks = diff(&a, &b);
        prop_assert!(hunks.windows(2).all(|pair| pair[0].old().end < pair[1].start));
    }

    #[test]
    fn inverted_hunks_give_the_old_text(a in text(), b in text()) {
        prop_assert_eq!(apply(&invert(&diff(&a, &b), &a), &b), a);
    }

    #[test]
    fn refined_edits_give_the_new_text(a in text(), b in text()) {
        let hunks = diff(&a, &b);
        let made = apply_edits(&refine(&hunks, &a), &a);
        let mut wanted: Vec<_> = b.lines().map(str::to_owned).collect();
        if wanted.is_empty() && !made.is_empty() {
            wanted.push(String::new()); // a buffer has at least one line
        }
        prop_assert_eq!(made, wanted);
    }
}

#[test]
fn the_same_insertion_is_the_same_hunk_beside_other_changes() {
    let base = Text::parse("x\na\n}\n}\ny\n");
    let brace = Hunk { start: 4, removed: 0, lines: vec!["}".into()] };
    let alone = diff(&base, &Text::parse("x\na\n}\n}\n}\ny\n"));
    assert_eq!(alone, std::slice::from_ref(&brace));
    let beside = diff(&base, &Text::parse("X\na\n}\n}\n}\ny\nz\n"));
    assert!(beside.contains(&brace), "{beside:?}");
}

#[test]
fn an_edit_covers_only_what_differs() {
    let check = |old: &str, new: &str, edits: &[Edit]| {
        let (old, new) = (Text::parse(old), Text::parse(new));
        assert_eq!(refine(&diff(&old, &new), &old), edits);
    };
    let part = |row, from, to, new: &str| Edit::Text {
        start: (row, from),
        end: (row, to),
        lines: vec![new.into()],
    };
    check("a\nlocal x = 1\n", "a\nlocal x = 22\n", &[part(1, 10, 11, "22")]);
    check("é1\n", "é2\n", &[part(0, 2, 3, "2")]);
    check("aa\n", "aaa\n", &[part(0, 2, 2, "a")]);
    check("a1\nb1\n", "a2\nb2\n", &[part(0, 1, 2, "2"), part(1, 1, 2, "2")]);
    check("a\n", "a\nb\n", &[Edit::Lines { old: 1..1, lines: vec!["b".into()] }]);
    check("", "a\n", &[Edit::Lines { old: 0..1, lines: vec!["a".into()] }]);
}

/// A line that counts how often it is compared or hashed.
#[derive(Debug, Clone)]
struct Counted<'a>(usize, &'a Cell<usize>);

impl Counted<'_> {
    fn count(&self) {
        self.1.set(self.1.get() + 1);
    }
}

impl PartialEq for Counted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.count();
        self.0 == other.0
    }
}

impl Eq for Counted<'_> {}

impl Ord for Counted<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.count();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counted<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Counted<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.count();
        self.0.hash(state);
    }
}

/// How often lines are looked at to compare two texts of so many lines, of so many kinds.
fn comparisons(length: usize, kinds: usize) -> usize {
    let count = Cell::new(0);
    let text = |seed: usize| -> Vec<Counted<'_>> {
        let kind = |i: usize| (i * 2_654_435_761 + seed * i * i + i / 7) % kinds;
        (0..length).map(|i| Counted(kind(i), &count)).collect()
    };
    let hunks = different(&text(2), &text(77)).count();
    assert!(hunks > 0);
    count.get()
}

#[test]
fn texts_with_nothing_or_everything_in_common_are_compared_in_nearly_linear_work() {
    for kinds in [2, 10, 1_000, 1_000_000] {
        let [half, whole] = [10_000, 20_000].map(|length| comparisons(length, kinds));
        assert!(whole <= half * 22 / 10, "{kinds} kinds: {half} comparisons, then {whole}");
    }
}

#[test]
fn one_changed_line_of_a_megabyte_is_all_that_is_compared() {
    let line = |number: usize| format!("{number:>51}\n");
    let old: String = (0..20_000).map(line).collect();
    let new = old.replacen("  10000\n", "changed\n", 1);
    let [old, new] = [old, new].map(|text| Text::parse(&text));
    assert_eq!(different_middle(&old, &new), (10_000..10_001, 10_000..10_001));
    assert_eq!(diff(&old, &new).len(), 1);
}
