//! Agents: how one is started, and what it said of itself.

use super::ids::{AgentName, AuthMethodId};
use super::prompt::PromptCapabilities;
use std::time::Duration;

/// How an agent is started.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    /// Its name in the configuration.
    pub name: AgentName,
    /// The program: a path, or a name looked up on PATH.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is laid over Neovim's environment.
    pub env: Vec<(String, String)>,
    /// The environment the agent gets before `env` is laid over it: Neovim's, cleaned.
    pub base_env: Vec<(String, String)>,
    /// MCP servers passed to every session.
    pub mcp_servers: Vec<McpServer>,
    /// The authentication method to use without asking.
    pub auth_method: Option<AuthMethodId>,
    /// What new sessions are set to: an option's id, category or name, and a value.
    pub options: Vec<(String, String)>,
    /// How long to wait for answers.
    pub timeouts: Timeouts,
    /// How to get the program, shown where it is not found.
    pub install_hint: Option<String>,
}

/// How long to wait for an answer; `None` waits for ever. A prompt has no limit (ACP prompt turn).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `initialize`.
    pub initialize: Option<Duration>,
    /// `authenticate`: often a login in a browser.
    pub authenticate: Option<Duration>,
    /// `session/new`, `session/load`, `session/resume`.
    pub session: Option<Duration>,
    /// Everything else that is answered at once.
    pub request: Option<Duration>,
    /// From `session/cancel` to the offer to end the agent.
    pub cancel: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            initialize: Some(Duration::from_secs(60)),
            authenticate: None,
            session: Some(Duration::from_secs(120)),
            request: Some(Duration::from_secs(30)),
            cancel: Duration::from_secs(10),
        }
    }
}

/// An MCP server for the agent to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServer {
    /// A program speaking over stdio.
    Stdio {
        /// Its name.
        name: String,
        /// The program, absolute.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What it gets in its environment.
        env: Vec<(String, String)>,
    },
    /// A server over HTTP.
    Http {
        /// Its name.
        name: String,
        /// Where it is.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
    },
    /// A server over HTTP with server-sent events.
    Sse {
        /// Its name.
        name: String,
        /// Where it is.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
    },
}

impl McpServer {
    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        match self {
            Self::Stdio { name, .. } | Self::Http { name, .. } | Self::Sse { name, .. } => name,
        }
    }
}

/// What an agent says of itself (the answer to ACP `initialize`). What it leaves out it cannot do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentInfo {
    /// The version it speaks.
    pub protocol_version: u16,
    /// Its own name.
    pub name: Option<String>,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// What it can do.
    pub capabilities: AgentCapabilities,
    /// How one can log in.
    pub auth_methods: Vec<AuthMethod>,
    /// What it is known to do differently.
    pub quirks: Quirks,
}

/// What an agent is known to do differently from what the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct Quirks {
    /// It cannot create a file unless reading the missing file first answers an empty text.
    pub missing_file_reads_empty: bool,
    /// Only its edits read through `fs/read_text_file`, right before they write; what its model reads is the disk's.
    pub model_reads_disk: bool,
    /// It replays a loaded session after the answer to `session/load`, not before.
    pub replays_after_load: bool,
    /// After `fs/write_text_file` it writes the same file to disk itself, also after an error.
    pub writes_files_itself_too: bool,
}

/// What an agent can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "one flag for each capability on the wire")]
pub struct AgentCapabilities {
    /// What prompts may carry.
    pub prompt: PromptCapabilities,
    /// `session/load`.
    pub load: bool,
    /// `session/resume`.
    pub resume: bool,
    /// `session/list`.
    pub list: bool,
    /// `session/close`.
    pub close: bool,
    /// `session/delete`.
    pub delete: bool,
    /// `session/fork`.
    pub fork: bool,
    /// `additionalDirectories`.
    pub directories: bool,
    /// MCP servers over HTTP.
    pub mcp_http: bool,
    /// MCP servers over server-sent events.
    pub mcp_sse: bool,
    /// `logout`.
    pub logout: bool,
}

/// A way to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// What goes over the wire.
    pub id: AuthMethodId,
    /// What the user reads.
    pub name: String,
    /// More about it.
    pub description: Option<String>,
    /// Who carries it out.
    pub kind: AuthKind,
}

/// Who carries an authentication out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthKind {
    /// The agent, when `authenticate` is called.
    Agent,
    /// The user, in a terminal.
    Terminal {
        /// Arguments after the agent's own.
        args: Vec<String>,
        /// What is laid over the environment.
        env: Vec<(String, String)>,
    },
    /// A kind we do not know: shown, not offered.
    Unknown(String),
}
