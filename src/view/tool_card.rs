//! Renders tool calls: as cards in the transcript, and as rows of the list of tool calls.

use super::card::{Card, LAST_PREFIX, MAX_OUTPUT_LINES, MAX_UNFOLDED, is_waiting};
use super::content;
use super::diff;
use super::line::{Action, Class, Highlight, Line, Span, Style};
use super::permission;
use super::question;
use super::scene::Scene;
use super::terminal;
use super::title;
use crate::session::content::{Content, ContentId};
use crate::session::entry::{Decision, PermissionEntry, ToolEntry};
use crate::session::ids::TerminalId;
use crate::session::keys;
use crate::session::label;
use crate::session::permission::{DecidedBy, OptionKind, PermissionOption};
use crate::session::signs::{self, ARROW, DONE, DOT, ELLIPSIS, FAILED};
use crate::session::terminal::Terminal;
use crate::session::tool_call::{FileChange, Location, ToolCall, ToolContent, ToolStatus};
use crate::session::transcript::Transcript;
use std::collections::HashSet;
use std::path::Path;

/// The maximum number of lines of diffs in a card.
const MAX_DIFF_LINES: usize = 80;
/// More locations than this are folded in a card, and a row of the list names at most as many
/// files.
const MAX_LOCATIONS: usize = 4;

/// Returns the icon and highlighting of a tool call's status.
pub fn status(entry: &ToolEntry) -> (&'static str, Highlight) {
    if is_waiting(entry) {
        return ("?", Highlight::Active);
    }
    if entry.against_rule.is_some() {
        return ("!", Highlight::Bad);
    }
    match entry.call.status {
        ToolStatus::Pending => ("○", Highlight::Dim),
        ToolStatus::InProgress => ("●", Highlight::Active),
        ToolStatus::Completed => ("✓", Highlight::Good),
        ToolStatus::Failed => ("✗", Highlight::Bad),
        ToolStatus::Cancelled => ("⊘", Highlight::Dim),
    }
}

/// Renders the first line of a tool call's card.
pub fn tool_title(entry: &ToolEntry, scene: &Scene) -> Line {
    title_line(entry, scene, title::first_line(&entry.call, scene))
}

/// Renders a tool call in one line, with its files.
pub fn tool_row(entry: &ToolEntry, scene: &Scene) -> Line {
    let text = title::first_line(&entry.call, scene);
    let files = files(&entry.call, scene);
    if files.is_empty() {
        return title_line(entry, scene, text);
    }
    title_line(entry, scene, format!("{text} {DOT} {}", files.join(", ")))
}

/// Returns the first files of a call that its title does not name.
fn files(call: &ToolCall, scene: &Scene) -> Vec<String> {
    let (mut seen, title) = (HashSet::new(), scene.title(call));
    let is_named = |path: &&Path| permission::mentions(&title, &scene.shorten(path));
    let paths = call.paths().filter(|path| seen.insert(*path) && *path != scene.cwd);
    let paths: Vec<_> = paths.filter(|path| !is_named(path)).collect();
    let hidden = paths.len().saturating_sub(MAX_LOCATIONS);
    let mut names: Vec<_> =
        paths.iter().take(MAX_LOCATIONS).map(|path| scene.shorten(path)).collect();
    names.extend((hidden > 0).then(|| format!("{hidden} more")));
    names
}

/// Returns the action of a card's first line: opens the call's first location, else shows its whole
/// output.
fn default_action(call: &ToolCall, scene: &Scene) -> Action {
    let location = call.locations.first();
    let open = location.and_then(|location| scene.open(&location.path, location.line));
    open.unwrap_or_else(|| Action::Output(call.id.to_string()))
}

fn title_line(entry: &ToolEntry, scene: &Scene, text: String) -> Line {
    let (icon, highlight) = status(entry);
    let call = &entry.call;
    let action = default_action(call, scene);
    let within = if call.by_subagent { "└ " } else { "" };
    let prefix = format!("{icon} {within}{}", title::kind_prefix(call));
    let argument = call.id.to_string();
    let style = Style { action: Some(action), argument, ..Style::new(Class::Title) };
    Line::new(text, &style).with_prefix(prefix, highlight)
}

/// Renders a tool call as a card.
pub fn tool(entry: &ToolEntry, transcript: &Transcript, scene: &Scene) -> Card {
    let call = &entry.call;
    let mut card = Card { lines: vec![tool_title(entry, scene)], ..Card::default() };
    card.lines.extend(permission::lines(entry));
    card.lines.extend(question::lines(entry));
    let first = card.lines.len();
    for location in shown_locations(call, scene) {
        let name = scene.shorten(&location.path);
        let text = location.line.map_or(name.clone(), |line| format!("{name}:{line}"));
        let span = Span { start: 0, end: text.len(), highlight: Highlight::Location }.framed();
        let action = scene.open(&location.path, location.line);
        let style = Style { spans: vec![span], action, ..Style::new(Class::Body) };
        card.lines.push(Line::new(text, &style).with_prefix("  │ ", Highlight::Dim));
    }
    card.lines.extend(omitted(call.omitted.locations, "locations"));
    if card.lines.len() - first > MAX_LOCATIONS {
        card.fold = Some((first + MAX_LOCATIONS - 1, card.lines.len() - 1));
    }
    add_diffs(&mut card, call, scene);
    add_output(&mut card, call);
    add_other_content(&mut card, call);
    card.lines.extend(omitted(call.omitted.content, "items"));
    for id in call.terminals() {
        match transcript.terminal(id) {
            Some(shown) => terminal::add(&mut card, entry, id, shown),
            None => {
                let line = Line::of(Class::Note, format!("Unknown terminal {id}"));
                card.lines.push(line.with_prefix("  │ ", Highlight::Dim));
            }
        }
    }
    if let Some(rule) = &entry.against_rule {
        let style = Style { action: Some(default_action(call, scene)), ..Style::new(Class::Note) };
        let text = format!("done without asking, against your rule: {rule}");
        card.lines.push(Line::new(text, &style).with_prefix(LAST_PREFIX, Highlight::Bad));
    }
    card.lines.extend(question::hint(entry, transcript));
    // The editor allows the agent to call a tool of its own, which says nothing of what the call does.
    let is_told = |asked: &&PermissionEntry| asked.by != DecidedBy::Editor;
    if let Some(asked) = entry.asked.as_ref().filter(is_told) {
        add_decision(&mut card, asked, entry, transcript, scene);
    }
    card.label_fold();
    card.close_frame();
    card
}

/// Returns the locations of a call that neither its title nor its diffs show. The project's
/// directory is not shown.
fn shown_locations<'a>(call: &'a ToolCall, scene: &Scene) -> impl Iterator<Item = &'a Location> {
    let several = call.locations.len() > 1;
    let title = scene.title(call);
    let changed: HashSet<_> = call.diffs().map(|diff| diff.path.as_path()).collect();
    call.locations.iter().filter(|location| location.path != scene.cwd).filter(move |location| {
        let named = permission::mentions(&title, &scene.shorten(&location.path));
        (several || !named || location.line.is_some_and(|line| line > 1))
            && !changed.contains(location.path.as_path())
    })
}

/// Whether the title contains the path.
fn title_mentions(call: &ToolCall, path: &Path, scene: &Scene) -> bool {
    permission::mentions(&scene.title(call), &scene.shorten(path))
}

fn add_diffs(card: &mut Card, call: &ToolCall, scene: &Scene) {
    let (mut room, mut hidden) = (MAX_DIFF_LINES, 0);
    let in_title = title_names_changed_file(call, scene);
    for diff in call.diffs() {
        let (mut lines, omitted) = diff::lines(diff, scene, room);
        if in_title {
            lines.remove(0);
        }
        room -= room.min(lines.len());
        hidden += omitted;
        card.lines.extend(lines);
    }
    if hidden > 0 {
        card.lines.push(more(call, hidden, "changed lines"));
    }
}

/// Whether the title names the only file that changes, and opens it.
fn title_names_changed_file(call: &ToolCall, scene: &Scene) -> bool {
    let mut diffs = call.diffs();
    let (Some(only), None, Some(location)) = (diffs.next(), diffs.next(), call.locations.first())
    else {
        return false;
    };
    only.old.is_some() && location.path == only.path && title_mentions(call, &only.path, scene)
}

fn add_output(card: &mut Card, call: &ToolCall) {
    let text = text_of(call, |_| None);
    let text = label::strip_colours(text.trim_matches('\n'));
    if text.is_empty() {
        return;
    }
    let first = card.lines.len();
    let mut lines = text.lines();
    let mut truncated = false;
    for line in lines.by_ref().take(MAX_OUTPUT_LINES) {
        let shown = content::truncate(line, content::MAX_WIDTH);
        truncated |= shown != line;
        card.lines.push(Line::of(Class::Body, shown).with_prefix("  │ ", Highlight::Dim));
    }
    let hidden = lines.count();
    let has_hint = hidden > 0 || truncated;
    if has_hint {
        card.lines.push(match hidden {
            0 => show_all(call, "long lines are cut"),
            hidden => more(call, hidden, "lines"),
        });
    }
    let last = card.lines.len() - 1;
    card.fold = match card.fold {
        // Adjacent folds are joined.
        Some((start, end)) if end + 1 == first => Some((start, last)),
        other if last + 1 - first > MAX_UNFOLDED => other.or(Some((first, last))),
        other => other,
    };
    if card.fold.is_some_and(|(_, end)| end == last) {
        // The row with the hint is not a line of the output.
        card.extra_lines = hidden.cast_signed() - isize::from(has_hint);
    }
}

/// Adds content other than text, which is never folded.
fn add_other_content(card: &mut Card, call: &ToolCall) {
    for (item, content) in call.content.iter().enumerate() {
        match content {
            ToolContent::Content(content) if content.text().is_none() => {
                let id = ContentId::Tool(item, call.id.clone());
                card.lines.extend(content::rows(content, id, "  │ ", Class::Body));
            }
            _ => {}
        }
    }
}

/// Returns the text output of a call, except that of terminals: its content, else its raw output,
/// without SGR sequences.
pub fn output_text(call: &ToolCall) -> String {
    let text = text_of(call, |content| Some(format!("[{}]", content.summary())));
    label::strip_colours(&text).into_owned()
}

/// Returns the text output of a call, with `describe` for content other than text.
fn text_of(call: &ToolCall, describe: impl Fn(&Content) -> Option<String>) -> String {
    let (mut out, mut others) = (String::new(), false);
    for item in &call.content {
        let piece = match item {
            ToolContent::Content(Content::Text(text)) => without_fence(text).to_owned(),
            ToolContent::Content(Content::Marked { text, about }) => {
                match about.words(true).as_str() {
                    "" => without_fence(text).to_owned(),
                    words => format!("({words})\n{}", without_fence(text)),
                }
            }
            ToolContent::Content(content) => {
                others = true;
                let Some(description) = describe(content) else { continue };
                description
            }
            ToolContent::Change(FileChange { done, path, from: None }) => {
                format!("{done} {}", path.display())
            }
            ToolContent::Change(FileChange { done, path, from: Some(from) }) => {
                format!("{done} {} {ARROW} {}", from.display(), path.display())
            }
            ToolContent::Unknown { kind } => format!("[content of unknown type \"{kind}\"]"),
            ToolContent::Diff(_) | ToolContent::Terminal(_) => continue,
        };
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&piece);
    }
    let nothing = out.is_empty() && !others;
    if nothing && call.diffs().next().is_none() && call.terminals().next().is_none() {
        return call.output.clone().unwrap_or_default();
    }
    out
}

/// Removes a code fence around the whole text, which agents add for clients that only render
/// Markdown.
fn without_fence(text: &str) -> &str {
    let bare = text.trim();
    let Some((opening, rest)) = bare.split_once('\n') else { return text };
    let marks = opening.len() - opening.trim_start_matches('`').len();
    if marks < 3 || opening[marks..].contains('`') {
        return text;
    }
    match rest.strip_suffix(&opening[..marks]) {
        Some(inner) if inner.is_empty() || inner.ends_with('\n') => inner,
        _ => text,
    }
}

/// Renders a line that says how much is not kept.
fn omitted(count: usize, what: &str) -> Option<Line> {
    let line = || Line::of(Class::Note, format!("{ELLIPSIS} {count} more {what} were left out"));
    (count > 0).then(|| line().with_prefix("  │ ", Highlight::Dim))
}

fn more(call: &ToolCall, hidden: usize, what: &str) -> Line {
    show_all(call, &format!("{hidden} more {what}"))
}

/// Renders a line that shows the whole output of a call.
fn show_all(call: &ToolCall, why: &str) -> Line {
    let action = Some(Action::Output(call.id.to_string()));
    let style = Style { action, ..Style::new(Class::Note) };
    Line::new(keys::after(&format!("{ELLIPSIS} {why}"), "<CR>", "shows all"), &style)
        .with_prefix("  │ ", Highlight::Dim)
}

fn add_decision(
    card: &mut Card,
    asked: &PermissionEntry,
    entry: &ToolEntry,
    transcript: &Transcript,
    scene: &Scene,
) {
    let call = &entry.call;
    let chosen = match &asked.decision {
        Decision::Waiting => return add_choices(card, asked, entry),
        Decision::Cancelled => None,
        Decision::Chosen(id) => asked.options.iter().find(|option| option.id == *id),
    };
    let (text, highlight) = match chosen {
        None => ("not answered".to_owned(), Highlight::Dim),
        Some(PermissionOption { kind, name, .. }) => match kind {
            OptionKind::RejectOnce | OptionKind::RejectAlways => {
                let mut terminals = call.terminals().filter_map(|id| transcript.terminal(id));
                let denied = terminals.find(|shown| terminal::is_denied(entry, shown));
                (rejection(name, denied), Highlight::Bad)
            }
            OptionKind::AllowOnce | OptionKind::AllowAlways => {
                (format!("{DONE} {name}"), Highlight::Good)
            }
            OptionKind::Unknown => (name.clone(), Highlight::Dim),
        },
    };
    let by = match &asked.by {
        DecidedBy::User | DecidedBy::Editor => String::new(),
        DecidedBy::Provider => format!(" {DOT} answered by your permission provider"),
        DecidedBy::Rules(lines) if lines.len() == 1 => format!(" {DOT} rule: {}", lines[0]),
        DecidedBy::Rules(lines) => format!(" {DOT} rules: {}", lines.join("; ")),
    };
    let text = text + &by;
    // The last line of a card always has an action.
    let ran = |id: &&TerminalId| {
        transcript.terminal(id).is_some_and(|terminal| !terminal::is_denied(entry, terminal))
    };
    let terminal = call.terminals().filter(ran).last();
    let action = terminal.map(|id| Action::Terminal(id.to_string()));
    let action = Some(action.unwrap_or_else(|| default_action(call, scene)));
    let style = Style { action, ..Style::new(Class::Note) };
    card.lines.push(Line::new(text, &style).with_prefix(LAST_PREFIX, highlight));
}

/// Describes a rejection by the label of the option. For a command more is added, since the label
/// may be just "No".
fn rejection(option: &str, denied: Option<&Terminal>) -> String {
    let Some(terminal) = denied else { return format!("{FAILED} {option}") };
    let says_so = option.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("reject"));
    let mut parts = vec![format!("{FAILED} {option}")];
    parts.extend((!says_so).then(|| "rejected".to_owned()));
    parts.extend((terminal.count() == 0).then(|| "never ran".to_owned()));
    signs::joined(&parts)
}

fn add_choices(card: &mut Card, asked: &PermissionEntry, entry: &ToolEntry) {
    let call = &entry.call;
    let action = Some(Action::Permission(asked.id));
    for line in permission::question(entry) {
        card.lines.push(Line::of(Class::Body, line).with_prefix("  │ ", Highlight::Active));
    }
    if let Some(why) = &asked.undecided {
        card.lines.push(Line::of(Class::Note, why).with_prefix("  │ ", Highlight::Active));
    }
    for (number, option) in asked.options.iter().enumerate() {
        let style = Style { action: action.clone(), ..Style::new(Class::Choice) };
        let key = format!("g{}", number + 1);
        let key = keys::now(&key).map_or_else(|| "  - ".to_owned(), |key| format!("  [{key}] "));
        card.lines.push(Line::new(&option.name, &style).with_prefix(key, Highlight::Key));
    }
    let offers = |kind| asked.options.iter().any(|option| option.kind == kind);
    // Where the user has no key, there is the command.
    let words = [
        offers(OptionKind::AllowOnce).then(|| keys::hint("ga", "allow once", ":RatAllow")),
        // A request without options can only be answered with the outcome `cancelled`.
        Some(if asked.options.is_empty() {
            ":RatDeny".to_owned()
        } else {
            keys::hint("gr", "reject", ":RatDeny")
        }),
        // There is room for one more.
        match call.diffs().next() {
            Some(_) => keys::now("gd").map(|key| format!("{key} diff")),
            None if asked.options.is_empty() => None,
            None => keys::now("gA").map(|key| format!("{key} rule")),
        },
    ];
    // It fits the narrowest chat window: a second row would hide a row of the diff.
    let hint = signs::joined(&words.into_iter().flatten().collect::<Vec<_>>());
    let style = Style { action, ..Style::new(Class::Note) };
    card.lines.push(Line::new(hint, &style).with_prefix(LAST_PREFIX, Highlight::Active));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::{Diff, ToolCallPatch};

    #[test]
    fn a_fold_counts_only_its_own_lines() {
        let place = |number: u32| Location { path: "/p/a".into(), line: Some(number) };
        let named = |places: u32, with_change: bool, rows: usize| {
            let text = Content::Text("row\n".repeat(rows));
            let diff = Diff { path: "/p/b".into(), old: None, new: "x\n".into() };
            let mut content = vec![ToolContent::Content(text)];
            content.extend(with_change.then_some(ToolContent::Diff(diff)));
            let (mut transcript, locations) = (Transcript::default(), (1..=places).map(place));
            let locations = Some(locations.collect());
            let patch =
                ToolCallPatch { content: Some(content), locations, ..ToolCallPatch::default() };
            transcript.tool(&"c".into(), patch);
            let entry = transcript.find_tool(&"c".into()).unwrap();
            let card = tool(entry, &transcript, &Scene::default());
            let format = card.fold.map(|(first, _)| card.lines[first].format.clone());
            format.map(|format| format.rsplit(['|', '\t']).next().unwrap().to_owned())
        };
        assert_eq!(named(0, false, 3), None);
        assert_eq!(named(0, false, 20).as_deref(), Some("20 lines"));
        assert_eq!(named(0, false, 200).as_deref(), Some("200 lines"));
        // Three locations are above the fold.
        assert_eq!(named(9, false, 200).as_deref(), Some("206 lines"));
        assert_eq!(named(9, true, 200).as_deref(), Some("6 lines"), "the change stands between");
    }
}
