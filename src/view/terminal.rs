//! What runs in a terminal as part of its tool call's card: the command, the end of what it wrote, how it ended.

use super::ask;
use super::card::{Card, OUTPUT, UNFOLDED, is_waiting};
use super::line::{Action, Class, Line, Look, Style};
use crate::session::ids::TerminalId;
use crate::session::terminal::Terminal;
use crate::session::tool_call::{ToolCall, ToolStatus};
use crate::session::transcript::ToolEntry;

/// Of output that is folded, so many lines are not: the last say most.
const END: usize = 4;

/// Characters of a line shown in a card.
const WIDTH: usize = 400;

/// Adds a terminal to a card. The work does not grow with what the command wrote.
pub(super) fn show(card: &mut Card, entry: &ToolEntry, id: &TerminalId, terminal: &Terminal) {
    let call = &entry.call;
    command(card, call, terminal);
    let first = card.lines.len();
    let most = if terminal.exit.is_some() { OUTPUT } else { UNFOLDED };
    let lines = terminal.last_lines(most, WIDTH);
    let hidden = terminal.count().saturating_sub(lines.len());
    if hidden > 0 && lines.len() == most {
        let action = Some(Action::Output(call.id.to_string()));
        let style = Style { action, ..Style::new(Class::Note) };
        let text = format!("… {hidden} lines before · <CR> shows all");
        card.lines.push(Line::new(text, &style).with_prefix("  │ ", Look::Dim));
    }
    for line in lines {
        card.lines.push(Line::of(Class::Body, line).with_prefix("  │ ", Look::Dim));
    }
    let last = card.lines.len().saturating_sub(1 + END);
    if terminal.exit.is_some() && card.lines.len() - first > UNFOLDED {
        card.fold = card.fold.or(Some((first, last)));
    }
    card.lines.push(state(id, terminal, entry));
}

/// The command, where neither the title nor the input says it.
fn command(card: &mut Card, call: &ToolCall, terminal: &Terminal) {
    let Some(command) = &terminal.command else { return };
    let input = call.input.as_ref().and_then(|input| input.command.as_ref());
    let said = |text: &str| ask::says(text, command);
    if said(&call.title) || input.is_some_and(|input| said(input)) {
        return;
    }
    for (number, line) in command.lines().enumerate() {
        let sign = if number == 0 { "  │ $ " } else { "  │   " };
        card.lines.push(Line::of(Class::Body, line).with_prefix(sign, Look::Active));
    }
}

/// The last line: how the command stands, and the way to its terminal.
fn state(id: &TerminalId, terminal: &Terminal, entry: &ToolEntry) -> Line {
    let look = match &terminal.exit {
        None => Look::Active,
        Some(exit) if exit.code == Some(0) => Look::Good,
        Some(_) => Look::Bad,
    };
    if let Some(asked) = entry.asked.as_ref().filter(|_| is_waiting(entry)) {
        let action = Some(Action::Permission(asked.id));
        let style = Style { action, ..Style::new(Class::Note) };
        return Line::new("waiting for permission", &style).with_prefix("  └ ", look);
    }
    let now = match entry.call.status {
        // In a terminal of its own: of several calls at once an agent asks for one after the other, and some never say
        // that one has begun.
        ToolStatus::Pending if terminal.command.is_none() && terminal.count() == 0 => {
            "no output yet"
        }
        _ => "runs",
    };
    let words = terminal.ending().unwrap_or_else(|| now.to_owned());
    let style = Style { action: Some(Action::Terminal(id.to_string())), ..Style::new(Class::Note) };
    Line::new(format!("{words} · <CR> opens it"), &style).with_prefix("  └ ", look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::terminal::TerminalExit;

    fn card(terminal: &Terminal) -> (Vec<String>, Option<(usize, usize)>) {
        let mut card = Card::default();
        let call = ToolCall { status: ToolStatus::InProgress, ..ToolCall::new("call".into()) };
        let entry = ToolEntry { call, asked: None };
        show(&mut card, &entry, &"t".into(), terminal);
        (card.lines.into_iter().map(|line| line.text).collect(), card.fold)
    }

    #[test]
    fn a_running_command_shows_its_last_lines_and_one_that_ended_more_of_them() {
        let mut terminal = Terminal::new("make".to_owned(), 0);
        assert_eq!(card(&terminal).0, ["make", "runs · <CR> opens it"]);
        for line in 1..=100 {
            terminal.append(format!("line {line}\n").as_bytes());
        }
        let (lines, fold) = card(&terminal);
        assert_eq!(lines[..3], ["make", "… 92 lines before · <CR> shows all", "line 93"]);
        assert_eq!(lines[9..], ["line 100", "runs · <CR> opens it"]);
        assert_eq!(fold, None);
        terminal.finish(TerminalExit { code: Some(0), signal: None }, None);
        let (lines, fold) = card(&terminal);
        assert_eq!(lines[..3], ["make", "… 60 lines before · <CR> shows all", "line 61"]);
        assert_eq!(lines[42], "exit 0 · <CR> opens it");
        assert_eq!(fold, Some((1, 37)));
    }

    #[test]
    fn a_card_has_a_limit_whatever_is_written() {
        let mut terminal = Terminal::new("yes".to_owned(), 0);
        terminal.append("x".repeat(1 << 20).as_bytes());
        terminal.append("\nlast".as_bytes());
        let (lines, _) = card(&terminal);
        assert!(lines.iter().map(String::len).sum::<usize>() < 2000, "{}", lines.len());
        assert!(lines.contains(&"last".to_owned()));
    }
}
