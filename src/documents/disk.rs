//! Reads and writes the bytes of files: as a whole, a range of lines, or by atomic replacement. Opens files by their
//! real paths only, never through symbolic links. Everything here blocks and is called through `disks`.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::disks::Call;
use super::facts::DiskFacts;
use super::limits::{MAX_EXCERPT_SIZE, MAX_TEXT_LINES, MAX_TEXT_SIZE};
use super::replacement::Replacement;

/// How many bytes are read or written between two reports of progress.
const CHUNK: usize = 256 << 10;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// The result of reading a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bytes {
    /// Its bytes, and its facts when it was opened.
    All(Vec<u8>, DiskFacts),
    /// It exceeds a limit; how many bytes it has, or had when reading stopped.
    TooMany(u64),
}

/// Reads a file of at most `max_size` bytes and [`MAX_TEXT_LINES`] lines. `None` if it does not exist.
pub(super) fn read(path: &Path, max_size: u64, call: &Call) -> io::Result<Option<Bytes>> {
    let Some(mut file) = open_existing(path)? else { return Ok(None) };
    let metadata = file.metadata()?;
    if metadata.size() > max_size {
        return Ok(Some(Bytes::TooMany(metadata.size())));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.size()).unwrap_or(0) + 1);
    let mut lines = 0;
    loop {
        call.report_progress()?;
        let before = bytes.len();
        // The file may have grown since.
        let read = (&mut file).take(CHUNK as u64).read_to_end(&mut bytes)?;
        lines += memchr::memchr_iter(b'\n', &bytes[before..]).count();
        if bytes.len() as u64 > max_size || lines > MAX_TEXT_LINES {
            return Ok(Some(Bytes::TooMany(bytes.len().max(1) as u64)));
        }
        if read == 0 {
            return Ok(Some(Bytes::All(bytes, DiskFacts::from(&metadata))));
        }
    }
}

/// The result of reading a range of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Excerpt {
    /// The lines with their line ends, and the facts of the file.
    Lines(Vec<u8>, DiskFacts),
    /// The file has NUL bytes: it is binary, or in an encoding whose lines cannot be found without decoding it.
    Nul,
    /// The lines have more than [`MAX_EXCERPT_SIZE`] bytes.
    TooLong,
    /// The lines begin too far from the start of the file.
    TooDeep,
}

/// Reads a range of lines, counted from 0, without holding the rest of the file in memory. The range has to begin
/// within the first `max_skipped` bytes, give or take a chunk. `None` if the file does not exist.
pub(super) fn excerpt(
    path: &Path,
    lines: Range<usize>,
    max_skipped: u64,
    call: &Call,
) -> io::Result<Option<Excerpt>> {
    let Some(mut file) = open_existing(path)? else { return Ok(None) };
    let facts = DiskFacts::from(&file.metadata()?);
    let (mut buffer, mut excerpt, mut skipped, mut at) = (vec![0; CHUNK], Vec::new(), 0, 0);
    while at < lines.end {
        call.report_progress()?;
        let chunk = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let has_nul = |bytes| memchr::memchr(0, bytes).is_some();
        let mut rest = chunk;
        if at < lines.start {
            skipped += chunk.len() as u64;
            let ends = memchr::memchr_iter(b'\n', chunk).count();
            if at + ends < lines.start {
                if has_nul(chunk) {
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
                if excerpt.len() + line.len() > MAX_EXCERPT_SIZE {
                    return Ok(Some(Excerpt::TooLong));
                }
                excerpt.extend_from_slice(line);
            }
            at += usize::from(end.is_some());
            rest = more;
        }
        if at < lines.start && skipped > max_skipped {
            return Ok(Some(Excerpt::TooDeep));
        }
    }
    Ok(Some(Excerpt::Lines(excerpt, facts)))
}

/// Opens a file for reading. `None` if it does not exist.
fn open_existing(path: &Path) -> io::Result<Option<File>> {
    match open(OpenOptions::new().read(true), path) {
        Err(error) if is_of_nothing(&error) => Ok(None),
        file => file.map(Some),
    }
}

/// Deletes a file. Succeeds if it does not exist.
pub(super) fn delete(path: &Path) -> io::Result<()> {
    check_real(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        deleted => deleted,
    }
}

/// Creates the missing folders above a file.
pub(super) fn create_folders(path: &Path) -> io::Result<()> {
    check_real(path)?;
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Gives a path a file of its own, with the same content, times and mode, if its file has other names (hard links): what is
/// written to the path then changes nothing under those.
pub(super) fn separate(path: &Path, call: &Call) -> io::Result<()> {
    let mut file = open(OpenOptions::new().read(true), path)?;
    let metadata = file.metadata()?;
    if metadata.nlink() < 2 {
        return Ok(());
    }
    let mut new = Replacement::of(path)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            count => new.write_all(&chunk[..count])?,
        }
        call.report_progress()?;
    }
    new.set_modified(metadata.modified()?)?;
    check_real(path)?;
    call.report_progress()?;
    new.commit(path)
}

/// Gives a file the permissions in `mode`.
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let file = open(OpenOptions::new().read(true), path)?;
    file.set_permissions(fs::Permissions::from_mode(mode & PERMISSIONS))
}

/// Fails if a path is no longer a real path: since access was granted, the file or a folder above it may have been
/// replaced by a symbolic link to somewhere else. Components that do not exist are skipped.
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

/// Opens a regular file by its real path. Checks the type before opening, since opening a device may have side effects,
/// and again afterwards, since the file may have been replaced. For the same reason opening neither follows a symbolic
/// link nor waits for the other end of a pipe.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let check_type = |metadata: &Metadata| {
        let error = || io::Error::other("it is not a regular file");
        metadata.is_file().then_some(()).ok_or_else(error)
    };
    check_type(&fs::metadata(path)?)?;
    check_real(path)?;
    let file = options.custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOFOLLOW).open(path)?;
    check_type(&file.metadata()?)?;
    check_real(path)?;
    Ok(file)
}

/// Returns the facts of a regular file. `None` if there is none of that name; it may be a folder.
pub(super) fn facts(path: &Path) -> Option<DiskFacts> {
    let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some(DiskFacts::from(&metadata))
}

/// When a file, or what it is a link to, last changed in any way; if there is none, when something last changed in its folder.
pub(super) fn changed_at(path: &Path) -> Option<SystemTime> {
    let of = match fs::metadata(path) {
        Err(error) if is_of_nothing(&error) => fs::metadata(path.parent()?).ok()?,
        of => of.ok()?,
    };
    let (seconds, nanoseconds) = (of.ctime().try_into().ok()?, of.ctime_nsec().try_into().ok()?);
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}

/// Whether nothing exists at this path, not even a dangling symbolic link.
pub(super) fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_of_nothing(&error))
}

/// Whether an error says that there is nothing at a path. A folder on the way may have become something else.
fn is_of_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Replaces the content of a file atomically and preserves its mode and owner; or creates it, with missing parent
/// folders. A file that has several hard links, or is in a folder that cannot be written to, is overwritten in place
/// instead.
///
/// Changes nothing once the call has been given up: somebody else may have written the file by then.
pub(super) fn write(path: &Path, bytes: &[u8], call: &Call) -> io::Result<DiskFacts> {
    match open(OpenOptions::new().read(true).write(true), path) {
        Ok(file) if file.metadata()?.nlink() > 1 => write_in_place(file, bytes, call)?,
        Ok(file) => match replace(path, bytes, call) {
            Err(error) if is_folder_read_only(&error) => write_in_place(file, bytes, call)?,
            replaced => replaced?,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_real(path)?;
            if let Some(parent) = path.parent() {
                call.report_progress()?;
                fs::create_dir_all(parent)?;
            }
            replace(path, bytes, call)?;
        }
        Err(error) => return Err(error),
    }
    fs::metadata(path).map(|metadata| DiskFacts::from(&metadata))
}

/// Overwrites a file in place with its previous content. On a full disk there is room for that, since the file had it
/// before.
pub(super) fn restore(path: &Path, bytes: &[u8], call: &Call) -> io::Result<DiskFacts> {
    let mut file = open(OpenOptions::new().read(true).write(true), path)?;
    call.report_progress()?;
    overwrite(&mut file, bytes)?;
    file.metadata().map(|metadata| DiskFacts::from(&metadata))
}

fn replace(path: &Path, bytes: &[u8], call: &Call) -> io::Result<()> {
    let mut new = Replacement::of(path)?;
    for chunk in bytes.chunks(CHUNK) {
        new.write_all(chunk)?;
        call.report_progress()?;
    }
    // It is named within its folder, which is held open, so after this check it cannot end up elsewhere.
    check_real(path)?;
    call.report_progress()?;
    new.commit(path)
}

/// Whether creating the temporary file failed because of the folder, in which case the file itself may still be
/// writable.
fn is_folder_read_only(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Overwrites a file. This is not atomic, but if it fails, on a full disk for example, the previous content is
/// restored. There is room for that because the file is only truncated after everything has been written.
fn write_in_place(mut file: File, bytes: &[u8], call: &Call) -> io::Result<()> {
    let mut before = Vec::new();
    (&mut file).take(MAX_TEXT_SIZE + 1).read_to_end(&mut before)?;
    if before.len() as u64 > MAX_TEXT_SIZE {
        return Err(io::Error::other("it has become too large to be written in place"));
    }
    call.report_progress()?;
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
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    /// A temporary folder, removed on drop.
    struct Scratch(PathBuf);

    fn read(path: &Path) -> io::Result<Option<(Vec<u8>, DiskFacts)>> {
        Ok(super::read(path, MAX_TEXT_SIZE, &Call::default())?.map(|bytes| match bytes {
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
    fn only_regular_files_are_opened() {
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
    fn a_symbolic_link_that_replaces_a_file_or_folder_is_refused() {
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
    fn lines_are_read_without_the_rest_of_the_file() {
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

    /// Holds (Reading files): A file too large to hold is refused before it is read.
    #[test]
    fn a_file_that_is_too_large_is_reported_before_it_is_read() {
        let scratch = Scratch::new("large");
        let path = scratch.0.join("large");
        let sparse = File::create(&path).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let call = Call::default();
        assert_eq!(
            super::read(&path, MAX_TEXT_SIZE, &call).unwrap(),
            Some(Bytes::TooMany(1 << 40))
        );
        assert_eq!(excerpt(&path, 0..1, 0, &call).unwrap(), Some(Excerpt::Nul));
        // One very long line, and very many lines.
        write(&path, &vec![b'x'; MAX_EXCERPT_SIZE + 1]).unwrap();
        assert_eq!(excerpt(&path, 0..1, 0, &call).unwrap(), Some(Excerpt::TooLong));
        write(&path, &vec![b'\n'; MAX_TEXT_LINES + 1]).unwrap();
        assert!(matches!(
            super::read(&path, MAX_TEXT_SIZE, &call).unwrap(),
            Some(Bytes::TooMany(_))
        ));
    }
}
