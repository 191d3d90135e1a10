//! What an agent wants of terminals (ACP `terminal/*`).

use crate::session::ids::TerminalId;
use std::path::PathBuf;

/// One request.
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

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreateTerminal {
    /// A program, or without arguments a whole command line for a shell.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is laid over the environment.
    pub env: Vec<(String, String)>,
    /// Where it runs, as sent; `None` is the session's folder.
    pub cwd: Option<PathBuf>,
    /// The most output the agent wants, in bytes.
    pub limit: Option<u64>,
}

impl CreateTerminal {
    /// The command line as a user would write it; of a shell's, what the shell runs.
    pub fn line(&self) -> String {
        if let [flag, line] = &self.args[..]
            && runs_line(&self.command, flag)
        {
            return line.clone();
        }
        let words = self.args.iter().map(|word| quoted(word));
        std::iter::once(self.command.clone()).chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Whether a program with this flag is one of the system's own shells that runs a command line. Another program of that
/// name may do anything.
pub fn runs_line(program: &str, flag: &str) -> bool {
    let folders = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"];
    let name = folders.iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish")
        && matches!(flag, "-c" | "-lc" | "-ic" | "-lic")
}

/// A word as a shell would have it.
pub fn quoted(word: &str) -> String {
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
