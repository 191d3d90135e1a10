//! Finds the paths that a program was not allowed to write, in what it prints. Programs say so in many ways, so these are
//! guesses, and what agents say may not be so.

use super::confinement::normalized;
use std::path::{Path, PathBuf};

/// What a line says that is about a denied path, in lower case.
const SIGNS: &[&str] = &[
    "permission denied",
    "eacces",
    "errno 13",
    "cross-device",
    "permissionerror",
    // On macOS.
    "operation not permitted",
    "eperm",
    "errno 1]",
];

/// How much of a text is searched, from its end, in bytes.
pub const MAX_SEARCHED: usize = 64 << 10;

/// How many paths are returned.
const MAX_PATHS: usize = 8;

/// What may stand around a path.
const AROUND: &[char] = &[
    '\'', '"', '`', '‘', '’', '“', '”', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '.',
    '\\',
];

/// The quotes around paths with blanks.
const QUOTES: [(char, char); 5] = [('\'', '\''), ('"', '"'), ('`', '`'), ('‘', '’'), ('“', '”')];

/// Returns the paths in lines that tell of a denial, without duplicates; relative ones are taken to be in `cwd`.
pub fn denied_paths(text: &str, cwd: &Path) -> Vec<PathBuf> {
    let mut from = text.len().saturating_sub(MAX_SEARCHED)..text.len();
    let start = from.find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let mut found = Vec::new();
    // The second separates lines in JSON.
    for line in text[start..].lines().flat_map(|line| line.split("\\n")) {
        let lower = line.to_ascii_lowercase();
        let Some(sign) = SIGNS.iter().filter_map(|sign| lower.rfind(sign)).max() else { continue };
        let (before, after) = line.split_at(sign);
        // Programs name the path behind the error or, after their own names, before it.
        let mut paths = paths_in(after, cwd).concat();
        if paths.is_empty() {
            paths = paths_in(before, cwd).into_iter().filter_map(|mut all| all.pop()).collect();
        }
        for path in paths {
            if !found.contains(&path) && found.len() < MAX_PATHS {
                found.push(path);
            }
        }
    }
    found
}

/// The paths in quotes, for each kind of quotes, and those that are words.
fn paths_in(text: &str, cwd: &Path) -> Vec<Vec<PathBuf>> {
    let all =
        |parts: &mut dyn Iterator<Item = &str>| parts.filter_map(|it| path(it, cwd)).collect();
    let quoted = QUOTES.iter().map(|quotes| all(&mut quoted(text, *quotes)));
    quoted.chain([all(&mut text.split_whitespace())]).collect()
}

/// The texts between these quotes.
fn quoted(line: &str, (open, close): (char, char)) -> impl Iterator<Item = &str> {
    let parts = line.split(open).skip(1);
    parts.filter_map(move |part| if open == close { Some(part) } else { part.split(close).next() })
}

fn path(text: &str, cwd: &Path) -> Option<PathBuf> {
    // A dot may begin a path, but not end one here.
    let is_around = |c: char| c.is_whitespace() || AROUND.contains(&c);
    let path = text.trim_end_matches(is_around).trim_start_matches(|c| c != '.' && is_around(c));
    let is_path = path.contains('/') && !path.contains("://");
    is_path.then(|| normalized(&cwd.join(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<String> {
        let paths = denied_paths(text, Path::new("/project"));
        paths.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn paths_are_found_as_programs_name_them() {
        for (text, path) in [
            ("sh: 1: cannot create /home/a/new: Permission denied", "/home/a/new"),
            ("bash: line 1: ../out.txt: Permission denied", "/out.txt"),
            ("touch: cannot touch '../a/b': Permission denied", "/a/b"),
            ("mkdir: cannot create directory ‘/home/x’: Permission denied", "/home/x"),
            ("EACCES: permission denied, open '/home/a/b.txt'", "/home/a/b.txt"),
            (r#"{"error":"Error: EACCES: permission denied, open '/a/b.txt'"}"#, "/a/b.txt"),
            ("PermissionError: [Errno 13] Permission denied: '/a/b'", "/a/b"),
            ("mv: cannot move to '/a/.env': Invalid cross-device link", "/a/.env"),
            (
                "error: could not lock config file /home/me/.gitconfig: Permission denied",
                "/home/me/.gitconfig",
            ),
        ] {
            assert!(found(text).iter().any(|found| found == path), "{text}: {:?}", found(text));
        }
        assert_eq!(found("EACCES: permission denied, open '/a b/c'")[0], "/a b/c");
        let json = found(r#"{"out":"x\n/a: Permission denied\n/b/c: No such file"}"#);
        assert_eq!(json, ["/a"]);
    }

    #[test]
    fn the_program_that_says_so_was_not_denied() {
        let shell = "/bin/sh: 1: cannot create /home/a/new: Permission denied";
        assert_eq!(found(shell), ["/home/a/new"]);
        assert_eq!(found("/usr/bin/env: '/opt/x': Permission denied"), ["/opt/x"]);
    }

    #[test]
    fn other_lines_and_words_are_no_denials() {
        assert_eq!(found("wrote /a/b\nPermission denied\nread /a/c"), [""; 0]);
        assert_eq!(found("https://host/a: Permission denied (publickey)."), [""; 0]);
        let many: String =
            (0..99).map(|number| format!("/a/{number}: Permission denied\n")).collect();
        assert_eq!(found(&many.repeat(2)).len(), MAX_PATHS);
    }

    proptest! {
        /// Agents choose the text.
        #[test]
        fn any_text_can_be_searched(text in "[ '\"‘’/.:a\\nü]{0,40}( permission denied)?") {
            for path in denied_paths(&text, Path::new("/project")) {
                prop_assert!(path.is_absolute());
            }
        }
    }
}
