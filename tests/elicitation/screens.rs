//! Golden screens at 80x24 and 120x40: a form as it opens, with something wrong in it, and a URL.

use super::start_at;
use crate::support::{Chat, Pending};
use serde_json::{Value as Json, json};

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

fn release() -> Json {
    json!({
        "name": {"type": "string", "title": "Name", "minLength": 3, "maxLength": 20, "default": "rat",
            "description": "What the package is called where it is published."},
        "mail": {"type": "string", "title": "E-mail", "format": "email"},
        "public": {"type": "boolean", "title": "Public", "default": true},
        "licence": {"type": "string", "title": "Licence", "enum": ["MIT", "Apache-2.0"]},
        "parts": {"type": "array", "title": "Parts", "minItems": 1, "default": ["lib"],
            "items": {"anyOf": [{"const": "lib", "title": "Library"}, {"const": "bin", "title": "Program"}]}},
    })
}

/// A form on a screen of this size.
fn open((columns, lines): (u16, u16)) -> (Chat, Pending) {
    let mut chat = start_at(columns, lines, json!({}));
    // What is said beside comes and goes.
    chat.nvim.lua("vim.notify = function() end", json!([]));
    let pending = chat.form(release(), json!(["name", "mail"]));
    (chat, pending)
}

#[test]
fn a_form() {
    for size in SIZES {
        let (mut chat, _) = open(size);
        chat.nvim.expect_screen("form");
        for key in ["<CR> edit", "ga send", "gr decline", "gc cancel", "q later"] {
            assert!(chat.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

#[test]
fn a_form_with_something_wrong() {
    for size in SIZES {
        let (mut chat, _) = open(size);
        chat.fill_in("Name:", "ra");
        chat.nvim.input("ga");
        chat.nvim.poll_screen("✗ is required");
        chat.nvim.expect_screen("form-wrong");
    }
}

#[test]
fn a_text_that_is_being_written() {
    for size in SIZES {
        let (mut chat, _) = open(size);
        chat.press_on("E-mail:", "<CR>");
        chat.nvim.poll_screen("<CR> done");
        chat.nvim.input("me@");
        chat.nvim.expect_screen("form-text");
    }
}

#[test]
fn an_address() {
    for size in SIZES {
        let mut chat = start_at(size.0, size.1, json!({}));
        let url = "http://someone@xn--pple-43d.com/device?code=ABCD-EFGH&state=0123456789abcdef0123456789abcdef";
        chat.address("e", url);
        chat.nvim.poll_screen("ga open");
        chat.nvim.expect_screen("address");
        for key in ["ga open", "gr decline", "gc cancel", "q later"] {
            assert!(chat.nvim.screen().contains(key), "{key} is not on the screen");
        }
    }
}

#[test]
fn what_became_of_them() {
    for size in SIZES {
        let (mut chat, sent) = open(size);
        chat.fill_in("E-mail:", "me@example.com");
        chat.nvim.poll_screen("E-mail: me@example.com");
        chat.nvim.input("ga");
        chat.answer(sent);
        let declined = chat.address("e", "https://example.com/");
        chat.nvim.poll_screen("ga open");
        chat.nvim.input("gr");
        chat.answer(declined);
        chat.poll_transcript("declined");
        chat.nvim.poll_state("running");
        // What the window has left in the last row depends on the version.
        chat.nvim.command("mode");
        chat.nvim.expect_screen("form-answered");
    }
}
