//! What the words of the project claim about it: that the tests, the commands of the Makefile and the pictures they
//! name exist.

use std::path::{Path, PathBuf};

/// What is claimed and not so.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut problems = named_tests(root);
    problems.extend(named_commands(root));
    problems.extend(named_pictures(root));
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

/// Documents say `make name` in text and in blocks of shell, workflows `run: make name`.
fn named_commands(root: &Path) -> Vec<String> {
    let makefile = read(&root.join("Makefile"));
    let mut files = vec![root.join("README.md"), root.join("doc/contributing.md")];
    files.extend(names_in(&root.join(".github/workflows")));
    let mut problems = Vec::new();
    for file in &files {
        let text = read(file);
        let names = ["`make ", "\nmake ", "run: make "]
            .into_iter()
            .flat_map(|mark| text.split(mark).skip(1));
        let names: Vec<&str> = names
            .map(|rest| rest.split(|it: char| !it.is_ascii_lowercase() && it != '-').next())
            .map(Option::unwrap_or_default)
            .collect();
        if names.is_empty() {
            problems.push(format!("{} names no command of the Makefile", file.display()));
        }
        let missing = names.iter().filter(|name| !makefile.contains(&format!("\n{name}: ")));
        problems.extend(
            missing.map(|name| format!("{} names make {name}, which is not there", file.display())),
        );
    }
    problems
}

/// Each picture is shown or named, and each that is named is there.
fn named_pictures(root: &Path) -> Vec<String> {
    const FOLDER: &str = "doc/images/";
    let there: Vec<String> = names_in(&root.join(FOLDER))
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let texts = read(&root.join("README.md")) + &read(&root.join("doc/rat.txt"));
    let is_part = |it: char| it.is_ascii_alphanumeric() || ".-_".contains(it);
    let named: Vec<&str> = texts
        .split(FOLDER)
        .skip(1)
        .filter_map(|rest| rest.split(|it| !is_part(it)).next())
        .filter(|name| Path::new(name).extension().is_some_and(|it| it == "svg"))
        .collect();
    let missing = named.iter().filter(|name| !there.iter().any(|it| it == *name));
    let missing = missing.map(|name| format!("{FOLDER}{name} is named, but not there"));
    let unnamed = there.iter().filter(|name| !named.contains(&name.as_str()));
    missing.chain(unnamed.map(|name| format!("{FOLDER}{name} is named nowhere"))).collect()
}

/// What lies in a folder, in order.
fn names_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
