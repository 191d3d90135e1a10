//! What an agent asks and offers, in all choosers, forms, completions and messages.

use super::poison::{short, text};
use super::shown::Talk;
use crate::support::Pending;
use serde_json::{Value as Json, json};

/// A picker as plugins make them: it shows what it is given as it is.
const PLAIN: &str = r#"
    vim.ui.select = function(items, opts, on_choice)
      local lines = vim.tbl_map(opts.format_item, items)
      local buf = vim.api.nvim_create_buf(false, true)
      vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
      local win = vim.api.nvim_open_win(buf, true, { relative = "editor", row = 1, col = 1, width = 150,
        height = 20, border = "single", title = opts.prompt, footer = lines[1] })
      vim.wo[win].winbar = lines[#lines]:gsub("%%", "%%%%")
      vim.api.nvim_echo({ { opts.prompt:sub(1, 100) } }, true, {})
      for key, index in pairs({ ["<Esc>"] = 0, ["<CR>"] = 1 }) do
        vim.keymap.set("n", key, function()
          vim.api.nvim_win_close(win, true)
          on_choice(items[index], items[index] and index)
        end, { buffer = buf })
      end
    end
    vim.notify = function(text)
      local buf = vim.api.nvim_create_buf(false, true)
      vim.api.nvim_buf_set_lines(buf, 0, -1, true, { text })
      vim.api.nvim_open_win(buf, false, { relative = "editor", row = 30, col = 1, width = 150, height = 1,
        border = "single", title = vim.fn.strcharpart(text, 0, 100), focusable = false })
    end
"#;

impl Talk {
    fn ask_permission(&mut self) -> Pending {
        let option = |place: &str, kind: &str| json!({"optionId": text(place), "name": text(place), "kind": kind});
        let call = json!({"toolCallId": text("p-asked"), "title": text("p-ask"), "kind": "edit",
            "rawInput": {"command": text("p-command"), "p-field": text("p-value")},
            "content": [{"type": "diff", "path": text("/p-path"), "oldText": text("p-old"), "newText": text("p-new")}]});
        let params = json!({"sessionId": self.session, "toolCall": call, "options": [
            option("p-yes", "allow_once"), option("p-always", "allow_always"), option("p-no", text("p-kind").as_str())]});
        let pending = self.agent.ask("session/request_permission", params);
        self.viewer.nvim.poll("the request", |nvim| nvim.status()["permissions"][0] != Json::Null);
        pending
    }

    /// Runs a command, looks at the chooser it opens, and presses a key there.
    fn choose(&mut self, command: &str, word: &str, key: &str) {
        self.viewer.open(command, word);
        self.viewer.nvim.input(key);
        self.viewer.nvim.poll("no chooser", |nvim| {
            let code = "return vim.api.nvim_win_get_config(0).relative == ''";
            nvim.lua(code, json!([])) == json!(true)
        });
    }
}

fn choosers_are_clean(init: &str, own: bool) {
    let mut talk = Talk::start(init);
    talk.viewer.nvim.command("wincmd t");
    let pending = talk.ask_permission();
    talk.choose("RatPermission", "p-always", "<Esc>");
    let id = talk.viewer.nvim.status()["permissions"][0]["id"].clone();
    talk.viewer.nvim.lua("require('rat.rpc').notify('diff', { chat = 1, id = ... })", json!([id]));
    talk.viewer.poll("p-old");
    talk.viewer.look_through();
    talk.viewer.nvim.command("normal q");
    talk.viewer.nvim.command("RatAllow");
    talk.agent.expect_answer(pending).unwrap();
    talk.viewer.nvim.command("wincmd t");
    talk.choose("RatOption", "p-model", "<Esc>");
    talk.choose("RatOption m", "p-group", "<Esc>");
    talk.choose("RatMode", "p-in-mode", "<Esc>");
    talk.viewer.nvim.command("RatSessions");
    let request = talk.agent.expect_request("session/list");
    let listed = |place: &str| json!({"sessionId": text(place), "title": text(place), "cwd": request.params["cwd"], "updatedAt": text("p-when")});
    let untitled = json!({"sessionId": text("p-untitled"), "cwd": request.params["cwd"]});
    let sessions = json!([listed("p-listed"), untitled]);
    talk.agent.reply(&request, json!({"sessions": sessions}));
    talk.viewer.poll("p-untitled");
    talk.viewer.nvim.input("<Esc>");
    talk.agent.reply(&talk.turn, json!({"stopReason": "end_turn"}));
    talk.viewer.nvim.poll_state("ready");
    talk.viewer.nvim.command("RatLogin");
    talk.viewer.nvim.poll("the question", |nvim| nvim.status()["state"] == json!("starting"));
    talk.choose("RatPermission", "p-login", "<Esc>");
    talk.viewer.nvim.command("RatLogin other");
    let request = talk.agent.expect_request("authenticate");
    talk.agent.send(&json!({"jsonrpc": "2.0", "id": request.id, "error":
        {"code": -32603, "message": text("p-refused"), "data": {"details": text("p-data")}}}));
    talk.viewer.poll("p-refused");
    let mut places = vec![
        "p-always",
        "p-ask",
        "p-old",
        "p-new",
        "p-model",
        "p-group",
        "p-in-mode",
        "p-listed",
        "p-login",
    ];
    if own {
        places.push("p-command");
    }
    talk.viewer.finish(&places);
}

/// Holds (Hostile agents): No text of an agent commands the terminal from choosers, pickers, completion, forms, errors or messages.
#[test]
fn no_chooser_of_ours_lets_a_sequence_through() {
    choosers_are_clean("", true);
}

/// Holds (Hostile agents): No text of an agent commands the terminal from choosers, pickers, completion, forms, errors or messages.
#[test]
fn no_picker_of_the_users_is_handed_a_sequence() {
    choosers_are_clean(PLAIN, false);
}

/// Holds (Hostile agents): No text of an agent commands the terminal from choosers, pickers, completion, forms, errors or messages.
#[test]
fn no_completion_lets_a_sequence_through() {
    let mut talk = Talk::start("");
    let file = "p-file \u{9b}7741m\u{1b}[7741mzq\u{202e}rat\u{7}.txt";
    talk.viewer.nvim.folder().file(&format!("project/{file}"), "text");
    talk.viewer.nvim.folder().file("project/p-plain.txt", "text");
    let command = |name: String| json!({"name": name, "description": text("p-does"), "input": {"hint": short("p-hint")}});
    talk.update(
        "available_commands_update",
        json!({"availableCommands": [command("plain".into()), json!({"name": "plainer", "description": text("p-does")}), command(text("p-slash"))]}),
    );
    talk.settle("All is offered.");
    let viewer = &mut talk.viewer;
    for options in ["pum", ""] {
        viewer.nvim.lua("vim.o.wildmode = 'full' vim.o.wildoptions = ...", json!([options]));
        for (keys, word) in
            [(":RatOption <Tab>", "RatOption m"), (":RatSend @p-<Tab>", "p-plain.txt")]
        {
            viewer.nvim.poll(keys, |nvim| {
                nvim.input(&format!("<Esc>{keys}"));
                nvim.lua("vim.cmd.redraw()", json!([]));
                nvim.screen().contains(word)
            });
            viewer.look();
            viewer.nvim.input("<Tab><Tab><Tab>");
            viewer.look();
            viewer.nvim.input("<Esc>");
        }
    }
    viewer.nvim.command("RatStart");
    viewer.nvim.input("i/<C-x><C-u>");
    viewer.poll("p-does");
    viewer.nvim.input("<C-n><C-n>");
    viewer.look();
    viewer.nvim.input("<Esc>ggdGi/plain ");
    viewer.poll("p-hint");
    viewer.nvim.input("<Esc>ggdGi@p-<C-x><C-u>");
    viewer.poll("@p-plain.txt");
    viewer.nvim.input("<Esc>ggdG");
    viewer.open("normal g/", "/plain <p-hint");
    viewer.nvim.input("<Esc>");
    viewer.finish(&["p-does", "p-hint", "p-plain.txt"]);
}

/// Holds (Hostile agents): No text of an agent commands the terminal from choosers, pickers, completion, forms, errors or messages.
#[test]
fn no_form_and_no_address_lets_a_sequence_through() {
    let mut talk = Talk::start("");
    let field = |kind: &str, place: &str, more: Json| {
        let mut field = json!({"type": kind, "title": text(place), "description": text("p-about")});
        field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        field
    };
    let choices = json!([{"const": text("p-value"), "title": text("p-choice"), "description": text("p-chosen")}]);
    let properties = json!({
        text("p-key"): field("string", "p-text", json!({"default": text("p-default"), "pattern": "^x$"})),
        "number": field("integer", "p-number", json!({"default": text("p-seven")})),
        "one": field("string", "p-one", json!({"oneOf": choices, "default": text("p-none")})),
        "enum": field("string", "p-enum", json!({"enum": [text("p-listed")]})),
        "several": field("array", "p-several", json!({"items": {"anyOf": choices}, "default": [text("p-value")]})),
        "odd": field(&text("p-type"), "p-odd", json!({})),
    });
    let schema = json!({"type": "object", "title": text("p-schema"), "description": text("p-explains"),
        "properties": properties, "required": [text("p-key"), text("p-key2")]});
    let params = json!({"sessionId": talk.session, "mode": "form", "message": text("p-message"), "requestedSchema": schema});
    let form = talk.agent.ask("elicitation/create", params);
    talk.viewer.nvim.poll_state("waiting");
    talk.viewer.open("RatForm", "p-number");
    for (field, footer) in
        [("p-text", "<CR> done"), ("p-one", "<CR> choose"), ("p-enum", "<CR> choose")]
    {
        talk.viewer.nvim.lua("vim.fn.search('\\\\V' .. ..., 'cw')", json!([field]));
        talk.viewer.nvim.input("<CR>");
        talk.viewer.poll(footer);
        talk.viewer.look_through();
        talk.viewer.nvim.input("<Esc><C-c>");
        talk.viewer.nvim.poll("the form", |nvim| !nvim.screen().contains(footer));
    }
    talk.viewer.nvim.command("RatForm");
    talk.viewer.nvim.input("ga");
    talk.viewer.poll("✗");
    talk.viewer.look_through();
    talk.viewer.nvim.input("gc");
    talk.agent.expect_answer(form).unwrap();
    talk.viewer.nvim.poll_state("running");
    let url = format!("https://{}.test/{}", "p-host", text("p-url"));
    let params = json!({"sessionId": talk.session, "mode": "url", "message": text("p-open"), "elicitationId": text("p-id"), "url": url});
    let address = talk.agent.ask("elicitation/create", params);
    talk.viewer.nvim.poll_state("waiting");
    talk.viewer.open("RatForm", "p-open");
    talk.viewer.nvim.input("gc");
    talk.agent.expect_answer(address).unwrap();
    talk.viewer.look();
    talk.viewer.finish(&[
        "p-message",
        "p-text",
        "p-number",
        "p-one",
        "p-choice",
        "p-several",
        "p-open",
        "p-host",
    ]);
}

/// Holds (Hostile agents): No text of an agent commands the terminal from choosers, pickers, completion, forms, errors or messages.
#[test]
fn no_error_lets_a_sequence_through() {
    for init in ["", PLAIN] {
        let mut talk = Talk::start(init);
        let error = |place: &str| json!({"code": -32603, "message": text(place), "data": {"details": text("p-data"), "p": text("p-more")}});
        talk.agent.send(&json!({"jsonrpc": "2.0", "id": talk.turn.id, "error": error("p-failed")}));
        talk.viewer.poll("p-failed");
        talk.viewer.nvim.command("RatMode a");
        let request = talk.agent.expect_request("session/set_config_option");
        talk.agent.send(&json!({"jsonrpc": "2.0", "id": request.id, "error": error("p-mode")}));
        talk.viewer.poll("p-mode");
        for (command, method, place) in
            [("RatSessions", "session/list", "p-list"), ("RatLogout", "logout", "p-out")]
        {
            talk.viewer.nvim.command(command);
            let request = talk.agent.expect_request(method);
            let error = json!({"code": -32603, "message": "no", "data": {"details": text(place)}});
            talk.agent.send(&json!({"jsonrpc": "2.0", "id": request.id, "error": error}));
            talk.viewer.poll(place);
            if method == "session/list" {
                talk.viewer.poll("Open which session?");
            }
            talk.viewer.nvim.input("<Esc>");
        }
        talk.agent.send_raw(format!("{}\n", text("p-garbage")).as_bytes());
        talk.update(
            "notice",
            json!({"severity": "info", "title": short("p-notice"), "description": text("p-why")}),
        );
        talk.viewer.poll("p-notice");
        talk.agent.exit(3, &text("p-last-words"));
        talk.viewer.nvim.poll_state("failed");
        talk.viewer.go_to("p-last-words");
        talk.viewer.look_through();
        talk.viewer.nvim.command("wincmd t");
        talk.viewer.open("RatLog", "ended agent=fake");
        let messages = talk.viewer.nvim.messages();
        assert!(!messages.contains(['\u{9b}', '\u{202e}', '\u{1b}']), "{messages}");
        talk.viewer.finish(&["p-failed", "p-mode", "p-list", "p-out", "p-last-words"]);
    }
}
