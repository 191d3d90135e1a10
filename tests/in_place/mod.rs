//! `:RatEdit` in real Neovim: an agent changes lines in place, while the user goes on in the same file and elsewhere.

mod ends;

use std::fs;

use crate::support::{Agent, Chat, ChatBuilder, Nvim, Request, TempFolder, text};
use serde_json::{Value as Json, json};

const FILE: &str = "use std::fs;\n\nmod a {\n    fn read() {\n        fs::read()\n    }\n}\n";

/// Lines 4 to 6 of the file, and what an agent answers.
const ANSWER: &str =
    "Here:\n\n```rust\n    async fn read() {\n        fs::read().await\n    }\n```\n";
const CHANGED: [&str; 3] = ["    async fn read() {", "        fs::read().await", "    }"];

/// Neovim in a file, and an agent that plays the sessions behind the changes.
struct Desk {
    nvim: Nvim,
    agent: Agent,
}

/// A request for a change as the agent has got it.
struct Asked {
    session: String,
    prompt: Request,
}

fn builder() -> ChatBuilder {
    Chat::builder().file("a.rs", FILE)
}

impl Desk {
    fn new() -> Self {
        Self::of(builder())
    }

    fn of(builder: ChatBuilder) -> Self {
        let (mut nvim, agent) = builder.configure();
        nvim.command("edit a.rs");
        Self { nvim, agent }
    }

    /// Asks for a change of lines 4 to 6 in the first session of the agent.
    fn asked() -> (Self, Asked) {
        let mut desk = Self::new();
        desk.nvim.command("4,6RatEdit make it async");
        desk.agent.expect_start();
        let session = desk.agent.handshake();
        let asked = desk.expect(session);
        (desk, asked)
    }

    fn expect(&mut self, session: String) -> Asked {
        let prompt = self.agent.expect_request("session/prompt");
        assert_eq!(prompt.params["sessionId"], json!(session));
        Asked { session, prompt }
    }

    /// Waits for another session, and for what is asked in it.
    fn expect_in(&mut self, session: &str) -> Asked {
        self.agent.open(session);
        self.expect(session.to_owned())
    }

    fn answer(&mut self, asked: &Asked, words: &str) {
        self.agent.say(&asked.session, words);
        self.agent.reply(&asked.prompt, json!({"stopReason": "end_turn"}));
    }

    fn lines(&mut self) -> Vec<String> {
        let lines = self.nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)", json!([]));
        serde_json::from_value(lines).unwrap()
    }

    fn poll_line(&mut self, number: usize, wanted: &str) {
        self.nvim.poll(wanted, |nvim| vim(nvim, &format!("getline({number})")) == json!(wanted));
    }

    /// Waits until nothing is shown beside lines.
    fn poll_quiet(&mut self) {
        self.nvim.poll("no words beside lines", |nvim| words(nvim).is_empty());
    }

    fn poll_words(&mut self, wanted: &str) {
        self.nvim.poll(wanted, |nvim| words(nvim).iter().any(|words| words.contains(wanted)));
    }

    fn poll_message(&mut self, wanted: &str) {
        self.nvim.poll(wanted, |nvim| nvim.messages().contains(wanted));
    }

    fn poll_pending(&mut self, count: usize) {
        self.nvim
            .poll("pending hunks", |nvim| vim(nvim, "get(b:, 'rat_pending', 0)") == json!(count));
    }

    fn disk(&self) -> String {
        fs::read_to_string(self.nvim.cwd().join("a.rs")).unwrap()
    }
}

/// The value of a Vim expression.
fn vim(nvim: &mut Nvim, expression: &str) -> Json {
    nvim.lua("return vim.fn.eval(...)", json!([expression]))
}

/// What is shown beside lines of the current buffer, with their numbers.
fn words(nvim: &mut Nvim) -> Vec<String> {
    let code = "
        local namespace = vim.api.nvim_create_namespace('rat_in_place')
        local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
        return vim.iter(marks):map(function(mark)
            local words = mark[4].virt_text
            return words and (mark[2] + 1) .. words[1][1] or nil
        end):totable()";
    serde_json::from_value(nvim.lua(code, json!([]))).unwrap_or_default()
}

/// Holds (In place): An answer replaces the lines it was asked for as a pending change, without a window and in a session of its own.
#[test]
fn an_answer_replaces_the_lines() {
    let (mut desk, asked) = Desk::asked();
    let windows = vim(&mut desk.nvim, "winnr('$')");
    desk.poll_words("4  Fake agent: ");
    desk.answer(&asked, ANSWER);
    desk.poll_line(4, CHANGED[0]);
    assert_eq!(desk.lines()[3..6], CHANGED);
    desk.poll_quiet();
    desk.poll_pending(1);
    assert_eq!(vim(&mut desk.nvim, "[winnr('$'), &modified]"), json!([windows, 0]));
    assert!(desk.disk().contains(CHANGED[1]), "the buffer had no unsaved changes");
    desk.nvim.command("4RatReject");
    desk.poll_line(4, "    fn read() {");
    assert_eq!(desk.disk(), FILE);
}

/// Holds (In place): The agent gets the words of the user, the lines as they are in the editor, and what they are part of.
#[test]
fn the_agent_gets_the_lines_and_their_surroundings() {
    let mut desk = Desk::new();
    desk.nvim.command("call setline(4, '    fn read_all() {')");
    desk.nvim.command("4,6RatEdit make it async");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let asked = desk.expect(session);
    let sent = asked.prompt.params["prompt"].as_array().cloned().unwrap();
    assert_eq!(sent[0], text("make it async"));
    let request = sent[1]["text"].as_str().unwrap();
    assert!(request.contains("a.rs:4-6"), "{request}");
    let lines = "```\n    fn read_all() {\n        fs::read()\n    }\n```";
    assert!(request.contains(lines), "{request}");
    let whole = FILE.replace("read()  {", "read_all() {").replacen("fn read()", "fn read_all()", 1);
    let uri = sent[2]["resource"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("a.rs#L1-7"), "{uri}");
    assert_eq!(sent[2]["resource"]["text"], json!(whole));
    assert_eq!(sent.len(), 3, "the unsaved text goes along once");
}

/// Holds (In place): What the user types meanwhile stays, saved or not, and is not saved with the change.
#[test]
fn the_user_goes_on_in_the_same_file() {
    let (mut desk, asked) = Desk::asked();
    desk.nvim.input("ggOuse std::io;<Esc>");
    desk.poll_words("5  Fake agent");
    desk.nvim.input("Gofn typed() {");
    desk.answer(&asked, ANSWER);
    desk.poll_line(5, CHANGED[0]);
    desk.nvim.input("}<Esc>");
    desk.poll_quiet();
    let lines = desk.lines();
    assert_eq!(
        (lines[0].as_str(), &lines[4..7]),
        ("use std::io;", &CHANGED.map(str::to_owned)[..])
    );
    assert_eq!(lines.last().unwrap(), "fn typed() {}");
    assert_eq!(vim(&mut desk.nvim, "&modified"), json!(1));
    assert!(!desk.disk().contains("io"), "what the user typed is not saved");
}

/// Holds (In place): A change of lines that are not saved leaves them unsaved.
#[test]
fn unsaved_lines_stay_unsaved() {
    let mut desk = Desk::new();
    desk.nvim.command("call setline(4, '    fn read_all() {')");
    desk.nvim.command("4,6RatEdit make it async");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let asked = desk.expect(session);
    desk.answer(&asked, ANSWER);
    desk.poll_line(4, CHANGED[0]);
    desk.poll_quiet();
    assert_eq!((vim(&mut desk.nvim, "&modified"), desk.disk().as_str()), (json!(1), FILE));
    desk.nvim.input("u");
    desk.poll_line(4, "    fn read_all() {");
    assert_eq!(desk.lines()[4], "        fs::read()", "one step undoes it");
}

/// Holds (In place): Several changes run at once, in one file and in several, each in its session.
#[test]
fn several_changes_run_at_once() {
    let mut desk = Desk::of(builder().file("b.rs", "fn b() {}\n"));
    desk.nvim.command("4,6RatEdit make it async");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let first = desk.expect(session);
    desk.nvim.command("1RatEdit import io, too");
    let second = desk.expect_in("s2");
    desk.nvim.command("edit b.rs | RatEdit rename it");
    let third = desk.expect_in("s3");
    desk.nvim.command("edit a.rs");
    desk.answer(&third, "```\nfn c() {}\n```");
    desk.poll_message("Fake agent has changed b.rs in place");
    let other = fs::read_to_string(desk.nvim.cwd().join("b.rs")).unwrap();
    assert_eq!(other, "fn c() {}\n");
    desk.answer(&second, "```\nuse std::fs;\nuse std::io;\n```");
    desk.poll_line(2, "use std::io;");
    desk.answer(&first, ANSWER);
    desk.poll_line(5, CHANGED[0]);
    desk.poll_pending(2);
    desk.poll_quiet();
}

/// Holds (In place): Where something of a change is pending, `:RatEdit` asks again in the same session, with the words of last time.
#[test]
fn a_change_is_asked_for_again() {
    let (mut desk, asked) = Desk::asked();
    desk.answer(&asked, ANSWER);
    desk.poll_pending(1);
    desk.poll_quiet();
    desk.nvim.command("5 | RatEdit");
    desk.nvim.poll_screen("Change these 3 lines");
    desk.nvim.input(" and public<C-s>");
    let again = desk.expect(asked.session.clone());
    assert_eq!(again.prompt.params["prompt"][0], text("make it async and public"));
    let request = again.prompt.params["prompt"][1]["text"].as_str().unwrap().to_owned();
    assert!(request.contains("a.rs:4-6") && request.contains(CHANGED[1]), "{request}");
    desk.answer(&again, "```\n    pub async fn read() {\n        fs::read().await\n    }\n```");
    desk.poll_line(4, "    pub async fn read() {");
    desk.poll_quiet();
    desk.nvim.command("4RatReject");
    desk.poll_line(4, "    fn read() {");
    assert_eq!(desk.disk(), FILE, "both answers are gone");
}

/// Holds (In place): What an agent changes with its tools is all that is changed, whatever its answer shows.
#[test]
fn an_agent_may_use_its_tools() {
    let (mut desk, asked) = Desk::asked();
    let path = desk.nvim.cwd().join("a.rs");
    let content = FILE.replace("read()", "scan()");
    let params = json!({"sessionId": asked.session, "path": path, "content": content});
    desk.agent.request("fs/write_text_file", params).unwrap();
    desk.answer(&asked, ANSWER);
    desk.poll_quiet();
    desk.poll_pending(1);
    assert_eq!(desk.lines().join("\n") + "\n", content);
}

/// Holds (In place): Code without the indentation of its lines gets it.
#[test]
fn code_is_indented_like_its_lines() {
    let (mut desk, asked) = Desk::asked();
    desk.answer(&asked, "~~~~\nasync fn read() {\n    fs::read().await\n}\n~~~~");
    desk.poll_line(4, CHANGED[0]);
    assert_eq!(desk.lines()[3..6], CHANGED);
}

/// Holds (In place): A chat behind a change is not the one that commands act on, and does not keep the user's text.
#[test]
fn a_change_leaves_the_current_chat_alone() {
    let mut chat = builder().start();
    chat.write_draft("half a prompt");
    chat.nvim.command("wincmd t | edit a.rs");
    chat.nvim.command("4,6RatEdit make it async");
    chat.agent.open("s2");
    let prompt = chat.agent.expect_request("session/prompt");
    assert_eq!(prompt.params["sessionId"], json!("s2"));
    chat.prompt("and you?");
    assert_eq!(chat.draft(), ["half a prompt"]);
    chat.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    chat.nvim.poll("an answer without code", |nvim| nvim.messages().contains("has no code"));
    assert!(!chat.nvim.messages().contains("has finished"), "it is told beside the lines");
}

/// Holds (In place): Who has looked at the conversation about a change comes back to their chat by `:RatStart`, and prompts go there.
#[test]
fn a_conversation_about_a_change_is_not_the_chat_of_its_agent() {
    let mut chat = builder().start();
    chat.nvim.command("wincmd t | edit a.rs");
    chat.nvim.command("4,6RatEdit make it async");
    chat.agent.open("s2");
    let prompt = chat.agent.expect_request("session/prompt");
    chat.agent.say("s2", ANSWER);
    chat.agent.reply(&prompt, json!({"stopReason": "end_turn"}));
    chat.nvim.poll("the change", |nvim| nvim.eval("vim.b.rat_pending") == json!(1));
    chat.nvim.command("4 | RatToggle");
    chat.nvim.poll_screen("make it async");
    chat.nvim.enter("rat://fake/2/prompt");
    chat.nvim.input("iwhy?<Esc><CR>");
    let why = chat.agent.expect_request("session/prompt");
    assert_eq!(why.params["sessionId"], json!("s2"));
    chat.agent.reply(&why, json!({"stopReason": "end_turn"}));
    chat.nvim.command("RatToggle");
    chat.nvim.poll_no("make it async");
    chat.nvim.command("RatStart fake");
    // Once that is answered, so is the command before.
    chat.nvim.command("RatInfo");
    chat.nvim.poll_screen("protocol");
    assert_eq!(chat.nvim.eval("(require('rat.view.window').visible() or {}).id"), json!(1));
    chat.prompt("and you?");
}

/// Holds (In place): `review = "before"` asks before a change is made.
#[test]
fn a_change_may_be_reviewed_before() {
    let mut desk = Desk::of(builder().setup(json!({"review": "before"})));
    desk.nvim.command("4,6RatEdit make it async");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let asked = desk.expect(session);
    desk.answer(&asked, ANSWER);
    desk.poll_words("waiting for you");
    assert_eq!(desk.disk(), FILE);
    desk.nvim.command("RatAllow");
    desk.poll_line(4, CHANGED[0]);
    desk.poll_quiet();
}

/// Holds (In place): A change is undone with its turn.
#[test]
fn a_change_is_undone_with_its_turn() {
    let (mut desk, asked) = Desk::asked();
    desk.answer(&asked, ANSWER);
    desk.poll_line(4, CHANGED[0]);
    desk.poll_quiet();
    desk.nvim.command("4 | RatUndo");
    desk.nvim.poll_screen("Undo \"make it async\"?");
    desk.nvim.input("1<CR>");
    desk.poll_message("Undid the turn");
    desk.poll_line(4, "    fn read() {");
    assert_eq!(desk.disk(), FILE);
}

/// The maps open the same window for the selection and for a motion.
#[test]
fn maps_take_a_selection_and_a_motion() {
    let mut desk = Desk::new();
    desk.nvim.command("xmap gE <Plug>(rat-edit)| nmap gE <Plug>(rat-edit-operator)");
    for (keys, title) in [("4GV2jgE", "Change these 3 lines"), ("4GgEj", "Change these 2 lines")] {
        desk.nvim.input(keys);
        desk.nvim.poll_screen(title);
        desk.nvim.input("<C-c>");
        desk.nvim.poll_no(title);
    }
    let none: Json =
        desk.nvim.lua("return #vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, {})", json!([]));
    assert_eq!(none, json!(0), "nothing is left");
}

/// A buffer whose file does not exist is changed, and the file is not created.
#[test]
fn a_new_buffer_needs_no_file() {
    let mut desk = Desk::new();
    desk.nvim.command("edit new.rs | call setline(1, 'fn a() {}')");
    desk.nvim.command("RatEdit make it async");
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let asked = desk.expect(session);
    desk.answer(&asked, "```\nasync fn a() {}\n```");
    desk.poll_line(1, "async fn a() {}");
    desk.poll_quiet();
    assert!(!desk.nvim.cwd().join("new.rs").exists());
    assert_eq!(vim(&mut desk.nvim, "&modified"), json!(1));
}

/// A file outside of the project is one that the user has pointed at, so nothing is asked.
#[test]
fn a_file_elsewhere_may_be_changed() {
    let mut desk = Desk::new();
    let elsewhere = TempFolder::apart();
    let path = elsewhere.file("b.rs", "fn b() {}\n");
    desk.nvim.command(&format!("edit {} | RatEdit rename it", path.display()));
    desk.agent.expect_start();
    let session = desk.agent.handshake();
    let asked = desk.expect(session);
    desk.answer(&asked, "```\nfn c() {}\n```");
    desk.poll_line(1, "fn c() {}");
    desk.poll_pending(1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "fn c() {}\n");
}
