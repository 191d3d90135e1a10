//! Confined processes: a [`Launcher`] starts a program by way of `rat-nvim confine`, which restricts itself and then becomes
//! the program: with Landlock on Linux (`man 7 landlock`), by way of `sandbox-exec` on macOS. Its process id, group and
//! environment stay, and everything it starts is confined as well. If anything about that fails, the program does not run.

mod denied;
mod git;
#[cfg(target_os = "linux")]
mod hidden;
mod kernel;
#[cfg(any(target_os = "macos", test))]
mod profile;
#[cfg_attr(target_os = "linux", path = "landlock.rs")]
#[cfg_attr(target_os = "macos", path = "sandbox_exec.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "macos")), path = "elsewhere.rs")]
mod system;
mod writable;

pub use denied::denied;
pub use kernel::Kernel;

use super::program;
use crate::session::confinement::Confinement;
use clap::Args;
use nix::unistd::{Pid, getpgid, getppid, setpgid, setsid};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The status of a launcher that did not start its program, as in shells.
const NOT_STARTED: u8 = 126;

/// The command line of `rat-nvim confine`.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct Policy {
    /// A file, or a folder with everything below it, that may be changed.
    #[arg(long)]
    write: Vec<PathBuf>,
    /// A folder whose files may not be read.
    #[arg(long)]
    hide: Vec<PathBuf>,
    /// Allows no TCP ports but those of `--port`.
    #[arg(long)]
    limit_ports: bool,
    /// A TCP port to connect to and to listen on.
    #[arg(long)]
    port: Vec<u16>,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Asks the running kernel what it can enforce.
pub fn kernel() -> Kernel {
    system::kernel()
}

/// Starts programs confined.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// A `rat-nvim`.
    pub program: PathBuf,
}

impl Launcher {
    /// Uses this program.
    pub fn of_this_program() -> Self {
        Self { program: program::running().unwrap_or_else(|_| program::this_program()) }
    }

    /// Returns what to run so that `program` runs, confined if it is to be. What is missing of its state is created. It blocks.
    /// The error is one line for the user.
    pub fn wrap(
        &self,
        confinement: Option<&Confinement>,
        program: PathBuf,
        args: Vec<OsString>,
    ) -> Result<(PathBuf, Vec<OsString>), String> {
        let Some(confinement) = confinement else { return Ok((program, args)) };
        kernel().check(confinement.ports.is_some())?;
        for state in &confinement.state {
            let created = match state.content {
                None => fs::create_dir_all(&state.path),
                Some(content) => create_new(&state.path, content),
            };
            created.map_err(|error| format!("{}: {error}", state.path.display()))?;
        }
        let repositories = confinement.roots.iter().filter_map(|root| git::common_folder(root));
        let mut all: Vec<OsString> = vec!["confine".into()];
        let write = confinement.writable().map(Path::to_owned).chain(repositories);
        all.extend(write.flat_map(|path| ["--write".into(), path.into_os_string()]));
        let hide = confinement.hide.iter();
        all.extend(hide.flat_map(|path| ["--hide".into(), path.clone().into_os_string()]));
        if let Some(ports) = &confinement.ports {
            all.push("--limit-ports".into());
            all.extend(ports.iter().flat_map(|port| ["--port".into(), port.to_string().into()]));
        }
        all.extend(["--".into(), program.into_os_string()]);
        all.extend(args);
        Ok((self.program.clone(), all))
    }
}

/// Creates a file if there is nothing at its path, not even a link that leads nowhere.
fn create_new(path: &Path, content: &str) -> io::Result<()> {
    match File::create_new(path) {
        Ok(mut file) => file.write_all(content.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Restricts this process and becomes the program. Returns only if that fails, after saying why in one line on stderr. This
/// process must have no other threads.
pub fn run(policy: Policy) -> ExitCode {
    let restricted = leave_terminal().and_then(|()| restrict(policy, kernel()));
    let why = match restricted {
        Ok(command) => become_program(&command),
        Err(why) => format!("cannot be confined: {why}"),
    };
    // There is nowhere else to say that stderr is closed.
    let _ = writeln!(io::stderr(), "rat-nvim: not started: {why}");
    ExitCode::from(NOT_STARTED)
}

/// Leaves the terminal that this process is controlled by: reading it is enough to type into it (`TIOCSTI`, `man 2 TIOCSTI`), and so
/// into the shell of the user. The process leads its own group as before, in a session of its own.
fn leave_terminal() -> Result<(), String> {
    // Who leads a group cannot begin a session. It moves to the group of who has started it, for a moment.
    let parents = getpgid(Some(getppid()));
    let has_moved = parents.is_ok_and(|group| setpgid(Pid::from_raw(0), group).is_ok());
    let Err(error) = setsid() else { return Ok(()) };
    if has_moved {
        // What follows depends on it: who ends this process ends its group.
        let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    }
    // It leads a session already, which is well unless that has a terminal.
    match File::open("/dev/tty") {
        Ok(_) => Err(format!("it cannot leave its terminal ({error})")),
        Err(_) => Ok(()),
    }
}

/// Becomes the program. Returns why that failed.
fn become_program(command: &[OsString]) -> String {
    let Some((program, args)) = command.split_first() else { return "no program".to_owned() };
    let error = Command::new(program).args(args).exec();
    format!("{}: {error}", program.display())
}

/// Restricts this process, or says why it cannot be. Returns the program to become, which may be one that restricts itself first.
fn restrict(policy: Policy, kernel: Kernel) -> Result<Vec<OsString>, String> {
    kernel.check(policy.limit_ports)?;
    let write = writable::with_rules(policy.write.into_iter());
    let ports = policy.limit_ports.then_some(policy.port.as_slice());
    system::restrict(&write, &policy.hide, ports, policy.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds (Confinement): Where the kernel has no Landlock, or one that is too old, a confined agent is not started.
    #[test]
    fn a_kernel_that_cannot_is_refused() {
        let policy = |limit_ports| Policy { limit_ports, ..Policy::default() };
        // Any of them that passed would restrict the test itself, which could then not create folders.
        for kernel in [Kernel::Without, Kernel::TooOld] {
            assert!(restrict(policy(false), kernel).is_err(), "{kernel:?}");
        }
        let problem = restrict(policy(true), Kernel::Files).unwrap_err();
        assert_eq!(problem, "this Linux cannot limit ports: Linux 6.7 or newer is needed");
        assert_eq!(Kernel::Files.check(false), Ok(()));
        assert_eq!(Kernel::FilesAndPorts.check(true), Ok(()));
    }
}
