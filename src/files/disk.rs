//! Files on disk: their bytes, their facts, and replacing them without a moment in which half is
//! there. Blocks; it is run beside the loop.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

use super::editor::{FileTime, Stamp};

/// By what a file is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskFacts {
    /// When it was last changed.
    pub time: FileTime,
    /// Bytes.
    pub size: u64,
    /// Its number on the disk.
    pub inode: u64,
    /// Who may do what with it.
    pub mode: u32,
}

impl DiskFacts {
    /// Of a file that is not there any more; no file is like that.
    pub(super) const GONE: Self =
        Self { time: FileTime { seconds: 0, nanoseconds: 0 }, size: 0, inode: 0, mode: 0 };
}

impl DiskFacts {
    /// What Neovim's are compared with.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { time: self.time, size: self.size }
    }

    /// As Neovim has left the file, where that is known: somebody may have written it again since.
    pub(super) fn as_stamped(self, stamp: Option<Stamp>) -> Self {
        let Stamp { time, size } = stamp.unwrap_or_else(|| self.stamp());
        Self { time, size, ..self }
    }
}

impl From<&Metadata> for DiskFacts {
    fn from(of: &Metadata) -> Self {
        let time = FileTime { seconds: of.mtime(), nanoseconds: of.mtime_nsec() };
        Self { time, size: of.size(), inode: of.ino(), mode: of.mode() }
    }
}

/// The bytes of a file, and the facts it had when they were read. `None`: there is no such file.
pub(super) fn read(path: &Path) -> io::Result<Option<(Vec<u8>, DiskFacts)>> {
    let mut file = match open(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.size()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(Some((bytes, DiskFacts::from(&metadata))))
}

/// Refuses a path that was a real one when it was decided who may touch it, and is not any more: a symbolic link has
/// taken the place of the file or of a folder above it, and leads wherever it likes. What is not there yet is nowhere.
fn check_real(path: &Path) -> io::Result<()> {
    match path.canonicalize() {
        Ok(real) if real == path => Ok(()),
        Ok(real) => {
            let why = format!("a symbolic link has taken its place, to {}", real.display());
            Err(io::Error::other(why))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            path.parent().map_or(Ok(()), check_real)
        }
        Err(error) => Err(error),
    }
}

/// Opens a regular file by its real path. Looks before: a device may do something on being opened. And does not wait:
/// what is there by then may be a pipe without another end, or a link.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let check = |metadata: &Metadata| {
        let other = || io::Error::other("it is not a regular file");
        metadata.is_file().then_some(()).ok_or_else(other)
    };
    check(&fs::metadata(path)?)?;
    check_real(path)?;
    let file = options.custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOFOLLOW).open(path)?;
    check(&file.metadata()?)?;
    check_real(path)?;
    Ok(file)
}

/// The facts of a file, `None` if there is none: agents name folders, too.
pub(super) fn facts(path: &Path) -> Option<DiskFacts> {
    let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some(DiskFacts::from(&metadata))
}

/// Whether there is nothing of that name.
pub(super) fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Replaces the bytes of a file, or creates it with missing parent folders. All or nothing; mode
/// and owner stay. A file with several names (hard links) keeps them, and one in a folder that
/// takes no new files is written too: both in place.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<DiskFacts> {
    match open(OpenOptions::new().read(true).write(true), path) {
        Ok(file) if file.metadata()?.nlink() > 1 => write_in_place(file, bytes)?,
        Ok(file) => match replace(path, bytes) {
            Err(error) if is_of_the_folder(&error) => write_in_place(file, bytes)?,
            replaced => replaced?,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_real(path)?;
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            replace(path, bytes)?;
        }
        Err(error) => return Err(error),
    }
    fs::metadata(path).map(|metadata| DiskFacts::from(&metadata))
}

/// Gives a file back what it had, in place: where there was no room for more there is for that.
pub(super) fn restore(path: &Path, bytes: &[u8]) -> io::Result<DiskFacts> {
    let mut file = open(OpenOptions::new().read(true).write(true), path)?;
    overwrite(&mut file, bytes)?;
    file.metadata().map(|metadata| DiskFacts::from(&metadata))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    file.write_all(bytes)?;
    // From its folder, which stays open, it comes to no other.
    check_real(path)?;
    file.commit()
}

/// Whether the folder takes no new file, and a write in place may do.
fn is_of_the_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Not all at once, but if it fails, on a full disk for example, the file gets back what it had: it
/// is cut only when all is written, so that there is room.
fn write_in_place(mut file: File, bytes: &[u8]) -> io::Result<()> {
    let mut before = Vec::new();
    file.read_to_end(&mut before)?;
    let written = overwrite(&mut file, bytes);
    if written.is_err() {
        overwrite(&mut file, &before)?;
    }
    written
}

fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(bytes)?;
    file.sync_all()?;
    file.set_len(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = format!("rat-disk-{name}-{}", std::process::id());
            let path = std::env::temp_dir().canonicalize().unwrap().join(folder);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_new_one_gets_its_folders() {
        let scratch = Scratch::new("mode");
        let path = scratch.0.join("a/b/script");
        let created = write(&path, b"one").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), (b"one".to_vec(), created));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        write(&path, b"2").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().0, b"2");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o751);
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "no temporary file is left");
    }

    #[test]
    fn hard_links_stay_one_file() {
        let scratch = Scratch::new("links");
        let (one, two) = (scratch.0.join("one"), scratch.0.join("two"));
        write(&one, b"longer").unwrap();
        fs::hard_link(&one, &two).unwrap();
        write(&one, b"new").unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"new");
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let scratch = Scratch::new("folder");
        assert!(read(&scratch.0).is_err());
        assert!(read(&scratch.0.join("none")).unwrap().is_none());
        assert!(read(Path::new("/dev/null")).is_err());
        symlink("nowhere", scratch.0.join("dangling")).unwrap();
        assert!(read(&scratch.0.join("dangling")).unwrap().is_none());
        assert!(write(&scratch.0.join("dangling"), b"new").is_err());
        assert!(!scratch.0.join("nowhere").exists());
    }

    #[test]
    fn a_link_in_the_place_of_what_was_allowed_leads_nowhere() {
        let scratch = Scratch::new("swapped");
        let path = |name: &str| scratch.0.join(name);
        for name in ["inside/file", "outside/file", "folder/file"] {
            write(&path(name), b"old").unwrap();
        }
        fs::remove_file(path("inside/file")).unwrap();
        symlink(path("outside/file"), path("inside/file")).unwrap();
        fs::remove_dir_all(path("folder")).unwrap();
        symlink(path("outside"), path("folder")).unwrap();
        for name in ["inside/file", "folder/file", "folder/new", "folder/new/deep"] {
            let error = write(&path(name), b"new").unwrap_err().to_string();
            assert!(error.contains("a symbolic link has taken its place"), "{name}: {error}");
            assert!(restore(&path(name), b"new").is_err(), "{name}");
        }
        assert!(read(&path("inside/file")).is_err() && read(&path("folder/file")).is_err());
        assert_eq!(fs::read(path("outside/file")).unwrap(), b"old");
        assert_eq!(fs::read_dir(path("outside")).unwrap().count(), 1);
    }
}
