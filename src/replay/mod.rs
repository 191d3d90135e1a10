//! `rat-nvim replay`: plays a session that `:RatTrace save` has saved, as an agent on stdin and stdout. It shares only `jsonrpc`
//! with the rest of the crate, which treats it like any other agent.

mod play;
mod recording;
mod rewrite;

use play::Player;
use recording::Recording;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit code for a file that cannot be played.
const UNUSABLE: u8 = 2;

/// Plays a file until stdin ends. What is wrong with the file goes to stderr, in one line.
pub fn run(file: &Path) -> ExitCode {
    let played = std::fs::read(file).map_err(|error| format!("cannot be read: {error}"));
    let played = played.and_then(|bytes| play(&bytes, io::stdin(), io::stdout()));
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nothing is left to do if stderr is closed.
            let _ = writeln!(io::stderr(), "rat-nvim replay: {}: {why}", file.display());
            UNUSABLE.into()
        }
    }
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
