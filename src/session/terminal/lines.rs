//! The last lines of a command's output as plain text, as a terminal would show each line in the
//! end. The cursor moves only within the last line.

/// After this many characters the cursor cannot go back to overwrite them.
const MAX_OVERWRITABLE: usize = 16 << 10;

/// Finished lines are dropped once they exceed `room` by this many bytes.
const SLACK: usize = 64 << 10;

/// The last lines of an output.
#[derive(Debug)]
pub(super) struct Lines {
    /// The finished lines.
    done: String,
    /// The line of the cursor, and its column.
    line: Vec<char>,
    column: usize,
    /// How many bytes of `done` are retained.
    room: usize,
    /// Whether the beginning of `done` was dropped.
    cut: bool,
    /// All line breaks so far, including those dropped.
    breaks: usize,
}

impl Lines {
    /// Creates an empty output that retains about `room` bytes.
    pub(super) fn new(room: usize) -> Self {
        let (done, line) = (String::new(), Vec::new());
        Self { done, line, column: 0, room, cut: false, breaks: 0 }
    }

    /// Writes text at the cursor, replacing what is there.
    pub(super) fn write(&mut self, text: &str) {
        for c in text.chars() {
            self.put(c);
        }
    }

    fn put(&mut self, c: char) {
        if self.column < self.line.len() {
            self.line[self.column] = c;
        } else {
            self.line.resize(self.column, ' ');
            self.line.push(c);
        }
        self.column += 1;
        if self.column >= MAX_OVERWRITABLE {
            self.finish();
        }
    }

    /// Applies a line feed, carriage return, tab or backspace.
    pub(super) fn control(&mut self, control: char) {
        match control {
            '\n' => {
                self.finish();
                self.done.push('\n');
                self.breaks += 1;
            }
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\t' if self.column < self.line.len() => self.move_to((self.column / 8 + 1) * 8),
            _ => self.put('\t'),
        }
    }

    /// Moves the cursor to a column, counted from 0.
    pub(super) fn move_to(&mut self, column: usize) {
        self.column = column.min(MAX_OVERWRITABLE - 1);
    }

    /// Returns the column of the cursor.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Erases the line from the cursor on.
    pub(super) fn erase_rest(&mut self) {
        self.line.truncate(self.column);
    }

    /// Erases the line up to and including the cursor.
    pub(super) fn erase_start(&mut self) {
        let end = (self.column + 1).min(self.line.len());
        self.line[..end].fill(' ');
    }

    /// Erases the line.
    pub(super) fn erase_line(&mut self) {
        self.line.clear();
    }

    fn finish(&mut self) {
        self.done.extend(self.line.drain(..));
        self.column = 0;
        if self.done.len() > self.room + SLACK {
            self.drop_front(self.room);
        }
    }

    /// Retains only the last `room` bytes from now on.
    pub(super) fn shrink(&mut self, room: usize) {
        self.room = room;
        self.drop_front(room);
        self.done.shrink_to(room);
    }

    fn drop_front(&mut self, room: usize) {
        if self.done.len() > room {
            let start = self.done.ceil_boundary(self.done.len() - room);
            self.done.drain(..start);
            self.cut = true;
        }
    }

    /// Returns the last `limit` bytes, starting at a character boundary, and whether there was
    /// more.
    pub(super) fn text(&self, limit: usize) -> (String, bool) {
        let line: String = self.line.iter().collect();
        let skip = (self.done.len() + line.len()).saturating_sub(limit);
        let text = match skip.checked_sub(self.done.len()) {
            Some(skip) => line[line.ceil_boundary(skip)..].to_owned(),
            None => [&self.done[self.done.ceil_boundary(skip)..], &line].concat(),
        };
        (text, self.cut || skip > 0)
    }

    /// Returns the last lines, oldest first: at most `most`, each cut to `width` characters,
    /// without empty ones at the end.
    pub(super) fn last(&self, most: usize, width: usize) -> Vec<String> {
        let cut = |line: &str| line.chars().take(width).collect::<String>();
        let current: String = self.line.iter().take(width).collect();
        // Part of a long line may be in `done`; only its end is shown.
        let mut lines: Vec<String> = Vec::new();
        let mut rest = self.done.as_str();
        if !current.is_empty() && !rest.is_empty() && !rest.ends_with('\n') {
            rest = &rest[..rest.rfind('\n').map_or(0, |at| at + 1)];
        }
        lines.extend((!current.trim_end().is_empty()).then_some(current));
        for line in rest.strip_suffix('\n').unwrap_or(rest).rsplit('\n') {
            if lines.len() == most || rest.is_empty() {
                break;
            }
            if !lines.is_empty() || !line.trim_end().is_empty() {
                lines.push(cut(line));
            }
        }
        lines.reverse();
        lines
    }

    /// Returns the memory it uses, in bytes.
    pub(super) fn size(&self) -> usize {
        self.done.capacity() + self.line.capacity() * size_of::<char>()
    }

    /// Returns the number of lines, including those dropped.
    pub(super) fn count(&self) -> usize {
        self.breaks + usize::from(!self.line.is_empty())
    }
}

/// Provides `str::ceil_char_boundary`, which is not stable yet.
trait CeilBoundary {
    /// Returns the first character boundary at or after `index`.
    fn ceil_boundary(&self, index: usize) -> usize;
}

impl CeilBoundary for str {
    fn ceil_boundary(&self, index: usize) -> usize {
        (index..self.len()).find(|at| self.is_char_boundary(*at)).unwrap_or(self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str, room: usize) -> Lines {
        let mut lines = Lines::new(room);
        for c in text.chars() {
            if c.is_control() { lines.control(c) } else { lines.write(c.encode_utf8(&mut [0; 4])) }
        }
        lines
    }

    #[test]
    fn a_line_is_what_a_terminal_shows_in_the_end() {
        let text = |text| written(text, 100).text(100).0;
        assert_eq!(text("10%\r20%\r100%\ndone"), "100%\ndone");
        assert_eq!(text("abc\rx\nabc\u{8}\u{8}yz\n"), "xbc\nayz\n");
        assert_eq!(text("one\r\ntwo\r\n"), "one\ntwo\n");
        assert_eq!(text("a\tb"), "a\tb");
        let mut lines = written("Downloading", 100);
        lines.control('\r');
        lines.write("ok");
        lines.erase_rest();
        assert_eq!(lines.text(100).0, "ok");
        lines.move_to(4);
        lines.write("!");
        lines.erase_start();
        assert_eq!(lines.text(100).0, "     ");
    }

    #[test]
    fn an_endless_line_has_bounded_memory() {
        let mut lines = Lines::new(1000);
        for _ in 0..200 {
            lines.write(&"x".repeat(1000));
        }
        assert!(
            lines.done.capacity() < 4 * (SLACK + MAX_OVERWRITABLE),
            "{}",
            lines.done.capacity()
        );
        assert!(lines.line.len() < MAX_OVERWRITABLE);
        assert_eq!(lines.text(10), ("x".repeat(10), true));
        assert_eq!(lines.last(3, 5), ["xxxxx"]);
    }

    #[test]
    fn the_last_lines_have_no_empty_ones_at_the_end() {
        let lines = written("a\n\nb\nccc\n\n", 100);
        assert_eq!(lines.last(3, 2), ["", "b", "cc"]);
        assert_eq!(lines.last(9, 9), ["a", "", "b", "ccc"]);
        assert_eq!(lines.count(), 5);
        assert_eq!(written("a\nb", 9).last(1, 9), ["b"]);
        assert_eq!(written("", 9).last(5, 9), [""; 0]);
    }

    proptest! {
        /// The text is as many whole characters from the end as fit.
        #[test]
        fn the_end_is_retained_from_a_character_boundary(
            text in "[aß€😀\n]{0,40}",
            limit in 0..60usize,
            room in 0..60usize,
        ) {
            let lines = written(&text, room.max(limit));
            let (retained, cut) = lines.text(limit);
            prop_assert!(text.ends_with(&retained));
            prop_assert!(retained.len() <= limit);
            prop_assert_eq!(cut, retained.len() < text.len());
            // One more character would not fit.
            let before = text[..text.len() - retained.len()].chars().next_back();
            prop_assert!(before.is_none_or(|c| retained.len() + c.len_utf8() > limit));
        }

        /// Compared with a terminal that is wide enough.
        #[test]
        fn carriage_returns_and_backspaces_overwrite(text in "[ab\r\u{8}]{0,30}") {
            let (mut row, mut column) = (Vec::new(), 0);
            for c in text.chars() {
                match c {
                    '\r' => column = 0,
                    '\u{8}' => column = if column > 0 { column - 1 } else { 0 },
                    c => {
                        if column == row.len() { row.push(c) } else { row[column] = c }
                        column += 1;
                    }
                }
            }
            prop_assert_eq!(written(&text, 100).text(100).0, row.iter().collect::<String>());
        }
    }
}
