//! Decodes tool calls (ACP version 2, tool calls): upserts with fields of three states, and changes to files as patches.

use crate::acp::fields::{Fields, cut, first};
use crate::acp::quirks;
use crate::acp::tool_data;
use crate::acp::unified;
use crate::acp::v1::tool::{self, MAX_TITLE_BYTES};
use crate::session::content::Content;
use crate::session::tool_call::{Diff, FileChange, MAX_ITEMS, ToolCallPatch, ToolContent};
use crate::session::update::Patch;
use serde_json::Value;
use std::path::PathBuf;

/// Decodes an upsert. Fields that are absent or invalid leave the tool call unchanged, `null` resets them.
pub(super) fn patch(fields: &mut Fields) -> ToolCallPatch {
    let content = list(fields, "content");
    let content = content.map(|all| first(all.into_iter().flat_map(items), MAX_ITEMS));
    let locations = list(fields, "locations").map(|all| {
        let locations = all.into_iter().filter_map(Fields::of).filter_map(tool::location);
        first(locations, MAX_ITEMS)
    });
    let omitted = tool::omitted(content.as_ref(), locations.as_ref());
    let mut patch = ToolCallPatch {
        title: or_default(fields.patch("title")).map(|title| cut(title, MAX_TITLE_BYTES)),
        name: or_default(fields.patch("name")),
        kind: or_default(mapped(fields.patch("kind"), |kind| Some(tool::tool_kind(&kind)))),
        status: or_default(mapped(fields.patch("status"), |status| tool::tool_status(&status))),
        content: content.map(|(items, _)| items),
        locations: locations.map(|(locations, _)| locations),
        omitted,
        input: fields.any("rawInput").and_then(tool_data::input),
        output: match fields.any_or_null("rawOutput") {
            Some(Value::Null) => Some(String::new()),
            output => output.as_ref().and_then(tool_data::output),
        },
        by_subagent: false,
        announces: false,
        terminals: Vec::new(),
    };
    quirks::normalize_tool_call(&mut patch);
    patch
}

/// Converts what sets a field; what cannot be converted leaves it unchanged.
fn mapped<T, U>(patch: Patch<T>, convert: impl FnOnce(T) -> Option<U>) -> Patch<U> {
    match patch {
        Patch::Unchanged => Patch::Unchanged,
        Patch::Clear => Patch::Clear,
        Patch::Set(value) => convert(value).map_or(Patch::Unchanged, Patch::Set),
    }
}

/// Returns the new value of a field that starts with its default.
fn or_default<T: Default>(patch: Patch<T>) -> Option<T> {
    match patch {
        Patch::Unchanged => None,
        Patch::Clear => Some(T::default()),
        Patch::Set(value) => Some(value),
    }
}

/// Takes a list that `null` empties.
fn list(fields: &mut Fields, key: &str) -> Option<Vec<Value>> {
    match fields.any_or_null(key)? {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// Decodes an item of content. A diff becomes an item for each hunk, and one for each change that has no text.
pub(super) fn items(value: Value) -> Vec<ToolContent> {
    let Some(mut fields) = Fields::of(value) else {
        return vec![ToolContent::Unknown { kind: String::new() }];
    };
    let kind = fields.text("type").unwrap_or_default();
    if kind == "diff" { diff(fields) } else { vec![tool::item_of_kind(kind, fields)] }
}

fn diff(mut fields: Fields) -> Vec<ToolContent> {
    let Some(changes) = fields.objects("changes") else {
        // An agent may still send a diff as in version 1.
        return vec![tool::item_of_kind("diff".to_owned(), fields)];
    };
    let mut whole = fields.object("patch").unwrap_or_default();
    let (format, text) = (whole.text("format"), whole.text("text").unwrap_or_default());
    let is_git = format.is_none_or(|format| format == "git_patch");
    let mut files = if is_git { unified::files(&text) } else { Vec::new() };
    let mut found = Vec::new();
    for mut change in changes {
        let Some(path) = change.text("path").map(PathBuf::from) else { continue };
        let operation = change.text("operation").unwrap_or_default();
        let from = change.text("oldPath").map(PathBuf::from);
        let at = files.iter().position(|file| file.path == path);
        let hunks = at.map(|at| files.remove(at).hunks).unwrap_or_default();
        if hunks.is_empty() || from.is_some() {
            let done = word(&operation).to_owned();
            found.push(ToolContent::Change(FileChange { done, path: path.clone(), from }));
        }
        let is_new = operation == "add";
        found.extend(hunks.into_iter().map(|unified::Hunk { old, new }| {
            let old = (!is_new).then_some(old);
            ToolContent::Diff(Diff { path: path.clone(), old, new })
        }));
    }
    for unified::FilePatch { path, hunks } in files {
        found.extend(hunks.into_iter().map(|unified::Hunk { old, new }| {
            ToolContent::Diff(Diff { path: path.clone(), old: Some(old), new })
        }));
    }
    if !is_git && !text.is_empty() {
        found.push(ToolContent::Content(Content::Text(text)));
    }
    found
}

/// Returns what was done to a file.
fn word(operation: &str) -> &str {
    match operation {
        "add" => "added",
        "delete" => "deleted",
        "move" => "moved",
        "copy" => "copied",
        "modify" | "" => "changed",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::{ToolKind, ToolStatus};
    use serde_json::json;

    fn patch_of(fields: Value) -> ToolCallPatch {
        patch(&mut Fields::of(fields).unwrap())
    }

    #[test]
    fn null_resets_a_field_and_what_is_absent_leaves_it() {
        let reset = json!({"title": null, "name": null, "kind": null, "status": null,
            "content": null, "locations": null, "rawOutput": null});
        let ToolCallPatch { title, name, kind, status, content, locations, output, .. } =
            patch_of(reset);
        assert_eq!((title.as_deref(), name.as_deref()), (Some(""), Some("")));
        assert_eq!((kind, status), (Some(ToolKind::Other), Some(ToolStatus::Pending)));
        assert_eq!((content, locations, output.as_deref()), (Some(vec![]), Some(vec![]), Some("")));
        assert_eq!(patch_of(json!({})), ToolCallPatch::default());
        assert_eq!(patch_of(json!({"status": "paused"})).status, Some(ToolStatus::Pending));
        assert_eq!(patch_of(json!({"status": "new", "content": 5})), ToolCallPatch::default());
    }

    #[test]
    fn a_diff_shows_its_hunks_and_the_changes_without_text() {
        let text = "diff --git /p/a /p/a\n--- /dev/null\n+++ /p/a\n@@ -0,0 +1 @@\n+x\n\
            diff --git /p/old /p/new\n--- /p/old\n+++ /p/new\n@@ -1 +1 @@\n-y\n+z\n";
        let changes = json!([
            {"operation": "add", "path": "/p/a"},
            {"operation": "move", "oldPath": "/p/old", "path": "/p/new"},
            {"operation": "delete", "path": "/p/gone", "fileType": "binary"},
            {"operation": "_chmod", "path": "/p/run"},
            {"operation": "add"},
        ]);
        let text = json!({"format": "git_patch", "text": text});
        let found = items(json!({"type": "diff", "changes": changes, "patch": text}));
        let change = |done: &str, path: &str, from: Option<&str>| {
            let (done, path, from) = (done.to_owned(), path.into(), from.map(Into::into));
            ToolContent::Change(FileChange { done, path, from })
        };
        let diff = |path: &str, old: Option<&str>, new: &str| {
            let (path, old, new) = (path.into(), old.map(Into::into), new.to_owned());
            ToolContent::Diff(Diff { path, old, new })
        };
        let expected = [
            diff("/p/a", None, "x\n"),
            change("moved", "/p/new", Some("/p/old")),
            diff("/p/new", Some("y\n"), "z\n"),
            change("deleted", "/p/gone", None),
            change("_chmod", "/p/run", None),
        ];
        assert_eq!(found, expected);
    }
}
