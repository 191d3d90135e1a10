//! Agents: [`AgentConfig`], how to start one, and [`AgentInfo`], what it told us in `initialize`.

use super::confinement::Confinement;
use super::ids::{AgentName, AuthMethodId, SessionId};
use super::paths::AgentDisk;
use super::prompt::PromptCapabilities;
use super::protocol::{Offered, Protocol};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How to start an agent and set up its sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    /// The name of the agent in the configuration.
    pub name: AgentName,
    /// The program: a path, or a name that is looked up on `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it is reached instead, if it is not started here.
    pub remote: Option<RemoteAgent>,
    /// When to get it back after it was lost.
    pub reconnect: Reconnect,
    /// What to do when it does not obey a cancellation; `None` if the protocol decides.
    pub on_cancel_timeout: Option<OnCancelTimeout>,
    /// Variables that are set on top of `base_env`.
    pub env: Vec<(String, String)>,
    /// Neovim's environment without the variables that Neovim sets for itself, such as
    /// `VIMRUNTIME`.
    pub base_env: Vec<(String, String)>,
    /// Whether it is offered the editor's own tools.
    pub editor_tools: bool,
    /// MCP servers passed to every new session.
    pub mcp_servers: Vec<McpServer>,
    /// The authentication method to use without asking.
    pub auth_method: Option<AuthMethodId>,
    /// Option values to set in each new session: the option's id, category or name, and the value.
    pub options: Vec<(String, String)>,
    /// How long to wait for responses.
    pub timeouts: Timeouts,
    /// How to install the program; shown if it is not found.
    pub install_hint: Option<String>,
    /// The protocols it is offered.
    pub offered: Offered,
    /// Its files.
    pub disk: AgentDisk,
    /// What it may do, if it is confined.
    pub confinement: Option<Confinement>,
    /// Whether it could be confined, and the user has decided neither for nor against that.
    pub could_be_confined: bool,
    /// What it may ask of us.
    pub capabilities: ClientCapabilities,
    /// Where it is configured.
    pub source: ConfigSource,
    /// Why it cannot be started, if its configuration already says so.
    pub problem: Option<String>,
}

impl AgentConfig {
    /// Returns the configuration of an agent that is a program, with nothing else set.
    pub fn new(name: AgentName, command: String) -> Self {
        Self {
            name,
            command,
            args: Vec::new(),
            remote: None,
            reconnect: Reconnect::default(),
            on_cancel_timeout: None,
            env: Vec::new(),
            base_env: Vec::new(),
            editor_tools: false,
            mcp_servers: Vec::new(),
            auth_method: None,
            options: Vec::new(),
            timeouts: Timeouts::default(),
            install_hint: None,
            offered: Offered::All,
            disk: AgentDisk::default(),
            confinement: None,
            could_be_confined: false,
            capabilities: ClientCapabilities::default(),
            source: ConfigSource::default(),
            problem: None,
        }
    }

    /// Returns the configuration of an agent that cannot be started because of `problem`.
    pub fn unusable(name: AgentName, problem: String) -> Self {
        Self { problem: Some(problem), ..Self::new(name, String::new()) }
    }

    /// Names one of its settings as it stands where the agent is configured.
    pub fn setting(&self, key: &str) -> String {
        self.source.setting(self.name.as_str(), key)
    }

    /// Returns a variable of the environment the agent is started in.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let set = self.env.iter().rev().chain(&self.base_env);
        set.filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).next()
    }
}

/// Where an agent is configured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ConfigSource {
    /// In the options for `setup()`.
    #[default]
    Options,
    /// In a settings file.
    File {
        /// The name of the file.
        name: String,
        /// The lines of the agent's settings, by key, and that of its entry, whose key is empty.
        lines: BTreeMap<String, usize>,
    },
}

impl ConfigSource {
    /// Names a setting of the agent as the user has to look for it; without a key, all of them.
    pub fn setting(&self, agent: &str, key: &str) -> String {
        let dot = if key.is_empty() { "" } else { "." };
        match self {
            Self::Options => format!("agents.{agent}{dot}{key}"),
            Self::File { name, lines } => {
                let first = key.split('.').next().unwrap_or_default();
                let line = lines.get(first).or_else(|| lines.get(""));
                let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
                format!("agent_servers.{agent}{dot}{key} ({name}{line})")
            }
        }
    }
}

/// What an agent may ask of us (ACP client capabilities). Anything else that we can do is always offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// Using files.
    pub files: FileCapabilities,
    /// Running commands in terminals.
    pub terminal: bool,
    /// Asking the user to fill in forms and open URLs.
    pub elicitation: bool,
    /// Logging the user in by a program in a terminal.
    pub terminal_login: bool,
}

/// What an agent may do with files through us (ACP file system capabilities).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCapabilities {
    /// Reading them.
    pub read: bool,
    /// Writing them.
    pub write: bool,
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        let files = FileCapabilities { read: true, write: true };
        Self { files, terminal: true, elicitation: true, terminal_login: true }
    }
}

/// What to do when an agent does not obey a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCancelTimeout {
    /// Offer to end it.
    Ask,
    /// End it, start it again and resume the session.
    Restart,
}

impl OnCancelTimeout {
    /// What each value of the option means.
    pub const WORDS: [(&str, Self); 2] = [("ask", Self::Ask), ("restart", Self::Restart)];
}

/// When to get an agent back that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reconnect {
    /// By itself.
    Now,
    /// With the next prompt.
    #[default]
    Prompt,
}

impl Reconnect {
    /// What each value of the option means.
    pub const WORDS: [(&str, Self); 2] = [("now", Self::Now), ("prompt", Self::Prompt)];
}

/// An agent that runs elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteAgent {
    /// Its URL, without credentials.
    pub url: String,
    /// Headers to send with each request, lower-case names first. They hold secrets.
    pub headers: Vec<(String, String)>,
    /// A file with certificates of authorities to trust besides those of the system, in PEM.
    pub ca_file: Option<String>,
    /// What must not be shown: values of variables in headers, and credentials.
    pub secrets: Vec<String>,
}

impl fmt::Debug for RemoteAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("RemoteAgent")
            .field("url", &self.shown())
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl RemoteAgent {
    /// Returns its URL as it may be shown: a query often holds a secret.
    pub fn shown(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }
}

/// How long to wait for a response; `None` waits forever. `session/prompt` has no timeout (ACP
/// prompt turn).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// `initialize`.
    pub initialize: Option<Duration>,
    /// `authenticate`, which often involves a login in a browser.
    pub authenticate: Option<Duration>,
    /// `session/new`, `session/load`, `session/resume`.
    pub session: Option<Duration>,
    /// All other requests except `session/prompt`.
    pub request: Option<Duration>,
    /// A turn, which is cancelled then. It does not end while the user is asked something.
    pub prompt: Option<Duration>,
    /// The user's answer to a permission request, which is answered with `cancelled` then.
    pub permission: Option<Duration>,
    /// The time after `session/cancel` until the user is offered to end the agent.
    pub cancel: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            initialize: Some(Duration::from_secs(60)),
            authenticate: None,
            session: Some(Duration::from_secs(120)),
            request: Some(Duration::from_secs(30)),
            prompt: None,
            permission: None,
            cancel: Duration::from_secs(10),
        }
    }
}

/// An MCP server for the agent to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServer {
    /// A program that speaks MCP over stdio.
    Stdio {
        /// The server's name.
        name: String,
        /// The absolute path of the program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables to set for it.
        env: Vec<(String, String)>,
    },
    /// A server over HTTP.
    Http {
        /// The server's name.
        name: String,
        /// Its URL.
        url: String,
        /// Headers to send with each request.
        headers: Vec<(String, String)>,
    },
    /// A server over HTTP with server-sent events.
    Sse {
        /// The server's name.
        name: String,
        /// Its URL.
        url: String,
        /// Headers to send with each request.
        headers: Vec<(String, String)>,
    },
}

impl McpServer {
    /// Returns the server's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Stdio { name, .. } | Self::Http { name, .. } | Self::Sse { name, .. } => name,
        }
    }
}

/// What an agent says about itself in its response to ACP `initialize`. It lacks every capability
/// that it leaves out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentInfo {
    /// The protocol of the connection; `None` before the handshake.
    pub protocol: Option<Protocol>,
    /// Its programmatic name.
    pub name: Option<String>,
    /// Its display name.
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The capabilities it advertised.
    pub capabilities: AgentCapabilities,
    /// The ways to authenticate.
    pub auth_methods: Vec<AuthMethod>,
    /// Its known deviations from the protocol.
    pub quirks: Quirks,
    /// The session that its files name as the one the folder is at.
    pub current_session: Option<SessionId>,
}

impl AgentInfo {
    /// Whether the agent can connect to a server of this kind.
    pub fn takes(&self, server: &McpServer) -> bool {
        self.protocol.is_some_and(Protocol::has_mcp)
            && match server {
                McpServer::Stdio { .. } => self.capabilities.has(Capability::McpStdio),
                McpServer::Http { .. } => self.capabilities.has(Capability::McpHttp),
                McpServer::Sse { .. } => self.capabilities.has(Capability::McpSse),
            }
    }
}

/// An agent's known deviations from the protocol that we work around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quirks {
    /// It can create a file only if reading the missing file returns an empty text instead of an
    /// error.
    pub missing_file_reads_empty: bool,
    /// It calls `fs/read_text_file` only right before an edit; what its model reads comes from the
    /// disk.
    pub model_reads_disk: bool,
    /// After `fs/write_text_file` it also writes the file to disk itself, even after an error.
    pub writes_files_itself_too: bool,
    /// For what it starts MCP servers.
    pub mcp_servers: McpServersFor,
    /// How long it waits for the answer to a call of an MCP server's tool, in seconds.
    pub tool_seconds: Option<u16>,
}

/// For what an agent starts MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpServersFor {
    /// For each session.
    #[default]
    Session,
    /// For each folder: the server of a later session takes the place of an earlier one's of the same name, and gets the calls of
    /// all.
    Folder,
}

/// The capabilities of an agent (ACP `agentCapabilities`).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentCapabilities {
    /// The content that prompts may have.
    pub prompt: PromptCapabilities,
    /// The other capabilities, one bit each.
    others: u32,
}

/// An optional method or feature of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// `session/load`.
    Load,
    /// `session/resume`.
    Resume,
    /// `session/list`.
    List,
    /// `session/fork`.
    Fork,
    /// `session/fork` after an earlier turn.
    ForkAtTurn,
    /// `session/close`.
    Close,
    /// `session/delete`.
    Delete,
    /// `additionalDirectories`.
    Directories,
    /// MCP servers that are programs. All agents of version 1 have it.
    McpStdio,
    /// MCP servers over HTTP.
    McpHttp,
    /// MCP servers over server-sent events.
    McpSse,
    /// `logout`.
    Logout,
    /// It says that it reads files.
    ReadsFiles,
    /// It says that it writes files.
    WritesFiles,
    /// It says that it runs commands.
    RunsCommands,
    /// It says that it searches the web.
    SearchesWeb,
    /// It says that it sends text while it is written.
    Streams,
}

impl Capability {
    const ALL: [Self; 17] = [
        Self::Load,
        Self::Resume,
        Self::List,
        Self::Fork,
        Self::ForkAtTurn,
        Self::Close,
        Self::Delete,
        Self::Directories,
        Self::McpStdio,
        Self::McpHttp,
        Self::McpSse,
        Self::Logout,
        Self::ReadsFiles,
        Self::WritesFiles,
        Self::RunsCommands,
        Self::SearchesWeb,
        Self::Streams,
    ];
}

impl fmt::Debug for AgentCapabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<_> = Capability::ALL.into_iter().filter(|one| self.has(*one)).collect();
        f.debug_struct("AgentCapabilities")
            .field("prompt", &self.prompt)
            .field("others", &others)
            .finish()
    }
}

impl AgentCapabilities {
    /// Creates a set of just these capabilities.
    pub fn of(all: &[Capability]) -> Self {
        all.iter().fold(Self::default(), |sum, one| sum.with(*one, true))
    }

    /// Creates a set of prompt capabilities and nothing else.
    pub fn taking(prompt: PromptCapabilities) -> Self {
        Self { prompt, others: 0 }
    }

    /// Adds a capability if `can` is true.
    #[must_use]
    pub fn with(self, capability: Capability, can: bool) -> Self {
        Self { others: self.others | (u32::from(can) << capability as u32), ..self }
    }

    /// Whether the agent has a capability.
    pub fn has(self, capability: Capability) -> bool {
        self.others & (1 << capability as u32) != 0
    }
}

/// A way to authenticate (ACP `authMethods`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// The id to send in `authenticate`.
    pub id: AuthMethodId,
    /// Its display name.
    pub name: String,
    /// A description for the user.
    pub description: Option<String>,
    /// Who performs it.
    pub kind: AuthKind,
}

/// Who performs an authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthKind {
    /// The agent, when `authenticate` is called.
    Agent,
    /// The user, by running the agent's program in a terminal.
    Terminal {
        /// Arguments to append to the agent's own.
        args: Vec<String>,
        /// Environment variables to set.
        env: Vec<(String, String)>,
    },
    /// A type we do not know: shown, but not offered.
    Unknown(String),
}
