//! Where the real agents run: beside Neovim, behind a WebSocket, or as in a container.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::support::{Gateway, Nvim, Processes, Way};

/// Where the agents run, as `RAT_AGENTS` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Beside Neovim.
    Here,
    /// Behind a WebSocket.
    WebSocket,
    /// Where the project has another path, and the one it has here is empty, as in a container.
    Container,
}

impl Place {
    fn chosen() -> Self {
        match std::env::var("RAT_AGENTS").as_deref() {
            Err(_) => Self::Here,
            Ok("websocket") => Self::WebSocket,
            Ok("container") => Self::Container,
            Ok(other) => panic!("RAT_AGENTS can be websocket or container, not {other}"),
        }
    }
}

/// Whether the agents run beside Neovim, and can start a program of ours.
pub(crate) fn are_here() -> bool {
    Place::chosen() == Place::Here
}

/// Whether the agents know the project by another path.
pub(crate) fn is_in_container() -> bool {
    Place::chosen() == Place::Container
}

/// The project's path for an agent in a container.
const WORKSPACE: &str = "/mnt/workspace";

/// Runs a program where the project is at [`WORKSPACE`] and nowhere else: the project's folder, the program.
const IN_CONTAINER: &str = r#"set -e
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir /mnt/workspace
mount --bind "$1" /mnt/workspace
mount -t tmpfs none "$1"
cd /mnt/workspace
shift
exec "$@""#;

/// The server through which an agent is reached.
pub(crate) struct Server {
    pub(crate) gateway: Gateway,
    pub(crate) processes: Processes,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Agents put commands into sessions of their own; where they run elsewhere, those are not ours to end.
        self.processes.kill();
    }
}

/// How the agent is configured that runs `program` with these variables in its place, and what it needs for that.
pub(crate) fn configured(
    program: &Path,
    env: &Json,
    nvim: &Nvim,
    home: &Path,
) -> (Json, Option<Server>) {
    let mut server = None;
    let mut agent = match Place::chosen() {
        Place::Here => json!({"command": program, "args": [], "env": env}),
        Place::Container => {
            let project = nvim.cwd();
            let args = json!(["-m", "sh", "-c", IN_CONTAINER, "sh", project, program]);
            let paths = json!({ project.to_str().expect("UTF-8"): WORKSPACE });
            json!({"command": "unshare", "args": args, "env": env, "paths": paths})
        }
        Place::WebSocket => {
            let processes = nvim.processes().of_server();
            let variables = env.as_object().expect("an object").iter();
            let variables = variables
                .map(|(name, value)| format!("{name}={}", value.as_str().expect("a text")));
            // Gemini says of commands that they run where it was started.
            let project = nvim.cwd().to_str().expect("UTF-8");
            let start = ["sh", "-c", "cd \"$0\" && exec \"$@\"", project, "env"];
            let mut command = start.map(str::to_owned).to_vec();
            command.push(processes.variable());
            command.extend(variables);
            command.push(program.to_str().expect("UTF-8").to_owned());
            let gateway = Gateway::start(Way::WebSocket, command, home);
            json!({"url": server.insert(Server { gateway, processes }).gateway.url})
        }
    };
    // Tests end agents and look at what is said before they start them again.
    agent["reconnect"] = json!("prompt");
    (agent, server)
}
