//! [`Line`], a rendered line: its text and its format. The format is a short string, which Lua
//! decodes only for lines on the screen (`lua/rat/view/line_format.lua`).

use crate::session::content::ContentId;
use crate::session::label;
use std::fmt::Write;

/// The kind of a line, encoded as a letter in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// Plain text.
    #[default]
    Plain,
    /// A Markdown heading, level 1 to 6.
    Heading(u8),
    /// The line that opens or closes a code block.
    Fence,
    /// A line of a code block; the argument is `block:index:language`.
    Code,
    /// A quoted line.
    Quote,
    /// A line of a table.
    Table,
    /// The first line of a table.
    TableHead,
    /// A thematic break.
    Rule,
    /// HTML.
    Html,
    /// An empty line that shows the author of what follows; the argument is `role\tname`.
    Header,
    /// A line of the agent's reasoning.
    Thought,
    /// The title of a card; of a tool call's card the argument is its id.
    Title,
    /// A line inside a card.
    Body,
    /// A line a diff adds.
    Added,
    /// A line a diff deletes.
    Deleted,
    /// The name of a diff's file.
    DiffHead,
    /// A note of ours.
    Note,
    /// A warning of ours.
    Warning,
    /// An error.
    Error,
    /// An option the user can choose.
    Choice,
    /// A line of a message that looks like a row of a card or a header of ours.
    Lookalike,
}

impl Class {
    fn letter(self) -> char {
        match self {
            Self::Plain => 'p',
            Self::Heading(level) => char::from(b'0' + level.clamp(1, 6)),
            Self::Fence => 'f',
            Self::Code => 'c',
            Self::Quote => 'q',
            Self::Table => 't',
            Self::TableHead => 'T',
            Self::Rule => 'r',
            Self::Html => 'h',
            Self::Header => 'H',
            Self::Thought => 'w',
            Self::Title => 'x',
            Self::Body => 'y',
            Self::Added => 'a',
            Self::Deleted => 'd',
            Self::DiffHead => 'D',
            Self::Note => 'n',
            Self::Warning => 'W',
            Self::Error => 'E',
            Self::Choice => 'o',
            Self::Lookalike => 'l',
        }
    }
}

/// The highlighting of a part of a line, encoded as a letter in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Highlight {
    /// Bold.
    Strong,
    /// Italic.
    Emphasis,
    /// Struck through.
    Strike,
    /// Code within a line.
    Code,
    /// The text of a link.
    Link,
    /// A URL.
    Url,
    /// A list's bullet or number.
    Marker,
    /// The checkbox of an open task.
    Unchecked,
    /// The checkbox of a completed task.
    Checked,
    /// HTML within a line.
    Html,
    /// Concealed (`:help 'conceallevel'`).
    Hidden,
    /// A location in a file.
    Location,
    /// Something that is waiting or running.
    Active,
    /// Something that succeeded.
    Good,
    /// Something that failed.
    Bad,
    /// Less important.
    Dim,
    /// A key to press.
    Key,
}

impl Highlight {
    /// Returns the letter in the format.
    pub fn letter(self) -> char {
        match self {
            Self::Strong => 'B',
            Self::Emphasis => 'I',
            Self::Strike => 'S',
            Self::Code => 'C',
            Self::Link => 'L',
            Self::Url => 'U',
            Self::Marker => 'M',
            Self::Unchecked => 'T',
            Self::Checked => 'K',
            Self::Html => 'H',
            Self::Hidden => 'X',
            Self::Location => 'P',
            Self::Active => 'A',
            Self::Good => 'G',
            Self::Bad => 'E',
            Self::Dim => 'N',
            Self::Key => 'Y',
        }
    }
}

/// The number of blanks under the frame of a card, `  │ `.
const FRAME_BLANKS: usize = 4;

/// A highlighted part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The byte offset where it starts.
    pub start: usize,
    /// The byte offset where it ends, exclusive.
    pub end: usize,
    /// Its highlighting.
    pub highlight: Highlight,
}

/// The action of `<CR>` on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Opens a file.
    Location {
        /// Absolute path.
        path: String,
        /// Line, counted from 1.
        line: Option<u32>,
    },
    /// Shows the whole output of a tool call, by its id.
    Output(String),
    /// Opens the page of a terminal, by its id.
    Terminal(String),
    /// Opens a permission request, by its number.
    Permission(u64),
    /// Offers what can be done with content other than text.
    Content(ContentId),
    /// Opens an elicitation request, by its number.
    Form(u64),
    /// Offers what can be done with the turn of a prompt, by the index of its entry.
    Prompt(usize),
    /// Offers to let a confined agent write this path.
    Widen(String),
}

/// The format of a line before it is encoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Style {
    /// The kind of the line.
    pub class: Class,
    /// Its highlighted parts, in order.
    pub spans: Vec<Span>,
    /// Further data, depending on the class.
    pub argument: String,
    /// The action of `<CR>`.
    pub action: Option<Action>,
}

impl Span {
    /// Moves the span to its place in a line with a card's frame.
    #[must_use]
    pub fn framed(self) -> Self {
        let (start, end) = (self.start + FRAME_BLANKS, self.end + FRAME_BLANKS);
        Self { start, end, ..self }
    }
}

impl Style {
    /// Creates a style with a class only.
    pub fn new(class: Class) -> Self {
        Self { class, ..Self::default() }
    }

    /// Encodes the style as `class|spans|action|argument`; empty for plain text.
    pub fn encode(&self) -> String {
        if self.class == Class::Plain && self.spans.is_empty() && self.action.is_none() {
            return String::new();
        }
        let mut out = String::with_capacity(8 + self.spans.len() * 8 + self.argument.len());
        out.push(self.class.letter());
        out.push('|');
        for span in &self.spans {
            // Writing to a string cannot fail.
            let _ = write!(out, "{},{}{}", span.start, span.end, span.highlight.letter());
        }
        out.push('|');
        match &self.action {
            None => {}
            Some(Action::Location { path, line }) => {
                // `|` separates the fields. A path here has no control characters (`Scene::open`).
                let _ = write!(out, "L{}:{}", line.unwrap_or(0), path.replace('|', "\u{1}"));
            }
            Some(Action::Output(id)) => {
                let _ = write!(out, "O{}", id.replace('|', "\u{1}"));
            }
            Some(Action::Terminal(id)) => {
                let _ = write!(out, "T{}", id.replace('|', "\u{1}"));
            }
            Some(Action::Permission(id)) => {
                let _ = write!(out, "P{id}");
            }
            Some(Action::Content(id)) => {
                let _ = write!(out, "C{}", id.encode().replace('|', "\u{1}"));
            }
            Some(Action::Form(id)) => {
                let _ = write!(out, "F{id}");
            }
            Some(Action::Prompt(entry)) => {
                let _ = write!(out, "U{entry}");
            }
            Some(Action::Widen(path)) => {
                let _ = write!(out, "W{}", path.replace('|', "\u{1}"));
            }
        }
        out.push('|');
        out.push_str(&self.argument);
        out
    }
}

/// A rendered line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The text, without line breaks.
    pub text: String,
    /// The encoded [`Style`].
    pub format: String,
    /// Virtual text before the line. If it starts with a blank, it is drawn over as many blanks at
    /// the start of the line, which make Neovim indent wrapped rows ('breakindent').
    pub prefix: Option<(String, Highlight)>,
}

impl Line {
    /// Creates a line. Line breaks and misleading characters in `text` are replaced
    /// (`session::label`).
    pub fn new(text: impl AsRef<str>, style: &Style) -> Self {
        let text = label::line(text.as_ref()).into_owned();
        Self { text, format: style.encode(), prefix: None }
    }

    /// Creates a line with a class only.
    pub fn of(class: Class, text: impl AsRef<str>) -> Self {
        Self::new(text, &Style::new(class))
    }

    /// Adds an argument to a line without one, whose class must not be plain.
    pub(super) fn add_argument(&mut self, argument: &str) {
        self.format.push_str(argument);
    }

    /// Adds a prefix. If it starts with a blank, each of its characters must be one column wide.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>, highlight: Highlight) -> Self {
        let prefix = prefix.into();
        if prefix.starts_with(' ') && !self.text.is_empty() {
            self.text.insert_str(0, &" ".repeat(prefix.chars().count()));
        }
        self.prefix = Some((prefix, highlight));
        self
    }

    /// Returns the text without the blanks under its prefix.
    #[cfg(test)]
    pub(super) fn unprefixed_text(&self) -> &str {
        let overlay = self.prefix.as_ref().filter(|(prefix, _)| prefix.starts_with(' '));
        let blanks = overlay.map_or(0, |(prefix, _)| prefix.chars().count());
        self.text.get(blanks..).unwrap_or_default()
    }
}
