//! The loop: what happened goes into `State`, what it wants done goes to the edges, and Neovim is told of it all once a
//! turn. It decides nothing itself.

pub mod editor;

mod pace;
mod run;
mod terminate;
mod within;

use crate::acp::{Agents, Batch, Graces};
use crate::core::command::FromTerminal;
use crate::core::event::{Event, UserAction};
use crate::core::state::State;
use crate::host::store::Store;
use crate::host::terminals::Terminals;
use crate::log::{self, Log};
use crate::nvim::client::{Client, FromNvim, NvimError};
use crate::nvim::decode::{self, Applied, Said};
use crate::nvim::{encode, stdio};
use crate::process::group::Watchdog;
use crate::secrets::Secrets;
use crate::session::ids::TerminalId;
use pace::Pace;
use rmpv::Value;
use run::Runner;
use std::process::ExitCode;
use std::time::Duration;
use terminate::Terminate;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long agents and commands get once Neovim, which waits for us, wants to end. Watchdogs end what is left.
const HURRY: Duration = Duration::from_millis(100);

/// The variable that names the folder for what outlives Neovim.
const STATE_FOLDER: &str = "RAT_STATE_DIR";

/// Batches of what agents said, and pieces of what commands wrote, that wait to be taken in; beyond them they wait.
const BATCHES: usize = 16;

/// Speaks with the Neovim on stdin and stdout until it is gone.
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
                bridge.live().await;
                ExitCode::SUCCESS
            }
            Err(error) => {
                tracing::error!(%error, "stdin and stdout are not usable");
                ExitCode::FAILURE
            }
        }
    });
    // A blocked file operation does not keep the process alive.
    runtime.shutdown_background();
    status
}

/// Where a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// None is on its way.
    None,
    /// Neovim is busy with it.
    Sent,
    /// Neovim keeps it, since it can change nothing now.
    Kept,
}

struct Bridge {
    state: State,
    runner: Runner,
    client: Client,
    log: Option<Log>,
    from_nvim: mpsc::UnboundedReceiver<FromNvim>,
    from_agents: mpsc::Receiver<Batch>,
    from_terminals: mpsc::Receiver<(TerminalId, FromTerminal)>,
    done: mpsc::UnboundedReceiver<Event>,
    drawn: mpsc::UnboundedReceiver<Result<Value, NvimError>>,
    drawn_sender: mpsc::UnboundedSender<Result<Value, NvimError>>,
    frame: Frame,
    pace: Pace,
}

impl Bridge {
    fn connect(log: Option<Log>, secrets: Secrets) -> std::io::Result<Self> {
        let (reader, writer) = stdio::streams()?;
        let (nvim_sender, from_nvim) = mpsc::unbounded_channel();
        let (agents_sender, from_agents) = mpsc::channel(BATCHES);
        let (terminals_sender, from_terminals) = mpsc::channel(BATCHES);
        let (done_sender, done) = mpsc::unbounded_channel();
        let (drawn_sender, drawn) = mpsc::unbounded_channel();
        let client = Client::connect(reader, writer, nvim_sender);
        let watchdog = Watchdog::of_this_program()
            .inspect_err(|error| tracing::error!(%error, "processes have no watchdog"))
            .ok();
        let agents =
            Agents::new(agents_sender, watchdog.clone(), Graces::default(), secrets.clone());
        let terminals = Terminals::new(terminals_sender, watchdog);
        let folder = std::env::var_os(STATE_FOLDER).filter(|folder| !folder.is_empty());
        let store = Store::open(folder.map(Into::into), secrets);
        let runner = Runner::new(client.clone(), agents, terminals, store, done_sender);
        Ok(Self {
            state: State::default(),
            runner,
            client,
            log,
            from_nvim,
            from_agents,
            from_terminals,
            done,
            drawn,
            drawn_sender,
            frame: Frame::None,
            pace: Pace::new(Instant::now()),
        })
    }

    async fn live(mut self) {
        self.runner.introduce();
        // Neovim closes our stdin and sends SIGTERM right after it.
        let mut terminate = Terminate::listen();
        loop {
            let waits = match self.frame {
                Frame::None => self.state.has_frame(),
                Frame::Sent => false,
                Frame::Kept => true,
            };
            tokio::select! {
                biased;
                said = self.from_nvim.recv() => match said {
                    Some(FromNvim::Notification { name, args }) => self.said(&name, &args),
                    Some(FromNvim::Gone(why)) => {
                        tracing::info!(why, "Neovim is gone");
                        break;
                    }
                    None => break,
                },
                () = terminate.wait() => {
                    tracing::info!("asked to end");
                    break;
                }
                Some(answer) = self.drawn.recv() => self.frame_done(answer),
                Some(event) = self.done.recv() => self.happened(event),
                // Before more is taken in: a flood must not keep from the screen what is known already.
                () = tokio::time::sleep_until(self.pace.next()), if waits => self.draw(),
                Some((agent, batch)) = self.from_agents.recv() => {
                    if self.frame != Frame::Kept {
                        self.pace.gathered(batch.len(), Instant::now());
                    }
                    for from in batch {
                        self.happened(Event::Agent(agent, from));
                    }
                }
                Some((terminal, happened)) = self.from_terminals.recv() => {
                    self.happened(Event::Terminal(terminal, happened));
                }
            }
        }
        self.part(&mut terminate).await;
    }

    /// Answers what is open and ends all there is. Neovim asks its jobs to end when it leaves, and waits for them: then
    /// agents still hear the answers, and the watchdogs do the rest.
    async fn part(&mut self, terminate: &mut Terminate) {
        for effect in self.state.farewell() {
            self.runner.run(effect);
        }
        let hurry = async {
            terminate.wait().await;
            tokio::time::sleep(HURRY).await;
        };
        let hurried = tokio::select! {
            () = self.runner.shutdown() => false,
            () = hurry => true,
        };
        if hurried {
            tracing::info!("agents and commands are left to their watchdogs");
            self.runner.flush();
            drop(self.log.take());
            // Not by way of destructors, which would end agents without asking them first.
            std::process::exit(0);
        }
    }

    fn said(&mut self, name: &str, args: &[Value]) {
        match decode::notification(name, args) {
            Ok(Said::User(action)) => self.happened(Event::User(action)),
            Ok(Said::Configure { log_level }) => {
                if let (Some(log), Some(level)) = (&self.log, log_level) {
                    log.set_level(&level);
                }
            }
            Ok(Said::Buffer(path, fact)) => self.happened(Event::Buffer(path, fact)),
            Ok(Said::Problem(text)) => tracing::error!(%text, "something broke in Neovim"),
            Err(problem) => tracing::error!(problem, "a notification that makes no sense"),
        }
    }

    fn happened(&mut self, event: Event) {
        for effect in self.state.handle(event) {
            self.runner.run(effect);
        }
    }

    /// Tells Neovim all there is to tell, in one call. While it is busy with that, the next frames merge.
    fn draw(&mut self) {
        let args = if self.frame == Frame::Kept {
            Vec::new()
        } else {
            let frame = self.state.take_frame();
            self.pace.sent(frame.bytes, Instant::now());
            for effect in frame.effects {
                self.runner.run(effect);
            }
            vec![encode::frame(frame.messages)]
        };
        self.frame = Frame::Sent;
        let (client, sender) = (self.client.clone(), self.drawn_sender.clone());
        tokio::spawn(async move {
            let answer = client.lua("rat.ui", "apply", args).await;
            // Nobody listens any more when the bridge ends.
            let _ = sender.send(answer);
        });
    }

    fn frame_done(&mut self, answer: Result<Value, NvimError>) {
        let applied = match answer {
            Ok(answer) => decode::applied(&answer),
            Err(error) => {
                error.log("Neovim could not draw a frame");
                Applied::Lost
            }
        };
        self.frame = Frame::None;
        match applied {
            Applied::Busy => {
                self.frame = Frame::Kept;
                self.pace.refused(Instant::now());
            }
            Applied::Done { problems, undrawn } => {
                for problem in problems {
                    tracing::error!(%problem, "Neovim could not show something");
                }
                self.pace.taken(undrawn.is_empty(), Instant::now());
                for (chat, view) in undrawn {
                    self.happened(Event::User(UserAction::Redraw(chat, view)));
                }
            }
            Applied::Lost => {
                self.pace.taken(false, Instant::now());
                self.happened(Event::FrameLost);
            }
        }
    }
}
