//! Keeps `.openoxide/sessions/.current`, which names the session that a folder is at.

use crate::process::short_file::content;
use crate::session::ids::SessionId;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Longest id that is read, in bytes.
const MAX_ID: usize = 200;

const FOLDERS: [&str; 2] = [".openoxide", "sessions"];
const NAME: &str = ".current";

/// Returns the session that is named in `folder`.
pub(super) fn read(folder: &Path) -> Option<SessionId> {
    let place = FOLDERS.iter().fold(folder.to_owned(), |path, name| path.join(name));
    let id = content(&place.join(NAME))?;
    let is_id = !id.is_empty()
        && id.len() <= MAX_ID
        && !id.contains(|char: char| char.is_whitespace() || char.is_control());
    is_id.then(|| id.into())
}

/// Names the session that is open in `folder` now. What is there already is replaced as a whole, and no link is followed, since
/// a project can bring its own.
pub(super) fn write(folder: &Path, session: &SessionId) -> io::Result<()> {
    if read(folder).as_ref() == Some(session) {
        return Ok(());
    }
    let place = made(folder)?;
    let new = place.join(format!("{NAME}.{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&new)
        .and_then(|mut file| writeln!(file, "{session}"))
        .and_then(|()| fs::rename(&new, place.join(NAME)));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn made(folder: &Path) -> io::Result<PathBuf> {
    let mut place = folder.to_owned();
    for name in FOLDERS {
        place.push(name);
        match place.symlink_metadata() {
            Ok(kind) if kind.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{} is no folder", place.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&place)?,
            Err(error) => return Err(error),
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Holds (Dialects): What a project brings as `.openoxide` leads to no file elsewhere.
    #[test]
    fn the_current_session_is_kept_in_the_folder() {
        let folder = std::env::temp_dir().join(format!("rat-current-{}", std::process::id()));
        let elsewhere = folder.join("elsewhere");
        let project = folder.join("project");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(&project).unwrap();
        assert_eq!(read(&project), None);
        for id in ["o1", "o2"] {
            write(&project, &id.into()).unwrap();
            assert_eq!(read(&project), Some(id.into()));
        }
        let file = project.join(".openoxide/sessions/.current");
        assert_eq!(fs::read_to_string(&file).unwrap(), "o2\n");
        fs::write(elsewhere.join("kept"), "mine").unwrap();
        fs::remove_file(&file).unwrap();
        symlink(elsewhere.join("kept"), &file).unwrap();
        write(&project, &"o3".into()).unwrap();
        assert_eq!(fs::read_to_string(elsewhere.join("kept")).unwrap(), "mine");
        assert_eq!(read(&project), Some("o3".into()));
        for (content, id) in [("a b", None), ("", None), ("x\n", Some("x".into()))] {
            fs::write(&file, content).unwrap();
            assert_eq!(read(&project), id, "{content}");
        }
        fs::remove_dir_all(project.join(".openoxide")).unwrap();
        symlink(&elsewhere, project.join(".openoxide")).unwrap();
        assert!(write(&project, &"o4".into()).is_err());
        assert!(!elsewhere.join("sessions").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
