//! Carries out a list of changes to files: each is made only if the file is as expected, and whole or not at all. All new
//! contents are written first, so that a full disk changes nothing. A list that was interrupted can be carried out again.

use super::entry::{Kind, State};
use super::error::is_no_room;
use super::journal::Planned;
use super::tree::{Found, Tree, is_half_written};
use super::tree_path::TreePath;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;

/// Begins the names of files that a restore is writing. A scan does not leave such names out: anybody can give them.
const TEMPORARY: &str = ".rat-restore-";

/// A file with more bytes cannot be one that is kept.
const MAX_FILE: u64 = 64 << 20;

/// What a path is to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// Relative to the root.
    pub path: TreePath,
    /// What must be there, or else the path is left alone; `None` for nothing.
    pub expected: Option<State>,
    /// What is to be there; `None` for nothing.
    pub target: Option<State>,
    /// The content of the target, where it is not one that is kept; its id and size in `target` do not count then.
    pub bytes: Option<Vec<u8>>,
}

/// What a restore has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The paths that are now what they were to become.
    pub done: Vec<TreePath>,
    /// The others, which were not changed.
    pub left: Vec<Left>,
}

/// A path that was left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Relative to the root.
    pub path: TreePath,
    /// The reason.
    pub why: WhyLeft,
}

/// Why a path was left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyLeft {
    /// It is not as expected.
    Changed,
    /// The content it is to have is not kept.
    NotKept,
    /// It is a folder with something else in it.
    NotEmpty,
    /// It leads outside the root, or into a folder of git's.
    Improper,
    /// The operating system's error.
    Failed(String),
}

impl fmt::Display for WhyLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => f.write_str("it has changed since"),
            Self::NotKept => f.write_str("its content is not kept"),
            Self::NotEmpty => f.write_str("it is a folder with something else in it"),
            Self::Improper => f.write_str("it is not a path below the root"),
            Self::Failed(error) => f.write_str(error),
        }
    }
}

/// Where contents come from.
pub(super) trait Contents {
    /// Returns a content; `None` if it is not kept.
    fn get(&mut self, state: &State) -> Option<Vec<u8>>;

    /// Whether `content` is that of `state`.
    fn is_of(&self, state: &State, content: &[u8]) -> bool;

    /// The permissions that a folder had which is not there any more, if they are known.
    fn folder_mode(&self, path: &TreePath) -> Option<u32>;
}

/// A list being carried out.
pub(super) struct Restorer<'a, C> {
    tree: &'a Tree,
    contents: &'a mut C,
    /// It was interrupted before: files may be half written.
    is_resumed: bool,
    tag: &'a str,
    /// Where the new contents of files have been written, by their place in the list.
    staged: HashMap<usize, TreePath>,
    /// Permissions that folders get at the end, since some could not be written to with them.
    modes: BTreeMap<TreePath, u32>,
    restored: Restored,
}

/// Whether an entry of the list is still to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Open,
    /// What was there has been removed for something else.
    Removed,
    Ended,
}

impl<'a, C: Contents> Restorer<'a, C> {
    /// `tag` is part of the names of temporary files.
    pub(super) fn new(tree: &'a Tree, contents: &'a mut C, tag: &'a str, is_resumed: bool) -> Self {
        let (staged, modes, restored) = (HashMap::new(), BTreeMap::new(), Restored::default());
        Self { tree, contents, is_resumed, tag, staged, modes, restored }
    }

    /// Carries out the list. What fails is reported, and the rest goes on.
    ///
    /// # Errors
    /// If there is no room for the new contents: nothing was changed. Also if the tree was stopped.
    pub(super) fn run(mut self, mut files: Vec<Planned>) -> io::Result<Restored> {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let staged = self.stage(&files);
        let carried_out = staged.and_then(|()| self.carry_out(&files));
        self.remove_staged();
        carried_out.map(|()| self.restored)
    }

    /// Finds out whether there is room for the new contents.
    ///
    /// # Errors
    /// If there is not.
    pub(super) fn try_out(mut self, files: &[Planned]) -> io::Result<()> {
        let staged = self.stage(files);
        self.remove_staged();
        staged
    }

    fn remove_staged(&self) {
        if !self.tree.is_stopped() {
            for (number, at) in &self.staged {
                self.tree.remove_staged(at, &self.temporary(*number));
            }
        }
    }

    fn temporary(&self, number: usize) -> String {
        format!("{TEMPORARY}{}-{number}", self.tag)
    }

    /// Writes the new contents of files, without changing any.
    fn stage(&mut self, files: &[Planned]) -> io::Result<()> {
        for (number, file) in files.iter().enumerate().filter(|(_, file)| file.path.is_proper()) {
            let temporary = self.temporary(number);
            if self.is_resumed {
                self.tree.remove_staged(&file.path, &temporary);
            }
            let Some(target) = file.target.as_ref().filter(|it| it.kind == Kind::File) else {
                continue;
            };
            // What is wrong is reported when the file is to be changed.
            let found = self.tree.look(&file.path, MAX_FILE).ok().flatten();
            let content = found.as_ref().and_then(|found| found.content.as_ref());
            let is_there = content.is_some_and(|content| self.contents.is_of(target, content));
            let is_others = found.as_ref().is_some_and(|found| {
                !self.is_resumed
                    && found.kind != Kind::Folder
                    && !self.is_same(found, file.expected.as_ref())
            });
            if is_there || is_others {
                continue;
            }
            let Some(content) = self.contents.get(target) else { continue };
            match self.tree.stage(&file.path, &content, &temporary) {
                Ok(at) => drop(self.staged.insert(number, at)),
                Err(error) if self.tree.is_stopped() || is_no_room(&error) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, files: &[Planned]) -> io::Result<()> {
        let go_on = |tree: &Tree| if tree.is_stopped() { tree.step() } else { Ok(()) };
        let mut steps = vec![Step::Open; files.len()];
        // Removals first, and what is in a folder before the folder; then the rest the other way around.
        for (step, file) in steps.iter_mut().zip(files).rev() {
            if needs_removal(file) {
                *step = self.remove(file);
            }
            go_on(self.tree)?;
        }
        // What is written in place comes last: until then, other paths may be names of the same file.
        let numbers = 0..files.len();
        let (later, sooner): (Vec<_>, Vec<_>) =
            numbers.partition(|number| is_in_place(&files[*number]));
        for number in [sooner, later].concat() {
            if steps[number] != Step::Ended {
                self.put(&files[number], steps[number], number);
            }
            go_on(self.tree)?;
        }
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            if let Err(error) = self.tree.set_mode(&path, mode) {
                self.fail(&path, &error);
            }
            go_on(self.tree)?;
        }
        Ok(())
    }

    /// Removes what is at a path, so that there is nothing or something else can come there.
    fn remove(&mut self, file: &Planned) -> Step {
        let path = &file.path;
        let found = match self.look(file) {
            Ok(found) => found,
            Err(step) => return step,
        };
        let Some(found) = found else {
            // It has gone already, by an interrupted restore or otherwise.
            return match file.target {
                None => self.done(path),
                Some(_) if self.is_resumed => Step::Removed,
                Some(_) => self.left(path, WhyLeft::Changed),
            };
        };
        if self.is_same(&found, file.target.as_ref()) {
            return self.done(path);
        }
        let is_expected = match &file.expected {
            Some(expected) if expected.kind == Kind::Folder => found.kind == Kind::Folder,
            expected => self.is_same(&found, expected.as_ref()),
        };
        if !is_expected {
            return self.left(path, WhyLeft::Changed);
        }
        let removed = match found.kind {
            Kind::Folder => self.tree.remove_folder(path),
            _ => self.tree.remove_file(path),
        };
        match removed {
            Ok(()) if file.target.is_some() => Step::Removed,
            Ok(()) => self.done(path),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                self.left(path, WhyLeft::NotEmpty)
            }
            Err(error) => self.fail(path, &error),
        }
    }

    /// Makes a path what it is to become.
    fn put(&mut self, file: &Planned, step: Step, number: usize) {
        let path = &file.path;
        let Some(target) = &file.target else { return };
        let Ok(found) = self.look(file) else { return };
        if let Some(found) = &found
            && self.is_same(found, Some(target))
        {
            self.done(path);
            return;
        }
        let is_folder = |state: &State| state.kind == Kind::Folder;
        if found.as_ref().is_some_and(|found| found.kind == Kind::Folder)
            && is_folder(target)
            && !file.expected.as_ref().is_some_and(is_folder)
        {
            // Somebody has created it, perhaps this restore before it was interrupted.
            if self.is_resumed {
                self.modes.insert(path.clone(), target.mode);
            }
            self.done(path);
            return;
        }
        let is_expected = match (&found, &file.expected) {
            (None, None) => true,
            (None, Some(_)) => step == Step::Removed,
            (Some(found), expected) => {
                self.is_same(found, expected.as_ref())
                    || self.is_resumed && self.is_half_done(found, file)
            }
        };
        if !is_expected {
            self.left(path, WhyLeft::Changed);
            return;
        }
        let content = match target.kind {
            Kind::Folder => None,
            Kind::Other => {
                self.left(path, WhyLeft::NotKept);
                return;
            }
            Kind::File | Kind::Symlink => {
                let content = self.contents.get(target);
                if content.is_none() {
                    self.left(path, WhyLeft::NotKept);
                    return;
                }
                content
            }
        };
        let written = match (&found, &content) {
            (Some(Found { link: Some(link), content: Some(now), .. }), Some(new))
                if is_in_place(file) && target.link == Some(*link) && now != new =>
            {
                let old = file.expected.as_ref().and_then(|state| self.contents.get(state));
                self.write_in_place(file, old.as_deref(), new, number)
            }
            _ => self.write(file, target, content.as_deref(), found.as_ref(), number),
        };
        match written {
            Ok(()) => self.done(path),
            Err(error) => self.fail(path, &error),
        };
    }

    fn write(
        &mut self,
        file: &Planned,
        target: &State,
        content: Option<&[u8]>,
        found: Option<&Found>,
        number: usize,
    ) -> io::Result<()> {
        let (path, temporary) = (&file.path, self.temporary(number));
        let has_content = found.is_some_and(|found| found.content.as_deref() == content);
        // The mode is that of all its names.
        let is_others = found.is_some_and(|found| found.link.is_some()) && !is_in_place(file);
        if found.is_none() {
            self.create_parents(path)?;
        }
        let content = content.unwrap_or_default();
        match target.kind {
            Kind::Folder => {
                if found.is_none() {
                    self.tree.create_folder(path)?;
                }
                self.modes.insert(path.clone(), target.mode);
                Ok(())
            }
            Kind::Symlink => self.tree.write_link(path, content, &temporary),
            _ if has_content && !is_others => self.tree.set_mode(path, target.mode),
            _ => {
                let at = match self.staged.get(&number) {
                    Some(at) => at.clone(),
                    None => self.tree.stage(path, content, &temporary)?,
                };
                let at = self.staged.entry(number).insert_entry(at);
                if self.tree.install(path, (at.get(), &temporary), target.mode, found)? {
                    return Ok(());
                }
                if found.is_some_and(|old| old.link.is_some()) {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                self.tree.write_in_place(path, content, target.mode)
            }
        }
    }

    /// Writes a file under all its names; `old` is its content if that fails.
    fn write_in_place(
        &mut self,
        file: &Planned,
        old: Option<&[u8]>,
        new: &[u8],
        number: usize,
    ) -> io::Result<()> {
        let (Planned { path, expected, .. }, temporary) = (file, self.temporary(number));
        // It has shown that there is room, and may take it.
        self.tree.remove_staged(path, &temporary);
        let mode = |state: &Option<State>| state.as_ref().map_or(0, |state| state.mode);
        let written = self.tree.write_in_place(path, new, mode(&file.target));
        if let (Err(_), Some(old), false) = (&written, old, self.tree.is_stopped())
            && let Err(error) = self.tree.write_in_place(path, old, mode(expected))
        {
            tracing::error!(%error, path = %path, "a file is half written");
        }
        written
    }

    /// Creates the folders on the way to a path.
    fn create_parents(&mut self, path: &TreePath) -> io::Result<()> {
        let Some((folder, _)) = path.split() else { return Ok(()) };
        if folder.as_bytes().is_empty() || self.tree.look(&folder, 0)?.is_some() {
            return Ok(());
        }
        self.create_parents(&folder)?;
        self.tree.create_folder(&folder)?;
        if let Some(mode) = self.contents.folder_mode(&folder) {
            self.modes.insert(folder, mode);
        }
        Ok(())
    }

    fn look(&mut self, file: &Planned) -> Result<Option<Found>, Step> {
        if !file.path.is_proper() {
            return Err(self.left(&file.path, WhyLeft::Improper));
        }
        self.tree.look(&file.path, MAX_FILE).map_err(|error| self.fail(&file.path, &error))
    }

    fn is_same(&self, found: &Found, state: Option<&State>) -> bool {
        let Some(state) = state else { return false };
        let has_content = match &found.content {
            Some(content) => self.contents.is_of(state, content),
            // There is nothing in it that could be lost.
            None => matches!(state.kind, Kind::Folder | Kind::Other),
        };
        let has_mode = found.mode == state.mode || state.kind == Kind::Symlink;
        found.kind == state.kind && has_mode && has_content
    }

    /// Whether a file is on the way from its expected content to that of its target.
    fn is_half_done(&mut self, found: &Found, file: &Planned) -> bool {
        let (Some(expected), Some(target), Some(now)) =
            (&file.expected, &file.target, &found.content)
        else {
            return false;
        };
        if (found.kind, expected.kind, target.kind) != (Kind::File, Kind::File, Kind::File) {
            return false;
        }
        let old = self.contents.get(expected);
        let new = self.contents.get(target);
        old.zip(new).is_some_and(|(old, new)| is_half_written(now, &old, &new))
    }

    fn done(&mut self, path: &TreePath) -> Step {
        self.restored.done.push(path.clone());
        Step::Ended
    }

    fn left(&mut self, path: &TreePath, why: WhyLeft) -> Step {
        self.restored.left.push(Left { path: path.clone(), why });
        Step::Ended
    }

    fn fail(&mut self, path: &TreePath, error: &io::Error) -> Step {
        self.left(path, WhyLeft::Failed(error.to_string()))
    }
}

/// Whether a file was changed under several names at once, and is to be again.
fn is_in_place(Planned { expected, target, .. }: &Planned) -> bool {
    let link = |state: &Option<State>| state.as_ref().and_then(|state| state.link);
    link(expected).is_some() && link(expected) == link(target)
}

/// Whether what is there must be removed before anything else can come there.
fn needs_removal(file: &Planned) -> bool {
    let is_folder = |state: &State| state.kind == Kind::Folder;
    match (&file.expected, &file.target) {
        (Some(_), None) => true,
        (Some(expected), Some(target)) => is_folder(expected) != is_folder(target),
        (None, _) => false,
    }
}
