//! Forms: shown, filled in, checked and sent.

use super::{in_turn, start_at};
use serde_json::{Value as Json, json};

fn everything() -> Json {
    json!({
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 20, "description": "Of the package."},
        "mail": {"type": "string", "title": "E-mail", "format": "email", "default": "me@example.com"},
        "size": {"type": "integer", "title": "Size", "minimum": 1, "maximum": 10, "default": 4},
        "ratio": {"type": "number", "title": "Ratio", "default": 0.5},
        "public": {"type": "boolean", "title": "Public", "default": false},
        "kind": {"type": "string", "title": "Kind", "default": "lib", "oneOf": [
            {"const": "lib", "title": "A library"}, {"const": "bin", "title": "A program"}]},
        "tags": {"type": "array", "title": "Tags", "maxItems": 2, "default": ["b"],
            "items": {"anyOf": [{"const": "a", "title": "Alpha"}, {"const": "b", "title": "Beta"}, {"const": "c", "title": "Gamma"}]}},
        "extra": {"type": "hologram", "title": "Extra"},
    })
}

/// ACP 125, 126, 127, 131.
/// Holds (Forms and URLs): A form shows who asks, why, and each field with what it allows, for every type.
#[test]
fn a_form_of_every_type_is_shown_filled_in_and_sent() {
    let mut chat = in_turn();
    let pending = chat.form(everything(), json!(["name", "size"]));
    for text in [
        "Fake agent asks",
        "Which one?",
        "Name: (empty)",
        "required · 2 to 20 characters · Of the package.",
        "E-mail: me@example.com",
        "Size: 4",
        "required · a whole number, 1 to 10",
        "Ratio: 0.5",
        "Public: no",
        "Kind: A library",
        "[ ] Alpha",
        "[x] Beta",
        "at most 2 of 3",
        "Extra: cannot be filled in here",
        "<CR> edit · ga send · gr decline · gc cancel · q later",
    ] {
        chat.nvim.poll_screen(text);
    }
    chat.fill_in("Name:", "rat");
    chat.nvim.poll_screen("Name: rat");
    chat.fill_in("Size:", "7");
    chat.nvim.poll_screen("Size: 7");
    chat.press_on("Public:", "<CR>");
    chat.nvim.poll_screen("Public: yes");
    chat.press_on("Gamma", "<CR>");
    chat.nvim.poll_screen("[x] Gamma");
    chat.press_on("Kind:", "<CR>");
    chat.nvim.poll_screen("2  A program");
    chat.nvim.choose(2);
    chat.nvim.poll_screen("Kind: A program");
    chat.nvim.input("ga");
    let content = json!({
        "name": "rat", "mail": "me@example.com", "size": 7, "ratio": 0.5, "public": true, "kind": "bin",
        "tags": ["b", "c"],
    });
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": content}));
    chat.nvim.poll_no("ga send");
    chat.poll_transcript("\n    sent");
    assert!(
        !chat.transcript().join("\n").contains("me@example.com"),
        "what was entered stays private"
    );
}

/// ACP 126.
/// Holds (Forms and URLs): An invalid value is reported at its field and not sent.
#[test]
fn what_is_wrong_is_told_at_its_field_and_not_sent() {
    let mut chat = in_turn();
    let properties = json!({
        "name": {"type": "string", "title": "Name", "minLength": 2, "pattern": "^[a-z]+$"},
        "size": {"type": "integer", "title": "Size", "maximum": 10},
    });
    let pending = chat.form(properties, json!(["name"]));
    assert!(!chat.nvim.screen().contains("is required"), "nobody has been there yet");
    chat.nvim.input("ga");
    chat.nvim.poll_screen("✗ is required");
    chat.fill_in("Name:", "X");
    chat.nvim.poll_screen("✗ at least 2 characters, not 1");
    chat.fill_in("Name:", "XY");
    chat.nvim.poll_screen("✗ does not match ^[a-z]+$");
    chat.fill_in("Size:", "many");
    chat.nvim.poll_screen("✗ must be a whole number");
    chat.nvim.input("ga");
    chat.fill_in("Size:", "11");
    chat.nvim.poll_screen("✗ at most 10, not 11");
    assert!(!chat.agent.is_answered(pending));
    chat.fill_in("Size:", "");
    chat.fill_in("Name:", "xy");
    chat.nvim.poll_no("✗");
    chat.nvim.input("ga");
    let content = json!({"name": "xy"});
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": content}));
}

/// ACP 125, 132.
/// Holds (Forms and URLs): A form can be declined or cancelled.
#[test]
fn declining_and_cancelling_are_two_answers() {
    let ways = [("gr", "decline", "declined"), ("gc", "cancel", "cancelled")];
    for (keys, action, word) in ways {
        let mut chat = in_turn();
        let layout = chat.nvim.layout();
        let pending = chat.form(json!({"a": {"type": "string"}}), json!([]));
        chat.nvim.input(keys);
        assert_eq!(chat.answer(pending), json!({"action": action}), "{keys}");
        chat.poll_transcript(word);
        chat.nvim.poll_state("running");
        assert_eq!(chat.nvim.layout(), layout, "{keys}");
    }
}

/// Holds (Forms and URLs): A form can be cancelled before the check of what was entered has come back.
#[test]
fn a_form_is_cancelled_although_it_is_being_checked() {
    for (keys, action) in [("gagc", "cancel"), ("gagr", "decline"), ("gagagagc", "cancel")] {
        let mut chat = in_turn();
        let pending = chat.form(json!({"a": {"type": "string"}}), json!(["a"]));
        chat.nvim.input(keys);
        assert_eq!(chat.answer(pending), json!({"action": action}), "{keys}");
        chat.nvim.poll_state("running");
        chat.nvim.poll_no("ga send");
    }
}

/// ACP 125.
/// Holds (Forms and URLs): However the window of a form is closed, the agent keeps waiting, and what was entered is kept.
#[test]
fn a_form_whose_window_is_closed_waits() {
    let mut chat = in_turn();
    let layout = chat.nvim.layout();
    let pending = chat.form(json!({"a": {"type": "string", "title": "Name"}}), json!([]));
    chat.fill_in("Name:", "kept");
    for keys in ["q", "gh", ":q<CR>", "<C-w>c", "<C-w>p:only<CR>"] {
        chat.nvim.input(keys);
        chat.nvim.poll_no("ga send");
        chat.nvim.poll_screen(":RatForm opens this again");
        assert!(!chat.agent.is_answered(pending), "{keys}");
        assert_eq!(chat.nvim.status()["state"], json!("waiting"), "{keys}");
        if !keys.contains("only") {
            assert_eq!(chat.nvim.layout(), layout, "{keys}");
        }
        chat.nvim.command("RatForm");
        chat.nvim.poll_screen("Name: kept");
    }
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": {"a": "kept"}}));
    chat.nvim.command("RatForm");
    chat.nvim.poll_screen("No form or URL is waiting");
}

/// ACP 125.
/// Holds (Forms and URLs): A form opens while the user is not typing, from its card and by command, and is counted.
#[test]
fn a_form_opens_by_itself_only_where_nothing_is_typed_and_is_named_everywhere() {
    let mut chat = in_turn();
    chat.nvim.command("wincmd t");
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "title": "Name"}}});
    let pending =
        chat.elicit(json!({"mode": "form", "message": "Which one?", "requestedSchema": schema}));
    let event = chat.nvim.poll_events("RatElicitation", 1);
    assert_eq!((&event["chat"], &event["mode"]), (&json!(1), &json!("form")));
    chat.nvim.poll_state("waiting");
    let asked = chat.nvim.status()["elicitations"].clone();
    assert_eq!(asked, json!([{"id": event["id"], "mode": "form", "message": "Which one?"}]));
    let line = chat.nvim.eval("require('rat').statusline()");
    assert_eq!(line, json!("fake waiting · 1 to answer"));
    chat.nvim.poll_screen(":RatForm");
    chat.nvim.poll_idle();
    assert!(!chat.nvim.screen().contains("ga send"), "opened while the user was in a file");
    // In the chat, while the user writes, neither.
    chat.nvim.command("wincmd b");
    chat.nvim.input("iwriting");
    chat.nvim.poll_screen("writing");
    assert!(!chat.nvim.screen().contains("ga send"), "opened while the user was writing");
    chat.nvim.input("<Esc>");
    chat.nvim.poll_idle();
    assert!(!chat.nvim.screen().contains("ga send"), "opened over a draft");
    chat.nvim.input("dd");
    chat.nvim.poll_screen("ga send");
    chat.nvim.input("gh");
    chat.nvim.poll_no("ga send");
    // From its card.
    chat.nvim.command("wincmd k");
    chat.press_on("fill in a form", "<CR>");
    chat.nvim.poll_screen("ga send");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": {}}));
}

#[test]
fn several_forms_wait_one_behind_the_other() {
    let mut chat = in_turn();
    let first = chat.form(json!({"a": {"type": "string", "title": "First"}}), json!([]));
    let schema = json!({"properties": {"a": {"type": "string", "title": "Second"}}});
    let second = chat.elicit(json!({"mode": "form", "message": "And?", "requestedSchema": schema}));
    chat.nvim.poll_screen("2 :RatForm");
    chat.nvim.input("gr");
    assert_eq!(chat.answer(first), json!({"action": "decline"}));
    chat.nvim.poll_screen("Second: (empty)");
    chat.nvim.poll_screen("ga send");
    chat.nvim.input("gr");
    assert_eq!(chat.answer(second), json!({"action": "decline"}));
}

#[test]
fn texts_are_written_without_waiting_and_choices_go_to_the_users_picker() {
    let mut chat = in_turn();
    let picker = "vim.ui.input = function() error('it blocks') end
        vim.ui.select = function(items, opts, on_choice)
          _G.asked = { opts.prompt, vim.tbl_map(opts.format_item, items) }
          on_choice(items[#items], #items)
        end";
    chat.nvim.lua(picker, json!([]));
    let kind = json!({"type": "string", "title": "Kind", "default": "a", "oneOf": [
        {"const": "a", "title": "Alpha", "description": "the first"}, {"const": "b", "title": "Beta"}]});
    let properties = json!({"text": {"type": "string", "title": "Text"}, "kind": kind});
    let pending = chat.form(properties, json!([]));
    chat.press_on("Kind:", "<CR>");
    chat.nvim.poll_screen("Kind: (empty)");
    let asked = chat.nvim.eval("_G.asked");
    assert_eq!(asked, json!(["Kind", ["Alpha · the first", "Beta", "nothing"]]));
    chat.press_on("Text:", "<CR>");
    chat.nvim.poll_screen("<CR> done");
    assert!(!chat.nvim.mode_is_blocked());
    // The agent goes on meanwhile, and a second line is a line of the text.
    chat.say("Meanwhile.");
    chat.poll_transcript("Meanwhile.");
    chat.nvim.input("one<Esc>otwo<CR>");
    chat.nvim.poll_screen("Text: one … 2 lines");
    // Going back leaves it as it is.
    chat.press_on("Text:", "<CR>");
    chat.nvim.poll_screen("<CR> done");
    chat.nvim.input(" three<C-c>");
    chat.nvim.poll_no("<CR> done");
    chat.nvim.poll_screen("Text: one … 2 lines");
    // What was typed is not lost. The form shows it, too.
    chat.press_on("Text:", "<CR>");
    chat.nvim.poll_screen("<CR> done");
    chat.nvim.poll_screen("two three");
    chat.nvim.input("<C-c>");
    chat.nvim.poll_no("<CR> done");
    chat.nvim.input("ga");
    chat.nvim.poll_screen("has a draft that would not be sent");
    chat.nvim.input("ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": {"text": "one\ntwo"}}));
}

#[test]
fn in_a_narrow_neovim_a_form_is_a_split() {
    let mut chat = start_at(50, 30, json!({}));
    let layout = chat.nvim.layout();
    let pending = chat.form(json!({"a": {"type": "string", "title": "Name"}}), json!([]));
    for text in ["Fake agent asks", "<CR> edit", "ga send", "gr decline", "gc cancel", "q later"] {
        chat.nvim.poll_screen(text);
    }
    let floats = "return vim.api.nvim_win_get_config(0).relative";
    assert_eq!(chat.nvim.lua(floats, json!([])), json!(""));
    // Typed at once: what is written comes before the key that sends it.
    chat.press_on("Name:", "<CR>");
    chat.nvim.poll_screen("<CR> done");
    chat.nvim.input("<C-u>narrow<CR>ga");
    assert_eq!(chat.answer(pending), json!({"action": "accept", "content": {"a": "narrow"}}));
    chat.nvim.poll_state("running");
    assert_eq!(chat.nvim.layout(), layout);
}

/// ACP 131.
#[test]
fn what_is_asked_in_a_way_we_do_not_know_is_refused() {
    let mut chat = in_turn();
    for params in [
        json!({"sessionId": "s1", "mode": "_telepathy", "message": "?"}),
        json!({"sessionId": "nobody's", "mode": "form", "message": "?", "requestedSchema": {}}),
        json!({"requestId": 4711, "mode": "form", "message": "?", "requestedSchema": {}}),
        json!({"sessionId": "s1", "mode": "url", "message": "?", "elicitationId": "e", "url": "file:///etc/passwd"}),
    ] {
        let error = chat.agent.request("elicitation/create", params.clone()).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{params}: {error}");
    }
    assert_eq!(chat.nvim.status()["elicitations"], json!([]));
}

/// Holds (Forms and URLs): A long message is whole in the form, and cut in the card and the status.
#[test]
fn a_long_message_is_whole_in_the_form_and_cut_elsewhere() {
    let mut chat = in_turn();
    let message = format!("{}\n{}the end", "why ".repeat(100), "and why\n".repeat(100));
    let schema = json!({"type": "object", "properties": {}});
    let pending =
        chat.elicit(json!({"mode": "form", "message": message, "requestedSchema": schema}));
    chat.nvim.poll_screen("ga send");
    let rows = chat.nvim.eval("vim.api.nvim_buf_get_lines(0, 0, -1, false)");
    assert!(rows.as_array().unwrap().iter().any(|row| row == " │ the end"), "{rows}");
    let status = chat.nvim.status();
    assert_eq!(status["elicitations"][0]["message"], json!("why ".repeat(50)));
    chat.poll_transcript("… 62 more lines");
    assert!(!chat.transcript().join("\n").contains("the end"));
    let long = "x".repeat(64 * 1024);
    let params = json!({"sessionId": "s1", "mode": "form", "message": long, "requestedSchema": {}});
    let error = chat.agent.request("elicitation/create", params).unwrap_err();
    assert_eq!(error["code"], json!(-32602), "{error}");
    chat.nvim.input("gc");
    assert_eq!(chat.answer(pending), json!({"action": "cancel"}));
}
