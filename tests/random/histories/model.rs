//! What an undo may do to a folder: what is as a turn left it becomes what the turn found, or is named; what has changed since
//! keeps every word that the turn had not brought; everything else stays. It asks nobody.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::tree::{LIMIT, Node, Tree, shown, words};

/// A change that was taken back: what it found, and what it left.
pub(crate) struct Change<'a> {
    pub(crate) found: &'a Tree,
    pub(crate) left: &'a Tree,
    /// Whether all of it is the turn's for certain, or is taken back by force.
    pub(crate) is_certain: bool,
    /// Whether patterns may have hidden something from the turn: that is kept only as long as the program runs.
    pub(crate) had_patterns: bool,
}

/// What was told of an undo.
pub(crate) struct Told {
    pub(crate) changed: HashSet<PathBuf>,
    pub(crate) left: Vec<(PathBuf, String)>,
}

impl Told {
    fn why(&self, path: &Path) -> Option<&str> {
        self.left.iter().find(|(left, _)| left == path).map(|(_, why)| why.as_str())
    }
}

pub(crate) fn check(
    change: &Change<'_>,
    (was, now): (&Tree, &Tree),
    told: &Told,
) -> Result<(), String> {
    let of_change: HashSet<&PathBuf> = change.found.differing(change.left).collect();
    let inode = |path: &PathBuf| was.inodes.get(path);
    let shared: HashSet<u64> = of_change.iter().filter_map(|path| inode(path)).copied().collect();
    for path in was.differing(now).filter(|path| !of_change.contains(*path)) {
        let is_other_name = inode(path).is_some_and(|inode| shared.contains(inode));
        let is_way = was.get(path).is_none() && matches!(now.get(path), Some(Node::Folder(_)));
        let is_of_way = |other: &&PathBuf| other.starts_with(path) && now.get(other).is_some();
        if !(is_other_name || is_way && of_change.iter().any(is_of_way)) {
            return Err(failed(change, path, (was, now), "was changed and is not of the turn"));
        }
    }
    for path in of_change {
        check_path(change, path, (was, now), told)
            .map_err(|why| failed(change, path, (was, now), &why))?;
    }
    Ok(())
}

/// Files outside of the folder stay, but for those that had a name in it when the turn began.
pub(crate) fn check_outside(change: &Change<'_>, (was, now): (&Tree, &Tree)) -> Result<(), String> {
    let had_names: HashSet<&u64> = change.found.inodes.values().collect();
    let is_one = |path: &PathBuf| was.inodes.get(path).is_some_and(|it| had_names.contains(it));
    match was.differing(now).find(|path| !is_one(path)) {
        Some(path) => Err(failed(change, path, (was, now), "was changed, outside")),
        None => Ok(()),
    }
}

fn check_path(
    change: &Change<'_>,
    path: &PathBuf,
    (was, now): (&Tree, &Tree),
    told: &Told,
) -> Result<(), String> {
    let Change { found, left, is_certain, had_patterns } = change;
    let (before, after) = (found.get(path), left.get(path));
    let is_as_left = was.get(path) == after;
    if !is_as_left {
        // Somebody has changed it since.
        let brought: HashSet<String> = words(after).into_iter().collect();
        let had: HashSet<String> = words(before).into_iter().collect();
        let kept: HashSet<String> = words(now.get(path)).into_iter().collect();
        let is_lost =
            |word: &String| !kept.contains(word) && (!brought.contains(word) || had.contains(word));
        if let Some(word) = words(was.get(path)).into_iter().find(is_lost) {
            return Err(format!("{word} is lost"));
        }
    }
    if now.get(path) == before || was.get(path) == before {
        return Ok(());
    }
    // What was ignored before is not covered.
    if found.ignores(path) || path.ancestors().any(|above| found.ignores(above)) {
        return Ok(());
    }
    // A folder that was made on the way to what came back may stay, and what others have put in its place does.
    let is_others = !is_as_left || matches!(now.get(path), Some(Node::Folder(_)));
    if before.is_none() && matches!(after, Some(Node::Folder(_))) && is_others {
        return Ok(());
    }
    // A folder that is named stands for what is in it.
    let has_no_folder = |why: &&str| why.contains("where its folder was");
    let mut reasons = path.ancestors().filter_map(|path| told.why(path));
    // Then it is left for the reason of what stays there.
    let why = reasons.find(|why| !has_no_folder(why));
    if why.is_none() && !told.changed.contains(path) {
        return Err("is not restored and not named".to_owned());
    }
    if why.is_none() && is_as_left {
        return Err("is said to be restored and is not".to_owned());
    }
    let is_covered = |node: Option<&Node>| match node {
        None | Some(Node::Link(_) | Node::Folder(_)) => true,
        Some(Node::File(bytes, _)) => bytes.len() as u64 <= LIMIT,
        Some(Node::Other(_)) => false,
    };
    let has_patterns = *had_patterns || [found, left, was].iter().any(|tree| tree.has_patterns());
    let is_around_as_left =
        was.differing(left).all(|other| !other.starts_with(path) && !path.starts_with(other));
    // What stays where a folder was keeps what was in it from coming back.
    let is_way_covered = path.ancestors().skip(1).all(|above| is_covered(left.get(above)));
    let is_other = matches!(after, Some(Node::Other(_)));
    let is_all_covered =
        left.below(path).all(|node| is_covered(Some(node)) || matches!(node, Node::Other(_)));
    let is_after_covered = is_way_covered && is_all_covered && (is_covered(after) || is_other);
    let reasons = ["you may have done it", "a folder with something else in it"];
    let is_reason = |why: &str| reasons.iter().any(|reason| why.contains(reason));
    let is_uncertain = !is_certain && why.is_some_and(is_reason);
    if is_uncertain {
        return Ok(());
    }
    if is_as_left && is_around_as_left && is_covered(before) && is_after_covered && !has_patterns {
        return Err(format!("is left although nothing speaks against it: {}", why.unwrap_or("?")));
    }
    Ok(())
}

fn failed(change: &Change<'_>, path: &Path, (was, now): (&Tree, &Tree), why: &str) -> String {
    let [found, left, was, now] =
        [change.found, change.left, was, now].map(|tree| shown(tree.get(path)));
    let path = path.display();
    format!("{path}: {why}\n  found {found}\n  left  {left}\n  was   {was}\n  is    {now}")
}
