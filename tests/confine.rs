//! `rat-nvim confine`: what a confined program may do, and that none runs where it cannot be confined. Tests that need
//! Landlock say so and do nothing where the kernel has none.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use rat_nvim::core::messages::agent::ExitCause;
use rat_nvim::core::messages::effect::AgentCommand;
use rat_nvim::process::confine::Launcher;
use rat_nvim::process::strays;
use rat_nvim::session::agent::AgentConfig;
use rat_nvim::session::confinement::{Confinement, StatePath};

use crate::acp_process::support::{AGENT, Bridge, gone, python};
use crate::support::{TempFolder, can_confine, repository};

/// The program under test confines programs.
pub(crate) fn launcher() -> Launcher {
    Launcher { program: env!("CARGO_BIN_EXE_rat-nvim").into() }
}

/// The result of a shell command that runs confined, in `folder`.
fn run(folder: &Path, confinement: &Confinement, command: &str) -> Output {
    let args = vec!["-c".into(), command.into()];
    let (program, args) = launcher().wrap(Some(confinement), "/bin/sh".into(), args).unwrap();
    Command::new(program).args(args).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

fn only(root: &Path) -> Confinement {
    Confinement { roots: vec![root.to_owned()], ..Confinement::default() }
}

/// Two folders: one that may be written, with a link to the other, and one that may not, with a file.
struct Folders {
    folder: TempFolder,
}

impl Folders {
    fn new() -> Self {
        let folder = TempFolder::new();
        folder.folder("in");
        folder.file("out/file", "text");
        symlink("../out", folder.path().join("in/link")).unwrap();
        folder.file("in/file", "text");
        Self { folder }
    }

    fn run(&self, command: &str) -> Output {
        run(self.folder.path(), &only(&self.folder.path().join("in")), command)
    }

    /// The files outside with their texts.
    fn outside(&self) -> Vec<(String, String)> {
        let files = std::fs::read_dir(self.folder.path().join("out")).unwrap().map(Result::unwrap);
        let read = |path| std::fs::read_to_string(path).unwrap();
        files.map(|it| (it.file_name().into_string().unwrap(), read(it.path()))).collect()
    }
}

/// Holds (Confinement): A confined agent can neither write, remove, move nor link files outside, nor through links.
#[test]
fn files_outside_cannot_be_changed() {
    if !can_confine() {
        return;
    }
    let folders = Folders::new();
    let before = folders.outside();
    for command in [
        "echo x > out/new",
        "(echo x >> out/file)",
        "echo x | tee in/link/new",
        "(echo x > in/link/file)",
        "python3 -c 'import os; os.truncate(\"out/file\", 0)'",
        "rm out/file",
        "mv out/file in/moved",
        "mv in/file out/moved",
        "ln in/file out/linked",
        "ln out/file in/linked && echo x > in/linked",
        "ln -s ../out in/other && echo x > in/other/new",
        "mkdir out/folder",
        "mkfifo out/pipe",
        "cd in && echo x > ../out/new",
        "mv in elsewhere",
        "sh -c 'sh -c \"echo x > out/new\"'",
    ] {
        let output = folders.run(command);
        assert!(!output.status.success(), "{command}: {}", stdout(&output));
        assert_eq!(folders.outside(), before, "{command}");
    }
}

/// Holds (Confinement): Inside its folders a confined agent works as before, and reads everything.
#[test]
fn inside_everything_works() {
    if !can_confine() {
        return;
    }
    let folders = Folders::new();
    for command in [
        "echo x > in/new && mkdir -p in/a/b && mv in/new in/a/b/new && ln in/a/b/new in/hard",
        "cat out/file && ls out",
        "sh -c 'echo x > in/child; kill -0 $$'",
        "echo x > /dev/null && echo x >&2",
        "python3 -c 'import pty; pty.spawn([\"true\"])'",
        "python3 -c 'import multiprocessing as m; m.Lock()'",
    ] {
        let output = folders.run(command);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
    }
    assert_eq!(folders.outside().len(), 1);
}

/// Holds (Confinement): A confined program keeps its process id, group, folder and environment, and can gain no privileges.
#[test]
fn the_program_is_the_same_process_without_new_privileges() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let command = "echo $$ $(ps -o pgid= -p $$) $PWD $KEPT; grep NoNewPrivs /proc/self/status";
    let args = vec!["-c".into(), command.into()];
    let confinement = only(folder.path());
    let (program, args) = launcher().wrap(Some(&confinement), "/bin/sh".into(), args).unwrap();
    let mut started = Command::new(program);
    std::os::unix::process::CommandExt::process_group(&mut started, 0);
    started.args(args).current_dir(folder.path()).env("KEPT", "kept");
    let child = started.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let (pid, path) = (child.id(), folder.path().display());
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), format!("{pid} {pid} {path} kept\nNoNewPrivs:\t1"));
}

/// A program that answers the system calls of Landlock with an error, as a kernel without it does, and becomes another.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
error = int(sys.argv[1])
# seccomp(2): system calls 444 to 446 (landlock(7)) fail, all others are allowed.
filter = b"".join(struct.pack("HBBI", *line) for line in [
    (0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000),
])
buffer = ctypes.create_string_buffer(filter)
program = struct.pack("HxxxxxxP", len(filter) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[2], sys.argv[2:])
"#;

/// Holds (Confinement): Where the kernel has no Landlock, or one that is too old, a confined agent is not started.
#[cfg(target_os = "linux")]
#[test]
fn without_landlock_nothing_runs() {
    let folder = TempFolder::new();
    let file = folder.path().join("ran");
    // ENOSYS: it is not built in. EOPNOTSUPP: it is switched off.
    for error in ["38", "95"] {
        let mut command = Command::new("python3");
        command.args(["-c", WITHOUT_LANDLOCK, error, env!("CARGO_BIN_EXE_rat-nvim"), "confine"]);
        command.arg("--write").arg(folder.path());
        let output = command.args(["--", "/usr/bin/touch"]).arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
        let expected = "rat-nvim: not started: cannot be confined: this Linux has no Landlock, or it is switched off \
            (see `man 7 landlock`)";
        assert_eq!(stderr(&output), expected);
        assert!(!file.exists());
    }
}

/// Holds (Confinement): Where the kernel has no Landlock, or one that is too old, a confined agent is not started.
#[test]
fn an_old_landlock_is_refused() {
    if !can_confine() {
        return;
    }
    let script = repository().join("tests/support/landlock_version.py");
    let run = |version: &str, options: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(&script).args([version, env!("CARGO_BIN_EXE_rat-nvim"), "confine"]);
        command.args(options).args(["--", "/bin/echo", "it runs"]).output().unwrap()
    };
    let refused = |version: &str, options: &[&str], why: &str| {
        let output = run(version, options);
        assert_eq!((output.status.code(), stdout(&output)), (Some(126), String::new()));
        let expected = format!("rat-nvim: not started: cannot be confined: {why}");
        assert_eq!(stderr(&output), expected, "version {version}");
    };
    for version in ["1", "2"] {
        let why = "the Landlock of this Linux is too old: Linux 6.2 or newer is needed";
        refused(version, &[], why);
    }
    refused("3", &["--limit-ports"], "this Linux cannot limit ports: Linux 6.7 or newer is needed");
    assert_eq!(stdout(&run("3", &[])), "it runs");
    assert_eq!(stdout(&run("4", &["--limit-ports"])), "it runs");
}

#[test]
fn a_missing_program_is_named() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let (program, args) =
        launcher().wrap(Some(&only(folder.path())), "/no/such".into(), Vec::new()).unwrap();
    let output = Command::new(program).args(args).output().unwrap();
    let expected = "rat-nvim: not started: /no/such: No such file or directory (os error 2)";
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(126), expected));
}

/// Holds (Confinement): What a confined agent puts in the place of one of its folders is not followed when it is started again.
#[test]
fn a_link_in_the_place_of_a_writable_folder_is_not_followed() {
    if !can_confine() {
        return;
    }
    let folders = Folders::new();
    let path = |name: &str| folders.folder.path().join(name);
    // As it is with TMPDIR in /tmp: the second is inside of the first.
    let write = vec![path("in"), path("in/temporary"), path("in/deep/link/x")];
    let confinement = Confinement { write, ..Confinement::default() };
    let again = "mkdir -p in/deep; ln -sfn ../out in/temporary; ln -sfn ../../out in/deep/link; mkdir -p in/deep/link/x";
    run(folders.folder.path(), &confinement, again);
    std::fs::create_dir(path("out/x")).unwrap();
    for command in ["echo x > out/new", "echo x > in/temporary/new", "echo x > out/x/new"] {
        let output = run(folders.folder.path(), &confinement, command);
        assert!(!output.status.success(), "{command}");
    }
}

/// A rule is for the folder, not for its name.
#[test]
fn a_folder_that_was_replaced_is_writable_only_to_what_is_started_later() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let root = folder.folder("root");
    let swap = "read line; echo x > ../root/new; echo $?";
    let args = vec!["-c".into(), swap.into()];
    let (program, args) = launcher().wrap(Some(&only(&root)), "/bin/sh".into(), args).unwrap();
    let mut command = Command::new(program);
    command.args(args).current_dir(&root).stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It is restricted once its shell runs: /proc names that as its program.
    let link = format!("/proc/{}/exe", child.id());
    let begun = std::time::Instant::now();
    while std::fs::read_link(&link).is_ok_and(|program| program.ends_with("rat-nvim")) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "it does not start");
        std::thread::yield_now();
    }
    std::fs::rename(&root, folder.path().join("old")).unwrap();
    std::fs::create_dir(&root).unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output) != "0" && !root.join("new").exists(), "{}", stdout(&output));
    assert!(run(&root, &only(&root), "echo x > new").status.success());
}

fn git(folder: &Path, args: &[&str]) {
    let identity =
        ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
    let mut command = Command::new("git");
    let output = command.args(identity).args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", stderr(&output));
}

const COMMIT: &str =
    "echo x > new && git add new && git -c user.name=a -c user.email=a@b commit -qm new";

/// Holds (Confinement): A confined agent can commit in a worktree, a submodule and below the top of a repository.
#[test]
fn commits_work_wherever_the_repository_is() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let main = folder.folder("main");
    git(&main, &["init", "-q", "."]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    folder.folder("main/below");
    let other = folder.folder("other");
    git(&other, &["init", "-q", "."]);
    git(&other, &["submodule", "--quiet", "add", "../main", "sub"]);
    for name in ["main", "tree", "main/below", "other/sub"] {
        let root = folder.path().join(name);
        let output = run(&root, &only(&root), COMMIT);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
    let tree = folder.path().join("tree");
    assert!(!run(&tree, &only(&tree), "echo x > ../main/file").status.success());
}

/// Holds (Confinement): A confined agent cannot make the repository of another folder its own.
#[test]
fn a_repository_that_does_not_name_the_folder_stays_closed() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let (main, root) = (folder.folder("main"), folder.folder("root"));
    git(&main, &["init", "-q", "."]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    let made_up = folder.folder("root/git/worktrees/root");
    std::fs::write(made_up.join("commondir"), "../../../../main/.git").unwrap();
    std::fs::write(made_up.join("gitdir"), "../../../.git").unwrap();
    for named in ["../main/.git", "../main/.git/worktrees/tree", "git/worktrees/root"] {
        std::fs::write(root.join(".git"), format!("gitdir: {named}\n")).unwrap();
        let output = run(&root, &only(&root), "echo x > ../main/.git/new");
        assert!(!output.status.success(), "{named}");
    }
    std::fs::remove_file(root.join(".git")).unwrap();
    symlink("../main/.git", root.join(".git")).unwrap();
    assert!(!run(&root, &only(&root), "echo x > ../main/.git/new").status.success());
}

/// Holds (Confinement): The folders that hold an agent's state are created before it is started.
#[test]
fn missing_state_is_created() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let state = |name: &str, content| StatePath { path: folder.path().join(name), content };
    folder.file("kept.json", "[]");
    let state =
        vec![state("a/b", None), state("file.json", Some("{}")), state("kept.json", Some("{}"))];
    let confinement = Confinement { state, ..Confinement::default() };
    let output =
        run(folder.path(), &confinement, "cat *.json && echo x > a/b/new && echo x > file.json");
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("{}[]", ""));
    assert!(!run(folder.path(), &confinement, "echo x > a/new").status.success());
}

/// Holds (Confinement): A hidden folder can be listed, but its files can be read neither by their names nor through links.
#[test]
fn hidden_files_cannot_be_read() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    folder.file("home/secret/sub/key", "key");
    folder.file("home/file", "text");
    let root = folder.folder("home/root");
    symlink("secret/sub/key", folder.path().join("home/key")).unwrap();
    symlink("secret", folder.path().join("home/alias")).unwrap();
    let hide = vec![folder.path().join("home/alias")];
    let confinement = Confinement { hide, ..only(&root) };
    let home = folder.path().join("home");
    for command in [
        "cat secret/sub/key",
        "cat key",
        "cat alias/sub/key",
        "cp -r secret root/copy",
        "cat /proc/self/cwd/secret/sub/key",
    ] {
        let output = run(&home, &confinement, command);
        assert!(!output.status.success() && stdout(&output).is_empty(), "{command}");
    }
    let output = run(
        &home,
        &confinement,
        "cat file; ls secret; echo x > root/new; cat root/new /etc/passwd",
    );
    assert!(stdout(&output).starts_with("textsub\nx\n"), "{} {}", stdout(&output), stderr(&output));
    let both = Confinement { hide: vec![root.clone()], ..only(&root) };
    let output = run(&home, &both, "true");
    let root = root.display();
    let expected = format!(
        "rat-nvim: not started: cannot be confined: {root} cannot be hidden, because {root} can be written"
    );
    assert_eq!(stderr(&output), expected);
}

/// Holds (Confinement): With `net` only the listed TCP ports can be used.
#[test]
fn only_the_listed_ports_can_be_used() {
    if !can_confine() {
        return;
    }
    let (open, closed) = (listener(), listener());
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let folder = TempFolder::new();
    let confinement = Confinement { ports: Some(vec![port(&open)]), ..only(folder.path()) };
    let connect = |to: u16| {
        let command = format!(
            "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {to}), 20)'"
        );
        run(folder.path(), &confinement, &command)
    };
    let connected = connect(port(&open));
    assert!(connected.status.success(), "{}", stderr(&connected));
    let refused = connect(port(&closed));
    assert!(stderr(&refused).contains("PermissionError"), "{}", stderr(&refused));
}

fn listener() -> std::net::TcpListener {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Holds (Confinement): An agent is started confined, and is ended with all it started as any other.
#[tokio::test]
async fn an_agent_is_started_confined() {
    if !can_confine() {
        return;
    }
    let folder = TempFolder::new();
    let outside = folder.path().join("new");
    let script = format!(
        r#"
try:
    open({outside:?}, "w")
except PermissionError as error:
    say(str(error.errno))
say(str(os.getpid() == os.getpgid(0)) + " " + str("{mark}" in os.environ))
say(str(stubborn_child()))
time.sleep(60)
"#,
        mark = strays::VARIABLE
    );
    let confinement = Some(only(&folder.folder("root")));
    let mut bridge = Bridge::hasty(16);
    bridge.start(AGENT, AgentConfig { confinement, ..python(&script) });
    assert_eq!(bridge.text().await, "13");
    assert_eq!(bridge.text().await, "True True");
    let [child] = bridge.numbers().await[..] else { panic!("one number") };
    bridge.run(AgentCommand::Stop);
    bridge.exit().await;
    gone(child).await;
    assert!(!outside.exists());
}

#[tokio::test]
async fn an_agent_whose_state_cannot_be_created_is_not_started() {
    if !can_confine() {
        return;
    }
    let state = vec![StatePath { path: "/dev/null/state".into(), content: None }];
    let confinement = Some(Confinement { state, ..Confinement::default() });
    let mut bridge = Bridge::new();
    bridge.start(AGENT, AgentConfig { confinement, ..python("say('it runs')") });
    let error = "/dev/null/state: Not a directory (os error 20)".to_owned();
    assert_eq!(bridge.exit().await.cause, ExitCause::NotStarted { not_found: false, error });
}
