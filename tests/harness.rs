//! The harness tested on itself: what it says of screens, agents and processes must be true before it can judge.

use std::time::Duration;

use crate::support::{
    Amount, Chat, Nvim, Options, Processes, Screen, Work, svg, to_msgpack, words,
};
use rmpv::Value;
use serde_json::{Value as Json, json};

#[test]
fn the_screen_is_what_a_user_sees() {
    let mut nvim = Nvim::start(Options { columns: 40, lines: 8, ..Options::default() });
    nvim.lua(
        r#"vim.api.nvim_buf_set_lines(0, 0, -1, true, { "plain 日本 x", "second" })"#,
        json!([]),
    );
    nvim.command("highlight link HarnessMark Comment");
    nvim.command("call matchadd('HarnessMark', 'second')");
    nvim.input("Go<Esc>i3rd");
    nvim.poll("insert mode", |nvim| {
        nvim.screen().mode() == "insert" && nvim.screen().contains("3rd")
    });
    assert_eq!(nvim.screen().highlight_of("second"), Some("Comment"));
    assert_eq!(nvim.screen().highlight_of("x"), Some(""));
    assert_eq!(nvim.screen().cursor(), (2, 3));
    nvim.expect_screen("harness");
}

/// A screen of two rows: a highlight of each kind, signs of XML, a wide character, lines that join.
fn drawn() -> Screen {
    let event = |screen: &mut Screen, name: &str, args: Json| {
        let args: Vec<Value> = args.as_array().unwrap().iter().map(to_msgpack).collect();
        screen.apply(name, &args);
    };
    let mut screen = Screen::default();
    event(&mut screen, "grid_resize", json!([1, 12, 2]));
    event(&mut screen, "default_colors_set", json!([0x00e0_e0e0, 0x0010_1010, 0x00ff_0000, 0, 0]));
    let attributes =
        json!({"foreground": 0x0000_ff00, "background": 0x0000_00ff, "bold": true, "italic": true});
    event(&mut screen, "hl_attr_define", json!([1, attributes, {}, []]));
    event(
        &mut screen,
        "hl_attr_define",
        json!([2, {"reverse": true, "undercurl": true, "special": 0x00ff_0000}, {}, []]),
    );
    event(&mut screen, "hl_attr_define", json!([3, {"strikethrough": true}, {}, []]));
    let cells = json!([
        ["<", 1],
        ["&"],
        [">"],
        [" ", 0],
        ["日"],
        [""],
        ["a", 2],
        ["b"],
        [" ", 0],
        ["x", 3]
    ]);
    event(&mut screen, "grid_line", json!([1, 0, 0, cells, false]));
    event(
        &mut screen,
        "grid_line",
        json!([1, 1, 0, [["└", 0], ["─", 0, 2], ["┤"], [" ", 0, 4], ["e"], [" "], ["f"]], false]),
    );
    event(&mut screen, "grid_cursor_goto", json!([1, 1, 11]));
    screen
}

/// Holds (Windows and views): The pictures in `doc/images` show the tour of today; on Neovim other than 0.11 their words are compared.
#[test]
fn a_picture_is_what_the_screen_shows() {
    let picture = svg(&drawn(), "Signs: < & >");
    let parts = [
        "viewBox=\"0 0 126 54\"",
        "<title>Signs: &lt; &amp; &gt;</title>",
        ".t0{fill:#00ff00;font-weight:700;font-style:italic}",
        ".t1{fill:#e0e0e0}",
        ".t2{fill:#101010}",
        // What has another background: three cells, two reversed ones, the cursor.
        "<path fill=\"#0000ff\" d=\"M0 0h27v18h-27z\"/>",
        "<path fill=\"#e0e0e0\" d=\"M54 0h18v18h-18zM99 18h9v18h-9z\"/>",
        // The curl under two cells, in its own colour.
        "<path stroke=\"#ff0000\" d=\"M54 15.5h18\"/>",
        // The line through one cell, and lines that meet where cells do.
        "<path stroke=\"#e0e0e0\" d=\"M81 9.5h9M4.5 18V28M4 27.5H9M9 27.5H18M18 27.5H27M31.5 18V36M27 27.5H32\"/>",
        "<text class=\"t0\" x=\"0\" y=\"13\" textLength=\"27\">&lt;&amp;&gt;</text>",
        "<text class=\"t1\" x=\"36\" y=\"13\">日</text>",
        "<text class=\"t2\" x=\"54\" y=\"13\" textLength=\"18\">ab</text>",
        "<text class=\"t1\" x=\"81\" y=\"13\">x</text>",
        "<text class=\"t1\" x=\"72\" y=\"31\" textLength=\"27\">e f</text>",
    ];
    for part in parts {
        assert!(picture.contains(part), "{part} is not in\n{picture}");
    }
    assert_eq!(words(&picture), "<&> 日 ab x\n        e f");
}

#[test]
fn scrolling_moves_the_grid_both_ways() {
    let mut nvim = Nvim::start(Options { columns: 30, lines: 10, ..Options::default() });
    nvim.lua("for n = 1, 99 do vim.fn.setline(n, 'line ' .. n) end", json!([]));
    let shows = |first: &str, last: &str| {
        let (first, last) = (first.to_owned(), last.to_owned());
        move |nvim: &mut Nvim| nvim.screen().lines()[0] == first && nvim.screen().lines()[7] == last
    };
    nvim.input("50Gzt");
    nvim.poll("line 50 on top", shows("line 50", "line 57"));
    nvim.input("3<C-e>");
    nvim.poll("three lines on", shows("line 53", "line 60"));
    nvim.input("5<C-y>");
    nvim.poll("five lines back", shows("line 48", "line 55"));
}

#[test]
fn a_key_that_is_waited_for_is_noticed() {
    let mut nvim = Nvim::plain();
    assert!(!nvim.mode_is_blocked());
    nvim.input("r");
    nvim.poll("a blocked mode", Nvim::mode_is_blocked);
    nvim.input("<Esc>");
    nvim.poll("no blocked mode", |nvim| !nvim.mode_is_blocked());
}

#[test]
fn errors_of_neovim_come_back_as_text() {
    let mut nvim = Nvim::plain();
    assert!(nvim.command_error("NoSuchCommand").contains("NoSuchCommand"));
    let given = json!(["text", 7, 1.5, true, {"key": [1, 2]}]);
    assert_eq!(nvim.lua("return { ... }", given.clone()), given);
}

#[test]
fn events_of_the_plugin_are_kept_in_order() {
    let mut nvim = Nvim::plain();
    for number in 1..=3 {
        let code =
            "vim.api.nvim_exec_autocmds('User', { pattern = 'RatState', data = { number = ... } })";
        nvim.lua(code, json!([number]));
    }
    assert_eq!(nvim.poll_events("RatState", 2), json!({"number": 2}));
    assert_eq!(nvim.events("RatState").len(), 3);
    assert_eq!(nvim.events("RatTurnEnd"), [json!(null); 0]);
}

#[test]
fn buffers_are_found_by_their_full_name() {
    let mut nvim = Nvim::plain();
    let long = nvim.folder().file("project/x.lua.bak", "long\n");
    let short = nvim.folder().file("project/x.lua", "short\n");
    for path in [&long, &short] {
        nvim.command(&format!("edit {}", path.display()));
    }
    assert_eq!(nvim.buffer_lines(&short.to_string_lossy()), ["short"]);
    nvim.lua_in(&long.to_string_lossy(), "vim.fn.setline(1, ...)", json!(["other"]));
    assert_eq!(nvim.buffer_lines(&long.to_string_lossy()), ["other"]);
}

#[test]
fn an_agent_says_what_the_test_says() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.listen();
    let code = r"
        _G.seen = {}
        _G.job = vim.fn.jobstart(..., { on_stdout = function(_, data) vim.list_extend(seen, data) end })";
    nvim.lua(code, json!([agent.command()]));
    agent.expect_start();
    assert_eq!(agent.fact("cwd"), &json!(nvim.cwd()));

    let mut send = |line: &str| nvim.lua("vim.fn.chansend(job, ...)", json!([format!("{line}\n")]));
    send(r#"{"id": "b", "method": "second"}"#);
    send(r#"{"method": "first", "params": [1]}"#);
    send("no json");
    assert_eq!(agent.expect_notification("first"), json!([1]));
    let second = agent.expect_request("second");
    assert_eq!(second.id, json!("b"));
    assert_eq!(agent.unexpected(), [""; 0]);
    agent.reply(&second, json!("done"));
    nvim.poll("the reply", |nvim| {
        nvim.eval("vim.json.decode(seen[1] or '{}').result") == json!("done")
    });
    assert_eq!(agent.garbage(), [b"no json"]);

    let asked = agent.ask("question", json!({}));
    assert!(!agent.is_answered(asked));
    nvim.lua("vim.fn.chansend(job, ...)", json!(["{\"id\": 0, \"error\": {\"code\": -1}}\n"]));
    assert_eq!(agent.expect_answer(asked), Err(json!({"code": -1})));
}

#[test]
fn a_dialogue_reads_as_one() {
    let mut chat = Chat::builder().file("notes.txt", "on disk\n").start();
    chat.prompt("read it");
    chat.say("I have **read** it.");
    chat.nvim.poll_screen("I have read it.");
    let path = chat.path("notes.txt");
    let text = chat.request("fs/read_text_file", json!({"path": path}));
    assert_eq!(text, Ok(json!({"content": "on disk\n"})));
    assert_eq!(chat.nvim.events("RatTurnEnd").len(), 0);
    chat.end_turn("end_turn");
    assert_eq!(chat.nvim.poll_events("RatTurnEnd", 1)["stop_reason"], json!("end_turn"));

    let pid = chat.agent.pid();
    chat.nvim.command("RatStop");
    chat.agent.expect_stdin_closed();
    assert!(Processes::is_gone(pid));
}

#[test]
fn an_agent_can_refuse_to_die() {
    let mut nvim = Nvim::plain();
    let mut agent = nvim.listen();
    nvim.lua("_G.job = vim.fn.jobstart(...)", json!([agent.command()]));
    agent.expect_start();
    let grandchild = agent.start_grandchild();
    assert!(nvim.processes().living().contains(&grandchild));
    agent.ignore_sigterm();
    nvim.lua("vim.fn.chanclose(job, 'stdin')", json!([]));
    agent.expect_stdin_closed();
    Processes::signal(agent.pid(), "TERM");
    agent.expect_sigterm();
    assert!(Processes::is_alive(agent.pid()));
    agent.exit(3, "goodbye");
    agent.expect_gone();
    assert!(Processes::is_alive(grandchild));
    Processes::signal(grandchild, "KILL");
    assert!(Processes::is_gone(grandchild));
}

#[test]
fn what_neovim_leaves_behind_fails_the_test() {
    let left = std::panic::catch_unwind(|| {
        let farewell = Duration::from_millis(300);
        let mut nvim = Nvim::start(Options { farewell, ..Options::default() });
        nvim.lua("vim.uv.spawn('sh', { args = { '-c', 'trap \"\" TERM HUP; sleep 100' }, detached = true })", json!([]));
        let processes = nvim.processes().clone();
        nvim.poll("the child", |nvim| nvim.processes().living().len() > 1);
        processes
    });
    let message = left.expect_err("the leak was not noticed");
    let message = message.downcast_ref::<String>().expect("a message");
    assert!(message.contains("sleep 100"), "{message}");
}

/// Has Neovim do something as so many events of its main loop, and gives what was counted.
fn work_of(nvim: &mut Nvim, events: usize, what: &str) -> Work {
    Work::begin(nvim);
    let code = format!("for _ = 1, ... do vim.schedule(function() {what} end) end");
    nvim.lua(&code, json!([events]));
    // It is answered after them.
    nvim.eval("1");
    Work::stop(nvim)
}

#[test]
fn work_is_counted_for_each_event_of_the_main_loop() {
    let mut nvim = Nvim::plain();
    Work::prepare(&mut nvim);
    let steps = "local count = 0 while count < 100000 do count = count + 1 end";
    let calls = "for _ = 1, 1000 do vim.api.nvim_get_current_buf() end";
    let bytes = "vim.api.nvim_set_var('large', ('x'):rep(100000))";
    for what in [steps, calls, bytes] {
        let one = work_of(&mut nvim, 1, what);
        let ten = work_of(&mut nvim, 10, what);
        let large = work_of(&mut nvim, 1, &format!("for _ = 1, 10 do {what} end"));
        let counts = |amount: Amount| match what {
            it if it == steps => amount.steps,
            it if it == calls => amount.calls,
            _ => amount.bytes,
        };
        let [single, many] = [one.most, ten.most].map(counts);
        assert!(single >= 1000 && many < 2 * single, "{what}: {one}; {ten}");
        assert!(counts(ten.all) >= 9 * single, "{what}: {one}; {ten}");
        assert!(counts(large.most) >= 9 * single, "{what}: {one}; {large}");
    }
    // What is counted still fails as before.
    let error = nvim.command_error("lua vim.api.nvim_buf_get_lines(99, 0, 1, true)");
    assert!(error.contains("Invalid buffer id"), "{error}");
}
