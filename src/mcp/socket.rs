//! The socket through which pipes reach the bridge, in a folder that only the user can enter. It is removed with the bridge; if
//! that is killed, by the watchdog of an agent, or by the next bridge.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::net::UnixListener;

/// The environment variable that tells a pipe where the socket is.
pub(super) const SOCKET_VARIABLE: &str = "RAT_NVIM_SOCKET";
/// The one that holds the token, by which a pipe shows for which session it speaks.
pub(super) const TOKEN_VARIABLE: &str = "RAT_NVIM_TOKEN";

/// The beginning of the names of the folders, which the process id and a number follow.
const PREFIX: &str = "rat.nvim-mcp-";
/// The name of the socket. With the folder it must fit into 107 bytes (`man 7 unix`).
const NAME: &str = "s";

/// A socket that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Socket {
    folder: PathBuf,
    path: PathBuf,
    /// The user whose socket it is.
    pub(super) user: u32,
}

impl Socket {
    /// Binds a socket in a new folder. Removes those of bridges that were killed.
    pub(super) fn bind(folder: PathBuf) -> io::Result<(Self, UnixListener)> {
        // Fails if there is something already, which another user may have put there.
        DirBuilder::new().mode(0o700).create(&folder)?;
        let user = fs::symlink_metadata(&folder)?.uid();
        if let Some(parent) = folder.parent() {
            remove_stale(parent, user);
        }
        let path = folder.join(NAME);
        let socket = Self { folder, path, user };
        let listener = UnixListener::bind(&socket.path)?;
        Ok((socket, listener))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Returns a folder for a socket of this process, which no other has. It is not created.
pub fn new_folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parent = of_user.filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("{PREFIX}{}-{number}", std::process::id()))
}

/// Removes a folder with its socket.
fn remove(folder: &Path) {
    let _ = fs::remove_file(folder.join(NAME));
    let _ = fs::remove_dir(folder);
}

/// Removes the folders of this user's bridges that were killed: nobody listens there.
fn remove_stale(parent: &Path, user: u32) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == user);
        if is_ours && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            remove_if_stale(&entry.path());
        }
    }
}

/// Removes the folder of a socket if nobody listens there.
pub fn remove_if_stale(folder: &Path) {
    let refused = UnixStream::connect(folder.join(NAME)).err();
    if refused.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        remove(folder);
    }
}
