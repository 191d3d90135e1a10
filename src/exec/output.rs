//! What is printed of what the agent says: the answer as it comes, byte for byte, and in the format `text` a line in brackets
//! for everything else.

use super::arguments::Format;
use crate::edit::{Text, diff};
use crate::session::ids::MessageId;
use crate::session::label;
use crate::session::tool_call::{ToolContent, ToolStatus};
use crate::session::update::{Command, PlanEntry, PlanStatus, Role, Update};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;

/// The longest line in brackets, in characters.
const MAX_LINE_CHARS: usize = 200;

/// Prints one line to stderr.
pub(super) fn tell(line: &str) {
    // There is nowhere else to say that stderr is closed.
    let _ = writeln!(std::io::stderr(), "rat-nvim: {}", label::line(line));
}

/// What was printed so far, as far as it decides what comes next.
#[derive(Debug)]
pub(super) struct Output {
    format: Format,
    /// Whether stdout is a terminal, which control characters would reach.
    is_terminal: bool,
    /// Whether the last line printed has no end yet.
    in_line: bool,
    /// The message that was printed last.
    message: Option<MessageId>,
    /// The last line that was printed of each tool call.
    tools: HashMap<String, Tool>,
    plan: String,
}

#[derive(Debug, Default)]
struct Tool {
    title: String,
    status: ToolStatus,
    shown: String,
}

impl Output {
    pub(super) fn new(format: Format, is_terminal: bool) -> Self {
        let (tools, plan) = (HashMap::new(), String::new());
        Self { format, is_terminal, in_line: false, message: None, tools, plan }
    }

    /// Returns what an update adds.
    pub(super) fn update(&mut self, update: &Update) -> String {
        if self.format == Format::Jsonl {
            return String::new();
        }
        match update {
            Update::Chunk { role: Role::Agent, message, content } => {
                let text = content.text().unwrap_or_default();
                self.answer(message.as_ref(), text)
            }
            Update::Message { role: Role::Agent, message, content } => {
                let texts = content.iter().filter_map(|content| content.text());
                self.answer(Some(message), &texts.collect::<String>())
            }
            _ if self.format == Format::Simple => String::new(),
            Update::ToolCall { id, patch } => {
                let tool = self.tools.entry(id.to_string()).or_default();
                if let Some(title) = patch.title.as_ref().or(patch.name.as_ref()) {
                    tool.title.clone_from(title);
                }
                tool.status = patch.status.unwrap_or(tool.status);
                let line = format!("[tool] {}{}", tool.title, ending(tool.status));
                let is_news = !tool.title.is_empty() && tool.shown != line;
                let mut text = String::new();
                if is_news {
                    tool.shown.clone_from(&line);
                    text = self.line(&line);
                }
                for content in patch.content.iter().flatten() {
                    text += &self.content(content);
                }
                text
            }
            Update::ToolContent { content, .. } => self.content(content),
            Update::Plan(entries) => self.plan(entries),
            Update::Commands(commands) => self.line(&format!("[commands] {}", names(commands))),
            _ => String::new(),
        }
    }

    /// Returns the end of the last line.
    pub(super) fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.in_line) { "\n" } else { "" }
    }

    /// Returns a piece of a message. Each message begins on a line of its own.
    fn answer(&mut self, message: Option<&MessageId>, text: &str) -> String {
        let Some(last) = text.chars().next_back() else { return String::new() };
        let is_next =
            message.is_some() && self.message.is_some() && self.message.as_ref() != message;
        let end = if is_next { self.end() } else { "" };
        self.message = message.cloned();
        self.in_line = last != '\n';
        format!("{end}{}", self.shown(text))
    }

    /// Returns a line of ours, after the end of the line before.
    fn line(&mut self, line: &str) -> String {
        let end = self.end();
        format!("{end}{}\n", label::short(line, MAX_LINE_CHARS))
    }

    fn shown(&self, text: &str) -> String {
        if !self.is_terminal {
            return text.to_owned();
        }
        let is_shown = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
        text.chars().filter(is_shown).collect()
    }

    fn content(&mut self, content: &ToolContent) -> String {
        let ToolContent::Diff(change) = content else { return String::new() };
        let before = Text::parse(change.old.as_deref().unwrap_or_default());
        let hunks = diff(&before, &Text::parse(&change.new));
        let added: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
        let removed: usize = hunks.iter().map(|hunk| hunk.old().len()).sum();
        self.line(&format!("[diff] {} +{added} -{removed}", change.path.display()))
    }

    fn plan(&mut self, entries: &[PlanEntry]) -> String {
        let done = entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
        let mut line = format!("[plan] {done}/{}", entries.len());
        let now = entries.iter().find(|entry| entry.status == PlanStatus::InProgress);
        if let Some(entry) = now {
            let _ = write!(line, " {}", entry.content);
        }
        if entries.is_empty() || line == self.plan {
            return String::new();
        }
        self.plan.clone_from(&line);
        self.line(&line)
    }
}

fn ending(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending | ToolStatus::InProgress => "",
        ToolStatus::Completed => ": done",
        ToolStatus::Failed => ": failed",
        ToolStatus::Cancelled => ": cancelled",
    }
}

fn names(commands: &[Command]) -> String {
    commands.iter().map(|command| format!("/{}", command.name)).collect::<Vec<_>>().join(" ")
}

/// Returns the list of slash commands, one on a line: its name, a tab, what it does.
pub(super) fn list_of_commands(commands: &[Command]) -> String {
    let line = |command: &Command| {
        format!("/{}\t{}\n", label::line(&command.name), label::line(&command.description))
    };
    commands.iter().map(line).collect()
}
