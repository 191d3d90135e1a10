//! How Markdown looks, line by line (CommonMark with tables, strike-through and task lists). It reads a whole
//! piece of text each time; `tail` sees to it that the piece stays small.

use super::line::{Class, Look, Span, Style};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Beyond this many bytes a line's inline looks are left out: they would be walked at each redraw.
const LONG_LINE: usize = 4096;

/// A code block that has not ended yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFence {
    /// A backtick or a tilde.
    pub mark: char,
    /// How many of them opened it.
    pub len: usize,
    /// The column its container's content begins at.
    pub indent: usize,
    /// Whether it lies in a list or a quote.
    pub nested: bool,
    /// Its number, for the highlighter's cache.
    pub block: u64,
    /// How many lines of code there are before the text's last line.
    pub lines: usize,
    /// The language.
    pub language: String,
}

impl OpenFence {
    /// Whether `line` ends the block (CommonMark 4.5).
    pub fn is_closed_by(&self, line: &str) -> bool {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let bare = bare.trim_end_matches([' ', '\t']);
        indent < self.indent + 4 && bare.len() >= self.len && bare.chars().all(|c| c == self.mark)
    }

    /// Whether `line` lies outside the container, which ends the block too.
    pub fn is_left_by(&self, line: &str) -> bool {
        self.indent > 0
            && !line.trim().is_empty()
            && line.len() - line.trim_start().len() < self.indent
    }

    /// The look of the code line with this number.
    pub fn code(&self, index: usize) -> Style {
        code_line(self.block, index, &self.language)
    }
}

/// What a piece of Markdown looks like.
#[derive(Debug, Default)]
pub struct Looks {
    /// One for each line.
    pub lines: Vec<Style>,
    /// Where the last block begins that has two whole lines: what comes before does not change any more, whatever
    /// follows.
    pub last_block: usize,
    /// The code block that is open at the end.
    pub open_fence: Option<OpenFence>,
}

/// Reads `text`. A code block's number is `base` and the offset it begins at, so that it stays the same block
/// however often it is read.
pub fn read(text: &str, base: u64) -> Looks {
    let mut reader = Reader::new(text, base);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.event(event, range);
    }
    reader.finish()
}

struct Reader<'a> {
    text: &'a str,
    starts: Vec<usize>,
    looks: Looks,
    depth: usize,
    base: u64,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, base: u64) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let looks = Looks { lines: vec![Style::default(); starts.len()], ..Looks::default() };
        Self { text, starts, looks, depth: 0, base }
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.begin_block(&range);
                self.depth += usize::from(!is_inline(tag.to_end()));
                self.start(tag, range);
            }
            Event::End(tag) => self.depth -= usize::from(!is_inline(tag)),
            Event::Code(_) => self.delimited(&range, Look::Code, |c| c == '`'),
            Event::InlineHtml(_) => self.span(range, Look::Html),
            Event::Rule => {
                self.begin_block(&range);
                self.class(&range, Class::Rule);
            }
            Event::TaskListMarker(done) => {
                self.span(range, if done { Look::Checked } else { Look::Unchecked });
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.class(&range, Class::Heading(number(level)));
                let marks = self.text[range.clone()].bytes().take_while(|b| *b == b'#').count();
                if marks > 0 {
                    let blank = self.text[range.start + marks..range.end].starts_with(' ');
                    self.span(range.start..range.start + marks + usize::from(blank), Look::Hidden);
                }
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => self.fenced(&range, &info),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.indented(&range),
            Tag::BlockQuote(_) => self.class(&range, Class::Quote),
            Tag::Table(_) => self.class(&range, Class::Table),
            Tag::TableHead => self.class(&range, Class::TableHead),
            Tag::HtmlBlock => self.class(&range, Class::Html),
            Tag::Item => self.marker(&range),
            Tag::Emphasis => self.delimited(&range, Look::Emphasis, |c| c == '*' || c == '_'),
            Tag::Strong => self.delimited(&range, Look::Strong, |c| c == '*' || c == '_'),
            Tag::Strikethrough => self.delimited(&range, Look::Strike, |c| c == '~'),
            Tag::Link { link_type, .. } => self.link(&range, link_type),
            _ => {}
        }
    }

    /// The last line may be a piece of one, and the rest of it may make it part of the block before. What the line
    /// before it is, a table's head or text, depends on it, too.
    fn begin_block(&mut self, range: &Range<usize>) {
        let line = self.line_of(range.start);
        if self.depth == 0 && line + 2 < self.starts.len() {
            self.looks.last_block = self.starts[line];
        }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// The lines that hold bytes of `range`.
    fn lines_of(&self, range: &Range<usize>) -> Range<usize> {
        let end = range.end.max(range.start + 1);
        self.line_of(range.start)..self.line_of(end - 1) + 1
    }

    fn class(&mut self, range: &Range<usize>, class: Class) {
        for line in self.lines_of(range) {
            self.looks.lines[line].class = class;
        }
    }

    fn span(&mut self, range: Range<usize>, look: Look) {
        for line in self.lines_of(&range) {
            let from = self.starts[line];
            let to = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
            let (start, end) = (range.start.max(from), range.end.min(to));
            if start < end && to - from <= LONG_LINE {
                let span = Span { start: start - from, end: end - from, look };
                self.looks.lines[line].spans.push(span);
            }
        }
    }

    /// Text between marks of equal length: the marks are hidden.
    fn delimited(&mut self, range: &Range<usize>, look: Look, is_mark: fn(char) -> bool) {
        let text = &self.text[range.clone()];
        let run = text.len() - text.trim_start_matches(is_mark).len();
        let marks = match look {
            Look::Emphasis => 1,
            Look::Strong => 2,
            _ => run,
        }
        .min(text.len() / 2);
        self.span(range.start..range.start + marks, Look::Hidden);
        self.span(range.start + marks..range.end - marks, look);
        self.span(range.end - marks..range.end, Look::Hidden);
    }

    fn link(&mut self, range: &Range<usize>, kind: LinkType) {
        let text = &self.text[range.clone()];
        if matches!(kind, LinkType::Autolink | LinkType::Email) {
            return self.span(range.clone(), Look::Url);
        }
        let Some(close) = text.rfind("](").or_else(|| text.rfind("][")) else {
            return self.span(range.clone(), Look::Link);
        };
        self.span(range.start..range.start + 1, Look::Hidden);
        self.span(range.start + 1..range.start + close, Look::Link);
        self.span(range.start + close..range.end, Look::Hidden);
    }

    fn marker(&mut self, range: &Range<usize>) {
        let text = &self.text[range.clone()];
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let end = range.start + (digits + 1).min(text.len());
        if self.text.is_char_boundary(end) {
            self.span(range.start..end, Look::Marker);
        }
    }

    fn indented(&mut self, range: &Range<usize>) {
        let block = self.base + range.start as u64;
        for (index, line) in self.lines_of(range).enumerate() {
            self.looks.lines[line] = code_line(block, index, "");
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
        // At the top level an opening fence may be indented without there being a container.
        let indent = if nested { range.start - self.starts[first] } else { 0 };
        let mut fence = OpenFence { mark, len, indent, nested, block, lines: 0, language };
        let lines = self.lines_of(range);
        let last = lines.end - 1;
        self.looks.lines[first] = Style::new(Class::Fence);
        self.looks.lines[first].argument.clone_from(&fence.language);
        let closed = last > first && fence.is_closed_by(self.line(last));
        for line in first + 1..if closed { last } else { lines.end } {
            self.looks.lines[line] = fence.code(line - first - 1);
        }
        if closed {
            self.looks.lines[last] = Style::new(Class::Fence);
        } else if self.text[range.end..].trim().is_empty() {
            let complete = self.text[range.start..].matches('\n').count();
            fence.lines = complete.saturating_sub(1);
            self.looks.open_fence = (complete > 0).then_some(fence);
        }
    }

    fn line(&self, line: usize) -> &'a str {
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[self.starts[line]..end]
    }

    fn finish(mut self) -> Looks {
        for style in &mut self.looks.lines {
            style.spans.sort_by_key(|span| span.start);
        }
        self.looks
    }
}

fn code_line(block: u64, index: usize, language: &str) -> Style {
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

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
