//! Takes a command line of a POSIX shell apart into its simple commands, wherever they stand in it: in lists, pipelines, groups,
//! and in substitutions, quoted or not (POSIX Shell Command Language 2.10, and what bash and zsh add to it).
//!
//! It has to name every program that a shell would run. So whatever it does not understand, or different shells understand
//! differently, is an [`Unclear`], never a guess.

use std::iter::Peekable;
use std::str::Chars;

/// The deepest nesting of groups and substitutions.
const MAX_DEPTH: usize = 16;

/// The longest line, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Its text, without quotes.
    Literal(String),
    /// Its text is known only when it runs: it has a variable, a substitution, or a pattern for names of files.
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
    /// The program and its arguments; empty if it only assigns or redirects.
    pub words: Vec<Word>,
    /// The files that it is redirected to or from.
    pub files: Vec<(Access, Word)>,
}

/// Why it cannot be known what a command line runs, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unclear(pub &'static str);

/// Words that begin a compound command, which is not looked into.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "function", "select", "coproc", "[[", "]]", "repeat", "foreach", "end", "in", "begin", "and",
    "or", "not", "switch",
];

/// Returns the simple commands of a line in the order in which they stand there, those of a substitution before the command
/// that it is in.
pub fn parse(line: &str) -> Result<Vec<SimpleCommand>, Unclear> {
    if line.len() > MAX_BYTES {
        return Err(Unclear("it is too long"));
    }
    if line.chars().any(is_hidden) {
        return Err(Unclear("it contains control or invisible characters"));
    }
    nested(line, 0)
}

/// Whether a character cannot be seen by whoever reads the line, or moves what can be seen.
fn is_hidden(char: char) -> bool {
    char.is_control() && !matches!(char, '\t' | '\n')
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

fn nested(line: &str, depth: usize) -> Result<Vec<SimpleCommand>, Unclear> {
    let mut parser = Parser { rest: line.chars().peekable(), depth, commands: Vec::new() };
    parser.deeper()?;
    parser.list(End::Line)?;
    Ok(parser.commands)
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Line,
    Paren,
    Brace,
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
    commands: Vec<SimpleCommand>,
}

impl Parser<'_> {
    fn deeper(&mut self) -> Result<(), Unclear> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Unclear("it is nested too deeply")) } else { Ok(()) }
    }

    /// Takes this text if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let mut ahead = self.rest.clone();
        let is_next = text.chars().all(|char| ahead.next() == Some(char));
        if is_next {
            self.rest = ahead;
        }
        is_next
    }

    /// Takes blanks, continued lines and comments. An interactive zsh knows no comments: it would run what is in one.
    fn skip_blanks(&mut self) -> Result<(), Unclear> {
        const SYNTAX: &[char] =
            &[';', '&', '|', '<', '>', '$', '`', '(', ')', '\\', '"', '\'', '!'];
        loop {
            if self.take("\\\n") {
                continue;
            }
            match self.rest.peek() {
                Some(' ' | '\t') => {
                    self.rest.next();
                }
                Some('#') => {
                    while let Some(char) = self.rest.next_if(|char| *char != '\n') {
                        if SYNTAX.contains(&char) {
                            return Err(Unclear("a comment has shell syntax in it"));
                        }
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Checks what follows a `!`, which an interactive shell may replace by an earlier command.
    fn check_history(&mut self) -> Result<(), Unclear> {
        match self.rest.peek() {
            None | Some(' ' | '\t' | '\n' | '=' | '(' | ')' | '"') => Ok(()),
            Some(_) => Err(Unclear("it may refer to an earlier command")),
        }
    }

    /// Takes a list of pipelines up to its end.
    fn list(&mut self, end: End) -> Result<(), Unclear> {
        loop {
            self.skip_blanks()?;
            match self.rest.peek() {
                None if end == End::Line => return Ok(()),
                None => return Err(Unclear("a parenthesis or brace is not closed")),
                Some(')') if end == End::Paren => {
                    self.rest.next();
                    return Ok(());
                }
                Some(')') => return Err(Unclear("a parenthesis is not opened")),
                Some('}') if end == End::Brace => {
                    self.rest.next();
                    return self.after_group();
                }
                Some('\n' | ';') => {
                    self.rest.next();
                    if self.take(";") {
                        return Err(Unclear("it has a case"));
                    }
                }
                Some('&' | '|') => {
                    // `&>` begins a redirection; any other one separates commands.
                    if self.starts_with("&>") {
                        self.command()?;
                    } else {
                        self.rest.next();
                    }
                }
                Some(_) => self.command()?,
            }
        }
    }

    fn starts_with(&self, text: &str) -> bool {
        let mut ahead = self.rest.clone();
        text.chars().all(|char| ahead.next() == Some(char))
    }

    /// Checks that nothing but a separator or a redirection follows a group.
    fn after_group(&mut self) -> Result<(), Unclear> {
        self.skip_blanks()?;
        match self.rest.peek() {
            None | Some('\n' | ';' | '&' | '|' | ')' | '}' | '<' | '>') => Ok(()),
            Some(_) => Err(Unclear("a word follows a group")),
        }
    }

    /// Takes a command, which is not empty.
    fn command(&mut self) -> Result<(), Unclear> {
        if self.take("((") {
            return Err(Unclear("it has arithmetic"));
        } else if self.take("(") {
            return self.group(End::Paren);
        } else if self.take("{ ") || self.take("{\t") || self.take("{\n") {
            return self.group(End::Brace);
        } else if self.take("! ") || self.take("!\t") {
            return Ok(());
        }
        let mut command = SimpleCommand::default();
        loop {
            self.skip_blanks()?;
            match self.rest.peek().copied() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if !self.starts_with("&>") => break,
                Some('&') => {
                    self.rest.next();
                    self.redirection(&mut command)?;
                }
                Some('(') => return Err(Unclear("it defines a function or an array")),
                Some('<' | '>') if self.is_process_substitution() => {
                    self.rest.next();
                    self.rest.next();
                    self.substitution()?;
                    command.words.push(Word::Dynamic);
                }
                Some('<' | '>') => self.redirection(&mut command)?,
                Some(_) => self.word_of(&mut command)?,
            }
        }
        if command != SimpleCommand::default() {
            self.commands.push(command);
        }
        Ok(())
    }

    fn group(&mut self, end: End) -> Result<(), Unclear> {
        self.deeper()?;
        self.list(end)?;
        self.depth -= 1;
        if end == End::Paren { self.after_group() } else { Ok(()) }
    }

    fn is_process_substitution(&self) -> bool {
        self.starts_with("<(") || self.starts_with(">(")
    }

    /// Takes a word of a command, or the number before a redirection.
    fn word_of(&mut self, command: &mut SimpleCommand) -> Result<(), Unclear> {
        let before = self.rest.clone();
        let (word, is_quoted) = self.word()?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_redirected =
            matches!(self.rest.peek(), Some('<' | '>')) && !self.is_process_substitution();
        if is_redirected && !is_quoted && word.literal().is_some_and(is_number) {
            return Ok(());
        }
        if command.words.is_empty() {
            if is_assignment(before) {
                command.assignments.push(word);
                return Ok(());
            }
            let is_reserved = |text: &str| RESERVED.contains(&text) || text == "}" || text == "{";
            if !is_quoted && word.literal().is_some_and(is_reserved) {
                return Err(Unclear("it has a loop, a condition or a function"));
            }
        }
        command.words.push(word);
        Ok(())
    }

    /// Takes a redirection; its operator comes next.
    fn redirection(&mut self, command: &mut SimpleCommand) -> Result<(), Unclear> {
        let operator = ["<<<", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"];
        let operator = operator.into_iter().find(|operator| self.take(operator));
        let Some(operator) = operator else { return Err(Unclear("it has an odd redirection")) };
        if operator == "<<" {
            return Err(Unclear("it has a here-document"));
        }
        self.skip_blanks()?;
        if matches!(self.rest.peek(), None | Some('\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')) {
            return Err(Unclear("a redirection has no file"));
        }
        let (word, _) = self.word()?;
        if operator == "<<<" {
            return Ok(());
        }
        let is_descriptor =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if operator.ends_with('&') && word.literal().is_some_and(is_descriptor) {
            return Ok(());
        }
        let access = if operator == "<" || operator == "<&" { Access::Read } else { Access::Write };
        command.files.push((access, word));
        Ok(())
    }

    /// Takes a word, and says whether a part of it was quoted.
    fn word(&mut self) -> Result<(Word, bool), Unclear> {
        let (mut text, mut is_dynamic, mut is_quoted) = (String::new(), false, false);
        loop {
            if self.take("\\\n") {
                continue;
            }
            let Some(&char) = self.rest.peek() else { break };
            if matches!(char, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | ')') {
                break;
            }
            if self.take("{}") {
                // `find` puts the name of a file there; every shell leaves it alone.
                text.push_str("{}");
                continue;
            }
            self.rest.next();
            match char {
                '\\' => {
                    text.push(self.rest.next().ok_or(Unclear("it ends with a backslash"))?);
                    is_quoted = true;
                }
                '\'' => {
                    self.single_quoted(&mut text)?;
                    is_quoted = true;
                }
                '"' => {
                    is_dynamic |= self.double_quoted(&mut text)?;
                    is_quoted = true;
                }
                '$' => is_dynamic |= self.dollar(&mut text, false)?,
                '`' => {
                    self.backticks()?;
                    is_dynamic = true;
                }
                '(' => return Err(Unclear("it defines a function or an array")),
                '*' | '?' | '[' | ']' | '{' | '}' => {
                    text.push(char);
                    is_dynamic = true;
                }
                '~' => {
                    is_dynamic |= text.is_empty() || text.ends_with([':', '=']);
                    text.push(char);
                }
                // zsh looks up a command at `=`, and fish once redirected with `^`.
                '=' | '^' if text.is_empty() && !is_quoted => {
                    text.push(char);
                    is_dynamic = true;
                }
                '!' => {
                    self.check_history()?;
                    text.push(char);
                }
                _ => text.push(char),
            }
        }
        // A lone bracket is the command `[`, and the end of its arguments.
        let is_test = !is_quoted && matches!(&*text, "[" | "]" | "[[" | "]]");
        let word = if is_dynamic && !is_test { Word::Dynamic } else { Word::Literal(text) };
        Ok((word, is_quoted))
    }

    fn single_quoted(&mut self, text: &mut String) -> Result<(), Unclear> {
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                Some(char) => text.push(char),
                None => return Err(Unclear("a quote is not closed")),
            }
        }
    }

    /// Takes the rest of a text in double quotes, and says whether it is dynamic.
    fn double_quoted(&mut self, text: &mut String) -> Result<bool, Unclear> {
        let mut is_dynamic = false;
        loop {
            match self.rest.next() {
                Some('"') => return Ok(is_dynamic),
                Some('\\') => match self.rest.next() {
                    Some('\n') => {}
                    Some(char @ ('$' | '`' | '"' | '\\')) => text.push(char),
                    Some(char) => text.extend(['\\', char]),
                    None => return Err(Unclear("a quote is not closed")),
                },
                Some('$') => is_dynamic |= self.dollar(text, true)?,
                Some('`') => {
                    self.backticks()?;
                    is_dynamic = true;
                }
                Some(char) => {
                    text.push(char);
                    if char == '!' {
                        self.check_history()?;
                    }
                }
                None => return Err(Unclear("a quote is not closed")),
            }
        }
    }

    /// Takes what follows a `$`, and says whether it is dynamic.
    fn dollar(&mut self, text: &mut String, in_quotes: bool) -> Result<bool, Unclear> {
        match self.rest.peek().copied() {
            Some('(') => {
                self.rest.next();
                if self.rest.peek() == Some(&'(') {
                    return Err(Unclear("it has arithmetic"));
                }
                self.substitution()?;
            }
            Some('{') => {
                self.rest.next();
                self.braced_name()?;
            }
            Some('[') => return Err(Unclear("it has arithmetic")),
            // A shell removes the continuation first, and may find a substitution.
            Some('\\') if self.starts_with("\\\n") => {
                return Err(Unclear("a line is continued in an odd place"));
            }
            Some('\'' | '"') if !in_quotes => return Err(Unclear("it has an odd kind of quotes")),
            Some(char) if char.is_ascii_alphabetic() || char == '_' => {
                skip_name(&mut self.rest);
                // zsh takes a subscript, in which it evaluates.
                if self.rest.peek() == Some(&'[') {
                    return Err(Unclear("it has a subscript"));
                }
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => {
                self.rest.next();
            }
            _ => {
                text.push('$');
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes `NAME}`; anything more evaluates something.
    fn braced_name(&mut self) -> Result<(), Unclear> {
        let is_special =
            self.rest.next_if(|char| matches!(char, '@' | '*' | '#' | '?' | '$' | '!')).is_some();
        if !is_special {
            skip_name(&mut self.rest);
        }
        match self.rest.next() {
            Some('}') => Ok(()),
            _ => Err(Unclear("it computes with a variable")),
        }
    }

    /// Takes the rest of `$(...)`.
    fn substitution(&mut self) -> Result<(), Unclear> {
        self.deeper()?;
        self.list(End::Paren)?;
        self.depth -= 1;
        Ok(())
    }

    /// Takes the rest of a substitution in backticks.
    fn backticks(&mut self) -> Result<(), Unclear> {
        let mut inner = String::new();
        loop {
            match self.rest.next() {
                Some('`') => break,
                Some('\\') => match self.rest.next() {
                    // What is nested in it has backslashes of its own, and shells differ on quotes.
                    Some('`' | '"' | '\\' | '$') | None => {
                        return Err(Unclear("it has nested backticks"));
                    }
                    Some(char) => inner.extend(['\\', char]),
                },
                Some(char) => inner.push(char),
                None => return Err(Unclear("a backtick is not closed")),
            }
        }
        self.commands.extend(nested(&inner, self.depth)?);
        Ok(())
    }
}

/// Whether a text begins with `NAME=`, `NAME+=` or `NAME[`.
fn is_assignment(mut text: Peekable<Chars<'_>>) -> bool {
    if !text.next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_') {
        return false;
    }
    skip_name(&mut text);
    match text.next() {
        Some('=' | '[') => true,
        Some('+') => text.next() == Some('='),
        _ => false,
    }
}

fn skip_name(text: &mut Peekable<Chars<'_>>) {
    while text.next_if(|char| char.is_ascii_alphanumeric() || *char == '_').is_some() {}
}
