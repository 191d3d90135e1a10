//! What a confined program may do to the user's other programs: neither signal them nor type into their terminal. Tests that need
//! Landlock say so and do nothing where the kernel has none.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rat_nvim::session::confinement::Confinement;

use crate::confine::launcher;
use crate::support::{TempFolder, can_confine};

/// How a shell command is run confined, in a folder.
fn command(folder: &Path, line: &str) -> Vec<std::ffi::OsString> {
    let confinement = Confinement { roots: vec![folder.to_owned()], ..Confinement::default() };
    let args = vec!["-c".into(), line.into()];
    let (program, args) = launcher().wrap(Some(&confinement), "/bin/sh".into(), args).unwrap();
    std::iter::once(program.into()).chain(args).collect()
}

fn run(folder: &Path, line: &str) -> Output {
    let command = command(folder, line);
    Command::new(&command[0]).args(&command[1..]).current_dir(folder).output().unwrap()
}

/// A program that runs unconfined until this is dropped.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the kernel can keep signals inside (Linux 6.12). If not, that is said.
#[allow(clippy::print_stderr, reason = "what is left out has to be said")]
fn can_keep_signals() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let can = version >= (6, 12);
    if !can {
        eprintln!("left out: {} lets signals out", release.trim());
    }
    can
}

/// Holds (Confinement): From Linux 6.12 on a confined agent signals only what it has started, and connects to no abstract socket outside.
#[test]
fn only_what_it_has_started_gets_signals() {
    if !can_confine() || !can_keep_signals() {
        return;
    }
    let folder = TempFolder::new();
    let mut other = Other(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap());
    let pid = other.0.id();
    for line in [
        format!("kill -TERM {pid}"),
        format!("kill -0 {pid}"),
        format!("kill -STOP {pid}"),
        format!("sh -c 'kill -KILL {pid}'"),
        format!(
            "python3 -c 'import signal; signal.pidfd_send_signal(__import__(\"os\").pidfd_open({pid}), 15)'"
        ),
    ] {
        let output = run(folder.path(), &line);
        assert!(!output.status.success(), "{line}: {output:?}");
    }
    assert_eq!(other.0.try_wait().unwrap(), None, "it runs");
    let own = run(folder.path(), "sleep 600 & kill $! && wait $!; test $? = 143");
    assert!(own.status.success(), "{own:?}");
    let name = format!("rat-{}", std::process::id());
    let serve = format!(
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('\\0{name}'); s.listen(); print('up', flush=True); s.accept()"
    );
    let mut server = Command::new("python3");
    let mut server = Other(server.args(["-c", &serve]).stdout(Stdio::piped()).spawn().unwrap());
    let mut up = [0; 2];
    std::io::Read::read_exact(server.0.stdout.as_mut().unwrap(), &mut up).unwrap();
    let connect = format!("import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')");
    let refused = run(folder.path(), &format!("python3 -c \"{connect}\""));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("PermissionError"), "{told}");
}

/// Holds (Confinement): A confined agent has no terminal, into which it could type for the user.
#[test]
fn it_has_no_terminal() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let open = "import os, sys\ntry:\n  os.open('/dev/tty', os.O_RDONLY)\n  print('a terminal')\nexcept OSError as error:\n  print(error.strerror)";
    let file = folder.file("open.py", open);
    let confined = command(folder.path(), &format!("python3 {}", file.display()));
    // As in a shell of the user's: each command leads a group of its own in the session of the terminal.
    let in_terminal = |command: &[std::ffi::OsString]| {
        let shell = ["/bin/bash", "-c", "set -m; \"$@\"; true", "bash"];
        let mut python = Command::new("python3");
        python.args(["-c", "import pty, sys; pty.spawn(sys.argv[1:])"]);
        let output = python.args(shell).args(command).stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(in_terminal(&["python3".into(), file.clone().into()]), "a terminal");
    assert_eq!(in_terminal(&confined), "No such device or address");
}
