//! Renders the changes of a review as a unified diff in which each pending hunk stands alone.

use crate::edit::Text;
use crate::session::signs::ARROW;
use std::ops::Range;

/// Unchanged lines before and after a hunk, as many as `diff -u` shows.
const CONTEXT: usize = 3;

/// A changed file.
#[derive(Debug, Clone)]
pub struct File<'a> {
    /// Its name as shown.
    pub name: String,
    /// The name it had before, if it was renamed.
    pub from: Option<String>,
    /// Whether it existed before, and whether it exists now.
    pub existence: (bool, bool),
    /// The text without the changes.
    pub base: &'a Text,
    /// The text with them.
    pub text: &'a Text,
    /// In the order of the text.
    pub hunks: Vec<Hunk>,
}

/// A hunk of a changed file.
#[derive(Debug, Clone)]
pub struct Hunk {
    /// The lines in the base (0-based).
    pub base: Range<usize>,
    /// The lines in the text (0-based).
    pub text: Range<usize>,
    /// What made it, in one line; may be empty.
    pub title: String,
}

/// Lines that are about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The index of the hunk; `None` for the line that names the file.
    pub hunk: Option<usize>,
    /// The lines.
    pub lines: Vec<String>,
}

/// Renders a file: first the line that names it, then each hunk.
pub fn parts(file: &File<'_>) -> Vec<Part> {
    let mut parts = vec![Part { hunk: None, lines: vec![heading(file)] }];
    let mut from = 0;
    for (index, hunk) in file.hunks.iter().enumerate() {
        let next = file.hunks.get(index + 1).map_or(file.text.len(), |next| next.text.start);
        parts.push(Part { hunk: Some(index), lines: lines(file, hunk, from, next) });
        // Unchanged lines between two hunks are shown once.
        from = (hunk.text.end + CONTEXT).min(next);
    }
    parts
}

fn heading(file: &File<'_>) -> String {
    let added: usize = file.hunks.iter().map(|hunk| hunk.text.len()).sum();
    let removed: usize = file.hunks.iter().map(|hunk| hunk.base.len()).sum();
    let what = match file.existence {
        (false, true) => " (new file)",
        (true, false) => " (deleted)",
        _ => "",
    };
    let is_either = |holds: fn(&Text) -> bool| holds(file.base) || holds(file.text);
    let ends = match (file.base.shape().ending, file.text.shape().ending) {
        (from, to) if from != to && !is_either(Text::is_empty) => {
            format!(" (line endings {} {ARROW} {})", from.name(), to.name())
        }
        _ if is_either(Text::is_empty) || file.existence != (true, true) => String::new(),
        _ => match (file.base.shape().final_newline, file.text.shape().final_newline) {
            (false, true) => " (newline at the end)".to_owned(),
            (true, false) => " (no newline at the end)".to_owned(),
            _ => String::new(),
        },
    };
    let from = file.from.as_ref().map(|from| format!("{from} {ARROW} ")).unwrap_or_default();
    let count = match &file.hunks[..] {
        [] if file.from.is_some() => "renamed".to_owned(),
        _ => format!("+{added} -{removed}"),
    };
    format!("{from}{}{what}{ends}  {count}", file.name)
}

/// Renders a hunk with unchanged lines of the text from `from` up to `until` around it.
fn lines(file: &File<'_>, hunk: &Hunk, from: usize, until: usize) -> Vec<String> {
    let before = hunk.text.start.saturating_sub(CONTEXT).max(from)..hunk.text.start;
    let after = hunk.text.end..(hunk.text.end + CONTEXT).min(until);
    let around = before.len() + after.len();
    let removed = span(hunk.base.start - before.len(), hunk.base.len() + around);
    let added = span(before.start, hunk.text.len() + around);
    let title = if hunk.title.is_empty() { String::new() } else { format!(" {}", hunk.title) };
    let mut lines = vec![format!("@@ -{removed} +{added} @@{title}")];
    let mut push = |sign: char, text: &Text, rows: Range<usize>| {
        lines.extend(rows.map(|row| format!("{sign}{}", text.line(row))));
    };
    push(' ', file.text, before);
    push('-', file.base, hunk.base.clone());
    push('+', file.text, hunk.text.clone());
    push(' ', file.text, after);
    lines
}

/// A range of lines as in the first line of a hunk. An empty one has the number of the line before it.
fn span(start: usize, count: usize) -> String {
    let first = if count == 0 { start } else { start + 1 };
    if count == 1 { first.to_string() } else { format!("{first},{count}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(base: Range<usize>, text: Range<usize>, title: &str) -> Hunk {
        Hunk { base, text, title: title.to_owned() }
    }

    fn rendered(file: &File<'_>) -> String {
        parts(file).into_iter().flat_map(|part| part.lines).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_hunk_has_its_title_and_no_line_is_shown_twice() {
        let base = Text::parse("1\n2\n3\n4\n5\n6\n7\n8\n");
        let text = Text::parse("1\ntwo\n3\n4\n6\n7\n8\n9\n");
        let hunks = vec![
            hunk(1..2, 1..2, "Edit a.txt"),
            hunk(4..5, 4..4, ""),
            hunk(8..8, 7..8, "Append to a.txt"),
        ];
        let existence = (true, true);
        let file = File {
            name: "a.txt".to_owned(),
            from: None,
            existence,
            base: &base,
            text: &text,
            hunks,
        };
        expect_test::expect![[r"
            a.txt  +2 -2
            @@ -1,4 +1,4 @@ Edit a.txt
             1
            -2
            +two
             3
             4
            @@ -5,4 +5,3 @@
            -5
             6
             7
             8
            @@ -8,0 +8 @@ Append to a.txt
            +9"]]
        .assert_eq(&rendered(&file));
    }

    #[test]
    fn a_new_and_a_deleted_file_say_so() {
        let (none, text) = (Text::default(), Text::parse("1\n"));
        let new = File {
            name: "new".to_owned(),
            from: None,
            existence: (false, true),
            base: &none,
            text: &text,
            hunks: vec![hunk(0..0, 0..1, "")],
        };
        assert_eq!(rendered(&new), "new (new file)  +1 -0\n@@ -0,0 +1 @@\n+1");
        let deleted = File {
            name: "old".to_owned(),
            from: None,
            existence: (true, false),
            base: &text,
            text: &none,
            hunks: vec![hunk(0..1, 0..0, "")],
        };
        assert_eq!(rendered(&deleted), "old (deleted)  +0 -1\n@@ -1 +0,0 @@\n-1");
    }
}
