//! The event loop: passes events to `State` and its effects to the `Runner`, and sends at most one frame to Neovim at a
//! time. It decides nothing itself.

pub mod editor;

mod completion;
mod pace;
mod provider;
mod start;
mod terminate;
mod workbench;

use crate::acp::transport::any::AnyTransport;
use crate::acp::transport::child::ChildProcesses;
use crate::acp::{Agents, Batch, GracePeriods};
use crate::app::runner::Runner;
use crate::core::messages::event::Event;
use crate::core::messages::terminal::TerminalEvent;
use crate::core::messages::tools::ToolsCommand;
use crate::core::messages::user::UserAction;
use crate::core::state::State;
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::limits::Limits;
use crate::host::project_files::ProjectFiles;
use crate::host::store::Store;
use crate::host::terminals::Terminals;
use crate::log::{self, Log};
use crate::mcp::{ToolServer, socket};
use crate::nvim::client::{Client, NvimError, NvimEvent};
use crate::nvim::messages::applied::{FrameOutcome, read_frame_outcome};
use crate::nvim::messages::calls::document;
use crate::nvim::messages::calls::rpc::{Connected, Hello};
use crate::nvim::messages::from_lua::{LuaMessage, notification};
use crate::nvim::messages::to_lua;
use crate::nvim::stdio;
use crate::process::confine::Launcher;
use crate::process::group::Watchdog;
use crate::secrets::Secrets;
use crate::session::ids::TerminalId;
use editor::NvimEditor;
use pace::Pace;
use provider::{Offered, Provided, Providers};
use rmpv::Value;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use terminate::Terminate;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use workbench::NvimWorkbench;

/// How long agents and commands get to exit after SIGTERM, while Neovim waits for us. Watchdogs kill what is left.
const TERMINATE_GRACE: Duration = Duration::from_millis(100);

/// The environment variable with the folder of the session store. Unset or empty: nothing is stored.
const STATE_FOLDER: &str = "RAT_STATE_DIR";

/// Capacity of the channels from agents, in batches, and from terminals, in pieces of output. When one is full, the senders
/// wait.
const CHANNEL_CAPACITY: usize = 16;

/// Serves the Neovim on stdin and stdout until it is gone or ends us with SIGTERM.
pub fn run() -> ExitCode {
    let secrets = Secrets::of_environment();
    let log = log::start(secrets.clone());
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "no runtime");
            return ExitCode::FAILURE;
        }
    };
    let status = runtime.block_on(async {
        match Bridge::connect(log, secrets) {
            Ok(bridge) => {
                bridge.run().await;
                ExitCode::SUCCESS
            }
            Err(error) => {
                tracing::error!(%error, "stdin and stdout are not usable");
                ExitCode::FAILURE
            }
        }
    });
    // Does not wait for blocking file operations, which may never return.
    runtime.shutdown_background();
    status
}

/// The state of the current frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameState {
    /// No frame is on its way.
    Idle,
    /// A frame was sent, and Neovim has not answered yet.
    Sent,
    /// Neovim holds the frame back because it cannot change text now (`:help textlock`).
    Held,
}

struct Bridge {
    state: State,
    runner: Runner,
    client: Client,
    providers: Providers,
    workbench: NvimWorkbench,
    tools: ToolServer,
    files: ProjectFiles,
    log: Option<Log>,
    from_nvim: mpsc::UnboundedReceiver<NvimEvent>,
    from_agents: mpsc::Receiver<Batch>,
    from_terminals: mpsc::Receiver<(TerminalId, TerminalEvent)>,
    from_effects: mpsc::UnboundedReceiver<Event>,
    frame_answers: mpsc::UnboundedReceiver<Result<Value, NvimError>>,
    frame_answer_sender: mpsc::UnboundedSender<Result<Value, NvimError>>,
    /// Resolves the configuration of an agent to start.
    resolving: Option<JoinHandle<UserAction>>,
    /// Notifications that arrived meanwhile. They wait, since they may be for the chat of that agent.
    held: VecDeque<(String, Vec<Value>)>,
    frame: FrameState,
    pace: Pace,
}

impl Bridge {
    fn connect(log: Option<Log>, secrets: Secrets) -> std::io::Result<Self> {
        let (reader, writer) = stdio::streams()?;
        let (nvim_sender, from_nvim) = mpsc::unbounded_channel();
        let (agents_sender, from_agents) = mpsc::channel(CHANNEL_CAPACITY);
        let (terminals_sender, from_terminals) = mpsc::channel(CHANNEL_CAPACITY);
        let (effects_sender, from_effects) = mpsc::unbounded_channel();
        let (frame_answer_sender, frame_answers) = mpsc::unbounded_channel();
        let client = Client::connect(reader, writer, nvim_sender);
        let socket_folder = socket::new_folder();
        let watchdog = Watchdog::of_this_program()
            .map(|watchdog| watchdog.removing_socket(&socket_folder))
            .inspect_err(|error| tracing::error!(%error, "processes have no watchdog"))
            .ok();
        let launcher = Launcher::of_this_program();
        let children = ChildProcesses::new(launcher.clone(), watchdog.clone());
        let transport = Arc::new(AnyTransport::new(children));
        let mut agents =
            Agents::new(agents_sender, transport, GracePeriods::default(), secrets.clone());
        if let Some(folder) = log::agents_folder() {
            agents = agents.with_stderr_in(folder);
        }
        let terminals = Terminals::new(terminals_sender, launcher, watchdog);
        let folder = std::env::var_os(STATE_FOLDER).filter(|folder| !folder.is_empty());
        let folder: Option<PathBuf> = folder.map(Into::into);
        if let Some(folder) = &folder {
            agents = agents.with_traffic_in(folder.join("traffic"));
        }
        let kept = folder.as_ref().map(|folder| folder.join("checkpoints"));
        let checkpoints = Checkpoints::open(kept, secrets.clone(), Limits::default());
        let mut state = State::default();
        if let Some(folder) = &folder {
            state.set_kept_rules(Store::read_rules(folder));
        }
        let tools = ToolServer::new(effects_sender.clone(), socket_folder);
        let workbench = NvimWorkbench::new(client.clone());
        let store = Store::open(folder, secrets);
        let editor = Arc::new(NvimEditor::new(client.clone()));
        let providers = editor.providers().clone();
        let runner = Runner::new(editor, agents, terminals, store, checkpoints, effects_sender)
            .with_tools(tools.clone(), Arc::new(workbench.clone()));
        Ok(Self {
            state,
            runner,
            client,
            providers,
            workbench,
            tools,
            files: ProjectFiles::default(),
            log,
            from_nvim,
            from_agents,
            from_terminals,
            from_effects,
            frame_answers,
            frame_answer_sender,
            resolving: None,
            held: VecDeque::new(),
            frame: FrameState::Idle,
            pace: Pace::new(Instant::now()),
        })
    }

    async fn run(mut self) {
        self.send_hello();
        // Neovim closes our stdin and sends SIGTERM right after that.
        let mut terminate = Terminate::listen();
        loop {
            let frame_due = match self.frame {
                FrameState::Idle => self.state.has_frame(),
                FrameState::Sent => false,
                FrameState::Held => true,
            };
            tokio::select! {
                biased;
                message = self.from_nvim.recv() => match message {
                    Some(NvimEvent::Notification { name, args }) => {
                        self.held.push_back((name, args));
                        self.handle_held();
                    }
                    Some(NvimEvent::Gone(why)) => {
                        tracing::info!(why, "Neovim is gone");
                        break;
                    }
                    None => break,
                },
                () = terminate.wait() => {
                    tracing::info!("asked to end");
                    break;
                }
                action = join_resolving(&mut self.resolving), if self.resolving.is_some() => {
                    self.resolving = None;
                    match action {
                        Ok(action) => self.handle(Event::User(action)),
                        Err(error) => tracing::error!(%error, "an agent was not started"),
                    }
                    self.handle_held();
                }
                Some(answer) = self.frame_answers.recv() => self.handle_frame_answer(answer),
                Some(event) = self.from_effects.recv() => self.handle(event),
                // Drawing has priority over more input: a flood must not delay what is known already.
                () = tokio::time::sleep_until(self.pace.next()), if frame_due => self.send_frame(),
                Some((agent, batch)) = self.from_agents.recv() => {
                    if self.frame != FrameState::Held {
                        self.pace.messages_received(batch.len(), Instant::now());
                    }
                    for from in batch {
                        self.handle(Event::Agent(agent, from));
                    }
                }
                Some((terminal, event)) = self.from_terminals.recv() => {
                    self.handle(Event::Terminal(terminal, event));
                }
            }
        }
        self.shut_down(&mut terminate).await;
    }

    /// Handles the notifications of Neovim in order, until one starts to resolve an agent.
    fn handle_held(&mut self) {
        while self.resolving.is_none()
            && let Some((name, args)) = self.held.pop_front()
        {
            self.handle_notification(&name, args);
        }
    }

    /// Sends our version to Neovim and makes it track its buffers.
    fn send_hello(&self) {
        let client = self.client.clone();
        tokio::spawn(async move {
            let hello = Hello { version: env!("CARGO_PKG_VERSION") };
            let answers =
                [client.call(document::Start {}).await, client.call(Connected { hello }).await];
            for error in answers.into_iter().filter_map(Result::err) {
                error.log("Neovim did not accept the connection");
            }
        });
    }

    /// Answers all open requests and stops agents and commands. When Neovim exits, it sends SIGTERM to its jobs and waits for
    /// them: then agents still get the answers, but after `TERMINATE_GRACE` the rest is left to the watchdogs.
    async fn shut_down(&mut self, terminate: &mut Terminate) {
        for effect in self.state.prepare_exit() {
            self.runner.run(effect);
        }
        let terminated = async {
            terminate.wait().await;
            tokio::time::sleep(TERMINATE_GRACE).await;
        };
        let is_cut_short = tokio::select! {
            () = self.runner.shutdown() => false,
            () = terminated => true,
        };
        if is_cut_short {
            tracing::info!("agents and commands are left to their watchdogs");
            self.runner.flush();
            drop(self.log.take());
            // Skips destructors, which would kill agents without terminating them first.
            std::process::exit(0);
        }
    }

    fn handle_notification(&mut self, name: &str, args: Vec<Value>) {
        match notification(name, args) {
            Ok(LuaMessage::User(action)) => self.handle(Event::User(action)),
            Ok(LuaMessage::Start(request)) => self.resolving = Some(start::resolve(*request)),
            Ok(LuaMessage::Provided { id, text, written }) => {
                self.providers.answered(id, Provided { text, written });
            }
            Ok(LuaMessage::Found(id, found)) => self.workbench.found(id, found),
            Ok(LuaMessage::OfferTools(tools)) => self.tools.run(ToolsCommand::Offer(tools)),
            Ok(LuaMessage::Files { folder, typed }) => {
                let query = completion::Query { folder, typed };
                completion::answer(&self.files, self.client.clone(), query);
            }
            Ok(LuaMessage::Configure { log_level, keep_sessions, provides: (reads, writes) }) => {
                self.runner.limit_sessions(keep_sessions);
                self.providers.configure(Offered { reads, writes });
                if let (Some(log), Some(level)) = (&self.log, log_level) {
                    log.set_level(&level);
                }
            }
            Ok(LuaMessage::Buffer(path, fact)) => self.handle(Event::Buffer(path, fact)),
            Ok(LuaMessage::Problem(text)) => tracing::error!(%text, "an error in the Lua side"),
            Err(problem) => tracing::error!(%problem, "a malformed notification"),
        }
    }

    fn handle(&mut self, event: Event) {
        for effect in self.state.handle(event) {
            self.runner.run(effect);
        }
    }

    /// Sends everything that has changed to Neovim in one call, or asks it to apply the frame that it holds back. Until it
    /// answers, further changes are merged into the next frame.
    fn send_frame(&mut self) {
        let args = if self.frame == FrameState::Held {
            Vec::new()
        } else {
            let frame = self.state.take_frame();
            self.pace.frame_sent(frame.bytes, Instant::now());
            for effect in frame.effects {
                self.runner.run(effect);
            }
            vec![to_lua::frame(frame.messages)]
        };
        self.frame = FrameState::Sent;
        let (client, sender) = (self.client.clone(), self.frame_answer_sender.clone());
        tokio::spawn(async move {
            let answer = client.lua("rat.rpc.inbox", "apply", args).await;
            // Fails only while the bridge shuts down.
            let _ = sender.send(answer);
        });
    }

    fn handle_frame_answer(&mut self, answer: Result<Value, NvimError>) {
        let applied = match answer {
            Ok(answer) => read_frame_outcome(answer).unwrap_or_else(|problem| {
                tracing::error!(%problem, "a malformed answer to a frame");
                FrameOutcome::Lost
            }),
            Err(error) => {
                error.log("Neovim could not draw a frame");
                FrameOutcome::Lost
            }
        };
        self.frame = FrameState::Idle;
        match applied {
            FrameOutcome::Busy => {
                self.frame = FrameState::Held;
                self.pace.frame_refused(Instant::now());
            }
            FrameOutcome::Done { problems, undrawn } => {
                for problem in problems {
                    tracing::error!(%problem, "Neovim could not show something");
                }
                self.pace.frame_applied(undrawn.is_empty(), Instant::now());
                for (chat, view) in undrawn {
                    self.handle(Event::User(UserAction::Redraw(chat, view)));
                }
            }
            FrameOutcome::Lost => {
                self.pace.frame_applied(false, Instant::now());
                self.handle(Event::FrameLost);
            }
        }
    }
}

/// Waits for the task. Without one it waits for ever.
async fn join_resolving(
    resolving: &mut Option<JoinHandle<UserAction>>,
) -> Result<UserAction, JoinError> {
    match resolving {
        Some(task) => task.await,
        None => std::future::pending().await,
    }
}
