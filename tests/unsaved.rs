//! What agents cannot see, told with a prompt: unsaved text, and what became of the files they wrote. Exactly what is
//! sent, and that it is shown.

use crate::support::{Chat, Nvim, Request, TRANSCRIPT, text};
use serde_json::{Value as Json, json};

const UNSAVED: &str = "The user has unsaved changes in the editor, which are not on disk. \
                       From the files on disk to the text in the editor:\n\n";
const CHANGED: &str = "Since you last saw them, these files have changed:\n\n";

/// A chat in a project with `a.txt` and `sub/b.txt`, each of the lines 1 to 3.
fn in_a_project(settings: Json) -> Chat {
    with_an_agent_named("fake", settings)
}

/// The same with an agent that introduces itself with this name.
fn with_an_agent_named(name: &str, settings: Json) -> Chat {
    let info = json!({"agentInfo": {"name": name, "title": "Fake agent", "version": "1"}});
    let chat = Chat::builder().file("a.txt", "1\n2\n3\n").file("sub/b.txt", "1\n2\n3\n");
    chat.setup(settings).initialized(info).start()
}

fn disk(chat: &Chat, name: &str) -> String {
    std::fs::read_to_string(chat.path(name)).unwrap()
}

/// Changes a line of a file in its buffer, or adds one to a file that is not there, and does not save.
fn change(chat: &mut Chat, name: &str, line: usize, text: &str) {
    let code = "
        local path, line, text = ...
        local buf = vim.fn.bufadd(path)
        vim.fn.bufload(buf)
        vim.api.nvim_buf_set_lines(buf, line - 1, line, false, { text })";
    let path = chat.path(name);
    chat.nvim.lua(code, json!([path, line, text]));
}

fn save(chat: &mut Chat) {
    chat.nvim.command("wall");
}

/// A turn without an event. Gives what came with its prompt.
fn turn(chat: &mut Chat, text: &str) -> Vec<Json> {
    let prompt = chat.prompt(text);
    end(chat);
    with(&prompt, text)
}

fn end(chat: &mut Chat) {
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}

fn write(chat: &mut Chat, name: &str, content: &str) -> Result<Json, Json> {
    let path = chat.path(name);
    chat.request("fs/write_text_file", json!({"path": path, "content": content}))
}

/// The agent writes to the disk itself, in a tool call.
fn write_to_disk(chat: &mut Chat, name: &str, content: &str) {
    let path = chat.path(name);
    let call = |status: &str| {
        json!({"toolCallId": name, "title": "Edit", "kind": "edit", "status": status,
            "locations": [{"path": path}]})
    };
    chat.tool_call(call("in_progress"));
    std::fs::write(&path, content).unwrap();
    chat.tool_call_update(call("completed"));
}

/// Waits until the buffer of a file has this text.
fn poll_text(chat: &mut Chat, name: &str, text: &str) {
    let path = chat.path(name);
    let lines: Vec<&str> = text.lines().collect();
    chat.nvim.poll(&format!("{text:?} in {name}"), |nvim| {
        nvim.buffer_lines(path.to_str().unwrap()) == lines
    });
}

/// The agent is told of unsaved text with a prompt, and reads it through us.
fn read_in_a_turn(chat: &mut Chat) {
    change(chat, "a.txt", 2, "two");
    let prompt = chat.prompt("go");
    assert_eq!(with(&prompt, "go").len(), 1);
    let path = chat.path("a.txt");
    let seen = chat.request("fs/read_text_file", json!({"path": path}));
    assert_eq!(seen, Ok(json!({"content": "1\ntwo\n3\n"})));
    end(chat);
}

/// What came with a prompt beside its words.
fn with(prompt: &Request, words: &str) -> Vec<Json> {
    let blocks = prompt.params["prompt"].as_array().unwrap();
    assert_eq!(blocks[0], text(words));
    blocks[1..].to_vec()
}

fn diff(name: &str, line: usize, new: &str) -> String {
    let lines: String = (1..=3)
        .map(|i| if i == line { format!("-{i}\n+{new}\n") } else { format!(" {i}\n") })
        .collect();
    format!("--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n{lines}")
}

/// Holds (Prompt context): A prompt carries a diff of all unsaved text in the project, new files included.
#[test]
fn a_prompt_carries_a_diff_of_what_is_not_saved() {
    let mut chat = in_a_project(json!({}));
    assert_eq!(turn(&mut chat, "nothing yet"), [] as [Json; 0]);
    change(&mut chat, "a.txt", 2, "two");
    change(&mut chat, "sub/b.txt", 3, "three");
    change(&mut chat, "new.txt", 1, "new");
    chat.nvim.folder().file("elsewhere.txt", "1\n");
    change(&mut chat, "../elsewhere.txt", 1, "not the agent's");
    let new = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+new\n";
    let note = [UNSAVED, &diff("a.txt", 2, "two"), new, &diff("sub/b.txt", 3, "three")].concat();
    assert_eq!(sorted(turn(&mut chat, "go")), sorted(vec![text(&note)]));
    chat.nvim.poll_screen("unsaved changes in 3 files");
    // As long as it is not saved it is told with each prompt, as it is then.
    change(&mut chat, "a.txt", 2, "2");
    chat.nvim.command("silent! bwipeout! new.txt");
    change(&mut chat, "sub/b.txt", 3, "III");
    let note = [UNSAVED, &diff("sub/b.txt", 3, "III")].concat();
    assert_eq!(turn(&mut chat, "again"), [text(&note)]);
    chat.nvim.poll_screen("unsaved changes in 1 file");
    save(&mut chat);
    assert_eq!(turn(&mut chat, "saved"), [] as [Json; 0]);
}

/// The same with the diffs of a note in the order of their first lines: buffers have an order of their own.
fn sorted(blocks: Vec<Json>) -> Vec<Vec<String>> {
    let lines = |block: &Json| {
        let text = block["text"].as_str().unwrap();
        let mut files: Vec<String> = text.split("--- ").map(str::to_owned).collect();
        files.sort();
        files
    };
    blocks.iter().map(lines).collect()
}

/// Holds (Prompt context): Prompt context has at most 16 KiB, is cut between hunks, and names the files left out.
#[test]
fn a_note_has_at_most_16_kib_and_names_what_has_no_room() {
    let mut chat = in_a_project(json!({}));
    change(&mut chat, "a.txt", 2, "long");
    let code = "
        local buf = vim.fn.bufadd(...)
        vim.fn.bufload(buf)
        local lines = {}
        for i = 1, 4000 do lines[i] = 'line ' .. i end
        vim.api.nvim_buf_set_lines(buf, 0, 0, false, lines)";
    let path = chat.path("sub/b.txt");
    chat.nvim.lua(code, json!([path]));
    let blocks = turn(&mut chat, "go");
    let note = blocks[0]["text"].as_str().unwrap();
    assert!(note.len() <= 16 * 1024, "{}", note.len());
    assert!(note.contains(&diff("a.txt", 2, "long")), "{note}");
    assert!(note.ends_with("sub/b.txt: +4000 -0 lines, not shown\n"), "{note}");
}

/// Holds (Prompt context): With `unsaved = "embed"` unsaved files are embedded whole where the agent takes that.
#[test]
fn whole_texts_are_embedded_where_the_agent_takes_them() {
    let mut chat = in_a_project(json!({"unsaved": "embed"}));
    change(&mut chat, "a.txt", 2, "two");
    let words = "The user has unsaved changes in the editor, which are not on disk. \
                 The text of these files as it is in the editor:";
    let uri = format!("file://{}", chat.path("a.txt").display());
    let resource = json!({"uri": uri, "text": "1\ntwo\n3\n"});
    let resource = json!({"type": "resource", "resource": resource});
    assert_eq!(turn(&mut chat, "go"), [text(words), resource]);
    chat.nvim.poll_screen("unsaved text of 1 file");
}

/// Holds (Prompt context): With `unsaved = "save"` buffers are saved first; one that cannot be saved goes as a diff.
#[test]
fn buffers_are_saved_first_and_one_that_fails_goes_as_a_note() {
    let mut chat = in_a_project(json!({"unsaved": "save"}));
    change(&mut chat, "a.txt", 2, "two");
    change(&mut chat, "sub/b.txt", 3, "three");
    let code = r#"
        vim.api.nvim_create_autocmd("BufWritePre", { pattern = "*/a.txt", callback = function()
          vim.api.nvim_buf_set_lines(0, 0, 0, false, { "formatted" })
        end })
        vim.api.nvim_create_autocmd("BufWritePre", { pattern = "*/b.txt", callback = function()
          error("no writing today")
        end })"#;
    chat.nvim.lua(code, json!([]));
    let note = [UNSAVED, &diff("sub/b.txt", 3, "three")].concat();
    assert_eq!(turn(&mut chat, "go"), [text(&note)]);
    assert_eq!(disk(&chat, "a.txt"), "formatted\n1\ntwo\n3\n");
    assert_eq!(disk(&chat, "sub/b.txt"), "1\n2\n3\n");
    chat.nvim.poll("a notice", |nvim| {
        let messages = nvim.messages();
        messages.contains("Could not save sub/b.txt") && messages.contains("no writing today")
    });
}

/// Holds (Prompt context): Saving before a prompt overwrites no file that has changed on disk.
#[test]
fn a_file_that_changed_on_disk_is_not_overwritten_by_saving_first() {
    let mut chat = in_a_project(json!({"unsaved": "save"}));
    change(&mut chat, "a.txt", 2, "two");
    std::fs::write(chat.path("a.txt"), "1\n2\n3\nsomebody else's\n").unwrap();
    let blocks = turn(&mut chat, "go");
    assert!(blocks[0]["text"].as_str().unwrap().starts_with(UNSAVED));
    assert_eq!(disk(&chat, "a.txt"), "1\n2\n3\nsomebody else's\n");
    chat.nvim.poll("a notice", |nvim| nvim.messages().contains("the file has changed on disk"));
}

/// Holds (Prompt context): With `unsaved = "ask"` the user chooses, and each answer is carried out.
#[test]
fn the_user_is_asked_and_each_answer_is_followed() {
    let mut chat = in_a_project(json!({"unsaved": "ask"}));
    change(&mut chat, "a.txt", 2, "two");
    change(&mut chat, "sub/b.txt", 3, "three");
    chat.nvim.send("tell");
    chat.nvim.poll_screen("2 files have unsaved changes");
    chat.nvim.poll_state("waiting");
    assert!(chat.agent.unexpected().is_empty());
    // What is told is how it is when it is told.
    change(&mut chat, "sub/b.txt", 3, "3");
    chat.nvim.choose(1);
    let prompt = chat.expect_prompt();
    let note = [UNSAVED, &diff("a.txt", 2, "two")].concat();
    assert_eq!(with(&prompt, "tell"), [text(&note)]);
    end(&mut chat);

    chat.nvim.send("without");
    chat.nvim.poll_screen("1 file has unsaved changes");
    chat.nvim.choose(3);
    let prompt = chat.expect_prompt();
    assert_eq!(with(&prompt, "without"), [] as [Json; 0]);
    end(&mut chat);

    chat.nvim.send("not at all");
    chat.nvim.poll_screen("1 file has unsaved changes");
    chat.nvim.dismiss();
    chat.nvim.poll_state("ready");
    assert_eq!(chat.draft(), ["not at all"]);

    chat.nvim.send("save");
    chat.nvim.poll_screen("1 file has unsaved changes");
    chat.nvim.choose(2);
    let prompt = chat.expect_prompt();
    assert_eq!(with(&prompt, "save"), [] as [Json; 0]);
    assert_eq!(disk(&chat, "a.txt"), "1\ntwo\n3\n");
}

/// Holds (Prompt context): With `unsaved = "ignore"` nothing is added to a prompt.
#[test]
fn nothing_goes_along_where_that_is_chosen() {
    let mut chat = in_a_project(json!({"unsaved": "ignore"}));
    change(&mut chat, "a.txt", 2, "two");
    let prompt = chat.prompt("go");
    assert_eq!(with(&prompt, "go"), [] as [Json; 0]);
    write(&mut chat, "sub/b.txt", "agent\n").unwrap();
    end(&mut chat);
    change(&mut chat, "sub/b.txt", 1, "user");
    save(&mut chat);
    assert_eq!(turn(&mut chat, "again"), [] as [Json; 0]);
}

/// Holds (Prompt context): An agent that reads all files through us is told nothing it can see.
#[test]
fn an_agent_that_reads_through_us_is_told_nothing_it_can_see() {
    let mut chat = in_a_project(json!({}));
    read_in_a_turn(&mut chat);
    assert_eq!(turn(&mut chat, "again"), [] as [Json; 0]);
}

/// Gemini's edits read through us right before they write; what its model reads is the disk's.
/// Holds (Prompt context): An agent that reads through us only for its edits (Gemini) is told of unsaved text.
#[test]
fn an_agent_whose_edits_alone_read_through_us_is_told() {
    let mut chat = with_an_agent_named("gemini-cli", json!({}));
    read_in_a_turn(&mut chat);
    let note = [UNSAVED, &diff("a.txt", 2, "two")].concat();
    assert_eq!(turn(&mut chat, "again"), [text(&note)]);
}

/// Holds (Prompt context): A prompt that is cancelled before its context is complete comes back.
#[test]
fn a_cancel_before_the_note_is_there_gives_the_prompt_back() {
    let mut chat = in_a_project(json!({"unsaved": "save"}));
    change(&mut chat, "a.txt", 2, "two");
    // A formatter that takes its time keeps the prompt waiting, and nothing else.
    let code = r#"
        vim.api.nvim_create_autocmd("BufWritePre", { callback = function()
          vim.g.saving = true
          vim.wait(10000, function() return vim.g.go end, 5)
        end })"#;
    chat.nvim.lua(code, json!([]));
    chat.nvim.send("go");
    chat.nvim.send("next");
    chat.nvim.poll("the save", |nvim| nvim.eval("vim.g.saving") == json!(true));
    // Nothing is drawn on the screen while it saves; the buffers are up to date.
    chat.nvim.poll_queue(&["next"]);
    chat.nvim.poll("the prompt to be shown", |nvim| {
        nvim.buffer_lines(TRANSCRIPT).contains(&"go".to_owned())
    });
    chat.nvim.command("RatCancel");
    chat.nvim.poll_state("ready");
    chat.poll_draft(&["go"]);
    chat.nvim.lua("vim.g.go = true", json!([]));
    chat.nvim.poll("the end of the save", |nvim| {
        nvim.eval("vim.bo[vim.fn.bufnr('a.txt')].modified") == json!(false)
    });
    assert!(chat.agent.unexpected().is_empty(), "neither a prompt nor a cancel for the agent");
    chat.nvim.lua("require('rat.rpc').notify('queue_go', { chat = 1 })", json!([]));
    let prompt = chat.expect_prompt();
    assert_eq!(with(&prompt, "next"), [] as [Json; 0]);
}

/// Holds (Prompt context): A file that cannot be read does not hold the prompt.
#[test]
fn a_text_that_cannot_be_had_does_not_hold_the_prompt() {
    let mut chat = in_a_project(json!({}));
    change(&mut chat, "a.txt", 2, "two");
    change(&mut chat, "sub/b.txt", 3, "three");
    let code = r#"
        local buffers = require("rat.document.buffers")
        local slices = buffers.slices
        buffers.slices = function(buf, ...)
          assert(not vim.api.nvim_buf_get_name(buf):match("b.txt$"), "not this one")
          return slices(buf, ...)
        end"#;
    chat.nvim.lua(code, json!([]));
    let note = [UNSAVED, &diff("a.txt", 2, "two")].concat();
    assert_eq!(turn(&mut chat, "go"), [text(&note)]);
}

/// Holds (Prompt context): A Neovim that waits for a key does not hold the prompt.
#[test]
fn a_neovim_that_waits_for_a_key_does_not_hold_the_prompt() {
    let mut chat = in_a_project(json!({}));
    change(&mut chat, "a.txt", 2, "two");
    chat.nvim.command("wincmd t");
    chat.nvim.command("nnoremap X <Cmd>lua require('rat').send('go')<CR>r");
    chat.nvim.input("X");
    chat.nvim.poll("a pending r", Nvim::mode_is_blocked);
    let prompt = chat.expect_prompt();
    assert_eq!(with(&prompt, "go"), [] as [Json; 0]);
    chat.nvim.input("<Esc>");
    end(&mut chat);
}

/// Holds (Prompt context): An agent is told once of what others have changed in the files it wrote.
#[test]
fn what_others_make_of_its_work_is_told_once() {
    let mut chat = in_a_project(json!({}));
    chat.prompt("go");
    write(&mut chat, "a.txt", "1\n2\n3\n4\n").unwrap();
    write(&mut chat, "sub/b.txt", "agent\n").unwrap();
    // The user's change while the agent works, saved.
    change(&mut chat, "a.txt", 1, "user");
    save(&mut chat);
    end(&mut chat);
    let changed = "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-1\n+user\n 2\n 3\n 4\n";
    assert_eq!(turn(&mut chat, "again"), [text(&[CHANGED, changed].concat())]);
    chat.nvim.poll_screen("changes in 1 file the agent has not seen");
    assert_eq!(turn(&mut chat, "and again"), [] as [Json; 0]);
}

/// Holds (Prompt context): An agent is told once of what others have changed in the files it wrote.
#[test]
fn a_change_is_told_again_if_the_prompt_was_not_taken() {
    let mut chat = in_a_project(json!({}));
    chat.prompt("go");
    write(&mut chat, "a.txt", "agent\n").unwrap();
    end(&mut chat);
    change(&mut chat, "a.txt", 1, "user");
    save(&mut chat);
    let prompt = chat.prompt("again");
    let note = with(&prompt, "again");
    assert_eq!(note.len(), 1);
    chat.agent.reply_error(&chat.last_prompt(), -32603, "no");
    chat.nvim.poll_state("ready");
    assert_eq!(turn(&mut chat, "once more"), note);
    assert_eq!(turn(&mut chat, "enough"), [] as [Json; 0]);
}

/// Holds (Prompt context): Telling an agent of a text does not move the merge base of its writes.
#[test]
fn being_told_does_not_move_what_its_writes_refer_to() {
    let mut chat = in_a_project(json!({}));
    chat.prompt("go");
    write(&mut chat, "a.txt", "1\n2\n3\n4\n5\n6\n").unwrap();
    end(&mut chat);
    change(&mut chat, "a.txt", 1, "user");
    save(&mut chat);
    let prompt = chat.prompt("again");
    assert_eq!(with(&prompt, "again").len(), 1);
    // Made from what it wrote, not from what it was told: the user's line stays.
    write(&mut chat, "a.txt", "1\n2\n3\n4\n5\nsix\n").unwrap();
    assert_eq!(disk(&chat, "a.txt"), "user\n2\n3\n4\n5\nsix\n");
}

/// Holds (Prompt context): An agent is not told of its own writes.
#[test]
fn what_it_wrote_to_the_disk_itself_is_not_told_back() {
    let mut chat = in_a_project(json!({}));
    change(&mut chat, "a.txt", 1, "1");
    save(&mut chat);
    chat.prompt("go");
    write_to_disk(&mut chat, "a.txt", "1\ntwo\n3\n");
    poll_text(&mut chat, "a.txt", "1\ntwo\n3\n");
    write_to_disk(&mut chat, "sub/b.txt", "agent\n");
    // A command of the agent, which names no file, right before the end.
    std::fs::write(chat.path("sub/b.txt"), "agent, formatted\n").unwrap();
    end(&mut chat);
    assert_eq!(turn(&mut chat, "again"), [] as [Json; 0]);
    change(&mut chat, "a.txt", 3, "user");
    save(&mut chat);
    let changed = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n two\n-3\n+user\n";
    assert_eq!(turn(&mut chat, "changed"), [text(&[CHANGED, changed].concat())]);
}

/// Holds (Writing files): With `write_dirty = "save"` the buffer is saved whole.
#[test]
fn a_write_to_unsaved_text_saves_it_where_that_is_chosen() {
    let mut chat = in_a_project(json!({"write_dirty": "save", "unsaved": "ignore"}));
    chat.prompt("go");
    change(&mut chat, "a.txt", 1, "user");
    write(&mut chat, "a.txt", "1\n2\nthree\n").unwrap();
    assert_eq!(disk(&chat, "a.txt"), "user\n2\nthree\n");
    chat.nvim.poll("a notice", |nvim| nvim.messages().contains("a.txt with your unsaved changes"));
    end(&mut chat);
}

/// Holds (Writing files): With `write_dirty = "ask"` the user is asked where the agent's text cannot be saved without theirs.
#[test]
fn a_write_that_needs_unsaved_text_saved_asks_where_that_is_chosen() {
    let mut chat = in_a_project(json!({"write_dirty": "ask", "unsaved": "ignore"}));
    chat.prompt("go");
    change(&mut chat, "a.txt", 1, "user");
    let path = chat.path("a.txt");
    chat.request("fs/read_text_file", json!({"path": path})).unwrap();
    // Apart from the user's text nobody is asked.
    write(&mut chat, "a.txt", "user\n2\nthree\n").unwrap();
    assert_eq!(disk(&chat, "a.txt"), "1\n2\nthree\n");
    let ask = |chat: &mut Chat, content: &str| {
        let params = json!({"path": path, "content": content});
        let pending = chat.ask("fs/write_text_file", params);
        chat.nvim.poll_screen("Fake agent wants to edit your unsaved changes");
        chat.nvim.poll_state("waiting");
        assert!(!chat.agent.is_answered(pending));
        pending
    };
    let pending = ask(&mut chat, "user and agent\n2\nthree\n");
    chat.nvim.choose(2);
    let error = chat.agent.expect_answer(pending).unwrap_err();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("unsaved changes, which the user does not want")
    );
    assert_eq!(disk(&chat, "a.txt"), "1\n2\nthree\n");
    chat.nvim.poll_state("running");
    let pending = ask(&mut chat, "user and agent\n2\nthree\n");
    chat.nvim.choose(1);
    chat.answer(pending);
    assert_eq!(disk(&chat, "a.txt"), "user and agent\n2\nthree\n");
    change(&mut chat, "a.txt", 1, "mine");
    chat.request("fs/read_text_file", json!({"path": path})).unwrap();
    let pending = ask(&mut chat, "mine and yours\n2\nthree\n");
    chat.nvim.command("RatCancel");
    assert_eq!(chat.agent.expect_answer(pending).unwrap_err()["code"], json!(-32800));
    chat.nvim.poll_no("wants to edit your unsaved changes");
    assert_eq!(disk(&chat, "a.txt"), "user and agent\n2\nthree\n");
}
