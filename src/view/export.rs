//! Writes a transcript as Markdown, for people who have no Neovim at hand.

use super::scene::Scene;
use super::title;
use crate::edit::Text;
use crate::edit::unified::FileDiff;
use crate::session::content::Content;
use crate::session::entry::{
    Attached, ElicitationState, Entry, Message, Note, Requested, ToolEntry,
};
use crate::session::prompt::fence_for;
use crate::session::terminal::Terminal;
use crate::session::tool_call::{Diff, ToolCall, ToolContent, ToolStatus};
use crate::session::transcript::Transcript;
use crate::session::update::{PlanEntry, PlanStatus, Role, Severity};
use std::fmt::Write as _;

/// Of longer outputs, this many lines at the end are written.
const MAX_OUTPUT_LINES: usize = 1000;
/// Longer lines of an output are cut, in characters.
const MAX_WIDTH: usize = 4000;

/// Returns a transcript as Markdown, with the title as its first heading.
pub fn markdown(title: &str, transcript: &Transcript, scene: &Scene) -> String {
    let mut out = format!("# {}\n", one_line(title));
    let mut speaker = None;
    for entry in transcript.entries() {
        out.push('\n');
        match entry {
            Entry::Message(message) => {
                if speaker != Some(message.role) {
                    let name = match message.role {
                        Role::User => "You",
                        Role::Agent => &scene.agent,
                        Role::Thought => "Thought",
                    };
                    let _ = writeln!(out, "## {}\n", one_line(name));
                }
                speaker = Some(message.role);
                add_message(&mut out, message);
                continue;
            }
            Entry::Tool(_) | Entry::Plan(_) | Entry::Elicitation(_) => {
                // A turn may begin with these.
                if speaker != Some(Role::Agent) {
                    let _ = writeln!(out, "## {}\n", one_line(&scene.agent));
                }
                speaker = Some(Role::Agent);
            }
            Entry::Banner(_) | Entry::Note(_) => {}
        }
        match entry {
            Entry::Message(_) => {}
            Entry::Banner(text) => add_quote(&mut out, text),
            Entry::Tool(entry) => add_tool(&mut out, entry, transcript, scene),
            Entry::Plan(plan) => add_plan(&mut out, plan),
            Entry::Elicitation(entry) => {
                let asked = match &entry.about {
                    Requested::Fields(titles) => titles.join(", "),
                    Requested::Url { host, .. } => host.clone(),
                };
                let became = outcome(entry.became);
                add_quote(&mut out, &format!("{}\n{asked}: {became}", entry.message));
            }
            Entry::Note(note) => add_note(&mut out, note),
        }
        // What the agent says after a tool call needs no heading of its own.
        speaker = speaker.filter(|role| *role == Role::Agent);
    }
    out
}

fn outcome(state: ElicitationState) -> &'static str {
    match state {
        ElicitationState::Waiting => "not answered yet",
        ElicitationState::Sent => "sent",
        ElicitationState::Opened => "opened",
        ElicitationState::Complete => "done",
        ElicitationState::Declined => "declined",
        ElicitationState::Cancelled => "cancelled",
    }
}

fn add_message(out: &mut String, message: &Message) {
    let text = message.text.trim_matches('\n');
    match message.role {
        Role::Thought => add_quote(out, text),
        Role::Agent if message.is_for_model() => {
            add_quote(out, &format!("For the model:\n\n{text}"));
        }
        Role::User | Role::Agent if !text.is_empty() => {
            out.push_str(text);
            out.push('\n');
        }
        Role::User | Role::Agent => {}
    }
    for attached in &message.attachments {
        match attached {
            Attached::Content(Content::Text(text) | Content::Marked { text, .. }) => {
                let _ = writeln!(out, "\n{text}");
            }
            other => {
                let _ = writeln!(out, "\n- {}", one_line(&other.summary()));
            }
        }
    }
}

fn add_tool(out: &mut String, entry: &ToolEntry, transcript: &Transcript, scene: &Scene) {
    let call = &entry.call;
    let status = match call.status {
        ToolStatus::Pending => "pending",
        ToolStatus::InProgress => "running",
        ToolStatus::Completed => "done",
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "cancelled",
    };
    let _ = writeln!(out, "**{}** ({status})", one_line(&title::heading(call, scene)));
    add_questions(out, call);
    if let Some(rule) = &entry.against_rule {
        out.push('\n');
        add_quote(out, &format!("Done without asking, against the rule: {rule}"));
    }
    for content in &call.content {
        match content {
            ToolContent::Content(Content::Text(text) | Content::Marked { text, .. }) => {
                add_block(out, "", text);
            }
            ToolContent::Content(other) => {
                let _ = writeln!(out, "\n- {}", one_line(&other.summary()));
            }
            ToolContent::Diff(diff) => {
                let old = diff.old.as_deref().map(Text::parse);
                let name = scene.shorten(&diff.path);
                let changes = FileDiff::new(&name, old.as_ref(), Some(&Text::parse(&diff.new)));
                if let Some(changes) = changes {
                    let changes = match place_of(diff, call) {
                        Some(first) => changes.in_fragment_at(first),
                        None if diff.old.is_some() => changes.without_numbers(),
                        None => changes,
                    };
                    add_block(out, "diff", &changes.to_text());
                }
            }
            ToolContent::Change(change) => {
                let path = scene.shorten(&change.path);
                let _ = writeln!(out, "\n- {} {}", one_line(&change.done), one_line(&path));
            }
            ToolContent::Terminal(id) => {
                if let Some(terminal) = transcript.terminal(id) {
                    add_terminal(out, terminal);
                }
            }
            ToolContent::Unknown { .. } => {}
        }
    }
    let has_content =
        call.content.iter().any(|content| !matches!(content, ToolContent::Unknown { .. }));
    if let Some(output) = call.output.as_ref().filter(|_| !has_content) {
        add_block(out, "", output);
    }
}

/// Returns the line of the file that a diff's text begins with, counted from 1: the text may be a part of the file. `None` if the
/// call does not say where it is.
fn place_of(diff: &Diff, call: &ToolCall) -> Option<usize> {
    let of_file = || call.diffs().filter(|other| other.path == diff.path);
    let places = || call.locations.iter().filter(|place| place.path == diff.path);
    let number = of_file().position(|other| std::ptr::eq(other, diff))?;
    // A place for each, in the same order.
    let place = places().nth(number).filter(|_| places().count() == of_file().count())?;
    place.line.and_then(|line| usize::try_from(line).ok())
}

fn add_questions(out: &mut String, call: &ToolCall) {
    for question in call.questions() {
        out.push('\n');
        add_quote(out, &question.text);
        for option in &question.options {
            let _ = writeln!(out, "> - {}", one_line(option));
        }
    }
}

fn add_terminal(out: &mut String, terminal: &Terminal) {
    let lines = terminal.last_lines(MAX_OUTPUT_LINES, MAX_WIDTH);
    let omitted = terminal.count().saturating_sub(lines.len());
    let mut text = String::new();
    if let Some(command) = &terminal.command {
        let _ = writeln!(text, "$ {command}");
    }
    if omitted > 0 {
        let _ = writeln!(text, "… {omitted} earlier lines");
    }
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    add_block(out, "console", &text);
}

fn add_plan(out: &mut String, plan: &[PlanEntry]) {
    for entry in plan {
        let mark = if entry.status == PlanStatus::Completed { 'x' } else { ' ' };
        let _ = writeln!(out, "- [{mark}] {}", one_line(&entry.content));
    }
}

fn add_note(out: &mut String, note: &Note) {
    let kind = match note.severity {
        Severity::Info => "",
        Severity::Warning => "Warning: ",
        Severity::Error => "Error: ",
    };
    add_quote(out, &format!("{kind}{}\n{}", note.title, note.to_save().details.join("\n")));
}

/// Adds a quote. Each line stays one.
fn add_quote(out: &mut String, text: &str) {
    for line in text.trim_end().lines() {
        let _ = writeln!(out, "> {line}");
    }
}

fn add_block(out: &mut String, language: &str, text: &str) {
    let fence = fence_for(text);
    let text = text.trim_end_matches('\n');
    let _ = writeln!(out, "\n{fence}{language}\n{text}\n{fence}");
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
