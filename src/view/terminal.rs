//! Renders a terminal in the card of its tool call (command, end of the output, state), and the
//! title of its page.

use super::card::{Card, LAST_PREFIX, MAX_OUTPUT_LINES, MAX_UNFOLDED, is_waiting};
use super::line::{Action, Class, Highlight, Line, Style};
use super::permission;
use super::scene;
use crate::session::entry::ToolEntry;
use crate::session::ids::TerminalId;
use crate::session::keys;
use crate::session::label;
use crate::session::signs::{DOT, ELLIPSIS};
use crate::session::terminal::Terminal;
use crate::session::tool_call::{ToolCall, ToolKind, ToolStatus};

/// The number of last lines of folded output that stay visible.
const VISIBLE_LINES: usize = 4;

/// The maximum number of characters of a line in a card.
const MAX_WIDTH: usize = 400;

/// The maximum number of characters of a command in the title of its page.
const MAX_COMMAND: usize = 90;

/// Adds a terminal to a card. The cost does not depend on the length of the output.
pub(super) fn add(card: &mut Card, entry: &ToolEntry, id: &TerminalId, terminal: &Terminal) {
    let call = &entry.call;
    add_command(card, call, terminal);
    let first = card.lines.len();
    let most = if terminal.exit.is_some() { MAX_OUTPUT_LINES } else { MAX_UNFOLDED };
    let lines = terminal.last_lines(most, MAX_WIDTH);
    let hidden = terminal.count().saturating_sub(lines.len());
    if hidden > 0 && lines.len() == most {
        let action = Some(Action::Output(call.id.to_string()));
        let style = Style { action, ..Style::new(Class::Note) };
        let text = keys::after(&format!("{ELLIPSIS} {hidden} earlier lines"), "<CR>", "shows all");
        card.lines.push(Line::new(text, &style).with_prefix("  │ ", Highlight::Dim));
    }
    for line in lines {
        card.lines.push(Line::of(Class::Body, line).with_prefix("  │ ", Highlight::Dim));
    }
    let last = card.lines.len().saturating_sub(1 + VISIBLE_LINES);
    let is_long = terminal.exit.is_some() && card.lines.len() - first > MAX_UNFOLDED;
    if is_long && card.fold.is_none() {
        card.fold = Some((first, last));
        card.extra_lines = hidden.cast_signed() - isize::from(hidden > 0);
        card.lines_below = VISIBLE_LINES;
    }
    // After a rejection, agents end the terminal in various ways, some with an exit code.
    if !is_denied(entry, terminal) || has_run(call, terminal) {
        card.lines.push(state_line(id, terminal, entry));
    }
}

/// Whether the user did not allow the command of a terminal of the agent's own. Of our own
/// terminals we know ourselves whether the command ran.
pub(super) fn is_denied(entry: &ToolEntry, terminal: &Terminal) -> bool {
    let denied = entry.asked.is_some() && !is_waiting(entry) && !entry.is_allowed();
    denied && !terminal.is_ours
}

/// Whether an agent ran a command although it was denied.
fn has_run(call: &ToolCall, terminal: &Terminal) -> bool {
    let code = terminal.exit.as_ref().and_then(|exit| exit.code);
    code == Some(0) || call.status == ToolStatus::Completed
}

/// Returns the title of the page of a tool call or terminal: the command and its state, such as
/// `$ make test · exit 2`, or the title of a tool call without a command.
pub fn heading(call: Option<&ToolCall>, terminal: Option<&Terminal>) -> String {
    let input = call.and_then(|call| call.input.as_ref()?.command.as_ref());
    let command = terminal.and_then(|terminal| terminal.command.as_ref()).or(input);
    let title = match (command, call) {
        (Some(command), _) => format!("$ {}", label::short(command, MAX_COMMAND)),
        (None, Some(call)) => label::short(scene::title(call), MAX_COMMAND),
        (None, None) => "terminal".to_owned(),
    };
    let state = match (terminal, call) {
        (Some(terminal), _) => terminal.ending().unwrap_or_else(|| "running".to_owned()),
        (None, Some(call)) if command.is_some() || call.kind == ToolKind::Execute => {
            call.status.word().to_owned()
        }
        _ => return title,
    };
    format!("{title} {DOT} {state}")
}

/// Adds the command unless the title or the input shows it.
fn add_command(card: &mut Card, call: &ToolCall, terminal: &Terminal) {
    let Some(command) = &terminal.command else { return };
    let input = call.input.as_ref().and_then(|input| input.command.as_ref());
    let is_shown = |text: &str| permission::mentions(text, command);
    if is_shown(&call.title) || input.is_some_and(|input| is_shown(input)) {
        return;
    }
    for (number, line) in command.lines().enumerate() {
        let prefix = if number == 0 { "  │ $ " } else { "  │   " };
        card.lines.push(Line::of(Class::Body, line).with_prefix(prefix, Highlight::Active));
    }
}

/// Renders the state of the command, in a line that opens its page.
fn state_line(id: &TerminalId, terminal: &Terminal, entry: &ToolEntry) -> Line {
    let highlight = match &terminal.exit {
        None => Highlight::Active,
        Some(exit) if exit.code == Some(0) => Highlight::Good,
        Some(_) => Highlight::Bad,
    };
    if let Some(asked) = entry.asked.as_ref().filter(|_| is_waiting(entry)) {
        let action = Some(Action::Permission(asked.id));
        let style = Style { action, ..Style::new(Class::Note) };
        return Line::new("waiting for permission", &style).with_prefix("  │ ", highlight);
    }
    let is_own = !terminal.is_ours;
    let is_silent = is_own && terminal.count() == 0;
    let ending = terminal.ending().filter(|_| terminal.is_ending_known() || !is_own);
    let (state, highlight) = match (ending, entry.call.status) {
        (Some(ending), _) => (ending, highlight),
        // The agent did not say how the command ended, so show the status of the call.
        (None, ToolStatus::Failed) if is_own => ("failed".to_owned(), Highlight::Bad),
        (None, ToolStatus::Cancelled) if is_own => ("cancelled".to_owned(), Highlight::Dim),
        (None, ToolStatus::Completed) if is_own => ("ended".to_owned(), Highlight::Good),
        // With several calls at once, an agent asks for one after the other, and some agents never
        // report that a call started.
        (None, ToolStatus::Pending) if is_silent => ("no output yet".to_owned(), highlight),
        (None, _) => (terminal.ending().unwrap_or_else(|| "running".to_owned()), highlight),
    };
    if is_silent && !entry.call.status.is_open() && !terminal.is_ending_known() {
        return Line::of(Class::Note, format!("{state}, no output"))
            .with_prefix(LAST_PREFIX, highlight);
    }
    let style = Style { action: Some(Action::Terminal(id.to_string())), ..Style::new(Class::Note) };
    Line::new(keys::after(&state, "<CR>", "opens it"), &style).with_prefix(LAST_PREFIX, highlight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::entry::{Decision, PermissionEntry};
    use crate::session::permission::{DecidedBy, OptionKind, PermissionOption};
    use crate::session::terminal::{TerminalExit, TerminalUpdate};
    use crate::session::tool_call::{ToolCallPatch, ToolContent, ToolKind};
    use crate::session::transcript::Transcript;
    use crate::view::scene::Scene;

    fn card(terminal: &Terminal) -> (Vec<String>, Option<(usize, usize)>) {
        let mut card = Card::default();
        let call = ToolCall { status: ToolStatus::InProgress, ..ToolCall::new("call".into()) };
        let entry = ToolEntry::new(call);
        add(&mut card, &entry, &"t".into(), terminal);
        (card.lines.iter().map(|line| line.unprefixed_text().to_owned()).collect(), card.fold)
    }

    fn option(id: &str, kind: OptionKind) -> PermissionOption {
        PermissionOption { id: id.into(), name: id.to_owned(), kind }
    }

    /// Renders the card of a call with a terminal of the agent's own.
    fn own_card(status: ToolStatus, chosen: Option<&str>, updates: &[TerminalUpdate]) -> Card {
        let mut transcript = Transcript::default();
        let terminals = updates.iter().map(|update| ("t".into(), update.clone())).collect();
        let patch = ToolCallPatch {
            title: Some("make".to_owned()),
            kind: Some(ToolKind::Execute),
            status: Some(status),
            content: Some(vec![ToolContent::Terminal("t".into())]),
            terminals,
            ..ToolCallPatch::default()
        };
        if let Some(chosen) = chosen {
            let options = vec![
                option("Yes", OptionKind::AllowOnce),
                option("No", OptionKind::RejectOnce),
                option("Reject always", OptionKind::RejectAlways),
            ];
            let decision = match chosen {
                "" => Decision::Cancelled,
                chosen => Decision::Chosen(chosen.into()),
            };
            transcript.ask(
                &"c".into(),
                patch,
                PermissionEntry {
                    id: 1,
                    question: None,
                    undecided: None,
                    options,
                    decision,
                    by: DecidedBy::User,
                    shown: None,
                },
            );
        } else {
            transcript.tool(&"c".into(), patch);
        }
        let entry = transcript.find_tool(&"c".into()).unwrap();
        super::super::tool_card::tool(entry, &transcript, &Scene::default())
    }

    /// Returns the rows of that card below the title, with their frame.
    fn own_rows(
        status: ToolStatus,
        chosen: Option<&str>,
        updates: &[TerminalUpdate],
    ) -> Vec<String> {
        let card = own_card(status, chosen, updates);
        let row = |line: &Line| {
            let frame = line.prefix.as_ref().map_or("", |(frame, _)| frame);
            format!("{frame}{}", line.unprefixed_text())
        };
        card.lines.iter().skip(1).map(row).collect()
    }

    /// Holds (Terminals): A command that was rejected is not shown as ended.
    #[test]
    fn a_denied_command_is_not_shown_as_ended() {
        let exited = |code| TerminalUpdate::Exited(TerminalExit { code, signal: None });
        let wrote = |text: &str| TerminalUpdate::Output(text.as_bytes().to_vec());
        let started = [TerminalUpdate::Started];
        let ended = [TerminalUpdate::Started, exited(None)];
        for updates in [&started[..], &ended[..]] {
            for status in [ToolStatus::Pending, ToolStatus::Failed, ToolStatus::Cancelled] {
                assert_eq!(
                    own_rows(status, Some("No"), updates),
                    ["  └ ✗ No · rejected · never ran"]
                );
                let rows = own_rows(status, Some("Reject always"), updates);
                assert_eq!(rows, ["  └ ✗ Reject always · never ran"]);
                assert_eq!(own_rows(status, Some(""), updates), ["  └ not answered"]);
            }
        }
        let explained = [wrote("You said no.\n"), exited(Some(1))];
        let rows = own_rows(ToolStatus::Failed, Some("No"), &explained);
        assert_eq!(rows, ["  │ You said no.", "  └ ✗ No · rejected"]);
        // If the agent runs it nevertheless, that is shown.
        let ran = [wrote("gone\n"), exited(Some(0))];
        let rows = own_rows(ToolStatus::Completed, Some("No"), &ran);
        assert_eq!(rows, ["  │ gone", "  ├ exit 0 · <CR> opens it", "  └ ✗ No · rejected"]);
    }

    #[test]
    fn a_command_with_an_unknown_ending_shows_the_status_of_its_call() {
        let started = [TerminalUpdate::Started];
        let wrote = [TerminalUpdate::Output(b"one\n".to_vec())];
        let last =
            |status, updates: &[TerminalUpdate]| own_rows(status, None, updates).pop().unwrap();
        assert_eq!(last(ToolStatus::Cancelled, &started), "  └ cancelled, no output");
        assert_eq!(last(ToolStatus::Failed, &started), "  └ failed, no output");
        assert_eq!(last(ToolStatus::Cancelled, &wrote), "  └ cancelled · <CR> opens it");
        assert_eq!(last(ToolStatus::Failed, &wrote), "  └ failed · <CR> opens it");
        assert_eq!(last(ToolStatus::Completed, &wrote), "  └ ended · <CR> opens it");
        assert_eq!(last(ToolStatus::InProgress, &started), "  └ running · <CR> opens it");
    }

    /// Holds (Terminals): A card has one closing row.
    #[test]
    fn only_the_last_row_closes_the_frame() {
        let exit = TerminalUpdate::Exited(TerminalExit { code: Some(2), signal: None });
        let rows = own_rows(ToolStatus::Failed, Some("Yes"), &[exit]);
        assert_eq!(rows, ["  ├ exit 2 · <CR> opens it", "  └ ✓ Yes"]);
    }

    /// Holds (Windows and views): The last row of a card opens the command's output.
    #[test]
    fn the_last_row_of_a_card_opens_the_page_of_the_command() {
        let exit = TerminalUpdate::Exited(TerminalExit { code: Some(0), signal: None });
        let updates = [TerminalUpdate::Output(b"one\n".to_vec()), exit];
        let last =
            |status, chosen, updates| own_card(status, chosen, updates).lines.pop().unwrap().format;
        assert_eq!(last(ToolStatus::Completed, Some("Yes"), &updates[..]), "n||Tt|");
        assert_eq!(last(ToolStatus::Completed, None, &updates[..]), "n||Tt|");
        // A command that never ran has no page.
        assert_eq!(last(ToolStatus::Failed, Some("No"), &[TerminalUpdate::Started]), "n||Oc|");
    }

    /// Holds (Terminals): A fold says how many lines it stands for.
    #[test]
    fn a_fold_has_the_number_of_its_lines() {
        let named = |count: usize| {
            let output = (1..=count).map(|line| format!("line {line}\n")).collect::<String>();
            let exit = TerminalExit { code: Some(0), signal: None };
            let mut terminal = Terminal::new("make".to_owned(), 0);
            terminal.append(output.as_bytes());
            terminal.finish(exit, None);
            let (mut transcript, id) = (Transcript::default(), TerminalId::from("t"));
            let content = Some(vec![ToolContent::Terminal(id.clone())]);
            let patch = ToolCallPatch { content, ..ToolCallPatch::default() };
            transcript.tool(&"c".into(), patch);
            transcript.begin_terminal(&id, terminal);
            let entry = transcript.find_tool(&"c".into()).unwrap();
            let card = super::super::tool_card::tool(entry, &transcript, &Scene::default());
            let (first, _) = card.fold.unwrap();
            card.lines[first].format.rsplit('|').next().unwrap().to_owned()
        };
        assert_eq!(named(20), "16\t16 of 20 lines");
        assert_eq!(named(300), "37\t296 of 300 lines");
    }

    #[test]
    fn an_ended_command_shows_more_lines_than_a_running_one() {
        let mut terminal = Terminal::new("make".to_owned(), 0);
        assert_eq!(card(&terminal).0, ["make", "running · <CR> opens it"]);
        for line in 1..=100 {
            terminal.append(format!("line {line}\n").as_bytes());
        }
        let (lines, fold) = card(&terminal);
        assert_eq!(lines[..3], ["make", "… 92 earlier lines · <CR> shows all", "line 93"]);
        assert_eq!(lines[9..], ["line 100", "running · <CR> opens it"]);
        assert_eq!(fold, None);
        terminal.finish(TerminalExit { code: Some(0), signal: None }, None);
        let (lines, fold) = card(&terminal);
        assert_eq!(lines[..3], ["make", "… 60 earlier lines · <CR> shows all", "line 61"]);
        assert_eq!(lines[42], "exit 0 · <CR> opens it");
        assert_eq!(fold, Some((1, 37)));
    }

    #[test]
    fn the_title_of_a_page_has_the_command_and_its_state() {
        let mut terminal = Terminal::new("make \\\n  test\x1b]0;".to_owned(), 0);
        assert_eq!(heading(None, Some(&terminal)), "$ make \\   test\u{fffd}]0; · running");
        terminal.command = Some("x".repeat(1 << 20));
        terminal.finish(TerminalExit { code: Some(101), signal: None }, None);
        let long = heading(None, Some(&terminal));
        assert!(long.ends_with("x… · exit 101") && long.chars().count() < 120, "{long}");
        let mut call = ToolCall { title: "Read a file".to_owned(), ..ToolCall::new("c".into()) };
        assert_eq!(heading(Some(&call), None), "Read a file");
        call.kind = ToolKind::Execute;
        call.status = ToolStatus::Failed;
        assert_eq!(heading(Some(&call), None), "Read a file · failed");
        assert_eq!(heading(Some(&call), Some(&Terminal::default())), "Read a file · running");
    }

    #[test]
    fn a_card_is_bounded_for_any_output() {
        let mut terminal = Terminal::new("yes".to_owned(), 0);
        terminal.append("x".repeat(1 << 20).as_bytes());
        terminal.append("\nlast".as_bytes());
        let (lines, _) = card(&terminal);
        assert!(lines.iter().map(String::len).sum::<usize>() < 2000, "{}", lines.len());
        assert!(lines.contains(&"last".to_owned()));
    }
}
