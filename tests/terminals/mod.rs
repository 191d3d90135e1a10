//! Terminals in real Neovim: commands that run for an agent, what it is told of them, what the user sees.

mod commands;
mod end;
mod flood;
mod pages;
mod shown;

use crate::support::{Chat, Pending, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// What tests of terminals do with a chat.
impl Chat {
    /// Asks for something about one terminal, to wait for the answer later.
    fn ask_terminal(&mut self, method: &str, terminal: &str) -> Pending {
        self.ask(&format!("terminal/{method}"), json!({"terminalId": terminal}))
    }

    /// Runs a command and gives its terminal.
    fn create(&mut self, params: Json) -> String {
        let answer = self.request("terminal/create", params).expect("a terminal");
        answer["terminalId"].as_str().unwrap().to_owned()
    }

    /// Runs a shell script.
    fn script(&mut self, script: &str) -> String {
        self.create(json!({"command": "/bin/sh", "args": ["-c", script]}))
    }

    fn on_terminal(&mut self, method: &str, terminal: &str) -> Result<Json, Json> {
        self.request(&format!("terminal/{method}"), json!({"terminalId": terminal}))
    }

    fn wait_for_exit(&mut self, terminal: &str) -> Json {
        self.on_terminal("wait_for_exit", terminal).expect("an exit status")
    }

    fn output(&mut self, terminal: &str) -> Json {
        self.on_terminal("output", terminal).expect("the output")
    }

    /// Waits until the command has written this.
    fn poll_output(&mut self, terminal: &str, wanted: &str) {
        let what = format!("{wanted:?} in the output");
        let params = json!({"sessionId": self.session, "terminalId": terminal});
        let agent = &mut self.agent;
        self.nvim.poll(&what, |_| {
            let output = agent.request("terminal/output", params.clone()).expect("the output");
            output["output"].as_str().unwrap().contains(wanted)
        });
    }

    /// What a command writes until it ends.
    fn run(&mut self, params: Json) -> String {
        let terminal = self.create(params);
        self.wait_for_exit(&terminal);
        self.output(&terminal)["output"].as_str().unwrap().to_owned()
    }

    /// Announces a tool call that shows these terminals.
    fn show(&mut self, call: &str, title: &str, terminals: &[&str]) {
        let shown = |id: &&str| json!({"type": "terminal", "terminalId": id});
        let content: Vec<Json> = terminals.iter().map(shown).collect();
        self.tool_call(json!({
            "toolCallId": call, "kind": "execute", "title": title, "status": "in_progress",
            "content": content,
        }));
    }

    /// Waits until a line of the transcript is this one; in a card its frame and sign are drawn over blanks.
    fn poll_line(&mut self, line: &str) {
        let wanted = [line.to_owned(), format!("    {line}"), format!("      {line}")];
        self.nvim.poll(&format!("the line {line:?}"), |nvim| {
            nvim.buffer_lines(TRANSCRIPT).iter().any(|it| wanted.contains(it))
        });
    }
}

/// The pid that a script has written first.
fn pid(output: &Json) -> u32 {
    output["output"].as_str().unwrap().lines().next().unwrap().trim().parse().unwrap()
}
