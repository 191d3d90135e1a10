//! What `rat-nvim exec` tells about an agent: its tool calls, and why something failed.

use crate::acp_process::support::PRELUDE;
use crate::exec::Desk;

const UPDATES: &str = "def update(**fields):\n    send({'jsonrpc': '2.0', 'method': 'session/update', 'params': {'sessionId': 's', 'update': fields}})\n\
    def call(id, **fields):\n    update(sessionUpdate='tool_call', toolCallId=id, **fields)\n\
    def then(id, **fields):\n    update(sessionUpdate='tool_call_update', toolCallId=id, **fields)\n";

/// Holds (Scripts): In the format `text` each tool call is one line with its last title before it runs, and another one only if it fails.
#[test]
fn each_tool_call_is_one_line() {
    let diff = "[{'type': 'diff', 'path': '/a', 'oldText': 'x\\n', 'newText': 'y\\n'}]";
    let desk = Desk::new(&format!(
        "{UPDATES}call('1', title='Read')\nthen('1', title='Read a.txt', status='in_progress')\nthen('1', status='completed')\n\
         call('2', title='Edit', content={diff})\nthen('2', status='completed', content={diff})\n\
         call('3', title='Run', status='in_progress')\nthen('3', title='Run it', status='failed')\n\
         call('4', title='Wait')\nsay('words')\nthen('4', status='completed')\n\
         call('5', title='Fail')\nthen('5', status='failed')\ncall('6', title='Last')\nend(message)"
    ));
    let expected = "[tool] Read a.txt\n[tool] Edit\n[diff] /a +1 -1\n[tool] Run\n[tool] Run it: failed\n[tool] Wait\nwords\n\
        [tool] Fail: failed\n[tool] Last\n";
    let run = desk.run(&["go"]);
    assert_eq!((run.code, &*run.out), (Some(0), expected), "{}", run.err);
}

/// Holds (Scripts): An unknown agent is refused with those that can be started and those that could be installed.
#[test]
fn an_unknown_agent_is_refused_with_those_there_are() {
    let run = Desk::new("").run(&["-a", "nope", "go"]);
    assert_eq!((run.code, &*run.out), (Some(2), ""));
    let (here, missing) = run.err.split_once("; not installed: ").expect(&run.err);
    assert!(here.contains("can be started: z, ") && here.ends_with("tour"), "{}", run.err);
    assert!(missing.starts_with("a, ") && run.err.contains("claude"), "{}", run.err);
    assert!(run.err.contains("agents of setup() in Neovim are not known here"), "{}", run.err);
}

/// Holds (Scripts): The list of slash commands is printed only if it is asked for.
#[test]
fn slash_commands_are_no_part_of_an_answer() {
    let desk = Desk::new(&format!(
        "{UPDATES}update(sessionUpdate='available_commands_update', availableCommands=[{{'name': 'plan', 'description': 'Plans'}}])\n\
         say('words')\nend(message)"
    ));
    let run = desk.run(&["go"]);
    assert_eq!((run.code, &*run.out), (Some(0), "words\n"), "{}", run.err);
}

/// Holds (Scripts): A time that runs out is told, also where the agent obeys the cancellation.
#[test]
fn a_time_that_runs_out_is_told() {
    let obeys =
        "while hear()['method'] != 'session/cancel': pass\nanswer({'stopReason': 'cancelled'})";
    let run = Desk::new(obeys).run(&["--timeout", "1", "go"]);
    assert_eq!((run.code, &*run.err), (Some(124), "rat-nvim: timed out after 1 s (--timeout)\n"));
    let silent = Desk::with_agent(&format!("{PRELUDE}hear()\nhear()"));
    let run = silent.run(&["--timeout", "1", "go"]);
    assert_eq!((run.code, &*run.err), (Some(124), "rat-nvim: timed out after 1 s (--timeout)\n"));
}

/// Holds (Scripts): Of an agent that dies, the last messages are told in full and without secrets, since there is no page of traffic; not in the format `jsonl`, which has them.
#[test]
fn the_last_messages_of_an_agent_that_dies_are_told() {
    let long = "x".repeat(3000);
    let desk = Desk::new(&format!(
        "{UPDATES}import os, sys\nsay('first')\nsay('{long}')\ncall('1', title='With ' + os.environ['MY_API_KEY'])\nsys.exit(9)"
    ));
    let run = |words: &[&str]| {
        desk.ended(desk.command(words).env("MY_API_KEY", "s3cret-value").spawn().unwrap())
    };
    let ended = run(&["go"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let told: Vec<_> = ended.err.lines().filter(|line| line.contains("last message: ")).collect();
    assert_eq!(told.len(), 3, "{}", ended.err);
    assert!(told[1].contains(&long) && told[2].contains("\"title\""), "{told:?}");
    assert!(!ended.err.contains("s3cret"), "{}", ended.err);
    let ended = run(&["--jsonl", "go"]);
    assert!(!ended.err.contains("last message: "), "{}", ended.err);
}

/// Holds (Scripts): Of an agent that dies at its start, the last lines on stderr are shown, a few of them and without secrets.
#[test]
fn the_last_words_of_an_agent_are_shown() {
    let desk = Desk::with_agent(
        "import os, sys\n[print('line', n, file=sys.stderr) for n in range(20)]\n\
         print('\\x1b[31mno key', os.environ['MY_API_KEY'], file=sys.stderr)\nsys.exit(9)",
    );
    let run = desk.ended(desk.command(&["go"]).env("MY_API_KEY", "s3cret-value").spawn().unwrap());
    let expected = "rat-nvim: z exited with status 9.\nrat-nvim:   … 16 earlier lines\nrat-nvim:   line 16\n\
        rat-nvim:   line 17\nrat-nvim:   line 18\nrat-nvim:   line 19\nrat-nvim:   no key [redacted]\n";
    assert_eq!((run.code, &*run.out, &*run.err), (Some(1), "", expected));
}

/// Holds (Scripts): No secret is in the line that says why a run has failed.
#[test]
fn the_error_of_an_agent_is_told_without_secrets() {
    let desk = Desk::with_agent(
        "import json, os\nrequest = json.loads(input())\n\
         error = {'code': -32603, 'message': 'no access with ' + os.environ['MY_API_KEY']}\n\
         print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'error': error}), flush=True)\ninput()",
    );
    let run = desk.ended(desk.command(&["go"]).env("MY_API_KEY", "s3cret-value").spawn().unwrap());
    assert!(run.err.contains("no access with [redacted]"), "{}", run.err);
    assert!(!run.err.contains("s3cret"), "{}", run.err);
}

/// Holds (Scripts): What is said of an agent's settings names them as they stand in the settings file, with their line.
#[test]
fn settings_are_named_as_they_stand_in_the_file() {
    let desk = Desk::new("");
    let file = desk.project().join("../settings.json");
    let text = r#"{"agent_servers": {
  "gone": {
    "args": [],
    "command": "/no/such/agent"
  },
  "far": {"url": "ftp://x"},
  "odd": {"command": "true",
    "dialect": "latin"},
  "none": {}
}}"#;
    std::fs::write(&file, text).unwrap();
    for (agent, code, told) in [
        ("gone", 3, "agent_servers.gone.command (settings.json, line 4)"),
        ("far", 2, "agent_servers.far.url (settings.json, line 6) begins with ftp:"),
        ("odd", 2, "agent_servers.odd.dialect (settings.json, line 8) is \"latin\""),
        ("none", 2, "agent_servers.none (settings.json, line 9) has neither command nor url"),
    ] {
        let run = desk.run(&["-a", agent, "go"]);
        assert_eq!((run.code, &*run.out), (Some(code), ""), "{}", run.err);
        assert!(run.err.contains(told) && run.err.lines().count() == 1, "{}", run.err);
    }
}

/// Holds (Scripts): A session that cannot be resumed is told with the reason, and no other one is opened instead.
#[test]
fn a_session_that_cannot_be_resumed_is_told_with_the_reason() {
    let fails = |can: &str, load: &str| {
        let start = "while message := hear():\n    method, id = message['method'], message.get('id')\n\
             \x20   if method == 'initialize':\n        send({'jsonrpc': '2.0', 'id': id, 'result': {'protocolVersion': 1, 'agentCapabilities': CAN}})\n\
             \x20   elif method == 'session/new':\n        open('new', 'w').close()\n\
             \x20   else:\n        send({'jsonrpc': '2.0', 'id': id, 'error': LOAD})\n";
        Desk::with_agent(&format!("{PRELUDE}{}", start.replace("CAN", can).replace("LOAD", load)))
    };
    let unknown = "{'code': -32002, 'message': 'Resource not found'}";
    for (can, load, told) in [
        ("{'loadSession': True}", unknown, "Resource not found (error -32002)."),
        ("{}", unknown, "it does not keep sessions."),
    ] {
        let desk = fails(can, load);
        let run = desk.run(&["--resume", "nonsense", "go"]);
        let expected = format!("rat-nvim: z cannot resume the session nonsense: {told}\n");
        assert_eq!((run.code, &*run.out, &*run.err), (Some(1), "", &*expected));
        assert!(!desk.project().join("new").exists());
    }
}
