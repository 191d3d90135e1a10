//! What the tour does with the sample project itself: searches it, compares buffers with the disk
//! and runs the tests. It writes nothing.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::signal::Signal;

/// The file that the tour fixes.
pub(super) const FILE: &str = "duration.py";
/// The function that the tour searches for.
pub(super) const NAME: &str = "format_duration";
/// The bug and its fix: with the bug, a whole hour is formatted as `60m`.
const BUG: &str = "if seconds > size:";
const FIX: &str = "if seconds >= size:";

/// The command that runs the tests.
pub(super) const TESTS: &str = "python3 -B -m unittest -v";

/// Whether the directory contains the sample project.
pub(super) fn is_sample(cwd: &Path) -> bool {
    std::fs::read_to_string(cwd.join(FILE)).is_ok_and(|text| text.contains(NAME))
}

/// Returns the text with the bug fixed; `None` if it does not have the bug.
pub(super) fn fixed(text: &str) -> Option<String> {
    text.contains(BUG).then(|| text.replacen(BUG, FIX, 1))
}

/// Returns the line of the bug, counted from 1; 1 if there is none.
pub(super) fn bug_line(text: &str) -> usize {
    text.lines().position(|line| line.contains(BUG)).map_or(1, |index| index + 1)
}

/// Returns where the Python files of the directory mention the function: path and line (from 1),
/// sorted by path.
pub(super) fn mentions(cwd: &Path) -> Vec<(PathBuf, usize)> {
    let entries = std::fs::read_dir(cwd).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|name| name == "py")).collect();
    paths.sort();
    let lines = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let found = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(NAME))
            .map(|(index, _)| index + 1);
        found.map(|line| (path.clone(), line)).collect::<Vec<_>>()
    };
    paths.into_iter().flat_map(lines).collect()
}

/// Formats places as the `locations` of a tool call.
pub(super) fn locations(places: &[(PathBuf, usize)]) -> Value {
    places.iter().map(|(path, line)| json!({"path": path, "line": line})).collect()
}

/// Returns the lines of `buffer` that the file on disk does not have.
pub(super) fn unsaved_lines(path: &Path, buffer: &str) -> Vec<String> {
    let disk = std::fs::read_to_string(path).unwrap_or_default();
    let diff = TextDiff::from_lines(disk.as_str(), buffer);
    let new = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert);
    new.map(|change| change.value().trim_end().to_owned()).collect()
}

/// A running test command. Dropping it kills the command.
pub(super) struct Tests {
    child: Child,
}

impl Tests {
    /// Starts the tests in a directory. Each line of their output is sent to `listener`, then
    /// [`Signal::End`]. Fails if the program cannot be started.
    pub(super) fn start(cwd: &Path, listener: Sender<Signal>) -> std::io::Result<Self> {
        let mut words = TESTS.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // unittest reports on stderr.
        let output = child.stderr.take();
        std::thread::spawn(move || {
            let lines = output
                .into_iter()
                .flat_map(|output| BufReader::new(output).lines())
                .map_while(Result::ok);
            for signal in lines.map(Signal::Line).chain([Signal::End]) {
                if listener.send(signal).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child })
    }

    /// Waits for the command to exit and returns whether the tests passed.
    pub(super) fn passed(mut self) -> bool {
        self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Tests {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
