//! Writes content of a transcript to a file whose path the user, or the editor on their behalf, has chosen. Blocks, so
//! run it on a blocking thread.

use crate::core::messages::content::{ContentBytes, ExportOutcome, ExportTarget};
use crate::session::media;
use atomic_write_file::AtomicWriteFile;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Writes the file. An existing file is overwritten only if `export.replace` is set.
pub fn write(export: &ExportTarget, bytes: ContentBytes) -> ExportOutcome {
    let bytes = match bytes {
        ContentBytes::Text(text) => text.into_bytes(),
        ContentBytes::Base64(data) => match media::decode(&data) {
            Some(bytes) => bytes,
            None => return ExportOutcome::Failed("its data is damaged".to_owned()),
        },
    };
    let written =
        if export.replace { replace(&export.path, &bytes) } else { create(&export.path, &bytes) };
    match written {
        Ok(()) => ExportOutcome::Done,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => ExportOutcome::Exists,
        Err(error) => ExportOutcome::Failed(error.to_string()),
    }
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes).inspect_err(|_| {
        // Half a file is of no use, and there was none before.
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
    fn an_existing_file_is_replaced_only_on_request() {
        let folder = std::env::temp_dir().join(format!("rat-export-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        let export = |replace| ExportTarget { path: path.clone(), replace, then: None };
        let text = |text: &str| ContentBytes::Text(text.to_owned());
        assert_eq!(write(&export(false), text("one")), ExportOutcome::Done);
        assert_eq!(write(&export(false), text("two")), ExportOutcome::Exists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        let damaged = ContentBytes::Base64("?".to_owned());
        assert_eq!(
            write(&export(true), damaged),
            ExportOutcome::Failed("its data is damaged".into())
        );
        assert_eq!(
            write(&export(true), ContentBytes::Base64("dHdv".to_owned())),
            ExportOutcome::Done
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        let nowhere = ExportTarget { path: folder.join("b/c"), replace: false, then: None };
        assert!(matches!(write(&nowhere, text("")), ExportOutcome::Failed(_)));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
