//! Writes content to a file that the user, or the editor for them, has named. Blocks; it is run beside the loop.

use crate::core::content::{Bytes, Export, Exported};
use crate::session::media;
use atomic_write_file::AtomicWriteFile;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Writes the file. One that is there stays as it is unless it is to be replaced.
pub fn write(export: &Export, bytes: Bytes) -> Exported {
    let bytes = match bytes {
        Bytes::Text(text) => text.into_bytes(),
        Bytes::Base64(data) => match media::decode(&data) {
            Some(bytes) => bytes,
            None => return Exported::Failed("its data are damaged".to_owned()),
        },
    };
    let written =
        if export.replace { replace(&export.path, &bytes) } else { create(&export.path, &bytes) };
    match written {
        Ok(()) => Exported::Done,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Exported::Exists,
        Err(error) => Exported::Failed(error.to_string()),
    }
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes).inspect_err(|_| {
        // Half of it is of no use, and nothing was there before.
        let _ = std::fs::remove_file(path);
    })
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    file.write_all(bytes)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_replaced_unasked() {
        let folder = std::env::temp_dir().join(format!("rat-export-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        let export = |replace| Export { path: path.clone(), replace, then: None };
        let text = |text: &str| Bytes::Text(text.to_owned());
        assert_eq!(write(&export(false), text("one")), Exported::Done);
        assert_eq!(write(&export(false), text("two")), Exported::Exists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        let damaged = Bytes::Base64("?".to_owned());
        assert_eq!(write(&export(true), damaged), Exported::Failed("its data are damaged".into()));
        assert_eq!(write(&export(true), Bytes::Base64("dHdv".to_owned())), Exported::Done);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        let nowhere = Export { path: folder.join("b/c"), replace: false, then: None };
        assert!(matches!(write(&nowhere, text("")), Exported::Failed(_)));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
