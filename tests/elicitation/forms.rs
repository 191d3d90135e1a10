//! Forms: shown, filled in, checked and sent.

use crate::Talk;
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
#[test]
fn a_form_of_every_type_is_shown_filled_in_and_sent() {
    let mut talk = Talk::start();
    let pending = talk.form(everything(), json!(["name", "size"]));
    for text in [
        "Fake agent asks",
        "Which one?",
        "Name: nothing yet",
        "needed · 2 to 20 characters · Of the package.",
        "E-mail: me@example.com",
        "Size: 4",
        "needed · a whole number, 1 to 10",
        "Ratio: 0.5",
        "Public: no",
        "Kind: A library",
        "[ ] Alpha",
        "[x] Beta",
        "at most 2 of 3",
        "Extra: cannot be filled in here",
        "<CR> edit · ga send · gr decline · gh later · q cancel",
    ] {
        talk.nvim.poll_screen(text);
    }
    talk.write("Name:", "rat");
    talk.nvim.poll_screen("Name: rat");
    talk.write("Size:", "7");
    talk.nvim.poll_screen("Size: 7");
    talk.on("Public:", "<CR>");
    talk.nvim.poll_screen("Public: yes");
    talk.on("Gamma", "<CR>");
    talk.nvim.poll_screen("[x] Gamma");
    talk.on("Kind:", "<CR>");
    talk.nvim.poll_screen("2  A program");
    talk.nvim.choose(2);
    talk.nvim.poll_screen("Kind: A program");
    talk.nvim.input("ga");
    let content = json!({
        "name": "rat", "mail": "me@example.com", "size": 7, "ratio": 0.5, "public": true, "kind": "bin",
        "tags": ["b", "c"],
    });
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": content}));
    talk.poll_gone("ga send");
    talk.poll_transcript("\nsent");
    assert!(!talk.transcript().contains("me@example.com"), "what was entered stays private");
}

/// ACP 126.
#[test]
fn what_is_wrong_is_told_at_its_field_and_not_sent() {
    let mut talk = Talk::start();
    let properties = json!({
        "name": {"type": "string", "title": "Name", "minLength": 2, "pattern": "^[a-z]+$"},
        "size": {"type": "integer", "title": "Size", "maximum": 10},
    });
    let pending = talk.form(properties, json!(["name"]));
    assert!(!talk.nvim.screen().contains("is needed"), "nobody has been there yet");
    talk.nvim.input("ga");
    talk.nvim.poll_screen("✗ is needed");
    talk.write("Name:", "X");
    talk.nvim.poll_screen("✗ at least 2 characters, not 1");
    talk.write("Name:", "XY");
    talk.nvim.poll_screen("✗ is not like ^[a-z]+$");
    talk.write("Size:", "many");
    talk.nvim.poll_screen("✗ has to be a whole number");
    talk.nvim.input("ga");
    talk.write("Size:", "11");
    talk.nvim.poll_screen("✗ at most 10, not 11");
    assert!(!talk.agent.is_answered(pending));
    talk.write("Size:", "");
    talk.write("Name:", "xy");
    talk.poll_gone("✗");
    talk.nvim.input("ga");
    let content = json!({"name": "xy"});
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": content}));
}

/// ACP 125, 132.
#[test]
fn saying_no_closing_and_waiting_are_told_apart() {
    let ways = [
        ("gr", "decline", "declined"),
        ("q", "cancel", "cancelled"),
        (":q<CR>", "cancel", "cancelled"),
    ];
    for (keys, action, word) in ways {
        let mut talk = Talk::start();
        let layout = talk.layout();
        let pending = talk.form(json!({"a": {"type": "string"}}), json!([]));
        talk.nvim.input(keys);
        assert_eq!(talk.answer(pending), json!({"action": action}), "{keys}");
        talk.poll_transcript(word);
        talk.nvim.poll_state("running");
        assert_eq!(talk.layout(), layout, "{keys}");
    }
    let mut talk = Talk::start();
    let pending = talk.form(json!({"a": {"type": "string", "title": "Name"}}), json!([]));
    talk.write("Name:", "kept");
    talk.nvim.input("gh");
    talk.poll_gone("ga send");
    assert!(!talk.agent.is_answered(pending));
    assert_eq!(talk.nvim.status()["state"], json!("waiting"));
    talk.nvim.command("RatForm");
    talk.nvim.poll_screen("Name: kept");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": {"a": "kept"}}));
    talk.nvim.command("RatForm");
    talk.nvim.poll_screen("no agent asks you for anything");
}

/// ACP 125.
#[test]
fn a_form_opens_by_itself_only_where_nothing_is_typed_and_is_named_everywhere() {
    let mut talk = Talk::start();
    talk.nvim.command("wincmd t");
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "title": "Name"}}});
    let pending =
        talk.ask(json!({"mode": "form", "message": "Which one?", "requestedSchema": schema}));
    let event = talk.nvim.poll_events("RatElicitation", 1);
    assert_eq!((&event["chat"], &event["mode"]), (&json!(1), &json!("form")));
    talk.nvim.poll_state("waiting");
    let asked = talk.nvim.status()["elicitations"].clone();
    assert_eq!(asked, json!([{"id": event["id"], "mode": "form", "message": "Which one?"}]));
    let line = talk.nvim.lua("return require('rat').statusline()", json!([]));
    assert_eq!(line, json!("fake waiting · 1 to answer"));
    talk.nvim.poll_screen(":RatForm");
    talk.poll_idle();
    assert!(!talk.nvim.screen().contains("ga send"), "opened while the user was in a file");
    // In the chat, while the user writes, neither.
    talk.nvim.command("wincmd b");
    talk.nvim.input("iwriting");
    talk.nvim.poll_screen("writing");
    assert!(!talk.nvim.screen().contains("ga send"), "opened while the user was writing");
    talk.nvim.input("<Esc>");
    talk.poll_idle();
    assert!(!talk.nvim.screen().contains("ga send"), "opened over a draft");
    talk.nvim.input("dd");
    talk.nvim.poll_screen("ga send");
    talk.nvim.input("gh");
    talk.poll_gone("ga send");
    // From its card.
    talk.nvim.command("wincmd k");
    talk.on("fill in a form", "<CR>");
    talk.nvim.poll_screen("ga send");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": {}}));
}

#[test]
fn several_forms_wait_one_behind_the_other() {
    let mut talk = Talk::start();
    let first = talk.form(json!({"a": {"type": "string", "title": "First"}}), json!([]));
    let schema = json!({"properties": {"a": {"type": "string", "title": "Second"}}});
    let second = talk.ask(json!({"mode": "form", "message": "And?", "requestedSchema": schema}));
    talk.nvim.poll_screen("2 :RatForm");
    talk.nvim.input("gr");
    assert_eq!(talk.answer(first), json!({"action": "decline"}));
    talk.nvim.poll_screen("Second: nothing yet");
    talk.nvim.poll_screen("ga send");
    talk.nvim.input("gr");
    assert_eq!(talk.answer(second), json!({"action": "decline"}));
}

#[test]
fn texts_are_written_without_waiting_and_choices_go_to_the_users_picker() {
    let mut talk = Talk::start();
    let picker = "vim.ui.input = function() error('it blocks') end
        vim.ui.select = function(items, opts, on_choice)
          _G.asked = { opts.prompt, vim.tbl_map(opts.format_item, items) }
          on_choice(items[#items], #items)
        end";
    talk.nvim.lua(picker, json!([]));
    let kind = json!({"type": "string", "title": "Kind", "default": "a", "oneOf": [
        {"const": "a", "title": "Alpha", "description": "the first"}, {"const": "b", "title": "Beta"}]});
    let properties = json!({"text": {"type": "string", "title": "Text"}, "kind": kind});
    let pending = talk.form(properties, json!([]));
    talk.on("Kind:", "<CR>");
    talk.nvim.poll_screen("Kind: nothing yet");
    let asked = talk.nvim.lua("return _G.asked", json!([]));
    assert_eq!(asked, json!(["Kind", ["Alpha · the first", "Beta", "nothing"]]));
    talk.on("Text:", "<CR>");
    talk.nvim.poll_screen("<CR> done");
    assert!(!talk.nvim.mode_is_blocked());
    // The agent goes on meanwhile, and a second line is a line of the text.
    let session = talk.session.clone();
    talk.agent.say(&session, "Meanwhile.");
    talk.poll_transcript("Meanwhile.");
    talk.nvim.input("one<Esc>otwo<CR>");
    talk.nvim.poll_screen("Text: one … 2 lines");
    // Going back leaves it as it is.
    talk.on("Text:", "<CR>");
    talk.nvim.poll_screen("<CR> done");
    talk.nvim.input("three<C-c>");
    talk.poll_gone("<CR> done");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": {"text": "one\ntwo"}}));
}

#[test]
fn in_a_narrow_neovim_a_form_is_a_split() {
    let mut talk = Talk::start_at(50, 30, json!({}));
    let layout = talk.layout();
    let pending = talk.form(json!({"a": {"type": "string", "title": "Name"}}), json!([]));
    for text in ["Fake agent asks", "<CR> edit", "ga send", "gr decline", "q cancel"] {
        talk.nvim.poll_screen(text);
    }
    let floats = "return vim.api.nvim_win_get_config(0).relative";
    assert_eq!(talk.nvim.lua(floats, json!([])), json!(""));
    talk.write("Name:", "narrow");
    talk.nvim.input("ga");
    assert_eq!(talk.answer(pending), json!({"action": "accept", "content": {"a": "narrow"}}));
    talk.nvim.poll_state("running");
    assert_eq!(talk.layout(), layout);
}

/// ACP 131.
#[test]
fn what_is_asked_in_a_way_we_do_not_know_is_refused() {
    let mut talk = Talk::start();
    for params in [
        json!({"sessionId": "s1", "mode": "_telepathy", "message": "?"}),
        json!({"sessionId": "nobody's", "mode": "form", "message": "?", "requestedSchema": {}}),
        json!({"requestId": 4711, "mode": "form", "message": "?", "requestedSchema": {}}),
        json!({"sessionId": "s1", "mode": "url", "message": "?", "elicitationId": "e", "url": "file:///etc/passwd"}),
    ] {
        let error = talk.agent.request("elicitation/create", params.clone()).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{params}: {error}");
    }
    assert_eq!(talk.nvim.status()["elicitations"], json!([]));
}

#[test]
fn a_long_message_is_whole_in_the_form_and_cut_elsewhere() {
    let mut talk = Talk::start();
    let message = format!("{}\n{}the end", "why ".repeat(100), "and why\n".repeat(100));
    let schema = json!({"type": "object", "properties": {}});
    let pending = talk.ask(json!({"mode": "form", "message": message, "requestedSchema": schema}));
    talk.nvim.poll_screen("ga send");
    let rows = talk.nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)", json!([]));
    assert!(rows.as_array().unwrap().iter().any(|row| row == " │ the end"), "{rows}");
    let status = talk.nvim.status();
    assert_eq!(status["elicitations"][0]["message"], json!("why ".repeat(50)));
    talk.poll_transcript("… 62 more lines");
    assert!(!talk.transcript().contains("the end"));
    let long = "x".repeat(64 * 1024);
    let params = json!({"sessionId": "s1", "mode": "form", "message": long, "requestedSchema": {}});
    let error = talk.agent.request("elicitation/create", params).unwrap_err();
    assert_eq!(error["code"], json!(-32602), "{error}");
    talk.nvim.input("q");
    assert_eq!(talk.answer(pending), json!({"action": "cancel"}));
}
