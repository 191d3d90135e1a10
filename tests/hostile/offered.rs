//! Hostile names of what an agent offers to choose from: shown as a name wherever it is shown, and told to the agent as it
//! is, however it was chosen.

use super::names::{self, NAMES};
use crate::support::{Chat, Nvim};
use serde_json::{Value as Json, json};

/// Those that mean something to the command line, to mappings and to status lines.
const MORE: &[&str] = &[
    "x<CR>:!touch FLAG<CR>",
    "<C-r>=system('touch FLAG')<CR>",
    "x\" | !touch FLAG",
    "\"x",
    "x\ty",
    "\tx",
    "\u{16}x",
    "%{%system('touch FLAG')%}",
    "%#Error#x%*",
    "%@system@x%X",
    "%=%<%999x",
    "漢字 😀",
    "a\u{300}\u{200b}\u{ad}",
];

/// A value that is set last, so that all before it is known to have been set or not.
const LAST: &str = "last";

fn all() -> Vec<String> {
    NAMES.iter().chain(MORE).map(|name| (*name).to_owned()).chain(["x".repeat(300)]).collect()
}

/// A picker that takes at once what it is told to, and notes what it was given that is no plain line.
const PICKER: &str = r"
    _G.picks, _G.unfit, _G.shown = {}, {}, 0
    vim.ui.select = function(items, opts, on_choice)
      local lines = vim.tbl_map(opts.format_item, items)
      shown = #lines
      for _, line in ipairs(vim.list_extend({ opts.prompt }, lines)) do
        if vim.fn.strtrans(line) ~= line then
          table.insert(unfit, line)
        end
      end
      local index = table.remove(picks, 1)
      on_choice(items[index], items[index] and index)
    end
";

fn options() -> Json {
    let choice = |name: &String| json!({"value": name, "name": name, "description": name});
    let choices: Vec<_> = all().iter().chain([&LAST.to_owned()]).map(choice).collect();
    let grouped =
        json!([{"group": "x\n!touch FLAG", "name": "x\n!touch FLAG", "options": choices}]);
    let mut options = vec![
        json!({"id": "mode", "name": "x\ny", "category": "mode", "type": "select", "currentValue": "%",
            "options": grouped}),
    ];
    let boolean = |name: &String| {
        json!({"id": name, "name": name, "category": name, "description": name, "type": "boolean",
            "currentValue": false})
    };
    options.extend(all().iter().map(boolean));
    json!(options)
}

struct Talk {
    chat: Chat,
    processes: Vec<u32>,
}

impl Talk {
    fn start(more: Json) -> Self {
        let mut nvim = Nvim::start(names::init());
        names::make_files(&nvim);
        nvim.lua(PICKER, json!([]));
        let mut initialized = names::initialized();
        initialized["agentInfo"]["title"] = json!("%{system('touch FLAG')}\n%!x");
        initialized["agentCapabilities"]["sessionCapabilities"]["list"] = json!({});
        let chat = Chat::builder().neovim(nvim).initialized(initialized).opened(more);
        let chat = chat.setup(json!({"permission": {"open": "never"}})).start();
        let processes = chat.nvim.processes().living();
        Self { chat, processes }
    }

    /// Chooses these places of the pickers that a command opens.
    fn pick(&mut self, command: &str, picks: &[usize]) {
        self.chat.nvim.lua("picks = ...", json!([picks]));
        self.chat.nvim.command(command);
        self.chat.nvim.poll("the picker", |nvim| nvim.eval("#picks") == json!(0));
    }

    /// The options that were set, as pairs of their id and value, up to the sentinel.
    fn settings(&mut self) -> Vec<(String, Json)> {
        self.chat.nvim.command(&format!("RatMode {LAST}"));
        let mut settings = Vec::new();
        loop {
            let request = self.chat.agent.expect_request("session/set_config_option");
            self.chat.agent.reply(&request, json!({"configOptions": options()}));
            let id = request.params["configId"].as_str().unwrap().to_owned();
            let value = request.params["value"].clone();
            if value == json!(LAST) {
                return settings;
            }
            settings.push((id, value));
        }
    }

    /// What a command completes to, each chosen with `<Tab>` and carried out.
    fn complete(&mut self, command: &str) -> Vec<String> {
        let words = self
            .chat
            .nvim
            .lua("return vim.fn.getcompletion(... .. ' ', 'cmdline')", json!([command]));
        let words: Vec<String> = serde_json::from_value(words).unwrap();
        for (at, word) in words.iter().enumerate() {
            if word == LAST {
                continue;
            }
            self.chat.nvim.lua("picks = { 1 }", json!([]));
            // From the nearer end; what was typed stands between the last one and the first.
            let keys = if at * 2 < words.len() {
                "<Tab>".repeat(at + 1)
            } else {
                format!("<Tab>{}", "<C-p>".repeat(words.len() - at + 1))
            };
            self.chat.nvim.feed(&format!(":{command} {keys}<CR>"));
        }
        words
    }

    fn finish(mut self) {
        let unfit = self.chat.nvim.eval("unfit");
        assert!(unfit.as_array().is_none_or(Vec::is_empty), "shown as something else: {unfit:#}");
        names::look(&mut self.chat.nvim, &self.processes);
    }
}

/// Compares lists, and shows where they begin to differ.
fn same<T: PartialEq + std::fmt::Debug>(left: &[T], right: &[T]) {
    let at = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    assert_eq!(left.get(at), right.get(at), "place {at} of {} and {}", left.len(), right.len());
}

/// Holds (Hostile agents): Hostile names of options and values go back to the agent as they are when completed.
#[test]
fn what_completes_comes_back_as_the_agent_has_named_it() {
    let mut talk = Talk::start(json!({"configOptions": options()}));
    for command in ["RatMode", "RatOption"] {
        let words = talk.complete(command);
        let set: Vec<_> = talk
            .settings()
            .into_iter()
            .map(|(id, value)| match value {
                Json::String(value) => value,
                _ => id,
            })
            .collect();
        for name in ["%", "#1", "<cword>", "`touch FLAG`", "|!touch FLAG", "x\\"] {
            assert!(
                words.iter().any(|word| word == name) || name.contains(' '),
                "{name:?} is not offered"
            );
        }
        // The picker of the mode's values takes the first one.
        let words: Vec<_> = words
            .into_iter()
            .filter(|word| word != LAST)
            .map(|word| if word == "mode" { all()[0].clone() } else { word })
            .collect();
        same(&set, &words);
    }
    talk.finish();
}

/// Holds (Hostile agents): A file whose name would be shown as another is not completed.
#[test]
fn a_file_whose_name_would_be_shown_as_another_is_not_completed() {
    let mut talk = Talk::start(json!({}));
    let words = "return vim.fn.getcompletion('RatSend @', 'cmdline')";
    let words = talk.chat.nvim.poll_for("files", |nvim| {
        let words = nvim.lua(words, json!([])).as_array()?.clone();
        (!words.is_empty()).then_some(words)
    });
    assert!(words.contains(&json!("@ex:x")), "{words:#?}");
    let unfit = |word: &&Json| word.as_str().unwrap().contains(char::is_control);
    assert_eq!(words.iter().find(unfit), None);
    talk.finish();
}

/// Holds (Hostile agents): Hostile names of options and values go back to the agent as they are when picked.
#[test]
fn what_is_picked_comes_back_as_the_agent_has_named_it() {
    let mut talk = Talk::start(json!({"configOptions": options()}));
    for at in 0..all().len() {
        talk.pick("RatMode", &[at + 1]);
        talk.pick("RatOption", &[at + 2, 1]);
    }
    let mut wanted = Vec::new();
    for name in all() {
        wanted.push(("mode".to_owned(), json!(name)));
        wanted.push((name, json!(true)));
    }
    same(&talk.settings(), &wanted);
    talk.finish();
}

/// Holds (Hostile agents): Hostile names of commands, sessions and answers go back to the agent as they are.
#[test]
fn commands_sessions_and_answers_come_back_as_the_agent_has_named_them() {
    let mut talk = Talk::start(json!({}));
    let command =
        |name: &String| json!({"name": name, "description": name, "input": {"hint": name}});
    let commands: Vec<_> = all().iter().map(command).collect();
    talk.chat.offer(&json!(commands));
    talk.chat.nvim.command("RatStart");
    talk.chat.nvim.poll("the commands", |nvim| {
        nvim.command("normal g/");
        nvim.eval("shown") != json!(0)
    });
    let count = talk.chat.nvim.eval("shown").as_u64().unwrap();
    let mut picked = Vec::new();
    for at in 1..=count {
        talk.pick("normal g/", &[usize::try_from(at).unwrap()]);
        picked.push(talk.chat.draft().join("\n"));
        talk.chat.nvim.feed("<Esc>ggdG");
    }
    let typed = all().into_iter().filter(|name| picked.contains(&format!("/{name} "))).count();
    assert_eq!(typed, picked.len(), "{picked:#?}");
    assert!(typed > 50, "{picked:#?}");
    talk.chat.prompt("go");
    let option = |name: &String| json!({"optionId": name, "name": name, "kind": "allow_once"});
    let options: Vec<_> = all().iter().map(option).collect();
    for (at, name) in all().iter().enumerate() {
        let call = json!({"toolCallId": name, "title": name});
        let pending = talk.chat.ask_permission(call, json!(options));
        talk.pick("RatPermission", &[at + 1]);
        let answer = talk.chat.answer(pending);
        assert_eq!(answer["outcome"], json!({"outcome": "selected", "optionId": name}));
        talk.chat.nvim.poll("no request", |nvim| nvim.waiting() == 0);
    }
    talk.chat.end_turn("end_turn");
    talk.chat.nvim.poll_state("ready");
    let session = |name: &String| json!({"sessionId": name, "title": name, "cwd": talk.chat.nvim.cwd(), "updatedAt": name});
    let sessions: Vec<_> = all().iter().filter(|name| !name.is_empty()).map(session).collect();
    talk.chat.nvim.lua("shown = 0", json!([]));
    talk.chat.nvim.command("RatSessions");
    let request = talk.chat.agent.expect_request("session/list");
    talk.chat.agent.reply(&request, json!({"sessions": sessions, "nextCursor": "x\n"}));
    let count = json!(sessions.len() + 2); // the one of now, and more of them
    talk.chat.nvim.poll("the sessions", |nvim| nvim.eval("shown") == count);
    talk.finish();
}

/// Holds (Hostile agents): A title is text in a statusline, never an expression.
#[test]
fn a_title_is_no_part_of_a_status_line() {
    let mut talk = Talk::start(json!({}));
    let bars = "vim.o.statusline = '%{%v:lua.require(\"rat\").statusline()%}'
        vim.o.tabline, vim.o.showtabline = '%!v:lua.require(\"rat\").statusline()', 2
        vim.o.title, vim.o.titlestring = true, '%{%v:lua.require(\"rat\").statusline()%}'";
    talk.chat.nvim.lua(bars, json!([]));
    talk.chat.nvim.command("RatStart");
    let bar = "vim.cmd.redraw()
        local win = vim.fn.bufwinid('rat://fake/1')
        return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { use_winbar = true, winid = win }).str";
    for (at, name) in all().into_iter().enumerate() {
        let title = format!("{at}: {name}");
        talk.chat
            .agent
            .update("s1", json!({"sessionUpdate": "session_info_update", "title": title}));
        let start = format!(
            "{at}: {}",
            name.chars().take(5).take_while(char::is_ascii_graphic).collect::<String>()
        );
        talk.chat.nvim.poll(&format!("{start:?} in the bar"), |nvim| {
            nvim.lua(bar, json!([])).as_str().unwrap().contains(&start)
        });
    }
    talk.finish();
}

/// Holds (Hostile agents): Hostile names in forms go back to the agent as they are.
#[test]
fn a_form_comes_back_with_its_own_names() {
    let mut talk = Talk::start(json!({}));
    let field = |name: &String| {
        (
            name.clone(),
            json!({"type": "string", "title": name, "description": name, "enum": [name, "other"], "default": name}),
        )
    };
    let fields: serde_json::Map<_, _> = all().iter().map(field).collect();
    let schema = json!({"type": "object", "title": "x\n!touch FLAG", "properties": fields});
    let params = json!({"sessionId": "s1", "mode": "form", "message": "%{system('touch FLAG')}", "requestedSchema": schema});
    let form = talk.chat.agent.ask("elicitation/create", params);
    talk.chat.nvim.poll("the form", |nvim| nvim.status()["elicitations"][0] != Json::Null);
    talk.chat.nvim.command("RatForm");
    talk.chat.nvim.poll("its window", |nvim| nvim.eval("vim.bo.filetype") == json!("ratform"));
    talk.chat.nvim.input("ga");
    let answer = talk.chat.agent.expect_answer(form).unwrap();
    assert_eq!(answer["action"], json!("accept"));
    let content = answer["content"].as_object().unwrap();
    for name in all().into_iter().filter(|name| !name.is_empty()) {
        assert_eq!(content.get(&name), Some(&json!(name)));
    }
    talk.chat.nvim.poll("a closed form", |nvim| {
        nvim.eval("vim.fn.bufexists(vim.fn.bufname('rat://form/'))") == json!(0)
    });
    talk.finish();
}
