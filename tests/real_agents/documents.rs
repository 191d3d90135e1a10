//! A file that is open while an agent changes it, by its edit tool or by a command: what buffer, disk, undo, marks, other
//! plugins and language servers then have. The user's text is saved, unsaved elsewhere, or unsaved on the very line.

use serde_json::{Value as Json, json};

use crate::agents::{Chat, Kind};
use crate::{with_agent, with_each_agent};

with_each_agent!(
    an_edit_of_saved_text,
    an_edit_beside_unsaved_text,
    a_whole_text_beside_unsaved_text,
    an_edit_of_the_line_the_user_types_in,
    a_command_on_saved_text,
    a_command_beside_unsaved_text,
    a_command_on_the_line_the_user_types_in,
    an_edit_of_a_file_opened_right_before,
);

const SIX: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// What others see of the buffer: `Seen` has the reported lines, `Server` what a language server is told, with the lines
/// of each change.
const OTHERS: &str = r#"
    Seen, Server = {}, {}
    local buf = vim.api.nvim_get_current_buf()
    vim.api.nvim_buf_attach(buf, false, {
      on_lines = function(_, _, _, first, last, new_last)
        table.insert(Seen, ("%d-%d>%d"):format(first, last, new_last))
      end,
      on_reload = function() table.insert(Seen, "reload") end,
    })
    local function notify(method, params)
      local told = method
      for _, change in ipairs(params and params.contentChanges or {}) do
        local range = change.range
        told = told .. (range and (" %d-%d"):format(range.start.line, range["end"].line) or " all")
      end
      table.insert(Server, told)
      return true
    end
    local abilities = { textDocumentSync = { openClose = true, change = 2, save = true } }
    vim.lsp.start({
      name = "witness",
      cmd = function()
        return {
          request = function(method, _, answer)
            answer(nil, method == "initialize" and { capabilities = abilities } or vim.NIL)
            return true, 1
          end,
          notify = notify,
          is_closing = function() return false end,
          terminate = function() end,
        }
      end,
    }, { bufnr = buf })
    vim.api.nvim_buf_set_mark(buf, "a", 5, 2, {})
    Mark = vim.api.nvim_buf_set_extmark(buf, vim.api.nvim_create_namespace("witness"), 4, 2, {})"#;

/// A chat beside a file of six lines that others look at.
struct Desk {
    chat: Chat,
    edited: String,
}

impl Desk {
    fn new(kind: Kind) -> Self {
        let mut chat = Chat::open(kind, &[("a.py", SIX)]);
        chat.in_buffer("a.py", OTHERS);
        let desk = Self { chat, edited: SIX.replace("two", "2") };
        desk.until_told("textDocument/didOpen")
    }

    fn until_told(mut self, what: &str) -> Self {
        self.chat.until(what, |chat| told(chat).iter().any(|it| it == what).then_some(()));
        self
    }

    /// The user changes a line and does not save.
    fn change(&mut self, line: usize, text: &str) {
        self.chat.in_buffer("a.py", &format!("vim.fn.setline({line}, '{text}')"));
        self.forget();
    }

    /// What was seen so far is the user's doing.
    fn forget(&mut self) {
        self.chat.nvim.lua("Seen = {}", json!([]));
    }

    fn edit(&mut self) {
        self.chat.ask("[[read a.py]][[edit a.py|two|2]]");
    }

    /// Made from what is on disk, of which it knows nothing else: what is read through us has the unsaved text.
    fn write(&mut self) {
        let edited = self.edited.replace('\n', "\\n");
        let read = if self.chat.kind.is_served() { "" } else { "[[read a.py]]" };
        self.chat.ask(&format!("{read}[[write a.py|{edited}]]"));
    }

    fn command(&mut self) {
        // In the place of the file, as `-i` has it: a new file of the same name.
        self.chat.ask("[[read a.py]][[shell sed -i s/two/2/ a.py]]");
    }

    /// The user allows it, and it is done.
    fn allow(&mut self) {
        self.chat.answer("allow_once");
        self.chat.ends("end_turn");
    }

    /// Only the one line was changed, and what stands on others stands there still.
    fn is_one_small_change(&mut self) {
        assert_eq!(self.seen(), ["1-2>2"]);
        self.has_marks();
        self.chat.until("the language server to be told", |chat| {
            let told = told(chat);
            told.iter().any(|it| it.starts_with("textDocument/didChange")).then_some(())
        });
    }

    fn seen(&mut self) -> Vec<String> {
        strings(&self.chat.nvim.eval("Seen"))
    }

    fn has_marks(&mut self) {
        let code = r#"return {
            vim.api.nvim_buf_get_mark(0, "a"),
            vim.api.nvim_buf_get_extmark_by_id(0, vim.api.nvim_create_namespace("witness"), Mark, {}),
        }"#;
        assert_eq!(self.chat.in_buffer("a.py", code), json!([[5, 2], [4, 2]]));
    }

    /// Takes the last step back and brings it again, in the window of the file.
    fn undo_and_redo(&mut self, without: &str, with: &str) {
        self.chat.nvim.command("wincmd t");
        for (keys, text) in [("<Esc>u", without), ("<C-r>", with)] {
            self.chat.nvim.input(keys);
            self.chat.wait_for_buffer("a.py", text);
            let unsaved = self.chat.file("a.py").unwrap() != text;
            self.chat.until("'modified' to say whether the file has another text", |chat| {
                (chat.is_modified("a.py") == unsaved).then_some(())
            });
        }
    }

    /// The user changes something and saves as users do. Nothing is asked, and the file is what they see.
    fn save(mut self, text: &str) {
        self.chat.in_buffer("a.py", "vim.api.nvim_buf_set_lines(0, -1, -1, true, { 'seven' })");
        self.chat.nvim.command("wincmd t");
        self.chat.nvim.input("<Esc>:write<CR>");
        let wanted = format!("{text}seven\n");
        self.chat.until("the file to be saved without a question", |chat| {
            let saved = chat.file("a.py").as_deref() == Some(&wanted);
            (saved && !chat.nvim.mode_is_blocked() && !chat.is_modified("a.py")).then_some(())
        });
        assert_eq!(self.chat.buffer("a.py"), wanted);
        self.server_saw_no_other_document();
        self.chat.finish();
    }

    /// The server has had one document all along, and was never sent all of it again. Reloading it shows that the
    /// witness would have said so.
    fn server_saw_no_other_document(&mut self) {
        let opened = |chat: &mut Chat| {
            let told = told(chat);
            assert!(!told.iter().any(|it| it.contains("all")), "{told:?}");
            told.iter().filter(|it| it.contains("didOpen") || it.contains("didClose")).count()
        };
        assert_eq!(opened(&mut self.chat), 1);
        self.chat.in_buffer("a.py", "vim.cmd('edit!')");
        assert!(opened(&mut self.chat) > 1);
    }

    /// The user's line stays, marked, against the agent's on disk.
    fn is_in_conflict(&mut self) {
        let changes = self.chat.file_changes();
        let conflicts: Vec<_> = changes.iter().map(|change| &change["conflicts"]).collect();
        assert_eq!(conflicts, [&json!(1)], "{changes:?}");
        let list = self.chat.nvim.lua(
            r#"return vim.tbl_map(function(conflict)
                return { conflict.undecided[1], conflict.theirs }
            end, require("rat.document.conflict").list())"#,
            json!([]),
        );
        assert_eq!(list, json!([[["mine"], ["2"]]]));
        self.chat.nvim.poll_screen("changed the same lines as you in a.py");
        assert_eq!(self.chat.file("a.py").unwrap(), self.edited);
    }

    /// The answer to the write names the line.
    fn agent_is_told(&mut self) {
        self.chat.nvim.command("RatTrace");
        let refusal = "line 2 changed in the editor (not saved yet) since you read it";
        self.chat.until("the refusal in the traffic", |chat| {
            chat.traffic().is_some_and(|traffic| traffic.contains(refusal)).then_some(())
        });
        self.chat.nvim.command("bwipeout!");
    }
}

fn told(chat: &mut Chat) -> Vec<String> {
    strings(&chat.nvim.eval("Server"))
}

fn strings(list: &Json) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

/// Holds (Changes on disk): Edits and commands of Claude, Gemini, OpenCode and of agents on SDKs give the right text, file, undo, 'modified' and marks, and language servers are told.
fn an_edit_of_saved_text(kind: Kind) {
    saved_text(kind, Desk::edit);
}

/// Holds (Changes on disk): Edits and commands of Claude, Gemini, OpenCode and of agents on SDKs give the right text, file, undo, 'modified' and marks, and language servers are told.
fn a_command_on_saved_text(kind: Kind) {
    saved_text(kind, Desk::command);
}

fn saved_text(kind: Kind, act: fn(&mut Desk)) {
    let mut desk = Desk::new(kind);
    act(&mut desk);
    desk.allow();
    let edited = desk.edited.clone();
    desk.chat.wait_for_buffer("a.py", &edited);
    assert_eq!(desk.chat.file("a.py").unwrap(), edited);
    assert!(!desk.chat.is_modified("a.py"));
    desk.is_one_small_change();
    assert_eq!(desk.chat.in_buffer("a.py", "return #vim.fn.undotree().entries"), json!(1));
    assert_eq!(desk.chat.nvim.events("RatFileChanged").len(), 1);
    desk.undo_and_redo(SIX, &edited);
    desk.save(&edited);
}

/// What is told of the file comes while it is being changed; where no request is in between, right then.
fn an_edit_of_a_file_opened_right_before(kind: Kind) {
    let mut chat = Chat::open(kind, &[("other.py", "other\n")]);
    chat.nvim.folder().file("project/a.py", SIX);
    if kind == Kind::Claude {
        chat.nvim.command("RatMode acceptEdits");
    }
    chat.ask("[[slow 3]][[read a.py]][[edit a.py|two|2]]");
    chat.wait_for_text("tick 1");
    chat.nvim.command("wincmd t | edit a.py");
    if kind != Kind::Claude {
        chat.until("a request", |chat| {
            chat.nvim.status()["permissions"][0].is_object().then_some(())
        });
        chat.nvim.command("RatAllow");
    }
    chat.ends("end_turn");
    chat.wait_for_buffer("a.py", &SIX.replace("two", "2"));
    assert!(!chat.is_modified("a.py"));
    let changes = chat.file_changes();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["conflicts"], json!(0), "{changes:?}");
    chat.finish();
}

/// Holds (Changes on disk): Edits and commands of Claude, Gemini, OpenCode and of agents on SDKs leave unsaved text of the user as it is.
fn an_edit_beside_unsaved_text(kind: Kind) {
    beside_unsaved_text(kind, Desk::edit);
}

/// Holds (Changes on disk): Edits and commands of Claude, Gemini, OpenCode and of agents on SDKs leave unsaved text of the user as it is.
fn a_whole_text_beside_unsaved_text(kind: Kind) {
    beside_unsaved_text(kind, Desk::write);
}

/// Holds (Changes on disk): Edits and commands of Claude, Gemini, OpenCode and of agents on SDKs leave unsaved text of the user as it is.
fn a_command_beside_unsaved_text(kind: Kind) {
    beside_unsaved_text(kind, Desk::command);
}

fn beside_unsaved_text(kind: Kind, act: fn(&mut Desk)) {
    let mut desk = Desk::new(kind);
    desk.change(6, "six, unsaved");
    act(&mut desk);
    desk.allow();
    // In a note, where the agent does not see it in the text that it reads.
    let seen = desk.chat.asked_of_model();
    assert!(seen.iter().any(|body| body.contains("six, unsaved")), "{seen:#?}");
    let unsaved = |text: &str| text.replace("six", "six, unsaved");
    let (mine, both) = (unsaved(SIX), unsaved(&desk.edited));
    desk.chat.wait_for_buffer("a.py", &both);
    assert_eq!(desk.chat.file("a.py").unwrap(), desk.edited);
    assert!(desk.chat.is_modified("a.py"));
    desk.is_one_small_change();
    desk.undo_and_redo(&mine, &both);
    desk.save(&both);
}

/// The user types while the request for permission waits, so that the agent knows nothing of it.
/// Holds (Changes on disk): A real agent's edit of the line the user types in is refused or becomes a conflict.
fn an_edit_of_the_line_the_user_types_in(kind: Kind) {
    let mut desk = Desk::new(kind);
    if kind == Kind::Gemini {
        // Its edits read the file again at the last moment.
        desk.write();
    } else {
        desk.edit();
    }
    desk.chat.permission();
    desk.change(2, "mine");
    desk.allow();
    if kind.is_served() {
        assert_eq!(desk.chat.file("a.py").unwrap(), SIX);
        let told = "line 2 changed in the editor (not saved yet) since you read it";
        desk.chat.wait_for_text(told);
    } else if kind == Kind::Gemini {
        assert_eq!(desk.chat.file("a.py").unwrap(), SIX);
        // It makes "[object Object]" of the error it is told.
        let told = desk.chat.asked_of_model().pop().unwrap();
        assert!(told.contains("Error writing to file"), "{told}");
    } else {
        // The agent's own tool has written the file.
        desk.is_in_conflict();
    }
    if !matches!(kind, Kind::Claude | Kind::TypeScriptV2) {
        desk.agent_is_told();
    }
    the_users_line_stays(desk);
}

/// Holds (Changes on disk): A real agent's command that changes the line the user types in becomes a conflict.
fn a_command_on_the_line_the_user_types_in(kind: Kind) {
    let mut desk = Desk::new(kind);
    desk.command();
    desk.chat.permission();
    desk.change(2, "mine");
    desk.allow();
    desk.is_in_conflict();
    the_users_line_stays(desk);
}

fn the_users_line_stays(mut desk: Desk) {
    let mine = SIX.replace("two", "mine");
    assert_eq!(desk.chat.buffer("a.py"), mine);
    assert!(desk.chat.is_modified("a.py"));
    assert_eq!(desk.seen(), [] as [String; 0]);
    desk.has_marks();
    desk.undo_and_redo(SIX, &mine);
    desk.save(&mine);
}
