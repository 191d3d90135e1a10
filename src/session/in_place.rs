//! A request to change some lines of a file in place: which lines, and the whole text that they are part of. It says nothing
//! about how the agent is asked, and changes no file.

use std::ops::Range;
use std::path::PathBuf;

/// Lines of a file that the user wants an agent to change in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InPlace {
    /// Identifies the request in messages to the editor.
    pub number: u64,
    /// The file, by the name of its buffer; absolute.
    pub path: PathBuf,
    /// The lines, counted from 0.
    rows: Range<usize>,
    /// The whole text of the buffer. A line contains no `\n`.
    lines: Vec<String>,
}

impl InPlace {
    /// Creates a request about the lines from `first` to `last`, counted from 1. `None` unless the text has these lines.
    pub fn new(
        number: u64,
        path: PathBuf,
        (first, last): (usize, usize),
        lines: Vec<String>,
    ) -> Option<Self> {
        let is_valid = 1 <= first && first <= last && last <= lines.len();
        let is_split = |line: &String| line.contains('\n');
        (is_valid && !lines.iter().any(is_split)).then(|| Self {
            number,
            path,
            rows: first - 1..last,
            lines,
        })
    }

    /// The first and the last line, counted from 1.
    pub fn numbers(&self) -> (usize, usize) {
        (self.rows.start + 1, self.rows.end)
    }

    /// The lines that are to be changed.
    pub fn wanted(&self) -> &[String] {
        &self.lines[self.rows.clone()]
    }

    /// The whole text.
    pub fn text(&self) -> String {
        joined(&self.lines)
    }

    /// The whole text with other lines in place of those.
    pub fn text_with(&self, replacement: &[String]) -> String {
        let (before, after) = (&self.lines[..self.rows.start], &self.lines[self.rows.end..]);
        joined(&[before, replacement, after].concat())
    }

    /// The longest part of the text around the lines that has at most `room` bytes, with as much before them as after: its
    /// first line, counted from 1, and its lines. It always includes the lines themselves.
    pub fn surroundings(&self, room: usize) -> (usize, &[String]) {
        let size = |row: usize| self.lines[row].len() + 1;
        let Range { mut start, mut end } = self.rows.clone();
        let mut left = room.saturating_sub(self.rows.clone().map(size).sum());
        loop {
            let before = start.checked_sub(1).filter(|row| size(*row) <= left);
            if let Some(row) = before {
                left -= size(row);
                start = row;
            }
            let after = Some(end).filter(|row| *row < self.lines.len() && size(*row) <= left);
            if let Some(row) = after {
                left -= size(row);
                end = row + 1;
            }
            if before.is_none() && after.is_none() {
                return (start + 1, &self.lines[start..end]);
            }
        }
    }
}

/// Joins lines as a file has them. A buffer without text has one empty line.
fn joined(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        [only] if only.is_empty() => String::new(),
        lines => lines.join("\n") + "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }

    fn request(first: usize, last: usize, text: &str) -> Option<InPlace> {
        InPlace::new(1, "/a".into(), (first, last), lines(text))
    }

    #[test]
    fn only_lines_that_exist_can_be_changed() {
        for (first, last) in [(0, 1), (2, 1), (3, 4), (4, 4)] {
            assert_eq!(request(first, last, "a\nb\nc"), None, "{first}-{last}");
        }
        assert_eq!(request(2, 3, "a\nb\nc").unwrap().wanted(), ["b", "c"]);
        assert_eq!(InPlace::new(1, "/a".into(), (1, 1), vec!["a\nb".to_owned()]), None);
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        let text = |first, last, with: &[&str]| {
            let with: Vec<String> = with.iter().map(|line| (*line).to_owned()).collect();
            request(first, last, "a\nb\nc").unwrap().text_with(&with)
        };
        assert_eq!(text(2, 2, &["x", "y"]), "a\nx\ny\nc\n");
        assert_eq!(text(1, 3, &[]), "");
        assert_eq!(text(3, 3, &[]), "a\nb\n");
        assert_eq!(request(1, 1, "").unwrap().text(), "");
    }

    #[test]
    fn surroundings_are_cut_on_both_sides() {
        let request = request(5, 5, "1\n2\n3\n4\n5\n6\n7\n8\n9").unwrap();
        assert_eq!(request.surroundings(6), (4, &lines("4\n5\n6")[..]));
        assert_eq!(request.surroundings(8), (3, &lines("3\n4\n5\n6")[..]));
        assert_eq!(request.surroundings(1000).1.len(), 9);
        assert_eq!(request.surroundings(0), (5, &lines("5")[..]));
    }
}
