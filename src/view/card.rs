//! Cards: tool calls, plans and notes as lines.

use super::ask;
use super::content;
use super::diff;
use super::line::{Action, Class, Line, Look, Span, Style};
use super::scene::Scene;
use super::terminal;
use crate::session::content::{Content, ContentId};
use crate::session::permission::{OptionKind, PermissionOption};
use crate::session::tool_call::{Location, ToolCall, ToolContent, ToolKind, ToolStatus};
use crate::session::transcript::{Asked, Decision, Note, ToolEntry, Transcript};
use crate::session::update::{PlanEntry, PlanStatus, Severity};
use std::path::Path;

/// Lines of output shown in a card.
pub(super) const OUTPUT: usize = 40;
/// Lines of changes shown in a card.
const CHANGES: usize = 80;
/// Places shown before the rest of them is folded.
const PLACES: usize = 4;
/// Output with more lines than this begins folded.
pub(super) const UNFOLDED: usize = 8;

/// Lines, and which of them begin folded (first and last, counted from the card's first line).
#[derive(Debug, Default)]
pub struct Card {
    /// The lines.
    pub lines: Vec<Line>,
    /// What is folded.
    pub fold: Option<(usize, usize)>,
}

/// The icon and look of a status.
pub fn status(entry: &ToolEntry) -> (&'static str, Look) {
    if is_waiting(entry) {
        return ("?", Look::Active);
    }
    match entry.call.status {
        ToolStatus::Pending => ("○", Look::Dim),
        ToolStatus::InProgress => ("●", Look::Active),
        ToolStatus::Completed => ("✓", Look::Good),
        ToolStatus::Failed => ("✗", Look::Bad),
        ToolStatus::Cancelled => ("⊘", Look::Dim),
    }
}

/// Whether the user has to decide.
pub fn is_waiting(entry: &ToolEntry) -> bool {
    entry.asked.as_ref().is_some_and(|asked| asked.decision == Decision::Waiting)
}

/// One word for a kind of tool.
pub fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "run",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "mode",
        ToolKind::Other => "tool",
    }
}

/// The first line of a tool call.
pub fn tool_title(entry: &ToolEntry, scene: &Scene) -> Line {
    titled(entry, scene, title_in(&entry.call, scene))
}

/// A tool call in one line, with the place it leads to.
pub fn tool_row(entry: &ToolEntry, scene: &Scene) -> Line {
    let mut text = title_in(&entry.call, scene);
    if let Some(location) = entry.call.locations.first()
        && !says_path(&entry.call, &location.path, scene)
    {
        text = format!("{text} · {}", scene.shorten(&location.path));
    }
    titled(entry, scene, text)
}

fn titled(entry: &ToolEntry, scene: &Scene, text: String) -> Line {
    let (icon, look) = status(entry);
    let call = &entry.call;
    let place = call.locations.first();
    let action = place.and_then(|place| scene.go_to(&place.path, place.line));
    let action = action.unwrap_or_else(|| Action::Output(call.id.to_string()));
    let word = kind(call.kind);
    // Most titles begin with the word: "Read main.rs".
    let prefix =
        if begins_with(&text, word) { format!("{icon} ") } else { format!("{icon} {word} ") };
    let style = Style { action: Some(action), ..Style::new(Class::Title) };
    Line::new(text, &style).with_prefix(prefix, look)
}

/// What a call does, as the rest of a sentence: `edit main.rs`.
pub fn deed(call: &ToolCall, scene: &Scene) -> String {
    let (text, word) = (title_in(call, scene), kind(call.kind));
    match text.get(word.len()..) {
        Some(rest) if begins_with(&text, word) => format!("{word}{rest}"),
        _ => format!("{word} {text}"),
    }
}

/// What stands in a card's first line.
fn title_in(call: &ToolCall, scene: &Scene) -> String {
    content::clipped(&scene.title(call), ask::TITLE)
}

/// Whether a text's first word is this one, in whatever case.
fn begins_with(text: &str, word: &str) -> bool {
    text.split_whitespace().next().is_some_and(|first| first.eq_ignore_ascii_case(word))
}

/// A tool call as a card.
pub fn tool(entry: &ToolEntry, transcript: &Transcript, scene: &Scene) -> Card {
    let call = &entry.call;
    let mut card = Card { lines: vec![tool_title(entry, scene)], fold: None };
    card.lines.extend(ask::lines(entry));
    let first = card.lines.len();
    for location in places(call, scene) {
        let name = scene.shorten(&location.path);
        let text = location.line.map_or(name.clone(), |line| format!("{name}:{line}"));
        let span = Span { start: 0, end: text.len(), look: Look::Location };
        let action = scene.go_to(&location.path, location.line);
        let style = Style { spans: vec![span], action, ..Style::new(Class::Body) };
        card.lines.push(Line::new(text, &style).with_prefix("  │ ", Look::Dim));
    }
    let places = card.lines.len() - first;
    if places > PLACES {
        card.fold = Some((first + PLACES - 1, card.lines.len() - 1));
    }
    changes(&mut card, call, scene);
    output(&mut card, call);
    others(&mut card, call);
    for id in call.terminals() {
        match transcript.terminal(id) {
            Some(shown) => terminal::show(&mut card, entry, id, shown),
            None => {
                let line = Line::of(Class::Note, format!("nothing is known of terminal {id}"));
                card.lines.push(line.with_prefix("  │ ", Look::Dim));
            }
        }
    }
    if let Some(asked) = &entry.asked {
        permission(&mut card, asked, call);
    }
    card
}

/// The places a call names that are not in sight otherwise, in its title or with its diffs. The project itself is none.
fn places<'a>(call: &'a ToolCall, scene: &Scene) -> impl Iterator<Item = &'a Location> {
    let several = call.locations.len() > 1;
    call.locations.iter().filter(|location| location.path != scene.cwd).filter(move |location| {
        let named = says_path(call, &location.path, scene);
        (several || !named || location.line.is_some_and(|line| line > 1))
            && !call.diffs().any(|diff| diff.path == location.path)
    })
}

/// Whether the title shows the whole of a path.
fn says_path(call: &ToolCall, path: &Path, scene: &Scene) -> bool {
    ask::says(&scene.title(call), &scene.shorten(path))
}

fn changes(card: &mut Card, call: &ToolCall, scene: &Scene) {
    let (mut room, mut hidden) = (CHANGES, 0);
    let in_title = title_names_change(call, scene);
    for change in call.diffs() {
        let (mut lines, left_out) = diff::lines(change, scene, room);
        if in_title {
            lines.remove(0);
        }
        room -= room.min(lines.len());
        hidden += left_out;
        card.lines.extend(lines);
    }
    if hidden > 0 {
        card.lines.push(more(call, hidden, "changed lines"));
    }
}

/// Whether the title says already which file changes, and leads there.
fn title_names_change(call: &ToolCall, scene: &Scene) -> bool {
    let mut changes = call.diffs();
    let (Some(only), None, Some(place)) = (changes.next(), changes.next(), call.locations.first())
    else {
        return false;
    };
    only.old.is_some() && place.path == only.path && says_path(call, &only.path, scene)
}

fn output(card: &mut Card, call: &ToolCall) {
    let text = text_of(call, |_| None);
    let text = text.trim_matches('\n');
    if text.is_empty() {
        return;
    }
    let first = card.lines.len();
    let mut lines = text.lines();
    let mut cut = false;
    for line in lines.by_ref().take(OUTPUT) {
        let shown = content::clipped(line, content::WIDTH);
        cut |= shown != line;
        card.lines.push(Line::of(Class::Body, shown).with_prefix("  │ ", Look::Dim));
    }
    match lines.count() {
        0 if cut => card.lines.push(all(call, "long lines are cut")),
        0 => {}
        hidden => card.lines.push(more(call, hidden, "lines")),
    }
    let last = card.lines.len() - 1;
    card.fold = match card.fold {
        // One fold for all that is long.
        Some((places, end)) if end + 1 == first => Some((places, last)),
        other if last + 1 - first > UNFOLDED => other.or(Some((first, last))),
        other => other,
    };
}

/// Content that is no text: each in rows of its own, which no fold hides.
fn others(card: &mut Card, call: &ToolCall) {
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

/// All text a call produced, but for what stands in terminals: its content, else its raw output.
pub fn output_text(call: &ToolCall) -> String {
    text_of(call, |content| Some(format!("[{}]", content.words())))
}

/// The same, with these words for content that is no text.
fn text_of(call: &ToolCall, words: impl Fn(&Content) -> Option<String>) -> String {
    let (mut out, mut others) = (String::new(), false);
    for item in &call.content {
        let piece = match item {
            ToolContent::Content(Content::Text(text)) => without_fence(text).to_owned(),
            ToolContent::Content(content) => {
                others = true;
                let Some(words) = words(content) else { continue };
                words
            }
            ToolContent::Unknown { kind } => format!("[content of the unknown kind \"{kind}\"]"),
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

/// Agents wrap output in a code fence for clients that only know Markdown.
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

fn more(call: &ToolCall, hidden: usize, what: &str) -> Line {
    all(call, &format!("{hidden} more {what}"))
}

/// Says that not all is shown, and leads there.
fn all(call: &ToolCall, why: &str) -> Line {
    let action = Some(Action::Output(call.id.to_string()));
    let style = Style { action, ..Style::new(Class::Note) };
    Line::new(format!("… {why} · <CR> shows all"), &style).with_prefix("  │ ", Look::Dim)
}

fn permission(card: &mut Card, asked: &Asked, call: &ToolCall) {
    let chosen = match &asked.decision {
        Decision::Waiting => return choices(card, asked, call),
        Decision::Cancelled => None,
        Decision::Chosen(id) => asked.options.iter().find(|option| option.id == *id),
    };
    let (text, look) = match chosen {
        None => ("not decided: cancelled".to_owned(), Look::Dim),
        Some(PermissionOption { kind, name, .. }) => match kind {
            OptionKind::RejectOnce | OptionKind::RejectAlways => (format!("✗ {name}"), Look::Bad),
            OptionKind::AllowOnce | OptionKind::AllowAlways => (format!("✓ {name}"), Look::Good),
            OptionKind::Unknown => (name.clone(), Look::Dim),
        },
    };
    card.lines.push(Line::of(Class::Note, text).with_prefix("  └ ", look));
}

fn choices(card: &mut Card, asked: &Asked, call: &ToolCall) {
    let action = Some(Action::Permission(asked.id));
    for (number, option) in asked.options.iter().enumerate() {
        let style = Style { action: action.clone(), ..Style::new(Class::Choice) };
        let key = if number < 9 { format!("  [g{}] ", number + 1) } else { "       ".to_owned() };
        card.lines.push(Line::new(&option.name, &style).with_prefix(key, Look::Key));
    }
    let offers = |kind| asked.options.iter().any(|option| option.kind == kind);
    let keys = [
        offers(OptionKind::AllowOnce).then_some("ga allow once"),
        // Where nothing can be chosen, a request can only be turned down, which the protocol calls cancelled.
        Some(if asked.options.is_empty() { ":RatDeny" } else { "gr reject" }),
        call.diffs().next().map(|_| "gd diff"),
    ];
    // As wide as the narrowest chat: a second row would hide one of the change.
    let hint = keys.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let style = Style { action, ..Style::new(Class::Note) };
    card.lines.push(Line::new(hint, &style).with_prefix("  └ ", Look::Active));
}

/// A plan as lines; one without steps has been taken back.
pub fn plan(entries: &[PlanEntry]) -> Vec<Line> {
    if entries.is_empty() {
        return vec![Line::of(Class::Note, "no plan any more")];
    }
    let done = entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    let title = Line::of(Class::Title, format!("Plan {done}/{}", entries.len()));
    let steps = entries.iter().map(|entry| {
        let (icon, look, class) = match entry.status {
            PlanStatus::Pending => ("  ○ ", Look::Dim, Class::Body),
            PlanStatus::InProgress => ("  ● ", Look::Active, Class::Title),
            PlanStatus::Completed => ("  ✓ ", Look::Good, Class::Note),
            PlanStatus::Cancelled => ("  ⊘ ", Look::Dim, Class::Note),
        };
        Line::of(class, entry.content.trim()).with_prefix(icon, look)
    });
    std::iter::once(title).chain(steps).collect()
}

/// A note as lines.
pub fn note(note: &Note) -> Vec<Line> {
    let (class, icon, look) = match note.severity {
        Severity::Info => (Class::Note, "· ", Look::Dim),
        Severity::Warning => (Class::Warning, "! ", Look::Active),
        Severity::Error => (Class::Error, "✗ ", Look::Bad),
    };
    let title = Line::of(class, note.title.trim()).with_prefix(icon, look);
    let details = note
        .details
        .iter()
        .map(|detail| Line::of(Class::Body, detail.as_str()).with_prefix("  │ ", Look::Dim));
    std::iter::once(title).chain(details).collect()
}
