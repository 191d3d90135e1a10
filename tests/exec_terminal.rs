//! `rat-nvim exec` in a terminal: what a person is asked there.

use crate::exec::Desk;
use std::process::Command;

/// Runs a command in a terminal of its own: passes each of the answers when a line ends with the question before it and there is
/// no file `hold`, and prints what is on the screen and the exit code.
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
        open("asked", "w").close()
        while os.path.exists("hold"):
            pass
        os.write(terminal, answers.pop(0)[1].encode())
        open("typed", "w").close()
print(seen.decode().replace("\r\n", "\n"))
print("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

fn in_terminal(desk: &Desk, arguments: &[&str], answers: &[[&str; 2]]) -> String {
    in_shell(desk, r#"exec "$@""#, arguments, answers)
}

/// Runs a script of the shell in the terminal, whose arguments are the command.
fn in_shell(desk: &Desk, script: &str, arguments: &[&str], answers: &[[&str; 2]]) -> String {
    let run = desk.command(arguments);
    let mut command = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    command.push(run.get_program().to_str().unwrap().to_owned());
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
    let output = python.env_remove("CI").output().unwrap();
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

/// Holds (Scripts): Where the prompt comes through a pipe, the user is asked at the terminal all the same, unless `CI` is set or the job is in the background.
#[test]
fn the_terminal_is_asked_while_stdin_is_a_pipe() {
    let desk = Desk::new("say(text + permit('execute'))\nend(message)");
    let piped = r#"printf 'go ' | "$@" 2>err | cat"#;
    let shown = in_shell(&desk, piped, &["-o", "simple"], &[[QUESTION, "y\n"]]);
    assert!(shown.contains("z asks: Do it") && shown.contains("go allow_once"), "{shown}");
    let in_ci = r#"printf 'go ' | CI=true "$@" 2>&1 | cat"#;
    let alone = r#"set -m; printf 'go ' | "$@" 2>&1 | cat & wait"#;
    for script in [in_ci, alone] {
        let shown = in_shell(&desk, script, &["-o", "simple"], &[]);
        assert!(!shown.contains("[y/N]") && shown.contains("go reject_once"), "{script} {shown}");
    }
}

/// Holds (Scripts): What stderr says begins a line of its own where it can be seen below the answer, and what a pipe gets stays the answer.
#[test]
fn what_is_told_begins_a_line_of_its_own() {
    let desk = Desk::new(
        "say('half')\nsay(' ' + permit('edit', '/etc/x') + permit('execute'))\nend(message)",
    );
    let refused = "rat-nvim: refused: Do it\n";
    let both = in_shell(&desk, r#"CI=true "$@" 2>&1 | cat"#, &["-o", "simple", "go"], &[]);
    assert!(both.contains(&format!("half\n{refused}rat-nvim: refused")), "{both}");
    let shown = in_terminal(&desk, &["-o", "simple", "go"], &[[QUESTION, "y\n"]]);
    assert!(shown.contains(&format!("half\n{refused}z asks")), "{shown}");
    let apart = desk.run(&["-o", "simple", "go"]);
    assert_eq!(apart.out, "half reject_oncereject_once\n", "{}", apart.err);
}

/// Holds (Scripts): Started by hand without a command, the binary says what it is and ends.
#[test]
fn the_backend_says_what_it_is_in_a_terminal() {
    let desk = Desk::new("");
    let bare = format!("exec {}", env!("CARGO_BIN_EXE_rat-nvim"));
    let shown = in_shell(&desk, &bare, &[], &[]);
    assert!(shown.contains("--help") && shown.contains("exit 2"), "{shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("rat-nvim: ")).count(), 2, "{shown}");
}

/// A request that shows `command` and offers these options.
const PERMIT: &str = r#"
def about(command, *kinds):
    call = {"toolCallId": "c", "title": command, "kind": "execute", "rawInput": {"command": command}}
    options = [{"optionId": key, "name": key, "kind": key} for key in kinds]
    return {"toolCall": call, "options": options}
"#;

/// Holds (Scripts): Where only a lasting answer is offered, the question says so, and yes gives it.
#[test]
fn a_lasting_answer_can_be_given() {
    let desk = Desk::new(&format!(
        "{PERMIT}\nsay(str(ask('session/request_permission', **about('ls', 'allow_always', 'reject_once'))['result']))\nend(message)"
    ));
    let question = "Allow it from now on? [y/N] ";
    let shown = in_terminal(&desk, &["go"], &[[question, "y\n"]]);
    assert!(shown.contains("'optionId': 'allow_always'") && shown.contains("exit 0"), "{shown}");
}

/// Holds (Scripts): A yes to a request that has changed meanwhile does not count: the user is asked about what it is now.
#[test]
fn a_yes_to_what_was_asked_before_does_not_count() {
    let script = r"
import os
open('hold', 'w').close()
params = about('ls', 'allow_once', 'reject_once')
params['sessionId'] = 's'
send({'jsonrpc': '2.0', 'id': 'p', 'method': 'session/request_permission', 'params': params})
while not os.path.exists('asked'):
    pass
call = about('touch X')['toolCall']
call['sessionUpdate'] = 'tool_call_update'
send({'jsonrpc': '2.0', 'method': 'session/update', 'params': {'sessionId': 's', 'update': call}})
ask('fs/read_text_file', path='/no/such/file')
os.remove('hold')
say(str(hear()['result']))
end(message)";
    let script = format!("{PERMIT}{script}");
    let desk = Desk::new(&script);
    let shown = in_terminal(&desk, &["go"], &[[QUESTION, "y\n"], [QUESTION, "n\n"]]);
    assert!(shown.contains("z asks: ls.") && shown.contains("z asks: touch X."), "{shown}");
    assert!(shown.contains("has changed since you were asked"), "{shown}");
    assert!(shown.contains("reject_once") && shown.contains("exit 0"), "{shown}");
}
