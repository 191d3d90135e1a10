//! How a command is started: found, given a pseudo terminal for what it writes and nothing to read.

use crate::core::command::Launch;
use crate::process::group::{Group, Watchdog};
use crate::process::program;
use crate::process::strays::{self, Mark};
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, OutputFlags, SetArg, tcgetattr, tcsetattr};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

/// The size commands see. As wide as tables of programs need; what is wider is wrapped where it is shown.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// What a shell does more with than to find a program.
const SYNTAX: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '"', '\'', '\\', '*', '?', '[', '#', '~', '=',
    '{', '!',
];

/// Starts a command as the leader of a process group of its own. Gives where its stdout and stderr can be read,
/// both as one; its stdin is empty. The error says in one line why it does not run.
pub(super) fn start(
    launch: &Launch,
    watchdog: Option<&Watchdog>,
) -> Result<(Group, Receiver), String> {
    if !launch.cwd.is_dir() {
        return Err(format!(
            "{} is not a folder, so nothing can start in it",
            launch.cwd.display()
        ));
    }
    let env: HashMap<&str, &str> =
        launch.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let (program, args) = resolve(launch, &env)?;
    let in_words = |error: std::io::Error| format!("{}: {error}", program.display());
    let (reader, writer) = output().map_err(in_words)?;
    // A pseudo terminal is read as a pipe is.
    let reader = Receiver::from_file_unchecked(reader).map_err(in_words)?;
    let mark = Mark::new();
    let child = Command::new(&program)
        .args(args)
        .env_clear()
        .envs(&env)
        .env(strays::VARIABLE, mark.as_str())
        .current_dir(&launch.cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(in_words)?)
        .stderr(writer)
        .kill_on_drop(true)
        .spawn()
        .map_err(in_words)?;
    let group = Group::new(child, mark, watchdog);
    group.map(|group| (group, reader)).ok_or_else(|| "it ended before it began".to_owned())
}

/// The program and its arguments. Agents also send whole command lines, which are for the user's shell.
fn resolve(launch: &Launch, env: &HashMap<&str, &str>) -> Result<(PathBuf, Vec<String>), String> {
    let path = env.get("PATH").copied().unwrap_or_default();
    let error = match program::find(&launch.command, path, &launch.cwd) {
        Ok(program) => return Ok((program, launch.args.clone())),
        Err(error) => error,
    };
    let is_line = |c: char| c.is_whitespace() || SYNTAX.contains(&c);
    if !launch.args.is_empty() || !launch.command.contains(is_line) {
        return Err(error);
    }
    let shell = env.get("SHELL").and_then(|shell| program::find(shell, path, &launch.cwd).ok());
    let shell = shell.unwrap_or_else(|| Path::new("/bin/sh").to_owned());
    Ok((shell, vec!["-c".to_owned(), launch.command.clone()]))
}

/// Both ends of what carries the output. A pseudo terminal, since programs write line by line to one and in large blocks
/// to a pipe; a pipe where there are no pseudo terminals.
fn output() -> std::io::Result<(File, OwnedFd)> {
    let (reader, writer) = pseudo_terminal().or_else(|error| {
        tracing::warn!(target: "terminal", %error, "no pseudo terminal: output comes in blocks");
        std::io::pipe().map(|(reader, writer)| (reader.into(), writer.into()))
    })?;
    let flags = OFlag::from_bits_truncate(fcntl(&reader, FcntlArg::F_GETFL)?);
    fcntl(&reader, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok((File::from(reader), writer))
}

/// Nobody's controlling terminal: programs that would ask for a password or a key on `/dev/tty` fail instead.
fn pseudo_terminal() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let pty = openpty(Some(&SIZE), None)?;
    for end in [&pty.master, &pty.slave] {
        // Other processes that start meanwhile must not hold it open.
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    let mut settings = tcgetattr(&pty.slave)?;
    settings.output_flags.remove(OutputFlags::OPOST | OutputFlags::ONLCR);
    settings.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&pty.slave, SetArg::TCSANOW, &settings)?;
    Ok((pty.master, pty.slave))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(
        command: &str,
        args: &[&str],
        shell: &str,
    ) -> Result<(PathBuf, Vec<String>), String> {
        let launch = Launch {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            cwd: "/".into(),
        };
        resolve(&launch, &HashMap::from([("PATH", "/usr/bin:/bin"), ("SHELL", shell)]))
    }

    #[test]
    fn a_program_runs_as_it_is_and_a_command_line_in_the_users_shell() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(resolved("/bin/sh", &["-x"], ""), Ok(("/bin/sh".into(), words(&["-x"]))));
        assert_eq!(resolved("bin/sh", &[], ""), Ok(("/bin/sh".into(), vec![])));
        let line = "echo a | wc";
        let by = |shell: &str| Ok((shell.into(), words(&["-c", line])));
        assert_eq!(resolved(line, &[], "/bin/sh"), by("/bin/sh"));
        assert_eq!(resolved(line, &[], "/bin/env"), by("/bin/env"));
        assert_eq!(resolved(line, &[], "/no/shell"), by("/bin/sh"));
        assert_eq!(resolved(line, &[], ""), by("/bin/sh"));
    }

    #[test]
    fn what_is_neither_is_explained() {
        let problem = |command, args: &[&str]| resolved(command, args, "/bin/sh").unwrap_err();
        assert_eq!(problem("no-such-program", &[]), "no-such-program is not on PATH");
        assert_eq!(problem("no such program", &["x"]), "no such program is not on PATH");
        assert_eq!(problem("/no/such", &[]), "/no/such does not exist");
    }
}
