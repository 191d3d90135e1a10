//! `rat-nvim exec` in a terminal: what a person is asked there.

use crate::exec::Desk;
use std::process::Command;

/// Runs a command in a terminal of its own: passes each of the answers when a line ends with the question before it, and
/// prints what is on the screen and the exit code.
const IN_TERMINAL: &str = r#"
import json, os, pty, select, sys
command, answers = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
seen = b""
while True:
    ready, _, _ = select.select([terminal], [], [], 20)
    if not ready:
        print("it hangs")
        break
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more
    if answers and seen.endswith(answers[0][0].encode()):
        os.write(terminal, answers.pop(0)[1].encode())
        open("typed", "w").close()
print(seen.decode().replace("\r\n", "\n"))
print("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

fn in_terminal(desk: &Desk, arguments: &[&str], answers: &[[&str; 2]]) -> String {
    let run = desk.command(arguments);
    let mut command = vec![run.get_program().to_str().unwrap().to_owned()];
    command.extend(run.get_args().map(|argument| argument.to_str().unwrap().to_owned()));
    let script = serde_json::to_string(&(command, answers)).unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", IN_TERMINAL, &script]).current_dir(desk.project());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    let output = python.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const QUESTION: &str = "Allow it once? [y/N] ";

/// Holds (Scripts): In a terminal the user is asked about what no flag allows, once for each request, and only yes is yes.
#[test]
fn somebody_at_the_terminal_is_asked() {
    let desk = Desk::new("say(permit('execute') + ' ' + permit('edit', 'a.txt'))\nend(message)");
    let shown = in_terminal(&desk, &["go"], &[[QUESTION, "y\n"], [QUESTION, "\n"]]);
    assert_eq!(shown.matches("z asks: Do it").count(), 2, "{shown}");
    assert!(shown.contains("allow_once reject_once") && shown.contains("exit 0"), "{shown}");
}

/// Holds (Scripts): What was typed before a question is no answer to it.
#[test]
fn typing_ahead_answers_nothing() {
    let wait = "import os\nsay('wait\\n')\nwhile not os.path.exists('typed'):\n    pass\n";
    let desk = Desk::new(&format!("{wait}say(permit('execute'))\nend(message)"));
    let shown = in_terminal(&desk, &["go"], &[["wait\r\n", "y\n"], [QUESTION, "n\n"]]);
    assert!(shown.contains("reject_once") && shown.contains("exit 0"), "{shown}");
}

/// Holds (Scripts): Nobody is asked to allow a change outside of the folder, or what a flag allows.
#[test]
fn what_is_decided_is_not_asked() {
    let prompt = "say(permit('edit', '/etc/hosts') + ' ' + permit('execute') + ' ' + permit('edit', 'a'))\nend(message)";
    let desk = Desk::new(prompt);
    let shown = in_terminal(&desk, &["--write", "--allow", "execute", "go"], &[]);
    assert!(shown.contains("reject_once allow_once allow_once"), "{shown}");
    assert!(!shown.contains("[y/N]") && shown.contains("exit 0"), "{shown}");
}

/// Holds (Scripts): In a terminal the prompt can be typed.
#[test]
fn the_prompt_can_be_typed() {
    let desk = Desk::new("say('heard ' + text)\nend(message)");
    let typed = [["end it with Ctrl-D\n", "hello\n\x04"]];
    let typed = typed.map(|[question, answer]| [question.replace('\n', "\r\n"), answer.to_owned()]);
    let typed = [[typed[0][0].as_str(), typed[0][1].as_str()]];
    let shown = in_terminal(&desk, &["-o", "simple"], &typed);
    assert!(shown.contains("heard hello") && shown.contains("exit 0"), "{shown}");
}
