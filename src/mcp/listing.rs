//! What agents are told of the tools (MCP `tools/list`). Their models read every word in each session, so these are few.

use crate::core::messages::tools::UserTool;
use crate::session::editor_tool::EditorTool;
use serde_json::{Value, json};

/// What the model is told of all tools together (MCP `instructions`).
pub(super) const INSTRUCTIONS: &str = "Tools of the user's editor, Neovim. They see unsaved text and know what the language \
    servers know: use references, definition and symbols instead of grep, rename_symbol instead of search and replace, and \
    diagnostics to check your edits.";

/// The tools that a model should see from the start, where others are only found by a search.
const ALWAYS_LOADED: [EditorTool; 4] = [
    EditorTool::Diagnostics,
    EditorTool::References,
    EditorTool::ReadBuffer,
    EditorTool::EditBuffer,
];

/// Returns the tools, with those of the user.
pub(super) fn tools(own: &[UserTool]) -> Value {
    let all = EditorTool::ALL.into_iter().map(describe).chain(own.iter().map(describe_own));
    json!({ "tools": all.collect::<Vec<_>>() })
}

fn describe(tool: EditorTool) -> Value {
    let (description, properties, required) = words(tool);
    let mut described = json!({
        "name": tool.name(),
        "description": description,
        "inputSchema": { "type": "object", "properties": properties },
        "annotations": annotations(tool.only_reads()),
    });
    if !required.is_empty() {
        described["inputSchema"]["required"] = json!(required);
    }
    if ALWAYS_LOADED.contains(&tool) {
        described["_meta"] = json!({ "anthropic/alwaysLoad": true });
    }
    described
}

fn describe_own(tool: &UserTool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": serde_json::from_str::<Value>(&tool.input_schema).unwrap_or_default(),
        "annotations": annotations(tool.only_reads),
    })
}

fn annotations(only_reads: bool) -> Value {
    if only_reads {
        json!({ "readOnlyHint": true, "openWorldHint": false })
    } else {
        json!({ "destructiveHint": true })
    }
}

/// Returns the description of a tool, the properties of its arguments, and those that are required.
fn words(tool: EditorTool) -> (&'static str, Value, &'static [&'static str]) {
    let path = || json!({ "type": "string", "description": "absolute path" });
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number = |description: &str| json!({ "type": "integer", "description": description });
    let of_symbol = || {
        json!({
            "file_path": path(),
            "symbol": text("as it stands in the text"),
            "line": number("from 1; if the symbol is ambiguous"),
        })
    };
    match tool {
        EditorTool::Diagnostics => (
            "Errors and warnings of language servers and linters, for a file or for all open files. Sees unsaved text.",
            json!({
                "file_path": path(),
                "severity": { "enum": ["error", "warning", "info", "hint"], "description": "the least severe; default warning" },
                "since": { "enum": ["last_edit"], "description": "only what your last edit has brought" },
            }),
            &[],
        ),
        EditorTool::References => (
            "Find all uses of a symbol. Use it instead of grep: it knows scopes and types.",
            of_symbol(),
            &["file_path", "symbol"],
        ),
        EditorTool::Definition => (
            "Find where a symbol is defined, with its signature and documentation. Use it instead of grep.",
            of_symbol(),
            &["file_path", "symbol"],
        ),
        EditorTool::Symbols => (
            "List the functions, types and variables of a file, or find symbols of the project by name.",
            json!({ "file_path": path(), "query": text("part of a name") }),
            &[],
        ),
        EditorTool::OpenBuffers => (
            "List the files the user has open: which have unsaved changes, which one is current, and what is selected.",
            json!({}),
            &[],
        ),
        EditorTool::ReadBuffer => (
            "Read a file as it is in the editor, with unsaved changes.",
            json!({
                "file_path": path(),
                "offset": number("first line, from 1"),
                "limit": number("number of lines"),
            }),
            &["file_path"],
        ),
        EditorTool::RenameSymbol => {
            let mut properties = of_symbol();
            properties["new_name"] = text("");
            (
                "Rename a symbol in all files and save them. Use it instead of search and replace.",
                properties,
                &["file_path", "symbol", "new_name"],
            )
        }
        EditorTool::CodeAction => (
            "List the fixes and refactorings that the language server offers for a line; with title, apply that one.",
            json!({ "file_path": path(), "line": number("from 1"), "title": text("of the one to apply") }),
            &["file_path", "line"],
        ),
        EditorTool::EditBuffer => (
            "Replace text in a file through the editor, merged with what the user is typing. Answers with the errors it has caused.",
            json!({
                "file_path": path(),
                "edits": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "old_string": text("exact text, unique unless replace_all"),
                        "new_string": text(""),
                        "replace_all": { "type": "boolean" },
                    },
                    "required": ["old_string", "new_string"],
                } },
            }),
            &["file_path", "edits"],
        ),
        EditorTool::Quickfix => (
            "Read the user's quickfix list; with items, show them places to visit in a new one.",
            json!({ "items": { "type": "array", "items": {
                "type": "object",
                "properties": { "file_path": path(), "line": number("from 1"), "text": text("") },
                "required": ["file_path", "line"],
            } } }),
            &[],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds (Editor tools): The list of the editor's tools has at most 5 KB.
    #[test]
    fn the_list_is_short() {
        let listed = tools(&[]).to_string();
        assert!(listed.len() <= 5000, "{} bytes", listed.len());
        for tool in EditorTool::ALL {
            let described = describe(tool);
            assert_eq!(described["annotations"]["readOnlyHint"] == true, tool.only_reads());
        }
    }
}
