//! What a permission request showed at the moment when it was allowed. An answer holds for that alone: an agent can change the
//! tool call afterwards.

use super::paths::plain_path;
use super::tool_call::{Diff, ToolCall, ToolKind};
use std::path::{Path, PathBuf};

/// The parts of a tool call that an answer holds for. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    kind: ToolKind,
    /// The one that stands on the card, not another reading of it.
    command: Option<String>,
    /// The folders that it runs in.
    cwds: Vec<PathBuf>,
    /// The files that it names, without `..`, each with the real path that it had, if that is known.
    files: Vec<(PathBuf, Option<PathBuf>)>,
    diffs: Vec<Diff>,
}

impl Shown {
    /// Returns what a call shows. Relative paths are in `cwd`; `real` has the real paths of the files it names, in order, or
    /// nothing.
    pub fn of(call: &ToolCall, cwd: &Path, real: &[PathBuf]) -> Self {
        let whole = |path: &Path| plain_path(&cwd.join(path));
        let input = call.input.as_ref();
        let cwds: Vec<_> =
            input.iter().flat_map(|input| input.cwds()).map(|it| whole(Path::new(it))).collect();
        let diffs = call.diffs().map(|diff| Diff { path: whole(&diff.path), ..diff.clone() });
        let files: Vec<_> = call.paths().map(whole).collect();
        let real = |at| (real.len() == files.len()).then(|| real.get(at).cloned()).flatten();
        Self {
            kind: call.kind,
            command: input.and_then(|input| input.command.clone()),
            cwds: if cwds.is_empty() { vec![plain_path(cwd)] } else { cwds },
            diffs: diffs.collect(),
            files: files.iter().enumerate().map(|(at, file)| (file.clone(), real(at))).collect(),
        }
    }

    /// Whether it was this command, in this folder.
    pub fn has_command(&self, line: &str, cwd: &Path) -> bool {
        let cwd = plain_path(cwd);
        self.command.as_deref() == Some(line) && self.cwds.iter().all(|it| *it == cwd)
    }

    /// Whether it named this file, which leads to `real`.
    pub fn names(&self, path: &Path, real: &Path) -> bool {
        let path = plain_path(path);
        let leads_there =
            |known: &Option<PathBuf>| known.as_ref().is_none_or(|known| known == real);
        self.files.iter().any(|(file, known)| *file == path && leads_there(known))
    }

    /// Whether it was a change of this file, which leads to `real`, to this text. One that showed no texts at all was a change
    /// to any.
    pub fn has_write(&self, path: &Path, real: &Path, content: &str) -> bool {
        if self.diffs.is_empty() {
            return self.kind == ToolKind::Edit && self.names(path, real);
        }
        let path = plain_path(path);
        self.names(&path, real) && self.old_text(&path, content).is_some()
    }

    /// Returns the text that `content` was shown to replace in this file, `Some(None)` for a new file. `None` if that was not
    /// shown.
    pub fn old_text(&self, path: &Path, content: &str) -> Option<Option<&str>> {
        let path = plain_path(path);
        let found = self.diffs.iter().find(|diff| diff.path == path && diff.new == content)?;
        Some(found.old.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::{Location, ToolCallPatch, ToolContent, ToolInput};

    fn call(kind: ToolKind, locations: &[&str], diffs: &[(&str, &str)], command: &str) -> ToolCall {
        let mut call = ToolCall::new("c".into());
        let diff = |(path, new): &(&str, &str)| {
            ToolContent::Diff(Diff { path: path.into(), old: None, new: (*new).to_owned() })
        };
        let location = |path: &&str| Location { path: path.into(), line: None };
        let command = (!command.is_empty()).then(|| command.to_owned());
        call.apply(ToolCallPatch {
            kind: Some(kind),
            locations: Some(locations.iter().map(location).collect()),
            content: Some(diffs.iter().map(diff).collect()),
            input: Some(ToolInput { command, ..ToolInput::default() }),
            ..ToolCallPatch::default()
        });
        call
    }

    /// Holds (Permission requests): An answer holds for the command, the files and the texts that were shown, whatever the call becomes.
    #[test]
    fn an_answer_holds_for_what_was_shown() {
        let (p, b) = (Path::new("/p"), Path::new("/p/b.txt"));
        let of = |call: &ToolCall, real: &[&str]| {
            Shown::of(call, p, &real.iter().map(PathBuf::from).collect::<Vec<_>>())
        };
        let ls = of(&call(ToolKind::Execute, &[], &[], "ls"), &[]);
        assert!(ls.has_command("ls", p) && ls.has_command("ls", Path::new("/p/x/..")));
        assert!(!ls.has_command("touch X", p) && !ls.has_command("ls", Path::new("/q")));
        let read = of(&call(ToolKind::Read, &["b.txt"], &[], ""), &["/p/b.txt"]);
        assert!(read.names(b, b) && !read.names(b, Path::new("/secret")));
        assert!(!read.has_write(b, b, "x"), "reading was allowed");
        let edit = of(&call(ToolKind::Edit, &["/p/b.txt"], &[("/p/src/../b.txt", "x")], ""), &[]);
        assert!(edit.has_write(b, b, "x") && !edit.has_write(b, b, "y"));
        let link = of(
            &call(ToolKind::Edit, &["/p/b.txt"], &[("/p/link", "x")], ""),
            &["/p/b.txt", "/p/b.txt"],
        );
        assert!(!link.has_write(b, b, "y"), "a text was shown, though by another name");
        assert!(link.has_write(Path::new("/p/link"), b, "x"));
        let any = of(&call(ToolKind::Edit, &["/p/b.txt"], &[], ""), &[]);
        assert!(any.has_write(b, b, "anything") && any.old_text(b, "anything").is_none());
        let gone = of(&call(ToolKind::Delete, &["/p/b.txt"], &[], ""), &[]);
        assert!(!gone.has_write(b, b, "anything"), "its deletion was allowed");
    }
}
