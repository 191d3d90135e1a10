//! Content that is no text as rows: what it is, and how a resource's text begins. Nothing of it is opened here.

use super::line::{Action, Class, Line, Look, Style};
use crate::session::content::{Content, ContentId};

/// Lines of a resource's text that are shown.
const ROWS: usize = 8;
/// Characters of a line that are shown.
pub(super) const WIDTH: usize = 400;

/// The rows of content that is no text; `<CR>` on each offers what can be done with it.
pub(super) fn rows(content: &Content, id: ContentId, prefix: &str, class: Class) -> Vec<Line> {
    let style = |class| Style { action: Some(Action::Content(id.clone())), ..Style::new(class) };
    let words = content.words();
    if let Content::Unknown { .. } = content {
        return vec![Line::of(class, words).with_prefix(prefix, Look::Dim)];
    }
    let title = Line::new(format!("{words} · <CR>"), &style(class)).with_prefix(prefix, Look::Dim);
    let mut rows = vec![title];
    if let Content::Resource { text, .. } = content {
        let mut lines = text.lines();
        let shown =
            lines.by_ref().take(ROWS).map(|line| Line::of(Class::Body, clipped(line, WIDTH)));
        rows.extend(shown.map(|line| line.with_prefix("  │ ", Look::Dim)));
        let hidden = lines.count();
        if hidden > 0 {
            let text = format!("… {hidden} more lines · <CR> shows all");
            let line = Line::new(text, &style(Class::Note));
            rows.push(line.with_prefix("  │ ", Look::Dim));
        }
    }
    rows
}

/// A line with no more than so many characters.
pub(super) fn clipped(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::content::About;

    #[test]
    fn a_long_resource_is_cut_in_both_directions() {
        let text = format!("{}\n", "x".repeat(1000)).repeat(10);
        let (uri, about) = ("file:///a".to_owned(), About::default());
        let resource = Content::Resource { uri, mime: None, text, about };
        let rows = rows(&resource, ContentId::Message(3, 1), "+ ", Class::Note);
        assert_eq!(rows.len(), 1 + ROWS + 1);
        assert_eq!(rows[0].text, "resource · file:///a · 9 KiB · <CR>");
        assert_eq!(rows[1].text.chars().count(), WIDTH + 1);
        assert_eq!(rows[9].text, "… 2 more lines · <CR> shows all");
        assert_eq!(rows[9].look, "n||Cm1:3|");
    }
}
