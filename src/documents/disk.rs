//! Files on disk: their bytes, their facts, and replacing them without a moment in which half is
//! there. Blocks; it is run beside the loop.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

use super::disks::Call;
use super::editor::{FileTime, Stamp};
use super::limits::{MOST_EXCERPT, MOST_TEXT, MOST_TEXT_LINES};

/// So many bytes are read at once.
const PIECE: usize = 256 << 10;

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

/// What is there to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bytes {
    /// All there is, and the facts it had then.
    All(Vec<u8>, DiskFacts),
    /// More than may be held; how much.
    TooMany(u64),
}

/// The bytes of a file. `None`: there is no such file.
pub(super) fn read(path: &Path, most: u64, call: &Call) -> io::Result<Option<Bytes>> {
    let Some(mut file) = existing(path)? else { return Ok(None) };
    let metadata = file.metadata()?;
    if metadata.size() > most {
        return Ok(Some(Bytes::TooMany(metadata.size())));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.size()).unwrap_or(0) + 1);
    let mut lines = 0;
    loop {
        call.goes_on()?;
        let before = bytes.len();
        // It may grow meanwhile.
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut bytes)?;
        lines += memchr::memchr_iter(b'\n', &bytes[before..]).count();
        if bytes.len() as u64 > most || lines > MOST_TEXT_LINES {
            return Ok(Some(Bytes::TooMany(bytes.len().max(1) as u64)));
        }
        if read == 0 {
            return Ok(Some(Bytes::All(bytes, DiskFacts::from(&metadata))));
        }
    }
}

/// What is found of some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Excerpt {
    /// Them with their ends, and the facts of the file.
    Lines(Vec<u8>, DiskFacts),
    /// The file is no text whose lines can be told by their bytes: it holds NUL bytes.
    Nul,
    /// They have more bytes than may be held.
    TooLong,
    /// They begin farther from the start than is looked.
    TooDeep,
}

/// Some lines of a file, from 0, of which no more is held than they have. `None`: there is no such file.
pub(super) fn excerpt(
    path: &Path,
    lines: Range<usize>,
    most_skipped: u64,
    call: &Call,
) -> io::Result<Option<Excerpt>> {
    let Some(mut file) = existing(path)? else { return Ok(None) };
    let facts = DiskFacts::from(&file.metadata()?);
    let (mut piece, mut held, mut skipped, mut at) = (vec![0; PIECE], Vec::new(), 0, 0);
    while at < lines.end {
        call.goes_on()?;
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => &piece[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let has_nul = |bytes| memchr::memchr(0, bytes).is_some();
        let mut rest = read;
        if at < lines.start {
            skipped += read.len() as u64;
            let ends = memchr::memchr_iter(b'\n', read).count();
            if at + ends < lines.start {
                if has_nul(read) {
                    return Ok(Some(Excerpt::Nul));
                }
                at += ends;
                rest = &[];
            }
        }
        while at < lines.end && !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map(|end| end + 1);
            let (line, more) = rest.split_at(end.unwrap_or(rest.len()));
            if has_nul(line) {
                return Ok(Some(Excerpt::Nul));
            }
            if at >= lines.start {
                if held.len() + line.len() > MOST_EXCERPT {
                    return Ok(Some(Excerpt::TooLong));
                }
                held.extend_from_slice(line);
            }
            at += usize::from(end.is_some());
            rest = more;
        }
        if at < lines.start && skipped > most_skipped {
            return Ok(Some(Excerpt::TooDeep));
        }
    }
    Ok(Some(Excerpt::Lines(held, facts)))
}

fn existing(path: &Path) -> io::Result<Option<File>> {
    match open(OpenOptions::new().read(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
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
///
/// Where nobody waits for the call any more, nothing is changed: others may have written by then.
pub(super) fn write(path: &Path, bytes: &[u8], call: &Call) -> io::Result<DiskFacts> {
    match open(OpenOptions::new().read(true).write(true), path) {
        Ok(file) if file.metadata()?.nlink() > 1 => write_in_place(file, bytes, call)?,
        Ok(file) => match replace(path, bytes, call) {
            Err(error) if is_of_the_folder(&error) => write_in_place(file, bytes, call)?,
            replaced => replaced?,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_real(path)?;
            if let Some(parent) = path.parent() {
                call.goes_on()?;
                fs::create_dir_all(parent)?;
            }
            replace(path, bytes, call)?;
        }
        Err(error) => return Err(error),
    }
    fs::metadata(path).map(|metadata| DiskFacts::from(&metadata))
}

/// Gives a file back what it had, in place: where there was no room for more there is for that.
pub(super) fn restore(path: &Path, bytes: &[u8], call: &Call) -> io::Result<DiskFacts> {
    let mut file = open(OpenOptions::new().read(true).write(true), path)?;
    call.goes_on()?;
    overwrite(&mut file, bytes)?;
    file.metadata().map(|metadata| DiskFacts::from(&metadata))
}

fn replace(path: &Path, bytes: &[u8], call: &Call) -> io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    for piece in bytes.chunks(PIECE) {
        file.write_all(piece)?;
        call.goes_on()?;
    }
    // From its folder, which stays open, it comes to no other.
    check_real(path)?;
    call.goes_on()?;
    file.commit()
}

/// Whether the folder takes no new file, and a write in place may do.
fn is_of_the_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Not all at once, but if it fails, on a full disk for example, the file gets back what it had: it
/// is cut only when all is written, so that there is room.
fn write_in_place(mut file: File, bytes: &[u8], call: &Call) -> io::Result<()> {
    let mut before = Vec::new();
    (&mut file).take(MOST_TEXT + 1).read_to_end(&mut before)?;
    if before.len() as u64 > MOST_TEXT {
        return Err(io::Error::other("it has become too large to be written in place"));
    }
    call.goes_on()?;
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

    fn read(path: &Path) -> io::Result<Option<(Vec<u8>, DiskFacts)>> {
        Ok(super::read(path, MOST_TEXT, &Call::default())?.map(|bytes| match bytes {
            Bytes::All(bytes, facts) => (bytes, facts),
            Bytes::TooMany(size) => panic!("{size} bytes"),
        }))
    }

    fn write(path: &Path, bytes: &[u8]) -> io::Result<DiskFacts> {
        super::write(path, bytes, &Call::default())
    }

    fn restore(path: &Path, bytes: &[u8]) -> io::Result<DiskFacts> {
        super::restore(path, bytes, &Call::default())
    }

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

    #[test]
    fn lines_are_found_without_holding_what_is_around_them() {
        let scratch = Scratch::new("lines");
        let path = scratch.0.join("lines");
        let text: String = (0..100_000).map(|line| format!("line {line}\r\n")).collect();
        write(&path, text.as_bytes()).unwrap();
        let facts = facts(&path).unwrap();
        let call = Call::default();
        let lines = |lines| excerpt(&path, lines, u64::MAX, &call).unwrap().unwrap();
        let found = |text: &str| Excerpt::Lines(text.into(), facts);
        assert_eq!(lines(0..1), found("line 0\r\n"));
        assert_eq!(lines(77_777..77_779), found("line 77777\r\nline 77778\r\n"));
        assert_eq!(lines(99_999..200_000), found("line 99999\r\n"));
        assert_eq!(lines(100_000..usize::MAX), found(""));
        assert_eq!(lines(0..usize::MAX), found(&text));
        assert_eq!(excerpt(&scratch.0.join("no"), 0..1, 0, &call).unwrap(), None);
        assert_eq!(excerpt(&path, 90_000..90_001, 500_000, &call).unwrap(), Some(Excerpt::TooDeep));
    }

    #[test]
    fn what_is_too_large_is_told_before_it_is_held() {
        let scratch = Scratch::new("large");
        let path = scratch.0.join("large");
        let sparse = File::create(&path).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let call = Call::default();
        assert_eq!(super::read(&path, MOST_TEXT, &call).unwrap(), Some(Bytes::TooMany(1 << 40)));
        assert_eq!(excerpt(&path, 0..1, 0, &call).unwrap(), Some(Excerpt::Nul));
        // One line, and very many.
        write(&path, &vec![b'x'; MOST_EXCERPT + 1]).unwrap();
        assert_eq!(excerpt(&path, 0..1, 0, &call).unwrap(), Some(Excerpt::TooLong));
        write(&path, &vec![b'\n'; MOST_TEXT_LINES + 1]).unwrap();
        assert!(matches!(super::read(&path, MOST_TEXT, &call).unwrap(), Some(Bytes::TooMany(_))));
    }
}
