//! Tests of `edit::hunks`.

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
