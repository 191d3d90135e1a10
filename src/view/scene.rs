//! [`Scene`], the context of rendering: the directory to which paths are relative, and the agent's
//! name.

use super::line::Action;
use crate::session::label;
use crate::session::tool_call::{ToolCall, ToolKind};
use std::path::{Path, PathBuf};

/// The context of rendering.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scene {
    /// Paths below this directory are shown relative to it.
    pub cwd: PathBuf,
    /// The agent's name.
    pub agent: String,
}

impl Scene {
    /// Returns a path for display, relative to the directory if it is below it.
    pub fn shorten(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Returns the action that opens a path; `None` if the path has misleading characters.
    pub(super) fn open(&self, path: &Path, line: Option<u32>) -> Option<Action> {
        let path = self.cwd.join(path).to_string_lossy().into_owned();
        label::is_plain(&path).then_some(Action::Location { path, line })
    }

    /// Returns the first line of a call's title, with paths below the directory shortened. A
    /// command is shown as it would run.
    pub fn title(&self, call: &ToolCall) -> String {
        let title = title(call).lines().next().unwrap_or_default();
        let runs = call.input.as_ref().is_some_and(|input| input.command.is_some());
        if runs || matches!(call.kind, ToolKind::Execute | ToolKind::Other) {
            return title.to_owned();
        }
        let root = format!("{}/", self.cwd.display());
        // Some agents omit the first slash of a path.
        let title = title.strip_prefix(root.trim_start_matches('/')).unwrap_or(title);
        without_root(title, &root)
    }
}

/// Returns the title of a call, else the tool's name.
pub fn title(call: &ToolCall) -> &str {
    let title = call.title.trim();
    match (&call.name, title.is_empty()) {
        (_, false) => title,
        (Some(name), true) => name,
        (None, true) => "tool call",
    }
}

/// Removes `root` from the paths in a text, where it starts a word and something follows it.
fn without_root(text: &str, root: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(root).filter(|_| root.len() > 1) {
        let (before, found) = rest.split_at(at);
        let (found, after) = found.split_at(root.len());
        out.push_str(before);
        let starts_word = out.chars().next_back().is_none_or(is_delimiter);
        let continues = after.chars().next().is_some_and(|next| next != '/' && !is_delimiter(next));
        if !(starts_word && continues) {
            out.push_str(found);
        }
        rest = after;
    }
    out + rest
}

/// Whether a path in a text ends before this character.
fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_directory_are_shortened() {
        let scene = Scene { cwd: "/proj".into(), agent: String::new() };
        let shown = |title: &str, kind| {
            let call = ToolCall { title: title.into(), kind, ..ToolCall::new("t".into()) };
            scene.title(&call)
        };
        assert_eq!(shown("Read /proj/src/a.rs", ToolKind::Read), "Read src/a.rs");
        assert_eq!(shown("Edit `/proj/a` and '/proj/b'", ToolKind::Edit), "Edit `a` and 'b'");
        assert_eq!(shown("proj/src/a.rs", ToolKind::Edit), "src/a.rs");
        for (title, kind) in [
            ("rm -rf /proj/", ToolKind::Execute),
            ("rm -rf /proj/src", ToolKind::Execute),
            ("Delete /proj/", ToolKind::Delete),
            ("Delete /proj/ and more", ToolKind::Delete),
            ("Move /backup/proj/data", ToolKind::Move),
            ("Read /proj//etc/passwd", ToolKind::Read),
            ("Call /proj/tool", ToolKind::Other),
        ] {
            assert_eq!(shown(title, kind), title);
        }
    }

    #[test]
    fn paths_with_misleading_characters_cannot_be_opened() {
        let scene = Scene { cwd: "/proj".into(), agent: String::new() };
        let path = |path: &str| match scene.open(Path::new(path), None) {
            Some(Action::Location { path, .. }) => Some(path),
            _ => None,
        };
        assert_eq!(path("/a").as_deref(), Some("/a"));
        assert_eq!(path("src/a").as_deref(), Some("/proj/src/a"));
        assert_eq!(path("term://sh").as_deref(), Some("/proj/term://sh"));
        for hostile in ["/a\u{202e}b", "/a\nb", "/a\0", "/a\u{1b}[31m"] {
            assert_eq!(path(hostile), None, "{hostile:?}");
        }
    }
}
