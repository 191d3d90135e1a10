//! `rat-nvim exec`, with agents that are a few lines of Python: what is printed and where, what is allowed, and how it exits.

use crate::acp_process::support::{PATIENCE, PRELUDE};
use crate::support::{Processes, TempFolder, poll_for};
use serde_json::{Value as Json, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Answers the handshake and opens the session `s`; then runs `script` for each message that follows, which is in `message`.
const SESSION: &str = r#"
about = {"name": "scripted", "version": "1"}
can = {"loadSession": True, "sessionCapabilities": {"list": {}}}
def ask(method, **params):
    params["sessionId"] = "s"
    send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
    while True:
        answer = hear()
        if answer.get("id") == method and "method" not in answer:
            return answer
def permit(kind, *paths):
    call = {"toolCallId": kind, "title": "Do it", "kind": kind, "locations": [{"path": path} for path in paths]}
    options = [{"optionId": key, "name": key, "kind": key} for key in ("allow_always", "allow_once", "reject_once")]
    return ask("session/request_permission", toolCall=call, options=options)["result"]["outcome"]["optionId"]
while message := hear():
    method, id = message.get("method"), message.get("id")
    def answer(result):
        send({"jsonrpc": "2.0", "id": id, "result": result})
    if method == "initialize":
        answer({"protocolVersion": 1, "agentInfo": about, "agentCapabilities": can})
        first = message
    elif method == "session/new":
        answer({"sessionId": "s"})
    elif method == "session/load":
        say("old words")
        answer({})
    elif method == "session/list":
        answer({"sessions": [{"sessionId": "s1", "cwd": message["params"]["cwd"], "title": "one\ttwo", "updatedAt": "2026-01-02"}]})
    elif method == "session/prompt":
        text = "".join(part["text"] for part in message["params"]["prompt"])
        PROMPT
"#;

/// A folder with settings that have one agent.
pub(crate) struct Desk {
    folder: TempFolder,
    processes: Processes,
}

/// How a run has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    /// The agent runs `prompt` for each prompt; the rest of its conversation is [`SESSION`].
    pub(crate) fn new(prompt: &str) -> Self {
        let prompt = prompt.replace('\n', "\n        ");
        Self::with_agent(&format!("{PRELUDE}{}", SESSION.replace("PROMPT", &prompt)))
    }

    pub(crate) fn with_agent(script: &str) -> Self {
        let folder = TempFolder::new();
        let agent = json!({"command": "python3", "args": ["-u", "-c", script]});
        let settings = json!({"agent_servers": {"z": agent, "a": {"command": "/no/such/agent"}}});
        std::fs::write(folder.path().join("settings.json"), settings.to_string()).unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let mark = folder.path().display().to_string();
        Self { folder, processes: Processes::marked(mark) }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rat-nvim"));
        let variable = self.processes.variable();
        let (name, value) = variable.split_once('=').unwrap();
        command.arg("exec").arg("--settings").arg(self.folder.path().join("settings.json"));
        command.args(arguments).current_dir(self.project()).env("HOME", self.folder.path());
        command.env(name, value).env_remove("XDG_CONFIG_HOME").env_remove("RAT_STATE_DIR");
        // Nobody is asked at the terminal the tests are started in.
        command.env("CI", "true");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.ended(self.command(arguments).spawn().unwrap())
    }

    /// Waits for the end, after which no process may be left.
    pub(crate) fn ended(&self, child: Child) -> Ended {
        let output = child.wait_with_output().unwrap();
        assert_eq!(self.processes.living(), [0_u32; 0]);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// Waits for the end of a process, within the time that tests have.
fn exit_of(child: &mut Child) -> ExitStatus {
    poll_for(PATIENCE, || child.try_wait().unwrap()).expect("it does not end")
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// Holds (Scripts): The answer goes to stdout byte for byte, in the format `text` with lines for everything else.
#[test]
fn the_answer_is_printed() {
    let desk = Desk::new(
        "def update(**fields):\n    send({'jsonrpc': '2.0', 'method': 'session/update', 'params': {'sessionId': 's', 'update': fields}})\n\
         update(sessionUpdate='plan', entries=[{'content': 'look', 'status': 'in_progress', 'priority': 'low'}])\n\
         say('ä ' + text + '\\n')\nsay('more')\n\
         update(sessionUpdate='tool_call', toolCallId='1', title='Look\\x1b[31m', status='in_progress')\n\
         update(sessionUpdate='tool_call_update', toolCallId='1', status='completed', content=[{'type': 'diff', 'path': '/a', 'oldText': 'x\\ny\\n', 'newText': 'x\\nz\\n'}])\n\
         say('end\\x1b[0m')\nend(message)",
    );
    let simple = desk.run(&["-o", "simple", "hi"]);
    assert_eq!(
        (simple.code, &*simple.out, &*simple.err),
        (Some(0), "ä hi\nmoreend\u{1b}[0m\n", "")
    );
    let text = desk.run(&["-a", "z", "hi"]);
    let expected =
        "[plan] 0/1 look\nä hi\nmore\n[tool] Look\u{fffd}[31m\n[diff] /a +1 -1\nend\u{1b}[0m\n";
    assert_eq!((text.code, &*text.out, &*text.err), (Some(0), expected, ""));
}

/// Holds (Scripts): In the format `jsonl` every message is printed as it was sent, after a line about the agent.
#[test]
fn every_message_is_printed_as_it_was_sent() {
    let odd = r#"{ "method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"new one","x":1.50}} , "jsonrpc":"2.0"}"#;
    let desk =
        Desk::new(&format!("sys.stdout.write('stray\\n' + '''{odd}''' + '\\n')\nend(message)"));
    for flags in [&["-o", "jsonl", "hi"][..], &["-j", "hi"], &["--output", "json", "hi"]] {
        let run = desk.run(flags);
        assert_eq!((run.code, &*run.err), (Some(0), ""));
        let lines: Vec<&str> = run.out.lines().collect();
        let first = r#"{"jsonrpc":"2.0","method":"client/selected_agent","params":{"name":"z","command":"python3"}}"#;
        assert_eq!(lines[0], first);
        assert!(lines.contains(&odd), "{lines:#?}");
        for line in &lines {
            serde_json::from_str::<Json>(line).expect(line);
        }
        assert_eq!(lines.len(), 8, "{lines:#?}");
    }
}

/// Holds (Scripts): A prompt is read from stdin, however long it is; an empty one is an error.
#[test]
fn a_prompt_comes_from_stdin() {
    let desk = Desk::new("say(str(len(text)))\nend(message)");
    for arguments in [&["-o", "simple"][..], &["-o", "simple", "-"]] {
        let mut child = desk.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&vec![b'x'; 10 << 20]).unwrap();
        let run = desk.ended(child);
        assert_eq!((run.code, &*run.out), (Some(0), "10485760\n"), "{}", run.err);
    }
    for arguments in [&["", "-o", "simple"][..], &[" \n"], &[]] {
        let run = desk.run(arguments);
        assert_eq!((run.code, &*run.out), (Some(2), ""));
        assert_eq!(run.err, "rat-nvim: the prompt is empty\n");
    }
}

/// Holds (Scripts): Files are read in the folder, changed only with `--write`, read elsewhere only with `--yolo`, and never changed elsewhere.
#[test]
fn files_are_used_as_the_flags_allow() {
    let desk = Desk::new(
        "def tried(answer):\n    return 'yes' if 'result' in answer else str(answer['error']['code'])\n\
         here, there = os.getcwd(), os.path.dirname(os.getcwd())\n\
         say(tried(ask('fs/read_text_file', path=here + '/a.txt')) + ' ')\n\
         say(tried(ask('fs/read_text_file', path=there + '/settings.json')) + ' ')\n\
         say(tried(ask('fs/write_text_file', path=here + '/b.txt', content='b')) + ' ')\n\
         say(tried(ask('fs/write_text_file', path=there + '/settings.json', content='c')) + ' ')\n\
         say(tried(ask('terminal/create', command='true')))\nend(message)",
    );
    std::fs::write(desk.project().join("a.txt"), "a").unwrap();
    for (flags, expected) in [
        (&["-o", "simple", "go"][..], "yes -32602 -32601 -32601 -32601\n"),
        (&["-o", "simple", "--write", "go"], "yes -32602 yes -32602 -32601\n"),
        (&["-o", "simple", "--allow", "execute", "go"], "yes -32602 -32601 -32601 yes\n"),
        (&["-o", "simple", "--yolo", "go"], "yes yes yes -32602 yes\n"),
    ] {
        let run = desk.run(flags);
        assert_eq!((run.code, &*run.out), (Some(0), expected), "{flags:?} {}", run.err);
        let written = std::fs::read_to_string(desk.project().join("b.txt")).ok();
        assert_eq!(written.is_some(), expected.contains(" yes -32602 "), "{flags:?}");
        let _ = std::fs::remove_file(desk.project().join("b.txt"));
    }
}

/// Holds (Scripts): A permission request is answered by the flags, once, and what is refused is told with the flag that would allow it.
#[test]
fn permission_requests_are_answered_by_the_flags() {
    let desk = Desk::new(
        "say(permit(text, os.getcwd() + '/a') + ' ' + permit(text, '/etc/x'))\nend(message)",
    );
    for (flags, expected) in [
        (&["read"][..], "allow_once reject_once\n"),
        (&["edit"], "reject_once reject_once\n"),
        (&["edit", "--write"], "allow_once reject_once\n"),
        (&["execute", "--write"], "reject_once reject_once\n"),
        (&["execute", "--allow", "execute"], "allow_once allow_once\n"),
        (&["fetch", "--yolo"], "allow_once allow_once\n"),
        (&["delete", "--yolo"], "allow_once reject_once\n"),
    ] {
        let run = desk.run(&[&["-o", "simple"], flags].concat());
        assert_eq!((run.code, &*run.out), (Some(0), expected), "{flags:?} {}", run.err);
        assert_eq!(run.err.lines().count(), expected.matches("reject").count(), "{}", run.err);
    }
    let run = desk.run(&["edit"]);
    assert!(run.err.contains("(--write allows it)\n"), "{}", run.err);
}

/// Holds (Scripts): Ctrl-C cancels the turn, and ends at once if it is pressed again; nothing of the agent is left.
#[test]
fn an_interrupt_cancels_and_a_second_one_ends() {
    let obeys = "say('up\\n')\nwhile hear()['method'] != 'session/cancel': pass\nsay('bye')\nanswer({'stopReason': 'cancelled'})";
    let deaf = "say('up\\n')\nsubprocess.run(['sleep', '600'])";
    for (script, is_deaf, said) in [(obeys, false, "up\nbye\n"), (deaf, true, "up\n")] {
        let desk = Desk::new(script);
        let mut child = desk.command(&["-o", "simple", "go"]).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        out.read_line(&mut printed).unwrap();
        interrupt(&child);
        let status = poll_for(PATIENCE, || {
            let ended = child.try_wait().unwrap();
            if is_deaf && ended.is_none() {
                interrupt(&child);
            }
            ended
        });
        out.read_to_string(&mut printed).unwrap();
        assert_eq!((status.unwrap().code(), &*printed), (Some(130), said));
        assert_eq!(desk.processes.living(), [0_u32; 0]);
    }
}

/// Holds (Scripts): Each way to end has an exit code of its own.
#[test]
fn each_end_has_its_exit_code() {
    for (script, code, told) in [
        ("answer({'stopReason': 'max_tokens'})", 0, "the turn ended: max_tokens"),
        ("answer({'stopReason': 'refusal'})", 4, "z refused the prompt"),
        (
            "send({'jsonrpc': '2.0', 'id': id, 'error': {'code': 7, 'message': 'no money'}})",
            1,
            "no money",
        ),
        ("sys.exit(3)", 1, "exited with status 3"),
    ] {
        let run = Desk::new(script).run(&["go"]);
        assert_eq!((run.code, &*run.out), (Some(code), ""), "{}", run.err);
        assert!(run.err.contains(told), "{}", run.err);
        let why = run.err.lines().filter(|line| !line.contains("  last message: "));
        assert_eq!(why.count(), 1, "{}", run.err);
    }
    let desk = Desk::new("subprocess.run(['sleep', '600'])");
    let run = desk.run(&["--timeout", "1", "go"]);
    assert_eq!((run.code, &*run.err), (Some(124), "rat-nvim: timed out after 1 s (--timeout)\n"));
    let missing = desk.run(&["-a", "a", "go"]);
    assert_eq!((missing.code, &*missing.out), (Some(3), ""));
    assert!(
        missing.err.contains("/no/such/agent") && missing.err.lines().count() == 1,
        "{}",
        missing.err
    );
    let dying = Desk::with_agent("import sys; sys.exit(9)").run(&["go"]);
    assert_eq!((dying.code, &*dying.err), (Some(1), "rat-nvim: z exited with status 9.\n"));
}

/// Holds (Scripts): Where nobody reads the output any more, it ends.
#[test]
fn a_closed_output_ends_it() {
    let desk = Desk::new("while True: say('words\\n')");
    let mut child = desk.command(&["-o", "simple", "go"]).spawn().unwrap();
    let mut first = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"words\n");
    assert_eq!(exit_of(&mut child).code(), Some(141));
    assert_eq!(desk.processes.living(), [0_u32; 0]);
}

/// Holds (Scripts): A full disk below stdout or the session's file is told, with an exit code that is not 0.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (arguments, code) in [(vec!["go"], 1), (vec!["--save-session", "/dev/full", "go"], 2)] {
        let desk = Desk::new("say('words')\nend(message)");
        let run = desk.ended(desk.command(&arguments).stdout(full()).spawn().unwrap());
        assert_eq!(run.code, Some(code), "{}", run.err);
        assert!(run.err.contains("No space left on device"), "{}", run.err);
    }
}

/// Holds (Scripts): Commands and sessions are listed, a session is resumed without its old words, and its id is saved.
#[test]
fn sessions_and_commands_are_listed_and_resumed() {
    let desk = Desk::new("say(text)\nend(message)");
    let saved = desk.folder.path().join("session");
    let run = desk.run(&["-o", "simple", "--save-session", saved.to_str().unwrap(), "hi"]);
    assert_eq!((run.code, &*run.out), (Some(0), "hi\n"), "{}", run.err);
    assert_eq!(std::fs::read_to_string(&saved).unwrap(), "s\n");
    let run = desk.run(&["-o", "simple", "--resume", "s", "again"]);
    assert_eq!((run.code, &*run.out), (Some(0), "again\n"), "{}", run.err);
    let run = desk.run(&["--list-sessions"]);
    assert_eq!((run.code, &*run.out), (Some(0), "s1\t2026-01-02\tone two\n"), "{}", run.err);
    let commands = "send({'jsonrpc': '2.0', 'method': 'session/update', 'params': {'sessionId': 's', 'update': \
        {'sessionUpdate': 'available_commands_update', 'availableCommands': [{'name': 'web', 'description': 'Search'}]}}})";
    let told = SESSION.replace(
        "answer({\"sessionId\": \"s\"})",
        &format!("answer({{\"sessionId\": \"s\"}}); {commands}"),
    );
    let desk = Desk::with_agent(&format!("{PRELUDE}{}", told.replace("PROMPT", "end(message)")));
    let run = desk.run(&["--list-commands"]);
    assert_eq!((run.code, &*run.out), (Some(0), "/web\tSearch\n"), "{}", run.err);
}

/// Holds (Scripts): What makes no sense is told in one line on stderr, with an exit code of its own and nothing on stdout.
#[test]
fn what_makes_no_sense_is_told() {
    let desk = Desk::new("end(message)");
    let file = desk.folder.path().join("settings.json").display().to_string();
    let broken = desk.folder.path().join("broken.json");
    std::fs::write(&broken, "{\n  \"agent_servers\": nope\n}").unwrap();
    let broken = broken.display().to_string();
    let settings = |file: &str| format!("--settings={file}");
    for (arguments, told) in [
        (vec!["-a", "nobody", "go"], "no agent is named nobody"),
        (vec!["--cwd", &file, "go"], "is not a folder"),
        (vec!["--cwd", "/no/such/folder", "go"], "No such file or directory"),
        (vec!["--resume", "", "go"], "--resume"),
        (vec!["--timeout", "0", "go"], "--timeout"),
        (vec!["--allow", "everything", "go"], "--allow"),
        (vec!["--unknown", "go"], "--unknown"),
        (vec!["--list-commands", "go"], "--list-commands"),
    ] {
        let run = desk.run(&arguments);
        assert_eq!((run.code, &*run.out), (Some(2), ""), "{arguments:?} {}", run.err);
        assert!(run.err.contains(told), "{arguments:?} {}", run.err);
    }
    for (file, told) in
        [(broken.as_str(), "line 2, column 21"), ("/no/file", "there is no such file")]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rat-nvim"));
        let output = command.args(["exec", &settings(file), "go"]).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{err}");
        assert!(err.contains(told) && err.lines().count() == 1, "{err}");
    }
}
