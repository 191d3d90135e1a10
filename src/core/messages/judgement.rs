//! What the user's rules decide on a permission request. Paths are resolved for that, so it is done outside of the core.

use crate::session::author::ChatId;
use crate::session::tool_call::ToolKind;
use crate::trust::rule::{Decision, Rule};
use crate::trust::rules::Call;
use crate::trust::shell::Unclear;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names a request as it was at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestVersion {
    /// The chat.
    pub chat: ChatId,
    /// Our number of the request.
    pub request: u64,
    /// How many times what is decided about had changed.
    pub revision: u64,
    /// How many times the rules had.
    pub rules: u64,
}

/// A request to be decided on.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The request.
    pub version: RequestVersion,
    /// The agent's name in the configuration.
    pub agent: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// The name of the tool, if the agent tells it.
    pub tool: Option<String>,
    /// The absolute paths of the files that the call names, as the agent wrote them.
    pub files: Vec<PathBuf>,
    /// The command lines that it may run.
    pub commands: Vec<String>,
    /// The working directory of the session.
    pub root: PathBuf,
    /// The folders that they may run in; that of the session if there are none.
    pub cwds: Vec<PathBuf>,
    /// The rules.
    pub rules: Arc<[Rule]>,
}

impl Case {
    /// Returns the tool call, as rules see it, with the paths as the agent wrote them.
    pub fn call<'a>(&'a self, real_path: &'a dyn Fn(&Path) -> Option<PathBuf>) -> Call<'a> {
        Call {
            agent: &self.agent,
            kind: self.kind,
            tool: self.tool.as_deref(),
            files: &self.files,
            commands: &self.commands,
            root: &self.root,
            cwds: &self.cwds,
            real_path,
        }
    }
}

/// What the rules have decided; by none if they leave it to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What is decided.
    pub decision: Decision,
    /// The rules that decide so, as lines of text.
    pub by: Vec<String>,
    /// Why the rules cannot decide on a command: what it runs cannot be known.
    pub unclear: Option<Unclear>,
    /// The real paths of [`Case::files`] at that moment; empty if they are not known.
    pub real_files: Vec<PathBuf>,
}
