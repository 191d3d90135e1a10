//! The command line: runs the bridge that Neovim starts (the default), the tour, a replay, the report for `:checkhealth rat`, the
//! watchdog of a process group, or a program that is confined.

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use rat_nvim::config::report::report;
use rat_nvim::exec;
use rat_nvim::host::git::diff;
use rat_nvim::process::{confine, program};
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The output of `--version`, which `:checkhealth rat` shows: the version, and whether the binary is a release build.
const VERSION: &str = if option_env!("RAT_RELEASE_BUILD").is_some() {
    concat!(env!("CARGO_PKG_VERSION"), " (release)")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (built from source)")
};

/// What somebody is told who starts it in a terminal.
const BY_HAND: &str = "\
rat-nvim: this is the backend of rat.nvim, which Neovim starts by itself
rat-nvim: `rat-nvim --help` lists what is useful by hand, such as `exec`
";

/// The backend of rat.nvim. Neovim starts it; only `exec`, `replay` and `tour` are useful by hand.
#[derive(Debug, Parser)]
#[command(name = "rat-nvim", version = VERSION)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Plays the built-in tour: an agent on stdin and stdout that needs no key and no network.
    Tour,
    /// Plays a session saved by `:RatTrace save`, as an agent on stdin and stdout.
    Replay {
        /// The file.
        file: PathBuf,
    },
    /// Sends one prompt to an agent and prints what it answers, for scripts.
    Exec(Box<exec::arguments::Arguments>),
    /// Prints the completions of a shell: bash, zsh or fish.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page of `exec`, for `man -l -`.
    Man,
    /// Reports whether the configured agents can be started, for `:checkhealth rat`.
    #[command(hide = true)]
    CheckAgents,
    /// Connects an agent with the tools of the Neovim that has started it. Agents run it.
    #[command(hide = true)]
    Mcp,
    /// Prints what has changed in a repository since its last commit.
    #[command(hide = true)]
    Diff {
        /// How many bytes at most.
        #[arg(long)]
        limit: u64,
        /// Where to keep what git needs meanwhile.
        #[arg(long)]
        below: PathBuf,
        /// The folder in the repository.
        folder: PathBuf,
    },
    /// Restricts what it may do, then becomes a program.
    #[command(hide = true)]
    Confine(confine::Policy),
    /// Ends a process and all it started when stdin closes.
    #[command(hide = true)]
    WatchGroup {
        /// Its process group.
        group: i32,
        /// The mark that all its processes have in their environment.
        mark: String,
        /// The folder of a socket to remove if nobody listens there then.
        #[arg(long)]
        socket: Option<PathBuf>,
    },
}

/// Reads the configuration from stdin and writes the report to stdout, both as JSON.
fn check_agents() -> ExitCode {
    let environment = std::env::vars_os();
    let environment = environment
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let cwd = std::env::current_dir().unwrap_or_default();
    let written = serde_json::from_reader(io::stdin()).and_then(|configured| {
        let lines = report(&configured, &environment.collect(), &cwd, &program::this_program());
        serde_json::to_writer(io::stdout(), &lines)
    });
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The command line without the commands that are hidden, which completions would offer.
fn for_people() -> clap::Command {
    let all = Arguments::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
    let shown: Vec<_> = shown.cloned().collect();
    let command = clap::Command::new("rat-nvim").version(VERSION);
    command.args(all.get_arguments().cloned()).subcommands(shown)
}

/// Writes the manual page of `exec`.
fn write_manual(out: &mut impl Write) -> io::Result<()> {
    let mut command = Arguments::command();
    command.build();
    let exec = command.find_subcommand("exec").cloned();
    exec.map_or(Ok(()), |exec| Man::new(exec).render(out))
}

fn written(result: io::Result<()>) -> ExitCode {
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut for_people(), "rat-nvim", &mut script);
            written(io::stdout().write_all(&script))
        }
        Some(Command::Man) => written(write_manual(&mut io::stdout().lock())),
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => {
            // There is nowhere else to say that stderr is closed.
            let _ = io::stderr().write_all(BY_HAND.as_bytes());
            ExitCode::from(2)
        }
        None => rat_nvim::bridge::run(),
        Some(Command::Exec(arguments)) => exec::run(*arguments),
        Some(Command::Replay { file }) => rat_nvim::replay::run(&file),
        Some(Command::Tour) => rat_nvim::tour::run(),
        Some(Command::Confine(policy)) => confine::run(policy),
        Some(Command::Mcp) => rat_nvim::mcp::pipe::run(),
        Some(Command::Diff { limit, below, folder }) => diff::run(&folder, &below, limit),
        Some(Command::CheckAgents) => check_agents(),
        Some(Command::WatchGroup { group, mark, socket }) => {
            let status = rat_nvim::process::watch::watch_group(group, &mark);
            if let Some(folder) = socket {
                rat_nvim::mcp::socket::remove_if_stale(&folder);
            }
            status
        }
    }
}
