//! Lists the files and folders below a folder, without what git ignores, and without hidden folders where there is no
//! repository. Follows no links and opens none of the files.

use super::fuzzy::{Pattern, Score};
use crate::host::ignored::{RuleFiles, Rules, Verdict};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A list has at most so many entries, and names of so many bytes.
const MAX_ENTRIES: usize = 500_000;
const MAX_BYTES: usize = 32 << 20;

/// A folder without a repository may be the user's own: what is hidden there, and these, is left out.
const LEFT_OUT: &[&[u8]] = &[b"node_modules"];

/// Relative paths: those with fewer folders first, then in the order of their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct List {
    /// All paths, in no order. One allocation for all, since lists are often made again.
    text: String,
    /// Where each path begins and ends in `text`.
    places: Vec<(u32, u32)>,
}

/// A folder to be listed.
struct Folder {
    /// Its path relative to the root, empty or with a slash at its end.
    path: String,
    rules: Rules,
}

impl List {
    /// Lists what is below a folder; nothing if it cannot be read. It will be about as long as the `old` list.
    pub(super) fn of(root: &Path, files: &RuleFiles, old: &Self) -> Self {
        let is_top = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        let in_repository = root.ancestors().any(is_top);
        let mut list = Self {
            text: String::with_capacity(old.text.len() + old.text.len() / 16),
            places: Vec::with_capacity(old.places.len() + old.places.len() / 16),
        };
        let mut level = vec![Folder { path: String::new(), rules: Rules::above(root, files) }];
        while !level.is_empty() {
            let (first, mut next) = (list.places.len(), Vec::new());
            for folder in level {
                list.add(root, folder, in_repository, files, &mut next);
            }
            let Self { text, places } = &mut list;
            let path = |(start, end): (u32, u32)| &text[start as usize..end as usize];
            places[first..].sort_unstable_by(|one, other| path(*one).cmp(path(*other)));
            level = next;
        }
        list.text.shrink_to_fit();
        list.places.shrink_to_fit();
        list
    }

    /// Adds the paths in a folder, and the folders to go on with. Names that are not UTF-8 cannot be typed and are left out.
    fn add(
        &mut self,
        root: &Path,
        folder: Folder,
        in_repository: bool,
        files: &RuleFiles,
        next: &mut Vec<Folder>,
    ) {
        let absolute = root.join(&folder.path);
        let Ok(entries) = fs::read_dir(&absolute) else { return };
        let entries: Vec<(OsString, bool)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?.is_dir())))
            .collect();
        let has = |wanted: &str| entries.iter().any(|(name, _)| *name == *wanted);
        let rules = folder.rules.enter(&absolute, has(".git"), has(".gitignore"), files);
        for (name, is_folder) in &entries {
            let bytes = name.as_bytes();
            let is_left_out = bytes.starts_with(b".") || LEFT_OUT.contains(&bytes);
            if bytes == b".git" || (*is_folder && !in_repository && is_left_out) {
                continue;
            }
            let Some(name) = name.to_str() else { continue };
            let verdict = rules.verdict(&absolute.join(name), *is_folder);
            if verdict == Verdict::Ignored || !self.push(&folder.path, name, *is_folder) {
                continue;
            }
            if *is_folder {
                let only_tracked = verdict == Verdict::OnlyTracked;
                let rules = if only_tracked { rules.only_tracked() } else { rules.clone() };
                next.push(Folder { path: format!("{}{name}/", folder.path), rules });
            }
        }
    }

    /// Adds a path, unless the list is full.
    fn push(&mut self, folder: &str, name: &str, is_folder: bool) -> bool {
        let start = self.text.len();
        let end = start + folder.len() + name.len() + usize::from(is_folder);
        if self.places.len() >= MAX_ENTRIES || end > MAX_BYTES {
            return false;
        }
        let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else { return false };
        self.text.push_str(folder);
        self.text.push_str(name);
        self.text.push_str(if is_folder { "/" } else { "" });
        self.places.push((start, end));
        true
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|(start, end)| &self.text[*start as usize..*end as usize])
    }

    /// Returns the paths that match a pattern, the best first.
    pub(super) fn best(&self, pattern: &Pattern, count: usize) -> Vec<String> {
        if pattern.is_empty() {
            return self.paths().take(count).map(str::to_owned).collect();
        }
        // The worst of the best so far is at the top. Of equal ones, the first in the list is the best.
        let mut best: BinaryHeap<(Reverse<Score>, usize, &str)> = BinaryHeap::new();
        for (at, path) in self.paths().enumerate() {
            let Some(score) = pattern.score(path) else { continue };
            let found = (Reverse(score), at, path);
            if best.len() < count {
                best.push(found);
            } else if let Some(mut worst) = best.peek_mut()
                && found < *worst
            {
                *worst = found;
            }
        }
        best.into_sorted_vec().into_iter().map(|(_, _, path)| path.to_owned()).collect()
    }
}
