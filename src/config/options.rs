//! The options of an agent, which are the same in `setup()` of the plugin and in the settings file. A missing key leaves the
//! option unset.

#[cfg(test)]
use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// How an agent is started, and what its sessions begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, expecting = "a table")]
pub struct AgentOptions {
    /// The program: a path, or a name on PATH.
    pub command: Option<String>,
    /// Its arguments. Without them those of the preset, if `command` is its program.
    pub args: Option<Vec<String>>,
    /// Where it is reached, if it runs elsewhere: a URL in place of `command`.
    pub url: Option<String>,
    /// Headers to send to `url` with each request; `${NAME}` in them is a variable of the environment.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub headers: BTreeMap<String, String>,
    /// A file with the certificates of authorities that `url` may have, besides those of the system.
    pub ca_file: Option<String>,
    /// Variables to set in its environment.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub env: BTreeMap<String, String>,
    /// The folder its sessions work in. Neovim chooses by it, because it knows the current window's folder.
    pub cwd: Option<String>,
    /// Whether it is offered the editor's own tools; unset counts as true.
    pub editor_tools: Option<bool>,
    /// MCP servers by name, in addition to those of all agents.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub mcp_servers: BTreeMap<String, McpServerOptions>,
    /// What new sessions are set to, by an option's id, category or name.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub options: BTreeMap<String, String>,
    /// The authentication method to use without asking.
    pub auth_method: Option<String>,
    /// How to install the program, shown where it is not found.
    pub install_hint: Option<String>,
    /// Folders that the agent knows by other paths, by our paths.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub paths: BTreeMap<String, String>,
    /// Whether it has the same files as we; unset counts as true.
    pub shared: Option<bool>,
    /// The protocol it speaks, if that does not follow from its answers: `1`, `2`, `0.1.1`, `go` or `openoxide`.
    pub dialect: Option<String>,
    /// When to get it back after it was lost: `now` or with the next `prompt`.
    pub reconnect: Option<String>,
    /// What to do when it has not stopped after a cancel: `ask` or `restart`.
    pub on_cancel_timeout: Option<String>,
    /// Whether and how it is confined: `false`, `"write"` or a table with `write`, `hide` and `net`.
    #[cfg_attr(test, schemars(with = "Option<Confine>"))]
    pub confine: Option<Value>,
    /// What it may ask of us.
    pub capabilities: CapabilityOptions,
    /// How long to wait for answers.
    pub timeouts: TimeoutOptions,
}

/// The forms of `confine`, for the description of messages. They are parsed later, so that what is wrong with them is a problem
/// of the agent.
#[cfg(test)]
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only described")]
enum Confine {
    Switch(bool),
    Word(String),
    Table {},
}

/// What an agent may ask of us; unset counts as true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, expecting = "a table")]
pub struct CapabilityOptions {
    /// Reading files.
    pub read: Option<bool>,
    /// Writing files.
    pub write: Option<bool>,
    /// Running commands.
    pub terminal: Option<bool>,
    /// Forms to fill in and URLs to open.
    pub elicitation: Option<bool>,
}

/// How long to wait, in milliseconds; 0 waits for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, expecting = "a table")]
pub struct TimeoutOptions {
    /// For the first request, in milliseconds.
    pub initialize: Option<u64>,
    /// For a login, in milliseconds.
    pub authenticate: Option<u64>,
    /// For a session to start or load, in milliseconds.
    pub session: Option<u64>,
    /// For anything else that is answered at once, in milliseconds.
    pub request: Option<u64>,
    /// For a turn, in milliseconds.
    pub prompt: Option<u64>,
    /// For the user's answer to a permission request, in milliseconds.
    pub permission: Option<u64>,
    /// From a cancel until `on_cancel_timeout`, in milliseconds.
    pub cancel: Option<u64>,
}

/// An MCP server: one with `url` is reached over HTTP, any other is a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, expecting = "a table")]
pub struct McpServerOptions {
    /// `sse` for server-sent events; otherwise the other keys decide.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// Variables to set in its environment.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub env: BTreeMap<String, String>,
    /// The URL of the server.
    pub url: Option<String>,
    /// Headers to send with each request.
    #[serde(deserialize_with = "map_or_empty_list")]
    pub headers: BTreeMap<String, String>,
}

impl AgentOptions {
    /// Returns these options overridden by those that `over` sets. Maps are merged by key.
    #[must_use]
    pub fn overridden_by(mut self, over: &Self) -> Self {
        let over = over.clone();
        self.command = over.command.or(self.command);
        self.args = over.args.or(self.args);
        self.url = over.url.or(self.url);
        self.headers.extend(over.headers);
        self.ca_file = over.ca_file.or(self.ca_file);
        self.env.extend(over.env);
        self.cwd = over.cwd.or(self.cwd);
        self.editor_tools = over.editor_tools.or(self.editor_tools);
        for (name, server) in over.mcp_servers {
            let own = self.mcp_servers.remove(&name).unwrap_or_default();
            self.mcp_servers.insert(name, own.overridden_by(server));
        }
        self.options.extend(over.options);
        self.auth_method = over.auth_method.or(self.auth_method);
        self.install_hint = over.install_hint.or(self.install_hint);
        self.paths.extend(over.paths);
        self.shared = over.shared.or(self.shared);
        self.dialect = over.dialect.or(self.dialect);
        self.reconnect = over.reconnect.or(self.reconnect);
        self.on_cancel_timeout = over.on_cancel_timeout.or(self.on_cancel_timeout);
        self.confine = over.confine.or(self.confine);
        self.capabilities = CapabilityOptions {
            read: over.capabilities.read.or(self.capabilities.read),
            write: over.capabilities.write.or(self.capabilities.write),
            terminal: over.capabilities.terminal.or(self.capabilities.terminal),
            elicitation: over.capabilities.elicitation.or(self.capabilities.elicitation),
        };
        self.timeouts = TimeoutOptions {
            initialize: over.timeouts.initialize.or(self.timeouts.initialize),
            authenticate: over.timeouts.authenticate.or(self.timeouts.authenticate),
            session: over.timeouts.session.or(self.timeouts.session),
            request: over.timeouts.request.or(self.timeouts.request),
            prompt: over.timeouts.prompt.or(self.timeouts.prompt),
            permission: over.timeouts.permission.or(self.timeouts.permission),
            cancel: over.timeouts.cancel.or(self.timeouts.cancel),
        };
        self
    }
}

impl McpServerOptions {
    fn overridden_by(mut self, over: Self) -> Self {
        self.kind = over.kind.or(self.kind);
        self.command = over.command.or(self.command);
        self.args = over.args.or(self.args);
        self.env.extend(over.env);
        self.url = over.url.or(self.url);
        self.headers.extend(over.headers);
        self
    }
}

/// Deserializes a map or an empty list: an empty Lua table arrives as a list.
pub(super) fn map_or_empty_list<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct MapVisitor<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for MapVisitor<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, value)) = entries.next_entry()? {
                map.insert(name, value);
            }
            Ok(map)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            match items.next_element::<IgnoredAny>()? {
                None => Ok(BTreeMap::new()),
                Some(_) => Err(Error::invalid_type(Unexpected::Seq, &self)),
            }
        }
    }

    deserializer.deserialize_any(MapVisitor(PhantomData))
}
