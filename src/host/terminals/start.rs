//! Starts a command: finds the program and gives it a pseudo terminal for stdout and stderr, and an empty stdin. Knows
//! nothing of what happens to it afterwards.

use crate::core::messages::terminal::CommandSpec;
use crate::process::confine::Launcher;
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

/// Terminal size that commands see. 120 columns are enough for the tables most programs print; Neovim wraps longer
/// lines.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// Characters that make a command without arguments a command line for the shell.
/// Shells that read a line as rules do.
const KNOWN_SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "yash", "fish", "ash"];

const SYNTAX: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '"', '\'', '\\', '*', '?', '[', '#', '~', '=',
    '{', '!',
];

/// Starts a command as the leader of its own process group. Returns the group, and the stream that combines the
/// command's stdout and stderr. The error is one line for the agent.
pub(super) fn start(
    launch: &CommandSpec,
    launcher: &Launcher,
    watchdog: Option<&Watchdog>,
) -> Result<(Group, Receiver), String> {
    if !launch.cwd.is_dir() {
        return Err(format!("{} is not a folder", launch.cwd.display()));
    }
    let env: HashMap<&str, &str> =
        launch.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let own_shell = std::env::var("SHELL").ok();
    let (program, args) = resolve(launch, &env, own_shell.as_deref())?;
    let describe = |error: std::io::Error| format!("{}: {error}", program.display());
    let args = args.into_iter().map(Into::into).collect();
    let (starts, args) = launcher.wrap(launch.confinement.as_ref(), program.clone(), args)?;
    let (reader, writer) = output().map_err(describe)?;
    // Unchecked, because a pseudo terminal is not a pipe; reading it works the same way.
    let reader = Receiver::from_file_unchecked(reader).map_err(describe)?;
    let mark = Mark::new();
    let child = Command::new(&starts)
        .args(args)
        .env_clear()
        .envs(&env)
        .env(strays::VARIABLE, mark.as_str())
        .current_dir(&launch.cwd)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(describe)?)
        .stderr(writer)
        .kill_on_drop(true)
        .spawn()
        .map_err(describe)?;
    let group = Group::new(child, mark, watchdog);
    group.map(|group| (group, reader)).ok_or_else(|| "it exited before it started".to_owned())
}

/// Returns the program and its arguments. Some agents send a whole command line as the command; that is run by the
/// user's shell.
fn resolve(
    launch: &CommandSpec,
    env: &HashMap<&str, &str>,
    own_shell: Option<&str>,
) -> Result<(PathBuf, Vec<String>), String> {
    let path = env.get("PATH").copied().unwrap_or_default();
    let is_syntax = |c: char| c.is_whitespace() || SYNTAX.contains(&c);
    if !launch.args.is_empty() || !launch.command.contains(is_syntax) {
        let program = program::find(&launch.command, path, &launch.cwd)?;
        return Ok((program, launch.args.clone()));
    }
    // The user's, not one that the agent names; rules know what these make of a line.
    let shell = own_shell.filter(|shell| {
        let name = Path::new(shell).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| KNOWN_SHELLS.contains(&name))
    });
    let shell = shell.and_then(|shell| program::find(shell, path, &launch.cwd).ok());
    let shell = shell.unwrap_or_else(|| Path::new("/bin/sh").to_owned());
    Ok((shell, vec!["-c".to_owned(), launch.command.clone()]))
}

/// Opens both ends of the output stream: a pseudo terminal, since most programs buffer whole blocks when they write to
/// a pipe, or a pipe if no pseudo terminal is available.
fn output() -> std::io::Result<(File, OwnedFd)> {
    let (reader, writer) = pseudo_terminal().or_else(|error| {
        tracing::warn!(target: "terminal", %error, "no pseudo terminal: output comes in blocks");
        std::io::pipe().map(|(reader, writer)| (reader.into(), writer.into()))
    })?;
    let flags = OFlag::from_bits_truncate(fcntl(&reader, FcntlArg::F_GETFL)?);
    fcntl(&reader, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok((File::from(reader), writer))
}

/// Opens a pseudo terminal that is not the controlling terminal of any process, so that programs that would ask for a
/// password on `/dev/tty` fail instead of waiting.
fn pseudo_terminal() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let pty = openpty(Some(&SIZE), None)?;
    for end in [&pty.master, &pty.slave] {
        // Programs that other tasks start at this moment must not inherit it.
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
        let launch = CommandSpec {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            cwd: "/".into(),
            confinement: None,
        };
        let env = HashMap::from([("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/evil")]);
        resolve(&launch, &env, Some(shell))
    }

    #[test]
    fn a_program_runs_directly_and_a_command_line_in_the_users_shell() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(resolved("/bin/sh", &["-x"], ""), Ok(("/bin/sh".into(), words(&["-x"]))));
        assert_eq!(resolved("bin/sh", &[], ""), Ok(("/bin/sh".into(), vec![])));
        let line = "echo a | wc";
        let by = |shell: &str| Ok((shell.into(), words(&["-c", line])));
        assert_eq!(resolved(line, &[], "/bin/sh"), by("/bin/sh"));
        assert_eq!(resolved(line, &[], "/bin/env"), by("/bin/sh"), "no shell");
        assert_eq!(resolved(line, &[], "/no/shell"), by("/bin/sh"));
        assert_eq!(resolved(line, &[], ""), by("/bin/sh"));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let problem = |command, args: &[&str]| resolved(command, args, "/bin/sh").unwrap_err();
        assert_eq!(problem("no-such-program", &[]), "no-such-program is not on PATH");
        assert_eq!(problem("no such program", &["x"]), "no such program is not on PATH");
        assert_eq!(problem("/no/such", &[]), "/no/such does not exist");
    }
}
