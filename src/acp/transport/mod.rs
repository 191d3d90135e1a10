//! The interface between a connection (`acp::connection`) and the way its agent is reached: byte streams and the control
//! of the agent's lifetime.

pub mod any;
pub mod child;
mod event_stream;
mod http;
mod link;
mod server;
mod sse;
mod unix;
mod websocket;

use crate::core::messages::agent::ExitCause;
use crate::session::agent::AgentConfig;
use async_trait::async_trait;
use std::fmt;
use std::path::Path;
use tokio::io::{AsyncRead, AsyncWrite};

/// Starts or reaches agents.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Opens a connection to an agent with the working directory `cwd`. It may block and is called inside a tokio runtime. The
    /// error is reported as the cause of the agent's exit.
    fn open(&self, config: &AgentConfig, cwd: &Path) -> Result<Opened, ExitCause>;
}

/// An open connection to an agent.
pub struct Opened {
    /// The agent's stdin.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// The agent's stdout.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Free text for people: the agent's stderr.
    pub diagnostics: Box<dyn AsyncRead + Send + Unpin>,
    /// The control of the agent's lifetime.
    pub remote: Box<dyn Remote>,
}

/// A running agent.
#[async_trait]
pub trait Remote: fmt::Debug + Send {
    /// Waits until the agent itself has exited; what it started may still run. Cancel safe.
    async fn wait_for_exit(&mut self) -> ExitCause;

    /// Asks the agent and everything it started to exit (SIGTERM).
    fn terminate(&mut self);

    /// Forces the agent and everything it started to exit (SIGKILL).
    fn kill(&mut self);

    /// Returns whether the agent or anything it started is still running.
    fn is_alive(&self) -> bool;

    /// Kills what is still running and gives up control: the other methods have no effect from then on.
    async fn release(&mut self);
}
