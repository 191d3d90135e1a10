//! Tests of `edit::unified`.

use proptest::prelude::*;

use super::*;

fn diff(old: &str, new: &str) -> String {
    let (old, new) = (Text::parse(old), Text::parse(new));
    let file = FileDiff::new("a.txt", Some(&old), Some(&new));
    file.map(|file| bounded(&[&file], 16 * 1024)).unwrap_or_default()
}

const HEADER: &str = "--- a/a.txt\n+++ b/a.txt\n";

#[test]
fn a_change_is_shown_with_its_context() {
    assert_eq!(
        diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
        HEADER.to_owned() + "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    );
    assert_eq!(diff("1\n", "1\n"), "");
    assert_eq!(diff("", "1\n"), HEADER.to_owned() + "@@ -0,0 +1,1 @@\n+1\n");
}

#[test]
fn a_missing_final_newline_is_shown() {
    assert_eq!(
        diff("1\n2", "1\n2\n"),
        HEADER.to_owned() + "@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n"
    );
    assert_eq!(
        diff("1\n", "1\n2"),
        HEADER.to_owned() + "@@ -1,1 +1,2 @@\n 1\n+2\n\\ No newline at end of file\n"
    );
}

#[test]
fn a_change_of_the_line_ending_alone_is_described() {
    assert_eq!(
        diff("1\r\n2\r\n", "1\n2\n"),
        HEADER.to_owned() + "line endings change from CRLF to LF\n"
    );
}

#[test]
fn created_and_deleted_files_are_compared_with_dev_null() {
    let (text, empty) = (Text::parse("1\n"), Text::parse(""));
    let shown = |old, new| bounded(&[&FileDiff::new("x", old, new).unwrap()], 1024);
    assert_eq!(shown(None, Some(&text)), "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+1\n");
    assert_eq!(shown(Some(&text), None), "--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-1\n");
    assert_eq!(shown(None, Some(&empty)), "--- /dev/null\n+++ b/x\n");
}

#[test]
fn an_absolute_path_stays_absolute() {
    let (one, two) = (Text::parse("1\n"), Text::parse("2\n"));
    let diff = FileDiff::new("/tmp/x", Some(&one), Some(&two)).unwrap().to_text();
    assert!(diff.starts_with("--- /tmp/x\n+++ /tmp/x\n"), "{diff}");
}

#[test]
fn hunks_that_do_not_fit_are_counted() {
    let old = Text::parse(&"line\n".repeat(100));
    let new = Text::parse(&("first\n".to_owned() + &"line\n".repeat(100) + &"last\n".repeat(500)));
    let small =
        FileDiff::new("b.txt", Some(&Text::parse("1\n")), Some(&Text::parse("2\n"))).unwrap();
    let large = FileDiff::new("a.txt", Some(&old), Some(&new)).unwrap();
    let files = [&large, &small];
    let text = bounded(&files, 300);
    assert_eq!(
        text,
        HEADER.to_owned()
            + "@@ -1,3 +1,4 @@\n+first\n line\n line\n line\na.txt: more: +500 -0 lines, not shown\n\
               --- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-1\n+2\n"
    );
    let text = bounded(&files, 160);
    assert!(text.starts_with("a.txt: +501 -0 lines, not shown\n"), "{text}");
    assert_eq!(
        bounded(&files, 100),
        "a.txt: +501 -0 lines, not shown\nand 1 more files, not shown\n"
    );
}

/// Applies a diff as `patch` would.
fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut new, mut at) = (String::new(), 0);
    let mut lines = diff.lines().skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(range) = line.strip_prefix("@@ -") {
            let (start, count) = range.split_once(' ').unwrap().0.split_once(',').unwrap();
            let start: usize = start.parse().unwrap();
            let first = if count == "0" { start } else { start - 1 };
            new.push_str(&old[at..first].concat());
            at = first;
            continue;
        }
        let ended = !lines.peek().is_some_and(|next| next.starts_with('\\'));
        let content = line[1..].to_owned() + if ended { "\n" } else { "" };
        match &line[..1] {
            "\\" => {}
            "+" => new.push_str(&content),
            sign => {
                assert_eq!(old[at], content);
                at += 1;
                new.push_str(if sign == " " { &content } else { "" });
            }
        }
    }
    new.push_str(&old[at..].concat());
    new
}

fn content() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec("[ab]{0,2}", 0..30).prop_map(|lines| lines.join("\n"));
    (lines, any::<bool>()).prop_map(|(text, ended)| if ended { text + "\n" } else { text })
}

proptest! {
    #[test]
    fn patching_the_old_text_gives_the_new_one(old in content(), new in content()) {
        prop_assert_eq!(patched(&old, &diff(&old, &new)), new);
    }

    #[test]
    fn the_limit_holds_and_no_hunk_is_cut(
        files in prop::collection::vec((content(), content()), 0..8),
        limit in 128usize..600,
    ) {
        let files: Vec<FileDiff> = files.iter().enumerate().filter_map(|(i, (old, new))| {
            FileDiff::new(&i.to_string(), Some(&Text::parse(old)), Some(&Text::parse(new)))
        }).collect();
        let refs: Vec<&FileDiff> = files.iter().collect();
        let text = bounded(&refs, limit);
        prop_assert!(text.len() <= limit);
        // Each hunk is shown whole or not at all, and each line of a diff is shown or counted.
        let hunks = files.iter().flat_map(|file| &file.hunks);
        let whole: usize = hunks.filter(|hunk| text.contains(&hunk.text)).count();
        let shown = text.lines().filter(|line| line.starts_with("@@ ")).count();
        prop_assert!(shown <= whole);
        let all: usize = files.iter().map(|file| file.added() + file.removed()).sum();
        let signs = |line: &&str| (line.starts_with('+') && !line.starts_with("+++ b/"))
            || (line.starts_with('-') && !line.starts_with("--- a/"));
        let there = text.lines().filter(signs).count();
        let counted: usize = text.lines().filter(|line| line.ends_with(" lines, not shown"))
            .flat_map(|line| line.split(['+', '-']).skip(1))
            .filter_map(|part| part.split(' ').next()?.parse::<usize>().ok())
            .sum();
        if !text.contains("more files") {
            prop_assert_eq!(there + counted, all);
        }
    }
}
