//! Reads unified diffs, as tools and `git diff` write them. What cannot be read as one gives nothing.

use std::iter::Peekable;
use std::path::PathBuf;
use std::str::{Chars, Lines};

/// The lines of a hunk with their context.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hunk {
    /// Before the change.
    pub(super) old: String,
    /// After the change.
    pub(super) new: String,
}

/// The part of a patch that is about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePatch {
    /// The path after the change, or before it if the file was deleted.
    pub(super) path: PathBuf,
    /// Its changes; none for a binary file, or one that was only renamed.
    pub(super) hunks: Vec<Hunk>,
}

/// Returns the hunks of a diff of one file.
pub(super) fn hunks(diff: &str) -> Vec<Hunk> {
    let mut found = Vec::new();
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("@@") {
            found.push(hunk(&mut lines));
        }
    }
    found
}

/// Reads the lines of a hunk up to the next one.
fn hunk(lines: &mut Peekable<Lines<'_>>) -> Hunk {
    let Hunk { mut old, mut new } = Hunk::default();
    let (mut in_old, mut in_new) = (false, false);
    while let Some(line) = lines.next_if(|line| !line.starts_with("@@")) {
        let mark = line.chars().next().unwrap_or(' ');
        match mark {
            '-' | '+' | ' ' => (in_old, in_new) = (mark != '+', mark != '-'),
            // "\ No newline at end of file", about the line before it.
            '\\' => {
                for side in [in_old.then_some(&mut old), in_new.then_some(&mut new)] {
                    side.map(String::pop);
                }
                continue;
            }
            _ => continue,
        }
        for side in [in_old.then_some(&mut old), in_new.then_some(&mut new)].into_iter().flatten() {
            side.push_str(line.get(1..).unwrap_or_default());
            side.push('\n');
        }
    }
    Hunk { old, new }
}

/// Returns the files of a patch in the format of `git diff` with absolute paths (ACP version 2, `git_patch`). A file without a
/// path is left out.
pub(super) fn files(patch: &str) -> Vec<FilePatch> {
    let mut starts: Vec<usize> = patch
        .match_indices("diff --git ")
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || patch.as_bytes()[at - 1] == b'\n')
        .collect();
    starts.push(patch.len());
    starts.windows(2).filter_map(|range| file(&patch[range[0]..range[1]])).collect()
}

fn file(section: &str) -> Option<FilePatch> {
    let head = section.lines().take_while(|line| !line.starts_with("@@"));
    let named = |start: &str| head.clone().find_map(|line| path(line.strip_prefix(start)?));
    let path = ["+++ ", "rename to ", "copy to ", "--- "].into_iter().find_map(named)?;
    Some(FilePatch { path, hunks: hunks(section) })
}

/// Reads a path, which is quoted as in C if it has unusual characters. `None` for the side that does not exist.
fn path(text: &str) -> Option<PathBuf> {
    // A tab separates a path with blanks from a time stamp.
    let text = text.trim_end_matches('\t');
    let path = match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => unquoted(quoted)?,
        None => text.to_owned(),
    };
    (path != "/dev/null").then(|| PathBuf::from(path))
}

fn unquoted(quoted: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => bytes.push(escaped(&mut chars)?),
            _ => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Reads what follows a backslash: a letter, or a byte as three octal digits.
fn escaped(chars: &mut Chars<'_>) -> Option<u8> {
    Some(match chars.next()? {
        'a' => 7,
        'b' => 8,
        't' => b'\t',
        'n' => b'\n',
        'v' => 11,
        'f' => 12,
        'r' => b'\r',
        digit @ '0'..='3' => {
            let digits: String = [digit, chars.next()?, chars.next()?].iter().collect();
            u8::from_str_radix(&digits, 8).ok()?
        }
        other => u8::try_from(other).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hunk_has_its_lines_before_and_after() {
        let diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9 @@\n--- x\n+++ y\n\\ No newline at end of file\n";
        let hunk = |old: &str, new: &str| Hunk { old: old.into(), new: new.into() };
        assert_eq!(
            hunks(diff),
            [hunk("same\nold\n", "same\nnew\n"), hunk("-- x\n", "++ y")],
            "lines of a hunk may look like a header"
        );
        assert_eq!(hunks("no diff\n+x\n"), []);
        assert_eq!(hunks("@@ @@\n same\n\\ No newline\n"), [hunk("same", "same")]);
    }

    #[test]
    fn a_patch_is_taken_apart_by_files() {
        let patch = "diff --git /p/a /p/a\n--- /p/a\n+++ /p/a\n@@ -1 +1 @@\n-x\n+y\n\
            diff --git /p/old /p/new\nrename from /p/old\nrename to /p/new\n\
            diff --git /p/gone /p/gone\n--- /p/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n\
            diff --git \"/p/\\303\\244 \\\"b\" x\n+++ \"/p/\\303\\244 \\\"b\"\n\
            diff --git /p/image /p/image\nBinary files differ\n";
        let files = files(patch);
        let paths: Vec<_> = files.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/p/a", "/p/new", "/p/gone", "/p/ä \"b"]);
        let counts: Vec<_> = files.iter().map(|file| file.hunks.len()).collect();
        assert_eq!(counts, [1, 0, 1, 0]);
        assert_eq!(files[2].hunks[0], Hunk { old: "z\n".into(), new: String::new() });
    }
}
