//! Every key that `g?` lists, pressed in real Neovim: each has a case here, and a key without one fails the test.

use std::collections::BTreeSet;

use crate::support::{Chat, Nvim, Pending, TRANSCRIPT};
use serde_json::{Value as Json, json};

/// What a key may act on: two messages, a thought, a location, a request with a diff, a queued prompt, an attachment, a sent
/// prompt in the history.
fn with_everything() -> (Chat, Pending) {
    let chat = Chat::builder().file("file.txt", "one\ntwo\nthree\n");
    let mut chat = chat.setup(json!({"permission": {"open": "never"}})).start();
    chat.prompt("earlier prompt");
    chat.say("An answer.");
    chat.end_turn("end_turn");
    chat.prompt("latest prompt");
    chat.think("Hm.\nHmm.");
    let file = chat.path("file.txt");
    let place = json!([{"path": file, "line": 2}]);
    chat.tool_call(json!({"toolCallId": "read", "title": "Look", "locations": place}));
    let diff = json!({"type": "diff", "path": file, "oldText": "one\n", "newText": "ONE\n"});
    let call = json!({"toolCallId": "edit", "title": "Change", "kind": "edit", "content": [diff]});
    let options: Vec<_> = (1..=9)
        .map(|n| json!({"optionId": format!("o{n}"), "name": format!("Option {n}"), "kind": "allow_once"}))
        .collect();
    let request = chat.ask_permission(call, json!(options));
    chat.nvim.poll_screen("[g9] Option 9");
    (chat, request)
}

fn buffer(view: &str) -> String {
    if view == "chat" { TRANSCRIPT.to_owned() } else { format!("{TRANSCRIPT}/{view}") }
}

fn poll_lua(nvim: &mut Nvim, what: &str, expression: &str, wanted: &Json) {
    let code = format!("return {expression}");
    nvim.poll(what, |nvim| nvim.lua(&code, json!([])) == *wanted);
}

/// The agent offers a command.
fn offer(chat: &mut Chat, command: Json) {
    chat.offer(&json!([command]));
    chat.say("You have commands now.");
    chat.nvim.poll_screen("You have commands now.");
}

/// Keys with the modes they are listed in, as `g?` has them for a view.
fn listed(nvim: &mut Nvim, view: &str) -> BTreeSet<(String, String)> {
    let code = "local found = {}
        for _, key in ipairs(require('rat.chat.keys').of(...)) do
          for _, mode in ipairs(key.modes) do table.insert(found, { mode, key.lhs }) end
        end
        return found";
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let found = nvim.lua(code, json!([view]));
    found.as_array().unwrap().iter().map(|key| (text(&key[0]), text(&key[1]))).collect()
}

fn press_all(view: &str, press: fn(&mut Chat, Pending, &str, &str)) {
    let (mut chat, _) = with_everything();
    let keys = listed(&mut chat.nvim, view);
    assert!(keys.len() > 10, "{keys:?}");
    for (mode, key) in keys {
        // A digit spends the request, sending spends the prompt: each key has a chat of its own.
        let (mut chat, request) = with_everything();
        chat.nvim.enter(&buffer(view));
        press(&mut chat, request, &mode, &key);
    }
}

/// Holds (Prompts and keys): Every key that `g?` lists does what the list says.
#[test]
fn every_key_of_the_prompt_does_what_it_says() {
    press_all("prompt", |chat, request, mode, key| match (mode, key) {
        ("n", "<CR>" | "<C-s>") | ("i", "<C-s>") => {
            chat.nvim.command("RatAllow");
            chat.answer(request);
            chat.end_turn("end_turn");
            let back = if mode == "n" { "<Esc>" } else { "" };
            chat.nvim.input(&format!("ihello{back}{key}"));
            let sent = chat.expect_prompt();
            assert_eq!(sent.params["prompt"][0]["text"], json!("hello"));
        }
        ("n", "g<CR>") => {
            chat.nvim.input("ihello<Esc>g<CR>");
            chat.agent.expect_notification("session/cancel");
            chat.answer(request);
            chat.end_turn("cancelled");
            let sent = chat.expect_prompt();
            assert_eq!(sent.params["prompt"][0]["text"], json!("hello"));
        }
        ("n", "g>") => {
            chat.nvim.send("waits");
            chat.nvim.poll_queue(&["waits"]);
            chat.nvim.input(key);
            chat.nvim.poll_screen("--- 1 ---");
        }
        ("n", "<C-c>") => {
            chat.nvim.input(key);
            chat.agent.expect_notification("session/cancel");
        }
        ("i", "<C-c>") => expect_a_cancel_at_last(chat),
        ("n", "gd") => expect_diff(chat),
        (_, "<Up>") => {
            chat.nvim.input(if mode == "i" { "i<Up>" } else { "<Up>" });
            chat.poll_draft(&["latest prompt"]);
            chat.nvim.input("<Up>");
            chat.poll_draft(&["earlier prompt"]);
        }
        (_, "<Down>") => {
            chat.nvim.input(if mode == "i" { "idraft<Up>" } else { "idraft<Esc><Up>" });
            chat.poll_draft(&["latest prompt"]);
            chat.nvim.input("<Down>");
            chat.poll_draft(&["draft"]);
        }
        ("n", "g+") => {
            let file = chat.nvim.file("opened.txt", "one\n");
            chat.nvim.lua("require('rat').add(...)", json!([file]));
            chat.nvim.poll_screen("+ opened.txt (4 B)");
            chat.nvim.input(key);
            chat.nvim.poll("the file", |nvim| nvim.eval("vim.fn.expand('%:t')") == "opened.txt");
        }
        ("n", "g-") => {
            chat.nvim.command("1RatAdd");
            chat.nvim.poll_screen("g- remove");
            chat.nvim.input(key);
            chat.nvim.poll_no("g- remove");
        }
        ("n", "g<") => {
            chat.nvim.send("waits");
            chat.nvim.poll_queue(&["waits"]);
            chat.nvim.input("g<lt>");
            chat.poll_draft(&["waits"]);
        }
        ("n", "g/") => {
            let command =
                json!({"name": "review", "description": "Look", "input": {"hint": "what"}});
            offer(chat, command);
            chat.nvim.input(key);
            chat.nvim.poll_screen("/review <what> · Look");
            chat.nvim.choose(1);
            chat.poll_draft(&["/review "]);
        }
        ("i", "<C-x><C-u>") => {
            let command = json!({"name": "review", "description": "Look at the changes"});
            offer(chat, command);
            chat.nvim.input("i/rev<C-x><C-u>");
            chat.poll_draft(&["/review"]);
        }
        (_, "<S-Tab>") => expect_modes(chat, mode),
        ("n", "gO") => expect_outline(chat),
        ("n", "g?") => expect_help(chat),
        (_, "gf" | "gF" | "<C-w>f" | "<C-w><C-f>" | "<C-w>F" | "<C-w>gf" | "<C-w>gF") => {
            chat.nvim.input("isee file.txt:2.<Esc>");
            chat.nvim.input(&format!("{}{key}", if mode == "x" { "v" } else { "" }));
            let place = "{ vim.fn.expand('%:t'), vim.fn.line('.') }";
            poll_lua(&mut chat.nvim, "the place", place, &json!(["file.txt", 2]));
        }
        ("n", key) => expect_answer(chat, request, key),
        _ => panic!("{mode} {key} is listed and has no case"),
    });
}

/// Holds (Prompts and keys): Every key that `g?` lists does what the list says.
#[test]
fn every_key_of_the_transcript_does_what_it_says() {
    press_all("chat", |chat, request, mode, key| match (mode, key) {
        (_, "<CR>" | "gf" | "gF" | "<C-w>f" | "<C-w><C-f>" | "<C-w>F" | "<C-w>gf" | "<C-w>gF") => {
            chat.go_to("Look");
            chat.nvim.input(&format!("{}{key}", if mode == "x" { "v" } else { "" }));
            poll_lua(
                &mut chat.nvim,
                "the place",
                "{ vim.fn.expand('%:t'), vim.fn.line('.') }",
                &json!(["file.txt", 2]),
            );
            poll_lua(&mut chat.nvim, "a window of the user's", "vim.fn.winnr()", &json!(1));
        }
        ("n", "]]") => {
            chat.nvim.input("gg]]j");
            poll_lua(
                &mut chat.nvim,
                "the first message",
                "vim.fn.getline('.')",
                &json!("earlier prompt"),
            );
            chat.nvim.input("2]]j");
            poll_lua(&mut chat.nvim, "two further", "vim.fn.getline('.')", &json!("latest prompt"));
        }
        ("n", "[[") => {
            chat.go_to("latest prompt");
            chat.nvim.input("2[[j");
            poll_lua(&mut chat.nvim, "two back", "vim.fn.getline('.')", &json!("An answer."));
        }
        ("n", "gd") => expect_diff(chat),
        ("n", "gx") => {
            let open = "vim.ui.open = function(what) vim.g.opened = what return {} end";
            chat.nvim.lua(open, json!([]));
            chat.say("See [it](https://a.example/x).");
            chat.nvim.poll_screen("See it.");
            chat.go_to("it](");
            chat.nvim.input(key);
            poll_lua(&mut chat.nvim, "the URL", "vim.g.opened", &json!("https://a.example/x"));
        }
        ("n", "gy") => {
            chat.say("Run:\n\n```sh\nmake\n```\n");
            chat.nvim.poll_screen("make");
            chat.go_to("make");
            chat.nvim.input(key);
            poll_lua(&mut chat.nvim, "the code", "vim.fn.getreg('\"')", &json!("make\n"));
        }
        ("n", "gp" | "gP") => {
            chat.say("Run:\n\n```sh\nmake\n```\n");
            chat.nvim.poll_screen("make");
            chat.go_to("make");
            chat.nvim.input(key);
            chat.nvim.poll_screen("1 line of code put here");
            let wanted = if key == "gp" { json!(["", "make"]) } else { json!(["make", ""]) };
            poll_lua(&mut chat.nvim, "the code", "vim.fn.getline(1, '$')", &wanted);
        }
        ("n", "i" | "a" | "o") => {
            chat.nvim.input(key);
            poll_lua(&mut chat.nvim, "the prompt", "vim.bo.filetype", &json!("ratprompt"));
        }
        ("n", "za") => {
            chat.go_to("Hmm.");
            poll_lua(&mut chat.nvim, "a closed fold", "vim.fn.foldclosed('.') > 0", &json!(true));
            chat.nvim.input(key);
            poll_lua(&mut chat.nvim, "an open fold", "vim.fn.foldclosed('.') > 0", &json!(false));
        }
        ("n", "q") => {
            chat.nvim.input(key);
            poll_lua(&mut chat.nvim, "the user's window alone", "vim.fn.winnr('$')", &json!(1));
        }
        (_, "<S-Tab>") => expect_modes(chat, mode),
        ("n", "gO") => expect_outline(chat),
        ("n", "g?") => expect_help(chat),
        ("n", key) => expect_answer(chat, request, key),
        _ => panic!("{mode} {key} is listed and has no case"),
    });
}

/// Holds (Prompts and keys): `gy` yanks a code block without its fences and without the indentation of its list.
#[test]
fn a_code_block_is_yanked_from_anywhere_in_it() {
    let mut chat = Chat::in_turn();
    let answer = "One:\n\n```rust\nfn a() {\n    b();\n}\n```\n\n1. Two:\n\n   ~~~\n   c\n     d\n\n   e\n   ~~~\n\nThe end.";
    chat.say(answer);
    chat.nvim.poll_screen("The end.");
    for (place, keys, register, wanted) in [
        ("fn a()", "gy", '"', "fn a() {\n    b();\n}\n"),
        ("    b();", "\"xgy", 'x', "fn a() {\n    b();\n}\n"),
        ("```rust", "gy", '"', "fn a() {\n    b();\n}\n"),
        ("     d", "gy", '"', "c\n  d\n\ne\n"),
    ] {
        chat.nvim.lua("vim.fn.setreg(..., '')", json!([register]));
        chat.go_to(place);
        chat.nvim.input(keys);
        let value = format!("vim.fn.getreg('{register}')");
        poll_lua(&mut chat.nvim, place, &value, &json!(wanted));
    }
    chat.go_to("The end.");
    chat.nvim.input("gy");
    chat.nvim.poll("a message", |nvim| nvim.messages().contains("No code block under the cursor"));
}

/// Holds (Prompts and keys): `gp` and `gP` put a code block where the user was, indented like the line there, as one undo step.
#[test]
fn a_code_block_is_put_where_the_user_was() {
    let nvim = Chat::builder().file("a.py", "if x:\n    one()\n");
    let mut chat = nvim.start();
    chat.prompt("go");
    chat.say("So:\n\n```py\n  two()\n\n    three()\n```\n\nThe end.");
    chat.nvim.poll_screen("The end.");
    let path = chat.path("a.py");
    chat.nvim.command("wincmd t");
    chat.nvim.command(&format!("edit {}", path.display()));
    chat.nvim.command("2");
    let lines = "vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.py'), 0, -1, true)";
    for (key, wanted) in [
        ("gp", json!(["if x:", "    one()", "    two()", "", "      three()"])),
        ("gP", json!(["if x:", "    two()", "", "      three()", "    one()"])),
    ] {
        chat.go_to("three()");
        chat.nvim.input(key);
        poll_lua(&mut chat.nvim, key, lines, &wanted);
        chat.nvim.input("u");
        poll_lua(&mut chat.nvim, "undo", lines, &json!(["if x:", "    one()"]));
        chat.nvim.command("2");
    }
    chat.nvim.command("setlocal nomodifiable");
    chat.go_to("three()");
    chat.nvim.input("gp");
    chat.nvim.poll_screen("is not modifiable");
    chat.go_to("The end.");
    chat.nvim.input("gp");
    chat.nvim.poll("a message", |nvim| nvim.messages().contains("No code block under the cursor"));
}

fn expect_diff(chat: &mut Chat) {
    chat.nvim.input("gd");
    chat.nvim.poll_screen("ga allow  gr reject");
    poll_lua(&mut chat.nvim, "native diff mode", "vim.wo.diff", &json!(true));
}

/// Keys that answer the request: `ga`, `gr`, and `g` with an option's number; `gA` makes a rule of it.
fn expect_answer(chat: &mut Chat, request: Pending, key: &str) {
    if chat.nvim.eval("vim.bo.filetype") == "rat" {
        chat.go_to("Option 1");
    }
    chat.nvim.input(key);
    if key == "gA" {
        let is_open = "vim.bo.filetype";
        return poll_lua(&mut chat.nvim, "the rule", is_open, &json!("ratinput"));
    }
    let outcome = match key.strip_prefix('g').unwrap() {
        "a" => json!({"outcome": "selected", "optionId": "o1"}),
        "r" => json!({"outcome": "cancelled"}),
        digit => {
            assert!(digit.parse::<u8>().is_ok(), "{key} is listed and has no case");
            json!({"outcome": "selected", "optionId": format!("o{digit}")})
        }
    };
    assert_eq!(chat.answer(request)["outcome"], outcome);
}

/// The first ones only leave Insert mode.
fn expect_a_cancel_at_last(chat: &mut Chat) {
    chat.nvim.input("idraft<C-c><C-c><C-c>");
    poll_lua(&mut chat.nvim, "Normal mode", "vim.fn.mode()", &json!("n"));
    assert_eq!(chat.agent.unexpected(), [""; 0], "it leaves Insert mode only");
    chat.nvim.poll("a cancelled turn", |nvim| {
        nvim.input("<C-c>");
        nvim.status()["state"] == json!("cancelling")
    });
    chat.agent.expect_notification("session/cancel");
}

fn expect_modes(chat: &mut Chat, mode: &str) {
    chat.nvim.input(if mode == "i" { "i<S-Tab>" } else { "<S-Tab>" });
    chat.nvim.poll("the modes", |nvim| nvim.messages().contains("has no modes"));
}

/// The prompts, of which `<CR>` goes to one.
fn expect_outline(chat: &mut Chat) {
    chat.go_to("latest prompt");
    chat.nvim.input("gO");
    let list = "{ vim.bo.filetype, vim.fn.line('.'), vim.tbl_map(function(it) return it.text end, vim.fn.getloclist(0)) }";
    let wanted = json!(["qf", 2, ["earlier prompt", "latest prompt"]]);
    poll_lua(&mut chat.nvim, "the prompts", list, &wanted);
    chat.nvim.input("1G<CR>j");
    poll_lua(&mut chat.nvim, "the first", "vim.fn.getline('.')", &json!("earlier prompt"));
}

fn expect_help(chat: &mut Chat) {
    chat.nvim.input("g?");
    chat.nvim.poll_screen("list these keys");
    chat.nvim.input("q");
    chat.nvim.poll_no("list these keys");
}

#[test]
fn the_plan_and_the_tool_calls_close_alone() {
    for (command, view) in [("RatPlan", "plan"), ("RatTools", "tools")] {
        let (mut chat, _) = with_everything();
        let before = chat.nvim.eval("vim.fn.winrestcmd()");
        chat.nvim.command(command);
        chat.nvim.enter(&buffer(view));
        assert_eq!(listed(&mut chat.nvim, view), listed(&mut chat.nvim, "chat"));
        chat.nvim.input("q");
        let wanted = before.clone();
        poll_lua(&mut chat.nvim, "the layout from before", "vim.fn.winrestcmd()", &wanted);
    }
}
