//! Where a program is. Starts none.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program that `command` names: a path (relative ones from `cwd`), or a name looked up on `path`, the way a
/// shell would. The error says in words why there is none.
pub fn find(command: &str, path: &str, cwd: &Path) -> Result<PathBuf, String> {
    if command.contains('/') {
        let program = cwd.join(command);
        if is_program(&program) {
            return Ok(program);
        }
        let what = if program.exists() { "cannot be executed" } else { "does not exist" };
        return Err(format!("{} {what}", program.display()));
    }
    // An entry may be relative, and an empty one means the working directory (POSIX).
    let found = std::env::split_paths(path).map(|folder| cwd.join(folder).join(command));
    found
        .into_iter()
        .find(|program| !command.is_empty() && is_program(program))
        .ok_or_else(|| format!("{command} is not on PATH"))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_a_shell_would_find_them() {
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
