//! Resolves the configuration of an agent to start. Options from `setup()` override the settings file, which overrides the
//! preset.

use super::confine::{Circumstances, confinement};
use super::options::{AgentOptions, CapabilityOptions, McpServerOptions, TimeoutOptions};
use super::presets::{self, TOUR};
use super::remote::remote;
use super::settings::Settings;
use crate::process::{confine, program};
use crate::session::agent::{
    AgentConfig, ClientCapabilities, ConfigSource, FileCapabilities, McpServer, OnCancelTimeout,
    Reconnect, Timeouts,
};
use crate::session::confinement::Confinement;
use crate::session::paths::{AgentDisk, PathMap};
use crate::session::protocol::{Offered, Protocol};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Environment variables that would make a program started by an agent talk to this Neovim, or use its files.
const EDITOR_VARIABLES: &[&str] =
    &["NVIM", "VIM", "VIMRUNTIME", "MYVIMRC", "NVIM_LISTEN_ADDRESS", "NVIM_LOG_FILE"];

/// The agent to start, with everything that configures it except for the settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSelection {
    /// The name in the configuration or of a preset.
    pub name: String,
    /// The options from `setup()` for this agent.
    pub options: AgentOptions,
    /// The MCP servers from `setup()` for all agents, by name.
    pub mcp_servers: BTreeMap<String, McpServerOptions>,
    /// The environment of Neovim, from which that of the agent is made.
    pub environment: BTreeMap<String, String>,
    /// Folders besides the working folder that its sessions may use.
    pub directories: Vec<PathBuf>,
}

/// Returns how to start the agent in `cwd`. `this_program` is the binary that runs the tour. It searches PATH, so it may
/// block. If there is no command, the result says why.
pub fn resolve(
    request: AgentSelection,
    settings: Settings,
    cwd: &Path,
    this_program: &Path,
) -> AgentConfig {
    let AgentSelection { name, options, mcp_servers, environment, directories } = request;
    let misread = settings.problem_of(&name);
    let source = source(&settings, &name, &options);
    let setting = |key: &str| source.setting(&name, key);
    let configured = match settings.agents.get(&name) {
        Some(from_file) => from_file.clone().overridden_by(&options),
        None => options,
    };
    let preset = preset(&name, &configured, this_program);
    let known = preset.as_ref().filter(|preset| is_program_of(preset, &configured));
    let known = known.filter(|_| configured.url.is_none());
    let args = configured.args.clone().or_else(|| known?.args.clone());
    // One that fails at its start is not started again in case it speaks another protocol.
    let by_default = if known.is_some() { Offered::Acp } else { Offered::All };
    let needs = known.and_then(|_| presets::needs(&name));
    let mut agent = preset.unwrap_or_default().overridden_by(&configured);
    let variable = |name: &str| {
        configured.env.get(name).or_else(|| environment.get(name)).map(ToOwned::to_owned)
    };
    let remote = remote(&setting, &configured, &variable);
    if !matches!(remote, Ok(None)) {
        (agent.command, agent.install_hint) = (None, configured.install_hint.clone());
    }
    let has_no_command = agent.command.is_none() && matches!(remote, Ok(None));
    let no_command = has_no_command.then(|| format!("{} has neither command nor url", setting("")));
    let protocol = agent.dialect.as_deref().map(|dialect| protocol(&setting, dialect)).transpose();
    let reconnect = one_of(&setting, "reconnect", agent.reconnect.as_deref(), Reconnect::WORDS);
    let word = agent.on_cancel_timeout.as_deref();
    let cancel = one_of(&setting, "on_cancel_timeout", word, OnCancelTimeout::WORDS);
    let disk = disk(&setting, &agent, &environment);
    let has_our_files = disk.as_ref().is_ok_and(|disk| !disk.is_separate && disk.paths.is_empty());
    let is_here = has_our_files && !matches!(remote, Ok(Some(_)));
    let circumstances = Circumstances {
        setting: &setting,
        variable: &variable,
        roots: [cwd.to_owned()].into_iter().chain(directories).collect(),
        known: needs,
        is_here,
        kernel: &confine::kernel,
    };
    let could_be_confined = could_be_confined(&agent, &circumstances);
    let confinement = confined(&mut agent, &circumstances);
    let problems = [
        // What it was to say may have been stricter than anything else that is set.
        misread,
        no_command,
        protocol.as_ref().err().cloned(),
        remote.as_ref().err().cloned(),
        reconnect.as_ref().err().cloned(),
        cancel.as_ref().err().cloned(),
        disk.as_ref().err().cloned(),
        confinement.as_ref().err().cloned(),
    ];
    let servers = settings.mcp_servers.into_iter().chain(mcp_servers).chain(agent.mcp_servers);
    let servers = servers.collect::<BTreeMap<_, _>>().into_iter();
    let search_path = environment.get("PATH").cloned().unwrap_or_default();
    // The programs of an agent that runs elsewhere are not found here.
    let find = |name: &str| program::find(name, &search_path, cwd).ok().filter(|_| is_here);
    AgentConfig {
        name: name.as_str().into(),
        command: expand_home(agent.command.unwrap_or_default(), &environment),
        args: args.unwrap_or_default(),
        remote: remote.ok().flatten(),
        reconnect: reconnect.ok().flatten().unwrap_or(Reconnect::Now),
        on_cancel_timeout: cancel.ok().flatten(),
        env: agent.env.into_iter().collect(),
        editor_tools: is_here && agent.editor_tools.unwrap_or(true),
        mcp_servers: servers.filter_map(|(name, server)| mcp_server(name, server, &find)).collect(),
        base_env: environment
            .into_iter()
            .filter(|(name, _)| !EDITOR_VARIABLES.contains(&name.as_str()))
            .collect(),
        auth_method: agent.auth_method.map(Into::into),
        options: agent.options.into_iter().collect(),
        timeouts: timeouts(agent.timeouts),
        install_hint: agent.install_hint,
        disk: disk.unwrap_or_default(),
        confinement: confinement.ok().flatten(),
        could_be_confined,
        capabilities: capabilities(agent.capabilities),
        offered: protocol.ok().flatten().map_or(by_default, Offered::Only),
        source,
        problem: problems.into_iter().flatten().next(),
    }
}

/// Returns where the agent `name` is configured: in the settings file, unless `setup()` has options for it, too.
fn source(settings: &Settings, name: &str, options: &AgentOptions) -> ConfigSource {
    let is_there = settings.agents.contains_key(name) || settings.invalid_agents.contains_key(name);
    if !is_there || *options != AgentOptions::default() {
        return ConfigSource::Options;
    }
    ConfigSource::File { name: settings.file.clone(), lines: settings.lines_of(name) }
}

/// Returns what the agent may do if it is confined, and adds to its environment what it needs for that.
fn confined(
    agent: &mut AgentOptions,
    circumstances: &Circumstances<'_>,
) -> Result<Option<Confinement>, String> {
    let confinement = confinement(agent.confine.as_ref(), circumstances)?;
    if let Some(needs) = circumstances.known.filter(|_| confinement.is_some()) {
        let env = needs.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        agent.env.extend(env);
    }
    Ok(confinement)
}

/// Whether an agent could be confined by the word "write" alone, and the user has set nothing about that.
fn could_be_confined(agent: &AgentOptions, circumstances: &Circumstances<'_>) -> bool {
    agent.confine.is_none()
        && circumstances.is_here
        && circumstances.known.is_some()
        && (circumstances.kernel)().check(false).is_ok()
}

/// Returns what the option `key` of the agent `name` means, whose values are `words`; or what is wrong with it.
fn one_of<T: Copy>(
    setting: &dyn Fn(&str) -> String,
    key: &str,
    word: Option<&str>,
    words: [(&str, T); 2],
) -> Result<Option<T>, String> {
    let Some(word) = word else { return Ok(None) };
    let found = words.into_iter().find(|(known, _)| *known == word);
    let [(one, _), (other, _)] = words;
    let problem = || format!("{} is {word:?}; it can be {one} or {other}", setting(key));
    found.map(|(_, value)| Some(value)).ok_or_else(problem)
}

/// Returns the protocol that is configured for an agent, or what is wrong with it.
fn protocol(setting: &dyn Fn(&str) -> String, dialect: &str) -> Result<Protocol, String> {
    Protocol::named(dialect).ok_or_else(|| {
        let known: Vec<_> = Protocol::ALL.into_iter().map(Protocol::name).collect();
        format!("{} is {dialect:?}; it can be {}", setting("dialect"), known.join(", "))
    })
}

/// Returns the files of an agent, or what is wrong with how they are configured.
fn disk(
    setting: &dyn Fn(&str) -> String,
    agent: &AgentOptions,
    environment: &BTreeMap<String, String>,
) -> Result<AgentDisk, String> {
    let pairs = agent.paths.iter().map(|(ours, theirs)| {
        (expand_home(ours.clone(), environment).into(), PathBuf::from(theirs))
    });
    let paths =
        PathMap::new(pairs).map_err(|problem| format!("{}: {problem}", setting("paths")))?;
    let is_separate = agent.shared == Some(false);
    let CapabilityOptions { read, write, .. } = agent.capabilities;
    if is_separate && [read, write].contains(&Some(false)) {
        let shared = setting("shared");
        return Err(format!(
            "{shared} is false, so it needs capabilities.read and capabilities.write"
        ));
    }
    Ok(AgentDisk { paths, is_separate })
}

fn preset(name: &str, configured: &AgentOptions, this_program: &Path) -> Option<AgentOptions> {
    if name == TOUR && configured.command.is_none() {
        return Some(AgentOptions {
            command: Some(this_program.to_string_lossy().into_owned()),
            args: Some(vec![TOUR.to_owned()]),
            ..AgentOptions::default()
        });
    }
    presets::find(name).map(|preset| AgentOptions {
        command: Some(preset.command.to_owned()),
        args: Some(preset.args.iter().map(|arg| (*arg).to_owned()).collect()),
        install_hint: Some(preset.install_hint.to_owned()),
        ..AgentOptions::default()
    })
}

/// Whether no other program is configured than that of the preset. The same program in another folder counts as the same.
fn is_program_of(preset: &AgentOptions, configured: &AgentOptions) -> bool {
    configured.command.is_none() || file_name(configured) == file_name(preset)
}

fn file_name(options: &AgentOptions) -> Option<&OsStr> {
    Path::new(options.command.as_deref()?).file_name()
}

fn expand_home(command: String, environment: &BTreeMap<String, String>) -> String {
    match (command.strip_prefix("~/"), environment.get("HOME")) {
        (Some(rest), Some(home)) => format!("{}/{rest}", home.trim_end_matches('/')),
        _ => command,
    }
}

/// Converts the options of an MCP server. `None` if neither a command nor a URL is set.
fn mcp_server(
    name: String,
    server: McpServerOptions,
    find: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<McpServer> {
    if let Some(url) = server.url {
        let headers = server.headers.into_iter().collect();
        let is_sse = server.kind.as_deref() == Some("sse");
        return Some(if is_sse {
            McpServer::Sse { name, url, headers }
        } else {
            McpServer::Http { name, url, headers }
        });
    }
    let command = server.command?;
    // The protocol requires an absolute path. If the program is not found, the agent reports that.
    let found = find(&command);
    let command = found.map_or(command, |path| path.to_string_lossy().into_owned());
    Some(McpServer::Stdio {
        name,
        command,
        args: server.args.unwrap_or_default(),
        env: server.env.into_iter().collect(),
    })
}

fn capabilities(options: CapabilityOptions) -> ClientCapabilities {
    let is_on = |option: Option<bool>| option.unwrap_or(true);
    ClientCapabilities {
        files: FileCapabilities { read: is_on(options.read), write: is_on(options.write) },
        terminal: is_on(options.terminal),
        elicitation: is_on(options.elicitation),
        terminal_login: true,
    }
}

fn timeouts(options: TimeoutOptions) -> Timeouts {
    let default = Timeouts::default();
    let limit = |option: Option<u64>, default: Option<Duration>| match option {
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
        None => default,
    };
    Timeouts {
        initialize: limit(options.initialize, default.initialize),
        authenticate: limit(options.authenticate, default.authenticate),
        session: limit(options.session, default.session),
        request: limit(options.request, default.request),
        prompt: limit(options.prompt, default.prompt),
        permission: limit(options.permission, default.permission),
        cancel: limit(options.cancel, Some(default.cancel)).unwrap_or(Duration::MAX),
    }
}

#[cfg(test)]
mod tests;
