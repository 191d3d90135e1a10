//! Files that go with a prompt as they are: read whole, up to a bound. What becomes of them is decided elsewhere.

use super::disks::Disks;
use crate::session::media::{self, HEAD};
use crate::session::prompt::{FileRead, FilesRead, most};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tokio::time::{Instant, timeout_at};

/// Reads the files the user has chosen, one after the other, until then. Each is there in what it gives, be it as
/// one that could not be read.
pub async fn read_all(disks: &Disks, paths: Vec<PathBuf>, until: Instant) -> FilesRead {
    let mut all = FilesRead::new();
    for path in paths {
        let own = path.clone();
        let read = match timeout_at(until, disks.call(&path, move |_| read(&own))).await {
            Ok(Ok(Ok(read))) => read,
            Ok(Ok(Err(error))) => FileRead::Failed(error.to_string()),
            Ok(Err(error)) => FileRead::Failed(error.to_string()),
            Err(_) => FileRead::Failed("reading it takes too long".to_owned()),
        };
        all.insert(path, read);
    }
    all
}

/// Links are followed: the user has named the file, no agent.
fn read(path: &Path) -> io::Result<FileRead> {
    let other = || io::Error::other("it is not a regular file");
    std::fs::metadata(path)?.is_file().then_some(()).ok_or_else(other)?;
    // What is there by now may be a pipe that nobody writes to.
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    metadata.is_file().then_some(()).ok_or_else(other)?;
    bounded(&file, metadata.len())
}

fn bounded(file: &File, size: u64) -> io::Result<FileRead> {
    let mut bytes = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut bytes)?;
    let media = media::sniff(&bytes);
    let most = most(media);
    if size > most as u64 {
        return Ok(FileRead::TooLarge(size));
    }
    // It may have grown meanwhile.
    file.take((most + 1 - bytes.len().min(most)) as u64).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Ok(FileRead::TooLarge(bytes.len() as u64));
    }
    Ok(FileRead::Data { data: media::encode(&bytes), size: bytes.len(), media })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::prompt::{MOST_BLOB, MOST_MEDIA};
    use std::time::Duration;

    fn made(bytes: &[u8]) -> (File, u64) {
        let path = std::env::temp_dir().join(format!(
            "rat-carry-{}-{:?}",
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
    fn each_kind_has_its_bound() {
        let png = b"\x89PNG\r\n\x1a\n";
        let sized = |head: &[u8], size: usize| {
            let mut bytes = head.to_vec();
            bytes.resize(size, 7);
            bytes
        };
        for (head, most) in [(&png[..], MOST_MEDIA), (b"\0", MOST_BLOB)] {
            let whole = sized(head, most);
            let (large, size) = made(&whole);
            let FileRead::Data { data, size, .. } = bounded(&large, size).unwrap() else {
                panic!("{most} bytes are not too many")
            };
            assert_eq!((media::decode(&data), size), (Some(whole.clone()), most));
            let (larger, size) = made(&sized(head, most + 1));
            assert_eq!(bounded(&larger, size).unwrap(), FileRead::TooLarge(most as u64 + 1));
            // It had no bytes a moment ago.
            let (grown, _) = made(&sized(head, most + 9));
            assert_eq!(bounded(&grown, 0).unwrap(), FileRead::TooLarge(most as u64 + 1));
        }
    }

    #[tokio::test]
    async fn what_is_no_file_is_told() {
        let until = Instant::now() + Duration::from_secs(60);
        let read =
            read_all(&Disks::default(), vec!["/".into(), "/nowhere/at all".into()], until).await;
        let words: Vec<_> = read.values().map(|it| format!("{it:?}")).collect();
        assert!(words[0].contains("not a regular file"), "{words:?}");
        assert!(words[1].contains("No such file"), "{words:?}");
    }
}
