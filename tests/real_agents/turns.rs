//! Turns that do not come to their end: cancelled, failed, cut off by the death of the agent. The next one works.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::support::Processes;
use crate::{with_agent, with_each_agent};

with_each_agent!(
    cancelled_in_the_middle_of_the_text,
    cancelled_while_a_permission_waits,
    an_error_of_the_model_is_shown,
    a_killed_agent_is_explained_and_goes_on,
);

fn cancelled_in_the_middle_of_the_text(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask("[[slow 200]]");
    chat.wait_for_text("tick 3 ");
    chat.nvim.input("<C-c>");
    chat.ends("cancelled");
    assert!(chat.transcript().trim_end().ends_with("Cancelled"), "{}", chat.transcript());
    chat.ask_and_wait("[[say Next.]]");
    assert!(chat.transcript().ends_with("Next."), "{}", chat.transcript());
    chat.finish();
}

fn cancelled_while_a_permission_waits(kind: Kind) {
    let mut chat = Chat::open(kind, &[("a.py", "one\n")]);
    chat.ask("[[read a.py]][[edit a.py|one|1]]");
    chat.permission();
    chat.nvim.command("RatCancel");
    chat.ends("cancelled");
    chat.until("the chooser to close", |chat| (chat.filetype() != "ratselect").then_some(()));
    assert_eq!(chat.file("a.py").unwrap(), "one\n");
    assert_eq!(chat.buffer("a.py"), "one\n");
    chat.ask_and_wait("[[say Next.]]");
    assert!(chat.transcript().ends_with("Next."), "{}", chat.transcript());
    chat.finish();
}

fn an_error_of_the_model_is_shown(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask("[[error 400]]");
    chat.ends("error");
    assert_eq!(chat.nvim.events("RatError").len(), 1);
    let transcript = chat.transcript();
    assert!(transcript.contains("mock error 400"), "{transcript}");
    chat.wait_for("ready");
    chat.ask_and_wait("[[say Next.]]");
    assert!(chat.transcript().ends_with("Next."), "{}", chat.transcript());
    chat.finish();
}

fn a_killed_agent_is_explained_and_goes_on(kind: Kind) {
    let mut chat = Chat::open(kind, &[]);
    chat.ask_and_wait("[[say Before.]]");
    chat.ask("[[slow 200]]");
    chat.wait_for_text("tick 3 ");
    Processes::signal(chat.agent_pid(), "KILL");
    chat.ends("error");
    chat.wait_for("failed");
    let why = chat.was_killed();
    assert!(chat.transcript().contains(&why), "{}", chat.transcript());
    assert_eq!(chat.nvim.events("RatError").len(), 1);
    chat.nvim.command("RatRestart");
    chat.wait_for("ready");
    assert!(chat.transcript().contains("Before."), "{}", chat.transcript());
    chat.ask_and_wait("[[say After.]]");
    assert!(chat.transcript().ends_with("After."), "{}", chat.transcript());
    assert_eq!(chat.nvim.status()["state"], json!("ready"));
    if kind != Kind::Gemini {
        let remembered = chat.conversation_with("[[say After.]]");
        assert!(remembered.contains("Before."), "{remembered}");
    }
}
