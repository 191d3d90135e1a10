//! What the user was asked to fill in or to open, as lines of the transcript.

use super::card::OUTPUT;
use super::content::{WIDTH, clipped};
use super::line::{Action, Class, Line, Look, Span, Style};
use super::scene::Scene;
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
    let mut message = elicited.message.trim().lines();
    for line in message.by_ref().take(OUTPUT) {
        let line = Line::new(clipped(line, WIDTH), &style(Class::Body));
        lines.push(line.with_prefix("  │ ", Look::Dim));
    }
    let hidden = message.count();
    if hidden > 0 {
        let more = format!("… {hidden} more lines");
        lines.push(Line::new(more, &style(Class::Note)).with_prefix("  │ ", Look::Dim));
    }
    match &elicited.about {
        About::Fields(titles) => {
            for title in titles.iter().take(TITLES) {
                let line = Line::new(clipped(title, WIDTH), &style(Class::Note));
                lines.push(line.with_prefix("  │ · ", Look::Dim));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_with_a_note_and_an_address_is_not() {
        let url = format!("https://example.com/{}", "x".repeat(WIDTH));
        let address = |message: String| Elicited {
            id: 1,
            message,
            about: About::Address {
                host: "example.com".into(),
                url: Some(url.clone()),
                warnings: Vec::new(),
            },
            became: Became::Waiting,
        };
        let drawn = |message: String| lines(&address(message), &Scene::default());
        let short = drawn("why\n".repeat(OUTPUT));
        assert!(short.iter().all(|line| !line.text.contains("more lines")));
        let long = drawn("why\n".repeat(OUTPUT + 1000));
        assert_eq!(long.len(), short.len() + 1);
        assert!(long.iter().any(|line| line.text == "… 1000 more lines"));
        assert!(long.iter().any(|line| line.text == url), "it is shown whole");
        let wide = drawn("x".repeat(60_000));
        assert!(wide[1].text.chars().count() == WIDTH + 1);
    }

    #[test]
    fn a_long_title_of_a_field_is_cut() {
        let about = About::Fields(vec!["x".repeat(60_000); TITLES]);
        let form = Elicited { id: 1, message: "?".into(), about, became: Became::Waiting };
        let longest =
            lines(&form, &Scene::default()).iter().map(|line| line.text.chars().count()).max();
        assert_eq!(longest, Some(WIDTH + 1));
    }
}
