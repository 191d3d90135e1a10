//! The editor's own tools, which agents call through MCP: who may call them, the calls, and their answers.

use crate::session::agent::McpServer;
use crate::session::editor_tool::ToolRequest;
use crate::session::ids::ToolCallId;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What lets an agent call the tools for one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GrantId(pub u64);

/// A call that waits for its answer. It is used up by answering, which happens exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolCallToken(pub u64);

/// A command for the server of the tools.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolsCommand {
    /// Let an agent call the tools. `ToolsEvent::Granted` always follows.
    Grant(GrantId),
    /// Do not let it call them any more. Open calls get an error.
    Revoke(GrantId),
    /// Answer a call.
    Answer(ToolCallToken, ToolAnswer),
    /// Offer these tools of the user's besides our own.
    Offer(Vec<UserTool>),
}

/// What the server of the tools reports.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolsEvent {
    /// How an agent starts the server; otherwise why it cannot be offered.
    Granted(GrantId, Result<McpServer, String>),
    /// A tool is called.
    Called(Box<ToolCalled>),
    /// Nobody waits for the answer any more.
    Withdrawn(ToolCallToken),
    /// These tools of the user's are offered besides our own.
    Offered(BTreeSet<String>),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCalled {
    /// Identifies the call.
    pub token: ToolCallToken,
    /// By what the caller may call.
    pub grant: GrantId,
    /// What is asked for.
    pub request: ToolRequest,
    /// The arguments as JSON text.
    pub input: String,
    /// The tool call of the session that it is, if the agent says that.
    pub tool_call: Option<ToolCallId>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The text, for the agent's model.
    pub text: String,
    /// Whether the call has failed.
    pub is_error: bool,
}

impl ToolAnswer {
    /// The answer to a call that has failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }
}

/// A tool that the user has added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserTool {
    /// Its name.
    pub name: String,
    /// What it does, for the agent's model.
    pub description: String,
    /// The JSON schema of its arguments, as JSON text.
    pub input_schema: String,
    /// Whether it changes nothing, so that the user need not be asked.
    pub only_reads: bool,
}

/// What the editor is asked for by a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// What the call asks for; a change is only prepared.
    Run(ToolRequest),
    /// What the diagnostics are after the changes of a call.
    Check {
        /// What was asked for.
        request: ToolRequest,
        /// The files that were written, as real paths.
        written: Vec<PathBuf>,
        /// Those that were not, with the reasons.
        failed: Vec<(PathBuf, String)>,
    },
}

impl Query {
    /// Whether it reads, and prepares no change.
    pub fn only_reads(&self) -> bool {
        match self {
            Self::Run(request) => !request.changes_files(),
            Self::Check { .. } => true,
        }
    }
}
