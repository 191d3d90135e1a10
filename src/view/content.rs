//! Renders content other than text: a summary, and the first lines of an embedded text resource.

use super::line::{Action, Class, Highlight, Line, Style};
use crate::session::content::{Content, ContentId};
use crate::session::keys;
use crate::session::signs::ELLIPSIS;

/// The maximum number of lines of a resource's text.
const MAX_ROWS: usize = 8;
/// The maximum number of characters of a line.
pub(super) const MAX_WIDTH: usize = 400;

/// Renders content other than text. `<CR>` on the first and last row offers what can be done with
/// it.
pub(super) fn rows(content: &Content, id: ContentId, prefix: &str, class: Class) -> Vec<Line> {
    let style = |class| Style { action: Some(Action::Content(id.clone())), ..Style::new(class) };
    let summary = content.summary();
    if let Content::Unknown { .. } = content {
        return vec![Line::of(class, summary).with_prefix(prefix, Highlight::Dim)];
    }
    let title = Line::new(keys::after(&summary, "<CR>", ""), &style(class));
    let mut rows = vec![title.with_prefix(prefix, Highlight::Dim)];
    if let Content::Resource { text, .. } = content {
        let mut lines = text.lines();
        let shown = lines
            .by_ref()
            .take(MAX_ROWS)
            .map(|line| Line::of(Class::Body, truncate(line, MAX_WIDTH)));
        rows.extend(shown.map(|line| line.with_prefix("  │ ", Highlight::Dim)));
        let hidden = lines.count();
        if hidden > 0 {
            let text = keys::after(&format!("{ELLIPSIS} {hidden} more lines"), "<CR>", "shows all");
            let line = Line::new(text, &style(Class::Note));
            rows.push(line.with_prefix("  │ ", Highlight::Dim));
        }
    }
    rows
}

/// Truncates a line to `most` characters, plus an ellipsis.
pub(super) fn truncate(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}{ELLIPSIS}", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::About;

    #[test]
    fn the_rows_and_width_of_a_resource_are_limited() {
        let text = format!("{}\n", "x".repeat(1000)).repeat(10);
        let (uri, about) = ("file:///a".to_owned(), About::default());
        let resource = Content::Resource { uri, mime: None, text, about };
        let rows = rows(&resource, ContentId::Message(3, 1), "+ ", Class::Note);
        assert_eq!(rows.len(), 1 + MAX_ROWS + 1);
        assert_eq!(rows[0].unprefixed_text(), "resource · file:///a · 9 KiB · <CR>");
        assert_eq!(rows[1].unprefixed_text().chars().count(), MAX_WIDTH + 1);
        assert_eq!(rows[9].unprefixed_text(), "… 2 more lines · <CR> shows all");
        assert_eq!(rows[9].format, "n||Cm1:3|");
    }
}
