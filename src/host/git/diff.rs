//! `rat-nvim diff`: what has changed in a repository since its last commit, for `@diff`. It is a program of its own, so that
//! Neovim can end it.

use super::repository::Repository;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Builder;

/// How long git may take: a prompt does not wait longer for it (`rat.context.resolve`).
const LIMIT: Duration = Duration::from_secs(10);

const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    // For what has changed in a repository inside of this one, git would run in there, with its configuration.
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--relative",
    "HEAD",
    "--",
];

/// Writes the changes below a folder to stdout, up to a number of bytes, or what is wrong to stderr. What git needs meanwhile is
/// kept in `below`.
pub fn run(folder: &Path, below: &Path, limit: u64) -> ExitCode {
    let runtime = Builder::new_current_thread().enable_all().build();
    let written = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(write(folder, below, limit)));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // There is nowhere else to say that stderr is closed.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

async fn write(folder: &Path, below: &Path, limit: u64) -> Result<(), String> {
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let repository = Repository::of(&folder, below).await?;
    // Git notes in the index which files it has found unchanged.
    let index = repository.copy_index("index").await?;
    let diff = repository.git_in(&folder).index(&index).args(DIFF);
    diff.pipe(limit, LIMIT, tokio::io::stdout()).await
}
