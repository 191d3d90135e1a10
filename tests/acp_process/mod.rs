//! Real processes as agents: what they say, how they end, and that nothing of them stays.

mod limits;
pub(crate) mod support;

use crate::support::TempFolder;
use rat_nvim::core::messages::agent::{AgentEvent, AgentRequest, CallError, ExitCause, Reply};
use rat_nvim::core::messages::call::{Call, SessionParams};
use rat_nvim::core::messages::effect::{AgentCommand, AgentEffect, Answer};
use rat_nvim::core::messages::ids::{AgentId, CallId};
use rat_nvim::process::group::Watchdog;
use rat_nvim::process::strays::Mark;
use rat_nvim::process::watch;
use rat_nvim::session::permission::Outcome;
use rat_nvim::session::turn::StopReason;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{AGENT, Bridge, PATIENCE, gone, program, python, runs, within};

/// ACP 18.
#[tokio::test]
async fn a_conversation_goes_both_ways_and_keeps_its_order() {
    let mut bridge = Bridge::running(
        r#"
say(json.dumps(hear()["params"]))
send({"id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": "gemini-cli", "version": "1"}}})
prompt = hear()
say("before")
send({"params": {"sessionId": "s", "path": "/ws/a", "line": 2}, "method": "fs/read_text_file", "id": "é-1"})
say(json.dumps(hear()))
end(prompt)
say("after")
hear()
"#,
    );
    bridge.call(1, Call::Initialize, None);
    let said: serde_json::Value = serde_json::from_str(&bridge.text().await).unwrap();
    assert_eq!(said["protocolVersion"], 2);
    assert_eq!(said["clientInfo"]["name"], "rat.nvim");
    assert_eq!(said["clientInfo"]["version"], env!("CARGO_PKG_VERSION"));
    let (call, reply) = bridge.reply().await;
    let Ok(Reply::Initialized(info)) = reply else { panic!("{reply:?}") };
    assert!(call == 1 && info.quirks.missing_file_reads_empty, "{info:?}");

    bridge.prompt(2);
    assert_eq!(bridge.text().await, "before");
    let (token, request) = bridge.request().await;
    assert_eq!(request, AgentRequest::Read { path: "/ws/a".into(), line: Some(2), limit: None });
    bridge.answer(token, Answer::Text("ü\n".into()));
    bridge.answer(token, Answer::Text("a second answer".into()));
    let answer = r#"{"jsonrpc": "2.0", "id": "\u00e9-1", "result": {"content": "\u00fc\n"}}"#;
    assert_eq!(bridge.text().await, answer);
    assert_eq!(bridge.reply().await, (2, Ok(Reply::Turn(StopReason::EndTurn))));
    assert_eq!(bridge.text().await, "after");
    bridge.run(AgentCommand::Stop);
    assert_eq!(bridge.exit().await.cause, ExitCause::Status(0));
}

/// ACP 3.
#[tokio::test]
async fn garbage_is_skipped_and_never_answered() {
    let mut bridge = Bridge::running(
        r#"
raw = sys.stdout.buffer
def garbage(data):
    raw.write(data)
    raw.flush()
garbage(b"npm warn deprecated\n\n   \n[]\n[{\"id\":1,\"method\":\"x\"}]\n\xff\xfe\n{\"a\":\n\x1b[2K{}\r\n")
garbage(b'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\xffok"}}}}\n')
say("x" * (5 << 20))
prompt = hear()
say(prompt["method"])
end(prompt)
garbage(b"no line end")
"#,
    );
    assert_eq!(bridge.text().await, "\u{fffd}ok");
    assert_eq!(bridge.text().await.len(), 5 << 20);
    bridge.prompt(1);
    assert_eq!(bridge.text().await, "session/prompt");
    assert!(bridge.reply().await.1.is_ok());
    assert_eq!(bridge.exit().await.cause, ExitCause::Status(0));
    let trace = bridge.agents.trace(AGENT).unwrap();
    let trace = trace.lock().spool().text();
    let strays = trace.lines().filter(|line| line.contains(r#""direction":"stray""#)).count();
    assert_eq!(strays, 9, "{trace}");
}

/// ACP 4.
#[tokio::test]
async fn a_crash_is_told_with_its_status_and_the_end_of_stderr() {
    let mut config = python(
        r#"
hear()
say("so far")
for n in range(100):
    print(f"\x1b[31mline {n}\x1b[0m", file=sys.stderr)
print("the key is " + os.environ["MY_API_KEY"], file=sys.stderr)
sys.exit(3)
"#,
    );
    config.env.push(("MY_API_KEY".into(), "hunter2hunter2".into()));
    let mut bridge = Bridge::new();
    bridge.start(AGENT, config);
    bridge.prompt(1);
    assert_eq!(bridge.text().await, "so far");
    assert_eq!(bridge.reply().await, (1, Err(CallError::Closed)));
    let exit = bridge.exit().await;
    assert_eq!(exit.cause, ExitCause::Status(3));
    assert_eq!((exit.stderr.len(), &*exit.stderr[38]), (40, "line 99"));
    assert_eq!(exit.stderr[39], "the key is [redacted]");
    assert_eq!(exit.stderr_lines, 101);
}

#[tokio::test]
async fn a_signal_is_told_by_its_name() {
    let mut bridge = Bridge::running("os.kill(os.getpid(), signal.SIGKILL)");
    assert_eq!(bridge.exit().await.cause, ExitCause::Signal("SIGKILL".into()));
}

#[tokio::test]
async fn a_call_that_is_not_answered_in_time_is_answered_by_us() {
    let mut bridge = Bridge::running(
        r#"
asked = hear()
say(hear()["method"])
send({"id": asked["id"], "result": {"sessionId": "late"}})
say("still here")
hear()
"#,
    );
    let waited = Duration::from_millis(20);
    bridge.call(1, Call::NewSession(SessionParams::default()), Some(waited));
    assert_eq!(bridge.reply().await, (1, Err(CallError::Timeout(waited))));
    assert_eq!(bridge.text().await, "$/cancel_request");
    assert_eq!(bridge.text().await, "still here");
}

#[tokio::test]
async fn an_agent_that_waits_for_the_user_is_not_late() {
    let mut bridge = Bridge::running(
        r#"
say("ready")
asked = hear()
params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
send({"id": 5, "method": "session/request_permission", "params": params})
hear()
send({"id": asked["id"], "result": {"sessionId": "in time"}})
hear()
"#,
    );
    // How long it takes to start does not count.
    assert_eq!(bridge.text().await, "ready");
    // It has to ask within that.
    let most = Duration::from_secs(3);
    bridge.call(1, Call::NewSession(SessionParams::default()), Some(most));
    let (token, _) = bridge.request().await;
    // Another one, which asks nobody, shows that the time is over.
    let other = AgentId(8);
    bridge.start(other, python("hear()\nhear()\nhear()"));
    let (request, timeout) = (Call::NewSession(SessionParams::default()), Some(most));
    let action = AgentCommand::Call { call: CallId(2), request, timeout };
    bridge.agents.run(AgentEffect { agent: other, action });
    assert_eq!(bridge.reply().await, (2, Err(CallError::Timeout(most))));
    bridge.answer(token, Answer::Permission(Outcome::Cancelled));
    assert!(matches!(bridge.reply().await, (1, Ok(Reply::Session { .. }))));
}

#[tokio::test]
async fn a_request_that_is_taken_back_still_gets_its_answer() {
    let mut bridge = Bridge::running(
        r#"
params = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
send({"id": 5, "method": "session/request_permission", "params": params})
send({"method": "$/cancel_request", "params": {"requestId": 5}})
say(json.dumps(hear()["result"]))
hear()
"#,
    );
    let (token, _) = bridge.request().await;
    assert_eq!(bridge.next().await, AgentEvent::Withdrawn(token));
    bridge.answer(token, Answer::Permission(Outcome::Cancelled));
    assert_eq!(bridge.text().await, r#"{"outcome": {"outcome": "cancelled"}}"#);
}

#[tokio::test]
async fn a_process_that_closes_its_stdout_and_lives_on_is_ended() {
    let script = "ignore_signals()\nsay(str(os.getpid()))\nos.close(1)\nwhile True: time.sleep(1)";
    let mut bridge = Bridge::hasty(16).with_agent(script);
    bridge.prompt(1);
    let pids = bridge.numbers().await;
    assert_eq!(bridge.reply().await, (1, Err(CallError::Closed)));
    assert_eq!(bridge.exit().await.cause, ExitCause::ClosedPipe);
    gone(pids[0]).await;
}

#[tokio::test]
async fn a_process_that_closes_its_stdin_and_lives_on_is_ended() {
    let script = "os.close(0)\nsay(str(os.getpid()))\nwhile True: time.sleep(1)";
    let mut bridge = Bridge::hasty(16).with_agent(script);
    let pids = bridge.numbers().await;
    bridge.prompt(1);
    assert_eq!(bridge.reply().await, (1, Err(CallError::Closed)));
    assert_eq!(bridge.exit().await.cause, ExitCause::ClosedPipe);
    gone(pids[0]).await;
}

/// An agent that obeys nobody, with a child in its process group and one in a session of its own (so OpenCode starts
/// its shells); it says who they are.
const HYDRA: &str = r#"
ignore_signals()
say(f"{os.getpid()} {stubborn_child()} {stubborn_child(start_new_session=True)}")
while True: time.sleep(1)
"#;

/// ACP 137.
#[tokio::test]
async fn stop_ends_what_ignores_it_and_its_children() {
    let mut bridge = Bridge::hasty(16).with_agent(HYDRA);
    let pids = bridge.numbers().await;
    bridge.prompt(1);
    bridge.run(AgentCommand::Stop);
    bridge.prompt(2);
    let mut closed = [bridge.reply().await, bridge.reply().await];
    closed.sort_unstable_by_key(|(call, _)| *call);
    assert_eq!(closed, [(1, Err(CallError::Closed)), (2, Err(CallError::Closed))]);
    assert_eq!(bridge.exit().await.cause, ExitCause::Signal("SIGKILL".into()));
    assert!(pids.len() == 3);
    for pid in pids {
        gone(pid).await;
    }
}

#[tokio::test]
async fn children_of_an_agent_that_crashed_are_ended() {
    let mut bridge = Bridge::hasty(16).with_agent(
        r#"
holds_stdout = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
say(f"{stubborn_child()} {stubborn_child(start_new_session=True)} {holds_stdout.pid}")
os._exit(1)
"#,
    );
    let pids = bridge.numbers().await;
    assert_eq!(bridge.exit().await.cause, ExitCause::Status(1));
    assert!(pids.len() == 3);
    for pid in pids {
        gone(pid).await;
    }
}

/// ACP 76.
#[tokio::test]
async fn what_waits_to_be_written_is_written_before_stdin_closes() {
    let mut bridge = Bridge::running(
        r#"
say("ready")
lines = sys.stdin.readlines()
say(" ".join(str(len(line)) for line in lines))
"#,
    );
    assert_eq!(bridge.text().await, "ready");
    let text = "x".repeat(4 << 20);
    let block = rat_nvim::session::content::Content::Text(text);
    let prompt = Call::Prompt { session: "s".into(), blocks: vec![block] };
    bridge.call(1, prompt, None);
    bridge.run(AgentCommand::Cancel("s".into()));
    bridge.run(AgentCommand::Stop);
    let lengths = bridge.numbers().await;
    assert!(lengths.len() == 2 && lengths[0] > 4 << 20, "{lengths:?}");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let mut bridge = Bridge::new();
    bridge.start(AGENT, program("no-such-agent", &[]));
    bridge.prompt(1);
    assert_eq!(bridge.reply().await, (1, Err(CallError::Closed)));
    let cause = bridge.exit().await.cause;
    let error = "no-such-agent is not on PATH".to_owned();
    assert_eq!(cause, ExitCause::NotStarted { not_found: true, error });

    bridge.start_in(AgentId(8), python(""), "/no/such/folder".as_ref());
    let cause = bridge.exit().await.cause;
    let ExitCause::NotStarted { not_found: false, error } = cause else { panic!("{cause:?}") };
    assert!(error.contains("/no/such/folder"), "{error}");
}

#[tokio::test]
async fn the_environment_is_the_configured_one_and_nothing_else() {
    let mut config = python(
        "say(' '.join(f'{k}={v}' for k, v in sorted(os.environ.items()) if k[:2] in ('A_', 'B_', 'CA')))\nhear()",
    );
    config.base_env = vec![
        ("PATH".into(), std::env::var("PATH").unwrap()),
        ("A_ONE".into(), "base".into()),
        ("A_TWO".into(), "base".into()),
    ];
    config.env = vec![("A_TWO".into(), "own".into()), ("B_THREE".into(), String::new())];
    let mut bridge = Bridge::new();
    bridge.start(AGENT, config);
    assert_eq!(bridge.text().await, "A_ONE=base A_TWO=own B_THREE=");
}

/// The agent notices by itself that it is held up: nothing could be written for a while.
#[tokio::test]
async fn a_flood_waits_for_a_bridge_that_is_slow_and_arrives_whole() {
    let told = std::env::temp_dir().join(format!("rat-flood-{}", std::process::id()));
    let script = format!(
        r#"
import io
chunk = "y" * 1000
lines = []
sys.stdout = io.StringIO()
for n in range(20000):
    say(f"{{n}} {{chunk}}")
data = sys.stdout.getvalue().encode()
os.set_blocking(1, False)
written = stuck = 0
while written < len(data) and stuck < 200:
    try:
        written += os.write(1, data[written:written + 65536])
        stuck = 0
    except BlockingIOError:
        stuck += 1
        time.sleep(0.001)
with open("{told}.part", "w") as file:
    file.write(str(written))
os.rename("{told}.part", "{told}")
os.set_blocking(1, True)
while written < len(data):
    written += os.write(1, data[written:])
"#,
        told = told.display()
    );
    let mut bridge = Bridge::with(None, 1);
    bridge.start(AGENT, python(&script));
    let begun = Instant::now();
    while !told.exists() {
        assert!(begun.elapsed() < PATIENCE, "the agent neither ends nor waits");
        tokio::task::yield_now().await;
    }
    let written: usize = std::fs::read_to_string(&told).unwrap().parse().unwrap();
    std::fs::remove_file(&told).unwrap();
    assert!(written < 8 << 20, "{written} bytes were taken while nobody read them");
    for n in 0..20_000 {
        let text = bridge.text().await;
        assert_eq!(text.split(' ').next(), Some(&*n.to_string()));
    }
    assert!(bridge.largest_batch < 2 << 20, "{} bytes in one batch", bridge.largest_batch);
    assert_eq!(bridge.exit().await.cause, ExitCause::Status(0));
}

/// ACP 137.
#[tokio::test]
async fn shutdown_ends_all_agents_also_where_nobody_listens() {
    let mut bridge = Bridge::hasty(1);
    let mut pids = Vec::new();
    for agent in 0..3 {
        bridge.start(AgentId(agent), python(HYDRA));
        pids.extend(bridge.numbers().await);
    }
    within(bridge.agents.shutdown()).await;
    assert_eq!(pids.len(), 9);
    for pid in pids {
        gone(pid).await;
    }
}

/// Each waits for the others before it ends: the time for one of them would not be over before the test is.
#[tokio::test]
async fn shutdown_ends_all_agents_at_the_same_time() {
    let folder = TempFolder::new();
    let mut bridge = Bridge::new();
    for agent in 0..3 {
        let script = format!(
            r#"
say("up")
while hear(): pass
open("{agent}", "w").close()
while not all(os.path.exists(str(other)) for other in range(3)): time.sleep(0.01)
"#
        );
        bridge.start_in(AgentId(agent), python(&script), folder.path());
        assert_eq!(bridge.text().await, "up");
    }
    within(bridge.agents.shutdown()).await;
}

fn watchdog() -> Watchdog {
    let program = env!("CARGO_BIN_EXE_rat-nvim").into();
    Watchdog { program, args: vec!["watch-group".into()] }
}

#[test]
fn a_killed_bridge_leaves_nothing_behind() {
    const NAME: &str = "acp_process::a_killed_bridge_leaves_nothing_behind";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if std::env::var_os("RAT_TEST_HOST").is_some() {
        return runtime.block_on(host());
    }
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
        .env("RAT_TEST_HOST", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pids = lines.find_map(|line| line.strip_prefix("PIDS ").map(str::to_owned)).unwrap();
    let pids: Vec<i32> = pids.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() == 3 && pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    host.kill().unwrap();
    host.wait().unwrap();
    for pid in pids {
        runtime.block_on(gone(pid));
    }
}

/// A bridge that waits to be killed, with an agent.
async fn host() {
    let mut bridge = Bridge::with(Some(watchdog()), 16);
    bridge.start(AGENT, python(HYDRA));
    let pids = bridge.text().await;
    std::io::stdout().write_all(format!("\nPIDS {pids}\n").as_bytes()).unwrap();
    bridge.next().await;
}

#[test]
fn the_watchdog_obeys_its_pipe_and_nobody_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let group = || {
        use std::os::unix::process::CommandExt;
        Command::new("sleep").arg("60").process_group(0).spawn().unwrap()
    };
    let mark = Mark::new();
    let watch = |pgid: u32| {
        let Watchdog { program, args } = watchdog();
        let mut command = Command::new(program);
        command
            .args(args)
            .args([&pgid.to_string(), mark.as_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        command.spawn().unwrap()
    };
    let kill = |signal: &str, pid: u32| {
        let status = Command::new("kill").args([signal, &pid.to_string()]).status();
        assert!(status.unwrap().success());
    };

    let mut released = group();
    let mut watchdog = watch(released.id());
    watchdog.stdin.take().unwrap().write_all(watch::RELEASE).unwrap();
    assert!(watchdog.wait().unwrap().success());
    assert!(released.try_wait().unwrap().is_none(), "a released group was ended");
    released.kill().unwrap();
    released.wait().unwrap();

    let mut watched = group();
    let mut watchdog = watch(watched.id());
    // The watchdog leads a session of its own once it is deaf.
    let begun = Instant::now();
    while !leads_a_session(watchdog.id()) {
        assert!(begun.elapsed() < PATIENCE, "the watchdog does not come up");
        runtime.block_on(tokio::task::yield_now());
    }
    for signal in ["-HUP", "-INT", "-TERM"] {
        kill(signal, watchdog.id());
    }
    assert!(watchdog.try_wait().unwrap().is_none(), "the watchdog died of a signal");
    drop(watchdog.stdin.take());
    assert!(watchdog.wait().unwrap().success());
    assert!(!watched.wait().unwrap().success());
}

fn leads_a_session(pid: u32) -> bool {
    let shown = Command::new("ps").args(["-o", "sess=", "-p", &pid.to_string()]).output();
    String::from_utf8_lossy(&shown.unwrap().stdout).trim() == pid.to_string()
}

#[tokio::test]
async fn a_call_is_counted_once_whatever_happens_around_it() {
    let mut bridge = Bridge::running("first = hear()\nend(first)\nos._exit(0)");
    for call in 0..50 {
        bridge.prompt(call);
    }
    let mut answered = Vec::new();
    for _ in 0..50 {
        answered.push(bridge.reply().await.0);
    }
    assert!(matches!(bridge.exit().await.cause, ExitCause::Status(0) | ExitCause::ClosedPipe));
    answered.sort_unstable();
    assert_eq!(answered, (0..50).collect::<Vec<_>>());
}
