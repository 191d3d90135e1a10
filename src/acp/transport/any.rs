//! Chooses the transport to an agent by its configuration.

use super::child::ChildProcesses;
use super::http;
use super::server::{Failure, Server};
use super::unix;
use super::websocket;
use super::{Opened, Transport};
use crate::acp::openoxide::live;
use crate::core::messages::agent::{ExitCause, Obstacle};
use crate::session::agent::{AgentConfig, RemoteAgent};
use crate::session::protocol::{Offered, Protocol};
use std::path::Path;

/// Starts agents as child processes, or reaches them where they run.
#[derive(Debug)]
pub struct AnyTransport {
    children: ChildProcesses,
}

impl AnyTransport {
    /// Creates the transport; `children` starts the agents that have a command.
    pub fn new(children: ChildProcesses) -> Self {
        Self { children }
    }
}

impl Transport for AnyTransport {
    fn open(&self, config: &AgentConfig, cwd: &Path) -> Result<Opened, ExitCause> {
        match &config.remote {
            Some(remote) if config.problem.is_none() => {
                tracing::info!(target: "acp", agent = %config.name, url = remote.shown(), "connecting");
                connect(config, remote).map_err(Failure::unreachable)
            }
            _ => {
                is_alone(config, cwd)?;
                self.children.open(config, cwd)
            }
        }
    }
}

/// Makes sure that there is no second OpenOxide beside one that runs in the folder.
fn is_alone(config: &AgentConfig, cwd: &Path) -> Result<(), ExitCause> {
    let is_openoxide = config.offered == Offered::Only(Protocol::OpenOxide);
    let has_same_files = is_openoxide && !config.disk.is_separate;
    let running = has_same_files.then(|| live::running(cwd, &config.command)).flatten();
    running.map_or(Ok(()), |what| {
        let error = format!("one is running in this folder already ({what}): end it, or set `url`");
        Err(ExitCause::NotStarted { not_found: false, error })
    })
}

fn connect(config: &AgentConfig, remote: &RemoteAgent) -> Result<Opened, Failure> {
    match remote.url.split_once("://") {
        Some(("unix", path)) => Ok(unix::open(path.into())),
        Some(("ws" | "wss", _)) => Ok(websocket::open(Server::new(config, remote, true)?)),
        Some(("http" | "https", _)) => {
            let has_one_stream = config.offered == Offered::Only(Protocol::OpenOxide);
            Ok(http::open(Server::new(config, remote, false)?, has_one_stream))
        }
        _ => Err(Failure::new(
            Obstacle::Configuration,
            "its URL is of an unsupported kind".to_owned(),
        )),
    }
}
