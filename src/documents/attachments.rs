//! Reads files that are attached to a prompt, up to a size limit. How they are sent is decided by `session::prompt`.

use super::disks::Disks;
use crate::session::media::{self, HEAD};
use crate::session::prompt::{FileRead, FilesRead, size_limit};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use tokio::time::{Instant, timeout_at};

/// Reads the files one after the other. The result has an entry for every path; those not read by the deadline are
/// [`FileRead::Failed`].
pub async fn read_all(disks: &Disks, paths: Vec<PathBuf>, deadline: Instant) -> FilesRead {
    let mut all = FilesRead::new();
    for path in paths {
        let own = path.clone();
        let read = match timeout_at(deadline, disks.call(&path, move |_| read(&own))).await {
            Ok(Ok(Ok(read))) => read,
            Ok(Ok(Err(error))) => FileRead::Failed(error.to_string()),
            Ok(Err(error)) => FileRead::Failed(error.to_string()),
            Err(_) => FileRead::Failed("reading it took too long".to_owned()),
        };
        all.insert(path, read);
    }
    all
}

/// Follows symbolic links, since it was the user who chose the file.
fn read(path: &Path) -> io::Result<FileRead> {
    let other = || io::Error::other("it is not a regular file");
    std::fs::metadata(path)?.is_file().then_some(()).ok_or_else(other)?;
    // O_NONBLOCK: the file may have been replaced by a pipe that nobody writes to.
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    metadata.is_file().then_some(()).ok_or_else(other)?;
    let changed = metadata.modified().ok();
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    read_bounded(&file, metadata.len(), changed.map(|time| time.as_secs()))
}

/// Reads a file of `size` bytes, unless that is more than is sent of its kind.
fn read_bounded(file: &File, size: u64, changed: Option<u64>) -> io::Result<FileRead> {
    let mut bytes = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut bytes)?;
    let media = media::sniff(&bytes);
    let max_size = size_limit(media);
    if size > max_size as u64 {
        return Ok(FileRead::TooLarge { bytes: size, changed });
    }
    // The file may have grown since.
    file.take((max_size + 1 - bytes.len().min(max_size)) as u64).read_to_end(&mut bytes)?;
    if bytes.len() > max_size {
        return Ok(FileRead::TooLarge { bytes: bytes.len() as u64, changed });
    }
    Ok(FileRead::Data { data: media::encode(&bytes), size: bytes.len(), media, changed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::prompt::{MAX_BLOB, MAX_MEDIA};
    use std::time::Duration;

    /// An open file with this content, and its size.
    fn temporary(bytes: &[u8]) -> (File, u64) {
        let path = std::env::temp_dir().join(format!(
            "rat-attachment-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let size = file.metadata().unwrap().len();
        (file, size)
    }

    #[test]
    fn each_kind_has_its_size_limit() {
        let png = b"\x89PNG\r\n\x1a\n";
        let sized = |head: &[u8], size: usize| {
            let mut bytes = head.to_vec();
            bytes.resize(size, 7);
            bytes
        };
        for (head, max_size) in [(&png[..], MAX_MEDIA), (b"\0", MAX_BLOB)] {
            let whole = sized(head, max_size);
            let (large, size) = temporary(&whole);
            let FileRead::Data { data, size, .. } = read_bounded(&large, size, None).unwrap()
            else {
                panic!("{max_size} bytes are not too many")
            };
            assert_eq!((media::decode(&data), size), (Some(whole.clone()), max_size));
            let too_large = FileRead::TooLarge { bytes: max_size as u64 + 1, changed: None };
            let (larger, size) = temporary(&sized(head, max_size + 1));
            assert_eq!(read_bounded(&larger, size, None).unwrap(), too_large);
            // A file that was empty when its size was read.
            let (grown, _) = temporary(&sized(head, max_size + 9));
            assert_eq!(read_bounded(&grown, 0, None).unwrap(), too_large);
        }
    }

    #[tokio::test]
    async fn what_is_not_a_file_is_an_error() {
        let deadline = Instant::now() + Duration::from_secs(60);
        let paths = vec!["/".into(), "/nowhere/at all".into()];
        let files = read_all(&Disks::default(), paths, deadline).await;
        let results: Vec<_> = files.values().map(|file| format!("{file:?}")).collect();
        assert!(results[0].contains("not a regular file"), "{results:?}");
        assert!(results[1].contains("No such file"), "{results:?}");
    }
}
