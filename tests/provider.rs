//! The option `permission.provider` in real Neovim: a function of the user's that answers permission requests. Whatever it
//! does, each request gets one answer, and the user can give it.

use crate::support::{Chat, Nvim, Pending, TRANSCRIPT, yes_or_no};
use serde_json::{Value as Json, json};

/// A turn in which a provider with this body is asked. It has `request` and `answer`.
fn with_provider(body: &str) -> Chat {
    let mut chat = Chat::in_turn();
    let code = format!(
        "Asked = {{}}
        require('rat.config').get().permission.provider = function(request, answer)
            table.insert(Asked, request)
            Answer = answer
            {body}
        end"
    );
    chat.nvim.lua(&code, json!([]));
    chat
}

fn call(id: &str) -> Json {
    json!({"toolCallId": id, "title": "Edit a.txt", "kind": "edit", "status": "pending"})
}

/// Asks, and does not wait for the user to be asked.
fn ask(chat: &mut Chat, call: Json, options: Json) -> Pending {
    chat.ask("session/request_permission", json!({"toolCall": call, "options": options}))
}

fn options() -> Json {
    json!([
        {"optionId": "no", "name": "No", "kind": "reject_once"},
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        // Ids that are words of ours do not count as such.
        {"optionId": "allow_once", "name": "Always", "kind": "allow_always"},
    ])
}

fn selected(option: &str) -> Json {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

fn says(nvim: &mut Nvim, text: &str) -> usize {
    nvim.messages().matches(text).count()
}

/// Holds (Permission requests): A provider answers before the user is asked, and the transcript says so.
#[test]
fn it_answers_before_the_user_is_asked_and_the_transcript_says_so() {
    let mut chat = with_provider("answer('allow_once')");
    chat.nvim.enter(TRANSCRIPT);
    let path = chat.path("sub/../a.txt");
    let asked = json!({"toolCallId": "one", "title": "Run it", "kind": "execute", "status": "pending",
        "rawInput": {"command": "make $HOME"}, "locations": [{"path": path}, {"path": "$HOME/b"}]});
    let pending = ask(&mut chat, asked, options());
    assert_eq!(chat.answer(pending), selected("yes"));
    chat.nvim.poll_screen("✓ Yes · answered by your permission provider");
    let request = chat.nvim.lua("return Asked[1]", json!([]));
    let cwd = chat.nvim.cwd().to_str().unwrap().to_owned();
    assert_eq!(request["agent"], "fake");
    assert_eq!((&request["kind"], &request["command"]), (&json!("execute"), &json!("make $HOME")));
    assert_eq!(request["paths"], json!([format!("{cwd}/a.txt"), format!("{cwd}/$HOME/b")]));
    assert_eq!((&request["cwd"], &request["options"][1]["id"]), (&json!(cwd), &json!("yes")));
    assert_eq!((&request["chat"], &request["session_id"]), (&json!(1), &json!(chat.session)));
    assert!(!chat.nvim.screen().contains("<CR> choose"), "the user was asked");
    assert_eq!(chat.nvim.waiting(), 0);
}

/// Holds (Permission requests): A provider answers with the kind or the id of an option, or rejects with a reason.
#[test]
fn it_answers_with_a_kind_an_id_or_a_reason() {
    let mut chat = with_provider("answer(unpack(Next))");
    for (next, option) in [
        ("{ 'allow_always' }", "allow_once"),
        ("{ 'no' }", "no"),
        ("{ 'reject_once' }", "no"),
        ("{ 'reject', 'Not now' }", "no"),
    ] {
        chat.nvim.lua(&format!("Next = {next}"), json!([]));
        let pending = ask(&mut chat, call(next), options());
        assert_eq!(chat.answer(pending), selected(option), "{next}");
    }
    chat.nvim.poll_queue(&["Not now"]);
}

/// Holds (Permission requests): Where a provider answers nil, nonsense or by an error, the user is asked.
#[test]
fn the_user_is_asked_where_it_does_not_answer_with_an_option() {
    let cases = [
        ("answer(nil)", ""),
        ("answer('yes please')", "permission.provider answered \"yes please\""),
        ("answer({})", "permission.provider answered {}"),
        ("return 'allow_once'", "permission.provider returned a value"),
        ("error('boom')", "permission.provider failed, so you are asked"),
        ("answer('reject_always')", "permission.provider answered \"reject_always\""),
    ];
    for (body, told) in cases {
        let mut chat = with_provider(body);
        chat.nvim.enter(TRANSCRIPT);
        let pending = ask(&mut chat, call("one"), options());
        chat.nvim.poll_screen("<CR> choose");
        if !told.is_empty() {
            chat.nvim.poll(told, |nvim| says(nvim, told) == 1);
        }
        chat.nvim.choose(2);
        assert_eq!(chat.answer(pending), selected("yes"), "{body}");
        chat.nvim.poll_screen("✓ Yes");
        assert!(!chat.nvim.screen().contains("answered by your"), "{body}");
    }
}

/// Holds (Permission requests): While a provider has not answered, the user can; what it answers later or twice is ignored.
#[test]
fn the_user_can_answer_first_and_later_answers_are_ignored() {
    let mut chat = with_provider("");
    chat.nvim.enter(TRANSCRIPT);
    let pending = chat.ask_permission(call("one"), yes_or_no());
    chat.nvim.poll_screen("ga allow once");
    chat.nvim.poll_idle();
    assert!(!chat.nvim.screen().contains("<CR> choose"), "the chooser opens when it passes");
    chat.nvim.lua("First = Answer", json!([]));
    chat.nvim.command("RatAllow");
    let answer = chat.answer(pending);
    assert_eq!(answer["outcome"]["outcome"], "selected");
    chat.nvim.poll("the answer", |nvim| nvim.waiting() == 0);
    chat.nvim.lua("First('reject') First(nil)", json!([]));

    // It answers from a callback of libuv, and then again.
    let pending = chat.ask_permission(call("two"), options());
    let code = "
        local timer = vim.uv.new_timer()
        timer:start(0, 0, function()
            timer:close()
            Answer('reject')
            Answer('allow_once')
            Answer(nil)
        end)";
    chat.nvim.lua(code, json!([]));
    assert_eq!(chat.answer(pending), selected("no"));
    chat.nvim.poll("the answer", |nvim| nvim.waiting() == 0);
    chat.nvim.poll_idle();
    assert!(!chat.nvim.screen().contains("<CR> choose"));
    assert_eq!(chat.nvim.eval("#Asked"), json!(2));
}

/// Holds (Permission requests): A provider is asked again about a request that changes; its answer to the old one is ignored.
#[test]
fn it_is_asked_again_about_a_request_that_changes() {
    let mut chat = with_provider("");
    let pending = chat.ask_permission(call("one"), options());
    chat.nvim.poll("the request", |nvim| nvim.eval("#Asked") == json!(1));
    chat.nvim.lua("First = Answer", json!([]));
    chat.tool_call_update(json!({"toolCallId": "one", "rawInput": {"command": "rm -rf /"}}));
    chat.nvim.poll("the change", |nvim| nvim.eval("#Asked") == json!(2));
    chat.nvim.lua("First('allow_once')", json!([]));
    assert_eq!(chat.nvim.lua("return Asked[2].command", json!([])), json!("rm -rf /"));
    chat.nvim.lua("Answer('reject')", json!([]));
    assert_eq!(chat.answer(pending), selected("no"));
}
