//! Finds the executable of a command. It starts no process.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Finds the program that `command` names, as a shell would: a path, relative to `cwd`, or a name
/// that is looked up in the directories of `path`. The error is a message for the user.
pub fn find(command: &str, path: &str, cwd: &Path) -> Result<PathBuf, String> {
    if command.contains('/') {
        let program = cwd.join(command);
        if is_program(&program) {
            return Ok(program);
        }
        let what = if program.exists() { "cannot be executed" } else { "does not exist" };
        return Err(format!("{} {what}", program.display()));
    }
    // An entry may be relative, and an empty one means the current directory (POSIX).
    let found = std::env::split_paths(path).map(|folder| cwd.join(folder).join(command));
    found
        .into_iter()
        .find(|program| !command.is_empty() && is_program(program))
        .ok_or_else(|| format!("{command} is not on PATH"))
}

/// A path to run this program by, also after an update has replaced its file.
pub fn running() -> std::io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// The path of this program. After an update has replaced its file, it is that of the new one.
pub fn this_program() -> PathBuf {
    let path = std::env::current_exe().unwrap_or_default();
    // As Linux names a file that is replaced while it runs (proc(5)).
    match path.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(replaced) => replaced.into(),
        None => path,
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_would() {
        let here = Path::new("/");
        assert_eq!(find("sh", "/nowhere:/bin", here), Ok("/bin/sh".into()));
        assert_eq!(find("sh", "nowhere:bin", here), Ok("/bin/sh".into()));
        assert_eq!(find("bin/sh", "", here), Ok("/bin/sh".into()));
        assert_eq!(find("./sh", "", Path::new("/bin")), Ok("/bin/./sh".into()));
        assert_eq!(find("no-such-agent", "/bin", here), Err("no-such-agent is not on PATH".into()));
        assert_eq!(find("", "/bin", here), Err(" is not on PATH".into()));
        assert_eq!(find("/etc/passwd", "", here), Err("/etc/passwd cannot be executed".into()));
        assert_eq!(find("/no/such", "", here), Err("/no/such does not exist".into()));
    }
}
