//! Files on disk: their bytes, their facts, and replacing them without a moment in which half is
//! there. Blocks; it is run beside the loop.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

use super::editor::{Encoding, FileTime};

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

impl From<&Metadata> for DiskFacts {
    fn from(of: &Metadata) -> Self {
        let time = FileTime { seconds: of.mtime(), nanoseconds: of.mtime_nsec() };
        Self { time, size: of.size(), inode: of.ino(), mode: of.mode() }
    }
}

/// The bytes of a file, and the facts it had when they were read. `None`: there is no such file.
pub(super) fn read(path: &Path) -> io::Result<Option<(Vec<u8>, DiskFacts)>> {
    // Looked at first: opening a pipe would wait for its other end.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.size()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(Some((bytes, DiskFacts::from(&metadata))))
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
    match OpenOptions::new().write(true).open(path) {
        Ok(file) if file.metadata()?.nlink() > 1 => write_in_place(file, bytes)?,
        Ok(file) => {
            if replace(path, bytes).is_err() {
                write_in_place(file, bytes)?;
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            replace(path, bytes)?;
        }
        Err(error) => return Err(error),
    }
    fs::metadata(path).map(|metadata| DiskFacts::from(&metadata))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    file.write_all(bytes)?;
    file.commit()
}

fn write_in_place(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Bytes as text. An error says why they are none.
pub(super) fn decode(bytes: Vec<u8>, encoding: &Encoding) -> Result<String, String> {
    if bytes.contains(&0) {
        return Err("it holds NUL bytes".to_owned());
    }
    match encoding {
        Encoding::Utf8 => String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()),
        Encoding::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
        Encoding::Other(name) => Err(format!("its 'fileencoding' is {name}")),
    }
}

/// Text as bytes. An error names the first character that the encoding does not have.
pub(super) fn encode(content: String, encoding: &Encoding) -> Result<Vec<u8>, String> {
    match encoding {
        Encoding::Utf8 => Ok(content.into_bytes()),
        Encoding::Latin1 => content
            .chars()
            .map(|c| u8::try_from(c).map_err(|_| format!("latin1 has no {c:?}")))
            .collect(),
        Encoding::Other(name) => Err(format!("its 'fileencoding' is {name}")),
    }
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
    }

    #[test]
    fn text_is_what_the_encoding_says() {
        assert_eq!(decode(b"caf\xe9".to_vec(), &Encoding::Latin1).unwrap(), "café");
        assert_eq!(encode("café".into(), &Encoding::Latin1).unwrap(), b"caf\xe9");
        assert!(encode("€".into(), &Encoding::Latin1).unwrap_err().contains('€'));
        assert!(decode(b"caf\xe9".to_vec(), &Encoding::Utf8).is_err());
        assert!(decode(b"a\0b".to_vec(), &Encoding::Utf8).is_err());
    }
}
