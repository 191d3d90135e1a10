//! Resolves how the agent of a new chat is started, away from the event loop.

use crate::config::{self, settings};
use crate::core::messages::policy::ChatPolicy;
use crate::core::messages::user::{NewEdit, UserAction};
use crate::host::paths;
use crate::nvim::messages::from_lua::start::StartRequest;
use crate::process::program;
use crate::session::agent::AgentConfig;
use crate::session::{keys, signs};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// How long resolving the configuration of an agent may hold back what Neovim says.
const RESOLVE_LIMIT: Duration = Duration::from_secs(5);

/// Resolves how an agent is started, on a blocking thread because the settings file and the programs may lie on a file system
/// that does not answer. If it takes too long or panics, the
/// agent has no command and its chat shows why.
pub(super) fn resolve(request: StartRequest) -> JoinHandle<UserAction> {
    keys::use_keys(request.keys.clone());
    signs::use_ascii(request.ascii);
    tokio::spawn(async move {
        let own = request.clone();
        let work = timeout(RESOLVE_LIMIT, spawn_blocking(move || load_and_resolve(own))).await;
        let why = match work {
            Ok(Ok((config, mut problems, real_roots))) => {
                problems.splice(..0, request.problems.clone());
                let policy = ChatPolicy { real_roots, ..request.policy };
                return start_action(StartRequest { policy, ..request }, config, problems);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its settings file or a program in it does not answer".to_owned(),
        };
        let config = AgentConfig::unusable(request.agent.name.as_str().into(), why);
        let problems = request.problems.clone();
        start_action(request, config, problems)
    })
}

/// Returns how the agent is started, the problems of the settings file, and where the session's folders are: the agent may put
/// a link in the place of one later.
fn load_and_resolve(request: StartRequest) -> (AgentConfig, Vec<String>, Vec<PathBuf>) {
    let StartRequest { agent, settings_file, cwd, directories, policy, .. } = request;
    let project = policy.worktree.as_ref().map(|worktree| &worktree.project);
    let roots = std::iter::once(&cwd).chain(&directories).chain(project);
    let real_roots = roots.filter_map(|root| paths::real_path(root).ok()).collect();
    let (settings, problems) = settings_file.as_deref().map(settings::load).unwrap_or_default();
    let file = settings_file.unwrap_or_default();
    let file = short_path(&file, agent.environment.get("HOME"));
    let problems = problems.iter().map(|problem| format!("{file}: {problem}")).collect();
    let config = config::resolve::resolve(agent, settings, &cwd, &program::this_program());
    (config, problems, real_roots)
}

fn start_action(request: StartRequest, config: AgentConfig, problems: Vec<String>) -> UserAction {
    let StartRequest { cwd, directories, policy, target, focus, edit, renew, .. } = request;
    if let Some(chat) = renew {
        return UserAction::Renew { chat, config: Box::new(config), problems };
    }
    if let Some(prompt) = edit {
        let prompt = *prompt;
        let edit = NewEdit { config, problems, cwd, directories, policy, prompt };
        return UserAction::Edit(Box::new(edit));
    }
    let config = Box::new(config);
    UserAction::Start { config, problems, cwd, directories, policy, target, focus }
}

/// Returns the path for display, with `~` for the home folder.
fn short_path(path: &Path, home: Option<&String>) -> String {
    match home.filter(|home| !home.is_empty()).and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
