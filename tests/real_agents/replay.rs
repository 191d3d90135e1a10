//! Recordings of real agents: saved by `:RatTrace save` and played by `rat-nvim replay`.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::support::{Options, binary};
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(a_recording_draws_the_same_transcript);

/// The values of variables that look like secrets: one of Neovim's environment, which agents inherit, one of the agent's own.
const INHERITED: &str = "of-the-environment-7Q";
const OWN: &str = "of-the-agent-9Z";

const TEXT: &str = "one\ntwo\nthree\n";

/// The prompts of the conversation: a thought, a read, an edit, a command that prints secrets, and an answer that says one.
const PROMPTS: [&str; 2] = [
    "[[think Where is it?]][[read a.py]][[edit a.py|two|2]][[shell echo $SOME_API_KEY $MY_TOKEN end]]\
     [[say It was of-the-environment-7Q as you see.]]",
    "[[say You are **welcome**.]]",
];

fn converse(chat: &mut Chat, prompts: [&str; 2]) -> Vec<String> {
    for prompt in prompts {
        chat.ask(prompt);
        chat.ends_allowing("end_turn");
    }
    chat.wait_for("ready");
    let lines = chat.transcript();
    lines.lines().map(str::to_owned).collect()
}

/// Holds (Traffic): A session of Claude, Gemini or OpenCode that was saved draws the same transcript, line for line, when it is played, and has no secret of the environment.
fn a_recording_draws_the_same_transcript(kind: Kind) {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let options = Options { env: vec![variable("SOME_API_KEY", INHERITED)], ..Chat::options() };
    let variables = [("MY_TOKEN", OWN)];
    let mut chat = Chat::open_in(options, kind, &[("a.py", TEXT)], json!({}), &variables);
    let told = converse(&mut chat, PROMPTS);
    assert_eq!(chat.file("a.py").unwrap(), TEXT.replace("two", "2"));
    let file = chat.nvim.folder().path().join("session.jsonl");
    chat.nvim.command(&format!("RatTrace save {}", file.display()));
    chat.until("the saved file", |chat| {
        chat.nvim.messages().contains("Saved the traffic as").then_some(())
    });
    let saved = std::fs::read_to_string(&file).unwrap();
    assert!(saved.contains("[redacted]"), "the secrets were never said");
    assert!(!saved.contains(INHERITED), "the environment's secret is in the file");
    // What the server of an agent gives it is not known here.
    assert!(!saved.contains(OWN) || chat.is_served(), "the agent's secret is in the file");

    std::fs::write(chat.path("a.py"), TEXT).unwrap();
    chat.replaced_by(json!({"command": binary(), "args": ["replay", file]}));
    // Whoever plays a recording has the prompts as they are in it.
    let prompts = PROMPTS.map(|prompt| prompt.replace(INHERITED, "[redacted]"));
    let played = converse(&mut chat, [&prompts[0], &prompts[1]]);
    let known = if chat.is_served() { OWN } else { "[redacted]" };
    let hidden = |line: &String| line.replace(INHERITED, "[redacted]").replace(OWN, known);
    assert_eq!(played, told.iter().map(hidden).collect::<Vec<_>>());
    chat.finish();
}
