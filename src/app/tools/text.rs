//! The answers of the editor's tools as text for a model: each place on a line, in order, bounded, with how many there are.

use crate::core::messages::workbench::{Findings, Place};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The largest answer, in bytes: agents cut longer ones, each elsewhere.
pub(super) const MOST_BYTES: usize = 10 << 10;

/// The longest line of an answer, in bytes.
const MOST_OF_LINE: usize = 400;

/// Formats what was found. `what` is what the places are, such as `reference`.
pub(super) fn places(cwd: &Path, findings: &Findings, what: &str) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for place in &findings.places {
        let line = line(cwd, place);
        if text.len() + line.len() > MOST_BYTES {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    let total = findings.total.max(findings.places.len());
    let files: BTreeSet<&PathBuf> = findings.places.iter().map(|place| &place.path).collect();
    // Writing to a string cannot fail.
    let _ = match (total, shown) {
        (0, _) => writeln!(text, "no {}", plural(what, 0)),
        (total, shown) if shown < total => {
            writeln!(text, "… {} more: {}", total - shown, counts(total, what, files.len()))
        }
        (total, _) => writeln!(text, "{}", counts(total, what, files.len())),
    };
    with_notes(text, &findings.notes)
}

/// Appends notes to an answer.
pub(super) fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        let room = (2 * MOST_BYTES).saturating_sub(text.len());
        text.push_str(&shortened(note.trim_end(), room));
        text.push('\n');
    }
    text
}

/// Says how many there are, and in how many files if that is more than one.
fn counts(total: usize, what: &str, files: usize) -> String {
    let total = format!("{total} {}", plural(what, total));
    if files > 1 && what != "file" { format!("{total} in {files} files") } else { total }
}

fn plural(what: &str, count: usize) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => what.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ => format!("{what}s"),
    }
}

fn line(cwd: &Path, place: &Place) -> String {
    let path = short(cwd, &place.path);
    let text = cut(place.text.trim());
    match (place.line, text.is_empty()) {
        (0, true) => format!("{path}\n"),
        (0, false) => format!("{path}: {text}\n"),
        (line, true) => format!("{path}:{line}\n"),
        (line, false) => format!("{path}:{line}: {text}\n"),
    }
}

/// Returns a path as it is shown to a model: relative if it is in the working directory.
pub(super) fn short(cwd: &Path, path: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

/// Cuts a text that has more bytes at a character, and says how many are missing.
pub(super) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} more bytes)", &text[..end], text.len() - end).into()
}

fn cut(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    if text.len() <= MOST_OF_LINE {
        return text;
    }
    let end = (0..=MOST_OF_LINE).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(count: u32) -> Findings {
        let place = |line| Place { path: "/p/src/a.rs".into(), line, text: "let x".to_owned() };
        Findings { places: (1..=count).map(place).collect(), total: 0, ..Findings::default() }
    }

    /// Holds (Editor tools): An answer has at most 10 KB of places, and says how many there are.
    #[test]
    fn an_answer_is_bounded_and_counted() {
        let cwd = Path::new("/p");
        assert_eq!(places(cwd, &found(0), "reference"), "no references\n");
        assert_eq!(places(cwd, &found(1), "reference"), "src/a.rs:1: let x\n1 reference\n");
        let long = places(cwd, &found(5000), "reference");
        assert!(long.len() < MOST_BYTES + 100, "{}", long.len());
        let last = long.lines().last().unwrap();
        assert!(last.starts_with("… 4") && last.ends_with(" more: 5000 references"), "{last}");
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        let place =
            Place { path: "/q/a".into(), line: 3, text: format!("a{}\nb", "ä".repeat(400)) };
        let line = line(Path::new("/p"), &place);
        assert!(line.starts_with("/q/a:3: aä") && line.ends_with("ä…\n") && line.len() < 420);
    }
}
