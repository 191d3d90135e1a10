//! Real agents that are confined: they work in the project, and the kernel keeps them from writing elsewhere.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::support::{TempFolder, can_confine};
use crate::{with_agent, with_each_real_agent};

/// A chat with a confined agent, whose home is in a temporary folder, and a folder that it may not write. `None` where agents
/// cannot be confined or run elsewhere, which is said.
#[allow(clippy::print_stderr, reason = "what is left out has to be said")]
fn confined(kind: Kind) -> Option<(Chat, TempFolder)> {
    if std::env::var_os("RAT_AGENTS").is_some() {
        eprintln!("left out: agents that run elsewhere cannot be confined");
        return None;
    }
    let agents = json!({kind.name(): {"confine": {"write": []}}});
    can_confine().then(|| {
        let files = [("main.txt", "one\n")];
        let chat = Chat::open_with(kind, &files, json!({"agents": agents}));
        (chat, TempFolder::apart())
    })
}

with_each_real_agent!(its_commands_cannot_write_outside, its_edits_inside_work);

/// Holds (Confinement): Real agents work while they are confined.
fn its_commands_cannot_write_outside(kind: Kind) {
    let Some((mut chat, outside)) = confined(kind) else { return };
    let file = outside.path().join("new");
    chat.ask(&format!("[[shell echo x > {}; echo y > inside]][[say Done.]]", file.display()));
    chat.ends_allowing("end_turn");
    assert!(!file.exists() && chat.path("inside").exists(), "{}", chat.transcript());
    // Gemini does not tell what its commands print.
    if kind != Kind::Gemini {
        chat.wait_for_text("reports that it could not write");
    }
    chat.finish();
}

fn its_edits_inside_work(kind: Kind) {
    let Some((mut chat, _outside)) = confined(kind) else { return };
    let main = chat.path("main.txt");
    let main = main.display();
    chat.ask(&format!("[[read {main}]][[edit {main}|one|two]][[say Done.]]"));
    chat.ends_allowing("end_turn");
    chat.until("the edit", |chat| {
        let text = std::fs::read_to_string(chat.path("main.txt")).unwrap();
        (text == "two\n").then_some(())
    });
    chat.finish();
}

/// Claude writes to the disk by itself.
#[test]
fn claudes_own_tool_cannot_write_outside() {
    let Some((mut chat, outside)) = confined(Kind::Claude) else { return };
    let file = outside.path().join("new.txt");
    chat.ask(&format!("[[write {}|text]][[say Done.]]", file.display()));
    chat.ends_allowing("end_turn");
    assert!(!file.exists(), "{}", chat.transcript());
    chat.wait_for_text("reports that it could not write");
    chat.finish();
}
