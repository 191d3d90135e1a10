//! [`Text`], the lines of a document, and [`Shape`], the properties of the file that the lines do
//! not show. It does no I/O.

use std::ops::Range;

/// The line ending of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnding {
    /// `\n` (`'fileformat'` unix). A `\r` before it belongs to the line, so files with mixed line
    /// endings use this.
    #[default]
    Lf,
    /// `\r\n` (`'fileformat'` dos).
    CrLf,
    /// `\r` (`'fileformat'` mac). As in Neovim, a `\n` of the file becomes a `\r` in the line.
    Cr,
}

/// The properties of a file that its lines do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The line ending (`'fileformat'`).
    pub ending: LineEnding,
    /// Whether the last line is terminated (`'endofline'`).
    pub final_newline: bool,
    /// Whether the file starts with a byte order mark (`'bomb'`).
    pub bom: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self { ending: LineEnding::Lf, final_newline: true, bom: false }
    }
}

const BOM: char = '\u{feff}';

/// The lines of a document and its [`Shape`]. It is immutable; share it in an `Arc`.
///
/// An empty file has no lines. A file that holds only `\n` has one empty line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// All lines joined by `\n`, without a trailing one.
    body: String,
    /// The byte offset of each line in `body`, which is far shorter than 4 GiB.
    starts: Vec<u32>,
    shape: Shape,
}

impl Text {
    /// Parses the content of a file and detects its line ending.
    pub fn parse(content: &str) -> Self {
        Self::parse_as(content, LineEnding::of(content, &LineEnding::ALL).unwrap_or_default())
    }

    /// Parses the content of a file whose line ending is known, for example from `'fileformat'`.
    pub fn parse_as(content: &str, ending: LineEnding) -> Self {
        let (rest, bom) = strip_bom(content);
        let last = if ending == LineEnding::Cr { '\r' } else { '\n' };
        let terminated = rest.strip_suffix(last);
        let final_newline = terminated.is_some() || rest.is_empty();
        let shape = Shape { ending, final_newline, bom };
        let body = match ending {
            LineEnding::Lf => terminated.unwrap_or(rest).to_owned(),
            LineEnding::CrLf => {
                let body = rest.replace("\r\n", "\n");
                if terminated.is_some() { body[..body.len() - 1].to_owned() } else { body }
            }
            LineEnding::Cr => swap_cr_lf(terminated.unwrap_or(rest)),
        };
        Self::from_body(body, shape, rest.is_empty())
    }

    /// Builds a text from lines joined by `\n`, without a trailing one. Where `body` is empty,
    /// `empty` tells a text without lines from one with a single empty line.
    pub fn from_body(body: String, shape: Shape, empty: bool) -> Self {
        if body.is_empty() && (empty || !shape.final_newline) {
            let shape = Shape { final_newline: true, ..shape };
            return Self { body, starts: Vec::new(), shape };
        }
        let ends = memchr::memchr_iter(b'\n', body.as_bytes());
        let mut starts =
            Vec::with_capacity(memchr::memchr_iter(b'\n', body.as_bytes()).count() + 1);
        starts.push(0);
        starts.extend(ends.map(|at| offset(at + 1)));
        Self { body, starts, shape }
    }

    /// Parses what an agent sent and gives it the line ending and byte order mark of `like`, the
    /// text it replaces.
    ///
    /// An agent that sends LF for a CRLF file, or the other way round, does not mean to change the
    /// line ending. If `like` has no lines there is nothing to match. Whether there is a final
    /// newline is up to the agent.
    pub fn matching(content: &str, like: &Self) -> Self {
        let sent = Self::parse(content);
        let mut text = match (like.is_empty(), like.shape.ending, sent.shape.ending) {
            (false, LineEnding::CrLf, _) => Self::parse_as(content, LineEnding::CrLf),
            (false, LineEnding::Lf, LineEnding::CrLf) if like.body.contains('\r') => {
                Self::parse_as(content, LineEnding::Lf)
            }
            (false, LineEnding::Lf, LineEnding::Cr) => Self::parse_as(content, LineEnding::Lf),
            (false, LineEnding::Cr, _) if like.body.contains('\r') && content.contains('\r') => {
                Self::parse_as(content, LineEnding::Cr)
            }
            (false, LineEnding::Cr, _) => {
                let with_cr = content.replace("\r\n", "\n").replace('\n', "\r");
                Self::parse_as(&with_cr, LineEnding::Cr)
            }
            _ => sent,
        };
        if !like.is_empty() {
            text.shape.bom = like.shape.bom;
            text.shape.ending = like.shape.ending;
        }
        text
    }

    /// Returns the lines with `\n` for each line ending, whichever the file has.
    pub(super) fn lf_content(&self) -> String {
        let mut content = self.body.clone();
        if self.shape.final_newline && !self.is_empty() {
            content.push('\n');
        }
        content
    }

    /// Returns the text with other lines, given as [`Text::lf_content`] returns them.
    pub(super) fn with_lf_content(&self, mut content: String) -> Self {
        let is_empty = content.is_empty();
        let final_newline = is_empty || content.ends_with('\n');
        if final_newline {
            content.pop();
        }
        Self::from_body(content, Shape { final_newline, ..self.shape }, is_empty)
    }

    /// Returns the same lines with another shape.
    #[must_use]
    pub fn with_shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Returns the shape of the file.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the text has no lines; one empty line is not empty.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns a line (0-based) without its line ending, or an empty string past the end.
    pub fn line(&self, index: usize) -> &str {
        self.body(index..index + 1)
    }

    /// Returns a range of lines (0-based) joined by `\n`, clipped to the end of the text.
    pub fn body(&self, lines: Range<usize>) -> &str {
        let Some(from) = self.start(lines.start) else { return "" };
        let to = self.start(lines.end).map_or(self.body.len(), |next| next - 1);
        if lines.is_empty() { "" } else { &self.body[from..to] }
    }

    /// Returns the byte offset of a line; `None` past the end.
    fn start(&self, line: usize) -> Option<usize> {
        self.starts.get(line).map(|at| *at as usize)
    }

    /// Returns the text with other lines (0-based) in place of some, none of which may contain a line break.
    pub(super) fn spliced(&self, lines: Range<usize>, new: &[String]) -> Self {
        let (start, end) = (lines.start.min(self.len()), lines.end.min(self.len()));
        let added: usize = new.iter().map(|line| line.len() + 1).sum();
        let mut body = String::with_capacity(self.body.len() + added + 1);
        let mut starts = Vec::with_capacity(self.len() + new.len());
        starts.extend_from_slice(&self.starts[..start]);
        body.push_str(if start > 0 { self.body(0..start) } else { "" });
        for line in new {
            if !starts.is_empty() {
                body.push('\n');
            }
            starts.push(offset(body.len()));
            body.push_str(line);
        }
        if let Some(from) = self.start(end) {
            if !starts.is_empty() {
                body.push('\n');
            }
            let to = body.len();
            starts.extend(self.starts[end..].iter().map(|at| offset(*at as usize - from + to)));
            body.push_str(&self.body[from..]);
        }
        Self { body, starts, shape: self.shape }
    }

    /// Iterates over the lines, without their line endings.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.line(index))
    }

    /// Whether both texts have the same lines; their shapes are not compared.
    pub fn same_lines(&self, other: &Self) -> bool {
        self.len() == other.len() && self.body == other.body
    }

    /// Returns what an agent reads: the lines with their line endings, without the byte order
    /// mark.
    pub fn content(&self) -> String {
        self.excerpt(0, None)
    }

    /// Returns up to `limit` lines from line `from` (0-based) with their line endings.
    pub fn excerpt(&self, from: usize, limit: Option<usize>) -> String {
        let to = limit.map_or(self.len(), |limit| from.saturating_add(limit)).min(self.len());
        if from >= to {
            return String::new();
        }
        let (lines, end) = (self.body(from..to), self.shape.ending.as_str());
        let mut content = String::with_capacity(lines.len() + end.len());
        match self.shape.ending {
            LineEnding::Lf => content.push_str(lines),
            LineEnding::CrLf => content = lines.replace('\n', end),
            LineEnding::Cr => content = swap_cr_lf(lines),
        }
        if to < self.len() || self.shape.final_newline {
            content.push_str(end);
        }
        content
    }

    /// Returns what [`LineEnding::of`] would detect in the file with this text.
    pub fn found_ending(&self, formats: &[LineEnding]) -> Option<LineEnding> {
        let is_plain = self.shape.ending == LineEnding::Lf && !self.line(0).contains('\r');
        if is_plain && self.len() > 1 {
            return LineEnding::of("\n", formats); // the first line decides
        }
        LineEnding::of(&self.content(), formats)
    }

    /// Returns the content of the file as UTF-8: the byte order mark, if any, and
    /// [`Text::content`].
    pub fn file_content(&self) -> String {
        let mut content = self.content();
        if self.shape.bom {
            content.insert(0, BOM);
        }
        content
    }
}

impl LineEnding {
    /// All line endings that `'fileformats'` can name.
    pub const ALL: [Self; 3] = [Self::Lf, Self::CrLf, Self::Cr];

    /// Returns the characters of the line ending.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// Returns what it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::CrLf => "CRLF",
            Self::Cr => "CR",
        }
    }

    /// Detects the line ending of a file as Neovim does when it reads one (`:help 'fileformats'`):
    /// CRLF if every line ends with it, CR if there is a CR and no LF. `formats` holds the allowed
    /// ones. `None` if nothing in the file decides it.
    pub fn of(content: &str, formats: &[Self]) -> Option<Self> {
        let (bytes, allowed) = (content.as_bytes(), |ending| formats.contains(&ending));
        let mut newlines = memchr::memchr_iter(b'\n', bytes).peekable();
        if newlines.peek().is_none() {
            let is_mac = allowed(Self::Cr) && memchr::memchr(b'\r', bytes).is_some();
            return is_mac.then_some(Self::Cr);
        }
        let is_unix = allowed(Self::Lf);
        let mut is_dos = allowed(Self::CrLf);
        is_dos &= !is_unix || newlines.all(|at| at > 0 && bytes[at - 1] == b'\r');
        if is_dos { Some(Self::CrLf) } else { is_unix.then_some(Self::Lf) }
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn strip_bom(content: &str) -> (&str, bool) {
    content.strip_prefix(BOM).map_or((content, false), |rest| (rest, true))
}

fn swap_cr_lf(text: &str) -> String {
    let swap = |c| match c {
        '\n' => '\r',
        '\r' => '\n',
        other => other,
    };
    text.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(content: &str) -> Vec<String> {
        Text::parse(content).lines().map(str::to_owned).collect()
    }

    #[test]
    fn parsing_splits_content_into_lines_and_shape() {
        assert_eq!(lines(""), Vec::<String>::new());
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("a\nb"), ["a", "b"]);
        assert_eq!(lines("a\r\nb\r\n"), ["a", "b"]);
        assert_eq!(lines("a\r\nb\n"), ["a\r", "b"], "mixed line ends stay as they are");
        assert_eq!(lines("a\rb\r"), ["a", "b"]);
        assert!(Text::parse("\u{feff}a\n").shape().bom);
        assert!(!Text::parse("a\nb").shape().final_newline);
    }

    #[test]
    fn an_excerpt_has_the_files_line_endings() {
        let text = Text::parse("a\r\nb\r\nc");
        assert_eq!(text.excerpt(1, Some(1)), "b\r\n");
        assert_eq!(text.excerpt(1, Some(9)), "b\r\nc");
        assert_eq!(text.excerpt(2, None), "c");
        assert_eq!(text.excerpt(3, None), "");
        assert_eq!(text.excerpt(0, Some(0)), "");
    }

    #[test]
    fn an_agents_text_takes_the_shape_of_the_file() {
        let check = |file: &str, sent: &str, written: &str| {
            let text = Text::matching(sent, &Text::parse(file));
            assert_eq!(text.file_content(), written, "{sent:?} for {file:?}");
        };
        check("a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n");
        check("a\r\nb\r\n", "a\r\nB\n", "a\r\nB\r\n");
        check("a\nb\n", "a\r\nB\r\n", "a\nB\n");
        check("a\r\nb\n", "a\r\nB\r\n", "a\r\nB\r\n");
        check("\u{feff}a\n", "b\n", "\u{feff}b\n");
        check("a\n", "\u{feff}b\n", "b\n");
        check("a\n", "b", "b");
        check("", "a\r\n", "a\r\n");
        check("a\rb\r", "a\nB\n", "a\rB\r");
        check("a\rb\r", "a\rB\n", "a\rB\r");
        check("a\rb", "a\rB", "a\rB");
        check("a\nb\n", "a\rb", "a\rb");
    }

    #[test]
    fn line_endings_are_detected_among_the_allowed_formats() {
        use LineEnding::{Cr, CrLf, Lf};
        let check = |content: &str, formats: &[LineEnding], found: Option<LineEnding>| {
            assert_eq!(LineEnding::of(content, formats), found, "{content:?}, {formats:?}");
            let text = Text::parse_as(content, Lf);
            assert_eq!(text.found_ending(formats), found, "{content:?}, {formats:?}");
        };
        check("a\r\nb\r\n", &[Lf, CrLf], Some(CrLf));
        check("a\r\nb\n", &[Lf, CrLf], Some(Lf));
        check("a\nb\r\n", &[Lf, CrLf], Some(Lf));
        check("a\nb\r\n", &[CrLf], Some(CrLf));
        check("a\r\n", &[Lf], Some(Lf));
        check("a\rb\r", &[Lf, CrLf], None);
        check("a\rb\r", &LineEnding::ALL, Some(Cr));
        check("a\n", &[], None);
        check("a", &LineEnding::ALL, None);
    }

    proptest! {
        #[test]
        fn parsing_and_writing_round_trips(content in "(\u{feff})?([ab\r\n]|é){0,20}") {
            prop_assert_eq!(Text::parse(&content).file_content(), &content[..]);
            for ending in [LineEnding::Lf, LineEnding::Cr] {
                prop_assert_eq!(Text::parse_as(&content, ending).file_content(), &content[..]);
            }
        }

        #[test]
        fn excerpts_join_to_the_whole(content in "[ab\r\n]{0,20}", at in 0usize..8) {
            let text = Text::parse(&content);
            prop_assert_eq!(text.excerpt(0, Some(at)) + &text.excerpt(at, None), content);
        }
    }
}
