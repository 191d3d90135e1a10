//! How a change to a file looks: added and deleted lines with some lines around them.

use super::content;
use super::line::{Class, Line, Look, Style};
use super::scene::Scene;
use crate::session::tool_call::Diff;
use similar::{ChangeTag, TextDiff};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Characters of a line that are shown: what is changed in code has room, what no eye reads has not.
const WIDTH: usize = 2000;

/// The lines of one diff: the file's name, then its changes. At most `limit` lines of changes; the second value is
/// how many were left out.
pub fn lines(diff: &Diff, scene: &Scene, limit: usize) -> (Vec<Line>, usize) {
    let old = diff.old.as_deref().unwrap_or_default();
    let changes = TextDiff::from_lines(old, &diff.new);
    let groups = changes.grouped_ops(CONTEXT);
    let first = groups.first().and_then(|group| group.first());
    let line = first.and_then(|op| u32::try_from(op.new_range().start + 1).ok());
    let mut out = vec![head(diff, scene, line)];
    let (mut shown, mut hidden) = (0, 0);
    for (number, group) in groups.iter().enumerate() {
        if number > 0 && shown < limit {
            out.push(Line::of(Class::Body, "").with_prefix("  │ ⋯", Look::Dim));
        }
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            if shown == limit {
                hidden += 1;
                continue;
            }
            shown += 1;
            let (class, sign, look) = match change.tag() {
                ChangeTag::Equal => (Class::Body, "  │   ", Look::Dim),
                ChangeTag::Insert => (Class::Added, "  │ + ", Look::Good),
                ChangeTag::Delete => (Class::Deleted, "  │ - ", Look::Bad),
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            out.push(Line::of(class, content::clipped(text, WIDTH)).with_prefix(sign, look));
        }
    }
    (out, hidden)
}

fn head(diff: &Diff, scene: &Scene, line: Option<u32>) -> Line {
    let path = scene.shorten(&diff.path);
    let new = if diff.old.is_none() { " (new file)" } else { "" };
    // A fragment's line numbers are its own: only a whole file says where its first change is.
    let line = line.filter(|_| diff.old.is_some());
    let style = Style { action: scene.go_to(&diff.path, line), ..Style::new(Class::DiffHead) };
    Line::new(format!("{path}{new}"), &style).with_prefix("  │ ", Look::Dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_nobody_reads_is_cut_and_one_of_code_is_not() {
        let code = "é".repeat(WIDTH);
        let diff = Diff { path: "/a".into(), old: None, new: format!("{code}\n{code}+\n") };
        let (lines, hidden) = lines(&diff, &Scene::default(), 10);
        assert_eq!((lines[1].text.clone(), hidden), (code.clone(), 0));
        assert_eq!(lines[2].text, code + "…");
    }
}
