//! Choosing an answer to a permission request: with the user's `vim.ui.select`, with our chooser that does not
//! block, and from native diff mode; none of them opens while something is typed, and all leave the layout alone.

use crate::support::{Chat, Nvim, PROMPT, Pending, TRANSCRIPT, yes_or_no};
use serde_json::{Value as Json, json};

/// A picker of the user's that only keeps what it was asked.
const PICKER: &str = r"
    _G.asked = {}
    vim.ui.select = function(items, opts, on_choice)
      local names = vim.tbl_map(opts.format_item, items)
      table.insert(asked, { items = items, names = names, prompt = opts.prompt, choose = on_choice })
    end";

/// A turn that runs; the user is in a file, the chat stands beside it.
fn in_a_file(settings: Json) -> Chat {
    let mut nvim = Nvim::wide();
    let file = nvim.file("file.txt", "one\ntwo\nthree\n");
    nvim.command(&format!("edit {} | split", file.display()));
    let chat = Chat::builder().neovim(nvim).file("other.txt", "1\n2\n3\n").setup(settings);
    let mut chat = chat.start();
    chat.nvim.command("wincmd t");
    chat.prompt("go");
    chat
}

/// The same with this value of the option `permission.open`.
fn that_opens(open: &str) -> Chat {
    in_a_file(json!({"permission": {"open": open}}))
}

/// Asks whether a line may be added to each of these files.
fn ask(chat: &mut Chat, files: &[&str]) -> Pending {
    let diff = |name: &&str| {
        let path = chat.path(name);
        let old = std::fs::read_to_string(&path).unwrap();
        json!({"type": "diff", "path": path, "oldText": old, "newText": format!("{old}more\n")})
    };
    let content: Vec<_> = files.iter().map(diff).collect();
    let call = json!({"toolCallId": "edit", "title": "Edit", "kind": "edit", "content": content});
    chat.ask_permission(call, yes_or_no())
}

fn outcome(chat: &mut Chat, pending: Pending) -> Json {
    chat.answer(pending)["outcome"].clone()
}

fn pickers(nvim: &mut Nvim) -> Json {
    nvim.eval("#asked")
}

fn poll_picker(nvim: &mut Nvim) {
    nvim.poll("the picker", |nvim| pickers(nvim) == json!(1));
}

fn selected(option: &str) -> Json {
    json!({"outcome": "selected", "optionId": option})
}

#[test]
fn the_users_own_picker_gets_the_request_and_its_answer_counts() {
    let mut chat = that_opens("always");
    chat.nvim.lua(PICKER, json!([]));
    let pending = ask(&mut chat, &["file.txt"]);
    poll_picker(&mut chat.nvim);
    let asked = chat.nvim.eval("{ asked[1].names, asked[1].prompt }");
    assert_eq!(
        asked,
        json!([
            ["[g1] Yes", "[g2] No", "[gd] Show the diff", "Decide later"],
            "Fake agent: Edit · file.txt"
        ])
    );
    chat.nvim.lua("asked[1].choose(asked[1].items[2], 2)", json!([]));
    assert_eq!(outcome(&mut chat, pending), selected("no"));
    chat.nvim.poll_state("running");
}

#[test]
fn a_picker_that_is_dismissed_leaves_the_request_waiting() {
    let mut chat = that_opens("always");
    chat.nvim.lua(PICKER, json!([]));
    let pending = ask(&mut chat, &[]);
    poll_picker(&mut chat.nvim);
    chat.nvim.lua("asked[1].choose(nil, nil)", json!([]));
    chat.nvim.poll_idle();
    assert!(!chat.agent.is_answered(pending));
    assert_eq!(chat.nvim.status()["state"], json!("waiting"));
    chat.nvim.command("RatPermission");
    chat.nvim.lua("asked[2].choose(asked[2].items[1], 1)", json!([]));
    assert_eq!(outcome(&mut chat, pending), selected("yes"));
}

/// ACP 75.
/// Holds (Permission requests): A late answer of a picker changes nothing.
#[test]
fn a_picker_answered_late_changes_nothing() {
    let mut chat = that_opens("always");
    chat.nvim.lua(PICKER, json!([]));
    let first = ask(&mut chat, &[]);
    poll_picker(&mut chat.nvim);
    chat.nvim.command("RatDeny");
    assert_eq!(outcome(&mut chat, first), selected("no"));
    chat.nvim.poll_state("running");
    let second = ask(&mut chat, &[]);
    chat.nvim.lua("asked[1].choose(asked[1].items[1], 1)", json!([]));
    // What is sent after it in the same order shows that it was not sent.
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny");
    assert_eq!(outcome(&mut chat, second), selected("no"));
    assert_eq!(chat.agent.unexpected(), [""; 0]);
}

/// Holds (Permission requests): By default the chooser opens while the user is in the chat and not typing.
#[test]
fn chat_opens_in_the_chat_only_and_once_nothing_is_typed() {
    let mut chat = that_opens("chat");
    chat.nvim.lua(PICKER, json!([]));
    ask(&mut chat, &[]);
    chat.nvim.poll_idle();
    assert_eq!(pickers(&mut chat.nvim), json!(0), "opened while the user was in a file");
    chat.nvim.enter(PROMPT);
    chat.nvim.input("iwriting");
    chat.nvim.poll_screen("writing");
    assert_eq!(pickers(&mut chat.nvim), json!(0), "opened while the user was writing");
    chat.nvim.input("<Esc>");
    chat.nvim.poll_idle();
    assert_eq!(pickers(&mut chat.nvim), json!(0), "opened over a draft");
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.poll_idle();
    assert_eq!(pickers(&mut chat.nvim), json!(0), "opened beside a draft");
    chat.nvim.enter(PROMPT);
    chat.nvim.input("dd");
    poll_picker(&mut chat.nvim);
}

/// Holds (Permission requests): With `permission.open = "always"` the chooser opens in a file, but not within a command.
#[test]
fn always_opens_in_a_file_but_not_within_a_command() {
    let mut chat = that_opens("always");
    chat.nvim.lua(PICKER, json!([]));
    chat.nvim.input("d");
    chat.nvim
        .poll("a pending d", |nvim| nvim.call("nvim_get_mode", json!([]))["mode"] == json!("no"));
    ask(&mut chat, &[]);
    assert_eq!(pickers(&mut chat.nvim), json!(0));
    chat.nvim.input("d");
    poll_picker(&mut chat.nvim);
    assert_eq!(chat.nvim.eval("vim.fn.getline(1, '$')"), json!(["two", "three"]));
}

/// Holds (Permission requests): With `permission.open = "never"` the chooser opens on request only.
#[test]
fn never_opens_on_request_only() {
    let mut chat = that_opens("never");
    chat.nvim.lua(PICKER, json!([]));
    ask(&mut chat, &[]);
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.poll_idle();
    assert_eq!(pickers(&mut chat.nvim), json!(0));
    chat.nvim.command("RatPermission");
    assert_eq!(pickers(&mut chat.nvim), json!(1));
}

/// Holds (Permission requests): Our chooser does not block, and gives the focus back.
#[test]
fn our_own_chooser_blocks_nothing_and_gives_the_focus_back() {
    let mut chat = that_opens("always");
    let before = chat.nvim.layout();
    let pending = ask(&mut chat, &[]);
    chat.nvim.poll_screen("<CR> choose");
    assert!(!chat.nvim.mode_is_blocked());
    chat.say("still drawing");
    chat.nvim.poll_screen("still drawing");
    chat.nvim.input("2<CR>");
    assert_eq!(outcome(&mut chat, pending), selected("no"));
    chat.nvim.poll_no("<CR> choose");
    assert_eq!(chat.nvim.layout(), before);
}

#[test]
fn our_own_chooser_takes_a_digit_and_closes_when_answered_elsewhere() {
    let mut chat = that_opens("never");
    let pending = ask(&mut chat, &[]);
    chat.nvim.command("RatPermission");
    chat.nvim.choose(2);
    assert_eq!(outcome(&mut chat, pending), selected("no"));
    let pending = ask(&mut chat, &[]);
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.input("<Esc>");
    chat.nvim.poll_no("<CR> choose");
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.command("RatCancel");
    chat.nvim.poll_no("<CR> choose");
    assert_eq!(outcome(&mut chat, pending), json!({"outcome": "cancelled"}));
}

/// Holds (Permission requests): Keys typed for something else never choose an answer, however long the chooser has been open.
#[test]
fn a_chooser_that_opens_by_itself_takes_no_key_that_was_meant_for_something_else() {
    let mut chat = that_opens("always");
    let pending = ask(&mut chat, &[]);
    chat.nvim.poll("the chooser", |nvim| nvim.screen().contains("2  No"));
    // Typed on and on, as for the file: what stands in the chooser's frame says when it takes keys.
    chat.nvim.input("10j<CR>2<CR>:1<CR>");
    chat.nvim.poll_screen("<CR> choose");
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.input("<CR>");
    chat.nvim.poll_screen("type the answer's number first");
    chat.nvim.input("1");
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.input("<CR>");
    assert_eq!(outcome(&mut chat, pending), selected("yes"));
}

/// Holds (Permission requests): Keys typed for something else never choose an answer, however long the chooser has been open.
#[test]
fn what_is_typed_long_after_a_chooser_has_opened_is_not_an_answer() {
    let mut chat = that_opens("chat");
    chat.nvim.enter(PROMPT);
    let pending = ask(&mut chat, &["file.txt"]);
    chat.nvim.poll_screen("<CR> choose");
    // A sentence goes where it was meant for.
    chat.nvim.input("ijust wait, what is 2<CR>");
    chat.nvim.poll("the draft", |nvim| nvim.buffer_lines(PROMPT) == ["just wait, what is 2", ""]);
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.input("<Esc>ggdG");
    chat.nvim.command("RatPermission");
    // What begins with no key of the chooser is held back until the user pauses, whatever follows.
    for keys in ["jwhy 2<CR>", "2x<CR>", "1<Space>1<CR>", "9<CR>"] {
        chat.nvim.poll_screen("<CR> choose");
        chat.nvim.poll("keys", |nvim| {
            let map = "return vim.fn.maparg('<CR>', 'n', false, true).desc or ''";
            nvim.lua(map, json!([])) != json!("rat: ignored until you pause")
        });
        chat.nvim.input(keys);
        chat.nvim.poll("no answer", |nvim| nvim.eval("vim.bo.filetype") == "ratselect");
        assert!(!chat.agent.is_answered(pending), "{keys}");
    }
    chat.nvim.command("RatDeny");
    assert_eq!(outcome(&mut chat, pending), selected("no"));
}

/// The keys that read and open in the chat.
/// Holds (Permission requests): Motions in a chooser that opened by itself select nothing.
#[test]
fn in_a_chooser_that_opened_by_itself_moves_are_for_reading() {
    let mut chat = that_opens("chat");
    chat.nvim.enter(TRANSCRIPT);
    for keys in ["j<CR>", "10j<CR>", "2j<CR>", "jj<CR>", "G<CR>", "<Down><CR>", "gg<CR>", "1j<CR>"]
    {
        let pending = ask(&mut chat, &["file.txt"]);
        chat.nvim.poll_screen("<CR> choose");
        chat.nvim.input(keys);
        chat.nvim.poll_screen("type the answer's number first");
        assert!(!chat.agent.is_answered(pending), "{keys}");
        chat.nvim.input("2<CR>");
        assert_eq!(outcome(&mut chat, pending), selected("no"), "{keys}");
        chat.nvim.poll_state("running");
    }
}

/// Holds (Permission requests): With several requests waiting, a command answers none that is out of sight but shows them.
#[test]
fn a_command_does_not_decide_what_waits_elsewhere_where_several_do() {
    let mut chat = that_opens("never");
    chat.nvim.command("RatToggle");
    let (first, second) = (ask(&mut chat, &[]), ask(&mut chat, &["file.txt"]));
    chat.nvim.poll("both", |nvim| nvim.status()["permissions"].as_array().unwrap().len() == 2);
    chat.nvim.command("tabnew | cd /");
    chat.nvim.command("RatAllow");
    chat.nvim.poll_screen("<CR> choose");
    assert!(!chat.agent.is_answered(first) && !chat.agent.is_answered(second));
    chat.nvim.input("1<CR>");
    assert_eq!(outcome(&mut chat, first), selected("yes"));
    // The only one that waits is the one meant.
    chat.nvim.command("RatDeny");
    assert_eq!(outcome(&mut chat, second), selected("no"));
}

/// Holds (Permission requests): The keys of the card work in the chooser that covers it.
#[test]
fn the_keys_of_the_card_work_in_the_chooser_that_covers_it() {
    for (keys, option) in [("ga", "yes"), ("gr", "no"), ("g2", "no")] {
        let mut chat = that_opens("never");
        let pending = ask(&mut chat, &[]);
        chat.nvim.command("RatPermission");
        chat.nvim.poll_screen("<CR> choose");
        chat.nvim.input(keys);
        assert_eq!(outcome(&mut chat, pending), selected(option), "{keys}");
    }
}

/// Holds (Permission requests): A request that waits out of sight is announced, and a command that answers it names it.
#[test]
fn a_command_names_what_it_decides_out_of_sight_and_a_request_there_is_told() {
    let mut chat = that_opens("chat");
    chat.nvim.command("RatToggle");
    let pending = ask(&mut chat, &["file.txt"]);
    let said = |nvim: &mut Nvim| nvim.messages().replace('\n', " ");
    chat.nvim.poll("word of it", |nvim| {
        said(nvim).contains("Fake agent in project needs approval: Edit")
    });
    chat.nvim.command("RatAllow");
    assert_eq!(outcome(&mut chat, pending), selected("yes"));
    chat.nvim
        .poll("its name", |nvim| said(nvim).contains("Allowed once: Edit (Fake agent in project)"));
}

#[test]
fn an_answer_of_a_picker_that_was_typed_for_something_else_asks_again() {
    let mut chat = that_opens("always");
    chat.nvim.lua(PICKER, json!([]));
    let pending = ask(&mut chat, &[]);
    poll_picker(&mut chat.nvim);
    // A key that follows at once, and chooses.
    chat.nvim.lua(
        "vim.keymap.set('n', 'x', function() asked[1].choose(asked[1].items[1], 1) end)
         vim.api.nvim_input('x')",
        json!([]),
    );
    chat.nvim.poll_screen("<CR> choose");
    assert!(!chat.agent.is_answered(pending));
    assert_eq!(pickers(&mut chat.nvim), json!(1), "asked again, in a chooser of ours");
    chat.nvim.input("1<CR>");
    assert_eq!(outcome(&mut chat, pending), selected("yes"));
}

#[test]
fn a_chooser_shows_more_answers_than_there_are_digits() {
    let mut chat = that_opens("never");
    let options: Vec<_> = (1..=12)
        .map(|n| json!({"optionId": format!("o{n}"), "name": format!("Option {n}"), "kind": "allow_once"}))
        .collect();
    let call = json!({"toolCallId": "t", "title": "Choose"});
    let pending = chat.ask_permission(call, json!(options));
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen(" 12  Option 12");
    chat.nvim.input("G<CR>");
    assert_eq!(outcome(&mut chat, pending), selected("o12"));
}

/// Holds (Permission requests): Diff mode shows each file of a request, and closing it restores the layout.
#[test]
fn a_native_diff_shows_each_file_and_closing_it_restores_the_layout() {
    let mut chat = that_opens("never");
    let pending = ask(&mut chat, &["file.txt", "other.txt"]);
    chat.nvim.enter(TRANSCRIPT);
    let before = chat.nvim.layout();
    chat.nvim.input("gd");
    chat.nvim.poll_screen("file.txt 1 of 2");
    let sides = "return vim.tbl_map(function(win)
          local buf = vim.api.nvim_win_get_buf(win)
          return { vim.wo[win].diff, vim.api.nvim_buf_get_lines(buf, 0, -1, false) }
        end, vim.api.nvim_tabpage_list_wins(0))";
    let files = json!([[true, ["one", "two", "three"]], [true, ["one", "two", "three", "more"]]]);
    assert_eq!(chat.nvim.lua(sides, json!([])), files);
    chat.nvim.input("]f");
    chat.nvim.poll_screen("other.txt 2 of 2");
    assert_eq!(chat.nvim.lua(sides, json!([]))[0], json!([true, ["1", "2", "3"]]));
    chat.nvim.input("[f");
    chat.nvim.poll_screen("file.txt 1 of 2");
    chat.nvim.input("q");
    chat.nvim.poll("one tab page", |nvim| nvim.eval("vim.fn.tabpagenr('$')") == 1);
    assert_eq!(chat.nvim.layout(), before);
    assert!(!chat.agent.is_answered(pending));
    let left = "return #vim.tbl_filter(function(buf)
          return vim.api.nvim_buf_get_name(buf):find('rat://diff', 1, true)
        end, vim.api.nvim_list_bufs())";
    assert_eq!(chat.nvim.lua(left, json!([])), json!(0), "buffers of the diff are left behind");
}

#[test]
fn a_native_diff_answers_with_its_keys() {
    for (keys, option) in [("ga", "yes"), ("gr", "no"), ("g1", "yes"), ("g2", "no")] {
        let mut chat = that_opens("never");
        let pending = ask(&mut chat, &["file.txt"]);
        chat.nvim.enter(TRANSCRIPT);
        chat.nvim.input("gd");
        chat.nvim.poll_screen("ga allow  gr reject");
        chat.nvim.input(keys);
        assert_eq!(outcome(&mut chat, pending), selected(option), "{keys}");
        chat.nvim.poll("one tab page", |nvim| nvim.eval("vim.fn.tabpagenr('$')") == 1);
    }
}

/// Holds (Permission requests): With `diff = "tab"` the diff opens by itself and closes with its request.
#[test]
fn diff_tab_shows_the_diff_by_itself_and_closes_it_with_the_request() {
    let mut chat = in_a_file(json!({"diff": "tab"}));
    chat.nvim.enter(PROMPT);
    let before = chat.nvim.layout();
    let pending = ask(&mut chat, &["file.txt"]);
    chat.nvim.poll_screen("ga allow  gr reject");
    assert_eq!(chat.nvim.eval("vim.fn.tabpagenr('$')"), json!(2));
    chat.nvim.command("RatCancel");
    assert_eq!(outcome(&mut chat, pending), json!({"outcome": "cancelled"}));
    chat.nvim.poll("one tab page", |nvim| nvim.eval("vim.fn.tabpagenr('$')") == 1);
    assert_eq!(chat.nvim.layout(), before);
}

#[test]
fn the_chooser_leads_to_the_diff() {
    let mut chat = that_opens("chat");
    let pending = ask(&mut chat, &["file.txt"]);
    chat.nvim.enter(TRANSCRIPT);
    chat.nvim.poll_screen("<CR> choose");
    chat.nvim.input("3<CR>");
    chat.nvim.poll_screen("ga allow  gr reject");
    chat.nvim.input("ga");
    assert_eq!(outcome(&mut chat, pending), selected("yes"));
}
