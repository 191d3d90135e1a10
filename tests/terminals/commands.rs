//! How commands run, and what an agent is told of them.

use crate::support::Chat;
use serde_json::{Value as Json, json};

/// ACP 99, 105.
/// Holds (Terminals): `terminal/create` answers before the command ends.
#[test]
fn creating_answers_before_the_command_ends_and_output_has_no_status_till_then() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("echo begun; exec sleep 60");
    chat.poll_output(&terminal, "begun");
    let output = chat.output(&terminal);
    assert_eq!(output["truncated"], json!(false));
    assert_eq!(output["exitStatus"], Json::Null);
    chat.on_terminal("release", &terminal).unwrap();
}

/// ACP 100.
/// Holds (Terminals): A command runs in the session's folder or in an absolute one.
#[test]
fn a_command_runs_in_the_sessions_folder_or_in_an_absolute_one() {
    let mut chat = Chat::in_turn();
    let here = chat.nvim.cwd().canonicalize().unwrap();
    assert_eq!(chat.run(json!({"command": "pwd"})).trim(), here.to_string_lossy());
    assert_eq!(chat.run(json!({"command": "pwd", "cwd": "/"})).trim(), "/");
    for cwd in [json!("sub"), json!("./")] {
        let error =
            chat.request("terminal/create", json!({"command": "pwd", "cwd": cwd})).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{error}");
        assert!(error["message"].as_str().unwrap().contains("absolute"), "{error}");
    }
    let error =
        chat.request("terminal/create", json!({"command": "pwd", "cwd": "/no/such"})).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("/no/such is not a folder"), "{error}");
}

/// ACP 101.
/// Holds (Terminals): A command has the editor's environment, with the request's over it.
#[test]
fn the_environment_is_the_editors_with_the_requests_over_it() {
    let mut chat = Chat::in_turn();
    let script = r#"echo "$PATH|$ADDED|$PAGER|$GIT_PAGER|$TERM|$NVIM""#;
    let path = chat.nvim.eval("vim.env.PATH");
    let path = path.as_str().unwrap();
    let env = json!([{"name": "ADDED", "value": "a b"}, {"name": "PAGER", "value": "more"}]);
    let said = chat.run(json!({"command": "/bin/sh", "args": ["-c", script], "env": env}));
    assert_eq!(said.trim(), format!("{path}|a b|more|cat|xterm-256color|"));
    for args in [Json::Null, json!([])] {
        let said = chat.run(json!({"command": script, "args": args, "env": null, "cwd": null}));
        assert_eq!(said.trim(), format!("{path}||cat|cat|xterm-256color|"));
    }
}

/// ACP 102.
/// Holds (Terminals): A command line runs in a shell; arguments stay as they are.
#[test]
fn a_command_line_runs_in_a_shell_and_arguments_stay_as_they_are() {
    let mut chat = Chat::in_turn();
    assert_eq!(
        chat.run(json!({"command": "printf 'b\\na\\n' | sort && echo $((1 + 1))"})),
        "a\nb\n2\n"
    );
    let args = json!(["%s|", "a b", "$HOME", "*", "'"]);
    assert_eq!(chat.run(json!({"command": "printf", "args": args})), "a b|$HOME|*|'|");
    assert_eq!(chat.run(json!({"command": "exit 3", "args": []})), "");
}

/// ACP 14, 102.
/// Holds (Terminals): A command that does not exist is an error that says so.
#[test]
fn a_command_that_does_not_exist_is_a_clear_error_and_the_conversation_goes_on() {
    let mut chat = Chat::in_turn();
    chat.show("call", "no-such-program --version", &[]);
    let error = chat
        .request("terminal/create", json!({"command": "no-such-program", "args": ["--version"]}))
        .unwrap_err();
    assert_eq!(error["message"], json!("no-such-program is not on PATH"));
    chat.poll_line("no-such-program is not on PATH");
    for params in [json!({}), json!({"command": ""}), json!({"command": "ls", "args": "x"})] {
        let error = chat.request("terminal/create", params).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{error}");
    }
    assert_eq!(chat.run(json!({"command": "echo on"})), "on\n");
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}

/// ACP 103.
/// Holds (Terminals): Output over `outputByteLimit` is cut at its start, between characters.
#[test]
fn output_is_cut_at_its_start_between_characters() {
    let mut chat = Chat::in_turn();
    let mut cut = |limit: Json| {
        let script = "printf 'aß€😀\\033[1mb\\033[0m'";
        let params =
            json!({"command": "/bin/sh", "args": ["-c", script], "outputByteLimit": limit});
        let terminal = chat.create(params);
        chat.wait_for_exit(&terminal);
        let output = chat.output(&terminal);
        (output["output"].as_str().unwrap().to_owned(), output["truncated"] == json!(true))
    };
    assert_eq!(cut(json!(5)), ("😀b".to_owned(), true));
    assert_eq!(cut(json!(4)), ("b".to_owned(), true));
    assert_eq!(cut(json!(10)), ("ß€😀b".to_owned(), true));
    assert_eq!(cut(json!(0)), (String::new(), true));
    for whole in [json!(11), json!(u64::MAX), json!(1e30), Json::Null] {
        assert_eq!(cut(whole), ("aß€😀b".to_owned(), false));
    }
    for limit in [json!(-1), json!("many"), json!(1.5)] {
        let params = json!({"command": "true", "outputByteLimit": limit});
        let error = chat.request("terminal/create", params).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{error}");
    }
}

/// ACP 103.
/// The most there is of one command is 4 MiB, whatever the agent wants; an agent that wants no number gets
/// as much.
/// Holds (Terminals): Output is kept up to 4 MiB, whatever limit the agent asks for.
#[test]
fn output_without_end_is_kept_up_to_a_limit() {
    let mut chat = Chat::in_turn();
    let script = "head -c 6000000 /dev/zero | tr '\\0' x; echo; echo last";
    let terminal = chat.script(script);
    chat.wait_for_exit(&terminal);
    let output = chat.output(&terminal);
    let text = output["output"].as_str().unwrap();
    assert_eq!(text.len(), 4 << 20);
    assert!(text.ends_with("xx\nlast\n"));
    assert_eq!(output["truncated"], json!(true));
}

/// ACP 106.
/// Also where others hold the output open and there is much of it.
#[test]
fn all_that_was_written_before_the_end_is_there_when_the_end_is_told() {
    let mut chat = Chat::in_turn();
    let script = "sleep 60 & head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last";
    let terminal = chat.script(script);
    assert_eq!(chat.wait_for_exit(&terminal)["exitCode"], json!(0));
    let output = chat.output(&terminal);
    assert_eq!(output["output"].as_str().unwrap().len(), 3_000_006);
    assert!(output["output"].as_str().unwrap().ends_with("x\nlast\n"));
    chat.on_terminal("release", &terminal).unwrap();
}

/// ACP 104.
/// Holds (Terminals): stdout and stderr are one, in the order written.
#[test]
fn stdout_and_stderr_are_one_in_the_order_they_were_written() {
    let mut chat = Chat::in_turn();
    let script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    let said = chat.run(json!({"command": "/bin/sh", "args": ["-c", script]}));
    assert_eq!(said, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

/// ACP 104, 112.
/// A program that asks what it writes to gets a terminal, one that asks for a key gets none.
/// Holds (Terminals): A command writes to a terminal and has nothing to read.
#[test]
fn a_command_writes_to_a_terminal_reads_nothing_and_waits_for_no_key() {
    let mut chat = Chat::in_turn();
    let script = "test -t 1 && test -t 2 && ! test -t 0 && wc -c && stty size <&1; : < /dev/tty";
    let said = chat.run(json!({"command": "/bin/sh", "args": ["-c", script]}));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["0", "40 120"], "{said}");
    assert!(lines[2].contains("/dev/tty"), "{said}");
}

/// ACP 112.
/// A model reads what a user would: no colours, progress as it stands at the end, no broken characters.
/// Holds (Terminals): The agent reads output as plain text.
#[test]
fn the_agent_reads_plain_text() {
    let mut chat = Chat::in_turn();
    let script =
        r"printf '\033[31mred\033[0m\n10%%\r100%%\n\033]0;title\007\033]52;c;aGk=\033\\ok\n\377\n'";
    let said = chat.run(json!({"command": "/bin/sh", "args": ["-c", script]}));
    assert_eq!(said, "red\n100%\nok\n\u{fffd}\n");
}

/// ACP 105.
/// Holds (Terminals): An exit status is a code or a signal.
#[test]
fn an_exit_is_a_code_or_a_signal() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("exit 3");
    assert_eq!(chat.wait_for_exit(&terminal), json!({"exitCode": 3}));
    assert_eq!(chat.output(&terminal)["exitStatus"], json!({"exitCode": 3}));
    let terminal = chat.script("kill -SEGV $$");
    assert_eq!(chat.wait_for_exit(&terminal), json!({"signal": "SIGSEGV"}));
}

/// ACP 17, 106.
/// Holds (Terminals): Waiting for a command blocks nothing, and every wait is answered.
#[test]
fn waiting_holds_nothing_up_and_all_who_wait_are_answered() {
    let mut chat = Chat::in_turn();
    let gate = chat.nvim.cwd().join("gate");
    let terminal = chat.script("until test -e gate; do sleep 0.02; done; exit 7");
    let waiting: Vec<_> = (0..3).map(|_| chat.ask_terminal("wait_for_exit", &terminal)).collect();
    assert_eq!(chat.run(json!({"command": "echo meanwhile"})), "meanwhile\n");
    chat.say("still talking");
    chat.nvim.poll_screen("still talking");
    assert!(!waiting.iter().any(|wait| chat.agent.is_answered(*wait)), "answered too early");
    std::fs::write(gate, "").unwrap();
    for wait in waiting {
        assert_eq!(chat.answer(wait)["exitCode"], json!(7));
    }
    assert_eq!(chat.wait_for_exit(&terminal)["exitCode"], json!(7));
}

/// ACP 73, 74.
/// Holds (Terminals): A wait that is withdrawn is answered, and the command runs on.
#[test]
fn a_wait_that_is_withdrawn_is_answered_and_the_command_runs_on() {
    let mut chat = Chat::in_turn();
    let terminal = chat.script("echo up; exec sleep 60");
    chat.poll_output(&terminal, "up");
    let (one, other) = (
        chat.ask_terminal("wait_for_exit", &terminal),
        chat.ask_terminal("wait_for_exit", &terminal),
    );
    chat.agent.withdraw(one);
    assert_eq!(chat.agent.expect_answer(one).unwrap_err()["code"], json!(-32800));
    chat.agent.withdraw(one);
    assert_eq!(chat.output(&terminal)["exitStatus"], Json::Null);
    assert!(!chat.agent.is_answered(other), "the other wait is answered, too");
    chat.on_terminal("kill", &terminal).unwrap();
    assert_eq!(chat.answer(other)["signal"], json!("SIGTERM"));
}

/// ACP 109.
#[test]
fn terminals_that_are_not_there_are_not_found() {
    let mut chat = Chat::in_turn();
    for method in ["output", "wait_for_exit", "kill", "release"] {
        let error = chat.on_terminal(method, "terminal-0").unwrap_err();
        assert_eq!(error["code"], json!(-32002), "{method}: {error}");
        let error = chat.request(&format!("terminal/{method}"), json!({})).unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{method}: {error}");
    }
    let params = json!({"sessionId": "another", "command": "true"});
    let error = chat.agent.request("terminal/create", params).unwrap_err();
    assert_eq!(error["code"], json!(-32602), "{error}");
}
