//! A command of the agent changes two thousand files while two hundred of them are open and the user types: every buffer
//! is right, and a key never has to wait for more than a small piece of work.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::support::{Amount, Chat, DEADLINE, Nvim, Work, poll_for};
use serde_json::{Value as Json, json};

const FILES: usize = 2_000;
/// One file of so many is open,
const OPEN: usize = 10;
/// and one of so many open ones has unsaved changes.
const UNSAVED: usize = 4;
const ROUNDS: usize = 3;
/// The most work that a key may have to wait for.
const MOST: Amount = Amount { steps: 320_000, calls: 7_000, bytes: 130_000 };

/// Opens the files, the first one in a window, and counts those that get a text. `Typist` types a letter every five
/// milliseconds, and knows when all of them are in the text.
const SETUP: &str = r#"
    local paths, unsaved = ...
    local api = vim.api
    vim.o.updatecount = 0
    Arrived, Awaited, Open = 0, "", {}
    for i, path in ipairs(paths) do
      local buf = vim.fn.bufadd(path)
      vim.fn.bufload(buf)
      Open[i] = buf
      if i % unsaved == 0 then
        api.nvim_buf_set_lines(buf, 4, 5, true, { "mine" })
      end
      api.nvim_buf_attach(buf, false, {
        on_lines = function(_, _, _, first)
          if first == 29 and api.nvim_buf_get_lines(buf, 29, 30, true)[1] == Awaited then
            Arrived = Arrived + 1
          end
        end,
      })
    end
    api.nvim_set_current_buf(Open[1])
    Typist = {}
    local timer = vim.uv.new_timer()
    local typed, written = 0, 0
    function Typist.start()
      typed, written = 0, 0
      timer:start(0, 5, function()
        typed = typed + 1
        api.nvim_input("x")
      end)
    end
    function Typist.stop()
      timer:stop()
    end
    function Typist.done()
      return typed == written
    end
    api.nvim_buf_attach(Open[1], false, {
      on_lines = function(_, _, _, first, _, new_last)
        if new_last == api.nvim_buf_line_count(0) then
          written = #api.nvim_buf_get_lines(0, -2, -1, true)[1]
        end
      end,
    })"#;

struct Project {
    chat: Chat,
    paths: Vec<PathBuf>,
}

impl Project {
    fn open() -> Self {
        let nvim = Nvim::wide();
        let paths: Vec<PathBuf> =
            (0..FILES).map(|i| nvim.cwd().join(format!("part {}/file {i}.txt", i % 25))).collect();
        for path in &paths {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text("line 30")).unwrap();
        }
        let mut chat = Chat::builder().neovim(nvim).start();
        chat.nvim.command("wincmd t");
        let open: Vec<&PathBuf> = paths.iter().step_by(OPEN).collect();
        chat.nvim.lua(SETUP, json!([open, UNSAVED]));
        Work::prepare(&mut chat.nvim);
        chat.prompt("change them all");
        Self { chat, paths }
    }

    fn tool_call(&mut self, round: usize, status: &str) {
        let kind = if status == "in_progress" { "tool_call" } else { "tool_call_update" };
        let call = json!({"sessionUpdate": kind, "toolCallId": round.to_string(), "status": status,
            "title": "sed", "kind": "execute"});
        self.chat.update(call);
    }

    /// One round with the user typing throughout.
    fn round(&mut self, round: usize, act: impl FnOnce(&mut Self)) -> Work {
        let line = format!("round {round}");
        self.chat.nvim.lua("Arrived, Awaited = 0, ...", json!([line]));
        self.chat.nvim.input("<Esc>Go");
        self.chat
            .nvim
            .poll("Insert mode", |nvim| nvim.call("nvim_get_mode", json!([]))["mode"] == "i");
        self.tool_call(round, "in_progress");
        self.chat.nvim.poll_screen("sed");
        self.chat.nvim.lua("Typist.start()", json!([]));
        Work::begin(&mut self.chat.nvim);
        for (index, path) in self.paths.iter().enumerate() {
            put(path, &text(&line), index % 2 == 0);
        }
        act(self);
        let work = Work::stop(&mut self.chat.nvim);
        self.chat.nvim.lua("Typist.stop()", json!([]));
        self.chat.nvim.poll("the last key", |nvim| nvim.eval("Typist.done()") == true);
        work
    }

    fn poll_all_arrived(&mut self) {
        let open = FILES / OPEN;
        let arrived =
            poll_for(DEADLINE, || (self.chat.nvim.eval("Arrived") == json!(open)).then_some(()));
        if arrived.is_none() {
            let code = "return vim.tbl_filter(function(buf)
                return vim.api.nvim_buf_get_lines(buf, 29, 30, true)[1] ~= Awaited
              end, Open)";
            let (late, log) = (self.chat.nvim.lua(code, json!([])), self.chat.nvim.log());
            self.chat.nvim.fail(&format!("buffers that do not follow: {late}\n{log}"));
        }
    }

    /// All open buffers have the new line, and what was unsaved is there and still unsaved.
    fn check(&mut self, round: usize) {
        let code = r#"
            local round, unsaved = ...
            local wrong = {}
            for i, buf in ipairs(Open) do
              local lines = vim.api.nvim_buf_get_lines(buf, 0, 60, true)
              local right = lines[30] == round
                and lines[5] == (i % unsaved == 0 and "mine" or "line 5")
                and vim.bo[buf].modified == (i == 1 or i % unsaved == 0)
              if not right then table.insert(wrong, vim.api.nvim_buf_get_name(buf)) end
            end
            local typed = vim.api.nvim_buf_get_lines(Open[1], 60, -1, true)
            return { wrong, table.concat(typed):match("^x+$") ~= nil, vim.fn.tabpagenr("$") }"#;
        let found = self.chat.nvim.lua(code, json!([format!("round {round}"), UNSAVED]));
        assert_eq!(found, json!([[], true, 1]));
        assert!(!self.chat.nvim.mode_is_blocked());
        assert_eq!(self.chat.nvim.eval("#require('rat.document.conflict').list()"), json!(0));
        assert_eq!(self.chat.nvim.events("RatError"), [] as [Json; 0]);
        assert_eq!(
            self.chat.nvim.messages().lines().filter(|line| line.contains("rat:")).count(),
            0
        );
    }
}

/// Sixty lines, with that one in the middle.
fn text(line: &str) -> String {
    let line = |i: usize| if i == 30 { format!("{line}\n") } else { format!("line {i}\n") };
    (1..=60).map(line).collect()
}

/// Writes the file in its place, or a new one in its stead as `sed -i` does.
fn put(path: &Path, text: &str, in_place: bool) {
    if in_place {
        fs::write(path, text).unwrap();
    } else {
        let other = path.with_extension("new");
        fs::write(&other, text).unwrap();
        fs::rename(&other, path).unwrap();
    }
}

fn expect_small_pieces(work: &Work) {
    // A figure that cannot be shown is no failure.
    let _ = writeln!(std::io::stderr(), "{FILES} files: {work}");
    work.expect_pieces_within("many files change", MOST);
}

/// Holds (Changes on disk): Of 2,000 files that a command changes without naming them, the 200 open ones follow while the user types.
#[test]
fn all_buffers_follow_a_command_that_names_no_file_while_the_user_types() {
    let _alone = crate::alone();
    let mut project = Project::open();
    for round in 1..=ROUNDS {
        let work = project.round(round, |project| {
            project.tool_call(round, "completed");
            project.poll_all_arrived();
        });
        project.check(round);
        expect_small_pieces(&work);
    }
}

/// Holds (Changes on disk): Of 2,000 files that a command changes without naming them, the 200 open ones follow while the user types.
#[test]
fn all_buffers_follow_while_the_command_still_runs_and_the_user_types() {
    let _alone = crate::alone();
    let mut project = Project::open();
    for round in 1..=ROUNDS {
        let work = project.round(round, |project| {
            project.poll_all_arrived();
            project.tool_call(round, "completed");
        });
        project.check(round);
        expect_small_pieces(&work);
    }
    project.chat.end_turn("end_turn");
    project.chat.nvim.poll_state("ready");
    project.check(ROUNDS);
}
