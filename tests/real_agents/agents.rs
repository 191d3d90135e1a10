//! The real agents, the scripted model they ask, and a chat with one of them as a user has it: by commands, by keys and
//! by looking. It judges nothing. The agents on SDKs are ours, but what they read and write is decoded and encoded by
//! code of others; they play the prompt without a model.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::model::Model;
use crate::place::{Server, configured};
use crate::support::{DEADLINE, Nvim, Options, Processes, TempFolder, poll_for, repository};

/// How long anything may take: these programs need seconds to start, and the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An agent that nobody in this project wrote, or one on an SDK that nobody in this project wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    OpenCode,
    Claude,
    Gemini,
    Crate011,
    Python,
    TypeScript,
    TypeScriptV2,
}

impl Kind {
    /// Its name in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenCode => "opencode",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Crate011 => "crate_0_1_1",
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::TypeScriptV2 => "typescript_v2",
        }
    }

    /// Whether it is one of ours on an SDK of others.
    pub(crate) fn is_on_sdk(self) -> bool {
        self.is_served() || self == Self::TypeScriptV2
    }

    /// Whether it is one of those and reads and writes files through us, which version 2 cannot.
    pub(crate) fn is_served(self) -> bool {
        matches!(self, Self::Crate011 | Self::Python | Self::TypeScript)
    }

    /// The program that speaks the protocol: here or in `$ACP_AGENTS`.
    pub(crate) fn command(self) -> PathBuf {
        if self.is_on_sdk() {
            return repository().join("tests/real_agents/sdk").join(self.name()).join("run");
        }
        agents_folder().join(format!("run_{}.sh", self.name()))
    }
}

/// The folder with the scripts that start the agents and the model.
pub(crate) fn agents_folder() -> PathBuf {
    std::env::var_os("ACP_AGENTS").expect("ACP_AGENTS: the folder of the agents' scripts").into()
}

fn prepare(nvim: &mut Nvim, kind: Kind, agent: &Json, settings: &Json) {
    let (mut settings, mut agent) = (settings.clone(), agent.clone());
    if let Some(fields) = settings["agents"][kind.name()].as_object() {
        agent.as_object_mut().expect("an object").extend(fields.clone());
    }
    settings["agents"] = json!({kind.name(): agent});
    nvim.setup(settings);
}

/// A chat with a real agent in a real Neovim.
pub(crate) struct Chat {
    pub(crate) nvim: Nvim,
    pub(crate) kind: Kind,
    turns: usize,
    model: Model,
    agent: Json,
    settings: Json,
    _home: TempFolder,
    server: Option<Server>,
}

impl Chat {
    /// Opens the chat, with a project of these files, the first of which is being edited.
    pub(crate) fn open(kind: Kind, files: &[(&str, &str)]) -> Self {
        Self::open_with(kind, files, json!({}))
    }

    /// The same with these options of the plugin.
    pub(crate) fn open_with(kind: Kind, files: &[(&str, &str)], settings: Json) -> Self {
        Self::open_in(Self::options(), kind, files, settings, &[])
    }

    /// What Neovim is started with.
    pub(crate) fn options() -> Options {
        Options { columns: 110, lines: 50, ..Options::default() }
    }

    /// The same in a Neovim that is started like this, and with an agent that has these variables.
    pub(crate) fn open_in(
        options: Options,
        kind: Kind,
        files: &[(&str, &str)],
        settings: Json,
        variables: &[(&str, &str)],
    ) -> Self {
        let home = TempFolder::new();
        let model = Model::of(kind, home.path());
        let mut nvim = Nvim::start(options);
        for (name, text) in files {
            nvim.folder().file(&format!("project/{name}"), text);
        }
        let agents = std::env::var("ACP_AGENTS_DIR").expect("ACP_AGENTS_DIR: where agents are");
        let mut env = json!({"ACP_AGENTS_DIR": agents, "ACP_HOME": home.folder("agent")});
        for (name, value) in model.variables() {
            env[name] = json!(value);
        }
        for (name, value) in variables {
            env[name] = json!(value);
        }
        let (agent, server) = configured(&kind.command(), &env, &nvim, home.path());
        prepare(&mut nvim, kind, &agent, &settings);
        if let Some((name, _)) = files.first() {
            nvim.command(&format!("edit {name}"));
        }
        let mut chat = Self { nvim, kind, turns: 0, model, agent, settings, _home: home, server };
        chat.focus();
        chat.wait_for("ready");
        chat
    }

    /// Ends Neovim and starts another one, in which nothing is open yet.
    pub(crate) fn restart_neovim(&mut self) {
        self.nvim.quit();
        self.nvim = self.nvim.beside(Self::options());
        self.turns = 0;
        prepare(&mut self.nvim, self.kind, &self.agent, &self.settings);
    }

    /// Whether a server has started the agent.
    pub(crate) fn is_served(&self) -> bool {
        self.server.is_some()
    }

    /// Opens a new session in another Neovim, with another agent under the name of this one, which knows the same paths.
    pub(crate) fn replaced_by(&mut self, mut agent: Json) {
        if let Some(paths) = self.agent.get("paths") {
            agent["paths"] = paths.clone();
        }
        agent["reconnect"] = json!("prompt");
        self.agent = agent;
        self.restart_neovim();
        self.nvim.command(&format!("RatStart! {}", self.kind.name()));
        self.wait_for("ready");
    }

    /// Goes to the chat.
    pub(crate) fn focus(&mut self) {
        self.nvim.command(&format!("RatStart {}", self.kind.name()));
    }

    /// Types a prompt and sends it.
    pub(crate) fn ask(&mut self, prompt: &str) {
        self.focus();
        let keys = prompt.replace('<', "<lt>").replace('\n', "<CR>");
        // The prompt of a turn that failed is there again.
        self.nvim.input(&format!("<Esc>gg\"_dGi{keys}<Esc><CR>"));
        self.turns += 1;
    }

    /// A prompt was sent by other means.
    pub(crate) fn turned(&mut self) {
        self.turns += 1;
    }

    /// Types a prompt, sends it and waits for the end of its turn, which must be that one.
    pub(crate) fn ask_and_wait(&mut self, prompt: &str) {
        self.ask(prompt);
        self.ends("end_turn");
    }

    /// Waits for the end of the turn and checks how it ended.
    pub(crate) fn ends(&mut self, stop_reason: &str) {
        let end = self.ends_somehow();
        assert_eq!(end["stop_reason"], json!(stop_reason), "{}", self.nvim.screen().text());
    }

    /// Waits for the end of the turn, however it ends, and gives what is told of it.
    pub(crate) fn ends_somehow(&mut self) -> Json {
        let turns = self.turns;
        let what = format!("the end of turn {turns}");
        self.until(&what, |chat| chat.nvim.events("RatTurnEnd").get(turns - 1).cloned())
    }

    /// The same, where whatever the agent asks for is rejected.
    pub(crate) fn ends_rejecting(&mut self, stop_reason: &str) {
        self.ends_answering("RatDeny", stop_reason);
    }

    /// The same, where whatever the agent asks for is allowed.
    pub(crate) fn ends_allowing(&mut self, stop_reason: &str) {
        self.ends_answering("RatAllow", stop_reason);
    }

    fn ends_answering(&mut self, command: &str, stop_reason: &str) {
        let (turns, mut answered) = (self.turns, Json::Null);
        self.until(&format!("the end of turn {turns}"), |chat| {
            let waiting = chat.nvim.status()["permissions"][0]["id"].clone();
            if !waiting.is_null() && waiting != answered {
                chat.nvim.let_time_pass();
                chat.nvim.command(command);
                answered = waiting;
            }
            (chat.nvim.events("RatTurnEnd").len() >= turns).then_some(())
        });
        self.ends(stop_reason);
    }

    /// Waits until a request for permission is on the screen with a chooser open, and gives it.
    pub(crate) fn permission(&mut self) -> Json {
        self.until("a request for permission and its chooser", |chat| {
            let waiting = chat.nvim.status()["permissions"][0].clone();
            let open = chat.filetype() == "ratselect" && chat.nvim.screen().contains("<CR> choose");
            (waiting.is_object() && open).then_some(waiting)
        })
    }

    /// Answers the request that waits with an option of that kind, in the chooser.
    pub(crate) fn answer(&mut self, kind: &str) {
        let waiting = self.permission();
        let options = waiting["options"].as_array().expect("options");
        let number = options.iter().position(|option| option["kind"] == json!(kind));
        let number = number.unwrap_or_else(|| panic!("no option {kind} in {waiting}")) + 1;
        let (id, keys) = (waiting["id"].clone(), format!("{number}<CR>"));
        self.nvim.input(&keys);
        self.until("the answer", |chat| {
            (chat.nvim.status()["permissions"][0]["id"] != id).then_some(())
        });
    }

    /// The filetype of the current buffer.
    pub(crate) fn filetype(&mut self) -> String {
        self.nvim.eval("vim.bo.filetype").as_str().unwrap_or_default().to_owned()
    }

    /// Waits for a state of the chat.
    pub(crate) fn wait_for(&mut self, state: &str) {
        self.until(&format!("the state {state}"), |chat| {
            (chat.nvim.status()["state"] == json!(state)).then_some(())
        });
    }

    /// Waits for a text in the transcript.
    pub(crate) fn wait_for_text(&mut self, text: &str) {
        self.until(&format!("{text:?}"), |chat| chat.transcript().contains(text).then_some(()));
    }

    /// Waits until `look` gives a value.
    pub(crate) fn until<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let found = poll_for(PATIENCE, || look(self));
        found.unwrap_or_else(|| {
            let (log, errors) = (self.log(), self.nvim.messages());
            self.nvim.fail(&format!("never came: {what}\n{log}\n{errors}"))
        })
    }

    /// The text of the latest transcript's buffer.
    pub(crate) fn transcript(&mut self) -> String {
        let code = r#"
            local latest
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              latest = vim.bo[buf].filetype == "rat" and buf or latest
            end
            return table.concat(vim.api.nvim_buf_get_lines(latest, 0, -1, true), "\n")"#;
        self.nvim.lua(code, json!([])).as_str().unwrap_or_default().to_owned()
    }

    /// The full path of a file of the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.nvim.cwd().join(name)
    }

    /// What is on disk.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    /// The text of a file's buffer, as lines each with an end.
    pub(crate) fn buffer(&mut self, name: &str) -> String {
        let path = self.path(name).to_string_lossy().into_owned();
        self.nvim.buffer_lines(&path).join("\n") + "\n"
    }

    /// Waits until a file's buffer has this text: what an agent writes to the disk itself arrives when it arrives.
    pub(crate) fn wait_for_buffer(&mut self, name: &str, text: &str) {
        self.until(&format!("{text:?} in {name}"), |chat| {
            (chat.buffer(name) == text).then_some(())
        });
    }

    /// The changes of files that were reported, once there are any: a turn may end before its change is seen on disk.
    pub(crate) fn file_changes(&mut self) -> Vec<Json> {
        self.until("a change of a file", |chat| {
            Some(chat.nvim.events("RatFileChanged")).filter(|changes| !changes.is_empty())
        })
    }

    /// Runs Lua with a file's buffer as the current one.
    pub(crate) fn in_buffer(&mut self, name: &str, code: &str) -> Json {
        let path = self.path(name).to_string_lossy().into_owned();
        self.nvim.lua_in(&path, code, json!([]))
    }

    /// Whether a file's buffer has unsaved changes.
    pub(crate) fn is_modified(&mut self, name: &str) -> bool {
        self.in_buffer(name, "return vim.bo.modified") == json!(true)
    }

    /// The process of the agent.
    pub(crate) fn agent_pid(&mut self) -> u32 {
        *self.agent_pids().last().expect("a started agent")
    }

    /// The processes of the agent that were started one after the other.
    pub(crate) fn agent_pids(&mut self) -> Vec<u32> {
        if let Some(server) = &self.server {
            return server.gateway.pids();
        }
        let log = self.log();
        let pids = log.split("pgid=").skip(1);
        pids.map(|rest| rest.split_whitespace().next().unwrap_or_default().parse().expect("a pid"))
            .collect()
    }

    /// The processes among which a command of the agent is.
    pub(crate) fn agent_processes(&self) -> &Processes {
        self.server.as_ref().map_or(self.nvim.processes(), |server| &server.processes)
    }

    /// Waits until nothing that we have started is left, and until a server has ended the agent.
    pub(crate) fn all_gone(&self) {
        if let Err(left) = self.nvim.processes().wait_until_gone(DEADLINE) {
            panic!("still alive:\n{left}");
        }
        for pid in self.server.iter().flat_map(|server| server.gateway.pids()) {
            assert!(Processes::is_gone(pid), "the agent is still connected");
        }
    }

    /// What the user reads when that process was killed.
    pub(crate) fn was_killed(&self) -> String {
        match self.server {
            None => format!("{} was killed by SIGKILL", self.kind.name()),
            Some(_) => format!("{} closed the connection", self.kind.name()),
        }
    }

    /// The bodies of what the agent has asked of its model, as JSON text.
    pub(crate) fn asked_of_model(&self) -> Vec<String> {
        let bodies = self.model.requests();
        bodies.iter().filter_map(|request| request.get("body")).map(Json::to_string).collect()
    }

    /// The request with which `prompt` was answered. Some agents also ask for a title of it, at any
    /// time; the longest request is the conversation.
    pub(crate) fn conversation_with(&self, prompt: &str) -> String {
        let asked = self.asked_of_model().into_iter().filter(|body| body.contains(prompt));
        asked.max_by_key(String::len).expect("the prompt reached the model")
    }

    /// The lines of the page that `:RatTrace` opens, once it is there.
    pub(crate) fn traffic(&mut self) -> Option<String> {
        let code = r#"
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.api.nvim_buf_get_name(buf):match("^rat://.*/trace$") then
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
              end
            end"#;
        self.nvim.lua(code, json!([])).as_str().map(str::to_owned)
    }

    /// What the log says.
    pub(crate) fn log(&mut self) -> String {
        let path = self.nvim.lua(r#"return require("rat.rpc").log_file()"#, json!([]));
        std::fs::read_to_string(path.as_str().unwrap_or_default()).unwrap_or_default()
    }

    /// Ends the chat and Neovim with it: nothing was unknown to us, nothing went wrong unseen, no process is left.
    pub(crate) fn finish(mut self) {
        let transcript = self.transcript();
        assert!(!transcript.contains("of unknown type"), "{transcript}");
        let log = self.log();
        assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
        assert_eq!(self.nvim.eval("vim.v.errmsg"), json!(""));
        if std::env::var_os("RAT_SHOW_SCREENS").is_some() {
            let (screen, test) = (self.nvim.screen().text(), std::thread::current());
            // Fails only where nobody reads.
            let _ =
                writeln!(std::io::stderr(), "--- {}\n{screen}\n", test.name().unwrap_or_default());
        }
    }
}
