//! One drawn line: its text and how it looks. The look travels as one short string a line, which Lua reads only
//! for lines on the screen (`lua/rat/look.lua` is the other end).

use crate::session::content::ContentId;
use crate::session::label;
use std::fmt::Write;

/// What a line is as a whole. The letter is what goes over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Class {
    /// Text.
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
    /// An empty line that shows who speaks; the argument is `role\tname`.
    Header,
    /// A line of the agent's thoughts.
    Thought,
    /// The title of a card; the argument is the action.
    Title,
    /// A line inside a card.
    Body,
    /// A line a diff adds.
    Added,
    /// A line a diff takes away.
    Deleted,
    /// The name of the file a diff is about.
    DiffHead,
    /// A note of ours.
    Note,
    /// A warning of ours.
    Warning,
    /// An error.
    Error,
    /// A choice the user can make.
    Choice,
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
        }
    }
}

/// How a part of a line looks. The letter is what goes over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Bold.
    Strong,
    /// Italic.
    Emphasis,
    /// Struck through.
    Strike,
    /// Code within a line.
    Code,
    /// The words of a link.
    Link,
    /// An address.
    Url,
    /// A list's bullet or number.
    Marker,
    /// A task still to do.
    Unchecked,
    /// A task done.
    Checked,
    /// HTML within a line.
    Html,
    /// Not shown, while conceal is on.
    Hidden,
    /// A place in a file.
    Location,
    /// Something that waits or runs.
    Active,
    /// Something that went well.
    Good,
    /// Something that failed.
    Bad,
    /// Less important.
    Dim,
    /// A key to press.
    Key,
}

impl Look {
    /// The letter on the wire.
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

/// A part of a line, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// How it looks.
    pub look: Look,
}

/// What pressing `<CR>` on a line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Opens a file.
    Location {
        /// Absolute path.
        path: String,
        /// Line, counted from 1.
        line: Option<u32>,
    },
    /// Shows all a tool call produced.
    Output(String),
    /// Shows a terminal in a buffer of its own.
    Terminal(String),
    /// Answers a request for permission.
    Permission(u64),
    /// Offers what can be done with content that is no text.
    Content(ContentId),
    /// Opens a form, or what is said of an address.
    Form(u64),
}

/// How a line looks and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Style {
    /// The line as a whole.
    pub class: Class,
    /// Its parts.
    pub spans: Vec<Span>,
    /// What its class needs to know.
    pub argument: String,
    /// What it does.
    pub action: Option<Action>,
}

impl Style {
    /// A line of this class without more.
    pub fn new(class: Class) -> Self {
        Self { class, ..Self::default() }
    }

    /// The string that goes over the wire: `class|spans|action|argument`; empty for plain text.
    pub fn encode(&self) -> String {
        if self.class == Class::Plain && self.spans.is_empty() && self.action.is_none() {
            return String::new();
        }
        let mut out = String::with_capacity(8 + self.spans.len() * 8 + self.argument.len());
        out.push(self.class.letter());
        out.push('|');
        for span in &self.spans {
            // Writing to a string cannot fail.
            let _ = write!(out, "{},{}{}", span.start, span.end, span.look.letter());
        }
        out.push('|');
        match &self.action {
            None => {}
            Some(Action::Location { path, line }) => {
                // A path may hold any byte but this one.
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
        }
        out.push('|');
        out.push_str(&self.argument);
        out
    }
}

/// A line with its text, its look, and what stands before it without being text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The text: no newline in it.
    pub text: String,
    /// The look, encoded.
    pub look: String,
    /// Virtual text before the line: frames, icons, indents.
    pub prefix: Option<(String, Look)>,
}

impl Line {
    /// A line of `text` in `style`, with nothing in it that ends a line or misleads a reader (`session::label`).
    pub fn new(text: impl AsRef<str>, style: &Style) -> Self {
        let text = label::line(text.as_ref()).into_owned();
        Self { text, look: style.encode(), prefix: None }
    }

    /// A line of one class.
    pub fn of(class: Class, text: impl AsRef<str>) -> Self {
        Self::new(text, &Style::new(class))
    }

    /// The same with something virtual before it.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>, look: Look) -> Self {
        self.prefix = Some((prefix.into(), look));
        self
    }
}
