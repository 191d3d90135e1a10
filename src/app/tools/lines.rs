//! Adds the lines of files to places of which only the position is known.

use crate::core::messages::workbench::{Findings, Place};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use tokio::task::spawn_blocking;

/// The largest file whose lines are shown, in bytes.
const MOST_OF_FILE: u64 = 2 << 20;
/// How many files are read.
const MOST_FILES: usize = 200;

/// Adds the lines where there is no text.
pub(super) async fn with_texts(findings: Findings) -> Findings {
    let known = findings.clone();
    spawn_blocking(move || add(findings)).await.unwrap_or(known)
}

fn add(mut findings: Findings) -> Findings {
    let mut files: HashMap<PathBuf, Vec<String>> = HashMap::new();
    for place in findings.places.iter_mut().filter(|place| place.text.is_empty() && place.line > 0)
    {
        let Place { path, line, text } = place;
        if !files.contains_key(path) && files.len() >= MOST_FILES {
            continue;
        }
        let lines = files.entry(path.clone()).or_insert_with(|| read(path));
        let index = usize::try_from(*line).unwrap_or(usize::MAX) - 1;
        *text = lines.get(index).cloned().unwrap_or_default();
    }
    findings
}

fn read(path: &Path) -> Vec<String> {
    let is_small =
        fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() <= MOST_OF_FILE);
    let content = is_small.then(|| fs::read(path).ok()).flatten().unwrap_or_default();
    String::from_utf8_lossy(&content).lines().map(|line| line.trim().to_owned()).collect()
}
