//! `review = "before"`: what agents write through us waits for the user, who may change it; the others ask for permission.

use serde_json::json;

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_agent};

with_each_agent!(an_allowed_edit_is_made_without_a_second_question);

const SIX: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const EDIT: &str = "[[read a.txt]][[edit a.txt|two|2]]";

fn open(kind: Kind) -> Chat {
    Chat::open_with(kind, &[("a.txt", SIX)], json!({"review": "before"}))
}

/// Opens the comparison of the question or request that waits, with its keys.
fn show(chat: &mut Chat, item: &str, keys: &str) {
    chat.until(item, |chat| {
        let screen = chat.nvim.screen();
        (screen.contains(item) && screen.contains("<CR> choose")).then_some(())
    });
    chat.nvim.input(keys);
    chat.until("the comparison", |chat| {
        (chat.nvim.eval("vim.wo.diff and vim.bo.modifiable") == json!(true)).then_some(())
    });
}

fn an_allowed_edit_is_made_without_a_second_question(kind: Kind) {
    let mut chat = open(kind);
    chat.ask(EDIT);
    chat.answer("allow_once");
    chat.ends("end_turn");
    assert_eq!(chat.file("a.txt").unwrap(), SIX.replace("two", "2"));
    chat.finish();
}

/// Holds (Review): What Gemini writes without asking waits for the user, and it is told what became of it.
#[test]
fn gemini_writes_what_the_user_agrees_to() {
    let mut chat = open(Kind::Gemini);
    chat.nvim.command("RatMode autoEdit");
    chat.until("the mode", |chat| (chat.nvim.status()["mode"] == "Auto Edit").then_some(()));
    chat.ask(EDIT);
    show(&mut chat, "Show the change", "2<CR>");
    assert_eq!(chat.file("a.txt").unwrap(), SIX);
    chat.nvim.input("ccdeux<Esc>ga");
    chat.ends("end_turn");
    assert_eq!(chat.file("a.txt").unwrap(), SIX.replace("two", "deux"));
    chat.ask("[[read a.txt]][[edit a.txt|six|6]]");
    show(&mut chat, "Show the change", "2<CR>");
    chat.nvim.input("gr");
    chat.ends("end_turn");
    assert_eq!(chat.file("a.txt").unwrap(), SIX.replace("two", "deux"));
    // Gemini gives its model "[object Object]" for whatever the answer to a write says.
    chat.ask_and_wait("[[say Yes.]]");
    let asked = chat.asked_of_model().concat();
    for told in ["a.txt: edited 1 hunk", "a.txt: rejected 1 hunk"] {
        assert!(asked.contains(told), "{told}");
    }
    chat.finish();
}

/// Holds (Review): The diff of Gemini's permission request can be changed, and what is written is what the user has made of it.
#[test]
fn geminis_diff_is_changed_before_it_is_allowed() {
    let mut chat = open(Kind::Gemini);
    chat.ask(EDIT);
    show(&mut chat, "Show the diff", "gd");
    chat.nvim.input("ccdeux<Esc>ga");
    chat.ends("end_turn");
    assert_eq!(chat.file("a.txt").unwrap(), SIX.replace("two", "deux"));
    chat.ask_and_wait("[[say Yes.]]");
    assert!(chat.asked_of_model().concat().contains("a.txt: edited 1 hunk"));
    chat.finish();
}
