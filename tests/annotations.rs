//! What tests say of themselves in a line above them: in Rust a `///` comment of the test, in a Lua spec a `---` comment
//! of the case. Reads text only; what such a line means is known to those who ask.

use crate::support::files_below;
use std::path::{Path, PathBuf};

/// What one test says.
#[derive(Debug, PartialEq)]
pub(crate) struct Annotation<T> {
    pub(crate) says: T,
    /// `file::function`, or `tests/lua/spec.lua: case`.
    pub(crate) test: String,
}

/// What the tests say, in the order of their files, and what is wrong with how they say it.
#[derive(Debug)]
pub(crate) struct Annotations<T> {
    pub(crate) found: Vec<Annotation<T>>,
    pub(crate) problems: Vec<String>,
}

impl<T> Annotations<T> {
    /// Of all Rust files and Lua specs. `read` takes a comment and gives nothing where it is not meant.
    pub(crate) fn below(root: &Path, read: impl Fn(&str) -> Option<Result<T, String>>) -> Self {
        let mut all = Self { found: Vec::new(), problems: Vec::new() };
        let files = ["src", "tests"].map(|folder| files_below(&root.join(folder))).concat();
        let is_meant =
            |path: &PathBuf| path.extension().is_some_and(|it| it == "rs" || it == "lua");
        for path in files.into_iter().filter(is_meant) {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let one = Self::of(&name, &std::fs::read_to_string(&path).unwrap(), &read);
            all.found.extend(one.found);
            all.problems.extend(one.problems);
        }
        all
    }

    /// Of one file.
    pub(crate) fn of(
        name: &str,
        text: &str,
        read: impl Fn(&str) -> Option<Result<T, String>>,
    ) -> Self {
        let mut all = Self { found: Vec::new(), problems: Vec::new() };
        let lua = Path::new(name).extension().is_some_and(|extension| extension == "lua");
        let (comment, other) = if lua { ("--- ", "--") } else { ("/// ", "///") };
        // Macros make tests of these functions.
        let lists = [
            "with_each_agent!(",
            "with_each_real_agent!(",
            "with_each_sdk!(",
            "with_each_server!(",
        ];
        let lists = lists.into_iter().filter_map(|call| text.split_once(call)?.1.split(')').next());
        let listed: Vec<_> = lists
            .flat_map(|list| list.split([',', ';']))
            .map(|name| name.trim().trim_start_matches("later "))
            .collect();
        let (mut pending, mut is_test) = (Vec::new(), lua);
        for (index, line) in text.lines().map(str::trim).enumerate() {
            match line.strip_prefix(comment).and_then(&read) {
                Some(Ok(says)) => {
                    pending.push(says);
                    continue;
                }
                Some(Err(why)) => all.problems.push(format!("{name}:{}: {why}", index + 1)),
                None => {}
            }
            if pending.is_empty() || line.starts_with(other) {
                continue;
            }
            is_test |= line == "#[test]"
                || line.starts_with("#[tokio::test")
                || name_of(line).is_some_and(|name| listed.contains(&name));
            let called = if lua { lua_case(name, line) } else { function(name, line) };
            if let Some(called) = called.filter(|_| is_test) {
                let said = pending.drain(..);
                all.found.extend(said.map(|says| Annotation { says, test: called.clone() }));
            } else if !line.starts_with("#[") {
                all.problems.push(format!("{name}:{}: no test follows", index + 1));
                pending.clear();
            }
            is_test &= lua || !pending.is_empty();
        }
        all
    }
}

fn function(file: &str, line: &str) -> Option<String> {
    let name = name_of(line)?;
    let file = file.strip_prefix("tests/").unwrap_or(file);
    let file = file.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/main");
    Some(format!("{}::{name}", file.replace('/', "::")))
}

/// The name of the function that a line begins.
fn name_of(line: &str) -> Option<&str> {
    line.split_once("fn ")?.1.split('(').next()
}

fn lua_case(file: &str, line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("case(\"")?.split_once('"')?;
    Some(format!("{file}: {name}"))
}
