//! Hundreds of names that an agent may choose, on every way they can take to a buffer, a file or a program.

use std::collections::HashSet;
use std::path::Path;

use crate::support::{Chat, Nvim, Options};
use serde_json::{Value as Json, json};

/// The names; FLAG is a file that must never be there.
pub(crate) const NAMES: &[&str] = &[
    "term://sh -c 'touch FLAG' #/x",
    "term://.//1:touch FLAG",
    "term://touch FLAG",
    "http://127.0.0.1:1/FLAG",
    "scp://localhost/FLAG",
    "zipfile:///tmp/x.zip::FLAG",
    "tarfile::/tmp/x.tar",
    "rat://fake/1/prompt",
    "rat://fake/1",
    "fugitive://x",
    "man://ls",
    "oil:///",
    "+!touch FLAG",
    "+call system('touch FLAG')",
    "-c !touch FLAG",
    "`touch FLAG`",
    "`=system('touch FLAG')`",
    "$(touch FLAG)",
    "%{system('touch FLAG')}",
    "%!system('touch FLAG')",
    "%",
    "#",
    "##",
    "#1",
    "<cword>",
    "<cfile>",
    "<sfile>",
    "*",
    "**",
    "?",
    "[x]",
    "[a-z]*",
    "{a,b}",
    "~",
    "~root",
    "$HOME",
    "${HOME}",
    "|!touch FLAG",
    "x | !touch FLAG",
    "x\n!touch FLAG",
    "x\r!touch FLAG",
    "x\0y",
    "x\u{1b}:!touch FLAG\r",
    "x\u{9b}y",
    "x\u{202e}y",
    "..",
    ".",
    "/",
    "",
    " ",
    "x ",
    " x",
    "x\\",
    "x\\ y",
    "fifo",
    "to-fifo",
    "to-device",
    "to-stdin",
    "to-nothing",
    "loop",
    "socket",
    "folder",
    "folder/",
    "to-folder",
    "/dev/zero",
    "/dev/tty",
    "/dev/stdin",
    "/proc/self/fd/0",
    "/proc/self/mem",
    "/proc/kmsg",
    "/proc/cpuinfo",
    "/proc",
    "/sys/kernel",
    "plain.txt",
    "plain.txt:3",
    "plain.txt:99999999999999999999",
    "./plain.txt",
    "folder/../plain.txt",
    "//plain.txt",
    "file:plain.txt",
    "-",
    "--",
    "ex:x",
    "\u{ff0f}etc",
];

/// What is put around them.
const FORMS: &[&str] = &["{}", "./{}", "{cwd}/{}", "../{}", "{cwd}//{}", "{}:7"];

/// Over 400 of them, none twice.
fn names(cwd: &Path) -> Vec<String> {
    let cwd = cwd.to_str().unwrap();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for form in FORMS {
        for name in NAMES {
            let name = form.replace("{cwd}", cwd).replace("{}", name);
            if seen.insert(name.clone()) {
                all.push(name);
            }
        }
    }
    for end in ["", "/x", "\ny"] {
        all.push(format!("{}{end}", "x".repeat(10 * 1024)));
        all.push(format!("term://{}{end}", "touch FLAG;".repeat(1024)));
    }
    assert!(all.len() >= 400, "only {}", all.len());
    all
}

/// Documents of such names, where a file can have them, and what is no file.
pub(crate) fn make_files(nvim: &Nvim) {
    use std::os::unix::fs::symlink;
    let cwd = nvim.cwd();
    for name in NAMES {
        let is_taken = ["fifo", "loop", "socket", "folder", "to-", "rat:", "/", "."];
        if name.contains('\0') || name.is_empty() || is_taken.iter().any(|it| name.starts_with(it))
        {
            continue;
        }
        let path = cwd.join(name);
        let _ = std::fs::create_dir_all(path.parent().unwrap());
        let _ = std::fs::write(path, "one\ntwo\nthree\n");
    }
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
    nix::unistd::mkfifo(&cwd.join("fifo"), mode).unwrap();
    std::fs::create_dir_all(cwd.join("folder")).unwrap();
    for (to, link) in [
        ("fifo", "to-fifo"),
        ("/dev/zero", "to-device"),
        ("/proc/self/fd/0", "to-stdin"),
        ("nothing", "to-nothing"),
        ("loop", "loop"),
        ("folder", "to-folder"),
    ] {
        symlink(to, cwd.join(link)).unwrap();
    }
    drop(std::os::unix::net::UnixListener::bind(cwd.join("socket")).unwrap());
}

/// Presses every key on every line of the current view, from line `first` on for at most 300 ms, and looks at what comes
/// of each. Gives the next line, and what is wrong.
const PRESS: &str = r#"
    local view, first, keys = ...
    local wrong, start = {}, vim.uv.hrtime()
    local function tell(what, key, line)
      wrong[#wrong + 1] = ("%s: %s on %q"):format(what, key, line:sub(1, 200))
    end
    local function is_real(name)
      local stat = vim.uv.fs_stat(name)
      return name:sub(1, 1) == "/" and stat ~= nil and (stat.type == "file" or stat.type == "directory")
    end
    local home = vim.fn.bufwinid(view)
    vim.api.nvim_set_current_win(home)
    pcall(vim.cmd.normal, { "zR", bang = true })
    local before = {}
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
      before[win] = win == home or not name:match("^rat://.*/%l+/%d+$")
      if not before[win] then
        vim.api.nvim_win_close(win, true)
      end
    end
    local row, buf = first, vim.api.nvim_get_current_buf()
    while row <= vim.api.nvim_buf_line_count(buf) and vim.uv.hrtime() - start < 3e8 do
      local line = vim.api.nvim_buf_get_lines(buf, row - 1, row, true)[1]
      -- The others take turns: those for the file under the cursor go the same way.
      for _, key in ipairs({ "<CR>", keys[row % #keys + 1] }) do
        local columns = { key == "<CR>" and 1 or line:find("%S+%s*$") or 1 }
        for _, column in ipairs(columns) do
          vim.api.nvim_set_current_win(home)
          vim.api.nvim_win_set_cursor(home, { row, math.min(column - 1, math.max(0, #line - 1)) })
          -- Where it hangs, this call is not answered.
          local ok, problem = pcall(vim.api.nvim_feedkeys, vim.keycode(key), "x", false)
          if not ok then
            tell(problem, key, line)
          end
          -- Neovim's own key: what it hands to the system is what the user sees below the cursor, in one line.
          for _, what in ipairs(key == "gx" and handed_over or {}) do
            if not line:find(what, 1, true) then
              tell("handed over " .. what, key, line)
            end
          end
          handed_over = key == "gx" and {} or handed_over
          for _, win in ipairs(vim.api.nvim_list_wins()) do
            local shown = vim.api.nvim_win_get_buf(win)
            local name = vim.api.nvim_buf_get_name(shown)
            if vim.bo[shown].buftype == "terminal" then
              tell("a terminal", key, line)
            elseif name ~= "" and not vim.startswith(name, "rat://") and not is_real(name) then
              tell("shows " .. name, key, line)
            end
            opened[name] = true
            if not before[win] and vim.api.nvim_win_get_config(win).relative == "" then
              vim.api.nvim_win_close(win, true)
            end
          end
        end
      end
      row = row + 1
    end
    vim.api.nvim_set_current_win(home)
    return { row, vim.api.nvim_buf_line_count(buf), wrong }
"#;

/// What opens the file under the cursor, what Neovim hands to the system, and a request's diff.
const KEYS: [&str; 9] =
    ["gf", "gF", "<C-w>f", "<C-w><C-f>", "<C-w>F", "<C-w>gf", "<C-w>gF", "gx", "gd"];

/// Keeps diffs that arrive for later: each would open a tab page between any two keys.
const HOLD_DIFFS: &str = r#"
    local diff = require("rat.diff")
    _G.diffs, _G.show_diff = {}, show_diff or diff.arrived
    diff.arrived = function(one) table.insert(diffs, one) end
"#;

/// Shows diffs of different files one after the other. Gives how many, and what is wrong.
const SHOW_DIFFS: &str = r#"
    local seen, count, wrong = {}, 0, {}
    for _, one in ipairs(diffs) do
      local path = one.files[1].path
      if not seen[path] and count < 60 then
        seen[path], count = true, count + 1
        show_diff(one)
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local shown = vim.api.nvim_win_get_buf(win)
          local name = vim.api.nvim_buf_get_name(shown)
          if not (vim.startswith(name, "rat://diff/") and vim.bo[shown].buftype == "nofile") then
            wrong[#wrong + 1] = ("%q shows %s"):format(path, name)
          end
        end
        vim.cmd.tabclose()
      end
    end
    return { count, wrong, #vim.api.nvim_list_tabpages() }
"#;

/// What must not be there: buffers of other names than ours and real files', other processes, browsers, the flag.
const LOOK: &str = r#"
    local wrong = {}
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      local name = vim.api.nvim_buf_get_name(buf)
      local ours = name:match("^rat://fake/%d+$") or name:match("^rat://fake/%d+/%l+$")
        or name:match("^rat://fake/%d+/%l+/%d+$")
      if name ~= "" and not ours and not vim.uv.fs_realpath(name) then
        wrong[#wrong + 1] = "a buffer " .. name:sub(1, 200)
      end
    end
    for _, what in ipairs(handed_over) do
      wrong[#wrong + 1] = "handed over: " .. what
    end
    for line in vim.fn.execute("messages"):gmatch("[^\n]+") do
      if line:match("^E%d+:") and not line:match("^E1568:") then
        wrong[#wrong + 1] = "a message " .. line:sub(1, 200)
      end
    end
    return wrong
"#;

pub(crate) fn init() -> Options {
    let init = "vim.ui.open = function(what) table.insert(handed_over, what) return nil end
        _G.handed_over, _G.opened = {}, {}
        vim.o.hidden = true";
    Options { columns: 160, lines: 50, init: init.into(), ..Options::default() }
}

/// One call for each name, which is its id, its title, its place, its change's path and what it links to.
fn say_all(chat: &mut Chat, names: &[String]) {
    for name in names {
        let link = json!({"type": "resource_link", "uri": name, "name": name, "title": name});
        let file =
            json!({"type": "resource_link", "uri": format!("file://{name}"), "name": "a file"});
        let text = json!({"type": "resource", "resource": {"uri": name, "text": "words"}});
        let content = |block: &Json| json!({"type": "content", "content": block});
        chat.tool_call(json!({
            "toolCallId": name, "title": name, "kind": "edit", "status": "completed",
            "locations": [{"path": name, "line": 2}],
            "content": [{"type": "diff", "path": name, "oldText": "a\n", "newText": "b\n"},
                content(&link), content(&file), content(&text)],
        }));
        let message =
            json!({"type": "text", "text": format!("\n\n{name}\n\nsee {name} for more\n")});
        chat.update(json!({"sessionUpdate": "agent_message_chunk", "content": message}));
    }
    chat.say("\n\nAll was said.\n");
}

pub(crate) const SESSION: &str = "../../`touch FLAG`";

pub(crate) fn initialized() -> Json {
    json!({
        "agentInfo": {"name": "%", "title": "term://touch FLAG", "version": "`touch FLAG`"},
        "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}}}})
}

/// A turn in which an agent has said all the names.
pub(crate) fn in_turn() -> Chat {
    let nvim = Nvim::start(init());
    make_files(&nvim);
    let chat = Chat::builder().neovim(nvim).initialized(initialized());
    let mut chat = chat.opened(json!({"sessionId": SESSION})).in_turn();
    let names = names(chat.nvim.cwd());
    say_all(&mut chat, &names);
    chat
}

/// What tests of hostile names do with a chat.
impl Chat {
    pub(crate) fn poll_said(&mut self) {
        self.nvim.poll("all of it", |nvim| {
            let last = "return vim.fn.getbufline('rat://fake/1', 1, '$')";
            let lines = nvim.lua(last, json!([]));
            lines.as_array().unwrap().iter().any(|line| line == "All was said.")
        });
    }

    /// Presses all keys everywhere in a view, and looks at what became of Neovim.
    pub(crate) fn press_everything(&mut self, view: &str) {
        let processes = self.nvim.processes().living();
        let mut row = json!(1);
        loop {
            let answer = self.nvim.lua(PRESS, json!([view, row, KEYS]));
            let wrong = answer[2].as_array().cloned().unwrap_or_default();
            assert!(wrong.is_empty(), "{view}: {wrong:#?}");
            row = answer[0].clone();
            if row.as_i64() > answer[1].as_i64() {
                break;
            }
        }
        self.expect_no_harm(&processes);
    }

    /// The same in all views that hold words of the agent; real files open.
    pub(crate) fn press_in_all_views(&mut self) {
        self.nvim.lua(HOLD_DIFFS, json!([]));
        self.press_everything("rat://fake/1");
        let opened = self.nvim.eval("vim.tbl_keys(opened)");
        let plain = self.nvim.cwd().join("plain.txt");
        let has = |path: &Path| {
            opened.as_array().unwrap().iter().any(|name| name == path.to_str().unwrap())
        };
        assert!(has(&plain), "real files open: {opened:#}");
        self.nvim.command("RatTools");
        self.nvim.poll("the tools", |nvim| {
            nvim.eval("vim.fn.bufwinid('rat://fake/1/tools') ~= -1") == json!(true)
        });
        self.press_everything("rat://fake/1/tools");
        let processes = self.nvim.processes().living();
        let shown = self.nvim.lua(SHOW_DIFFS, json!([]));
        assert!(shown[0].as_u64() > Some(20), "{shown:#}");
        assert!(shown[1] == json!([]) || shown[1] == json!({}), "{shown:#}");
        assert_eq!(shown[2], json!(1));
        self.expect_no_harm(&processes);
    }

    fn expect_no_harm(&mut self, processes: &[u32]) {
        look(&mut self.nvim, processes);
        assert_eq!(self.draft(), ["a draft"]);
    }
}

/// Looks for anything that must not be there.
pub(crate) fn look(nvim: &mut Nvim, processes: &[u32]) {
    let wrong = nvim.lua(LOOK, json!([]));
    assert!(wrong.as_array().is_none_or(Vec::is_empty), "{wrong:#}");
    assert_eq!(nvim.processes().living(), processes, "a process was started or ended");
    for folder in ["project", "home", "tmp", "."] {
        let entries = std::fs::read_dir(nvim.folder().path().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| name == "FLAG"), "a flag in {folder}");
    }
}

/// Holds (Hostile agents): On some 500 hostile names no key opens anything but a real file, starts a program, hangs or loses the draft.
#[test]
fn no_name_opens_anything_but_a_real_file() {
    let mut chat = in_turn();
    chat.poll_said();
    chat.write_draft("a draft");
    chat.press_in_all_views();
    chat.end_turn("end_turn");
    chat.nvim.poll_state("ready");
}
