//! Programs that run others: those whose options are known, those that are not looked into, and shells.

/// Options of a program that runs another one: those without a value and those whose value is the next word. Others are not
/// known, and make the command unclear.
pub(super) struct Options {
    pub(super) alone: &'static [&'static str],
    pub(super) with_value: &'static [&'static str],
}

impl Options {
    /// Whether it is an option of one letter with a number right after it: `-n1`.
    pub(super) fn has_number(&self, text: &str) -> bool {
        let Some((option, number)) = text.split_at_checked(2) else { return false };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && self.with_value.contains(&option)
    }
}

/// How many words that belong to the program itself stand before the command it runs, beside its options.
pub(super) fn runner(name: &str) -> Option<(Options, usize)> {
    let options = |alone, with_value| Options { alone, with_value };
    Some(match name {
        "command" | "builtin" | "nohup" | "exec" | "noglob" | "nocorrect" => {
            (options(&["-p", "-c", "-l"], &[]), 0)
        }
        "setsid" => (options(&["-f", "-w", "-c", "--fork", "--wait", "--ctty"], &[]), 0),
        "time" => (options(&["-p", "-v", "--portability", "--verbose"], &["-f", "--format"]), 0),
        "nice" => (options(&[], &["-n", "--adjustment"]), 0),
        "ionice" => (options(&["-t"], &["-c", "-n", "--class", "--classdata"]), 0),
        "stdbuf" => (options(&["-oL", "-o0", "-eL", "-e0", "-iL", "-i0"], &["-o", "-e", "-i"]), 0),
        "timeout" | "gtimeout" => (
            options(
                &["--foreground", "--preserve-status", "-v", "--verbose"],
                &["-k", "-s", "--kill-after", "--signal"],
            ),
            1,
        ),
        "sudo" | "doas" => {
            (options(&["-n", "-E", "-H", "-S", "-k", "-b", "-P", "-A"], &["-u", "-g"]), 0)
        }
        "env" => (options(&["-i", "-", "--ignore-environment"], &["-u", "--unset"]), 0),
        "xargs" | "gxargs" => (
            options(
                &[
                    "-0",
                    "-r",
                    "-t",
                    "-p",
                    "-x",
                    "--null",
                    "--no-run-if-empty",
                    "--verbose",
                    "--exit",
                    "--max-lines",
                ],
                &["-n", "-P", "-L", "-I", "-d", "-a", "-E", "-s", "--max-args", "--max-procs"],
            ),
            0,
        ),
        _ => return None,
    })
}

/// Programs that run others in ways that are not looked into.
pub(super) const OPAQUE: &[&str] = &[
    "aa-exec",
    "arch",
    "at",
    "batch",
    "busybox",
    "bwrap",
    "caffeinate",
    "capsh",
    "catchsegv",
    "cgexec",
    "choom",
    "chpst",
    "chronic",
    "chroot",
    "chrt",
    "coresched",
    "cpulimit",
    "csh",
    "cttyhack",
    "dbus-launch",
    "dbus-run-session",
    "direnv",
    "dpkg-architecture",
    "dtach",
    "dumb-init",
    "eatmydata",
    "elvish",
    "entr",
    "envdir",
    "expect",
    "fakeroot",
    "faketime",
    "firejail",
    "flock",
    "gdb",
    "genv",
    "gnice",
    "gnohup",
    "gosu",
    "gstdbuf",
    "gtime",
    "hush",
    "hyperfine",
    "i386",
    "ifne",
    "ld.so",
    "leaks",
    "linux32",
    "linux64",
    "ltrace",
    "memusage",
    "mise",
    "mispipe",
    "nodemon",
    "not-14",
    "nq",
    "nsenter",
    "nu",
    "numactl",
    "openvt",
    "parallel",
    "pee",
    "perf",
    "pg_virtualenv",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "pwsh",
    "rlwrap",
    "run-parts",
    "runcon",
    "runuser",
    "sandbox-exec",
    "screen",
    "script",
    "sem",
    "setarch",
    "setlock",
    "setpriv",
    "setuidgid",
    "sg",
    "softlimit",
    "sotruss",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "su",
    "su-exec",
    "systemd-cat",
    "systemd-inhibit",
    "systemd-run",
    "systemd-socket-activate",
    "taskset",
    "tcsh",
    "tini",
    "tmux",
    "torify",
    "torsocks",
    "toybox",
    "trickle",
    "uclampset",
    "uname26",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "x86_64",
    "xcrun",
    "xonsh",
    "xvfb-run",
    "zrun",
];

/// Those whose language is not that of our grammar are in [`OPAQUE`].
pub(super) const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "zsh5",
    "dash",
    "ksh",
    "ksh93",
    "mksh",
    "mksh-static",
    "lksh",
    "loksh",
    "oksh",
    "pdksh",
    "posh",
    "rksh",
    "rksh93",
    "rmksh",
    "rlksh",
    "ash",
    "fish",
    "rbash",
    "rzsh",
    "yash",
];
