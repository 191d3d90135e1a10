//! The connection to one agent, from its start until no process of it is left: carries `AgentCommand` commands and the agent's
//! output between `State`, the `Peer` and the `Transport`. The peer encodes and decodes messages; what follows from them is
//! decided by `State`.

use super::handshake::Handshake;
use super::peer::{Outcome, Peer, Tokens};
use super::printed::Printed;
use super::stderr::{self, Tail};
use super::stderr_log::StderrLog;
use super::trace;
use super::transport::{Opened, Remote, Transport};
use super::writer::Input;
use super::{Batch, GracePeriods};
use crate::core::messages::agent::{AgentEvent, CallError, Exit, ExitCause};
use crate::core::messages::effect::AgentCommand;
use crate::core::messages::ids::{AgentId, CallId};
use crate::jsonrpc::incoming::Lines;
use crate::session::agent::AgentConfig;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

type Output = Box<dyn AsyncRead + Send + Unpin>;

/// How many of the last messages `Exit` summarizes.
const LAST_MESSAGES: usize = 3;

/// The size of the read buffer, in bytes.
const READ_BUFFER_BYTES: usize = 256 << 10;

/// How much of the agent's output may wait for the event loop before reading pauses, in bytes.
const MAX_UNSENT_BYTES: usize = 1 << 20;

/// How often to check whether any process of a stopping agent is left.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The arguments of [`run`].
pub(super) struct Setup {
    pub(super) id: AgentId,
    pub(super) config: Box<AgentConfig>,
    pub(super) cwd: PathBuf,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) grace_periods: GracePeriods,
    pub(super) tokens: Tokens,
    pub(super) trace: trace::Shared,
    pub(super) stderr_folder: Option<PathBuf>,
    pub(super) commands: mpsc::UnboundedReceiver<AgentCommand>,
    pub(super) out: mpsc::Sender<Batch>,
    /// Completed when no process of the agent is left, before `Exited` is sent.
    pub(super) gone: oneshot::Sender<()>,
}

/// Starts an agent and serves it until it is gone. `Exited` is sent exactly once, as the last event.
pub(super) async fn run(setup: Setup) {
    let Setup {
        id,
        config,
        cwd,
        transport,
        grace_periods,
        tokens,
        trace,
        stderr_folder,
        mut commands,
        out,
        gone,
    } = setup;
    let mut last_events = Vec::new();
    let name = config.name.clone();
    let mut peer = Peer::new(tokens, Handshake::new(&config, &cwd));
    let mut deadlines = BTreeMap::new();
    let exit = loop {
        let (transport, config, cwd) = (transport.clone(), config.clone(), cwd.clone());
        // Blocks if the folder lies on a file system that does not answer, which must not delay anything else.
        let opening = spawn_blocking(move || transport.open(&config, &cwd));
        let opened = opening.await.unwrap_or_else(|error| {
            Err(ExitCause::NotStarted { not_found: false, error: error.to_string() })
        });
        let opened = match opened {
            Ok(opened) => opened,
            Err(cause) => {
                break Exit { cause, stderr: Vec::new(), stderr_lines: 0, messages: Vec::new() };
            }
        };
        let stderr_log = StderrLog::open(stderr_folder.as_deref(), name.as_str()).await;
        let traced = (trace.clone(), stderr_log);
        let mut connection = Connection::new(id, opened, peer, traced, commands, &out);
        (connection.deadlines, connection.patience) = (deadlines, grace_periods.unread);
        connection.resume_handshake();
        let cause = connection.serve_until_exit(&grace_periods).await;
        let stderr = connection.finish(&grace_periods).await;
        let was_reached = !matches!(cause, ExitCause::Unreachable { .. });
        if was_reached && !connection.stop_requested && connection.peer.ended() {
            tracing::info!(target: "acp", agent = %name, ?cause, "ended in the handshake, started again");
            Connection { peer, commands, deadlines, .. } = connection;
            continue;
        }
        connection.close(&mut last_events);
        let stderr_lines = connection.tail.lock().count();
        let messages = connection.trace.lock().summaries(LAST_MESSAGES);
        commands = connection.commands;
        break Exit { cause, stderr, stderr_lines, messages };
    };
    tracing::info!(target: "acp", agent = %name, cause = ?exit.cause, "ended");
    let _ = gone.send(());
    commands.close();
    while let Ok(command) = commands.try_recv() {
        if let AgentCommand::Call { call, .. } = command {
            last_events.push(AgentEvent::Answer { call, result: Err(CallError::Closed) });
        }
    }
    last_events.push(AgentEvent::Exited(exit));
    // Fails only if the event loop has ended.
    let _ = out.send((id, last_events)).await;
}

/// Why `Connection::serve` returned.
enum Stopped {
    StopRequested,
    OutputClosed,
    InputBroken,
    Exited(ExitCause),
    TimedOut,
    ReadsNothing,
}

struct Connection<'a> {
    id: AgentId,
    remote: Box<dyn Remote>,
    exited: bool,
    /// `None` once it is closed.
    output: Option<Output>,
    buffer: Box<[u8]>,
    lines: Lines,
    printed: Printed,
    peer: Peer,
    outcome: Outcome,
    /// Events that the event loop has not received yet.
    batch: Vec<AgentEvent>,
    /// How many bytes of the agent's output were decoded into `batch`.
    unsent_bytes: usize,
    input: Input,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    stderr: JoinHandle<()>,
    tail: Arc<Mutex<Tail>>,
    trace: trace::Shared,
    /// The deadlines of calls, with the timeout that was set.
    deadlines: BTreeMap<(Instant, CallId), Duration>,
    commands: mpsc::UnboundedReceiver<AgentCommand>,
    /// Whether the sender of `commands` still exists.
    commands_open: bool,
    stop_requested: bool,
    /// How long the agent may read nothing of a full queue.
    patience: Duration,
    last_output: Instant,
    out: &'a mpsc::Sender<Batch>,
}

impl<'a> Connection<'a> {
    fn new(
        id: AgentId,
        opened: Opened,
        peer: Peer,
        (trace, stderr_log): (trace::Shared, StderrLog),
        commands: mpsc::UnboundedReceiver<AgentCommand>,
        out: &'a mpsc::Sender<Batch>,
    ) -> Self {
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (input, writer) = Input::new(opened.input);
        Self {
            id,
            remote: opened.remote,
            exited: false,
            output: Some(opened.output),
            buffer: vec![0; READ_BUFFER_BYTES].into(),
            lines: Lines::default(),
            printed: Printed::default(),
            peer,
            outcome: Outcome::default(),
            batch: Vec::new(),
            unsent_bytes: 0,
            input,
            writer: Some(writer),
            stderr: tokio::spawn(stderr::read(
                opened.diagnostics,
                tail.clone(),
                trace.clone(),
                stderr_log,
            )),
            tail,
            trace,
            deadlines: BTreeMap::new(),
            commands,
            commands_open: true,
            stop_requested: false,
            patience: GracePeriods::default().unread,
            last_output: Instant::now(),
            out,
        }
    }

    /// Carries messages both ways until the agent exits, a pipe closes, a stop is requested, or `until` has come. Can be called
    /// again after each of them.
    async fn serve(&mut self, until: Option<Instant>) -> Stopped {
        loop {
            let deadline = self.deadlines.keys().next().map(|(at, _)| *at);
            let silent = self.peer.silence().map(|silence| self.last_output + silence);
            let unfinished = self.printed.unfinished(&self.lines, &self.peer);
            let unfinished = unfinished.map(|wait| self.last_output + wait);
            let wake = until.into_iter().chain(deadline).chain(silent).chain(unfinished).min();
            // After the agent's exit, only the contents of the pipe are left to read.
            let is_full = self.input.is_full() && !self.input.is_closed();
            let may_read = self.exited || !is_full && self.unsent_bytes < MAX_UNSENT_BYTES;
            let Self { commands, out, output, buffer, remote, writer, input, .. } = self;
            tokio::select! {
                biased;
                command = commands.recv(), if self.commands_open => match command {
                    Some(AgentCommand::Stop) => {
                        self.stop_requested = true;
                        return Stopped::StopRequested;
                    }
                    Some(command) => self.execute(command),
                    None => {
                        (self.commands_open, self.stop_requested) = (false, true);
                        return Stopped::StopRequested;
                    }
                },
                permit = out.reserve(), if !self.batch.is_empty() => {
                    let batch = std::mem::take(&mut self.batch);
                    self.unsent_bytes = 0;
                    if let Ok(permit) = permit {
                        permit.send((self.id, batch));
                    }
                }
                read = read_output(output, buffer), if may_read && output.is_some() => {
                    if read == 0 {
                        self.receive_end();
                        return Stopped::OutputClosed;
                    }
                    self.receive(read);
                }
                written = join_writer(writer), if writer.is_some() => {
                    *writer = None;
                    if let Err(error) = written {
                        tracing::warn!(target: "acp", %error, "the agent's stdin is closed");
                        return Stopped::InputBroken;
                    }
                }
                drained = input.drained(self.patience), if is_full && !self.exited => {
                    if !drained {
                        return Stopped::ReadsNothing;
                    }
                }
                cause = remote.wait_for_exit(), if !self.exited => {
                    self.exited = true;
                    return Stopped::Exited(cause);
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.expire_calls();
                    if silent.is_some_and(|silent| silent <= Instant::now()) {
                        self.fell_silent();
                    }
                    if unfinished.is_some_and(|unfinished| unfinished <= Instant::now()) {
                        self.printed.show_unfinished(&self.lines, &mut self.outcome);
                        self.dispatch();
                    }
                    if until.is_some_and(|until| until <= Instant::now()) {
                        return Stopped::TimedOut;
                    }
                }
            }
        }
    }

    /// Sends the offer that follows one on which the agent ended.
    fn resume_handshake(&mut self) {
        self.peer.offer_again(&mut self.outcome);
        self.dispatch();
    }

    fn fell_silent(&mut self) {
        self.last_output = Instant::now();
        self.peer.fell_silent(&mut self.outcome);
        self.dispatch();
    }

    /// Passes the first `read` bytes of the buffer to the peer.
    fn receive(&mut self, read: usize) {
        self.last_output = Instant::now();
        let Self { lines, buffer, peer, outcome, trace, printed, .. } = self;
        let mut trace = trace.lock();
        trace.hear();
        lines.feed(&buffer[..read], |line| printed.receive(&line, peer, outcome, &mut trace));
        drop(trace);
        let is_told = |event: &AgentEvent| matches!(event, AgentEvent::Printed(_));
        let is_told = outcome.events.iter().any(is_told);
        self.unsent_bytes += read;
        // Whoever is told where to sign in needs as long for that as an agent for its answer.
        if is_told {
            self.restart_deadlines();
        }
        self.dispatch();
    }

    /// Passes a last line without a newline to the peer.
    fn receive_end(&mut self) {
        self.output = None;
        let Self { lines, peer, outcome, trace, printed, .. } = self;
        let mut trace = trace.lock();
        trace.hear();
        lines.end(|line| printed.receive(&line, peer, outcome, &mut trace));
        drop(trace);
        self.dispatch();
    }

    fn execute(&mut self, command: AgentCommand) {
        let Self { peer, outcome, .. } = self;
        match command {
            AgentCommand::Call { call, .. } if self.input.is_closed() => {
                let result = Err(CallError::Closed);
                outcome.events.push(AgentEvent::Answer { call, result });
            }
            AgentCommand::Call { call, request, timeout } => {
                peer.call(call, &request, outcome);
                if let Some(timeout) = timeout {
                    self.deadlines.insert((Instant::now() + timeout, call), timeout);
                }
            }
            AgentCommand::Cancel(session) => peer.cancel(&session, outcome),
            AgentCommand::Withdraw(call) => peer.withdraw(call, outcome),
            AgentCommand::Answer { token, answer } => {
                let was_waiting = peer.waits_for_user();
                peer.answer(token, &answer, outcome);
                if was_waiting {
                    self.restart_deadlines();
                }
            }
            AgentCommand::Start { .. } => tracing::error!(target: "acp", "started already"),
            // Handled by `serve`.
            AgentCommand::Stop => {}
        }
        self.dispatch();
    }

    /// Restarts the timeouts of all calls.
    fn restart_deadlines(&mut self) {
        let now = Instant::now();
        let calls = std::mem::take(&mut self.deadlines).into_iter();
        self.deadlines =
            calls.map(|((_, call), timeout)| ((now + timeout, call), timeout)).collect();
    }

    /// Fails the calls whose deadline has passed. While the agent waits for the user, no call expires.
    fn expire_calls(&mut self) {
        if self.peer.waits_for_user() {
            return self.restart_deadlines();
        }
        let now = Instant::now();
        while let Some(entry) = self.deadlines.first_entry()
            && entry.key().0 <= now
        {
            let call = entry.key().1;
            let timeout = entry.remove();
            self.peer.expire(call, timeout, &mut self.outcome);
        }
        self.dispatch();
    }

    /// Queues the events and lines that the peer has put into `outcome`.
    fn dispatch(&mut self) {
        self.batch.append(&mut self.outcome.events);
        if self.batch.is_empty() {
            // A single line may exceed `MAX_UNSENT_BYTES` and has to be read to its end.
            self.unsent_bytes = 0;
        }
        for line in self.outcome.lines.drain(..) {
            if self.input.is_closed() {
                tracing::debug!(target: "acp", "not sent: stdin is closed");
                continue;
            }
            let line = Arc::new(line);
            self.trace.lock().record_sent(&line);
            self.input.send(line);
        }
    }

    /// Serves until the agent has exited, by itself or because a stop was requested, and returns the cause.
    async fn serve_until_exit(&mut self, grace_periods: &GracePeriods) -> ExitCause {
        match self.serve(None).await {
            Stopped::Exited(cause) => cause,
            Stopped::StopRequested | Stopped::TimedOut => self.stop(grace_periods).await,
            Stopped::ReadsNothing => {
                self.stop(grace_periods).await;
                ExitCause::ReadsNothing
            }
            Stopped::OutputClosed | Stopped::InputBroken => {
                // The pipes of an exiting process close a moment before `wait` returns.
                if let Some(cause) = self.exits_within(grace_periods.drain).await {
                    return cause;
                }
                self.stop(grace_periods).await;
                ExitCause::ClosedPipe
            }
        }
    }

    /// Closes the agent's stdin, then sends SIGTERM, then SIGKILL, each after a grace period.
    async fn stop(&mut self, grace_periods: &GracePeriods) -> ExitCause {
        self.peer.goodbye(&mut self.outcome);
        self.dispatch();
        self.input.close();
        if let Some(cause) = self.exits_within(grace_periods.stdin).await {
            return cause;
        }
        self.remote.terminate();
        if let Some(cause) = self.exits_within(grace_periods.term).await {
            return cause;
        }
        self.remote.kill();
        // Only a process in an uninterruptible system call survives SIGKILL.
        let cause = self.exits_within(grace_periods.term).await;
        cause.unwrap_or_else(|| ExitCause::Signal("SIGKILL".to_owned()))
    }

    /// Serves until the agent has exited, for at most `grace`.
    async fn exits_within(&mut self, grace: Duration) -> Option<ExitCause> {
        let until = Instant::now() + grace;
        loop {
            match self.serve(Some(until)).await {
                Stopped::Exited(cause) => return Some(cause),
                Stopped::TimedOut => return None,
                _ => {}
            }
        }
    }

    /// Cleans up after the exit: reads the rest of the output and ends all processes that the agent started. Returns the last
    /// lines of stderr.
    async fn finish(&mut self, grace_periods: &GracePeriods) -> Vec<String> {
        self.input.close();
        self.remote.terminate();
        let until = Instant::now() + grace_periods.drain;
        while self.output.is_some() {
            if matches!(self.serve(Some(until)).await, Stopped::TimedOut) {
                break;
            }
        }
        let _ = timeout_at(until, &mut self.stderr).await;
        while self.remote.is_alive() && Instant::now() < until {
            sleep(POLL_INTERVAL).await;
        }
        self.stderr.abort();
        self.remote.release().await;
        if let Some(writer) = self.writer.take() {
            writer.abort();
        }
        let trace = self.trace.lock();
        let lines = self.tail.lock().lines();
        lines.iter().map(|line| trace.redactor().text(line).into_owned()).collect()
    }

    /// Fails the unanswered calls and appends the remaining events to `last_events`.
    fn close(&mut self, last_events: &mut Vec<AgentEvent>) {
        self.peer.close(&mut self.outcome);
        self.dispatch();
        last_events.append(&mut self.batch);
    }
}

/// Reads once. Returns 0 at the end and for a broken pipe; waits for ever if the output is closed.
async fn read_output(output: &mut Option<Output>, buffer: &mut [u8]) -> usize {
    match output {
        Some(output) => output.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Waits for the writer to end. Waits for ever if it has been joined before.
async fn join_writer(writer: &mut Option<JoinHandle<std::io::Result<()>>>) -> std::io::Result<()> {
    match writer {
        Some(writer) => writer.await.unwrap_or(Ok(())),
        None => std::future::pending().await,
    }
}
