//! One agent: its process, its peer and the tasks between them, from the start to the end of the whole process
//! group. What is said is the peer's business, what it means everybody else's.

use super::codec::{self, Line, Lines};
use super::peer::{Outcome, Peer, Tokens};
use super::process::{self, Pipes};
use super::stderr::Tail;
use super::trace::{self, Trace};
use super::{Batch, Graces};
use crate::core::effect::ToAgent;
use crate::core::event::agent::{CallError, Exit, ExitCause, FromAgent};
use crate::core::event::{AgentId, CallId};
use crate::process::group::{Group, Watchdog};
use crate::session::agent::AgentConfig;
use nix::sys::signal::Signal;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// How many messages are told of when an agent dies.
const LAST_MESSAGES: usize = 3;

/// How much is read at once, in bytes.
const READ: usize = 256 << 10;

/// How much of the agent's output may wait for the bridge before we stop reading, in bytes.
const WAITING: usize = 1 << 20;

/// How often a dying group is looked at.
const POLL: Duration = Duration::from_millis(5);

/// What one agent needs to live.
pub(super) struct Birth {
    pub(super) id: AgentId,
    pub(super) config: Box<AgentConfig>,
    pub(super) cwd: PathBuf,
    pub(super) watchdog: Option<Watchdog>,
    pub(super) graces: Graces,
    pub(super) tokens: Tokens,
    pub(super) trace: trace::Shared,
    pub(super) commands: mpsc::UnboundedReceiver<ToAgent>,
    pub(super) out: mpsc::Sender<Batch>,
    /// Told when nothing of the process group is left, before the bridge has heard of it.
    pub(super) gone: oneshot::Sender<()>,
}

/// Lives an agent's whole life. `Exited` is the last that comes of it, once.
pub(super) async fn live(birth: Birth) {
    let Birth { id, config, cwd, watchdog, graces, tokens, trace, mut commands, out, gone } = birth;
    let mut last = Vec::new();
    let name = config.name.clone();
    // The folder may lie on a disk that does not answer: that holds up nobody else.
    let start = spawn_blocking(move || process::spawn(&config, &cwd, watchdog.as_ref()));
    let started = start.await.unwrap_or_else(|error| {
        Err(ExitCause::NotStarted { not_found: false, error: error.to_string() })
    });
    let exit = match started {
        Err(cause) => Exit { cause, stderr: Vec::new(), messages: Vec::new() },
        Ok((group, pipes)) => {
            tracing::info!(target: "acp", agent = %name, pgid = group.id(), "started");
            let mut life = Life::new(id, group, pipes, Peer::new(tokens), trace, commands, &out);
            let cause = life.until_death(&graces).await;
            let stderr = life.bury(&graces, &mut last).await;
            let messages = life.trace.lock().words(LAST_MESSAGES);
            commands = life.commands;
            Exit { cause, stderr, messages }
        }
    };
    tracing::info!(target: "acp", agent = %name, cause = ?exit.cause, "ended");
    let _ = gone.send(());
    commands.close();
    while let Ok(command) = commands.try_recv() {
        if let ToAgent::Call { call, .. } = command {
            last.push(FromAgent::Answer { call, result: Err(CallError::Closed) });
        }
    }
    last.push(FromAgent::Exited(exit));
    // Fails only where the bridge is gone, and then nobody is left to be told.
    let _ = out.send((id, last)).await;
}

/// Why listening stopped.
enum Turn {
    Stop,
    StdoutClosed,
    StdinBroken,
    Exited(ExitStatus),
    TimedOut,
}

struct Life<'a> {
    id: AgentId,
    group: Group,
    exited: bool,
    stdout: Option<ChildStdout>,
    buffer: Box<[u8]>,
    lines: Lines,
    peer: Peer,
    outcome: Outcome,
    /// What waits for the bridge, and how many bytes of the agent it was.
    batch: Vec<FromAgent>,
    waiting: usize,
    stdin: Option<mpsc::UnboundedSender<String>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    stderr: JoinHandle<()>,
    tail: Arc<Mutex<Tail>>,
    trace: trace::Shared,
    deadlines: BTreeMap<(Instant, CallId), Duration>,
    commands: mpsc::UnboundedReceiver<ToAgent>,
    /// Whether anybody can still command.
    commanded: bool,
    out: &'a mpsc::Sender<Batch>,
}

impl<'a> Life<'a> {
    fn new(
        id: AgentId,
        group: Group,
        pipes: Pipes,
        peer: Peer,
        trace: trace::Shared,
        commands: mpsc::UnboundedReceiver<ToAgent>,
        out: &'a mpsc::Sender<Batch>,
    ) -> Self {
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (stdin, queue) = mpsc::unbounded_channel();
        Self {
            id,
            group,
            exited: false,
            stdout: Some(pipes.stdout),
            buffer: vec![0; READ].into(),
            lines: Lines::default(),
            peer,
            outcome: Outcome::default(),
            batch: Vec::new(),
            waiting: 0,
            stdin: Some(stdin),
            writer: Some(tokio::spawn(write(pipes.stdin, queue))),
            stderr: tokio::spawn(drain(pipes.stderr, tail.clone(), trace.clone())),
            tail,
            trace,
            deadlines: BTreeMap::new(),
            commands,
            commanded: true,
            out,
        }
    }

    /// Listens both ways until something ends, or until `until`.
    async fn listen(&mut self, until: Option<Instant>) -> Turn {
        loop {
            let deadline = self.deadlines.keys().next().map(|(at, _)| *at);
            let wake = until.into_iter().chain(deadline).min();
            // A process that ended leaves no more than its pipe holds.
            let room = self.exited || self.waiting < WAITING;
            let Self { commands, out, stdout, buffer, group, writer, .. } = self;
            tokio::select! {
                biased;
                command = commands.recv(), if self.commanded => match command {
                    Some(ToAgent::Stop) => return Turn::Stop,
                    Some(command) => self.obey(command),
                    None => {
                        self.commanded = false;
                        return Turn::Stop;
                    }
                },
                permit = out.reserve(), if !self.batch.is_empty() => {
                    let batch = std::mem::take(&mut self.batch);
                    self.waiting = 0;
                    if let Ok(permit) = permit {
                        permit.send((self.id, batch));
                    }
                }
                read = read(stdout, buffer), if room && stdout.is_some() => {
                    if read == 0 {
                        self.hear_the_end();
                        return Turn::StdoutClosed;
                    }
                    self.hear(read);
                }
                written = join(writer), if writer.is_some() => {
                    *writer = None;
                    if let Err(error) = written {
                        tracing::warn!(target: "acp", %error, "the agent's stdin is closed");
                        return Turn::StdinBroken;
                    }
                }
                status = group.wait(), if !self.exited => {
                    self.exited = true;
                    return Turn::Exited(status.unwrap_or_default());
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.expire();
                    if until.is_some_and(|until| until <= Instant::now()) {
                        return Turn::TimedOut;
                    }
                }
            }
        }
    }

    fn hear(&mut self, read: usize) {
        let Self { lines, buffer, peer, outcome, trace, .. } = self;
        let mut trace = trace.lock();
        lines.feed(&buffer[..read], |line| hear_line(&line, peer, outcome, &mut trace));
        drop(trace);
        self.waiting += read;
        self.settle();
    }

    fn hear_the_end(&mut self) {
        self.stdout = None;
        let Self { lines, peer, outcome, trace, .. } = self;
        lines.end(|line| hear_line(&line, peer, outcome, &mut trace.lock()));
        self.settle();
    }

    fn obey(&mut self, command: ToAgent) {
        let Self { peer, outcome, .. } = self;
        match command {
            ToAgent::Call { call, .. } if self.stdin.is_none() => {
                let result = Err(CallError::Closed);
                outcome.events.push(FromAgent::Answer { call, result });
            }
            ToAgent::Call { call, request, timeout } => {
                peer.call(call, &request, outcome);
                if let Some(timeout) = timeout {
                    self.deadlines.insert((Instant::now() + timeout, call), timeout);
                }
            }
            ToAgent::Cancel(session) => peer.cancel(&session, outcome),
            ToAgent::Withdraw(call) => peer.withdraw(call, outcome),
            ToAgent::Answer { token, answer } => {
                let waited = peer.waits_for_user();
                peer.answer(token, &answer, outcome);
                if waited {
                    self.give_time_anew();
                }
            }
            ToAgent::Start { .. } => tracing::error!(target: "acp", "started already"),
            // Taken out by `listen`.
            ToAgent::Stop => {}
        }
        self.settle();
    }

    /// All calls may take as long as if they were made now.
    fn give_time_anew(&mut self) {
        let now = Instant::now();
        let all = std::mem::take(&mut self.deadlines).into_iter();
        self.deadlines = all.map(|((_, call), timeout)| ((now + timeout, call), timeout)).collect();
    }

    fn expire(&mut self) {
        if self.peer.waits_for_user() {
            return self.give_time_anew();
        }
        let now = Instant::now();
        while let Some(entry) = self.deadlines.first_entry()
            && entry.key().0 <= now
        {
            let call = entry.key().1;
            let waited = entry.remove();
            self.peer.expire(call, waited, &mut self.outcome);
        }
        self.settle();
    }

    /// Sends on what a step led to.
    fn settle(&mut self) {
        self.batch.append(&mut self.outcome.events);
        if self.batch.is_empty() {
            // A line may be longer than what may wait; it has to be read to its end.
            self.waiting = 0;
        }
        for line in self.outcome.lines.drain(..) {
            let Some(stdin) = &self.stdin else {
                tracing::debug!(target: "acp", "not sent: stdin is closed");
                continue;
            };
            self.trace.lock().said(&line);
            // Fails only where the writer found the pipe broken, which `listen` hears of.
            let _ = stdin.send(line);
        }
    }

    /// Listens until the process has ended, by itself or by us, and tells how.
    async fn until_death(&mut self, graces: &Graces) -> ExitCause {
        match self.listen(None).await {
            Turn::Exited(status) => process::cause(status),
            Turn::Stop | Turn::TimedOut => self.end(graces).await,
            Turn::StdoutClosed | Turn::StdinBroken => {
                // The pipes of a process that ends are closed a moment before it can be waited for.
                if let Some(status) = self.until_exit(graces.drain).await {
                    return process::cause(status);
                }
                self.end(graces).await;
                ExitCause::ClosedPipe
            }
        }
    }

    /// Closes stdin, then SIGTERM, then SIGKILL, each to the whole group.
    async fn end(&mut self, graces: &Graces) -> ExitCause {
        self.stdin = None;
        for (grace, signal) in [(graces.stdin, Signal::SIGTERM), (graces.term, Signal::SIGKILL)] {
            if let Some(status) = self.until_exit(grace).await {
                return process::cause(status);
            }
            self.group.signal(signal);
        }
        // Nothing survives SIGKILL but a process inside a system call that cannot be interrupted.
        let status = self.until_exit(graces.term).await;
        status.map_or_else(|| ExitCause::Signal(Signal::SIGKILL.to_string()), process::cause)
    }

    async fn until_exit(&mut self, grace: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + grace;
        loop {
            match self.listen(Some(until)).await {
                Turn::Exited(status) => return Some(status),
                Turn::TimedOut => return None,
                Turn::Stop | Turn::StdoutClosed | Turn::StdinBroken => {}
            }
        }
    }

    /// Hears the last words, ends what is left of the group and settles what waits. Gives the end of stderr.
    async fn bury(&mut self, graces: &Graces, last: &mut Vec<FromAgent>) -> Vec<String> {
        self.stdin = None;
        self.group.signal(Signal::SIGTERM);
        let until = Instant::now() + graces.drain;
        while self.stdout.is_some() {
            if matches!(self.listen(Some(until)).await, Turn::TimedOut) {
                break;
            }
        }
        let _ = timeout_at(until, &mut self.stderr).await;
        while self.group.is_alive() && Instant::now() < until {
            sleep(POLL).await;
        }
        self.stderr.abort();
        self.group.kill().await;
        if let Some(writer) = self.writer.take() {
            writer.abort();
        }
        self.peer.close(&mut self.outcome);
        self.settle();
        last.append(&mut self.batch);
        let trace = self.trace.lock();
        let lines = self.tail.lock().lines();
        lines.iter().map(|line| trace.redactor().text(line).into_owned()).collect()
    }
}

fn hear_line(line: &Line<'_>, peer: &mut Peer, outcome: &mut Outcome, trace: &mut Trace) {
    let bytes = match line {
        Line::Whole(bytes) => *bytes,
        Line::TooLong { bytes } => {
            tracing::error!(target: "acp", bytes, "a line that is too long was dropped");
            return;
        }
    };
    let text = String::from_utf8_lossy(bytes);
    match codec::parse(&text) {
        Ok(message) => {
            trace.heard(bytes, Some(&message));
            peer.receive(message, outcome);
        }
        Err(stray) => {
            trace.heard(bytes, None);
            tracing::warn!(target: "acp", size = bytes.len(), "stray line on stdout: {stray}");
        }
    }
}

/// Reads once; 0 is the end, also of a pipe that fails.
async fn read(stdout: &mut Option<ChildStdout>, buffer: &mut [u8]) -> usize {
    match stdout {
        Some(stdout) => stdout.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

async fn join(writer: &mut Option<JoinHandle<std::io::Result<()>>>) -> std::io::Result<()> {
    match writer {
        Some(writer) => writer.await.unwrap_or(Ok(())),
        None => std::future::pending().await,
    }
}

/// Writes line after line; stdin closes when the queue has ended and everything is written.
async fn write(
    mut stdin: ChildStdin,
    mut queue: mpsc::UnboundedReceiver<String>,
) -> std::io::Result<()> {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        stdin.write_all(line.as_bytes()).await?;
    }
    Ok(())
}

/// Reads stderr to its end, so that the agent never waits for us.
async fn drain(mut stderr: ChildStderr, tail: Arc<Mutex<Tail>>, trace: trace::Shared) {
    let redactor = trace.lock().redactor().clone();
    let note = |line: &str| {
        let line = redactor.text(line);
        tracing::debug!(target: "acp", "stderr: {line}");
        trace.lock().stderr(&line);
    };
    let mut buffer = vec![0; 16 << 10];
    while let Ok(read) = stderr.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        tail.lock().feed(&buffer[..read], note);
    }
    tail.lock().end(note);
}
