//! What agents cannot see, told with a prompt: unsaved text, and what became of the files they wrote. Exactly what is
//! sent, and that it is shown.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use std::path::PathBuf;
use support::{Agent, Nvim, Options, Request};

const UNSAVED: &str = "The user has unsaved changes in the editor, which are not on disk. \
                       From the files on disk to the text in the editor:\n\n";
const CHANGED: &str = "Since you last saw them, these files have changed:\n\n";

/// A chat in a project with `a.txt` and `sub/b.txt`, each of the lines 1 to 3.
struct Talk {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Talk {
    fn start(options: Json) -> Self {
        Self::start_as("fake", options)
    }

    fn start_as(name: &str, options: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        nvim.folder().file("project/a.txt", "1\n2\n3\n");
        nvim.folder().file("project/sub/b.txt", "1\n2\n3\n");
        let mut agent = nvim.start_agent_with(options);
        let info = json!({"agentInfo": {"name": name, "title": "Fake agent", "version": "1"}});
        let session = agent.handshake_with(info, json!({}));
        nvim.poll_state("ready");
        Self { nvim, agent, session }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.nvim.cwd().canonicalize().unwrap().join(name)
    }

    fn disk(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Changes a line of a file in its buffer, or adds one to a file that is not there, and does not save.
    fn change(&mut self, name: &str, line: usize, text: &str) {
        let code = "
            local path, line, text = ...
            local buf = vim.fn.bufadd(path)
            vim.fn.bufload(buf)
            vim.api.nvim_buf_set_lines(buf, line - 1, line, false, { text })";
        let path = self.path(name);
        self.nvim.lua(code, json!([path, line, text]));
    }

    fn save(&mut self) {
        self.nvim.command("wall");
    }

    /// Sends a prompt and gives it as the agent gets it.
    fn prompt(&mut self, text: &str) -> Request {
        self.nvim.send(text);
        self.agent.expect_request("session/prompt")
    }

    /// A turn without an event. Gives what came with its prompt.
    fn turn(&mut self, text: &str) -> Vec<Json> {
        let prompt = self.prompt(text);
        self.end(&prompt);
        with(&prompt, text)
    }

    fn end(&mut self, prompt: &Request) {
        self.agent.reply(prompt, json!({"stopReason": "end_turn"}));
        self.nvim.poll_state("ready");
    }

    fn write(&mut self, name: &str, content: &str) -> Result<Json, Json> {
        let path = self.path(name);
        let params = json!({"sessionId": self.session, "path": path, "content": content});
        self.agent.request("fs/write_text_file", params)
    }

    /// The agent writes to the disk itself, in a tool call.
    fn write_to_disk(&mut self, name: &str, content: &str) {
        let path = self.path(name);
        let call = |kind: &str, status: &str| {
            json!({"sessionUpdate": kind, "toolCallId": name, "title": "Edit", "kind": "edit",
                "status": status, "locations": [{"path": path}]})
        };
        self.agent.update(&self.session, call("tool_call", "in_progress"));
        std::fs::write(&path, content).unwrap();
        self.agent.update(&self.session, call("tool_call_update", "completed"));
    }

    /// Has a file open and unmodified hold this text.
    fn poll_text(&mut self, name: &str, text: &str) {
        let path = self.path(name);
        let lines: Vec<&str> = text.lines().collect();
        self.nvim.poll(&format!("{text:?} in {name}"), |nvim| {
            nvim.buffer_lines(path.to_str().unwrap()) == lines
        });
    }

    /// A file with unsaved text is told of with a prompt, and the agent then reads it through us.
    fn read_in_a_turn(&mut self) {
        self.change("a.txt", 2, "two");
        let prompt = self.prompt("go");
        assert_eq!(with(&prompt, "go").len(), 1);
        let read = json!({"sessionId": self.session, "path": self.path("a.txt")});
        let seen = self.agent.request("fs/read_text_file", read);
        assert_eq!(seen, Ok(json!({"content": "1\ntwo\n3\n"})));
        self.end(&prompt);
    }

    fn draft(&mut self) -> Vec<String> {
        self.nvim.buffer_lines("rat://fake/1/prompt")
    }
}

/// What came with a prompt beside its words.
fn with(prompt: &Request, words: &str) -> Vec<Json> {
    let blocks = prompt.params["prompt"].as_array().unwrap();
    assert_eq!(blocks[0], text(words));
    blocks[1..].to_vec()
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn diff(name: &str, line: usize, new: &str) -> String {
    let lines: String = (1..=3)
        .map(|i| if i == line { format!("-{i}\n+{new}\n") } else { format!(" {i}\n") })
        .collect();
    format!("--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n{lines}")
}

#[test]
fn a_prompt_carries_a_diff_of_what_is_not_saved() {
    let mut talk = Talk::start(json!({}));
    assert_eq!(talk.turn("nothing yet"), [] as [Json; 0]);
    talk.change("a.txt", 2, "two");
    talk.change("sub/b.txt", 3, "three");
    talk.change("new.txt", 1, "new");
    talk.nvim.folder().file("elsewhere.txt", "1\n");
    talk.change("../elsewhere.txt", 1, "not the agent's");
    let new = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+new\n";
    let note = [UNSAVED, &diff("a.txt", 2, "two"), new, &diff("sub/b.txt", 3, "three")].concat();
    assert_eq!(sorted(talk.turn("go")), sorted(vec![text(&note)]));
    talk.nvim.poll_screen("unsaved changes of 3 files");
    // As long as it is not saved it is told with each prompt, as it is then.
    talk.change("a.txt", 2, "2");
    talk.nvim.command("silent! bwipeout! new.txt");
    talk.change("sub/b.txt", 3, "III");
    let note = [UNSAVED, &diff("sub/b.txt", 3, "III")].concat();
    assert_eq!(talk.turn("again"), [text(&note)]);
    talk.nvim.poll_screen("unsaved changes of 1 file");
    talk.save();
    assert_eq!(talk.turn("saved"), [] as [Json; 0]);
}

/// The same with the diffs of a note in the order of their first lines: buffers have an order of their own.
fn sorted(blocks: Vec<Json>) -> Vec<Vec<String>> {
    let lines = |block: &Json| {
        let text = block["text"].as_str().unwrap();
        let mut files: Vec<String> = text.split("--- ").map(str::to_owned).collect();
        files.sort();
        files
    };
    blocks.iter().map(lines).collect()
}

#[test]
fn a_note_has_at_most_16_kib_and_names_what_has_no_room() {
    let mut talk = Talk::start(json!({}));
    talk.change("a.txt", 2, "long");
    let code = "
        local buf = vim.fn.bufadd(...)
        vim.fn.bufload(buf)
        local lines = {}
        for i = 1, 4000 do lines[i] = 'line ' .. i end
        vim.api.nvim_buf_set_lines(buf, 0, 0, false, lines)";
    let path = talk.path("sub/b.txt");
    talk.nvim.lua(code, json!([path]));
    let blocks = talk.turn("go");
    let note = blocks[0]["text"].as_str().unwrap();
    assert!(note.len() <= 16 * 1024, "{}", note.len());
    assert!(note.contains(&diff("a.txt", 2, "long")), "{note}");
    assert!(note.ends_with("sub/b.txt: +4000 -0 lines, not shown\n"), "{note}");
}

#[test]
fn whole_texts_are_embedded_where_the_agent_takes_them() {
    let mut talk = Talk::start(json!({"unsaved": "embed"}));
    talk.change("a.txt", 2, "two");
    let words = "The user has unsaved changes in the editor, which are not on disk. \
                 The text of these files as it is in the editor:";
    let uri = format!("file://{}", talk.path("a.txt").display());
    let resource = json!({"uri": uri, "text": "1\ntwo\n3\n"});
    let resource = json!({"type": "resource", "resource": resource});
    assert_eq!(talk.turn("go"), [text(words), resource]);
    talk.nvim.poll_screen("unsaved text of 1 file");
}

#[test]
fn buffers_are_saved_first_and_one_that_fails_goes_as_a_note() {
    let mut talk = Talk::start(json!({"unsaved": "save"}));
    talk.change("a.txt", 2, "two");
    talk.change("sub/b.txt", 3, "three");
    let code = r#"
        vim.api.nvim_create_autocmd("BufWritePre", { pattern = "*/a.txt", callback = function()
          vim.api.nvim_buf_set_lines(0, 0, 0, false, { "formatted" })
        end })
        vim.api.nvim_create_autocmd("BufWritePre", { pattern = "*/b.txt", callback = function()
          error("no writing today")
        end })"#;
    talk.nvim.lua(code, json!([]));
    let note = [UNSAVED, &diff("sub/b.txt", 3, "three")].concat();
    assert_eq!(talk.turn("go"), [text(&note)]);
    assert_eq!(talk.disk("a.txt"), "formatted\n1\ntwo\n3\n");
    assert_eq!(talk.disk("sub/b.txt"), "1\n2\n3\n");
    talk.nvim.poll("a notice", |nvim| {
        let messages = nvim.messages();
        messages.contains("sub/b.txt was not saved") && messages.contains("no writing today")
    });
}

#[test]
fn a_file_that_changed_on_disk_is_not_overwritten_by_saving_first() {
    let mut talk = Talk::start(json!({"unsaved": "save"}));
    talk.change("a.txt", 2, "two");
    std::fs::write(talk.path("a.txt"), "1\n2\n3\nsomebody else's\n").unwrap();
    let blocks = talk.turn("go");
    assert!(blocks[0]["text"].as_str().unwrap().starts_with(UNSAVED));
    assert_eq!(talk.disk("a.txt"), "1\n2\n3\nsomebody else's\n");
    talk.nvim.poll("a notice", |nvim| nvim.messages().contains("the file has changed on disk"));
}

#[test]
fn the_user_is_asked_and_each_answer_is_followed() {
    let mut talk = Talk::start(json!({"unsaved": "ask"}));
    talk.change("a.txt", 2, "two");
    talk.change("sub/b.txt", 3, "three");
    talk.nvim.send("tell");
    talk.nvim.poll_screen("2 files have unsaved changes");
    talk.nvim.poll_state("waiting");
    assert!(talk.agent.unexpected().is_empty());
    // What is told is how it is when it is told.
    talk.change("sub/b.txt", 3, "3");
    talk.nvim.choose(1);
    let prompt = talk.agent.expect_request("session/prompt");
    let note = [UNSAVED, &diff("a.txt", 2, "two")].concat();
    assert_eq!(with(&prompt, "tell"), [text(&note)]);
    talk.end(&prompt);

    talk.nvim.send("without");
    talk.nvim.poll_screen("1 file has unsaved changes");
    talk.nvim.choose(3);
    let prompt = talk.agent.expect_request("session/prompt");
    assert_eq!(with(&prompt, "without"), [] as [Json; 0]);
    talk.end(&prompt);

    talk.nvim.send("not at all");
    talk.nvim.poll_screen("1 file has unsaved changes");
    talk.nvim.dismiss();
    talk.nvim.poll_state("ready");
    assert_eq!(talk.draft(), ["not at all"]);

    talk.nvim.send("save");
    talk.nvim.poll_screen("1 file has unsaved changes");
    talk.nvim.choose(2);
    let prompt = talk.agent.expect_request("session/prompt");
    assert_eq!(with(&prompt, "save"), [] as [Json; 0]);
    assert_eq!(talk.disk("a.txt"), "1\ntwo\n3\n");
}

#[test]
fn nothing_goes_along_where_that_is_chosen() {
    let mut talk = Talk::start(json!({"unsaved": "ignore"}));
    talk.change("a.txt", 2, "two");
    let prompt = talk.prompt("go");
    assert_eq!(with(&prompt, "go"), [] as [Json; 0]);
    talk.write("sub/b.txt", "agent\n").unwrap();
    talk.end(&prompt);
    talk.change("sub/b.txt", 1, "user");
    talk.save();
    assert_eq!(talk.turn("again"), [] as [Json; 0]);
}

#[test]
fn an_agent_that_reads_through_us_is_told_nothing_it_can_see() {
    let mut talk = Talk::start(json!({}));
    talk.read_in_a_turn();
    assert_eq!(talk.turn("again"), [] as [Json; 0]);
}

/// Gemini's edits read through us right before they write; what its model reads is the disk's.
#[test]
fn an_agent_whose_edits_alone_read_through_us_is_told() {
    let mut talk = Talk::start_as("gemini-cli", json!({}));
    talk.read_in_a_turn();
    let note = [UNSAVED, &diff("a.txt", 2, "two")].concat();
    assert_eq!(talk.turn("again"), [text(&note)]);
}

#[test]
fn a_cancel_before_the_note_is_there_gives_the_prompt_back() {
    let mut talk = Talk::start(json!({"unsaved": "save"}));
    talk.change("a.txt", 2, "two");
    // A formatter that takes its time keeps the prompt waiting, and nothing else.
    let code = r#"
        vim.api.nvim_create_autocmd("BufWritePre", { callback = function()
          vim.g.saving = true
          vim.wait(10000, function() return vim.g.go end, 5)
        end })"#;
    talk.nvim.lua(code, json!([]));
    talk.nvim.send("go");
    talk.nvim.send("next");
    talk.nvim.poll("the save", |nvim| nvim.lua("return vim.g.saving", json!([])) == json!(true));
    // Nothing is drawn on the screen while it saves; the buffers are up to date.
    talk.nvim.poll("a queue", |nvim| nvim.status()["queued"] == json!(["next"]));
    talk.nvim.poll("the prompt to be shown", |nvim| {
        nvim.buffer_lines("rat://fake/1").contains(&"go".to_owned())
    });
    talk.nvim.command("RatCancel");
    talk.nvim.poll_state("ready");
    talk.nvim.poll("the prompt back", |nvim| nvim.buffer_lines("rat://fake/1/prompt") == ["go"]);
    talk.nvim.lua("vim.g.go = true", json!([]));
    talk.nvim.poll("the end of the save", |nvim| {
        nvim.lua("return vim.bo[vim.fn.bufnr('a.txt')].modified", json!([])) == json!(false)
    });
    assert!(talk.agent.unexpected().is_empty(), "neither a prompt nor a cancel for the agent");
    talk.nvim.lua("require('rat.rpc').notify('queue_go', { chat = 1 })", json!([]));
    let prompt = talk.agent.expect_request("session/prompt");
    assert_eq!(with(&prompt, "next"), [] as [Json; 0]);
}

#[test]
fn a_text_that_cannot_be_had_does_not_hold_the_prompt() {
    let mut talk = Talk::start(json!({}));
    talk.change("a.txt", 2, "two");
    talk.change("sub/b.txt", 3, "three");
    let code = r#"
        local buffers = require("rat.buffers")
        local slices = buffers.slices
        buffers.slices = function(buf, ...)
          assert(not vim.api.nvim_buf_get_name(buf):match("b.txt$"), "not this one")
          return slices(buf, ...)
        end"#;
    talk.nvim.lua(code, json!([]));
    let note = [UNSAVED, &diff("a.txt", 2, "two")].concat();
    assert_eq!(talk.turn("go"), [text(&note)]);
}

#[test]
fn a_neovim_that_waits_for_a_key_does_not_hold_the_prompt() {
    let mut talk = Talk::start(json!({}));
    talk.change("a.txt", 2, "two");
    talk.nvim.command("wincmd t");
    talk.nvim.command("nnoremap X <Cmd>lua require('rat').send('go')<CR>r");
    talk.nvim.input("X");
    talk.nvim.poll("a pending r", Nvim::mode_is_blocked);
    let prompt = talk.agent.expect_request("session/prompt");
    assert_eq!(with(&prompt, "go"), [] as [Json; 0]);
    talk.nvim.input("<Esc>");
    talk.end(&prompt);
}

#[test]
fn what_others_make_of_its_work_is_told_once() {
    let mut talk = Talk::start(json!({}));
    let prompt = talk.prompt("go");
    talk.write("a.txt", "1\n2\n3\n4\n").unwrap();
    talk.write("sub/b.txt", "agent\n").unwrap();
    // The user's change while the agent works, saved.
    talk.change("a.txt", 1, "user");
    talk.save();
    talk.end(&prompt);
    let changed = "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-1\n+user\n 2\n 3\n 4\n";
    assert_eq!(talk.turn("again"), [text(&[CHANGED, changed].concat())]);
    talk.nvim.poll_screen("changes of 1 file that the agent has not seen");
    assert_eq!(talk.turn("and again"), [] as [Json; 0]);
}

#[test]
fn a_change_is_told_again_if_the_prompt_was_not_taken() {
    let mut talk = Talk::start(json!({}));
    let prompt = talk.prompt("go");
    talk.write("a.txt", "agent\n").unwrap();
    talk.end(&prompt);
    talk.change("a.txt", 1, "user");
    talk.save();
    let prompt = talk.prompt("again");
    let note = with(&prompt, "again");
    assert_eq!(note.len(), 1);
    talk.agent.reply_error(&prompt, -32603, "no");
    talk.nvim.poll_state("ready");
    assert_eq!(talk.turn("once more"), note);
    assert_eq!(talk.turn("enough"), [] as [Json; 0]);
}

#[test]
fn being_told_does_not_move_what_its_writes_refer_to() {
    let mut talk = Talk::start(json!({}));
    let prompt = talk.prompt("go");
    talk.write("a.txt", "1\n2\n3\n4\n5\n6\n").unwrap();
    talk.end(&prompt);
    talk.change("a.txt", 1, "user");
    talk.save();
    let prompt = talk.prompt("again");
    assert_eq!(with(&prompt, "again").len(), 1);
    // Made from what it wrote, not from what it was told: the user's line stays.
    talk.write("a.txt", "1\n2\n3\n4\n5\nsix\n").unwrap();
    assert_eq!(talk.disk("a.txt"), "user\n2\n3\n4\n5\nsix\n");
}

#[test]
fn what_it_wrote_to_the_disk_itself_is_not_told_back() {
    let mut talk = Talk::start(json!({}));
    talk.change("a.txt", 1, "1");
    talk.save();
    let prompt = talk.prompt("go");
    talk.write_to_disk("a.txt", "1\ntwo\n3\n");
    talk.poll_text("a.txt", "1\ntwo\n3\n");
    talk.write_to_disk("sub/b.txt", "agent\n");
    // A command of the agent, which names no file, right before the end.
    std::fs::write(talk.path("sub/b.txt"), "agent, formatted\n").unwrap();
    talk.end(&prompt);
    assert_eq!(talk.turn("again"), [] as [Json; 0]);
    talk.change("a.txt", 3, "user");
    talk.save();
    let changed = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n two\n-3\n+user\n";
    assert_eq!(talk.turn("changed"), [text(&[CHANGED, changed].concat())]);
}

#[test]
fn a_write_to_unsaved_text_saves_it_where_that_is_chosen() {
    let mut talk = Talk::start(json!({"write_dirty": "save", "unsaved": "ignore"}));
    let prompt = talk.prompt("go");
    talk.change("a.txt", 1, "user");
    talk.write("a.txt", "1\n2\nthree\n").unwrap();
    assert_eq!(talk.disk("a.txt"), "user\n2\nthree\n");
    talk.nvim.poll("a notice", |nvim| {
        nvim.messages().contains("a.txt was saved with your unsaved changes")
    });
    talk.end(&prompt);
}

#[test]
fn a_write_that_needs_unsaved_text_saved_asks_where_that_is_chosen() {
    let mut talk = Talk::start(json!({"write_dirty": "ask", "unsaved": "ignore"}));
    talk.prompt("go");
    talk.change("a.txt", 1, "user");
    let path = talk.path("a.txt");
    let read = json!({"sessionId": talk.session, "path": path});
    talk.agent.request("fs/read_text_file", read).unwrap();
    // Apart from the user's text nobody is asked.
    talk.write("a.txt", "user\n2\nthree\n").unwrap();
    assert_eq!(talk.disk("a.txt"), "1\n2\nthree\n");
    let ask = |talk: &mut Talk, content: &str| {
        let params = json!({"sessionId": talk.session, "path": path, "content": content});
        let pending = talk.agent.ask("fs/write_text_file", params);
        talk.nvim.poll_screen("Fake agent edits your unsaved changes of");
        talk.nvim.poll_state("waiting");
        assert!(!talk.agent.is_answered(pending));
        pending
    };
    let pending = ask(&mut talk, "user and agent\n2\nthree\n");
    talk.nvim.choose(2);
    let error = talk.agent.expect_answer(pending).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("does not want the unsaved changes"));
    assert_eq!(talk.disk("a.txt"), "1\n2\nthree\n");
    talk.nvim.poll_state("running");
    let pending = ask(&mut talk, "user and agent\n2\nthree\n");
    talk.nvim.choose(1);
    talk.agent.expect_answer(pending).unwrap();
    assert_eq!(talk.disk("a.txt"), "user and agent\n2\nthree\n");
    talk.change("a.txt", 1, "mine");
    let read = json!({"sessionId": talk.session, "path": path});
    talk.agent.request("fs/read_text_file", read).unwrap();
    let pending = ask(&mut talk, "mine and yours\n2\nthree\n");
    talk.nvim.command("RatCancel");
    assert_eq!(talk.agent.expect_answer(pending).unwrap_err()["code"], json!(-32800));
    talk.nvim.poll("no question", |nvim| !nvim.screen().contains("edits your unsaved"));
    assert_eq!(talk.disk("a.txt"), "user and agent\n2\nthree\n");
}
