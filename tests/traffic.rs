//! The traffic with an agent: its live page in real Neovim, its filter, the files it is saved to and that they can be played.

use crate::support::{Chat, Nvim, Options, TRANSCRIPT, TempFolder, binary, text, yes_or_no};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = "rat://fake/1/trace";

/// The lines of the page that are on the screen, as a closed fold is one.
fn shown(nvim: &mut Nvim) -> Vec<String> {
    let code = "local buf = vim.fn.bufnr('^' .. ... .. '$')
        local win, lines = vim.fn.bufwinid(buf), {}
        if win == -1 then
          return lines
        end
        return vim.api.nvim_win_call(win, function()
          local row = 1
          while row <= vim.fn.line('$') do
            lines[#lines + 1] = vim.fn.getline(row)
            local last = vim.fn.foldclosedend(row)
            row = (last == -1 and row or last) + 1
          end
          return lines
        end)";
    let lines = nvim.lua(code, json!([PAGE]));
    lines
        .as_array()
        .map(|lines| lines.iter().map(|it| it.as_str().unwrap().to_owned()).collect())
        .unwrap_or_default()
}

fn poll_shown(nvim: &mut Nvim, what: &str, is_it: impl Fn(&[String]) -> bool) -> Vec<String> {
    nvim.poll_for(what, |nvim| Some(shown(nvim)).filter(|lines| is_it(lines)))
}

fn save(nvim: &mut Nvim, path: &Path) {
    nvim.command(&format!("RatTrace save {}", path.display()));
    nvim.poll("the saved file", |nvim| nvim.messages().contains("Saved the traffic as"));
}

/// Holds (Traffic): The page of the traffic follows it live, one line for each message, and a request has its answer in its fold.
#[test]
fn the_page_follows_the_traffic() {
    let mut chat = Chat::in_turn();
    chat.nvim.command("RatTrace");
    let lines = poll_shown(&mut chat.nvim, "the prompt", |lines| {
        lines.iter().any(|line| line.contains("> session/prompt"))
    });
    // Milliseconds, or seconds where the machine is busy.
    let has_time = |line: &str| line.ends_with(" ms") || line.ends_with(" s");
    let is_answered = |line: &String| line.contains("> initialize") && has_time(line);
    assert!(lines.iter().any(is_answered), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("answer to")), "{lines:#?}");
    chat.say("Hello");
    let lines = poll_shown(&mut chat.nvim, "the update", |lines| {
        lines.last().is_some_and(|line| line.contains("< session/update"))
    });
    assert!(lines.last().unwrap().ends_with("· agent_message_chunk · Hello"), "{lines:#?}");
    let at_end = "return vim.fn.foldclosedend('.') == vim.fn.line('$')";
    assert_eq!(chat.nvim.lua(at_end, json!([])), true);

    chat.nvim.input("gg");
    let top = "return { vim.fn.line('.'), vim.fn.line('w0') }";
    chat.nvim.poll("the first line", |nvim| nvim.lua(top, json!([])) == json!([1, 1]));
    for number in 0..100 {
        chat.say(&format!("piece {number}"));
    }
    chat.end_turn("end_turn");
    let lines = poll_shown(&mut chat.nvim, "the answer", |lines| {
        lines.iter().any(|line| line.contains("> session/prompt") && line.ends_with("· end_turn"))
            && lines.last().is_some_and(|line| line.ends_with("piece 99"))
    });
    assert!(lines.iter().all(|line| line.starts_with(' ') && !line.contains('{')), "{lines:#?}");
    assert_eq!(chat.nvim.lua(top, json!([])), json!([1, 1]), "a reader is left alone");

    chat.nvim.lua("vim.fn.search('> session/prompt')", json!([]));
    chat.nvim.input("zo");
    chat.nvim.poll("the message", |nvim| {
        let lines = shown(nvim).join("\n");
        lines.contains(r#"      "text": "go""#) && lines.contains(r#""stopReason": "end_turn""#)
    });
    chat.nvim.command("split");
    let closed = "return vim.fn.foldclosed(1)";
    assert_eq!(chat.nvim.lua(closed, json!([])), 1, "another window has the folds");
}

/// Holds (Traffic): A filter of the traffic's page takes methods, directions and any text, and their negation.
#[test]
fn the_page_is_filtered() {
    let mut chat = Chat::in_turn();
    chat.say("an apple");
    chat.say("a pear");
    chat.end_turn("end_turn");
    let all = |lines: &[String], part: &str| lines.iter().all(|line| line.contains(part));
    let mut filtered = |filter: &str, count: usize, what: &str| {
        chat.nvim.command(&format!("RatTrace {filter}"));
        poll_shown(&mut chat.nvim, filter, |lines| lines.len() == count && all(lines, what))
    };
    filtered("session/update apple", 1, "an apple");
    filtered("session/update", 2, "< session/update");
    let sent = filtered("> !session/update", 3, "> ");
    assert!(sent[2].contains("session/prompt") && sent[2].contains("end_turn"), "{sent:#?}");
    filtered("\"a pear\"", 1, "a pear");
    // The filter holds for what comes, too.
    chat.prompt("more");
    chat.say("a plum");
    chat.say("a pear tree");
    poll_shown(&mut chat.nvim, "the pear tree", |lines| {
        lines.len() == 2 && lines[1].ends_with("a pear tree")
    });
    chat.nvim.poll_screen("trace · \"a pear\"");
    let words = |nvim: &mut Nvim, line: &str| {
        nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", json!([line]))
    };
    let methods = words(&mut chat.nvim, "RatTrace !session/up");
    assert_eq!(methods, json!(["!session/update"]));
    assert_eq!(words(&mut chat.nvim, "RatTrace sa"), json!(["save"]));
}

/// Counts what the binary sends for the page, and since when.
const COUNT: &str = r#"
    Began = vim.uv.now()
    local trace_page = require("rat.view.trace_page")
    local arrived = trace_page.arrived
    Pieces = {}
    trace_page.arrived = function(payload)
      Pieces[#Pieces + 1] = vim.uv.now()
      arrived(payload)
    end"#;

/// Holds (Traffic): Traffic is sent to Neovim only while its page is open, ten times a second at most.
#[test]
fn nothing_is_sent_to_a_closed_page() {
    let mut chat = Chat::in_turn();
    chat.nvim.lua(COUNT, json!([]));
    chat.nvim.command("RatTrace");
    let first = poll_shown(&mut chat.nvim, "the page", |lines| !lines.is_empty()).len();
    for number in 0..600 {
        chat.say(&format!("piece {number} "));
    }
    poll_shown(&mut chat.nvim, "the last piece", |lines| {
        lines.len() == first + 600 && lines.last().is_some_and(|line| line.contains("piece 599"))
    });
    // One of them may come late and the next one in time, but no more of them than there was time for. The page itself and
    // its first piece need not wait.
    let counted = chat.nvim.eval("{ #Pieces, Pieces[#Pieces] - Began }");
    let [count, time] = [0, 1].map(|at| counted[at].as_u64().unwrap());
    assert!(count <= 3 + time / 100, "{count} pieces in {time} ms");
    chat.nvim.input("q");
    chat.nvim
        .poll("the closed page", |nvim| nvim.eval("vim.fn.bufexists('rat://fake/1/trace')") == 0);
    let before = chat.nvim.eval("#Pieces");
    chat.say("Farewell");
    chat.nvim
        .poll("the last words", |nvim| nvim.buffer_lines(TRANSCRIPT).concat().contains("Farewell"));
    chat.end_turn("end_turn");
    assert_eq!(chat.nvim.eval("#Pieces"), before);
}

/// Everything an agent may do in a conversation of some length.
fn converse(chat: &mut Chat) {
    chat.nvim.file("notes.txt", "one\ntwo\n");
    let notes = chat.path("notes.txt");
    chat.prompt("Read the notes");
    chat.think("Where are they?");
    let read = chat.request("fs/read_text_file", json!({"path": notes}));
    assert_eq!(read.unwrap()["content"], "one\ntwo\n");
    chat.tool_call(json!({"toolCallId": "c1", "title": "Write the notes", "kind": "edit",
        "status": "pending", "locations": [{"path": notes}]}));
    let call = json!({"toolCallId": "c1", "title": "Write the notes"});
    let pending = chat.ask_permission(call, yes_or_no());
    chat.nvim.command("RatAllow");
    chat.answer(pending);
    let write = chat.request("fs/write_text_file", json!({"path": notes, "content": "one\n2\n"}));
    write.unwrap();
    chat.tool_call_update(json!({"toolCallId": "c1", "status": "completed",
        "content": [{"type": "content", "content": text("written")}]}));
    let made =
        chat.request("terminal/create", json!({"command": "echo", "args": ["from a command"]}));
    let terminal = made.unwrap()["terminalId"].clone();
    chat.tool_call(json!({"toolCallId": "c2", "title": "echo", "kind": "execute",
        "status": "in_progress", "content": [{"type": "terminal", "terminalId": terminal}]}));
    chat.request("terminal/wait_for_exit", json!({"terminalId": terminal})).unwrap();
    chat.tool_call_update(json!({"toolCallId": "c2", "status": "completed"}));
    chat.request("terminal/release", json!({"terminalId": terminal})).unwrap();
    chat.say(&format!("Done. {}", "A long answer. ".repeat(5000)));
    chat.end_turn("end_turn");
    chat.prompt("Thank you");
    chat.say("You are **welcome**.");
    chat.end_turn("end_turn");
}

/// Holds (Traffic): A session that was saved with `:RatTrace save` draws the same transcript when `rat-nvim replay` plays it.
#[test]
fn a_saved_session_draws_the_same_transcript_when_it_is_played() {
    let mut chat = Chat::builder().file("notes.txt", "one\ntwo\n").start();
    converse(&mut chat);
    let folder = TempFolder::new();
    let file = folder.path().join("session.jsonl");
    save(&mut chat.nvim, &file);
    let told = chat.transcript();
    assert!(told.join("\n").contains("You are"), "{told:#?}");
    chat.nvim.file("notes.txt", "one\ntwo\n");

    let mut nvim =
        Nvim::start(Options { cwd: Some(chat.nvim.cwd().to_owned()), ..Options::wide() });
    let command = json!({"command": binary(), "args": ["replay", file], "reconnect": "prompt"});
    nvim.setup(json!({"agents": {"fake": command}, "default_agent": "fake"}));
    nvim.command("RatStart! fake");
    nvim.poll_state("ready");
    nvim.send("Read the notes");
    nvim.poll_events("RatPermission", 1);
    nvim.command("RatAllow");
    nvim.poll_events("RatTurnEnd", 1);
    nvim.send("Thank you");
    nvim.poll_events("RatTurnEnd", 2);
    nvim.poll("the transcript", |nvim| nvim.buffer_lines(TRANSCRIPT).len() >= told.len());
    assert_eq!(nvim.buffer_lines(TRANSCRIPT), told);
}

/// ACP 136.
/// Holds (Traffic): No secret is in a saved file of traffic, nor an answer to a form; texts are whole.
#[test]
fn no_secret_is_in_a_saved_file() {
    let server = json!({"command": "server", "env": {"ANY": "of-a-server"}});
    let options = Options {
        env: vec![("SOME_API_KEY".to_owned(), "of-the-environment".to_owned())],
        ..Options::wide()
    };
    let mut chat = Chat::builder()
        .options(options)
        .agent(json!({"env": {"MY_TOKEN": "of-the-agent"}, "mcp_servers": {"s": server}}))
        .start();
    chat.prompt("go");
    let long = "x".repeat(100_000);
    chat.say(&format!("of-the-environment, of-the-agent, of-a-server. {long}"));
    chat.agent.stderr("stderr of-the-agent");
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let asked = json!({"mode": "form", "message": "Who?", "requestedSchema": schema});
    let pending = chat.ask("elicitation/create", asked);
    chat.nvim.poll_events("RatElicitation", 1);
    let answer = "require('rat.rpc').notify('elicitation', ...)";
    let id = chat.nvim.events("RatElicitation")[0]["id"].clone();
    let entered = json!([{"key": "name", "value": "of-a-form"}]);
    chat.nvim.lua(answer, json!([{"chat": 1, "id": id, "action": "accept", "entered": entered}]));
    assert_eq!(chat.answer(pending)["content"]["name"], "of-a-form");
    chat.end_turn("end_turn");
    let folder = TempFolder::new();
    let file = folder.path().join("session.jsonl");
    save(&mut chat.nvim, &file);
    let saved = fs::read_to_string(&file).unwrap();
    assert!(
        saved.contains(&long)
            && saved.contains("elicitation/create")
            && saved.contains("\"accept\"")
    );
    for secret in ["of-the-environment", "of-the-agent", "of-a-server", "of-a-form"] {
        assert!(!saved.contains(secret), "{secret} is in the file");
    }
    chat.nvim.command(&format!("RatTrace save {}", file.display()));
    chat.nvim.poll("the refusal", |nvim| {
        nvim.messages().contains("exists. :RatTrace! save overwrites it.")
    });
    fs::write(&file, "").unwrap();
    chat.nvim.command(&format!("RatTrace! save {}", file.display()));
    chat.nvim
        .poll("the file", |_| fs::read_to_string(&file).is_ok_and(|text| text.contains(&long)));
}

/// Says and does things in pieces of three letters, in turns.
fn in_pieces(chat: &mut Chat, said: &str, thought: &str, printed: &str) {
    let pieces = |text: &str| -> Vec<String> {
        let letters: Vec<_> = text.chars().collect();
        letters.chunks(3).map(|piece| piece.iter().collect()).collect()
    };
    let (said, thought, printed) = (pieces(said), pieces(thought), pieces(printed));
    for number in 0..said.len().max(thought.len()).max(printed.len()) {
        if let Some(piece) = said.get(number) {
            chat.say(piece);
        }
        if let Some(piece) = thought.get(number) {
            chat.think(piece);
        }
        if let Some(data) = printed.get(number) {
            let output = json!({"terminal_id": "t1", "data": data});
            chat.tool_call_update(
                json!({"toolCallId": "c1", "_meta": {"terminal_output": output}}),
            );
        }
    }
}

/// ACP 136.
/// Holds (Traffic): A secret that an agent says or prints in pieces is neither on the page nor in a saved file.
#[test]
fn a_secret_in_pieces_is_neither_shown_nor_saved() {
    let mut chat = Chat::builder().agent(json!({"env": {"MY_TOKEN": "of-the-agent"}})).start();
    chat.prompt("go");
    chat.tool_call(json!({"toolCallId": "c1", "title": "env", "kind": "execute",
        "content": [{"type": "terminal", "terminalId": "t1"}],
        "_meta": {"terminal_info": {"terminal_id": "t1"}}}));
    in_pieces(
        &mut chat,
        "It is of-the-agent.",
        "So of-the-agent it is. Yes.",
        "MY_TOKEN=of-the-agent\n",
    );
    chat.end_turn("end_turn");
    let texts = |messages: &mut dyn Iterator<Item = serde_json::Value>| {
        let mut texts = [const { String::new() }; 3];
        for message in messages {
            let update = &message["params"]["update"];
            let (text, found) = match update["sessionUpdate"].as_str() {
                Some("agent_message_chunk") => (0, &update["content"]["text"]),
                Some("agent_thought_chunk") => (1, &update["content"]["text"]),
                _ => (2, &update["_meta"]["terminal_output"]["data"]),
            };
            texts[text] += found.as_str().unwrap_or_default();
        }
        texts
    };
    let hidden = ["It is [redacted].", "So [redacted] it is. Yes.", "MY_TOKEN=[redacted]\n"];

    chat.nvim.command("RatTrace session/update");
    poll_shown(&mut chat.nvim, "the last piece", |lines| {
        lines.last().is_some_and(|line| line.ends_with("es."))
    });
    let lines = chat.nvim.buffer_lines(PAGE);
    // A message stands below its line, which alone begins with its time and direction.
    let messages = lines.split(|line| line.contains(" < ")).map(|body| body.join("\n"));
    let mut messages = messages.filter_map(|body| serde_json::from_str(&body).ok());
    assert_eq!(texts(&mut messages), hidden);

    let folder = TempFolder::new();
    let file = folder.path().join("session.jsonl");
    save(&mut chat.nvim, &file);
    let saved = fs::read_to_string(&file).unwrap();
    let messages =
        saved.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(texts(&mut messages.map(|mut record| record["message"].take())), hidden);
    assert!(!saved.contains("of-the-agent"));
}

/// Holds (Traffic): A file that cannot be played is told in one line, with the number of the wrong line, and exit code 2.
#[test]
fn a_file_that_cannot_be_played_is_told_in_one_line() {
    let folder = TempFolder::new();
    let header = "{\"rat_trace\":1}\n";
    let files = [
        (
            folder.file("other.jsonl", "{\"type\":\"session\"}\n"),
            "line 1: not a session saved by rat.nvim",
        ),
        (
            folder.file("cut.jsonl", format!("{header}{{\"t\":0,")),
            "line 2: not a record of a session",
        ),
        (folder.file("new.jsonl", "{\"rat_trace\":2}\n"), "line 1: has version 2"),
        (folder.path().join("none.jsonl"), "cannot be read"),
    ];
    for (file, why) in files {
        let mut command = Command::new(binary());
        let ended = command.arg("replay").arg(&file).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(why) && told.contains(&file.display().to_string()), "{told}");
        assert!(ended.stdout.is_empty());
    }
}
