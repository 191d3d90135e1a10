//! The files of a tree as the rules see them: code without comments and strings. Judges nothing.

use std::path::Path;
use std::process::Command;

/// One file.
pub(crate) struct File {
    /// Its path from the root, with slashes.
    pub(crate) name: String,
    /// All of it.
    pub(crate) text: String,
}

/// The files of a tree that are text.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the files git knows of, or, outside a repository, all of them.
    pub(crate) fn read(root: &Path) -> Self {
        let names = tracked(root).unwrap_or_else(|| walk(root, root));
        let file = |name: String| {
            Some(File { text: std::fs::read_to_string(root.join(&name)).ok()?, name })
        };
        Self { files: names.into_iter().filter_map(file).collect() }
    }

    /// The files below `folder` whose names end in `ending`.
    pub(crate) fn below<'a>(
        &'a self,
        folder: &'a str,
        ending: &'a str,
    ) -> impl Iterator<Item = &'a File> {
        self.files
            .iter()
            .filter(move |file| file.name.starts_with(folder) && file.name.ends_with(ending))
    }
}

impl File {
    /// The text without comments and strings, line by line as it was.
    pub(crate) fn code(&self) -> String {
        self.without(|_| true)
    }

    /// The text without comments, line by line as it was.
    pub(crate) fn without_comments(&self) -> String {
        self.without(|skipped| ["--", "//", "/*"].iter().any(|mark| skipped.starts_with(mark)))
    }

    /// The text without those of its comments and strings that `goes` is true of.
    fn without(&self, goes: impl Fn(&str) -> bool) -> String {
        let lua = Path::new(&self.name).extension().is_some_and(|name| name == "lua");
        let mut code = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(first) = rest.chars().next() {
            let skipped = if lua { lua_skip(rest) } else { rust_skip(rest, &code) };
            match skipped {
                0 => code.push(first),
                _ if !goes(&rest[..skipped]) => code.push_str(&rest[..skipped]),
                _ => code.extend(rest[..skipped].chars().filter(|char| *char == '\n')),
            }
            rest = &rest[skipped.max(first.len_utf8())..];
        }
        code
    }
}

/// The length of the comment or string that `text` begins with; 0 where it begins with code.
fn lua_skip(text: &str) -> usize {
    match text.as_bytes() {
        [b'-', b'-', b'[', b'[', ..] | [b'[', b'[', ..] => until(text, "]]"),
        [b'-', b'-', ..] => text.find('\n').unwrap_or(text.len()),
        [b'"', ..] => string(text, '"'),
        [b'\'', ..] => string(text, '\''),
        _ => 0,
    }
}

/// The same for Rust, where a quote may be a character and a string raw; `before` is the code before it.
fn rust_skip(text: &str, before: &str) -> usize {
    let hashes = text.bytes().skip(1).take_while(|byte| *byte == b'#').count();
    let in_a_word = before.ends_with(|char: char| char.is_alphanumeric() || char == '_');
    match text.as_bytes() {
        [b'/', b'/', ..] => text.find('\n').unwrap_or(text.len()),
        [b'/', b'*', ..] => until(text, "*/"),
        [b'"', ..] if !before.ends_with(['\'', '\\']) => string(text, '"'),
        [b'r', ..] if !in_a_word && text[1 + hashes..].starts_with('"') => {
            2 + hashes + until(&text[2 + hashes..], &format!("\"{}", "#".repeat(hashes)))
        }
        _ => 0,
    }
}

/// The length up to the end of the first `mark`.
fn until(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

/// The length of a string from its opening to its closing quote.
fn string(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, char)| {
        let ends = *char == quote && !escaped;
        escaped = *char == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(index, _)| index + 1)
}

/// What is tracked, and what is new and not ignored, if the root is that of a repository.
fn tracked(root: &Path) -> Option<Vec<String>> {
    root.join(".git").exists().then_some(())?;
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    {
        if path.file_name().is_some_and(|name| name == "target" || name == ".git") {
            continue;
        }
        if path.is_dir() {
            names.extend(walk(root, &path));
        } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            names.push(name.to_owned());
        }
    }
    names
}
