//! Choosing an answer to a permission request: with the user's `vim.ui.select`, with our chooser that does not
//! block, and from native diff mode; none of them opens while something is typed, and all leave the layout alone.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

use serde_json::{Value as Json, json};
use support::{Agent, Nvim, Options, Pending};

/// A picker of the user's that only keeps what it was asked.
const PICKER: &str = r"
    _G.asked = {}
    vim.ui.select = function(items, opts, on_choice)
      local names = vim.tbl_map(opts.format_item, items)
      table.insert(asked, { items = items, names = names, prompt = opts.prompt, choose = on_choice })
    end";

/// A turn that runs; the user is in a file, the chat stands beside it.
struct Turn {
    nvim: Nvim,
    agent: Agent,
    session: String,
}

impl Turn {
    fn start(options: Json) -> Self {
        let mut nvim = Nvim::start(Options { columns: 120, lines: 40, ..Options::default() });
        let file = nvim.folder().file("project/file.txt", "one\ntwo\nthree\n");
        nvim.folder().file("project/other.txt", "1\n2\n3\n");
        nvim.command(&format!("edit {} | split", file.display()));
        nvim.record(&["RatPermission"]);
        let mut agent = nvim.start_agent_with(options);
        let session = agent.handshake();
        nvim.poll_state("ready");
        nvim.command("wincmd t");
        nvim.send("go");
        agent.expect_request("session/prompt");
        Self { nvim, agent, session }
    }

    fn ask(&mut self, files: &[&str]) -> Pending {
        let diff = |name: &&str| {
            let path = self.nvim.cwd().join(name);
            let old = std::fs::read_to_string(&path).unwrap();
            json!({"type": "diff", "path": path, "oldText": old, "newText": format!("{old}more\n")})
        };
        let content: Vec<_> = files.iter().map(diff).collect();
        let params = json!({
            "sessionId": self.session,
            "toolCall": {"toolCallId": "edit", "title": "Edit", "kind": "edit", "content": content},
            "options": [
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ],
        });
        let before = self.nvim.events("RatPermission").len();
        let pending = self.agent.ask("session/request_permission", params);
        self.nvim.poll_events("RatPermission", before + 1);
        pending
    }

    fn answer(&mut self, pending: Pending) -> Json {
        self.agent.expect_answer(pending).unwrap()["outcome"].clone()
    }

    fn enter(&mut self, name: &str) {
        self.nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", json!([name]));
    }

    /// Waits until the user counts as idle and everything that waited for it was asked whether it may open.
    fn poll_idle(&mut self) {
        let code = "_G.idle = false
            require('rat.idle').when(function() return true end, function() idle = true end)";
        self.nvim.lua(code, json!([]));
        self.nvim.poll("an idle user", |nvim| nvim.lua("return idle", json!([])) == json!(true));
    }

    fn pickers(&mut self) -> Json {
        self.nvim.lua("return #asked", json!([]))
    }

    fn poll_picker(&mut self) {
        self.nvim.poll("the picker", |nvim| nvim.lua("return #asked", json!([])) == json!(1));
    }

    /// The windows, their sizes, the current one and the tab page.
    fn layout(&mut self) -> Json {
        let code = "return { vim.fn.winlayout(), vim.fn.winrestcmd(), vim.fn.win_getid(), vim.fn.tabpagenr('$') }";
        self.nvim.lua(code, json!([]))
    }
}

fn selected(option: &str) -> Json {
    json!({"outcome": "selected", "optionId": option})
}

#[test]
fn the_users_own_picker_gets_the_request_and_its_answer_counts() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    turn.nvim.lua(PICKER, json!([]));
    let pending = turn.ask(&["file.txt"]);
    turn.poll_picker();
    let asked = turn.nvim.lua("return { asked[1].names, asked[1].prompt }", json!([]));
    assert_eq!(
        asked,
        json!([
            ["[g1] Yes", "[g2] No", "[gd] Show the diff", "Decide later"],
            "Fake agent: Edit file.txt"
        ])
    );
    turn.nvim.lua("asked[1].choose(asked[1].items[2], 2)", json!([]));
    assert_eq!(turn.answer(pending), selected("no"));
    turn.nvim.poll_state("running");
}

#[test]
fn a_picker_that_is_dismissed_leaves_the_request_waiting() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    turn.nvim.lua(PICKER, json!([]));
    let pending = turn.ask(&[]);
    turn.poll_picker();
    turn.nvim.lua("asked[1].choose(nil, nil)", json!([]));
    turn.poll_idle();
    assert!(!turn.agent.is_answered(pending));
    assert_eq!(turn.nvim.status()["state"], json!("waiting"));
    turn.nvim.command("RatPermission");
    turn.nvim.lua("asked[2].choose(asked[2].items[1], 1)", json!([]));
    assert_eq!(turn.answer(pending), selected("yes"));
}

/// ACP 75.
#[test]
fn a_picker_answered_late_changes_nothing() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    turn.nvim.lua(PICKER, json!([]));
    let first = turn.ask(&[]);
    turn.poll_picker();
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(first), selected("no"));
    turn.nvim.poll_state("running");
    let second = turn.ask(&[]);
    turn.nvim.lua("asked[1].choose(asked[1].items[1], 1)", json!([]));
    // What is sent after it in the same order shows that it was not sent.
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(second), selected("no"));
    assert_eq!(turn.agent.unexpected(), [""; 0]);
}

#[test]
fn chat_opens_in_the_chat_only_and_once_nothing_is_typed() {
    let mut turn = Turn::start(json!({}));
    turn.nvim.lua(PICKER, json!([]));
    turn.ask(&[]);
    turn.poll_idle();
    assert_eq!(turn.pickers(), json!(0), "opened while the user was in a file");
    turn.enter("rat://fake/1/prompt");
    turn.nvim.input("iwriting");
    turn.nvim.poll_screen("writing");
    assert_eq!(turn.pickers(), json!(0), "opened while the user was writing");
    turn.nvim.input("<Esc>");
    turn.poll_idle();
    assert_eq!(turn.pickers(), json!(0), "opened over a draft");
    turn.enter("rat://fake/1");
    turn.poll_idle();
    assert_eq!(turn.pickers(), json!(0), "opened beside a draft");
    turn.enter("rat://fake/1/prompt");
    turn.nvim.input("dd");
    turn.poll_picker();
}

#[test]
fn always_opens_in_a_file_but_not_within_a_command() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    turn.nvim.lua(PICKER, json!([]));
    turn.nvim.input("d");
    turn.nvim
        .poll("a pending d", |nvim| nvim.call("nvim_get_mode", json!([]))["mode"] == json!("no"));
    turn.ask(&[]);
    assert_eq!(turn.pickers(), json!(0));
    turn.nvim.input("d");
    turn.poll_picker();
    assert_eq!(turn.nvim.lua("return vim.fn.getline(1, '$')", json!([])), json!(["two", "three"]));
}

#[test]
fn never_opens_on_request_only() {
    let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
    turn.nvim.lua(PICKER, json!([]));
    turn.ask(&[]);
    turn.enter("rat://fake/1");
    turn.poll_idle();
    assert_eq!(turn.pickers(), json!(0));
    turn.nvim.command("RatPermission");
    assert_eq!(turn.pickers(), json!(1));
}

#[test]
fn our_own_chooser_blocks_nothing_and_gives_the_focus_back() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    let before = turn.layout();
    let pending = turn.ask(&[]);
    turn.nvim.poll_screen("<CR> choose");
    assert!(!turn.nvim.mode_is_blocked());
    turn.agent.say(&turn.session, "still drawing");
    turn.nvim.poll_screen("still drawing");
    turn.nvim.input("2<CR>");
    assert_eq!(turn.answer(pending), selected("no"));
    turn.nvim.poll("no chooser", |nvim| !nvim.screen().contains("<CR> choose"));
    assert_eq!(turn.layout(), before);
}

#[test]
fn our_own_chooser_takes_a_digit_and_closes_when_answered_elsewhere() {
    let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
    let pending = turn.ask(&[]);
    turn.nvim.command("RatPermission");
    turn.nvim.choose(2);
    assert_eq!(turn.answer(pending), selected("no"));
    let pending = turn.ask(&[]);
    turn.nvim.command("RatPermission");
    turn.nvim.poll_screen("<CR> choose");
    turn.nvim.input("<Esc>");
    turn.nvim.poll("no chooser", |nvim| !nvim.screen().contains("<CR> choose"));
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.command("RatPermission");
    turn.nvim.poll_screen("<CR> choose");
    turn.nvim.command("RatCancel");
    turn.nvim.poll("no chooser", |nvim| !nvim.screen().contains("<CR> choose"));
    assert_eq!(turn.answer(pending), json!({"outcome": "cancelled"}));
}

#[test]
fn a_chooser_that_opens_by_itself_takes_no_key_that_was_meant_for_something_else() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    let pending = turn.ask(&[]);
    turn.nvim.poll("the chooser", |nvim| nvim.screen().contains("2  No"));
    // Typed on and on, as for the file: what stands in the chooser's frame says when it takes keys.
    turn.nvim.input("10j<CR>2<CR>:1<CR>");
    turn.nvim.poll_screen("<CR> choose");
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.input("<CR>");
    turn.nvim.poll_screen("type the answer's number first");
    turn.nvim.input("1");
    turn.nvim.poll_screen("<CR> choose");
    turn.nvim.input("<CR>");
    assert_eq!(turn.answer(pending), selected("yes"));
}

#[test]
fn what_is_typed_long_after_a_chooser_has_opened_is_not_an_answer() {
    let mut turn = Turn::start(json!({}));
    turn.enter("rat://fake/1/prompt");
    let pending = turn.ask(&["file.txt"]);
    turn.nvim.poll_screen("<CR> choose");
    // A sentence goes where it was meant for.
    turn.nvim.input("ijust wait, what is 2<CR>");
    turn.nvim.poll("the draft", |nvim| {
        nvim.buffer_lines("rat://fake/1/prompt") == ["just wait, what is 2", ""]
    });
    assert!(!turn.agent.is_answered(pending));
    turn.nvim.input("<Esc>ggdG");
    turn.nvim.command("RatPermission");
    // What begins with no key of the chooser is held back until the user pauses, whatever follows.
    for keys in ["jwhy 2<CR>", "2x<CR>", "1<Space>1<CR>", "9<CR>"] {
        turn.nvim.poll_screen("<CR> choose");
        turn.nvim.poll("keys", |nvim| {
            let map = "return vim.fn.maparg('<CR>', 'n', false, true).desc or ''";
            nvim.lua(map, json!([])) != json!("rat: not meant for this")
        });
        turn.nvim.input(keys);
        turn.nvim
            .poll("no answer", |nvim| nvim.lua("return vim.bo.filetype", json!([])) == "ratselect");
        assert!(!turn.agent.is_answered(pending), "{keys}");
    }
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(pending), selected("no"));
}

/// The keys that read and open in the chat.
#[test]
fn in_a_chooser_that_opened_by_itself_moves_are_for_reading() {
    let mut turn = Turn::start(json!({}));
    turn.enter("rat://fake/1");
    for keys in ["j<CR>", "10j<CR>", "2j<CR>", "jj<CR>", "G<CR>", "<Down><CR>", "gg<CR>", "1j<CR>"]
    {
        let pending = turn.ask(&["file.txt"]);
        turn.nvim.poll_screen("<CR> choose");
        turn.nvim.input(keys);
        turn.nvim.poll_screen("type the answer's number first");
        assert!(!turn.agent.is_answered(pending), "{keys}");
        turn.nvim.input("2<CR>");
        assert_eq!(turn.answer(pending), selected("no"), "{keys}");
        turn.nvim.poll_state("running");
    }
}

#[test]
fn a_command_does_not_decide_what_waits_elsewhere_where_several_do() {
    let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
    turn.nvim.command("RatToggle");
    let (first, second) = (turn.ask(&[]), turn.ask(&["file.txt"]));
    turn.nvim.poll("both", |nvim| nvim.status()["permissions"].as_array().unwrap().len() == 2);
    turn.nvim.command("tabnew | cd /");
    turn.nvim.command("RatAllow");
    turn.nvim.poll_screen("<CR> choose");
    assert!(!turn.agent.is_answered(first) && !turn.agent.is_answered(second));
    turn.nvim.input("1<CR>");
    assert_eq!(turn.answer(first), selected("yes"));
    // The only one that waits is the one meant.
    turn.nvim.command("RatDeny");
    assert_eq!(turn.answer(second), selected("no"));
}

#[test]
fn the_keys_of_the_card_work_in_the_chooser_that_covers_it() {
    for (keys, option) in [("ga", "yes"), ("gr", "no"), ("g2", "no")] {
        let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
        let pending = turn.ask(&[]);
        turn.nvim.command("RatPermission");
        turn.nvim.poll_screen("<CR> choose");
        turn.nvim.input(keys);
        assert_eq!(turn.answer(pending), selected(option), "{keys}");
    }
}

#[test]
fn a_command_names_what_it_decides_out_of_sight_and_a_request_there_is_told() {
    let mut turn = Turn::start(json!({}));
    turn.nvim.command("RatToggle");
    let pending = turn.ask(&["file.txt"]);
    let said = |nvim: &mut Nvim| nvim.messages().replace('\n', " ");
    turn.nvim.poll("word of it", |nvim| said(nvim).contains("Fake agent in project asks: Edit"));
    turn.nvim.command("RatAllow");
    assert_eq!(turn.answer(pending), selected("yes"));
    turn.nvim
        .poll("its name", |nvim| said(nvim).contains("allowed once: Edit (Fake agent in project)"));
}

#[test]
fn an_answer_of_a_picker_that_was_typed_for_something_else_asks_again() {
    let mut turn = Turn::start(json!({"permission": {"open": "always"}}));
    turn.nvim.lua(PICKER, json!([]));
    let pending = turn.ask(&[]);
    turn.poll_picker();
    // A key that follows at once, and chooses.
    turn.nvim.lua(
        "vim.keymap.set('n', 'x', function() asked[1].choose(asked[1].items[1], 1) end)
         vim.api.nvim_input('x')",
        json!([]),
    );
    turn.nvim.poll_screen("<CR> choose");
    assert!(!turn.agent.is_answered(pending));
    assert_eq!(turn.pickers(), json!(1), "asked again, in a chooser of ours");
    turn.nvim.input("1<CR>");
    assert_eq!(turn.answer(pending), selected("yes"));
}

#[test]
fn a_chooser_shows_more_answers_than_there_are_digits() {
    let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
    let options: Vec<_> = (1..=12)
        .map(|n| json!({"optionId": format!("o{n}"), "name": format!("Option {n}"), "kind": "allow_once"}))
        .collect();
    let call = json!({"toolCallId": "t", "title": "Choose"});
    let params = json!({"sessionId": turn.session, "toolCall": call, "options": options});
    let pending = turn.agent.ask("session/request_permission", params);
    turn.nvim.poll_events("RatPermission", 1);
    turn.nvim.command("RatPermission");
    turn.nvim.poll_screen(" 12  Option 12");
    turn.nvim.input("G<CR>");
    assert_eq!(turn.answer(pending), selected("o12"));
}

#[test]
fn a_native_diff_shows_each_file_and_closing_it_restores_the_layout() {
    let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
    let pending = turn.ask(&["file.txt", "other.txt"]);
    turn.enter("rat://fake/1");
    let before = turn.layout();
    turn.nvim.input("gd");
    turn.nvim.poll_screen("file.txt 1 of 2");
    let sides = "return vim.tbl_map(function(win)
          local buf = vim.api.nvim_win_get_buf(win)
          return { vim.wo[win].diff, vim.api.nvim_buf_get_lines(buf, 0, -1, false) }
        end, vim.api.nvim_tabpage_list_wins(0))";
    let files = json!([[true, ["one", "two", "three"]], [true, ["one", "two", "three", "more"]]]);
    assert_eq!(turn.nvim.lua(sides, json!([])), files);
    turn.nvim.input("]f");
    turn.nvim.poll_screen("other.txt 2 of 2");
    assert_eq!(turn.nvim.lua(sides, json!([]))[0], json!([true, ["1", "2", "3"]]));
    turn.nvim.input("[f");
    turn.nvim.poll_screen("file.txt 1 of 2");
    turn.nvim.input("q");
    turn.nvim.poll("one tab page", |nvim| nvim.lua("return vim.fn.tabpagenr('$')", json!([])) == 1);
    assert_eq!(turn.layout(), before);
    assert!(!turn.agent.is_answered(pending));
    let left = "return #vim.tbl_filter(function(buf)
          return vim.api.nvim_buf_get_name(buf):find('rat://diff', 1, true)
        end, vim.api.nvim_list_bufs())";
    assert_eq!(turn.nvim.lua(left, json!([])), json!(0), "buffers of the diff are left behind");
}

#[test]
fn a_native_diff_answers_with_its_keys() {
    for (keys, option) in [("ga", "yes"), ("gr", "no"), ("g1", "yes"), ("g2", "no")] {
        let mut turn = Turn::start(json!({"permission": {"open": "never"}}));
        let pending = turn.ask(&["file.txt"]);
        turn.enter("rat://fake/1");
        turn.nvim.input("gd");
        turn.nvim.poll_screen("ga allow  gr reject");
        turn.nvim.input(keys);
        assert_eq!(turn.answer(pending), selected(option), "{keys}");
        turn.nvim
            .poll("one tab page", |nvim| nvim.lua("return vim.fn.tabpagenr('$')", json!([])) == 1);
    }
}

#[test]
fn diff_tab_shows_the_diff_by_itself_and_closes_it_with_the_request() {
    let mut turn = Turn::start(json!({"diff": "tab"}));
    turn.enter("rat://fake/1/prompt");
    let before = turn.layout();
    let pending = turn.ask(&["file.txt"]);
    turn.nvim.poll_screen("ga allow  gr reject");
    assert_eq!(turn.nvim.lua("return vim.fn.tabpagenr('$')", json!([])), json!(2));
    turn.nvim.command("RatCancel");
    assert_eq!(turn.answer(pending), json!({"outcome": "cancelled"}));
    turn.nvim.poll("one tab page", |nvim| nvim.lua("return vim.fn.tabpagenr('$')", json!([])) == 1);
    assert_eq!(turn.layout(), before);
}

#[test]
fn the_chooser_leads_to_the_diff() {
    let mut turn = Turn::start(json!({}));
    let pending = turn.ask(&["file.txt"]);
    turn.enter("rat://fake/1");
    turn.nvim.poll_screen("<CR> choose");
    turn.nvim.input("3<CR>");
    turn.nvim.poll_screen("ga allow  gr reject");
    turn.nvim.input("ga");
    assert_eq!(turn.answer(pending), selected("yes"));
}
