//! The command line of `rat-nvim exec`.

use super::rules;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Who is asked, and what the exit codes mean, for the help.
pub const AFTER_HELP: &str = "\
What no flag allows is asked at the terminal, also where stdin is a pipe, and refused where there is no terminal, in the
background, or where the environment has CI.

Exit codes:
  0    the turn ended
  1    the agent failed
  2    the command line, the prompt or the settings are invalid
  3    the agent could not be started or reached
  4    the agent refused the prompt
  124  timed out (--timeout)
  130  cancelled with Ctrl-C
  141  the output was closed";

/// Sends one prompt to an agent and prints what it answers. Without --write nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The agent: a name in the settings file or a known one, not one that only Neovim knows. Default: the first in the settings
    /// file.
    #[arg(short, long, value_name = "NAME")]
    pub agent: Option<String>,
    /// What to print: the answer with lines for plans, tool calls and diffs (text), the answer alone (simple), or every
    /// message of the protocol (jsonl).
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// The same as --output jsonl.
    #[arg(short, long, conflicts_with = "output")]
    pub jsonl: bool,
    /// The folder to work in. Default: the current one.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The settings file. Default: rat.json in Neovim's configuration folder.
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Resume this session.
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub resume: Option<String>,
    /// Write the id of the session to this file.
    #[arg(long, value_name = "FILE")]
    pub save_session: Option<PathBuf>,
    /// What to print instead of an answer.
    #[command(flatten)]
    pub lists: Lists,
    /// What the agent may do.
    #[command(flatten)]
    pub allowed: Allowed,
    /// Cancel the turn and exit after this time.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// The prompt. Without it, or if it is `-`, the prompt is read from stdin.
    #[arg(allow_hyphen_values = false)]
    pub prompt: Option<String>,
}

/// Lists that can be printed instead of an answer.
#[derive(Debug, Args)]
pub struct Lists {
    /// Print the agent's slash commands instead of sending a prompt.
    #[arg(long, conflicts_with_all = ["list_sessions", "prompt"])]
    pub list_commands: bool,
    /// Print the agent's sessions of the folder instead of sending a prompt.
    #[arg(long, conflicts_with_all = ["prompt", "resume"])]
    pub list_sessions: bool,
}

/// What the agent may do besides reading in the folder.
#[derive(Debug, Args)]
pub struct Allowed {
    /// Allow these tool calls, too: KIND or KIND:PATTERN, where KIND is read, search, edit, delete, move, execute, fetch,
    /// switch-mode or other. PATTERN is a glob for files, relative to the folder, such as edit:docs/**, or the words of a
    /// command, such as "execute:cargo test *". Of a command line, every program that it runs has to be allowed, and every
    /// file that it is redirected to. Can be given several times.
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<rules::Allowed>,
    /// Allow the agent to change files in the folder.
    #[arg(long)]
    pub write: bool,
    /// Allow everything but changes outside of the folder, such as commands and reading any file.
    #[arg(long)]
    pub yolo: bool,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The answer, and a line for each plan, tool call and diff.
    Text,
    /// The answer alone.
    Simple,
    /// Every message in both directions, as it was sent.
    #[value(alias = "json")]
    Jsonl,
}
