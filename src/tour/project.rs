//! The tour's own hands: it searches the sample project, compares with the disk and runs the tests. It writes nothing.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::turn::Signal;

/// The file the tour repairs.
pub(super) const FILE: &str = "duration.py";
/// What the search looks for.
pub(super) const NAME: &str = "format_duration";
/// The flaw and its repair: as it stands, a whole hour is `60m`.
const FLAW: &str = "if seconds > size:";
const REPAIR: &str = "if seconds >= size:";

/// The test command, as it is shown.
pub(super) const TESTS: &str = "python3 -B -m unittest -v";

/// Whether this is the sample project.
pub(super) fn is_sample(cwd: &Path) -> bool {
    std::fs::read_to_string(cwd.join(FILE)).is_ok_and(|text| text.contains(NAME))
}

/// The text without the flaw; `None` where it is not there (any more).
pub(super) fn repaired(text: &str) -> Option<String> {
    text.contains(FLAW).then(|| text.replacen(FLAW, REPAIR, 1))
}

/// The line of the flaw, from 1.
pub(super) fn flaw_line(text: &str) -> usize {
    text.lines().position(|line| line.contains(FLAW)).map_or(1, |index| index + 1)
}

/// Where the Python files of the folder name the function: path and line, from 1, in the order of the paths.
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

/// Places as the `locations` of a tool call.
pub(super) fn locations(places: &[(PathBuf, usize)]) -> Value {
    places.iter().map(|(path, line)| json!({"path": path, "line": line})).collect()
}

/// The lines of `seen` that the file on disk does not have.
pub(super) fn unsaved_lines(path: &Path, seen: &str) -> Vec<String> {
    let disk = std::fs::read_to_string(path).unwrap_or_default();
    let diff = TextDiff::from_lines(disk.as_str(), seen);
    let new = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert);
    new.map(|change| change.value().trim_end().to_owned()).collect()
}

/// Running tests. Dropping it ends them.
pub(super) struct Tests {
    child: Child,
}

impl Tests {
    /// Starts the tests in a folder; each line of their output goes to `listener`, and then the end.
    /// An error means that there is no such program.
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

    /// Waits for the exit status after the end of the output. Gives whether the tests passed.
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
