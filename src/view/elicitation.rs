//! What the user was asked to fill in or to open, as lines of the transcript.

use super::card::Scene;
use super::line::{Action, Class, Line, Look, Span, Style};
use crate::session::transcript::{About, Became, Elicited};

/// Titles of fields shown; the form has them all.
const TITLES: usize = 8;

/// The card of a request.
pub fn lines(elicited: &Elicited, scene: &Scene) -> Vec<Line> {
    let waits = elicited.became == Became::Waiting;
    let action = waits.then_some(Action::Form(elicited.id));
    let (icon, look) = match elicited.became {
        Became::Waiting => ("? ", Look::Active),
        Became::Opened => ("● ", Look::Active),
        Became::Sent | Became::Complete => ("✓ ", Look::Good),
        Became::Declined => ("✗ ", Look::Bad),
        Became::Cancelled => ("⊘ ", Look::Dim),
    };
    let what = match elicited.about {
        About::Fields(_) => "asks you to fill in a form",
        About::Address { .. } => "asks you to open an address",
    };
    let style = |class| Style { action: action.clone(), ..Style::new(class) };
    let title = format!("{} {what}", scene.agent);
    let mut lines = vec![Line::new(title, &style(Class::Title)).with_prefix(icon, look)];
    for line in elicited.message.trim().lines() {
        lines.push(Line::new(line, &style(Class::Body)).with_prefix("  │ ", Look::Dim));
    }
    match &elicited.about {
        About::Fields(titles) => {
            for title in titles.iter().take(TITLES) {
                lines.push(Line::new(title, &style(Class::Note)).with_prefix("  │ · ", Look::Dim));
            }
            if titles.len() > TITLES {
                let more = format!("… {} more", titles.len() - TITLES);
                lines.push(Line::new(more, &style(Class::Note)).with_prefix("  │ ", Look::Dim));
            }
        }
        About::Address { host, url, warnings } => {
            let shown = url.iter().map(|url| ("", url, Look::Url));
            for (before, text, look) in shown.chain([("leads to ", host, Look::Strong)]) {
                let span = Span { start: before.len(), end: before.len() + text.len(), look };
                let style = Style { spans: vec![span], ..style(Class::Body) };
                let line = Line::new(format!("{before}{text}"), &style);
                lines.push(line.with_prefix("  │ ", Look::Dim));
            }
            for warning in warnings {
                let style = style(Class::Warning);
                lines.push(Line::new(warning, &style).with_prefix("  ! ", Look::Bad));
            }
        }
    }
    let (text, look) = match (elicited.became, &elicited.about) {
        (Became::Waiting, About::Fields(_)) => ("<CR> fill in · :RatForm", Look::Active),
        (Became::Waiting, About::Address { .. }) => ("<CR> decide · :RatForm", Look::Active),
        (Became::Sent, _) => ("sent", Look::Good),
        (Became::Opened, _) => ("opened: the agent waits until it is done there", Look::Active),
        (Became::Complete, _) => ("done", Look::Good),
        (Became::Declined, _) => ("declined", Look::Bad),
        (Became::Cancelled, _) => ("not answered: cancelled", Look::Dim),
    };
    lines.push(Line::new(text, &style(Class::Note)).with_prefix("  └ ", look));
    lines
}
