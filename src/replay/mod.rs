//! `rat-nvim replay`: plays a session that `:RatTrace save` has saved, as an agent on stdin and stdout. It shares only `jsonrpc`
//! with the rest of the crate, which treats it like any other agent.

mod play;
mod recording;
mod rewrite;

use nix::fcntl::OFlag;
use play::Player;
use recording::Recording;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;

/// The largest file that is played, in bytes: more than the traffic that is kept of a session.
const MAX_BYTES: u64 = 1 << 30;

/// The exit code for a file that cannot be played.
const UNUSABLE: u8 = 2;

/// Plays a file until stdin ends. What is wrong with the file goes to stderr, in one line.
pub fn run(file: &Path) -> ExitCode {
    let played = read(file).and_then(|bytes| play(&bytes, io::stdin(), io::stdout()));
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nothing is left to do if stderr is closed.
            let _ = writeln!(io::stderr(), "rat-nvim replay: {}: {why}", file.display());
            UNUSABLE.into()
        }
    }
}

/// Reads a saved session. Anything but a file may have no end, or nobody who writes.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    let about = std::fs::metadata(file).map_err(cannot)?;
    if !about.is_file() {
        return Err("is not a file".to_owned());
    }
    if about.len() > MAX_BYTES {
        return Err(format!("is larger than {} MB", MAX_BYTES >> 20));
    }
    // It may have been exchanged, or grow.
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(file);
    let mut bytes = Vec::new();
    opened.map_err(cannot)?.take(MAX_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}

/// Plays the text of a file until `input` ends. Fails only if the text is no saved session.
pub fn play(
    file: &[u8],
    input: impl Read + Send + 'static,
    output: impl Write,
) -> Result<(), String> {
    let recording = Recording::parse(file)?;
    // Nobody is left to be told that the other end is gone.
    let _ = Player::new(&recording, input, output).run();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;

    /// Holds (Traffic): What is no file is not played: a FIFO, a device, a folder.
    #[test]
    fn what_may_have_no_end_is_not_read() {
        let fifo = std::env::temp_dir().join(format!("rat-replay-{}", std::process::id()));
        nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), Path::new("/")] {
            assert_eq!(read(path), Err("is not a file".to_owned()), "{}", path.display());
        }
        std::fs::remove_file(fifo).unwrap();
    }
}
