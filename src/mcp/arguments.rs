//! Decodes the arguments of a call. What is wrong with them is said so that the model can correct it; arguments that are not
//! known are left out, since some agents add their own.

use crate::core::messages::tools::UserTool;
use crate::session::editor_tool::{
    EditorTool, QuickfixItem, Replacement, Severity, SymbolPlace, ToolRequest,
};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// How many lines are read if the model does not say how many.
const LINES: u32 = 2000;
/// How many places a quickfix list may get.
const MAX_ITEMS: usize = 1000;

/// Returns what a call asks for, or what is wrong with it.
pub(super) fn decode(
    name: &str,
    arguments: &Value,
    own: &[UserTool],
) -> Result<ToolRequest, String> {
    if let Some(tool) = own.iter().find(|tool| tool.name == name) {
        return Ok(ToolRequest::Own {
            name: tool.name.clone(),
            input: arguments.to_string(),
            only_reads: tool.only_reads,
        });
    }
    let Some(tool) = EditorTool::named(name) else {
        let names = EditorTool::ALL.map(EditorTool::name).join(", ");
        return Err(format!("there is no tool {name:?}; there are {names}"));
    };
    let empty = Map::new();
    let all = match arguments {
        Value::Object(all) => all,
        Value::Null => &empty,
        _ => return Err("the arguments must be an object".to_owned()),
    };
    let arguments = Arguments { all, within: String::new() };
    Ok(match tool {
        EditorTool::Diagnostics => ToolRequest::Diagnostics {
            file: arguments.path_if_any("file_path")?,
            severity: arguments.severity()?,
            since_last_edit: arguments.is_since_last_edit()?,
        },
        EditorTool::References => ToolRequest::References(arguments.symbol()?),
        EditorTool::Definition => ToolRequest::Definition(arguments.symbol()?),
        EditorTool::Symbols => {
            match (arguments.path_if_any("file_path")?, arguments.text_if_any("query")?) {
                (Some(file), None) => ToolRequest::FileSymbols(file),
                (None, Some(query)) => ToolRequest::ProjectSymbols(query),
                _ => return Err("either file_path or query is needed".to_owned()),
            }
        }
        EditorTool::OpenBuffers => ToolRequest::OpenBuffers,
        EditorTool::ReadBuffer => ToolRequest::ReadBuffer {
            file: arguments.path("file_path")?,
            offset: arguments.number_if_any("offset")?.unwrap_or(1).max(1),
            limit: arguments.number_if_any("limit")?.unwrap_or(LINES).max(1),
        },
        EditorTool::RenameSymbol => {
            ToolRequest::Rename(arguments.symbol()?, arguments.text("new_name")?)
        }
        EditorTool::CodeAction => ToolRequest::CodeAction {
            file: arguments.path("file_path")?,
            line: arguments.number("line")?,
            title: arguments.text_if_any("title")?,
        },
        EditorTool::EditBuffer => {
            let edits = arguments.list("edits")?.ok_or_else(|| arguments.missing("edits"))?;
            let edits: Vec<_> =
                edits.iter().map(Arguments::replacement).collect::<Result<_, _>>()?;
            if edits.is_empty() {
                return Err("edits is empty".to_owned());
            }
            ToolRequest::Edit { file: arguments.path("file_path")?, edits }
        }
        EditorTool::Quickfix => match arguments.list("items")? {
            Some(items) if items.len() > MAX_ITEMS => {
                return Err(format!(
                    "items has {} items, but {MAX_ITEMS} is the limit",
                    items.len()
                ));
            }
            Some(items) => ToolRequest::SetQuickfix(
                items.iter().map(Arguments::quickfix_item).collect::<Result<_, _>>()?,
            ),
            None => ToolRequest::ReadQuickfix,
        },
    })
}

/// An object of arguments.
struct Arguments<'a> {
    all: &'a Map<String, Value>,
    /// Where it is, such as `edits[0].`.
    within: String,
}

impl<'a> Arguments<'a> {
    fn wrong(&self, key: &str, what: &str) -> String {
        format!("{}{key} must be {what}", self.within)
    }

    fn missing(&self, key: &str) -> String {
        format!("{}{key} is missing", self.within)
    }

    fn any(&self, key: &str) -> Option<&'a Value> {
        self.all.get(key).filter(|value| !value.is_null())
    }

    fn text_if_any(&self, key: &str) -> Result<Option<String>, String> {
        match self.any(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    fn text(&self, key: &str) -> Result<String, String> {
        self.text_if_any(key)?.ok_or_else(|| self.missing(key))
    }

    fn path_if_any(&self, key: &str) -> Result<Option<PathBuf>, String> {
        let path = self.text_if_any(key)?.map(PathBuf::from);
        match path {
            Some(path) if path.as_os_str().is_empty() => Err(self.wrong(key, "a path")),
            path => Ok(path),
        }
    }

    fn path(&self, key: &str) -> Result<PathBuf, String> {
        self.path_if_any(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a number also where a model has put it into a string.
    fn number_if_any(&self, key: &str) -> Result<Option<u32>, String> {
        let number = match self.any(key) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.map(Some).ok_or_else(|| self.wrong(key, "a whole number"))
    }

    fn number(&self, key: &str) -> Result<u32, String> {
        self.number_if_any(key)?.ok_or_else(|| self.missing(key))
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.any(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    fn list(&self, key: &str) -> Result<Option<Vec<Arguments<'a>>>, String> {
        let items = match self.any(key) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong(key, "a list")),
        };
        let item = |(at, item): (usize, &'a Value)| match item {
            Value::Object(all) => {
                Ok(Arguments { all, within: format!("{}{key}[{}].", self.within, at) })
            }
            _ => Err(self.wrong(key, "a list of objects")),
        };
        items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    fn symbol(&self) -> Result<SymbolPlace, String> {
        Ok(SymbolPlace {
            file: self.path("file_path")?,
            symbol: self.text("symbol")?,
            line: self.number_if_any("line")?,
        })
    }

    fn severity(&self) -> Result<Severity, String> {
        let Some(word) = self.text_if_any("severity")? else { return Ok(Severity::Warning) };
        let known = Severity::WORDS.into_iter().find(|(known, _)| *known == word);
        let words = Severity::WORDS.map(|(known, _)| known).join(", ");
        known
            .map(|(_, severity)| severity)
            .ok_or_else(|| self.wrong("severity", &format!("one of {words}")))
    }

    fn is_since_last_edit(&self) -> Result<bool, String> {
        match self.text_if_any("since")?.as_deref() {
            None => Ok(false),
            Some("last_edit") => Ok(true),
            Some(_) => Err(self.wrong("since", "last_edit")),
        }
    }

    fn replacement(&self) -> Result<Replacement, String> {
        let (old, new) = (self.text("old_string")?, self.text("new_string")?);
        Ok(Replacement { old, new, all: self.flag("replace_all")? })
    }

    fn quickfix_item(&self) -> Result<QuickfixItem, String> {
        Ok(QuickfixItem {
            file: self.path("file_path")?,
            line: self.number("line")?,
            text: self.text_if_any("text")?.unwrap_or_default(),
        })
    }
}

/// Returns a number that is written as `3.0`.
fn whole(number: f64) -> Option<u64> {
    format!("{number}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(name: &str, arguments: Value) -> String {
        decode(name, &arguments, &[]).expect_err("an error")
    }

    /// Holds (Editor tools): What is wrong with the arguments of a call is said by their names.
    #[test]
    fn what_is_wrong_is_named() {
        let edits = |edits: Value| json!({ "file_path": "/a", "edits": edits });
        for (name, arguments, problem) in [
            ("read_buffer", json!({}), "file_path is missing"),
            ("read_buffer", json!({ "file_path": null }), "file_path is missing"),
            ("read_buffer", json!({ "file_path": 5 }), "file_path must be a string"),
            ("read_buffer", json!({ "file_path": "" }), "file_path must be a path"),
            (
                "read_buffer",
                json!({ "file_path": "/a", "offset": -1 }),
                "offset must be a whole number",
            ),
            (
                "read_buffer",
                json!({ "file_path": "/a", "limit": 1e30 }),
                "limit must be a whole number",
            ),
            ("read_buffer", json!([]), "the arguments must be an object"),
            ("edit_buffer", json!({ "file_path": "/a" }), "edits is missing"),
            ("edit_buffer", edits(json!([])), "edits is empty"),
            ("edit_buffer", edits(json!([7])), "edits must be a list of objects"),
            (
                "edit_buffer",
                edits(json!([{ "old_string": "a", "new_string": "b" }, { "old_string": "a" }])),
                "edits[1].new_string is missing",
            ),
            ("symbols", json!({}), "either file_path or query is needed"),
            (
                "diagnostics",
                json!({ "severity": "bad" }),
                "severity must be one of error, warning, info, hint",
            ),
            ("diagnostics", json!({ "since": "ever" }), "since must be last_edit"),
        ] {
            assert_eq!(wrong(name, arguments), problem);
        }
        assert!(wrong("grep", json!({})).starts_with("there is no tool \"grep\"; there are diag"));
    }

    #[test]
    fn what_models_write_is_taken() {
        let file = || PathBuf::from("/a");
        let arguments = json!({ "file_path": "/a", "offset": "7", "limit": 3.0, "why": "x" });
        assert_eq!(
            decode("read_buffer", &arguments, &[]),
            Ok(ToolRequest::ReadBuffer { file: file(), offset: 7, limit: 3 })
        );
        assert_eq!(
            decode("diagnostics", &Value::Null, &[]),
            Ok(ToolRequest::Diagnostics {
                file: None,
                severity: Severity::Warning,
                since_last_edit: false
            })
        );
    }
}
