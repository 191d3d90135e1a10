//! Paths made by chance, in all that an agent shows, reads, writes and starts: each request gets one answer, and nothing
//! outside the project is opened, changed or told unasked.

use super::super::names;
use super::grammar;
use crate::support::{Chat, Dice, Inputs, Nvim, Pending, files_below};
use serde_json::{Value as Json, json};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// So many inputs are played in one Neovim.
const BATCH: u64 = 250;

/// The words of the user's files outside the project.
const SECRET: &str = "words that no agent was shown";

struct Play {
    chat: Chat,
    outside: PathBuf,
    processes: Vec<u32>,
    asked: Vec<(String, Pending)>,
}

impl Play {
    fn start() -> Self {
        let nvim = Nvim::start(names::init());
        names::make_files(&nvim);
        let outside = nvim.folder().folder("outside");
        for name in ["secret", "plain.txt", "folder/plain.txt"] {
            nvim.folder().file(&format!("outside/{name}"), SECRET);
        }
        symlink(&outside, nvim.cwd().join("to-outside")).unwrap();
        let chat = Chat::builder().neovim(nvim).setup(json!({"permission": {"open": "never"}}));
        let mut chat = chat.in_turn();
        chat.write_draft("a draft");
        let processes = chat.nvim.processes().living();
        // What the agent may read it gets at once, and what it may not, only after the user's answer.
        let inside = chat.request("fs/read_text_file", json!({"path": chat.path("plain.txt")}));
        assert_eq!(inside, Ok(json!({"content": "one\ntwo\nthree\n"})));
        let beside = chat.ask("fs/read_text_file", json!({"path": outside.join("secret")}));
        chat.nvim.poll_state("waiting");
        assert!(!chat.agent.is_answered(beside), "read without a question");
        let asked = vec![("a secret".to_owned(), beside)];
        Self { chat, outside, processes, asked }
    }

    fn say(&mut self, dice: &mut Dice, number: u64) {
        let path = grammar::path(dice, self.chat.nvim.cwd(), &self.outside);
        let link = json!({"type": "resource_link", "uri": path, "name": path});
        self.chat.tool_call(json!({
            "toolCallId": format!("{number} {path}"), "title": path, "kind": "edit", "status": "completed",
            "locations": [{"path": path, "line": 2}],
            "content": [{"type": "diff", "path": path, "oldText": "a\n", "newText": "b\n"},
                {"type": "content", "content": link}],
        }));
        let (method, params) = match dice.within(0..5) {
            0 | 1 => ("fs/read_text_file", json!({"path": path})),
            2 | 3 => ("fs/write_text_file", json!({"path": path, "content": "from the agent\n"})),
            _ => ("terminal/create", json!({"command": "true", "cwd": path})),
        };
        let pending = self.chat.ask(method, params);
        self.asked.push((format!("{number}: {method} {path:?}"), pending));
    }

    /// The turn is cancelled: whatever was asked is answered then, and nothing of the user's is in it.
    fn expect_answers(&mut self) {
        self.chat.nvim.command("RatCancel");
        self.chat.agent.expect_notification("session/cancel");
        for (what, pending) in std::mem::take(&mut self.asked) {
            let answer = self.chat.agent.expect_answer(pending);
            let told = answer.as_ref().map_or_else(Json::to_string, Json::to_string);
            assert!(!told.contains(SECRET), "{what}: {told}");
            assert!(!self.chat.agent.is_answered(pending), "two answers to {what}");
        }
    }

    fn expect_no_harm(&mut self) {
        for path in files_below(&self.outside) {
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, SECRET, "{} was changed", path.display());
        }
        assert_eq!(
            files_below(&self.outside).len(),
            3,
            "files outside: {:?}",
            files_below(&self.outside)
        );
        expect_no_flag(self.chat.nvim.folder().path());
        assert_eq!(self.chat.draft(), ["a draft"]);
        assert!(!self.chat.nvim.mode_is_blocked());
    }
}

fn expect_no_flag(folder: &Path) {
    for name in ["project", "home", "tmp", "outside", "."] {
        assert!(!folder.join(name).join("FLAG").exists(), "a flag in {name}");
    }
}

/// Holds (Hostile agents): No generated path opens, starts, reads or writes anything outside the project unasked, and each request gets one answer.
#[test]
fn no_generated_path_leads_out_of_the_project_unasked() {
    let inputs = Inputs::of("paths");
    inputs.in_batches(BATCH, |numbers| {
        let mut play = Play::start();
        for number in numbers {
            play.say(&mut inputs.dice(number), number);
        }
        play.chat.say("\n\nAll was said.\n");
        play.chat.poll_said();
        play.expect_answers();
        play.chat.end_turn("cancelled");
        play.chat.nvim.poll_state("ready");
        play.expect_no_harm();
        names::look(&mut play.chat.nvim, &play.processes);
        play.chat.prompt("and now?");
        play.chat.end_turn("end_turn");
        play.chat.nvim.poll_state("ready");
    });
}
