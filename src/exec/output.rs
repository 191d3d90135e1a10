//! What is printed of what the agent says: the answer as it comes, byte for byte, and in the format `text` a line in brackets
//! for everything else.

use super::arguments::Format;
use crate::edit::{Text, diff};
use crate::session::ids::MessageId;
use crate::session::label;
use crate::session::tool_call::{ToolCallPatch, ToolContent, ToolStatus};
use crate::session::update::{Command, PlanEntry, PlanStatus, Role, Update};
use std::collections::{HashMap, HashSet};
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
    tools: HashMap<String, Tool>,
    /// The tool call that is printed next, once its title is final or something else follows.
    held: Option<String>,
    plan: String,
}

/// What was printed of a tool call.
#[derive(Debug, Default)]
struct Tool {
    title: String,
    status: ToolStatus,
    is_shown: bool,
    diffs: HashSet<String>,
}

impl Output {
    pub(super) fn new(format: Format, is_terminal: bool) -> Self {
        let (tools, held, plan) = (HashMap::new(), None, String::new());
        Self { format, is_terminal, in_line: false, message: None, tools, held, plan }
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
            Update::ToolCall { id, patch } => self.tool(id.as_str(), patch),
            Update::ToolContent { id, content, .. } => self.diff(id.as_str(), content),
            Update::Plan(entries) => self.plan(entries),
            _ => String::new(),
        }
    }

    /// Returns the end of the last line.
    pub(super) fn end_line(&mut self) -> &'static str {
        if std::mem::take(&mut self.in_line) { "\n" } else { "" }
    }

    /// Returns what is left to print, and the end of the last line.
    pub(super) fn end(&mut self) -> String {
        let held = self.held_tool();
        held + self.end_line()
    }

    /// Returns a piece of a message. Each message begins on a line of its own.
    fn answer(&mut self, message: Option<&MessageId>, text: &str) -> String {
        let Some(last) = text.chars().next_back() else { return String::new() };
        let held = self.held_tool();
        let is_next =
            message.is_some() && self.message.is_some() && self.message.as_ref() != message;
        let end = if is_next { self.end_line() } else { "" };
        self.message = message.cloned();
        self.in_line = last != '\n';
        format!("{held}{end}{}", self.shown(text))
    }

    /// Returns a line of ours, after the end of the line before.
    fn line(&mut self, line: &str) -> String {
        let held = self.held_tool();
        let end = self.end_line();
        format!("{held}{end}{}\n", label::short(line, MAX_LINE_CHARS))
    }

    /// Returns a line for a tool call the first time, and another one if it fails. Titles often come in pieces, so a call that
    /// is pending is printed before whatever follows.
    fn tool(&mut self, id: &str, patch: &ToolCallPatch) -> String {
        let other = self.held.as_deref().is_some_and(|held| held != id);
        let mut text = if other { self.held_tool() } else { String::new() };
        let tool = self.tools.entry(id.to_owned()).or_default();
        if let Some(title) = patch.title.as_ref().or(patch.name.as_ref()) {
            tool.title.clone_from(title);
        }
        let status = patch.status.unwrap_or(tool.status);
        let has_failed = tool.status != status && !failure(status).is_empty();
        let is_shown = tool.is_shown;
        tool.status = status;
        if tool.title.is_empty() {
            return text;
        }
        if is_shown && has_failed {
            text += &self.tool_line(id);
        } else if !is_shown {
            self.held = Some(id.to_owned());
            if status != ToolStatus::Pending {
                text += &self.held_tool();
            }
        }
        for content in patch.content.iter().flatten() {
            text += &self.diff(id, content);
        }
        text
    }

    /// Returns the line of the tool call that is printed next, if there is one.
    fn held_tool(&mut self) -> String {
        let held = self.held.take();
        held.map(|id| self.tool_line(&id)).unwrap_or_default()
    }

    fn tool_line(&mut self, id: &str) -> String {
        let Some(tool) = self.tools.get_mut(id) else { return String::new() };
        tool.is_shown = true;
        let line = format!("[tool] {}{}", tool.title, failure(tool.status));
        self.line(&line)
    }

    fn shown(&self, text: &str) -> String {
        if !self.is_terminal {
            return text.to_owned();
        }
        let is_shown = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
        text.chars().filter(is_shown).collect()
    }

    /// Returns a line for a diff, unless the tool call has had the same.
    fn diff(&mut self, id: &str, content: &ToolContent) -> String {
        let ToolContent::Diff(change) = content else { return String::new() };
        let before = Text::parse(change.old.as_deref().unwrap_or_default());
        let hunks = diff(&before, &Text::parse(&change.new));
        let added: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
        let removed: usize = hunks.iter().map(|hunk| hunk.old().len()).sum();
        let line = format!("[diff] {} +{added} -{removed}", change.path.display());
        let tool = self.tools.entry(id.to_owned()).or_default();
        if tool.diffs.insert(line.clone()) { self.line(&line) } else { String::new() }
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

/// What the line of a tool call says of its end.
fn failure(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending | ToolStatus::InProgress | ToolStatus::Completed => "",
        ToolStatus::Failed => ": failed",
        ToolStatus::Cancelled => ": cancelled",
    }
}

/// Returns the list of slash commands, one on a line: its name, a tab, what it does.
pub(super) fn list_of_commands(commands: &[Command]) -> String {
    let line = |command: &Command| {
        format!("/{}\t{}\n", label::line(&command.name), label::line(&command.description))
    };
    commands.iter().map(line).collect()
}
