//! Terminals in real Neovim: commands that run for an agent, what it is told of them, what the user sees.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod commands;
mod end;
mod flood;
mod shown;

#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending, Request};

/// A session within a turn.
struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
    prompt: Request,
}

impl Talk {
    fn start() -> Self {
        Self::start_sized(120, 40)
    }

    fn start_sized(columns: u16, lines: u16) -> Self {
        let mut nvim = Nvim::start(Options { columns, lines, ..Options::default() });
        let mut agent = nvim.start_agent();
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.send("Run the tests.");
        let prompt = agent.expect_request("session/prompt");
        Self { nvim, agent, session, prompt }
    }

    fn with_session(&self, mut params: Json) -> Json {
        params["sessionId"] = json!(self.session);
        params
    }

    /// Asks for something of terminals and waits for the answer.
    fn request(&mut self, method: &str, params: Json) -> Result<Json, Json> {
        let params = self.with_session(params);
        self.agent.request(&format!("terminal/{method}"), params)
    }

    /// Asks for something about one terminal, to wait for the answer later.
    fn ask(&mut self, method: &str, terminal: &str) -> Pending {
        let params = self.with_session(json!({"terminalId": terminal}));
        self.agent.ask(&format!("terminal/{method}"), params)
    }

    /// Runs a command and gives its terminal.
    fn create(&mut self, params: Json) -> String {
        let answer = self.request("create", params).expect("a terminal");
        answer["terminalId"].as_str().unwrap().to_owned()
    }

    /// Runs a shell script.
    fn script(&mut self, script: &str) -> String {
        self.create(json!({"command": "/bin/sh", "args": ["-c", script]}))
    }

    fn on(&mut self, method: &str, terminal: &str) -> Result<Json, Json> {
        self.request(method, json!({"terminalId": terminal}))
    }

    fn wait(&mut self, terminal: &str) -> Json {
        self.on("wait_for_exit", terminal).expect("an exit status")
    }

    fn output(&mut self, terminal: &str) -> Json {
        self.on("output", terminal).expect("the output")
    }

    /// Waits until the command has written this.
    fn poll_output(&mut self, terminal: &str, wanted: &str) {
        let what = format!("{wanted:?} in the output");
        let params = self.with_session(json!({"terminalId": terminal}));
        let agent = &mut self.agent;
        self.nvim.poll(&what, |_| {
            let output = agent.request("terminal/output", params.clone()).expect("the output");
            output["output"].as_str().unwrap().contains(wanted)
        });
    }

    /// What a command writes until it ends.
    fn run(&mut self, params: Json) -> String {
        let terminal = self.create(params);
        self.wait(&terminal);
        self.output(&terminal)["output"].as_str().unwrap().to_owned()
    }

    /// Announces a tool call that shows these terminals.
    fn show(&mut self, call: &str, title: &str, terminals: &[&str]) {
        let shown = |id: &&str| json!({"type": "terminal", "terminalId": id});
        let content: Vec<Json> = terminals.iter().map(shown).collect();
        self.agent.update(
            &self.session,
            json!({
                "sessionUpdate": "tool_call", "toolCallId": call, "kind": "execute", "title": title,
                "status": "in_progress", "content": content,
            }),
        );
    }

    /// The pid of the binary that Neovim has started.
    fn binary(&mut self) -> u32 {
        let code = "for _, channel in ipairs(vim.api.nvim_list_chans()) do
              if channel.argv and channel.argv[1] == vim.g.rat_binary then
                return vim.fn.jobpid(channel.id)
              end
            end";
        u32::try_from(self.nvim.lua(code, json!([])).as_u64().unwrap()).unwrap()
    }

    fn transcript(&mut self) -> Vec<String> {
        self.nvim.buffer_lines("rat://fake/1")
    }

    /// Waits until a line of the transcript is this one.
    fn poll_line(&mut self, line: &str) {
        self.nvim.poll(&format!("the line {line:?}"), |nvim| {
            nvim.buffer_lines("rat://fake/1").iter().any(|it| it == line)
        });
    }
}

/// The pid that a script has written first.
fn pid(output: &Json) -> u32 {
    output["output"].as_str().unwrap().lines().next().unwrap().trim().parse().unwrap()
}
