//! Titles of tool calls, for cards and within sentences. A title that does not say what is done,
//! such as a path or a command, is preceded by a word for the kind of tool.

use super::content;
use super::scene::Scene;
use crate::session::tool_call::{ToolCall, ToolKind};

/// The maximum number of characters of a title in one line.
pub(super) const MAX_TITLE: usize = 1000;

/// Words at the start of titles that need no word for the kind of tool.
const VERBS: [&str; 49] = [
    "add",
    "analyze",
    "append",
    "apply",
    "ask",
    "browse",
    "call",
    "change",
    "check",
    "copy",
    "create",
    "delete",
    "download",
    "edit",
    "execute",
    "explore",
    "fetch",
    "find",
    "fix",
    "format",
    "generate",
    "get",
    "insert",
    "install",
    "list",
    "look",
    "modify",
    "move",
    "open",
    "overwrite",
    "patch",
    "plan",
    "read",
    "refactor",
    "remove",
    "rename",
    "replace",
    "review",
    "run",
    "save",
    "search",
    "show",
    "start",
    "switch",
    "think",
    "undo",
    "update",
    "view",
    "write",
];

/// Returns a word for a kind of tool.
pub fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "run",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "mode",
        ToolKind::Other => "tool",
    }
}

/// Returns the title in the first line of a card.
pub(super) fn first_line(call: &ToolCall, scene: &Scene) -> String {
    content::truncate(&scene.title(call), MAX_TITLE)
}

/// Returns the word for the kind of tool and a blank, or nothing if the title itself says what is
/// done.
pub fn kind_prefix(call: &ToolCall) -> String {
    if is_descriptive(call) { String::new() } else { format!("{} ", kind(call.kind)) }
}

/// Describes a call as a title: `Edit main.rs`, or `edit main.rs` for the title `main.rs`.
pub fn heading(call: &ToolCall, scene: &Scene) -> String {
    kind_prefix(call) + &first_line(call, scene)
}

/// Describes a call within a sentence: `edit main.rs`.
pub fn in_sentence(call: &ToolCall, scene: &Scene) -> String {
    let text = heading(call, scene);
    let first = first_word(&text);
    if is_verb(first) || first.eq_ignore_ascii_case(kind(call.kind)) {
        return first.to_lowercase() + &text[first.len()..];
    }
    text
}

/// Describes within a sentence what a call asks permission for: just the command if it runs one.
pub fn request(call: &ToolCall, scene: &Scene) -> String {
    command(call, scene).unwrap_or_else(|| in_sentence(call, scene))
}

/// Describes as a title what a call asks permission for: just the command if it runs one.
pub fn request_heading(call: &ToolCall, scene: &Scene) -> String {
    command(call, scene).unwrap_or_else(|| heading(call, scene))
}

/// Returns the title of a call that runs a command, without backticks around it.
fn command(call: &ToolCall, scene: &Scene) -> Option<String> {
    let text = (call.kind == ToolKind::Execute).then(|| first_line(call, scene))?;
    let bare = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    Some(bare.filter(|bare| !bare.contains('`')).map_or_else(|| text.clone(), str::to_owned))
}

/// Whether a title says what is done, rather than being a path, pattern or command.
fn is_descriptive(call: &ToolCall) -> bool {
    let text = super::scene::title(call);
    let first = first_word(text);
    if first.eq_ignore_ascii_case(kind(call.kind)) {
        return true;
    }
    let is_capital = first.starts_with(|c: char| c.is_uppercase());
    let rest = first.chars().skip(1);
    let is_word = is_capital && first.len() > 1 && rest.clone().all(char::is_lowercase);
    let has_more = text.len() > first.len();
    if call.kind == ToolKind::Execute {
        let command = call.input.as_ref().and_then(|input| input.command.as_deref());
        // A command may be named like a verb: `find .`.
        return is_word && has_more && command != Some(text);
    }
    // A single word may be the name of a tool.
    is_verb(first) && (has_more || call.kind != ToolKind::Other) || is_word && has_more
}

/// Returns the word at the start of a text; empty if the text does not start with a word.
fn first_word(text: &str) -> &str {
    let first = text.split_whitespace().next().unwrap_or_default();
    let word = first.trim_end_matches(':');
    if text.starts_with(first) && word.chars().all(char::is_alphabetic) { word } else { "" }
}

fn is_verb(word: &str) -> bool {
    VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tool_call::ToolInput;

    fn call(kind: ToolKind, title: &str) -> ToolCall {
        ToolCall { kind, title: title.into(), ..ToolCall::new("t".into()) }
    }

    #[test]
    fn the_request_for_a_command_is_the_command() {
        let asked = |kind, title: &str| request(&call(kind, title), &Scene::default());
        assert_eq!(asked(ToolKind::Execute, "`make check`"), "make check");
        assert_eq!(asked(ToolKind::Execute, "make check"), "make check");
        assert_eq!(asked(ToolKind::Execute, "`ls` and `wc`"), "`ls` and `wc`");
        assert_eq!(asked(ToolKind::Edit, "Edit main.rs"), "edit main.rs");
        assert_eq!(asked(ToolKind::Read, "main.rs"), "read main.rs");
    }

    /// Holds (Windows and views): A tool call's title that begins with a verb gets no second one.
    #[test]
    fn a_title_with_a_verb_has_no_word_for_the_kind_of_tool() {
        for (kind, title, heading, sentence) in [
            (ToolKind::Edit, "Create greet.py", "Create greet.py", "create greet.py"),
            (ToolKind::Edit, "write greet.py", "write greet.py", "write greet.py"),
            (ToolKind::Edit, "Writing to greet.py", "Writing to greet.py", "Writing to greet.py"),
            (ToolKind::Edit, "Update: a.rs", "Update: a.rs", "update: a.rs"),
            (ToolKind::Read, "List", "List", "list"),
            (ToolKind::SwitchMode, "Ready to code?", "Ready to code?", "Ready to code?"),
            (
                ToolKind::Execute,
                "Install dependencies",
                "Install dependencies",
                "install dependencies",
            ),
            (ToolKind::Other, "Query the database", "Query the database", "Query the database"),
            (ToolKind::Edit, "README", "edit README", "edit README"),
            (ToolKind::Edit, "src/My file.rs", "edit src/My file.rs", "edit src/My file.rs"),
            (ToolKind::Search, "TODO", "search TODO", "search TODO"),
            (
                ToolKind::Search,
                "'find me' in src",
                "search 'find me' in src",
                "search 'find me' in src",
            ),
            (ToolKind::Execute, "find . -name x", "run find . -name x", "run find . -name x"),
            (ToolKind::Execute, "`ls`", "run `ls`", "run `ls`"),
            (ToolKind::Other, "grep", "tool grep", "tool grep"),
            (ToolKind::Other, "Think", "tool Think", "tool Think"),
        ] {
            let (call, scene) = (call(kind, title), Scene::default());
            assert_eq!(
                (super::heading(&call, &scene), in_sentence(&call, &scene)),
                (heading.into(), sentence.into())
            );
        }
        let mut rscript = call(ToolKind::Execute, "Rscript all.R");
        let command = Some("Rscript all.R".to_owned());
        rscript.input = Some(ToolInput { command, ..ToolInput::default() });
        assert_eq!(heading(&rscript, &Scene::default()), "run Rscript all.R");
    }
}
