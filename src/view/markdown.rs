//! Formats Markdown line by line (CommonMark with tables, strikethrough and task lists). It parses
//! its whole input each time; `view::tail` makes sure that it is short.

use super::line::{Class, Highlight, Span, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A longer line (in bytes) gets no spans, since Lua would process them at each redraw.
pub(super) const LONG_LINE: usize = 4096;

/// A fenced code block that is open at the end of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFence {
    /// The fence character: a backtick or a tilde.
    pub mark: char,
    /// The length of the opening fence.
    pub len: usize,
    /// The column at which the content of its container starts; 0 at the top level.
    pub indent: usize,
    /// Whether it is inside a list or a block quote.
    pub nested: bool,
    /// A number that identifies it in the cache of the highlighter (`rat.view.code`).
    pub block: u64,
    /// The number of lines of code before the last line of the text.
    pub lines: usize,
    /// The language from its info string.
    pub language: String,
}

impl OpenFence {
    /// Whether `line` closes the block (CommonMark 4.5).
    pub fn is_closed_by(&self, line: &str) -> bool {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let bare = bare.trim_end_matches([' ', '\t', '\r']);
        indent < self.indent + 4 && bare.len() >= self.len && bare.chars().all(|c| c == self.mark)
    }

    /// Whether `line` is outside the container, which closes the block, too.
    pub fn is_left_by(&self, line: &str) -> bool {
        self.indent > 0
            && !line.trim().is_empty()
            && line.len() - line.trim_start().len() < self.indent
    }

    /// Returns the style of a line of code by its index.
    pub fn code(&self, index: usize) -> Style {
        code_style(self.block, index, &self.language)
    }
}

/// The result of [`parse`].
#[derive(Debug, Default)]
pub struct Parsed {
    /// The style of each line.
    pub lines: Vec<Style>,
    /// The byte offset of the last block that is followed by two more lines. The styles before it
    /// do not change, whatever text follows.
    pub last_block: usize,
    /// The fenced code block that is open at the end, if there is one.
    pub open_fence: Option<OpenFence>,
}

/// Parses `text`. The number of a code block is `base` plus its offset, so that it stays the same
/// if the text is parsed again from another start.
pub fn parse(text: &str, base: u64) -> Parsed {
    let mut formatter = Formatter::new(text, base);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        formatter.event(event, range);
    }
    formatter.finish()
}

struct Formatter<'a> {
    text: &'a str,
    /// The byte offset of each line.
    starts: Vec<usize>,
    parsed: Parsed,
    /// The number of open blocks.
    depth: usize,
    /// Nothing is concealed in tables, so that columns stay aligned.
    in_table: bool,
    base: u64,
}

impl<'a> Formatter<'a> {
    fn new(text: &'a str, base: u64) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let parsed = Parsed { lines: vec![Style::default(); starts.len()], ..Parsed::default() };
        Self { text, starts, parsed, depth: 0, in_table: false, base }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.begin_block(&range);
                self.depth += usize::from(!is_inline(tag.to_end()));
                self.start(tag, range);
            }
            Event::End(tag) => {
                self.in_table &= tag != TagEnd::Table;
                self.depth -= usize::from(!is_inline(tag));
            }
            Event::Code(_) => self.delimited(&range, Highlight::Code, |c| c == '`'),
            Event::InlineHtml(_) => self.add_span(range, Highlight::Html),
            Event::Rule => {
                self.begin_block(&range);
                self.set_class(&range, Class::Rule);
            }
            Event::TaskListMarker(done) => {
                self.add_span(range, if done { Highlight::Checked } else { Highlight::Unchecked });
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.set_class(&range, Class::Heading(level_number(level)));
                let marks = self.text[range.clone()].bytes().take_while(|b| *b == b'#').count();
                if marks > 0 {
                    let blank = self.text[range.start + marks..range.end].starts_with(' ');
                    self.add_span(
                        range.start..range.start + marks + usize::from(blank),
                        Highlight::Hidden,
                    );
                }
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => self.fenced(&range, &info),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.indented(&range),
            Tag::BlockQuote(_) => self.set_class(&range, Class::Quote),
            Tag::Table(_) => {
                self.in_table = true;
                self.set_class(&range, Class::Table);
            }
            Tag::TableHead => self.set_class(&range, Class::TableHead),
            Tag::HtmlBlock => self.set_class(&range, Class::Html),
            Tag::Item => self.marker(&range),
            Tag::Emphasis => self.delimited(&range, Highlight::Emphasis, |c| c == '*' || c == '_'),
            Tag::Strong => self.delimited(&range, Highlight::Strong, |c| c == '*' || c == '_'),
            Tag::Strikethrough => self.delimited(&range, Highlight::Strike, |c| c == '~'),
            Tag::Link { link_type, .. } => self.link(&range, link_type),
            _ => {}
        }
    }

    /// Updates `last_block`. The last line may be incomplete, and its rest may make it part of the
    /// block before. Whether the line before is a table's head or text depends on it, too.
    fn begin_block(&mut self, range: &Range<usize>) {
        let line = self.line_of(range.start);
        if self.depth == 0 && line + 2 < self.starts.len() {
            self.parsed.last_block = self.starts[line];
        }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// Returns the lines that contain bytes of `range`.
    fn lines_of(&self, range: &Range<usize>) -> Range<usize> {
        let end = range.end.max(range.start + 1);
        self.line_of(range.start)..self.line_of(end - 1) + 1
    }

    fn set_class(&mut self, range: &Range<usize>, class: Class) {
        for line in self.lines_of(range) {
            self.parsed.lines[line].class = class;
        }
    }

    fn add_span(&mut self, range: Range<usize>, highlight: Highlight) {
        if self.in_table && highlight == Highlight::Hidden {
            return;
        }
        for line in self.lines_of(&range) {
            let from = self.starts[line];
            let to = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
            let (start, end) = (range.start.max(from), range.end.min(to));
            if start < end && to - from <= LONG_LINE {
                let span = Span { start: start - from, end: end - from, highlight };
                self.parsed.lines[line].spans.push(span);
            }
        }
    }

    /// Highlights text between delimiters of equal length, and conceals the delimiters.
    fn delimited(&mut self, range: &Range<usize>, highlight: Highlight, is_mark: fn(char) -> bool) {
        let text = &self.text[range.clone()];
        let run = text.len() - text.trim_start_matches(is_mark).len();
        let marks = match highlight {
            Highlight::Emphasis => 1,
            Highlight::Strong => 2,
            _ => run,
        }
        .min(text.len() / 2);
        self.add_span(range.start..range.start + marks, Highlight::Hidden);
        self.add_span(range.start + marks..range.end - marks, highlight);
        self.add_span(range.end - marks..range.end, Highlight::Hidden);
    }

    fn link(&mut self, range: &Range<usize>, kind: LinkType) {
        let text = &self.text[range.clone()];
        if matches!(kind, LinkType::Autolink | LinkType::Email) {
            return self.add_span(range.clone(), Highlight::Url);
        }
        let Some(close) = text.rfind("](").or_else(|| text.rfind("][")) else {
            return self.add_span(range.clone(), Highlight::Link);
        };
        self.add_span(range.start..range.start + 1, Highlight::Hidden);
        self.add_span(range.start + 1..range.start + close, Highlight::Link);
        self.add_span(range.start + close..range.end, Highlight::Hidden);
    }

    fn marker(&mut self, range: &Range<usize>) {
        let text = &self.text[range.clone()];
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let end = range.start + (digits + 1).min(text.len());
        if self.text.is_char_boundary(end) {
            self.add_span(range.start..end, Highlight::Marker);
        }
    }

    fn indented(&mut self, range: &Range<usize>) {
        let block = self.base + range.start as u64;
        for (index, line) in self.lines_of(range).enumerate() {
            self.parsed.lines[line] = code_style(block, index, "");
        }
    }

    fn fenced(&mut self, range: &Range<usize>, info: &str) {
        let block = self.base + range.start as u64;
        let language: String = info
            .split([' ', ',', '\t', '{'])
            .next()
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "_-+#.".contains(*c))
            .take(32)
            .collect();
        let opening = &self.text[range.clone()];
        let mark = if opening.starts_with('~') { '~' } else { '`' };
        let len = opening.chars().take_while(|c| *c == mark).count();
        let first = self.line_of(range.start);
        let nested = self.depth > 1;
        // At the top level, a fence may be indented although there is no container.
        let indent = if nested { range.start - self.starts[first] } else { 0 };
        let mut fence = OpenFence { mark, len, indent, nested, block, lines: 0, language };
        let lines = self.lines_of(range);
        let last = lines.end - 1;
        self.parsed.lines[first] = Style::new(Class::Fence);
        self.parsed.lines[first].argument.clone_from(&fence.language);
        let closed = last > first && fence.is_closed_by(self.line(last));
        for line in first + 1..if closed { last } else { lines.end } {
            self.parsed.lines[line] = fence.code(line - first - 1);
        }
        if closed {
            self.parsed.lines[last] = Style::new(Class::Fence);
        } else if self.text[range.end..].trim().is_empty() {
            let complete = self.text[range.start..].matches('\n').count();
            fence.lines = complete.saturating_sub(1);
            self.parsed.open_fence = (complete > 0).then_some(fence);
        }
    }

    fn line(&self, line: usize) -> &'a str {
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[self.starts[line]..end]
    }

    fn finish(mut self) -> Parsed {
        for style in &mut self.parsed.lines {
            style.spans.sort_by_key(|span| span.start);
        }
        self.parsed
    }
}

fn code_style(block: u64, index: usize, language: &str) -> Style {
    Style { argument: format!("{block}:{index}:{language}"), ..Style::new(Class::Code) }
}

fn is_inline(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::Superscript
            | TagEnd::Subscript
    )
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_concealed_in_a_table() {
        let text = "| a | b |\n|---|---|\n| `x` | **y** [z](w) |\n\n`x`\n";
        let lines = parse(text, 0).lines;
        let conceals =
            |line: &Style| line.spans.iter().any(|span| span.highlight == Highlight::Hidden);
        assert!(!lines[..3].iter().any(conceals), "{lines:?}");
        let row: Vec<Highlight> = lines[2].spans.iter().map(|span| span.highlight).collect();
        assert_eq!(row, [Highlight::Code, Highlight::Strong, Highlight::Link]);
        assert!(conceals(&lines[4]));
    }
}
