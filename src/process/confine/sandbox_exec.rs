//! Confines a program on macOS: `sandbox-exec` (`man sandbox-exec`) takes on a profile and becomes the program. Nobody has tried
//! it on macOS yet.

use super::kernel::Kernel;
use super::profile::profile;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "/usr/bin/sandbox-exec";

pub(super) fn kernel() -> Kernel {
    if Path::new(PROGRAM).exists() { Kernel::Untried } else { Kernel::Without }
}

/// Returns the command that confines itself to these paths and ports, `None` being all of them, and becomes the program.
/// The error is one line for the user.
pub(super) fn restrict(
    write: &[PathBuf],
    hide: &[PathBuf],
    ports: Option<&[u16]>,
    command: Vec<OsString>,
) -> Result<Vec<OsString>, String> {
    let profile = profile(write, hide, ports)?;
    let mut all: Vec<OsString> = vec![PROGRAM.into(), "-p".into(), profile.into()];
    all.extend(command);
    Ok(all)
}
