//! A chat in Neovim with an agent that the test plays: what tests of a conversation begin with.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::agent::overlaid;
use super::{Agent, Nvim, Options, Pending, Request, text};

/// The buffer of the first chat's transcript, with an agent of the usual name.
pub const TRANSCRIPT: &str = "rat://fake/1";

/// The buffer its prompts are written in.
pub const PROMPT: &str = "rat://fake/1/prompt";

/// Neovim, an agent and the session between them.
pub struct Chat {
    /// The editor.
    pub nvim: Nvim,
    /// The agent.
    pub agent: Agent,
    /// The id of the session.
    pub session: String,
    last_prompt: Option<Request>,
}

/// How a chat is started; each setting has a default.
pub struct ChatBuilder {
    options: Options,
    nvim: Option<Nvim>,
    files: Vec<(String, Vec<u8>)>,
    settings: Json,
    agent: Json,
    arguments: Vec<String>,
    name: String,
    initialized: Json,
    opened: Json,
}

impl ChatBuilder {
    /// The size of the screen: 120x40 by default.
    #[must_use]
    pub fn screen(mut self, columns: u16, lines: u16) -> Self {
        (self.options.columns, self.options.lines) = (columns, lines);
        self
    }

    /// How Neovim is started.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// A Neovim that runs already, in place of a new one.
    #[must_use]
    pub fn neovim(mut self, nvim: Nvim) -> Self {
        self.nvim = Some(nvim);
        self
    }

    /// A file of the project.
    #[must_use]
    pub fn file(mut self, name: &str, text: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), text.into()));
        self
    }

    /// Options of the plugin, as `setup` takes them.
    #[must_use]
    pub fn setup(mut self, settings: Json) -> Self {
        self.settings = settings;
        self
    }

    /// Fields of the agent's entry in `agents`: `env`, `timeouts` ..
    #[must_use]
    pub fn agent(mut self, fields: Json) -> Self {
        self.agent = fields;
        self
    }

    /// Arguments of the agent after those that it has anyway.
    #[must_use]
    pub fn arguments(mut self, words: &[&str]) -> Self {
        self.arguments = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// The agent's name in `agents`: `fake` by default.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Fields laid over the answer to `initialize`.
    #[must_use]
    pub fn initialized(mut self, fields: Json) -> Self {
        self.initialized = fields;
        self
    }

    /// Fields laid over the answer to `session/new`.
    #[must_use]
    pub fn opened(mut self, fields: Json) -> Self {
        self.opened = fields;
        self
    }

    /// What the agent takes in prompts beside text.
    #[must_use]
    pub fn takes(self, prompt_capabilities: Json) -> Self {
        self.initialized(json!({"agentCapabilities": {"promptCapabilities": prompt_capabilities}}))
    }

    /// Configures the agent, but does not start it.
    pub fn configure(mut self) -> (Nvim, Agent) {
        let mut nvim = self.neovim_with_files();
        let agent = self.configure_in(&mut nvim);
        (nvim, agent)
    }

    /// Starts the agent with `:RatStart`; `initialize` is still to be answered.
    pub fn launch(mut self) -> (Nvim, Agent) {
        let mut nvim = self.neovim_with_files();
        let agent = self.launch_in(&mut nvim);
        (nvim, agent)
    }

    /// Starts a chat that is ready for a prompt.
    pub fn start(mut self) -> Chat {
        let mut nvim = self.neovim_with_files();
        let (agent, session) = self.start_in(&mut nvim);
        Chat { nvim, agent, session, last_prompt: None }
    }

    /// Starts a chat with this command, which names the agent, in a project that is prepared before.
    pub fn start_by(mut self, command: &str, prepare: impl FnOnce(&mut Nvim)) -> Chat {
        let mut nvim = self.neovim_with_files();
        let mut agent = self.configure_in(&mut nvim);
        prepare(&mut nvim);
        nvim.command(command);
        agent.expect_start();
        let session = agent.handshake_with(self.initialized, self.opened);
        nvim.poll_state("ready");
        Chat { nvim, agent, session, last_prompt: None }
    }

    /// Starts a chat in which the prompt `go` has been sent and not been answered.
    pub fn in_turn(self) -> Chat {
        let mut chat = self.start();
        chat.prompt("go");
        chat.nvim.poll_state("running");
        chat
    }

    /// Starts the chat in a Neovim that the test keeps. Gives the agent and the id of the session.
    pub fn start_in(self, nvim: &mut Nvim) -> (Agent, String) {
        let mut agent = self.launch_in(nvim);
        let session = agent.handshake_with(self.initialized, self.opened);
        nvim.poll_state("ready");
        (agent, session)
    }

    fn neovim_with_files(&mut self) -> Nvim {
        let options = std::mem::take(&mut self.options);
        let nvim = self.nvim.take().unwrap_or_else(|| Nvim::start(options));
        for (name, text) in &self.files {
            nvim.file(name, text);
        }
        nvim
    }

    fn configure_in(&self, nvim: &mut Nvim) -> Agent {
        let agent = nvim.listen();
        let mut settings = self.settings.clone();
        let mut config = agent.config();
        let words = self.arguments.iter().map(|word| json!(word));
        config["args"].as_array_mut().expect("arguments").extend(words);
        settings["agents"][&self.name] = overlaid(config, self.agent.clone());
        settings["default_agent"] = json!(self.name);
        nvim.setup(settings);
        agent
    }

    /// The same as [`ChatBuilder::launch`] in a Neovim that the test keeps.
    pub fn launch_in(&self, nvim: &mut Nvim) -> Agent {
        let mut agent = self.configure_in(nvim);
        nvim.command(&format!("RatStart {}", self.name));
        agent.expect_start();
        agent
    }
}

impl Chat {
    /// For a chat that is not as [`Chat::start`] and [`Chat::in_turn`] make it.
    pub fn builder() -> ChatBuilder {
        ChatBuilder {
            options: Options::wide(),
            nvim: None,
            files: Vec::new(),
            settings: json!({}),
            agent: json!({}),
            arguments: Vec::new(),
            name: "fake".to_owned(),
            initialized: json!({}),
            opened: json!({}),
        }
    }

    /// A chat that is ready for a prompt.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A chat in which a prompt has been sent and not been answered.
    pub fn in_turn() -> Self {
        Self::builder().in_turn()
    }

    /// Sends a prompt with `require("rat").send` and gives it as the agent gets it.
    pub fn prompt(&mut self, words: &str) -> Request {
        self.nvim.send(words);
        let prompt = self.expect_prompt();
        assert_eq!(prompt.params["prompt"][0], text(words));
        prompt
    }

    /// Waits for the next prompt and gives it as the agent gets it.
    pub fn expect_prompt(&mut self) -> Request {
        let prompt = self.agent.expect_request("session/prompt");
        assert_eq!(prompt.params["sessionId"], json!(self.session));
        self.last_prompt = Some(prompt.clone());
        prompt
    }

    /// Waits for the next prompt, ends its turn at once, and gives its content.
    pub fn sent(&mut self) -> Vec<Json> {
        let prompt = self.expect_prompt();
        self.end_turn("end_turn");
        self.nvim.poll_state("ready");
        prompt.params["prompt"].as_array().cloned().unwrap_or_default()
    }

    /// The prompt that came last.
    pub fn last_prompt(&self) -> Request {
        self.last_prompt.clone().expect("a prompt")
    }

    /// Ends the turn of the prompt that came last, and waits until the user is told.
    pub fn end_turn(&mut self, stop_reason: &str) {
        let ends = self.nvim.events("RatTurnEnd").len();
        self.agent.reply(&self.last_prompt(), json!({"stopReason": stop_reason}));
        self.nvim.poll_events("RatTurnEnd", ends + 1);
    }

    /// Sends a `session/update`.
    pub fn update(&mut self, update: Json) {
        self.agent.update(&self.session, update);
    }

    /// Streams a piece of the agent's message.
    pub fn say(&mut self, words: &str) {
        self.agent.say(&self.session, words);
    }

    /// Streams a piece of the agent's thoughts.
    pub fn think(&mut self, words: &str) {
        self.update(json!({"sessionUpdate": "agent_thought_chunk", "content": text(words)}));
    }

    /// Offers these commands.
    pub fn offer(&mut self, commands: &Json) {
        self.update(
            json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}),
        );
    }

    /// Announces a tool call with these fields.
    pub fn tool_call(&mut self, call: Json) {
        self.update(overlaid(json!({"sessionUpdate": "tool_call"}), call));
    }

    /// Changes these fields of a tool call.
    pub fn tool_call_update(&mut self, call: Json) {
        self.update(overlaid(json!({"sessionUpdate": "tool_call_update"}), call));
    }

    /// Sends a request about the session; [`Chat::answer`] waits for its result.
    pub fn ask(&mut self, method: &str, params: Json) -> Pending {
        self.agent.ask(method, overlaid(json!({"sessionId": self.session}), params))
    }

    /// Sends a request about the session and waits for its result, or its error object.
    pub fn request(&mut self, method: &str, params: Json) -> Result<Json, Json> {
        let pending = self.ask(method, params);
        self.agent.expect_answer(pending)
    }

    /// Waits for the result of a request.
    pub fn answer(&mut self, pending: Pending) -> Json {
        self.agent.expect_answer(pending).expect("a result")
    }

    /// Asks for permission for a tool call, and waits until the user is told.
    pub fn ask_permission(&mut self, call: Json, options: Json) -> Pending {
        let told = self.nvim.events("RatPermission").len();
        let params = json!({"toolCall": call, "options": options});
        let pending = self.ask("session/request_permission", params);
        let event = self.nvim.poll_events("RatPermission", told + 1);
        // One that has been answered may still be in the status.
        self.nvim.poll("the request in the status", |nvim| {
            let waiting = nvim.status()["permissions"].take();
            waiting.as_array().into_iter().flatten().any(|request| request["id"] == event["id"])
        });
        pending
    }

    /// The path of a file of the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.nvim.cwd().join(name)
    }

    /// The lines of the transcript.
    pub fn transcript(&mut self) -> Vec<String> {
        self.nvim.buffer_lines(TRANSCRIPT)
    }

    /// The lines of the prompt buffer.
    pub fn draft(&mut self) -> Vec<String> {
        self.nvim.buffer_lines(PROMPT)
    }

    /// Puts a line into the prompt buffer, wherever the user is.
    pub fn write_draft(&mut self, line: &str) {
        let code = "local name, line = ...
            vim.api.nvim_buf_set_lines(vim.fn.bufnr(name), 0, -1, true, { line })";
        self.nvim.lua(code, json!([PROMPT, line]));
    }

    /// Waits until the prompt buffer has these lines.
    pub fn poll_draft(&mut self, lines: &[&str]) {
        let what = format!("{lines:?} in the prompt");
        self.nvim.poll(&what, |nvim| nvim.buffer_lines(PROMPT) == lines);
    }

    /// Puts the user on the first row of the transcript after theirs that holds the text.
    pub fn go_to(&mut self, text: &str) {
        self.nvim.enter(TRANSCRIPT);
        let found = self.nvim.lua("return vim.fn.search('\\\\V' .. ..., 'w')", json!([text]));
        assert_ne!(found, json!(0), "{text} is not in the transcript");
    }
}
