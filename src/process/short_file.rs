//! Reads short files in places that an agent can write to.

use nix::libc::O_NONBLOCK;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// How much of a file is read.
const MAX_BYTES: u64 = 1 << 20;

/// The text of a short file. An agent may have put something else there, such as a FIFO, which nobody would write to, or a link to
/// a device without an end.
pub fn content(path: &Path) -> Option<String> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}
