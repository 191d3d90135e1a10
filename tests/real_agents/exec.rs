//! `rat-nvim exec` with real agents: answers, edits, sessions, signals, and that no process is left.

use std::io::{BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

use crate::agents::{Kind, PATIENCE};
use crate::model::Model;
use crate::support::{Processes, TempFolder, poll_for};
use crate::{with_agent, with_each_real_agent};

with_each_real_agent!(
    it_answers_in_each_format,
    it_edits_with_write_and_not_without,
    a_session_is_saved_and_resumed,
    commands_are_listed,
    an_interrupt_cancels_the_turn,
    a_second_interrupt_ends_it,
    a_timeout_and_a_closed_output_end_it,
    a_long_prompt_comes_from_stdin,
);

/// A project, and settings that have one agent.
struct Desk {
    folder: TempFolder,
    model: Model,
    processes: Processes,
}

struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Desk {
    fn new(kind: Kind) -> Self {
        let folder = TempFolder::new();
        folder.file("project/a.txt", "one\ntwo\n");
        let model = Model::of(kind, folder.path());
        let agents = std::env::var("ACP_AGENTS_DIR").expect("ACP_AGENTS_DIR: where agents are");
        let mut env = json!({"ACP_AGENTS_DIR": agents, "ACP_HOME": folder.folder("agent")});
        for (name, value) in model.variables() {
            env[name] = json!(value);
        }
        let agent = json!({"command": kind.command(), "args": [], "env": env});
        let settings = json!({"agent_servers": {kind.name(): agent}});
        folder.file("settings.json", settings.to_string());
        let processes = Processes::marked(folder.path().display().to_string());
        Self { folder, model, processes }
    }

    fn start(&self, arguments: &[&str], stdin: Stdio) -> Child {
        let variable = self.processes.variable();
        let (name, value) = variable.split_once('=').expect("a variable");
        Command::new(env!("CARGO_BIN_EXE_rat-nvim"))
            .arg("exec")
            .arg("--settings")
            .arg(self.folder.path().join("settings.json"))
            .args(arguments)
            .current_dir(self.folder.path().join("project"))
            .env(name, value)
            // Nobody is asked at the terminal the tests are started in.
            .env("CI", "true")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start exec")
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.ended(self.start(arguments, Stdio::null()))
    }

    /// Waits for the end, after which no process may be left.
    fn ended(&self, child: Child) -> Ended {
        let output = child.wait_with_output().expect("its output");
        assert_eq!(self.processes.living(), [0_u32; 0]);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("project/a.txt")).expect("the file")
    }
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

/// Waits until the answer has begun.
fn first_word(child: &mut Child) -> BufReader<ChildStdout> {
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut byte = [0];
    out.read_exact(&mut byte).expect("the first byte of the answer");
    out
}

fn it_answers_in_each_format(kind: Kind) {
    let desk = Desk::new(kind);
    let prompt = "[[say Für **dich** 🙂]]";
    let run = desk.run(&["-o", "simple", prompt]);
    assert_eq!((run.code, run.out.trim_end()), (Some(0), "Für **dich** 🙂"), "{}", run.err);
    let run = desk.run(&["[[read a.txt]][[say done]]"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("[tool]") && run.out.trim_end().ends_with("done"), "{}", run.out);
    let run = desk.run(&["-o", "jsonl", prompt]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines: Vec<Json> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["method"], "client/selected_agent");
    assert_eq!(lines[0]["params"]["name"], kind.name());
    assert_eq!(lines[1]["method"], "initialize");
    assert!(run.out.contains("end_turn"), "{}", run.out);
}

fn it_edits_with_write_and_not_without(kind: Kind) {
    let desk = Desk::new(kind);
    let prompt = "[[read a.txt]][[edit a.txt|two|TWO]][[say done]]";
    let run = desk.run(&[prompt]);
    assert_eq!((run.code, &*desk.text()), (Some(0), "one\ntwo\n"), "{}", run.err);
    assert!(run.err.contains("refused") && run.err.contains("--write"), "{}", run.err);
    let run = desk.run(&["--write", prompt]);
    assert_eq!((run.code, &*desk.text()), (Some(0), "one\nTWO\n"), "{}{}", run.out, run.err);
}

fn a_session_is_saved_and_resumed(kind: Kind) {
    let desk = Desk::new(kind);
    let file = desk.folder.path().join("session");
    let run =
        desk.run(&["-o", "simple", "--save-session", file.to_str().expect("UTF-8"), "[[say one]]"]);
    assert_eq!((run.code, run.out.trim_end()), (Some(0), "one"), "{}", run.err);
    let session = std::fs::read_to_string(&file).expect("the session's id");
    if kind == Kind::Gemini {
        // It cannot load a session within the minute in which it was made, and then forgets it.
        return;
    }
    let run = desk.run(&["-o", "simple", "--resume", session.trim(), "[[say two]]"]);
    assert_eq!((run.code, run.out.trim_end()), (Some(0), "two"), "{}", run.err);
    let mut asked = desk.model.requests().into_iter().map(|request| request.to_string());
    let knows = asked.any(|asked| asked.contains("say one") && asked.contains("say two"));
    assert!(knows, "it does not know what was said before");
}

fn commands_are_listed(kind: Kind) {
    let desk = Desk::new(kind);
    let run = desk.run(&["--list-commands"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let is_line = |line: &str| line.starts_with('/') && line.contains('\t');
    assert!(!run.out.is_empty() && run.out.lines().all(is_line), "{}", run.out);
}

fn an_interrupt_cancels_the_turn(kind: Kind) {
    let desk = Desk::new(kind);
    let mut child = desk.start(&["-o", "simple", "[[slow 300]]"], Stdio::null());
    let mut out = first_word(&mut child);
    interrupt(&child);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest");
    assert_eq!(desk.ended(child).code, Some(130));
}

fn a_second_interrupt_ends_it(kind: Kind) {
    let desk = Desk::new(kind);
    let mut child = desk.start(&["-o", "jsonl", "[[hang 60]]"], Stdio::null());
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    until(&mut out, "session/prompt");
    interrupt(&child);
    interrupt(&child);
    let exited = poll_for(PATIENCE, || child.try_wait().expect("its status"));
    assert_eq!(exited.and_then(|status| status.code()), Some(130));
    assert_eq!(desk.processes.living(), [0_u32; 0]);
}

/// Reads lines until one contains this.
fn until(out: &mut impl std::io::BufRead, what: &str) {
    let mut line = String::new();
    while !line.contains(what) {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "{what} never came");
    }
}

fn a_timeout_and_a_closed_output_end_it(kind: Kind) {
    let desk = Desk::new(kind);
    let run = desk.run(&["--timeout", "15", "[[hang 120]]"]);
    assert_eq!(run.code, Some(124), "{}", run.err);
    let mut child = desk.start(&["-o", "simple", "[[slow 300]]"], Stdio::null());
    drop(first_word(&mut child));
    let exited = poll_for(PATIENCE, || child.try_wait().expect("its status"));
    assert_eq!(exited.and_then(|status| status.code()), Some(141));
    assert_eq!(desk.processes.living(), [0_u32; 0]);
}

fn a_long_prompt_comes_from_stdin(kind: Kind) {
    let desk = Desk::new(kind);
    let mut child = desk.start(&["-o", "simple", "-"], Stdio::piped());
    let mut stdin = child.stdin.take().expect("a pipe");
    // More than a pipe or an argument can hold; agents refuse what no model could read.
    let prompt = format!("{}\n[[say read]]\n", "a line of the prompt\n".repeat(20_000));
    stdin.write_all(prompt.as_bytes()).expect("it reads the prompt");
    drop(stdin);
    let run = desk.ended(child);
    assert_eq!((run.code, run.out.trim_end()), (Some(0), "read"), "{}", run.err);
}
