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
