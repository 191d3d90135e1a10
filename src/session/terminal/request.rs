//! The requests of agents about terminals (ACP `terminal/*`), and how a command line is shown.

use crate::session::ids::TerminalId;
use std::path::PathBuf;

/// A terminal request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalRequest {
    /// `terminal/create`.
    Create(CreateTerminal),
    /// `terminal/output`.
    Output(TerminalId),
    /// `terminal/wait_for_exit`.
    WaitForExit(TerminalId),
    /// `terminal/kill`.
    Kill(TerminalId),
    /// `terminal/release`.
    Release(TerminalId),
}

/// A command to run (ACP `terminal/create`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreateTerminal {
    /// A program, or a whole command line for a shell if there are no arguments.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
    /// The directory to run in, as sent; `None` for the session's directory.
    pub cwd: Option<PathBuf>,
    /// The maximum output to retain for the agent, in bytes.
    pub limit: Option<u64>,
}

impl CreateTerminal {
    /// Returns the command line as a user would write it. Of `sh -c …` it is what the shell runs.
    pub fn line(&self) -> String {
        if let [flag, line] = &self.args[..]
            && runs_line(&self.command, flag)
        {
            return line.clone();
        }
        if self.args.is_empty() {
            return self.command.clone();
        }
        let words = std::iter::once(&self.command).chain(&self.args).map(|word| quote(word));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Whether `program` is a shell of the system and `flag` makes it run a command line. A shell in
/// another directory is not trusted: a program of that name may do anything.
pub fn runs_line(program: &str, flag: &str) -> bool {
    let folders = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    let name = folders.iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish")
        && matches!(flag, "-c" | "-lc" | "-ic" | "-lic")
}

/// Quotes a word for a shell if necessary.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_as_a_user_would_write_it() {
        let line = |command: &str, args: &[&str]| {
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            let command = command.to_owned();
            CreateTerminal { command, args, ..CreateTerminal::default() }.line()
        };
        assert_eq!(line("make test | tail", &[]), "make test | tail");
        assert_eq!(line("git", &["commit", "-m", "it's", ""]), r"git commit -m 'it'\''s' ''");
        assert_eq!(line("/bin/bash", &["-lc", "a && b"]), "a && b");
        assert_eq!(line("grep", &["-c", "a b", "c"]), "grep -c 'a b' c");
        assert_eq!(line("/x/sh", &["-c", "ls"]), "/x/sh -c ls");
        assert_eq!(line("evil", &["-c", "ls"]), "evil -c ls");
    }
}
