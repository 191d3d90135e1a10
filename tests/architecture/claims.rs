//! What the words of the project claim about its code: that the tests they name exist, and that the two halves have one
//! version.

use std::path::{Path, PathBuf};

/// What is claimed and not so.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut problems = named_tests(root);
    problems.extend(versions(root));
    problems
}

/// `doc/contributing.md` names tests as `file::function` or `file::module`, those of the sources as
/// `src::room::file::function`.
fn named_tests(root: &Path) -> Vec<String> {
    let text = read(&root.join("doc/contributing.md"));
    let names = text.split('`').skip(1).step_by(2);
    let mut count = 0;
    let mut problems = Vec::new();
    for (file, test) in names.filter_map(|name| name.rsplit_once("::")) {
        count += 1;
        let sources = sources(root, file);
        let found = sources.iter().any(|path| {
            path.file_stem().is_some_and(|stem| stem == test)
                || read(path).contains(&format!("fn {test}("))
        });
        if !found {
            problems.push(format!("doc/contributing.md names {file}::{test}, which is not there"));
        }
    }
    if count == 0 {
        problems.push("doc/contributing.md names no test".to_owned());
    }
    problems
}

/// The file of a test binary, or all files of its folder; the file of a module.
fn sources(root: &Path, name: &str) -> Vec<PathBuf> {
    let place = name.replace("::", "/");
    let place = root.join(if name.starts_with("src::") { place } else { format!("tests/{place}") });
    let file = place.with_extension("rs");
    if file.is_file() {
        return vec![file];
    }
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).collect()
}

/// The plugin refuses a binary of another version.
fn versions(root: &Path) -> Option<String> {
    let lua = read(&root.join("lua/rat/version.lua"));
    let version = env!("CARGO_PKG_VERSION");
    let same = lua.contains(&format!("\"{version}\""));
    (!same).then(|| format!("lua/rat/version.lua is not {version}, the version in Cargo.toml"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
