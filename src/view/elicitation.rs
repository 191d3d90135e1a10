//! Renders an elicitation request of the transcript.

use super::card::MAX_OUTPUT_LINES;
use super::content::{MAX_WIDTH, truncate};
use super::line::{Action, Class, Highlight, Line, Span, Style};
use super::scene::Scene;
use crate::session::entry::{ElicitationEntry, ElicitationState, Requested};
use crate::session::keys;
use crate::session::signs::{self, ELLIPSIS};

/// The maximum number of field titles; the form itself shows all.
const MAX_TITLES: usize = 8;

/// Renders the card of a request.
pub fn lines(request: &ElicitationEntry, scene: &Scene) -> Vec<Line> {
    let waits = request.became == ElicitationState::Waiting;
    let action = waits.then_some(Action::Form(request.id));
    let (icon, highlight) = match request.became {
        ElicitationState::Waiting => ("? ", Highlight::Active),
        ElicitationState::Opened => ("● ", Highlight::Active),
        ElicitationState::Sent | ElicitationState::Complete => ("✓ ", Highlight::Good),
        ElicitationState::Declined => ("✗ ", Highlight::Bad),
        ElicitationState::Cancelled => ("⊘ ", Highlight::Dim),
    };
    let demand = match request.about {
        Requested::Fields(_) => "asks you to fill in a form",
        Requested::Url { .. } => "asks you to open a URL",
    };
    let style = |class| Style { action: action.clone(), ..Style::new(class) };
    let title = format!("{} {demand}", scene.agent);
    let mut lines = vec![Line::new(title, &style(Class::Title)).with_prefix(icon, highlight)];
    let mut message = request.message.trim().lines();
    for line in message.by_ref().take(MAX_OUTPUT_LINES) {
        let line = Line::new(truncate(line, MAX_WIDTH), &style(Class::Body));
        lines.push(line.with_prefix("  │ ", Highlight::Dim));
    }
    let hidden = message.count();
    if hidden > 0 {
        let more = format!("{ELLIPSIS} {hidden} more lines");
        lines.push(Line::new(more, &style(Class::Note)).with_prefix("  │ ", Highlight::Dim));
    }
    match &request.about {
        Requested::Fields(titles) => {
            for title in titles.iter().take(MAX_TITLES) {
                let line = Line::new(truncate(title, MAX_WIDTH), &style(Class::Note));
                lines.push(line.with_prefix("  │ · ", Highlight::Dim));
            }
            if titles.len() > MAX_TITLES {
                let more = format!("{ELLIPSIS} {} more", titles.len() - MAX_TITLES);
                lines
                    .push(Line::new(more, &style(Class::Note)).with_prefix("  │ ", Highlight::Dim));
            }
        }
        Requested::Url { host, url, warnings } => {
            let shown = url.iter().map(|url| ("", url, Highlight::Url));
            for (before, text, highlight) in shown.chain([("host: ", host, Highlight::Strong)]) {
                let (start, end) = (before.len(), before.len() + text.len());
                let span = Span { start, end, highlight }.framed();
                let style = Style { spans: vec![span], ..style(Class::Body) };
                let line = Line::new(format!("{before}{text}"), &style);
                lines.push(line.with_prefix("  │ ", Highlight::Dim));
            }
            for warning in warnings {
                let style = style(Class::Warning);
                lines.push(Line::new(warning, &style).with_prefix("  ! ", Highlight::Bad));
            }
        }
    }
    let (fill_in, decide) = (form("fill in"), form("decide"));
    let (text, highlight) = match (request.became, &request.about) {
        (ElicitationState::Waiting, Requested::Fields(_)) => (fill_in.as_str(), Highlight::Active),
        (ElicitationState::Waiting, Requested::Url { .. }) => (decide.as_str(), Highlight::Active),
        (ElicitationState::Sent, _) => ("sent", Highlight::Good),
        (ElicitationState::Opened, _) => {
            ("opened: the agent waits for you to finish there", Highlight::Active)
        }
        (ElicitationState::Complete, _) => ("done", Highlight::Good),
        (ElicitationState::Declined, _) => ("declined", Highlight::Bad),
        (ElicitationState::Cancelled, _) => ("cancelled before you answered", Highlight::Dim),
    };
    lines.push(Line::new(text, &style(Class::Note)).with_prefix("  └ ", highlight));
    lines
}

/// Names what opens a form.
fn form(what: &str) -> String {
    let key = keys::now("<CR>").map(|key| format!("{key} {what}"));
    signs::joined(&key.into_iter().chain([":RatForm".to_owned()]).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_truncated_and_an_address_is_not() {
        let url = format!("https://example.com/{}", "x".repeat(MAX_WIDTH));
        let address = |message: String| ElicitationEntry {
            id: 1,
            message,
            about: Requested::Url {
                host: "example.com".into(),
                url: Some(url.clone()),
                warnings: Vec::new(),
            },
            became: ElicitationState::Waiting,
        };
        let drawn = |message: String| lines(&address(message), &Scene::default());
        let short = drawn("why\n".repeat(MAX_OUTPUT_LINES));
        assert!(short.iter().all(|line| !line.unprefixed_text().contains("more lines")));
        let long = drawn("why\n".repeat(MAX_OUTPUT_LINES + 1000));
        assert_eq!(long.len(), short.len() + 1);
        assert!(long.iter().any(|line| line.unprefixed_text() == "… 1000 more lines"));
        assert!(long.iter().any(|line| line.unprefixed_text() == url), "it is shown whole");
        let wide = drawn("x".repeat(60_000));
        assert!(wide[1].unprefixed_text().chars().count() == MAX_WIDTH + 1);
    }

    #[test]
    fn long_field_titles_are_truncated() {
        let about = Requested::Fields(vec!["x".repeat(60_000); MAX_TITLES]);
        let form = ElicitationEntry {
            id: 1,
            message: "?".into(),
            about,
            became: ElicitationState::Waiting,
        };
        let longest = lines(&form, &Scene::default())
            .iter()
            .map(|line| line.unprefixed_text().chars().count())
            .max();
        assert_eq!(longest, Some(MAX_WIDTH + 1));
    }
}
