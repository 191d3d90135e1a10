//! Looks at files below a root and changes them, one at a time. Every folder on the way is opened without following links,
//! so that nothing outside the root is reached, whatever others do meanwhile. Decides nothing.

use super::entry::{Entry, Kind, PERMISSIONS};
use super::tree_path::TreePath;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

/// How much is written in place at once.
const CHUNK: usize = 64 << 10;

/// The files below a root.
pub(super) struct Tree {
    root: OwnedFd,
    /// How many more steps may be taken. Only tests set it, to stop as a kill would.
    steps: Option<Cell<usize>>,
    /// Instead, one step fails as on a full disk.
    is_full: bool,
}

/// A file as it is now.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) mode: u32,
    /// The bytes of a file or the target of a link; `None` for others, and for a file that is too large.
    pub(super) content: Option<Vec<u8>>,
    pub(super) size: u64,
    /// The inode of a file that has other names, too.
    pub(super) link: Option<u64>,
    owner: (u32, u32),
}

impl Tree {
    /// # Errors
    /// If the root is no folder that can be read.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: open_folder(AT_FDCWD, root.as_os_str())?, steps: None, is_full: false })
    }

    /// Stops after so many steps: all further ones fail.
    #[cfg(test)]
    pub(super) fn stop_after(&mut self, steps: usize) {
        self.steps = Some(Cell::new(steps));
    }

    /// One step fails, as on a full disk.
    #[cfg(test)]
    pub(super) fn fail_once_after(&mut self, steps: usize) {
        (self.steps, self.is_full) = (Some(Cell::new(steps)), true);
    }

    /// Whether it was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.get() == 0)
    }

    /// Takes a step, if only tests can count it.
    ///
    /// # Errors
    /// If it was stopped.
    pub(super) fn step(&self) -> io::Result<()> {
        let Some(steps) = &self.steps else { return Ok(()) };
        steps.set(steps.get().saturating_sub(1));
        match (steps.get(), self.is_full) {
            (0, false) => Err(io::Error::other("stopped")),
            (0, true) => {
                steps.set(usize::MAX);
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }

    /// Opens the folder that a path is in, and returns the name there.
    fn parent<'a>(&self, path: &'a TreePath) -> io::Result<(OwnedFd, &'a OsStr)> {
        let mut folder = self.root.try_clone()?;
        let mut names = path.as_bytes().split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let name = OsStr::from_bytes(name);
            if names.peek().is_none() {
                return Ok((folder, name));
            }
            folder = open_folder(&folder, name)?;
        }
        Err(Errno::EINVAL.into())
    }

    /// Looks at a path, and reads it unless it has more than `max` bytes. `None` if there is nothing, or a folder on the
    /// way is a link.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn look(&self, path: &TreePath, max: u64) -> io::Result<Option<Found>> {
        let (folder, name) = match self.parent(path) {
            Err(error) if is_missing(&error) => return Ok(None),
            parent => parent?,
        };
        let stat = match fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => return Ok(None),
            stat => stat?,
        };
        let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
        let found = if kind == SFlag::S_IFREG {
            let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
            let mut file = open_file(&folder, name, flags, Mode::empty())?;
            let mut found = Found::of(&file.metadata()?);
            if found.kind == Kind::File && found.size <= max {
                let mut content = Vec::new();
                file.read_to_end(&mut content)?;
                found.size = content.len() as u64;
                found.content = Some(content);
            }
            found
        } else if kind == SFlag::S_IFDIR {
            Found::of(&File::from(open_folder(&folder, name)?).metadata()?)
        } else if kind == SFlag::S_IFLNK {
            let target = readlinkat(&folder, name)?.into_vec();
            let size = target.len() as u64;
            Found { size, content: Some(target), ..Found::of_kind(Kind::Symlink) }
        } else {
            {
                #[allow(clippy::useless_conversion, reason = "a mode has 16 bits on macOS")]
                let mode = u32::from(stat.st_mode) & PERMISSIONS;
                Found { mode, ..Found::of_kind(Kind::Other) }
            }
        };
        Ok(Some(found))
    }

    /// Writes a new file called `temporary` into the folder of a path, or the closest one above it that is there. Returns
    /// the path whose folder that is.
    ///
    /// # Errors
    /// If it cannot be written. Nothing is left of it.
    pub(super) fn stage(
        &self,
        path: &TreePath,
        content: &[u8],
        temporary: &str,
    ) -> io::Result<TreePath> {
        let mut at = path.clone();
        let folder = loop {
            let parent = self.parent(&at).map(|(folder, _)| folder);
            match (parent, at.split()) {
                (Err(error), Some((above, _))) if is_missing(&error) => at = above,
                (parent, _) => break parent?,
            }
        };
        remove_if_there(&folder, temporary)?;
        self.step()?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let mut file = open_file(&folder, OsStr::new(temporary), flags, Mode::S_IRWXU)?;
        if let Err(error) = self.fill(&mut file, content) {
            if !self.is_stopped() {
                remove_if_there(&folder, temporary)?;
            }
            return Err(error);
        }
        Ok(at)
    }

    fn fill(&self, file: &mut File, content: &[u8]) -> io::Result<()> {
        let (first, second) = content.split_at(content.len() / 2);
        file.write_all(first)?;
        self.step()?;
        file.write_all(second)?;
        file.sync_data()?;
        self.step()
    }

    /// Replaces what is at a path, which is no folder, by a file that was staged, atomically; `old` is what is there.
    /// Returns `false` if the file cannot have the owner of the old one: nothing has changed.
    ///
    /// # Errors
    /// If that is not possible. What was there is still there.
    pub(super) fn install(
        &self,
        path: &TreePath,
        (at, temporary): (&TreePath, &str),
        mode: u32,
        old: Option<&Found>,
    ) -> io::Result<bool> {
        let (from, _) = self.parent(at)?;
        let (folder, name) = self.parent(path)?;
        let file = open_file(&from, OsStr::new(temporary), OFlag::O_WRONLY, Mode::empty())?;
        let owner = file.metadata().map(|of| (of.uid(), of.gid()))?;
        let old = old.filter(|old| old.kind == Kind::File).map(|old| old.owner);
        if let Some((user, group)) = old.filter(|old| *old != owner)
            && fchown(&file, Some(user), Some(group)).is_err()
        {
            return Ok(false);
        }
        file.set_permissions(Permissions::from_mode(mode))?;
        self.step()?;
        renameat(&from, temporary, &folder, name)?;
        Ok(true)
    }

    /// Overwrites a file under all its names. That is not atomic, but begins at its start and cuts it off last, so that
    /// [`is_half_written`] can tell how far it came.
    ///
    /// # Errors
    /// If it cannot be written. It may be half written then.
    pub(super) fn write_in_place(
        &self,
        path: &TreePath,
        content: &[u8],
        mode: u32,
    ) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        let flags = OFlag::O_WRONLY | OFlag::O_NONBLOCK;
        let file = open_file(&folder, name, flags, Mode::empty())?;
        for (number, chunk) in content.chunks(CHUNK).enumerate() {
            self.step()?;
            file.write_all_at(chunk, (number * CHUNK) as u64)?;
        }
        self.step()?;
        file.set_len(content.len() as u64)?;
        self.step()?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_data()
    }

    /// Replaces what is at a path, which is no folder, by a link, atomically.
    ///
    /// # Errors
    /// If it cannot be written. What was there is still there.
    pub(super) fn write_link(
        &self,
        path: &TreePath,
        target: &[u8],
        temporary: &str,
    ) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        remove_if_there(&folder, temporary)?;
        self.step()?;
        symlinkat(OsStr::from_bytes(target), &folder, temporary)?;
        let renamed = self.step().and_then(|()| Ok(renameat(&folder, temporary, &folder, name)?));
        if renamed.is_err() && !self.is_stopped() {
            remove_if_there(&folder, temporary)?;
        }
        renamed
    }

    /// Creates a folder that its owner may write to for now.
    ///
    /// # Errors
    /// If it cannot be created, or there is something.
    pub(super) fn create_folder(&self, path: &TreePath) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        self.step()?;
        let all = Mode::S_IRWXU | Mode::S_IRWXG | Mode::S_IRWXO;
        Ok(mkdirat(&folder, name, all)?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(super) fn remove_file(&self, path: &TreePath) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        self.step()?;
        Ok(unlinkat(&folder, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(super) fn remove_folder(&self, path: &TreePath) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        self.step()?;
        Ok(unlinkat(&folder, name, UnlinkatFlags::RemoveDir)?)
    }

    /// Removes what was staged for a path.
    pub(super) fn remove_staged(&self, path: &TreePath, temporary: &str) {
        let mut above = Some(path.clone());
        while let Some(at) = above {
            if let Ok((folder, _)) = self.parent(&at) {
                let _ = remove_if_there(&folder, temporary);
            }
            above = at.split().map(|(folder, _)| folder).filter(|folder| !folder.is_root());
        }
    }

    /// Sets the permissions of a file or folder.
    ///
    /// # Errors
    /// If they cannot be set.
    pub(super) fn set_mode(&self, path: &TreePath, mode: u32) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        self.step()?;
        let bits = nix::libc::mode_t::try_from(mode).map_err(io::Error::other)?;
        // Follows a link, should there be one now: it was a file or folder a moment ago.
        Ok(fchmodat(&folder, name, Mode::from_bits_truncate(bits), FchmodatFlags::FollowSymlink)?)
    }
}

impl Found {
    /// One without permissions.
    fn of_kind(kind: Kind) -> Self {
        Self { kind, mode: 0, content: None, size: 0, link: None, owner: (0, 0) }
    }

    fn of(metadata: &Metadata) -> Self {
        let entry = Entry::of(metadata);
        Self {
            kind: entry.kind,
            mode: entry.mode,
            content: None,
            size: entry.size,
            link: entry.is_linked.then_some(entry.inode),
            owner: (metadata.uid(), metadata.gid()),
        }
    }
}

/// Whether `now` is a file on the way from `old` to `new`, as writing in place leaves it when it is interrupted.
pub(super) fn is_half_written(now: &[u8], old: &[u8], new: &[u8]) -> bool {
    let written = now.iter().zip(new).take_while(|(one, other)| one == other).count();
    if now.len() > old.len() || now == new {
        return written == now.len();
    }
    let pairs = now.iter().rev().zip(old.iter().rev());
    let kept = pairs.take_while(|(one, other)| one == other).count();
    now.len() == old.len() && written + kept >= now.len()
}

/// Whether a folder on the way is missing, or something else is in its place, such as a link.
fn is_missing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP))
}

fn open_folder(at: impl std::os::fd::AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(at, name, flags, Mode::empty())?)
}

fn open_file(folder: &OwnedFd, name: &OsStr, flags: OFlag, mode: Mode) -> io::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    Ok(openat(folder, name, flags, mode)?.into())
}

fn remove_if_there(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(folder, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
