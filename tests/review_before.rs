//! `review = "before"`: an agent's write waits until the user has decided, whole or in part, in real Neovim.

use crate::support::{Chat, Pending, yes_or_no};
use serde_json::{Value as Json, json};

const OLD: &str = "1\n2\n3\n4\n5\n";
const NEW: &str = "one\n2\n3\n4\nfive\n";

fn in_a_turn() -> Chat {
    let settings = json!({"review": "before"});
    let mut chat = Chat::builder().file("a.txt", OLD).setup(settings).in_turn();
    chat.nvim.command("wincmd t | edit a.txt");
    chat
}

/// The agent asks to write a file, and the user is asked.
fn ask(chat: &mut Chat, name: &str, content: &str) -> Pending {
    let path = chat.path(name);
    let pending = chat.ask("fs/write_text_file", json!({"path": path, "content": content}));
    // The status may still be that of the question before.
    let count = "return require('rat.ask.question_list').count()";
    chat.nvim.poll("the question", |nvim| nvim.lua(count, json!([])) == json!(1));
    pending
}

fn disk(chat: &Chat) -> String {
    std::fs::read_to_string(chat.path("a.txt")).unwrap_or_default()
}

/// Opens the comparison, with the cursor in the text that would be written.
fn show(chat: &mut Chat) {
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("Show the change");
    chat.nvim.input("2<CR>");
    chat.nvim.poll("the comparison", |nvim| {
        nvim.call("nvim_eval", json!(["tabpagenr('$')"])) == json!(2)
    });
    assert_eq!(chat.nvim.call("nvim_eval", json!(["&diff"])), json!(1));
}

fn poll_one_page(chat: &mut Chat) {
    chat.nvim
        .poll("one tab page", |nvim| nvim.call("nvim_eval", json!(["tabpagenr('$')"])) == json!(1));
}

fn poll_closed(chat: &mut Chat) {
    poll_one_page(chat);
    assert_eq!(chat.nvim.call("nvim_eval", json!(["expand('%:t')"])), json!("a.txt"));
    assert_eq!(chat.nvim.call("nvim_eval", json!(["&diff"])), json!(0));
    assert_eq!(chat.nvim.call("nvim_eval", json!(["&modified"])), json!(0));
}

fn refusal(chat: &mut Chat, pending: Pending) -> String {
    let error = chat.agent.expect_answer(pending).unwrap_err();
    error["message"].as_str().unwrap_or_default().to_owned()
}

fn pending_changes(chat: &mut Chat) -> Json {
    let code = "local rat = require('rat')
        vim.g.changes = nil
        rat.changes({}, function(changes) vim.g.changes = #changes end)";
    chat.nvim.lua(code, json!([]));
    chat.nvim.poll_for("the changes", |nvim| {
        let count = nvim.call("nvim_eval", json!(["get(g:, 'changes', v:null)"]));
        (!count.is_null()).then_some(count)
    })
}

/// Holds (Review): With `review = "before"` nothing is written before the user agrees, and what they agreed to is not pending.
#[test]
fn a_write_waits_for_the_user() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    assert_eq!(disk(&chat), OLD);
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("Write it");
    chat.nvim.poll_screen("wants to change a.txt (+2 -2)");
    chat.nvim.input("1<CR>");
    chat.answer(pending);
    assert_eq!(disk(&chat), NEW);
    assert_eq!(pending_changes(&mut chat), json!(0));
    chat.nvim.input("u");
    let path = chat.path("a.txt");
    assert_eq!(chat.nvim.buffer_lines(path.to_str().unwrap()).join("\n") + "\n", OLD);
}

/// Holds (Review): A rejected write changes nothing, and the agent is told.
#[test]
fn a_rejected_write_changes_nothing() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("Reject it");
    chat.nvim.input("3<CR>");
    let told = refusal(&mut chat, pending);
    assert!(told.contains("the user rejected this change") && told.contains("a.txt"), "{told}");
    assert_eq!(disk(&chat), OLD);
    chat.nvim.poll_state("running");
}

/// Holds (Review): `:RatAllow`, `:RatDeny` and the keys of the chat answer a write that waits, and a reason reaches the agent.
#[test]
fn a_write_is_answered_like_a_permission() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    chat.nvim.poll_screen("ga write");
    chat.nvim.poll_screen(":RatAllow :RatDeny");
    chat.nvim.command("RatAllow");
    chat.answer(pending);
    assert_eq!(disk(&chat), NEW);
    chat.nvim.command("wincmd b");
    for keys in ["gr", "ga"] {
        let pending = ask(&mut chat, "a.txt", OLD);
        chat.nvim.poll_screen("<CR> choose");
        chat.nvim.input("<Esc>");
        chat.nvim.poll_no("Write it");
        chat.nvim.let_time_pass();
        chat.nvim.input(keys);
        assert_eq!(chat.agent.expect_answer(pending).is_ok(), keys == "ga", "{keys}");
    }
    assert_eq!(disk(&chat), OLD);
    let pending = ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    chat.nvim.let_time_pass();
    chat.nvim.command("RatDeny not like this");
    refusal(&mut chat, pending);
    assert_eq!(disk(&chat), OLD);
    chat.nvim.poll_screen("not like this");
    chat.nvim.poll_state("running");
    chat.nvim.command("RatAllow");
    chat.nvim.poll_screen("No permission request is waiting");
}

/// Holds (Review): The card of a tool call says that the user has rejected or edited its write.
#[test]
fn a_decision_about_a_write_is_on_its_card() {
    let mut chat = in_a_turn();
    for (keys, said) in
        [("gr", "✗ You rejected this change"), ("ggdoga", "✓ You edited this change")]
    {
        let path = chat.path("a.txt");
        chat.tool_call(json!({"toolCallId": keys, "title": "Write", "kind": "edit",
            "status": "in_progress", "locations": [{"path": path}]}));
        let pending = ask(&mut chat, "a.txt", NEW);
        show(&mut chat);
        chat.nvim.input(keys);
        refusal(&mut chat, pending);
        poll_closed(&mut chat);
        chat.tool_call_update(json!({"toolCallId": keys, "status": "failed"}));
        chat.nvim.poll_screen(said);
    }
}

/// Holds (Review): The user takes back or edits parts of a write before it is made, and the agent is told what became of it.
#[test]
fn a_write_is_made_in_part() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    // The first change back, another text for the second.
    chat.nvim.input("ggdo");
    chat.nvim.input("GccFIVE<Esc>");
    chat.nvim.command("write");
    let told = refusal(&mut chat, pending);
    for part in ["the user edited this change", "-one\n+1\n", "-five\n+FIVE\n"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(disk(&chat), "1\n2\n3\n4\nFIVE\n");
    poll_closed(&mut chat);
    assert_eq!(pending_changes(&mut chat), json!(0));
    // The agent insists, and the user is asked again.
    let pending = ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    chat.nvim.input("gr");
    refusal(&mut chat, pending);
    poll_closed(&mut chat);
    let pending = ask(&mut chat, "a.txt", "1\n2\nthree\n4\nFIVE\n");
    show(&mut chat);
    chat.nvim.input("ga");
    chat.answer(pending);
    poll_closed(&mut chat);
    assert_eq!(disk(&chat), "1\n2\nthree\n4\nFIVE\n");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
    chat.nvim.send("next");
    let told = &chat.sent()[1]["text"];
    assert!(
        told.as_str().unwrap().contains("- a.txt: rejected 2 hunks, edited 2 hunks\n"),
        "{told}"
    );
}

/// Holds (Review): Closing the comparison of a write, in whatever way, leaves the write waiting and the windows as they were.
#[test]
fn closing_the_comparison_leaves_the_write_waiting() {
    let mut chat = in_a_turn();
    chat.nvim.command("vsplit");
    let layout = chat.nvim.layout();
    let pending = ask(&mut chat, "a.txt", NEW);
    for keys in ["q", ":q<CR>", "ZQ", ":tabclose!<CR>", "x:q!<CR>"] {
        chat.nvim.command("messages clear");
        show(&mut chat);
        chat.nvim.input(keys);
        poll_closed(&mut chat);
        let told = "The change to a.txt is still waiting: :RatPermission shows it";
        chat.nvim.poll(told, |nvim| nvim.messages().contains(told));
        assert!(!chat.agent.is_answered(pending), "{keys}");
        assert_eq!(chat.nvim.layout(), layout, "{keys}");
    }
    chat.nvim.command("RatDeny");
    refusal(&mut chat, pending);
    for keys in ["gr", "xgr"] {
        let pending = ask(&mut chat, "a.txt", NEW);
        show(&mut chat);
        chat.nvim.input(keys);
        let told = refusal(&mut chat, pending);
        assert!(told.contains("the user rejected this change"), "{keys}: {told}");
        poll_closed(&mut chat);
        assert_eq!(chat.nvim.layout(), layout, "{keys}");
    }
    assert_eq!(disk(&chat), OLD);
    for keys in [":w<CR>", ":wq<CR>", ":x<CR>", "ZZ", "ga"] {
        let new = format!("{keys}\n2\n3\n4\n5\n");
        let pending = ask(&mut chat, "a.txt", &new);
        show(&mut chat);
        chat.nvim.input(keys);
        chat.answer(pending);
        poll_closed(&mut chat);
        assert_eq!(disk(&chat), new, "{keys}");
        assert_eq!(chat.nvim.layout(), layout, "{keys}");
    }
}

/// Holds (Review): `g?` lists the keys of the page that shows a write.
#[test]
fn the_keys_of_a_write_are_listed() {
    let mut chat = in_a_turn();
    ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    chat.nvim.input("g?");
    for row in ["ga     write the text on the right", "q      close; the write keeps waiting"] {
        chat.nvim.poll_screen(row);
    }
}

/// Holds (Review): What the user has typed into the text of a write is not thrown away without being told.
#[test]
fn an_edited_write_is_not_closed_by_accident() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    chat.nvim.input("ccmine<Esc>q");
    chat.nvim.poll_screen("You have changed the text");
    chat.nvim.feed(":q\r");
    chat.nvim.poll_screen("E37");
    assert!(!chat.agent.is_answered(pending));
    chat.nvim.input("<CR>:x<CR>");
    refusal(&mut chat, pending);
    assert!(disk(&chat).contains("mine"));
}

/// Holds (Review): What the user types while a write waits stays, and a cancelled turn withdraws the question.
#[test]
fn a_waiting_write_meets_typing_and_a_cancel() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    let typed = "local buf = vim.fn.bufnr('a.txt')
        vim.api.nvim_buf_set_lines(buf, 2, 3, true, { 'mine' })";
    chat.nvim.lua(typed, json!([]));
    chat.nvim.input("ggdo");
    chat.nvim.input("ga");
    refusal(&mut chat, pending);
    let path = chat.path("a.txt");
    let lines = chat.nvim.buffer_lines(path.to_str().unwrap());
    assert_eq!(lines, ["1", "2", "mine", "4", "five"]);
    assert_eq!(disk(&chat), "1\n2\n3\n4\nfive\n");
    poll_one_page(&mut chat);
    chat.nvim.command("silent write");
    let pending = ask(&mut chat, "a.txt", NEW);
    show(&mut chat);
    chat.nvim.command("RatCancel");
    let error = chat.agent.expect_answer(pending).unwrap_err();
    assert_eq!(error["code"], json!(-32800));
    poll_closed(&mut chat);
}

/// Holds (Review): A write that cannot be made is told of with the reason, and its page stays, so that the user can try again or reject it.
#[test]
fn a_write_that_fails_leaves_its_page() {
    for (keys, wanted) in [
        ("ga", NEW.to_owned()),
        ("ggcctyped<Esc>ga", NEW.replace("one", "typed")),
        ("ggcctyped<Esc>:w<CR>", NEW.replace("one", "typed")),
        ("ggcctyped<Esc>:wq<CR>", NEW.replace("one", "typed")),
    ] {
        let mut chat = in_a_turn();
        let pending = ask(&mut chat, "a.txt", NEW);
        show(&mut chat);
        let set = |chat: &mut Chat, text: &str| {
            let code = "vim.fn.setbufline('a.txt', 1, ...)";
            chat.nvim.lua(code, json!([text]));
        };
        set(&mut chat, "mine");
        chat.nvim.input(keys);
        let told = "Could not write a.txt: line 1 changed in the editor meanwhile (ga tries again, gr rejects it)";
        chat.nvim.poll_screen(told);
        let lines: Vec<&str> = wanted.lines().collect();
        let page = "{ vim.fn.winbufnr(1) ~= vim.fn.winbufnr(2) and vim.fn.getline(1, '$'), vim.wo.diff, \
                    vim.bo.modified, vim.fn.getbufline(vim.fn.winbufnr(1), 1)[1] }";
        let is_edited = keys != "ga";
        chat.nvim.poll(&format!("{keys}: the page"), |nvim| {
            nvim.eval(page) == json!([lines, true, is_edited, "mine"])
        });
        assert!(!chat.agent.is_answered(pending), "{keys}");
        assert_eq!(disk(&chat), OLD);
        set(&mut chat, "1");
        // A page that has opened again takes keys once they have paused.
        chat.nvim.poll("the keys", |nvim| nvim.eval("vim.fn.maparg('ga', 'n')") != json!(""));
        chat.nvim.input("ga");
        let answer = chat.agent.expect_answer(pending);
        assert_eq!(answer.is_err(), is_edited, "{keys}: {answer:?}");
        poll_one_page(&mut chat);
        assert_eq!(disk(&chat), wanted, "{keys}");
    }
}

/// Holds (Review): A write that could not be made may be rejected, and is withdrawn with its turn.
#[test]
fn a_write_that_failed_is_rejected_or_withdrawn() {
    let mut chat = in_a_turn();
    for key in ["gr", ""] {
        let pending = ask(&mut chat, "a.txt", NEW);
        show(&mut chat);
        chat.nvim.command("call setbufline('a.txt', 1, 'mine')");
        chat.nvim.input("ga");
        chat.nvim.poll_screen("Could not write a.txt: line 1 changed");
        chat.nvim
            .command("call setbufline('a.txt', 1, '1') | call win_execute(bufwinid('a.txt'), 'w')");
        if key.is_empty() {
            chat.nvim.command("RatCancel");
        }
        chat.nvim.input(key);
        let told = refusal(&mut chat, pending);
        assert_eq!(told.contains("the user rejected this change"), key == "gr", "{told}");
        poll_one_page(&mut chat);
    }
    assert_eq!(disk(&chat), OLD);
}

/// Holds (Review): Without its page, the user is told why a write that they wanted cannot be made, and so is the agent.
#[test]
fn a_write_without_a_page_that_fails_is_told_of() {
    let mut chat = in_a_turn();
    let pending = ask(&mut chat, "a.txt", NEW);
    chat.nvim.command("call setbufline('a.txt', 1, 'mine')");
    chat.nvim.command("RatAllow");
    assert!(refusal(&mut chat, pending).contains("was not written"));
    chat.nvim.poll_screen("Could not write a.txt: line 1 changed in the editor meanwhile");
    assert_eq!(disk(&chat), OLD);
}

/// Holds (Review): A change that the agent has asked about is not asked about again, and can be edited in its diff.
#[test]
fn an_allowed_change_is_not_asked_about_again() {
    let mut chat = in_a_turn();
    let path = chat.path("a.txt");
    let call = |id: &str, old: &str, new: &str| {
        let diff = json!({"type": "diff", "path": path, "oldText": old, "newText": new});
        json!({"toolCallId": id, "title": "Edit a.txt", "kind": "edit", "content": [diff]})
    };
    let asked = chat.ask_permission(call("t1", OLD, NEW), yes_or_no());
    chat.nvim.command("RatAllow");
    chat.answer(asked);
    let write = json!({"path": chat.path("a.txt"), "content": NEW});
    chat.request("fs/write_text_file", write).unwrap();
    assert_eq!(disk(&chat), NEW);
    chat.tool_call_update(json!({"toolCallId": "t1", "status": "completed"}));
    let asked = chat.ask_permission(call("t2", NEW, OLD), yes_or_no());
    chat.nvim.command("RatPermission");
    chat.nvim.poll_screen("Show the diff");
    chat.nvim.input("gd");
    chat.nvim
        .poll("the diff", |nvim| nvim.call("nvim_eval", json!(["tabpagenr('$')"])) == json!(2));
    chat.nvim.input("ggdo");
    chat.nvim.input("ga");
    chat.answer(asked);
    poll_closed(&mut chat);
    let write = json!({"path": chat.path("a.txt"), "content": OLD});
    let error = chat.request("fs/write_text_file", write).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("-1\n+one\n"), "{error}");
    assert_eq!(disk(&chat), "one\n2\n3\n4\n5\n");
}

/// Holds (Review): A new file that the agent has asked about is not asked about again.
#[test]
fn an_allowed_new_file_is_not_asked_about_again() {
    let mut chat = in_a_turn();
    let path = chat.path("new.txt");
    let diff = json!({"type": "diff", "path": path, "newText": "1\n"});
    let call = json!({"toolCallId": "t1", "title": "Create it", "kind": "edit", "content": [diff]});
    let asked = chat.ask_permission(call, yes_or_no());
    chat.nvim.command("RatAllow");
    chat.answer(asked);
    chat.request("fs/write_text_file", json!({"path": path, "content": "1\n"})).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "1\n");
}

/// Holds (Review): A new file waits, too, and is not made when it is rejected.
#[test]
fn a_new_file_waits() {
    let mut chat = in_a_turn();
    for (keys, exists) in [("gr", false), ("ga", true)] {
        let pending = ask(&mut chat, "new/b.txt", "1\n");
        show(&mut chat);
        chat.nvim.input(keys);
        assert_eq!(chat.agent.expect_answer(pending).is_ok(), exists);
        assert_eq!(chat.path("new/b.txt").exists(), exists);
        poll_closed(&mut chat);
    }
}

/// Holds (Review): The screens of a write that waits, as a question and as a comparison, at 80x24 and 120x40 are those in `tests/golden`.
#[test]
fn the_screens_of_a_write_that_waits() {
    for (columns, lines) in [(80, 24), (120, 40)] {
        let builder = Chat::builder().screen(columns, lines).setup(json!({"review": "before"}));
        let mut chat = builder.file("a.txt", OLD).in_turn();
        let path = chat.path("a.txt");
        chat.ask("fs/write_text_file", json!({"path": path, "content": NEW}));
        chat.nvim.poll_screen("<CR> choose");
        chat.nvim.expect_screen("before.question");
        chat.nvim.input("2<CR>");
        chat.nvim.poll_screen("do revert");
        chat.nvim.command("mode");
        chat.nvim.expect_screen("before.comparison");
    }
}
