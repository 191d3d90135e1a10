//! The server of the editor's own tools, which speaks MCP (Model Context Protocol) with agents. An agent starts `rat-nvim mcp`
//! ([`pipe`]), which carries lines between the agent and a socket of this process (`socket`, `connection`). What is said
//! there is understood here (`protocol`, `arguments`); whether a tool may be called, and what it does, is decided by `State`.

mod arguments;
mod connection;
mod listing;
pub mod pipe;
mod protocol;
mod shared;
pub mod socket;

use crate::core::messages::event::Event;
use crate::core::messages::tools::{GrantId, ToolsCommand, ToolsEvent, UserTool};
use crate::process::program;
use crate::session::agent::McpServer;
use crate::session::editor_tool::SERVER_NAME;
use shared::Shared;
use socket::{SOCKET_VARIABLE, Socket, TOKEN_VARIABLE};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::mpsc;

/// How long to wait after somebody could not connect.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How many random bytes a token has.
const TOKEN_BYTES: usize = 32;

/// The server of the tools. It is reachable once something was granted. Clones share it.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// Where the socket is created.
    folder: PathBuf,
    shared: Arc<Shared>,
}

impl ToolServer {
    /// Creates the server, which sends what happens to `events`. Its socket will be in `folder`, see [`socket::new_folder`].
    pub fn new(events: mpsc::UnboundedSender<Event>, folder: PathBuf) -> Self {
        Self { folder, shared: Arc::new(Shared::new(events)) }
    }

    /// Runs a command without waiting. Must be called inside a tokio runtime.
    pub fn run(&self, command: ToolsCommand) {
        match command {
            ToolsCommand::Grant(grant) => {
                let granted = self.grant(grant).map_err(|error| error.to_string());
                self.shared.report(ToolsEvent::Granted(grant, granted));
            }
            ToolsCommand::Revoke(grant) => self.shared.state.lock().revoke(grant),
            ToolsCommand::Answer(token, answer) => self.shared.answer(token, &answer),
            ToolsCommand::Offer(tools) => self.offer(tools),
        }
    }

    /// Removes the socket, and lets nobody call any more.
    pub fn shutdown(&self) {
        self.shared.state.lock().close();
    }

    fn grant(&self, grant: GrantId) -> io::Result<McpServer> {
        let mut token = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut token)?;
        let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut state = self.shared.state.lock();
        let path = match &state.socket {
            Some(socket) => socket.path().to_owned(),
            None => {
                let (socket, listener) = Socket::bind(self.folder.clone())?;
                let path = socket.path().to_owned();
                state.socket = Some(socket);
                tokio::spawn(accept(listener, Arc::clone(&self.shared)));
                path
            }
        };
        state.grants.insert(token.clone(), grant);
        let env = [(SOCKET_VARIABLE, path.to_string_lossy().into_owned()), (TOKEN_VARIABLE, token)];
        Ok(McpServer::Stdio {
            name: SERVER_NAME.to_owned(),
            command: program::this_program().to_string_lossy().into_owned(),
            args: vec!["mcp".to_owned()],
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        })
    }

    fn offer(&self, tools: Vec<UserTool>) {
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        let is_new = {
            let mut state = self.shared.state.lock();
            let is_new = state.user_tools != tools;
            state.user_tools = tools;
            is_new
        };
        if is_new {
            self.shared.report(ToolsEvent::Offered(names));
            self.shared.send_to_all(&protocol::list_changed());
        }
    }
}

/// Serves everybody who connects, until the socket is closed.
async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match shared.connections.clone().try_acquire_owned() {
                Ok(place) => {
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move {
                        connection::serve(stream, shared).await;
                        drop(place);
                    });
                }
                Err(_) => tracing::warn!(target: "mcp", "somebody was refused: too many are here"),
            },
            Err(error) => {
                // Such as too many open files.
                tracing::warn!(target: "mcp", %error, "somebody could not connect");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
