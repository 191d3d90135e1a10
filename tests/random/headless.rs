//! A whole turn without Neovim and without a process: `State` decides, the runner carries out, documents are in the editor in
//! memory, and the agent is a task at the other end of a pipe. Each is the real one but for its port.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rat_nvim::acp::transport::{Opened, Remote, Transport};
use rat_nvim::acp::{Agents, Batch, GracePeriods};
use rat_nvim::app::runner::Runner;
use rat_nvim::config::resolve::{AgentSelection, resolve};
use rat_nvim::config::settings::Settings;
use rat_nvim::core::messages::agent::ExitCause;
use rat_nvim::core::messages::editor::{EditorMessage, UserAutocmd};
use rat_nvim::core::messages::event::Event;
use rat_nvim::core::messages::policy::ChatPolicy;
use rat_nvim::core::messages::user::{SessionTarget, UserAction};
use rat_nvim::core::state::State;
use rat_nvim::documents::editor::Editor;
use rat_nvim::host::checkpoints::Checkpoints;
use rat_nvim::host::checkpoints::limits::Limits;
use rat_nvim::host::store::Store;
use rat_nvim::host::terminals::Terminals;
use rat_nvim::process::confine::Launcher;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::agent::AgentConfig;
use rat_nvim::session::prompt::Prompt;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, empty, split};
use tokio::sync::mpsc;

use super::desk::{Act, Desk};
use super::memory::Memory;
use super::nvim::within;

/// Reaches one agent that is a task of this program.
#[derive(Debug)]
struct InMemory {
    /// The file it works on.
    path: String,
}

/// An agent that ends when its input does.
#[derive(Debug)]
struct Task(Option<tokio::task::JoinHandle<()>>);

#[async_trait]
impl Remote for Task {
    async fn wait_for_exit(&mut self) -> ExitCause {
        if let Some(task) = self.0.as_mut() {
            task.await.unwrap();
        }
        self.0 = None;
        ExitCause::Status(0)
    }

    fn terminate(&mut self) {}

    fn kill(&mut self) {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
    }

    fn is_alive(&self) -> bool {
        self.0.as_ref().is_some_and(|task| !task.is_finished())
    }

    async fn release(&mut self) {
        self.kill();
    }
}

impl Transport for InMemory {
    fn open(&self, _config: &AgentConfig, _cwd: &Path) -> Result<Opened, ExitCause> {
        let (ours, theirs) = duplex(64 << 10);
        let (output, input) = split(ours);
        let agent = tokio::spawn(agent(theirs, self.path.clone()));
        Ok(Opened {
            input: Box::new(input),
            output: Box::new(output),
            diagnostics: Box::new(empty()),
            remote: Box::new(Task(Some(agent))),
        })
    }
}

/// Reads the file, changes its first line, and says how it went.
async fn agent(stream: DuplexStream, path: String) {
    let (input, mut output) = split(stream);
    let mut lines = BufReader::new(input).lines();
    let mut prompt = Value::Null;
    while let Some(line) = lines.next_line().await.unwrap() {
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = &message["id"];
        let file = |id: &str, method: &str, content: Value| {
            let mut params = json!({"sessionId": "s", "path": path});
            if !content.is_null() {
                params["content"] = content;
            }
            json!({"id": id, "method": method, "params": params})
        };
        let answer = match (message["method"].as_str(), id.as_str()) {
            (Some("initialize"), _) => {
                json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": 1}})
            }
            (Some("session/new"), _) => json!({"id": id, "result": {"sessionId": "s"}}),
            (Some("session/prompt"), _) => {
                prompt = id.clone();
                file("read", "fs/read_text_file", Value::Null)
            }
            (None, Some("read")) => {
                let text = message["result"]["content"].as_str().unwrap();
                let changed = text.replacen("one", "ONE", 1);
                file("write", "fs/write_text_file", changed.into())
            }
            (None, Some("write")) => {
                assert_eq!(message["result"], json!({}));
                json!({"id": prompt, "result": {"stopReason": "end_turn"}})
            }
            _ => continue,
        };
        output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
}

/// What runs effects for an editor, with the agent above, and where the results come out.
pub(crate) struct Edges {
    pub(crate) runner: Runner,
    from_agents: mpsc::Receiver<Batch>,
    pub(crate) done: mpsc::UnboundedReceiver<Event>,
}

impl Edges {
    /// The agent works on the file with this path.
    pub(crate) fn new(editor: Arc<dyn Editor>, path: &Path, checkpoints: Checkpoints) -> Self {
        let (to_loop, from_agents) = mpsc::channel(16);
        let (events, done) = mpsc::unbounded_channel();
        let transport = Arc::new(InMemory { path: path.display().to_string() });
        let agents = Agents::new(to_loop, transport, GracePeriods::default(), Secrets::default());
        let terminals = Terminals::new(mpsc::channel(1).0, Launcher::of_this_program(), None);
        let store = Store::open(None, Secrets::default());
        let runner = Runner::new(editor, agents, terminals, store, checkpoints, events);
        Self { runner, from_agents, done }
    }
}

/// Holds (Writing files): An agent changes unsaved text in any editor, without Neovim.
#[tokio::test]
async fn an_agent_changes_unsaved_text_in_any_editor() {
    let desk = Memory::new(1);
    let path = desk.put("a.txt", "one\ntwo\n");
    desk.does(&Act::Open("a.txt".into()), false).await;
    desk.does(&Act::Append { line: 2, text: " unsaved".into() }, false).await;

    let checkpoints = Checkpoints::open(None, Secrets::default(), Limits::default());
    let Edges { mut runner, mut from_agents, mut done } =
        Edges::new(desk.editor(), &path, checkpoints);
    let mut state = State::default();

    let start = UserAction::Start {
        config: Box::new(resolve(
            AgentSelection::default(),
            Settings::default(),
            Path::new("/"),
            Path::new(""),
        )),
        problems: Vec::new(),
        cwd: path.parent().unwrap().to_owned(),
        directories: Vec::new(),
        policy: ChatPolicy::default(),
        target: SessionTarget::New,
        focus: false,
    };
    let prompt = Prompt { text: "shout".into(), ..Prompt::default() };
    let mut waiting: Vec<Event> = [start, UserAction::Prompt { chat: None, prompt, now: false }]
        .into_iter()
        .map(Event::User)
        .collect();
    let turn_ended = async {
        loop {
            for event in std::mem::take(&mut waiting) {
                for effect in state.handle(event) {
                    runner.run(effect);
                }
            }
            let told = state.take_frame().messages;
            let ended = |message: &EditorMessage| {
                matches!(message, EditorMessage::Autocommand(UserAutocmd::TurnEnd(..)))
            };
            if told.iter().any(ended) {
                return;
            }
            tokio::select! {
                Some((agent, batch)) = from_agents.recv() => {
                    waiting.extend(batch.into_iter().map(|from| Event::Agent(agent, from)));
                }
                Some(event) = done.recv() => waiting.push(event),
            }
        }
    };
    within(turn_ended).await;

    let look = desk.look(&path).await;
    assert_eq!(look.text.as_deref(), Some("ONE\ntwo unsaved\n"));
    assert!(look.modified, "what the user has not saved stays unsaved");
    assert_eq!(look.disk, "ONE\ntwo\n");
    runner.shutdown().await;
}
