//! Finds renamed text files among those that were changed: one that is gone, and a new one with the same lines, or most of
//! them. It reads nothing.

use crate::core::messages::review::{ChangedFile, ChangedHunk};
use crate::edit::{HunkId, Text, diff};
use std::sync::Arc;

/// Only so many pairs of files are compared line by line,
const MAX_PAIRS: usize = 400;
/// and only texts of so many lines.
const MAX_LINES: usize = 5_000;

/// A changed file as it is listed.
pub(super) struct Listed<'a> {
    /// Its name as shown.
    pub(super) name: &'a str,
    /// What is pending; of a renamed file, what differs from the old one.
    pub(super) file: ChangedFile,
    /// The old file with its name as shown, if it was renamed.
    pub(super) from: Option<(&'a str, &'a ChangedFile)>,
}

/// Joins the old and the new file of each rename. The others stay as they are, in their order.
pub(super) fn join<'a>(files: &[(&'a str, &'a ChangedFile)]) -> Vec<Listed<'a>> {
    let is_gone = |file: &ChangedFile| file.existed && !file.exists && !file.base.is_empty();
    let is_new = |file: &ChangedFile| !file.existed && file.exists && !file.text.is_empty();
    let places = |wanted: &dyn Fn(&ChangedFile) -> bool| -> Vec<usize> {
        (0..files.len()).filter(|at| wanted(files[*at].1)).collect()
    };
    let (mut gone, new) = (places(&is_gone), places(&is_new));
    let mut sources: Vec<Option<usize>> = vec![None; files.len()];
    let exact = |one: &Text, other: &Text| one.same_lines(other);
    find(files, &mut gone, &new, &mut sources, exact);
    if gone.len() * new.len() <= MAX_PAIRS {
        find(files, &mut gone, &new, &mut sources, is_similar);
    }
    let is_source = |at: &usize| sources.contains(&Some(*at));
    let listed = (0..files.len()).filter(|at| !is_source(at)).map(|at| {
        let (name, file) = files[at];
        match sources[at].map(|source| files[source]) {
            Some(from) => Listed { name, file: renamed(from.1, file), from: Some(from) },
            None => Listed { name, file: file.clone(), from: None },
        }
    });
    listed.collect()
}

/// Finds for each new file one that is gone.
fn find(
    files: &[(&str, &ChangedFile)],
    gone: &mut Vec<usize>,
    new: &[usize],
    sources: &mut [Option<usize>],
    is_same: impl Fn(&Text, &Text) -> bool,
) {
    for &at in new {
        if sources[at].is_some() {
            continue;
        }
        let file = files[at].1;
        let is_source = |source: &usize| {
            let old = files[*source].1;
            share_turn(old, file) && is_same(&old.base, &file.text)
        };
        if let Some(place) = gone.iter().position(is_source) {
            sources[at] = Some(gone.remove(place));
        }
    }
}

fn share_turn(one: &ChangedFile, other: &ChangedFile) -> bool {
    one.authors.iter().any(|by| other.authors.iter().any(|it| it.is_same_turn(by)))
}

/// Whether two texts have at least half of their lines in common.
fn is_similar(old: &Text, new: &Text) -> bool {
    if old.len().max(new.len()) > MAX_LINES {
        return false;
    }
    let removed: usize = diff(old, new).iter().map(|hunk| hunk.removed).sum();
    4 * (old.len() - removed) >= old.len() + new.len()
}

/// What differs between a file and the one it was renamed from.
pub(super) fn renamed(old: &ChangedFile, new: &ChangedFile) -> ChangedFile {
    let by: Vec<usize> = (0..new.authors.len()).collect();
    let mut shift = 0_isize;
    let hunks = diff(&old.base, &new.text).into_iter().map(|hunk| {
        let start = hunk.start.saturating_add_signed(shift);
        shift += hunk.lines.len().cast_signed() - hunk.removed.cast_signed();
        let text = start..start + hunk.lines.len();
        ChangedHunk { id: HunkId::default(), base: hunk.old(), text, by: by.clone() }
    });
    ChangedFile {
        path: new.path.clone(),
        existed: true,
        exists: true,
        hunks: hunks.collect(),
        base: Arc::clone(&old.base),
        text: Arc::clone(&new.text),
        authors: new.authors.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::messages::review::ChangeAuthor;
    use crate::session::author::{Author, ChatId, SessionKey};

    fn file(path: &str, before: Option<&str>, after: Option<&str>, turn: u64) -> ChangedFile {
        let text = |text: Option<&str>| Arc::new(Text::parse(text.unwrap_or_default()));
        let session = SessionKey { chat: ChatId(1), session: "s".into() };
        ChangedFile {
            path: path.into(),
            existed: before.is_some(),
            exists: after.is_some(),
            base: text(before),
            text: text(after),
            hunks: Vec::new(),
            authors: vec![ChangeAuthor {
                by: Author { session, turn, tool_call: None },
                is_certain: true,
            }],
        }
    }

    fn listed(files: &[ChangedFile]) -> Vec<String> {
        let named: Vec<(&str, &ChangedFile)> =
            files.iter().map(|file| (file.path.to_str().unwrap(), file)).collect();
        let describe = |it: Listed<'_>| match it.from {
            Some((from, _)) => format!("{from} → {} {}", it.name, it.file.hunks.len()),
            None => it.name.to_owned(),
        };
        join(&named).into_iter().map(describe).collect()
    }

    #[test]
    fn a_file_that_is_gone_and_a_new_one_with_most_of_its_lines_are_one() {
        let all = [
            file("a", Some("1\n2\n3\n4\n"), None, 1),
            file("b", None, Some("1\n2\nthree\n4\n"), 1),
            file("c", Some("x\ny\n"), None, 1),
            file("d", None, Some("x\ny\n"), 1),
            file("e", None, Some("5\n"), 1),
        ];
        assert_eq!(listed(&all), ["a → b 1", "c → d 0", "e"]);
    }

    #[test]
    fn files_of_two_turns_and_files_with_little_in_common_are_two() {
        let all = [
            file("a", Some("1\n2\n"), None, 1),
            file("b", None, Some("1\n2\n"), 2),
            file("c", None, Some("3\n2\n4\n5\n"), 1),
        ];
        assert_eq!(listed(&all), ["a", "b", "c"]);
    }
}
