//! What agents ask the user in the middle of a turn: Claude's questions are forms.

use serde_json::json;

use crate::agents::{Chat, Kind};

#[test]
fn claudes_questions_are_answered_in_a_form() {
    let mut chat = Chat::open(Kind::Claude, &[]);
    let option = |label: &str, about: &str| json!({"label": label, "description": about});
    let questions = json!({"questions": [
        {"question": "Which colour?", "header": "Colour", "multiSelect": false,
            "options": [option("Red", "like a rose"), option("Green", "like grass")]},
        {"question": "Which shapes?", "header": "Shapes", "multiSelect": true,
            "options": [option("Round", "no corners"), option("Square", "four corners") ]},
    ]});
    chat.ask(&format!("[[tool AskUserQuestion {questions} ]][[say Done.]]"));
    for text in ["answer the following questions", "Colour: (empty)", "Which shapes?", "[ ] Square"]
    {
        chat.until(text, |chat| chat.nvim.screen().contains(text).then_some(()));
    }
    chat.until("keys", |chat| chat.nvim.screen().contains("ga send").then_some(()));
    assert_eq!(chat.nvim.status()["state"], json!("waiting"));
    let enter = "vim.fn.search('\\\\V' .. ..., 'cw') return vim.bo.filetype";
    assert_eq!(chat.nvim.lua(enter, json!(["Square"])), json!("ratform"));
    chat.nvim.input("<CR>");
    chat.until("a shape", |chat| chat.nvim.screen().contains("[x] Square").then_some(()));
    chat.nvim.lua(enter, json!(["Colour:"]));
    chat.nvim.input("<CR>");
    chat.until("the colours", |chat| chat.nvim.screen().contains("like grass").then_some(()));
    chat.nvim.input("2<CR>");
    chat.until("a colour", |chat| chat.nvim.screen().contains("Colour: Green").then_some(()));
    chat.nvim.input("ga");
    chat.ends("end_turn");
    let asked = chat.asked_of_model().join("\n");
    assert!(asked.contains("Green") && asked.contains("Square"), "{asked}");
    assert!(chat.transcript().contains("\n    sent"), "{}", chat.transcript());
    chat.finish();
}
