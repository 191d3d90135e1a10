//! Reads the command line, the settings and the prompt: everything that can be wrong before an agent is started.

use super::arguments::{Arguments, Format};
use super::output;
use super::policy::Policy;
use super::{End, Exit};
use crate::config::presets::{self, TOUR};
use crate::config::resolve::{AgentSelection, resolve};
use crate::config::settings::{self, Settings};
use crate::process::program;
use crate::session::agent::{
    AgentConfig, ClientCapabilities, ConfigSource, FileCapabilities, Reconnect,
};
use crate::session::ids::SessionId;
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the settings file, where Neovim has its configuration.
const DEFAULT_SETTINGS: &str = "rat.json";

/// What to do.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) config: AgentConfig,
    pub(super) policy: Policy,
    pub(super) task: Task,
    pub(super) format: Format,
    pub(super) resume: Option<SessionId>,
    pub(super) save_session: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
}

/// What is wanted of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    Prompt(String),
    ListCommands,
    ListSessions,
}

fn usage(why: impl Into<String>) -> End {
    End::new(Exit::Usage, why)
}

/// Returns what to do, or how the program ends at once. It blocks.
pub(super) fn plan(arguments: Arguments) -> Result<Plan, End> {
    let cwd = arguments.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    let root = cwd.canonicalize().map_err(|error| usage(format!("{}: {error}", cwd.display())))?;
    if !root.is_dir() {
        return Err(usage(format!("{} is not a folder", cwd.display())));
    }
    let policy = Policy {
        root,
        writes: arguments.allowed.write || arguments.allowed.yolo,
        all: arguments.allowed.yolo,
        rules: arguments.allowed.allow.iter().map(|allowed| allowed.0.clone()).collect(),
    };
    let environment = std::env::vars_os();
    let environment: BTreeMap<String, String> = environment
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let settings = settings(arguments.settings, &environment)?;
    let config = agent(arguments.agent, settings, environment, &policy)?;
    let task = if arguments.lists.list_commands {
        Task::ListCommands
    } else if arguments.lists.list_sessions {
        Task::ListSessions
    } else {
        Task::Prompt(prompt(arguments.prompt)?)
    };
    let format = if arguments.jsonl { Format::Jsonl } else { arguments.output };
    Ok(Plan {
        config,
        policy,
        task,
        format,
        resume: arguments.resume.map(SessionId::from),
        save_session: arguments.save_session,
        timeout: arguments.timeout.map(Duration::from_secs),
    })
}

/// Reads the settings: from the file that was named, which has to be there, or from the user's own, if there is one.
fn settings(
    named: Option<PathBuf>,
    environment: &BTreeMap<String, String>,
) -> Result<Settings, End> {
    if let Some(path) = named.as_ref().filter(|path| !path.exists()) {
        return Err(usage(format!("{}: there is no such file", path.display())));
    }
    let Some(path) = named.or_else(|| default_settings(environment)) else {
        return Ok(Settings::default());
    };
    let (settings, problems) = settings::load(&path);
    match problems.first() {
        Some(problem) => Err(usage(format!("{}: {problem}", path.display()))),
        None => Ok(settings),
    }
}

/// The user's settings file, where Neovim has its configuration (`:help $NVIM_APPNAME`).
fn default_settings(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    let folder = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(set("HOME")?).join(".config")))?;
    let name = set("NVIM_APPNAME").map_or("nvim", String::as_str);
    Some(folder.join(name).join(DEFAULT_SETTINGS))
}

/// Returns how the agent is started. It may ask only for what is allowed: nobody is there who could fill in a form.
fn agent(
    name: Option<String>,
    settings: Settings,
    environment: BTreeMap<String, String>,
    policy: &Policy,
) -> Result<AgentConfig, End> {
    let name = name.or_else(|| settings.first_agent.clone());
    let name = name.ok_or_else(|| {
        usage(format!(
            "no agent: name one with --agent, or list some in rat.json or the file of --settings; {NOT_OF_SETUP}"
        ))
    })?;
    let is_known = settings.agents.contains_key(&name) || presets::find(&name).is_some();
    if !is_known && name != TOUR {
        let known = known(&settings, &environment);
        return Err(usage(format!("no agent is named {name} here; {NOT_OF_SETUP}; {known}")));
    }
    let selection = AgentSelection { name, environment, ..AgentSelection::default() };
    let file = Some(settings.file.clone()).filter(|name| !name.is_empty());
    let mut config = resolve(selection, settings, &policy.root, &program::this_program());
    if let Some(problem) = &config.problem {
        return Err(usage(problem.clone()));
    }
    if config.source == ConfigSource::Options {
        // Without Neovim there are no options, so what the file lacks belongs there.
        let name = file.unwrap_or_else(|| DEFAULT_SETTINGS.to_owned());
        config.source = ConfigSource::File { name, lines: BTreeMap::new() };
    }
    config.reconnect = Reconnect::Prompt;
    // There is no editor.
    config.editor_tools = false;
    let configured = config.capabilities;
    config.capabilities = ClientCapabilities {
        files: FileCapabilities {
            write: configured.files.write && policy.writes,
            ..configured.files
        },
        terminal: configured.terminal && policy.executes(),
        elicitation: false,
        terminal_login: false,
    };
    Ok(config)
}

/// Why an agent may be unknown here.
const NOT_OF_SETUP: &str = "agents of setup() in Neovim are not known here";

/// Names the agents that there are: those in the settings file, the presets and the tour; first those that are installed.
fn known(settings: &Settings, environment: &BTreeMap<String, String>) -> String {
    let path = environment.get("PATH").map_or("", String::as_str);
    let is_here = |command: &str| program::find(command, path, Path::new(".")).is_ok();
    let configured = settings.agents.iter().map(|(name, agent)| {
        let preset = presets::find(name).map(|preset| preset.command);
        let command = agent.command.as_deref().or(preset);
        (name.as_str(), agent.url.is_some() || command.is_some_and(is_here))
    });
    let others = presets::PRESETS.iter().filter(|it| !settings.agents.contains_key(it.name));
    let others = others.map(|preset| (preset.name, is_here(preset.command)));
    let all = configured.chain(others).chain([(TOUR, true)]);
    let (mut here, mut missing) = (Vec::new(), Vec::new());
    for (name, is_here) in all {
        if is_here { here.push(name) } else { missing.push(name) }
    }
    format!("can be started: {}; not installed: {}", here.join(", "), missing.join(", "))
}

/// Returns the prompt, from stdin if none or `-` is given.
fn prompt(given: Option<String>) -> Result<String, End> {
    let text = match given.filter(|text| text != "-") {
        Some(text) => text,
        None => {
            if std::io::stdin().is_terminal() {
                output::tell("type the prompt and end it with Ctrl-D");
            }
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| usage(format!("the prompt on stdin: {error}")))?;
            String::from_utf8(bytes).map_err(|_| usage("the prompt on stdin is not UTF-8"))?
        }
    };
    if text.trim().is_empty() {
        return Err(usage("the prompt is empty"));
    }
    Ok(text)
}
