//! One command from its start until nothing of it is left: what it writes goes out as it comes, and its end is told
//! once all of that is.

use super::{GRACE, Order, start};
use crate::core::command::{FromTerminal, Launch};
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

/// How much is read at once, in bytes.
const READ: usize = 64 << 10;

/// Pieces of output that wait for the bridge before we stop reading.
const WAITING: usize = 2;

/// From the end of a command to that of its output, where others it started hold that open.
const DRAIN: Duration = Duration::from_millis(100);

/// How often what is left of a command is looked at: while it is being ended, and while it lives on.
const SOON: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(2);

type Out = mpsc::Sender<(TerminalId, FromTerminal)>;

/// Lives a command's whole life. `gone` is told when nothing of it is left.
pub(super) async fn live(
    id: TerminalId,
    launch: Launch,
    watchdog: Option<Watchdog>,
    orders: mpsc::UnboundedReceiver<Order>,
    gone: oneshot::Sender<()>,
    out: &Out,
) {
    let mut last = VecDeque::new();
    // The folder may lie on a disk that does not answer: that holds up nobody else.
    let start = spawn_blocking(move || start::start(&launch, watchdog.as_ref()));
    match start.await.unwrap_or_else(|error| Err(error.to_string())) {
        Err(why) => last.push_back(FromTerminal::NotStarted(why)),
        Ok((group, output)) => {
            tracing::debug!(target: "terminal", %id, pgid = group.id(), "started");
            let mut life = Life {
                id: id.clone(),
                group,
                output: Some(output),
                buffer: vec![0; READ].into(),
                events: VecDeque::from([FromTerminal::Started]),
                orders,
                begun: Instant::now(),
                exit: None,
                told: false,
                released: false,
                look: None,
                kill: None,
                give_up: None,
                empty: false,
            };
            life.until_released(out).await;
            life.group.kill().await;
            last.append(&mut life.events);
        }
    }
    tracing::debug!(target: "terminal", %id, "ended");
    // Nobody waits for it but a bridge that ends.
    let _ = gone.send(());
    for event in last {
        // Fails only where the bridge is gone.
        let _ = out.send((id.clone(), event)).await;
    }
}

struct Life {
    id: TerminalId,
    group: Group,
    output: Option<Receiver>,
    buffer: Box<[u8]>,
    /// What waits for the bridge.
    events: VecDeque<FromTerminal>,
    orders: mpsc::UnboundedReceiver<Order>,
    begun: Instant,
    /// How it ended, how long it ran, and by when its output has to end.
    exit: Option<(ExitStatus, Duration, Instant)>,
    told: bool,
    released: bool,
    /// When to see what is left.
    look: Option<Instant>,
    /// When SIGTERM was not enough, and when SIGKILL was not.
    kill: Option<Instant>,
    give_up: Option<Instant>,
    /// Nothing is left of it: its number may be another's by now.
    empty: bool,
}

impl Life {
    /// Listens until the command is released and nothing is left of it.
    async fn until_released(&mut self, out: &Out) {
        while !(self.released && self.told && self.empty) {
            let drained = self.exit.as_ref().map(|(_, _, until)| *until).filter(|_| !self.told);
            let wake = [drained, self.look, self.kill].into_iter().flatten().min();
            let room = self.events.len() < WAITING;
            let Self { id, group, output, buffer, events, orders, .. } = self;
            tokio::select! {
                biased;
                order = orders.recv(), if !self.released => self.obey(order),
                permit = out.reserve(), if !events.is_empty() => {
                    if let (Ok(permit), Some(event)) = (permit, events.pop_front()) {
                        permit.send((id.clone(), event));
                    }
                }
                read = read(output, buffer), if room && output.is_some() => match read {
                    0 => *output = None,
                    read => events.push_back(FromTerminal::Output(buffer[..read].to_vec())),
                },
                status = group.wait(), if self.exit.is_none() => {
                    let now = Instant::now();
                    self.exit = Some((status.unwrap_or_default(), now - self.begun, now + DRAIN));
                    self.look = Some(now);
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.settle().await;
        }
    }

    /// An order that cannot come any more is to be gone.
    fn obey(&mut self, order: Option<Order>) {
        self.released |= order != Some(Order::Kill);
        if !self.empty && self.kill.is_none() {
            self.group.signal(Signal::SIGTERM);
            self.kill = Some(Instant::now() + GRACE);
            self.look = self.exit.is_some().then(Instant::now);
        }
    }

    /// Does what is due.
    async fn settle(&mut self) {
        let now = Instant::now();
        if self.kill.is_some_and(|at| at <= now) {
            self.kill = None;
            self.group.signal(Signal::SIGKILL);
            // What no signal ends, or nobody buries, is not waited for.
            self.give_up = Some(now + GRACE);
        }
        let held_up = self.events.len() >= WAITING && !self.released;
        if let Some((status, took, until)) = &mut self.exit
            && !self.told
        {
            if self.output.is_none() || (*until <= now && !held_up) {
                self.told = true;
                self.events.push_back(FromTerminal::Exited(exit(*status), *took));
            } else if held_up {
                // What it has written cannot be read as long as the bridge has enough of it.
                *until = now + DRAIN;
            }
        }
        if self.look.is_some_and(|at| at <= now) && self.exit.is_some() {
            self.empty = !self.group.is_alive() || self.give_up.is_some_and(|at| at <= now);
            if self.empty {
                (self.look, self.kill) = (None, None);
                self.group.kill().await;
                return;
            }
            let ending = self.kill.is_some() || self.give_up.is_some();
            self.look = Some(now + if ending { SOON } else { SELDOM });
        }
    }
}

/// Reads once; 0 is the end. A pseudo terminal that nobody has open any more fails (`man 4 pts`).
async fn read(output: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match output {
        Some(output) => output.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// How a command ended, in the protocol's words.
fn exit(status: ExitStatus) -> TerminalExit {
    TerminalExit {
        code: status.code().and_then(|code| u32::try_from(code).ok()),
        signal: status.signal().map(signal_name),
    }
}
