//! One command, from its start until none of its processes is left. Passes on its output as it is read, and reports its
//! exit after all of its output.

use super::{GRACE, Order, start};
use crate::core::messages::terminal::{CommandSpec, TerminalEvent};
use crate::process::confine::Launcher;
use crate::process::group::{Group, Watchdog, signal_name};
use crate::session::ids::TerminalId;
use crate::session::terminal::TerminalExit;
use nix::sys::signal::Signal;
use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

/// How much output is read at once, in bytes.
const READ_SIZE: usize = 64 << 10;

/// How many events may wait for the bridge before no more output is read.
const MAX_PENDING: usize = 2;

/// How long to go on reading after a command has exited, if processes it has started keep its output open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// How often to check whether processes are left after a command has exited: while they are being killed, and
/// otherwise.
const CHECK_KILLED: Duration = Duration::from_millis(20);
const CHECK_LEFT: Duration = Duration::from_secs(2);

type Out = mpsc::Sender<(TerminalId, TerminalEvent)>;

/// Starts a command and runs it until it has been released and none of its processes is left; then sends `gone`.
pub(super) async fn run(
    id: TerminalId,
    launch: CommandSpec,
    (launcher, watchdog): (Launcher, Option<Watchdog>),
    orders: mpsc::UnboundedReceiver<Order>,
    gone: oneshot::Sender<()>,
    out: &Out,
) {
    let mut rest = VecDeque::new();
    // On a blocking thread: the working directory may be on a file system that does not respond.
    let start = spawn_blocking(move || start::start(&launch, &launcher, watchdog.as_ref()));
    match start.await.unwrap_or_else(|error| Err(error.to_string())) {
        Err(why) => rest.push_back(TerminalEvent::NotStarted(why)),
        Ok((group, output)) => {
            tracing::debug!(target: "terminal", %id, pgid = group.id(), "started");
            let mut command = RunningCommand {
                id: id.clone(),
                group,
                output: Some(output),
                buffer: vec![0; READ_SIZE].into(),
                events: VecDeque::from([TerminalEvent::Started]),
                orders,
                started_at: Instant::now(),
                exit: None,
                is_exit_reported: false,
                is_released: false,
                check_at: None,
                kill_at: None,
                give_up_at: None,
                is_gone: false,
            };
            command.run_until_released(out).await;
            command.group.kill_and_release().await;
            rest.append(&mut command.events);
        }
    }
    tracing::debug!(target: "terminal", %id, "ended");
    // Only `Terminals::shutdown` waits for this.
    let _ = gone.send(());
    for event in rest {
        // Fails only if the bridge is gone.
        let _ = out.send((id.clone(), event)).await;
    }
}

struct RunningCommand {
    id: TerminalId,
    group: Group,
    output: Option<Receiver>,
    buffer: Box<[u8]>,
    /// Events that have not been sent to the bridge.
    events: VecDeque<TerminalEvent>,
    orders: mpsc::UnboundedReceiver<Order>,
    started_at: Instant,
    /// How it ended, how long it ran, and until when its output is read.
    exit: Option<(ExitStatus, Duration, Instant)>,
    is_exit_reported: bool,
    is_released: bool,
    /// When to check which processes are left.
    check_at: Option<Instant>,
    /// When to send SIGKILL, after SIGTERM.
    kill_at: Option<Instant>,
    /// When to stop waiting for the processes to end, after SIGKILL.
    give_up_at: Option<Instant>,
    /// No process is left, so the id of the process group may be in use again.
    is_gone: bool,
}

impl RunningCommand {
    /// Runs until the command has been released, its exit reported, and no process is left.
    async fn run_until_released(&mut self, out: &Out) {
        while !(self.is_released && self.is_exit_reported && self.is_gone) {
            let drain_until = self.exit.as_ref().map(|(_, _, until)| *until);
            let drain_until = drain_until.filter(|_| !self.is_exit_reported);
            let wake = [drain_until, self.check_at, self.kill_at].into_iter().flatten().min();
            let has_room = self.events.len() < MAX_PENDING;
            let Self { id, group, output, buffer, events, orders, .. } = self;
            tokio::select! {
                biased;
                order = orders.recv(), if !self.is_released => self.obey(order),
                permit = out.reserve(), if !events.is_empty() => {
                    if let (Ok(permit), Some(event)) = (permit, events.pop_front()) {
                        permit.send((id.clone(), event));
                    }
                }
                read = read(output, buffer), if has_room && output.is_some() => match read {
                    0 => *output = None,
                    read => events.push_back(TerminalEvent::Output(buffer[..read].to_vec())),
                },
                status = group.wait(), if self.exit.is_none() => {
                    let now = Instant::now();
                    let (status, took) = (status.unwrap_or_default(), now - self.started_at);
                    self.exit = Some((status, took, now + DRAIN_TIMEOUT));
                    self.check_at = Some(now);
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.advance().await;
        }
    }

    /// Carries out an order. `None`, which means that no more orders can come, counts as a release.
    fn obey(&mut self, order: Option<Order>) {
        self.is_released |= order != Some(Order::Kill);
        if !self.is_gone && self.kill_at.is_none() {
            self.group.signal(Signal::SIGTERM);
            self.kill_at = Some(Instant::now() + GRACE);
            self.check_at = self.exit.is_some().then(Instant::now);
        }
    }

    /// Does what is due now: sends SIGKILL, reports the exit, checks for processes that are left.
    async fn advance(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| at <= now) {
            self.kill_at = None;
            self.group.signal(Signal::SIGKILL);
            // A process may not react even to SIGKILL, and a zombie stays until its parent reaps it.
            self.give_up_at = Some(now + GRACE);
        }
        let is_blocked = self.events.len() >= MAX_PENDING && !self.is_released;
        if let Some((status, took, until)) = &mut self.exit
            && !self.is_exit_reported
        {
            if self.output.is_none() || (*until <= now && !is_blocked) {
                self.is_exit_reported = true;
                self.events.push_back(TerminalEvent::Exited(exit(*status), *took));
            } else if is_blocked {
                // The output cannot be read until the bridge has taken some events.
                *until = now + DRAIN_TIMEOUT;
            }
        }
        if self.check_at.is_some_and(|at| at <= now) && self.exit.is_some() {
            self.is_gone = !self.group.is_alive() || self.give_up_at.is_some_and(|at| at <= now);
            if self.is_gone {
                (self.check_at, self.kill_at) = (None, None);
                self.group.kill_and_release().await;
                return;
            }
            let is_killed = self.kill_at.is_some() || self.give_up_at.is_some();
            self.check_at = Some(now + if is_killed { CHECK_KILLED } else { CHECK_LEFT });
        }
    }
}

/// Reads once; 0 means the end. Reading from a pseudo terminal that no process has open fails (`man 4 pts`).
async fn read(output: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match output {
        Some(output) => output.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Converts an exit status for the protocol (ACP `TerminalExitStatus`).
fn exit(status: ExitStatus) -> TerminalExit {
    TerminalExit {
        code: status.code().and_then(|code| u32::try_from(code).ok()),
        signal: status.signal().map(signal_name),
    }
}
