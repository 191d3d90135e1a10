//! Renders a diff of a tool call: added and deleted lines with some context.

use super::content;
use super::line::{Class, Highlight, Line, Style};
use super::scene::Scene;
use crate::session::tool_call::Diff;
use similar::{ChangeTag, TextDiff};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// The maximum number of characters of a line: enough for code, but not for minified or binary
/// data.
const MAX_WIDTH: usize = 2000;

/// Renders a diff: the name of the file, then up to `limit` lines of changes. Also returns the
/// number of lines omitted.
pub fn lines(diff: &Diff, scene: &Scene, limit: usize) -> (Vec<Line>, usize) {
    let old = diff.old.as_deref().unwrap_or_default();
    let changes = TextDiff::from_lines(old, &diff.new);
    let groups = changes.grouped_ops(CONTEXT);
    let mut out = vec![head(diff, scene)];
    let (mut shown, mut hidden) = (0, 0);
    for (number, group) in groups.iter().enumerate() {
        if number > 0 && shown < limit {
            out.push(Line::of(Class::Body, "").with_prefix("  │ ⋯", Highlight::Dim));
        }
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            if shown == limit {
                hidden += 1;
                continue;
            }
            shown += 1;
            let (class, prefix, highlight) = match change.tag() {
                ChangeTag::Equal => (Class::Body, "  │   ", Highlight::Dim),
                ChangeTag::Insert => (Class::Added, "  │ + ", Highlight::Good),
                ChangeTag::Delete => (Class::Deleted, "  │ - ", Highlight::Bad),
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            let style = Style { action: scene.open(&diff.path, None), ..Style::new(class) };
            let line = Line::new(content::truncate(text, MAX_WIDTH), &style);
            out.push(line.with_prefix(prefix, highlight));
        }
    }
    (out, hidden)
}

fn head(diff: &Diff, scene: &Scene) -> Line {
    let path = scene.shorten(&diff.path);
    let new = if diff.old.is_none() { " (new file)" } else { "" };
    // The line number is unknown, since `old` may be only a fragment of the file.
    let style = Style { action: scene.open(&diff.path, None), ..Style::new(Class::DiffHead) };
    Line::new(format!("{path}{new}"), &style).with_prefix("  │ ", Highlight::Dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_longer_than_code_are_truncated() {
        let code = "é".repeat(MAX_WIDTH);
        let diff = Diff { path: "/a".into(), old: None, new: format!("{code}\n{code}+\n") };
        let (lines, hidden) = lines(&diff, &Scene::default(), 10);
        assert_eq!((lines[1].unprefixed_text(), hidden), (code.as_str(), 0));
        assert_eq!(lines[2].unprefixed_text(), code + "…");
    }
}
