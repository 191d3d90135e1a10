//! Counts what Neovim does in one piece, for which a key has to wait: instructions of Lua, calls of the API and bytes that go
//! through either. Unlike times, they are the same on a busy machine. With `RAT_BENCH`, times are taken instead, for people to
//! read.

use super::{CLOCK, Nvim};
use serde_json::json;
use std::fmt::{self, Display, Formatter};

/// Lua that counts from now on, as the global `Work`. A piece ends where Neovim looks for input: after each event of its main
/// loop. Compiled code counts nothing, so that Lua is interpreted.
///
/// Calls of the binary arrive as functions of the modules named here; the first two of a chat.
pub const WORK: &str = r#"
    if jit then
      jit.off()
      jit.flush()
    end
    local EVERY = 100
    local now, most, all = { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }
    local largest, depth, pieces = {}, 0, 0
    local names = {}

    local function size(value)
      local kind = type(value)
      if kind == "string" then
        return #value
      elseif kind ~= "table" then
        return 1
      end
      local bytes = 1
      for key, item in pairs(value) do
        bytes = bytes + (type(key) == "string" and #key or 0) + (type(item) == "string" and #item or size(item))
      end
      return bytes
    end
    -- What counting costs is not counted.
    local function count(name, ...)
      local steps, bytes = now[1], 0
      for at = 1, select('#', ...) do
        bytes = bytes + size((select(at, ...)))
      end
      now[2], now[3] = now[2] + 1, now[3] + bytes
      names[name] = (names[name] or 0) + bytes + 1
      now[1] = steps
    end
    local function finish(name, works, ...)
      depth = depth - 1
      if not works then
        error((...), 0)
      end
      count(name, ...)
      return ...
    end
    local function wrap(holder, name)
      local call = holder[name]
      holder[name] = function(...)
        count(name, ...)
        depth = depth + 1
        return finish(name, pcall(call, ...))
      end
    end
    for name in pairs(vim.api) do
      wrap(vim.api, name)
    end
    for _, name in ipairs({ "call", "diff" }) do
      wrap(vim, name)
    end
    for _, name in ipairs({ "encode", "decode" }) do
      wrap(vim.json, name)
    end
    for _, name in ipairs({
      "rat.rpc.inbox", "rat.rpc", "rat.document", "rat.document.track", "rat.document.buffers", "rat.document.encoding",
      "rat.document.conflict", "rat.document.provider", "rat.tools", "rat.complete.files",
    }) do
      local module = require(name)
      for key, call in pairs(module) do
        if type(call) == "function" then
          wrap(module, key)
        end
      end
    end

    Work = {}
    local function close()
      if depth > 0 then
        return
      end
      pieces = pieces + 1
      for at = 1, 3 do
        all[at] = all[at] + now[at]
        if now[at] > most[at] then
          most[at], largest[at] = now[at], names
        end
      end
      now, names = { 0, 0, 0 }, {}
    end
    local ends = vim.uv.new_check()
    function Work.begin()
      now, most, all, names = { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, {}
      largest, depth, pieces = {}, 0, 0
      debug.sethook(function()
        now[1] = now[1] + EVERY
      end, "", EVERY)
      ends:start(close)
    end
    local function shown(what)
      local all_names = vim.tbl_keys(what or {})
      table.sort(all_names, function(a, b) return what[a] > what[b] end)
      return table.concat(vim.tbl_map(function(name)
        return ("%s %d"):format(name, what[name])
      end, vim.list_slice(all_names, 1, 5)), ", ")
    end
    function Work.stop()
      ends:stop()
      debug.sethook()
      return { most, all, pieces, vim.tbl_map(shown, { largest[1] or {}, largest[2] or {}, largest[3] or {} }) }
    end
"#;

/// Lua that takes times under the same names, after [`CLOCK`]: of everything, of the longest piece, and as a reference of this very
/// Neovim, of ten thousand lines that a buffer gets.
const TIMES: &str = r#"
    local gap, last, began = 0, 0, 0
    local watch = vim.uv.new_timer()
    Work = {}
    function Work.begin()
      gap, last, began = 0, clock(), clock()
      watch:start(0, 1, function()
        local now = clock()
        gap, last = math.max(gap, now - last), now
      end)
    end
    local function reference()
      local lines, buf = {}, vim.api.nvim_create_buf(false, true)
      for line = 1, 10000 do
        lines[line] = ("line %d of the reference"):format(line)
      end
      local least = math.huge
      for _ = 1, 5 do
        local start = vim.uv.hrtime()
        vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
        least = math.min(least, vim.uv.hrtime() - start)
      end
      vim.api.nvim_buf_delete(buf, { force = true })
      return least
    end
    function Work.stop()
      watch:stop()
      local all, longest = (clock() - began) / 1e6, gap / 1e6
      local known = reference() / 1e6
      return { { 0, 0, 0 }, { 0, 0, 0 }, 0, ("%.0f ms, longest pause %.2f ms, 10,000 lines %.2f ms: %.2f"):format(
        all, longest, known, longest / known) }
    end
"#;

/// Whether times are taken.
fn takes_times() -> bool {
    std::env::var_os("RAT_BENCH").is_some()
}

/// Work of Neovim, of one piece or of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Instructions of Lua.
    pub steps: u64,
    /// Calls of the API, of Vim's functions, and of ours by the binary.
    pub calls: u64,
    /// Bytes that these were given and returned.
    pub bytes: u64,
}

/// What was done between [`begin`] and [`stop`].
#[derive(Debug, Clone)]
pub struct Work {
    /// The most of each in one piece.
    pub most: Amount,
    /// All of each.
    pub all: Amount,
    /// How many pieces there were.
    pub pieces: u64,
    /// What the largest pieces consisted of.
    pub largest: String,
}

impl Work {
    /// Makes Neovim count; once is enough.
    pub fn prepare(nvim: &mut Nvim) {
        let code = if takes_times() { format!("{CLOCK}{TIMES}") } else { WORK.to_owned() };
        nvim.lua(&code, json!([]));
    }

    /// Counts from here on.
    pub fn begin(nvim: &mut Nvim) {
        nvim.lua("Work.begin()", json!([]));
    }

    /// What was done since.
    pub fn stop(nvim: &mut Nvim) -> Self {
        Self::read(&nvim.lua("return Work.stop()", json!([])))
    }

    /// From what `Work.stop()` returns.
    pub fn read(told: &serde_json::Value) -> Self {
        let amount = |at: usize| {
            let [steps, calls, bytes] = [0, 1, 2].map(|kind| told[at][kind].as_u64().unwrap());
            Amount { steps, calls, bytes }
        };
        Self {
            most: amount(0),
            all: amount(1),
            pieces: told[2].as_u64().unwrap(),
            largest: told[3].as_str().map_or_else(|| told[3].to_string(), str::to_owned),
        }
    }

    /// Fails the test if any piece was larger.
    pub fn expect_pieces_within(&self, what: &str, limit: Amount) {
        assert!(self.most.is_within(limit), "{what}: {self}; a piece may have {limit}");
    }

    /// Fails the test if all was more.
    pub fn expect_within(&self, what: &str, limit: Amount) {
        assert!(self.all.is_within(limit), "{what}: {self}; all may have {limit}");
    }
}

impl Amount {
    fn is_within(self, limit: Self) -> bool {
        self.steps <= limit.steps && self.calls <= limit.calls && self.bytes <= limit.bytes
    }
}

impl Display for Work {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { most, all, pieces, largest } = self;
        if takes_times() {
            return f.write_str(largest);
        }
        write!(f, "{most} at most, {all} in {pieces} pieces; largest: {largest}")
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} steps, {} calls, {} bytes", self.steps, self.calls, self.bytes)
    }
}
