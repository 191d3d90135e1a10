//! A bridge that only notes what it hears, and agents that are a few lines of Python.

use crate::confine::launcher;
use rat_nvim::acp::transport::any::AnyTransport;
use rat_nvim::acp::transport::child::ChildProcesses;
use rat_nvim::acp::{Agents, Batch, GracePeriods};
use rat_nvim::core::messages::agent::{AgentEvent, AgentRequest, CallError, Exit, Reply};
use rat_nvim::core::messages::call::Call;
use rat_nvim::core::messages::effect::{AgentCommand, AgentEffect, Answer};
use rat_nvim::core::messages::ids::{AgentId, CallId, RequestToken};
use rat_nvim::process::group::Watchdog;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::agent::AgentConfig;
use rat_nvim::session::update::Update;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longer than anything takes, shorter than anybody's patience.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What every agent here begins with.
pub(crate) const PRELUDE: &str = r#"
import json, os, signal, subprocess, sys, time
def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
def say(text):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": chunk}})
def end(request):
    send({"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn"}})
STUBBORN = "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]; print('up', flush=True); time.sleep(60)"
def stubborn_child(**options):
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options)
    child.stdout.readline()
    return child.pid
def ignore_signals():
    for number in (1, 2, 15):
        signal.signal(number, signal.SIG_IGN)
"#;

pub(crate) struct Bridge {
    pub(crate) agents: Agents,
    inbox: mpsc::Receiver<Batch>,
    heard: std::collections::VecDeque<AgentEvent>,
    pub(crate) largest_batch: usize,
    /// How long to wait for the next event.
    pub(crate) patience: Duration,
}

pub(crate) const AGENT: AgentId = AgentId(7);

impl Bridge {
    pub(crate) fn new() -> Self {
        Self::with(None, 16)
    }

    /// One that gives agents so much time for each step of their end that no test sees it pass, however busy the machine is.
    pub(crate) fn with(watchdog: Option<Watchdog>, room: usize) -> Self {
        Self::with_grace(watchdog, room, PATIENCE * 10)
    }

    /// One that gives them hardly any time, for agents that take all they get.
    pub(crate) fn hasty(room: usize) -> Self {
        Self::with_grace(None, room, Duration::from_millis(200))
    }

    fn with_grace(watchdog: Option<Watchdog>, room: usize, time: Duration) -> Self {
        let (out, inbox) = mpsc::channel(room);
        let grace_periods = GracePeriods { stdin: time, term: time, drain: time, unread: time };
        let agents = Agents::new(
            out,
            Arc::new(AnyTransport::new(ChildProcesses::new(launcher(), watchdog))),
            grace_periods,
            Secrets::default(),
        );
        let heard = std::collections::VecDeque::new();
        Self { agents, inbox, heard, largest_batch: 0, patience: PATIENCE }
    }

    /// A bridge with one agent that runs `script`.
    pub(crate) fn running(script: &str) -> Self {
        Self::new().with_agent(script)
    }

    pub(crate) fn with_agent(mut self, script: &str) -> Self {
        self.start(AGENT, python(script));
        self
    }

    pub(crate) fn start(&mut self, agent: AgentId, config: AgentConfig) {
        self.start_in(agent, config, Path::new("/"));
    }

    pub(crate) fn start_in(&mut self, agent: AgentId, config: AgentConfig, cwd: &Path) {
        let action = AgentCommand::Start { config: Box::new(config), cwd: cwd.to_owned() };
        self.agents.run(AgentEffect { agent, action });
    }

    pub(crate) fn run(&mut self, action: AgentCommand) {
        self.agents.run(AgentEffect { agent: AGENT, action });
    }

    pub(crate) fn call(&mut self, call: u64, request: Call, timeout: Option<Duration>) {
        self.run(AgentCommand::Call { call: CallId(call), request, timeout });
    }

    pub(crate) fn prompt(&mut self, call: u64) {
        let blocks = Vec::new();
        self.call(call, Call::Prompt { session: "s".into(), blocks }, None);
    }

    pub(crate) fn answer(&mut self, token: RequestToken, answer: Answer) {
        self.run(AgentCommand::Answer { token, answer });
    }

    /// The next that any agent says.
    pub(crate) async fn next(&mut self) -> AgentEvent {
        loop {
            if let Some(event) = self.heard.pop_front() {
                return event;
            }
            let batch = timeout(self.patience, self.inbox.recv()).await;
            let (_, batch) = batch.expect("nothing is heard").expect("a bridge with agents");
            self.largest_batch = self.largest_batch.max(batch.iter().map(size).sum());
            self.heard.extend(batch);
        }
    }

    /// The next chunk of text; fails on anything else.
    pub(crate) async fn text(&mut self) -> String {
        match self.next().await {
            AgentEvent::Update { update: Update::Chunk { content, .. }, .. } => {
                content.text().expect("a text").to_owned()
            }
            other => panic!("no text but {other:?}"),
        }
    }

    /// The numbers in the next chunk of text.
    pub(crate) async fn numbers(&mut self) -> Vec<i32> {
        let text = self.text().await;
        text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    }

    /// The next answer, whatever the agent has printed before it.
    pub(crate) async fn reply(&mut self) -> (u64, Result<Reply, CallError>) {
        loop {
            match self.next().await {
                AgentEvent::Answer { call, result } => return (call.0, result),
                AgentEvent::Printed(_) => {}
                other => panic!("no answer but {other:?}"),
            }
        }
    }

    pub(crate) async fn request(&mut self) -> (RequestToken, AgentRequest) {
        match self.next().await {
            AgentEvent::Request { token, request, .. } => (token, request),
            other => panic!("no request but {other:?}"),
        }
    }

    /// The end, and that nothing comes after it.
    pub(crate) async fn exit(&mut self) -> Exit {
        let exit = match self.next().await {
            AgentEvent::Exited(exit) => exit,
            other => panic!("no end but {other:?}"),
        };
        assert!(self.heard.is_empty(), "after the end: {:?}", self.heard);
        exit
    }
}

fn size(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Update { update: Update::Chunk { content, .. }, .. } => {
            content.text().map_or(0, str::len)
        }
        _ => 0,
    }
}

/// An agent that runs `script`.
pub(crate) fn python(script: &str) -> AgentConfig {
    program("python3", &["-u", "-c", &format!("{PRELUDE}{script}")])
}

pub(crate) fn program(command: &str, args: &[&str]) -> AgentConfig {
    AgentConfig {
        args: args.iter().map(ToString::to_string).collect(),
        base_env: std::env::vars().collect(),
        ..AgentConfig::new("test".into(), command.to_owned())
    }
}

/// Waits for what has to come.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it does not end")
}

/// Waits until no process of this id runs any more.
pub(crate) async fn gone(pid: i32) {
    let begun = Instant::now();
    while runs(pid) {
        assert!(begun.elapsed() < PATIENCE, "process {pid} still runs");
        tokio::task::yield_now().await;
    }
}

/// Whether a process runs. One that ended and that nobody waited for does not.
pub(crate) fn runs(pid: i32) -> bool {
    let mut ps = std::process::Command::new("ps");
    let stat = ps.args(["-o", "stat=", "-p", &pid.to_string()]).output().expect("ps").stdout;
    !stat.trim_ascii().is_empty() && !stat.trim_ascii().starts_with(b"Z")
}
