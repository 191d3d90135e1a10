//! Agents that are confined, in Neovim: what their commands may do, and what the user is told.

use serde_json::{Value as Json, json};

use crate::support::{Chat, TRANSCRIPT, TempFolder, can_confine};

/// A turn of an agent that may write to the project and to temporary folders only.
fn in_turn() -> Chat {
    Chat::builder().agent(json!({"confine": {"write": []}})).in_turn()
}

impl Chat {
    /// Starts a shell command for the agent. Gives the terminal.
    fn starts(&mut self, command: &str) -> Json {
        let params = json!({"command": "/bin/sh", "args": ["-c", command]});
        self.request("terminal/create", params).unwrap()["terminalId"].clone()
    }

    /// Runs a shell command for the agent in a terminal that a tool call shows. Gives the output.
    fn runs(&mut self, call: &str, command: &str) -> String {
        let terminal = self.starts(command);
        let content = json!([{"type": "terminal", "terminalId": terminal}]);
        let call = json!({"toolCallId": call, "kind": "execute", "title": command});
        let with = |fields: Json| {
            let mut call = call.clone();
            call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            call
        };
        self.tool_call(with(json!({"status": "in_progress", "content": content})));
        let params = json!({"terminalId": terminal});
        self.request("terminal/wait_for_exit", params.clone()).unwrap();
        let output = self.request("terminal/output", params).unwrap();
        self.tool_call_update(with(json!({"status": "completed"})));
        output["output"].as_str().unwrap().to_owned()
    }

    /// How often the transcript has this text, however it is wrapped.
    fn times(&mut self, text: &str) -> usize {
        let lines = self.nvim.buffer_lines(TRANSCRIPT);
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        words.join(" ").matches(text).count()
    }

    fn poll_text(&mut self, text: &str) {
        let words = text.to_owned();
        self.nvim.poll(&format!("the text {text:?}"), |nvim| {
            let lines = nvim.buffer_lines(TRANSCRIPT);
            let all: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
            all.join(" ").contains(&words)
        });
    }
}

/// Holds (Confinement): The commands of a confined agent in our terminals are confined like the agent.
/// Holds (Confinement): What a confined agent could not write is told once, with the option that allows it.
#[test]
fn commands_are_confined_and_denials_are_told_once() {
    if !can_confine() {
        return;
    }
    let outside = TempFolder::apart();
    let mut chat = in_turn();
    let folder = outside.path().display();
    let output = chat.runs("one", &format!("echo x > inside; echo x > {folder}/new"));
    assert!(output.contains("ermission denied"), "{output}");
    assert!(chat.path("inside").exists() && !outside.path().join("new").exists());
    let told = format!(
        "fake reports that it could not write {folder}/new: it is confined. <CR> here allows {folder} until you stop \
         the agent. To allow it for good, add it to agents.fake.confine.write."
    );
    chat.poll_text(&told);
    chat.runs("two", &format!("echo x > {folder}/other"));
    let message = "EACCES: permission denied, open '/no/such/file'";
    chat.say(&format!("{message} and '{folder}/third'\n\nEnd."));
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.let_time_pass();
    let transcript = chat.nvim.buffer_lines(TRANSCRIPT).join("\n");
    assert_eq!(chat.times("reports that it could not write"), 1, "{transcript}");
}

/// Holds (Confinement): What a confined agent could not write is told once, with the option that allows it.
#[test]
fn denials_of_commands_that_no_call_shows_are_told() {
    if !can_confine() {
        return;
    }
    let outside = TempFolder::apart();
    let mut chat = in_turn();
    let terminal = chat.starts(&format!("echo x > {}/new", outside.path().display()));
    let params = json!({"terminalId": terminal});
    chat.request("terminal/wait_for_exit", params.clone()).unwrap();
    chat.request("terminal/release", params).unwrap();
    chat.end_turn("end_turn");
    chat.poll_text("it is confined. <CR> here allows");
}

/// Holds (Confinement): `<CR>` on the note lets the agent write there, after a question: it is started again and resumes the session.
#[test]
fn one_key_lets_an_agent_write_what_it_was_kept_from() {
    if !can_confine() {
        return;
    }
    let outside = TempFolder::apart();
    let command = format!("echo x > {}/new", outside.path().display());
    let capabilities = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let chat = Chat::builder().agent(json!({"confine": {"write": []}}));
    let mut chat = chat.initialized(json!({"agentCapabilities": capabilities.clone()})).in_turn();
    chat.runs("one", &command);
    chat.poll_text("<CR> here allows");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let press = |chat: &mut Chat| {
        chat.nvim.enter(TRANSCRIPT);
        let found = chat.nvim.eval("vim.fn.search('could not write', 'w')");
        assert_ne!(found, json!(0));
        chat.nvim.input("<CR>");
        chat.nvim.poll_screen("until you stop it?");
        chat.nvim.poll_screen("1  Yes: start it again and resume the session");
    };
    press(&mut chat);
    chat.nvim.choose(2);
    chat.nvim.let_time_pass();
    chat.nvim.poll_state("ready");
    press(&mut chat);
    chat.nvim.choose(1);
    chat.agent.expect_start();
    chat.agent.initialize(json!({"agentCapabilities": capabilities}));
    let resume = chat.agent.expect_request("session/resume");
    chat.agent.reply(&resume, json!({}));
    chat.nvim.poll_state("ready");
    chat.prompt("again");
    chat.runs("two", &command);
    assert!(outside.path().join("new").exists());
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.eval("vim.fn.search('could not write', 'w')");
    chat.nvim.input("<CR>");
    chat.nvim.poll("that it may", |nvim| nvim.messages().contains("already"));
}

/// Holds (Confinement): An agent that is stopped and started may do what the options say now, in the same session.
#[test]
fn an_agent_that_is_started_again_may_do_what_the_options_say_now() {
    if !can_confine() {
        return;
    }
    let outside = TempFolder::apart();
    let command = format!("echo x > {}/new", outside.path().display());
    let mut chat = in_turn();
    chat.runs("one", &command);
    assert!(!outside.path().join("new").exists());
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    let widen = r#"
        local options = vim.deepcopy(require("rat.config").get())
        options.agents.fake.confine = { write = { ... } }
        require("rat").setup(options)
    "#;
    chat.nvim.lua(widen, json!([outside.path()]));
    chat.nvim.command("RatStop");
    chat.nvim.poll_state("stopped");
    chat.nvim.command("RatStart fake");
    chat.agent.expect_start();
    let capabilities = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    chat.agent.initialize(json!({"agentCapabilities": capabilities}));
    let resume = chat.agent.expect_request("session/resume");
    chat.agent.reply(&resume, json!({}));
    chat.nvim.poll_state("ready");
    chat.prompt("again");
    chat.runs("two", &command);
    assert!(outside.path().join("new").exists());
}

/// Holds (Confinement): `:RatInfo` says whether an agent is confined, and what it may write.
#[test]
fn the_page_about_an_agent_says_what_it_may_write() {
    if !can_confine() {
        return;
    }
    let mut chat = in_turn();
    let status = std::fs::read_to_string(format!("/proc/{}/status", chat.agent.pid())).unwrap();
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let root = chat.nvim.cwd().display().to_string();
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("confined      yes");
    chat.nvim.poll_screen(&format!("may write     {root}"));
    chat.nvim.poll_screen("may write     /tmp ");
}

#[test]
fn the_page_about_another_agent_says_that_it_is_not_confined() {
    let mut chat = Chat::start();
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("confined      no");
}

/// Holds (Confinement): An option that cannot be understood or enforced is one line, and the agent is not started.
#[test]
fn an_agent_whose_confinement_makes_no_sense_is_not_started() {
    let agent = json!({"confine": {"writ": []}});
    let (mut nvim, mut agent) = Chat::builder().agent(agent).configure();
    nvim.command("RatStart fake");
    nvim.poll_state("failed");
    let told = "fake cannot be started: agents.fake.confine.writ is not an option; there are write, hide and net";
    nvim.poll("the reason", |nvim| nvim.messages().replace('\n', " ").contains(told));
    assert_eq!(nvim.messages().matches("confine").count(), 1, "{}", nvim.messages());
    assert!(agent.unexpected().is_empty());
}

/// Holds (Confinement): An agent that options confine is not started unconfined where these options are refused.
#[test]
fn a_mistake_elsewhere_in_the_options_does_not_start_it_unconfined() {
    let (mut nvim, _agent) = Chat::builder().configure();
    let setup = r#"require("rat").setup({ dif = "tab", agents = { claude = { confine = { writ = {} } } } })"#;
    nvim.lua(setup, json!([]));
    nvim.command("RatStart claude");
    nvim.poll("the reason", |nvim| {
        nvim.messages()
            .contains("claude was not started, because setup() was refused: dif: unknown")
    });
}
