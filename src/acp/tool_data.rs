//! Decodes the input and the output of tool calls, whose shape no protocol defines.

use super::fields::{cut, texts};
use crate::jsonrpc::printed::indented;
use crate::session::terminal::request::{quote, runs_line};
use crate::session::tool_call::{ToolInput, ToolQuestion};
use serde_json::Value;

/// The maximum size of a field in `ToolInput::fields`, in bytes. `ToolInput::json` has it in full.
const MAX_FIELD_BYTES: usize = 16 * 1024;
/// The maximum size of a command in `ToolInput::command`, in bytes: more than any that rules can allow.
const MAX_COMMAND_BYTES: usize = 256 * 1024;
/// The maximum number of fields in `ToolInput::fields`.
const MAX_FIELDS: usize = 64;
/// The maximum number of questions, and of the options of one.
const MAX_QUESTIONS: usize = 20;

/// Decodes the input of a tool. An empty object counts as absent, since agents announce a call before its input is known.
pub(super) fn input(value: Value) -> Option<ToolInput> {
    if value.as_object().is_some_and(serde_json::Map::is_empty) {
        return None;
    }
    let json = indented(&value);
    let Value::Object(map) = value else {
        return Some(ToolInput {
            fields: vec![(String::new(), as_text(value))],
            json,
            ..ToolInput::default()
        });
    };
    let questions = map.get("questions").map(questions).unwrap_or_default();
    let mut input = ToolInput { questions, json, ..ToolInput::default() };
    let args = map.get("args").cloned();
    for (name, value) in map {
        match name.as_str() {
            "command" | "cmd" if input.command.is_none() => {
                let line = command_line(value.clone(), args.as_ref());
                input.command = line.map(|line| cut(line, MAX_COMMAND_BYTES));
                if input.command.is_some() {
                    continue;
                }
            }
            "args" if args.as_ref().is_some_and(Value::is_array) => continue,
            "cwd" | "workdir" | "working_directory" if input.cwd.is_none() && value.is_string() => {
                input.cwd = Some(as_text(value));
                continue;
            }
            _ => {}
        }
        match meaning(&name) {
            Some(Meaning::Command) => {
                let lines = other_lines(&value, args.as_ref()).into_iter();
                let room = MAX_FIELDS.saturating_sub(input.other_commands.len());
                let lines = lines.map(|line| cut(line, MAX_COMMAND_BYTES)).take(room);
                input.other_commands.extend(lines);
            }
            Some(Meaning::Directory)
                if value.is_string() && input.other_cwds.len() < MAX_FIELDS =>
            {
                input.other_cwds.push(as_text(value.clone()));
            }
            _ => {}
        }
        if !value.is_null() && input.fields.len() < MAX_FIELDS {
            input.fields.push((name, as_text(value)));
        }
    }
    // Without a command, `args` is a field like any other.
    if let Some(args) = args.filter(|args| input.command.is_none() && args.is_array()) {
        input.fields.push(("args".to_owned(), as_text(args)));
    }
    Some(input)
}

/// Decodes the questions of a tool that asks the user, as those of OpenCode and Claude are: `question`, and `options` with a
/// `label` and a `description`.
fn questions(value: &Value) -> Vec<ToolQuestion> {
    let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let option = |value: &Value| {
        let label = value.as_str().map(str::to_owned).or_else(|| text(value, "label"))?;
        let description = text(value, "description").filter(|it| !it.is_empty() && *it != label);
        let whole =
            description.map_or(label.clone(), |description| format!("{label}: {description}"));
        Some(cut(whole, MAX_FIELD_BYTES))
    };
    let question = |value: &Value| {
        let asked = value.as_str().map(str::to_owned).or_else(|| text(value, "question"))?;
        let options = value.get("options").and_then(Value::as_array).into_iter().flatten();
        let options = options.filter_map(option).take(MAX_QUESTIONS).collect();
        Some(ToolQuestion { text: cut(asked, MAX_FIELD_BYTES), options })
    };
    let all = value.as_array().into_iter().flatten();
    all.filter_map(question).take(MAX_QUESTIONS).collect()
}

/// A use that some agents make of a field, by its name.
enum Meaning {
    Command,
    Directory,
}

fn meaning(name: &str) -> Option<Meaning> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "command" | "cmd" | "commands" | "commandline" | "cmdline" | "shellcommand" | "script" => {
            Some(Meaning::Command)
        }
        "cwd" | "workdir" | "workingdir" | "workingdirectory" | "directory" | "dirpath" => {
            Some(Meaning::Directory)
        }
        _ => None,
    }
}

/// Returns the command lines that a field may stand for: a list may be words, or lines.
fn other_lines(value: &Value, args: Option<&Value>) -> Vec<String> {
    let items = value.as_array().cloned().map(texts).unwrap_or_default();
    // An object says in a way of its own what runs.
    let odd = value.is_object().then(|| value.to_string());
    command_line(value.clone(), args)
        .into_iter()
        .chain(odd)
        .chain(items.into_iter().filter(|line| line.contains(' ')))
        .collect()
}

/// Returns a value as text, cut at `MAX_FIELD_BYTES`.
fn as_text(value: Value) -> String {
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    cut(text, MAX_FIELD_BYTES)
}

/// Formats a command as a shell would read it. It may be a line or a program, a list of words, or `[shell, "-c", line]`;
/// `args` follow it.
fn command_line(value: Value, args: Option<&Value>) -> Option<String> {
    let args = args.and_then(Value::as_array).cloned().map(texts).unwrap_or_default();
    let words = match value {
        Value::String(line) if args.is_empty() => return Some(line),
        Value::String(line) => {
            let args = args.iter().map(|word| quote(word));
            return Some(std::iter::once(line).chain(args).collect::<Vec<_>>().join(" "));
        }
        Value::Array(items) => items.into_iter().map(as_text).chain(args).collect::<Vec<_>>(),
        _ => return None,
    };
    match words.as_slice() {
        [] => None,
        [shell, flag, line] if runs_line(shell, flag) => Some(line.clone()),
        words => Some(words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")),
    }
}

/// Decodes the output of a tool: a string, which may be wrapped in an object, or else the JSON. `None` for an empty object.
pub(super) fn output(value: &Value) -> Option<String> {
    let wrapped = |key| value.get(key).and_then(Value::as_str);
    if let Some(text) = value.as_str().or_else(|| wrapped("output")).or_else(|| wrapped("error")) {
        return Some(text.to_owned());
    }
    let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
    (!empty).then(|| indented(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Holds (Permission requests): Every field that may be the command, or its folder, is decided on, whatever it is called.
    #[test]
    fn each_field_that_may_be_the_command_counts() {
        let read = |value| input(value).unwrap();
        let both =
            read(json!({"command": "ls", "cmd": "rm x", "directory": "/a", "dir_path": "b"}));
        assert_eq!(both.commands().collect::<Vec<_>>(), ["ls", "rm x"]);
        assert_eq!(both.cwds().collect::<Vec<_>>(), ["/a", "b"]);
        assert!(
            both.fields.iter().any(|(name, text)| name == "cmd" && text == "rm x"),
            "it is shown"
        );
        let turned = read(json!({"cmd": "ls", "command": "rm x", "cwd": "/a", "workdir": "/b"}));
        assert_eq!(turned.commands().collect::<Vec<_>>(), ["ls", "rm x"]);
        assert_eq!(turned.cwds().collect::<Vec<_>>(), ["/a", "/b"]);
        let list = read(json!({"commands": ["ls", "rm x"], "Shell-Command": "make"}));
        assert_eq!(list.commands().collect::<Vec<_>>(), ["ls 'rm x'", "rm x", "make"]);
        assert_eq!(read(json!({"path": "a", "pattern": "rm"})).commands().count(), 0);
    }

    #[test]
    fn questions_are_read_as_far_as_they_make_sense() {
        let read = |value| input(json!({"questions": value})).unwrap().questions;
        let of = |text: &str, options: &[&str]| ToolQuestion {
            text: text.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        let asked = read(json!([
            {"question": "Which?", "header": "H", "options": [
                {"label": "Red", "description": "warm"}, {"label": "Blue"}, "Green", {"no": 1}, 5,
            ]},
            {"question": "Why?"}, {"header": "nothing"}, 7, "How?",
        ]));
        let which = of("Which?", &["Red: warm", "Blue", "Green"]);
        assert_eq!(asked, [which, of("Why?", &[]), of("How?", &[])]);
        for odd in [json!("x"), json!({"question": "a"}), json!(null), json!([[]])] {
            assert_eq!(read(odd), []);
        }
        assert_eq!(read(json!(vec![json!({"question": "a"}); 999])).len(), MAX_QUESTIONS);
    }
}
