//! Parses the small grammar of command lines that rules decide on: plain words and quotes in which nothing is expanded, joined by
//! `;`, `&&`, `||`, `|` and new lines, redirected to and from plain words.
//!
//! sh (dash, busybox), bash, ksh93, mksh, zsh, yash and fish read a line of this grammar alike, and so do rules. Everything
//! else is [`Unclear`]: shells differ on it, or it computes what it runs. `tests/trust_shells.rs` has them all run such lines.

use std::iter::Peekable;
use std::str::Chars;

/// The longest line, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Its text, without quotes.
    Literal(String),
    /// Its text is known only when it runs: it has a pattern for names of files, or another program fills it in.
    Dynamic,
}

impl Word {
    /// Returns its text, if that is known.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic => None,
        }
    }
}

/// What a redirection does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The file is read.
    Read,
    /// The file is created, emptied or appended to.
    Write,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The assignments before it, as they stand there: `A=b`.
    pub assignments: Vec<Word>,
    /// The program and its arguments; empty if it only assigns.
    pub words: Vec<Word>,
    /// The files that it is redirected to or from, whose names are known.
    pub files: Vec<(Access, Word)>,
}

/// Why it cannot be known what a command line runs, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unclear(pub &'static str);

const UNFINISHED: Unclear = Unclear("a command is missing");

/// Returns the simple commands of a line in the order in which they stand there.
pub fn parse(line: &str) -> Result<Vec<SimpleCommand>, Unclear> {
    if line.len() > MAX_BYTES {
        return Err(Unclear("it is too long"));
    }
    if line.chars().any(is_hidden) {
        return Err(Unclear("it contains control or invisible characters"));
    }
    Parser { rest: line.chars().peekable() }.list()
}

/// Whether a character cannot be seen by whoever reads the line, moves what can be seen, or is a blank to some shells only.
fn is_hidden(char: char) -> bool {
    (char.is_control() || char.is_whitespace()) && !matches!(char, ' ' | '\t' | '\n')
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        // Private use and noncharacters: fish gives some of them a meaning of its own.
        || matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff0}'..='\u{ffff}' | '\u{f0000}'..)
}

/// Whether a character begins or goes on with an unquoted word in which every shell leaves it alone.
fn is_plain(char: char) -> bool {
    char.is_alphanumeric() || !char.is_ascii() || "_-./:,@%+".contains(char)
}

/// Whether every shell takes this character for itself after a backslash.
fn is_escapable(char: char) -> bool {
    " ;()!|&<>$\"'\\*?[]{}#~".contains(char)
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    fn starts_with(&self, text: &str) -> bool {
        let mut ahead = self.rest.clone();
        text.chars().all(|char| ahead.next() == Some(char))
    }

    /// Takes this text if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let is_next = self.starts_with(text);
        if is_next {
            text.chars().for_each(|_| {
                self.rest.next();
            });
        }
        is_next
    }

    fn blanks(&mut self) {
        while self.rest.next_if(|char| matches!(char, ' ' | '\t')).is_some() {}
    }

    /// Takes blanks between words, and lines that are continued there.
    fn gap(&mut self) -> Result<(), Unclear> {
        loop {
            self.blanks();
            if !self.take("\\\n") {
                return Ok(());
            }
            self.blanks();
            if !self
                .rest
                .peek()
                .copied()
                .is_some_and(|char| is_plain(char) || "\"'\\".contains(char))
            {
                return Err(Unclear("a line is continued in an odd place"));
            }
        }
    }

    /// Takes a comment. An interactive zsh knows none, and would run what is in it.
    fn comment(&mut self) -> Result<(), Unclear> {
        let is_text =
            |char: &char| *char == ' ' || *char == '\t' || *char == '#' || is_plain(*char);
        while self.rest.next_if(is_text).is_some() {}
        match self.rest.peek() {
            None | Some('\n') => Ok(()),
            Some(_) => Err(Unclear("a comment has shell syntax in it")),
        }
    }

    /// Takes the whole line.
    fn list(mut self) -> Result<Vec<SimpleCommand>, Unclear> {
        let mut commands = Vec::new();
        // Whether `&&`, `||` or `|` wants a command.
        let mut is_wanted = false;
        loop {
            self.blanks();
            match self.rest.peek() {
                None if is_wanted => return Err(UNFINISHED),
                None => return Ok(commands),
                Some('\n') => {
                    self.rest.next();
                    continue;
                }
                Some('#') => {
                    self.comment()?;
                    continue;
                }
                Some(_) => {}
            }
            if self.take("! ") {
                self.blanks();
            }
            commands.push(self.command()?);
            is_wanted = self.separator()?;
        }
    }

    /// Takes what ends a command. Returns whether another one has to follow.
    fn separator(&mut self) -> Result<bool, Unclear> {
        if self.take("&&") || self.take("||") {
            return Ok(true);
        }
        match self.rest.next() {
            None | Some('\n') => Ok(false),
            Some(';') if self.rest.peek() != Some(&';') => Ok(false),
            Some('|') if self.rest.peek() != Some(&'&') => Ok(true),
            Some('&') if self.rest.peek() != Some(&'>') => {
                Err(Unclear("it runs something in the background"))
            }
            Some(';' | '|' | '&') => Err(Unclear("shells read its operators differently")),
            Some('(' | ')') => Err(Unclear("it has parentheses")),
            Some(_) => Err(Unclear("it is not clear where a word ends")),
        }
    }

    /// Takes a command, which is not empty.
    fn command(&mut self) -> Result<SimpleCommand, Unclear> {
        let mut command = SimpleCommand::default();
        if self.rest.peek() == Some(&'(') {
            return Err(Unclear("it has parentheses"));
        }
        loop {
            self.gap()?;
            match self.rest.peek().copied() {
                None | Some('\n' | ';' | '|' | '&' | '(' | ')') => break,
                Some('#') => self.comment()?,
                Some('<' | '>') => self.redirection(&mut command)?,
                Some('0') if self.starts_with("0<") => {
                    self.rest.next();
                    self.redirection(&mut command)?;
                }
                Some('1' | '2') if self.starts_with("1>") || self.starts_with("2>") => {
                    self.rest.next();
                    self.redirection(&mut command)?;
                }
                Some(_) => self.word_of(&mut command)?,
            }
        }
        if command.words.is_empty() && command.assignments.is_empty() {
            return Err(UNFINISHED);
        }
        Ok(command)
    }

    /// Takes a word of a command: an assignment, its program, or an argument.
    fn word_of(&mut self, command: &mut SimpleCommand) -> Result<(), Unclear> {
        let before = self.rest.clone();
        let is_first = command.words.is_empty();
        if !is_first && self.bare_word(command) {
            return Ok(());
        }
        let word = self.word()?;
        // A number before it would be another descriptor.
        if matches!(self.rest.peek(), Some('<' | '>')) && ends_in_digits(before.clone()) {
            return Err(Unclear("it redirects another descriptor"));
        }
        let Some(text) = word.literal().filter(|_| is_first) else {
            if is_first {
                return Err(Unclear("a program is known only when it runs"));
            }
            command.words.push(word);
            return Ok(());
        };
        if is_assignment(before) {
            command.assignments.push(word);
        } else if text.contains('=') {
            return Err(Unclear("shells may take a program for an assignment"));
        } else {
            command.words.push(word);
        }
        Ok(())
    }

    /// Takes an argument that is no word of this grammar but stands for itself if it is alone: the `]` and `=` of `[`, or
    /// the `!` of `find`.
    fn bare_word(&mut self, command: &mut SimpleCommand) -> bool {
        for text in ["!", "]", "="] {
            let mut ahead = self.rest.clone();
            let is_next = text.chars().all(|char| ahead.next() == Some(char));
            if is_next && matches!(ahead.peek(), None | Some(' ' | '\t' | '\n' | ';')) {
                self.rest = ahead;
                command.words.push(Word::Literal(text.to_owned()));
                return true;
            }
        }
        false
    }

    /// Takes a redirection in one of these forms, after its descriptor: `<word`, `>word`, `>>word`, `>&1`, `>&2`.
    fn redirection(&mut self, command: &mut SimpleCommand) -> Result<(), Unclear> {
        if command.words.is_empty() {
            // zsh runs a program of its own if there is none.
            return Err(Unclear("a redirection stands before the program"));
        }
        if self.take(">&") {
            let is_descriptor = self.rest.next_if(|char| matches!(char, '1' | '2')).is_some();
            let is_end = matches!(self.rest.peek(), None | Some(' ' | '\t' | '\n' | ';' | '|'));
            if !is_descriptor || !is_end {
                return Err(Unclear("shells read a redirection differently"));
            }
            return Ok(());
        }
        let access = if self.take(">>") || self.take(">") {
            Access::Write
        } else {
            self.take("<");
            Access::Read
        };
        self.blanks();
        match self.rest.peek() {
            Some('&' | '|' | '!' | '<' | '>' | '?') => {
                return Err(Unclear("shells read a redirection differently"));
            }
            None | Some('\n' | ';' | '#') => return Err(Unclear("a redirection has no file")),
            Some(_) => {}
        }
        let word = self.word()?;
        if matches!(self.rest.peek(), Some('<' | '>')) {
            // zsh takes `<->` for a pattern of numbers.
            return Err(Unclear("shells read a redirection differently"));
        }
        if word.literal().is_none_or(str::is_empty) {
            return Err(Unclear("a redirection leads to what is known only when it runs"));
        }
        command.files.push((access, word));
        Ok(())
    }

    /// Takes a word.
    fn word(&mut self) -> Result<Word, Unclear> {
        let (mut text, mut is_dynamic, mut is_begun) = (String::new(), false, false);
        if matches!(self.rest.peek(), Some('=' | '^' | '%')) {
            // zsh looks up a program, fish redirects, shells with jobs name one.
            return Err(Unclear("a word begins with a character that some shells expand"));
        }
        while let Some(&char) = self.rest.peek() {
            match char {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' => {
                    self.rest.next();
                    match self.rest.next() {
                        Some(char) if is_escapable(char) => text.push(char),
                        Some('\n') => {
                            return Err(Unclear("a line is continued in an odd place"));
                        }
                        _ => return Err(Unclear("shells read a backslash differently")),
                    }
                }
                '\'' => {
                    self.rest.next();
                    self.single_quoted(&mut text)?;
                }
                '"' => {
                    self.rest.next();
                    self.double_quoted(&mut text)?;
                }
                '~' if !is_begun || text.ends_with([':', '=']) => {
                    self.rest.next();
                    let is_home = matches!(
                        self.rest.peek(),
                        None | Some('/' | ' ' | '\t' | '\n' | ';' | '&' | '|')
                    );
                    if !is_home {
                        return Err(Unclear("it names a home folder"));
                    }
                    is_dynamic = true;
                }
                '*' | '?' => {
                    self.rest.next();
                    is_dynamic = true;
                }
                '$' => return Err(Unclear("it has a variable or a substitution")),
                '`' => return Err(Unclear("it has a substitution")),
                '!' => return Err(Unclear("it may refer to an earlier command")),
                '[' if !is_begun => {
                    // The command; as a part of a word it begins a pattern or a subscript.
                    self.rest.next();
                    if !matches!(self.rest.peek(), Some(' ' | '\t')) {
                        return Err(Unclear("it has brackets"));
                    }
                    text.push('[');
                }
                // `find` and `xargs` put something there; every shell leaves it alone.
                '{' if self.take("{}") => text.push_str("{}"),
                '[' | ']' | '{' | '}' => return Err(Unclear("it has brackets or braces")),
                char if is_plain(char) || matches!(char, '=' | '^' | '#' | '~') => {
                    self.rest.next();
                    text.push(char);
                }
                _ => return Err(Unclear("it has a character that shells read differently")),
            }
            is_begun = true;
        }
        if !is_begun {
            return Err(Unclear("it has parentheses"));
        }
        if matches!(self.rest.peek(), Some('(' | ')')) {
            return Err(Unclear("it has parentheses"));
        }
        if is_dynamic && text.contains(['(', '[', '$', '`']) {
            return Err(Unclear("it has a pattern with quotes in it"));
        }
        Ok(if is_dynamic { Word::Dynamic } else { Word::Literal(text) })
    }

    fn single_quoted(&mut self, text: &mut String) -> Result<(), Unclear> {
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                // fish lets it escape a quote and itself.
                Some('\\') if matches!(self.rest.peek(), Some('\'' | '\\')) => {
                    return Err(Unclear("shells read a backslash differently"));
                }
                Some(char) => text.push(char),
                None => return Err(Unclear("a quote is not closed")),
            }
        }
    }

    fn double_quoted(&mut self, text: &mut String) -> Result<(), Unclear> {
        loop {
            match self.rest.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.rest.next() {
                    Some(char @ ('$' | '"' | '\\')) => text.push(char),
                    Some('`' | '\n') => {
                        return Err(Unclear("shells read a backslash differently"));
                    }
                    Some(char) => text.extend(['\\', char]),
                    None => return Err(Unclear("a quote is not closed")),
                },
                Some('$') => return Err(Unclear("it has a variable or a substitution")),
                Some('`') => return Err(Unclear("it has a substitution")),
                Some('!') if !matches!(self.rest.peek(), Some(' ' | '\t' | '\n' | '"')) => {
                    return Err(Unclear("it may refer to an earlier command"));
                }
                Some(char) => text.push(char),
                None => return Err(Unclear("a quote is not closed")),
            }
        }
    }
}

/// Whether a text begins with digits and a redirection.
fn ends_in_digits(mut text: Peekable<Chars<'_>>) -> bool {
    while text.next_if(char::is_ascii_digit).is_some() {}
    matches!(text.peek(), Some('<' | '>'))
}

/// Whether a text begins with `NAME=`.
fn is_assignment(mut text: Peekable<Chars<'_>>) -> bool {
    if !text.next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_') {
        return false;
    }
    while text.next_if(|char| char.is_ascii_alphanumeric() || *char == '_').is_some() {}
    text.next() == Some('=')
}
