--- Creates, finds, names and fills the plugin's own buffers. The text of a chat's views is drawn by `ui`.
local float = require("rat.view.float")
local folder_clash = require("rat.view.folder_clash")
local link = require("rat.view.link")
local names = require("rat.chat.names")
local neo_tree = require("rat.view.neo_tree")

local M = {}

local SPANS = vim.api.nvim_create_namespace("rat_spans")

--- Whether `name` is running.
local naming = false

--- Whether a buffer is being named by `name`, so that autocommands need not fill it.
---@return boolean
function M.is_naming()
  return naming
end

--- Sets the name of a buffer.
---@param buf integer
---@param name string
function M.name(buf, name)
  naming = true
  local ok, problem = pcall(vim.api.nvim_buf_set_name, buf, name)
  naming = false
  assert(ok, problem)
end

--- Returns the buffer with exactly this name. |bufnr()| takes a pattern and may find another one.
---@param name string
---@return integer?
function M.find(name)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buf) == name then
      return buf
    end
  end
end

--- Sets the options of the plugin's own buffers: no file, hidden, unlisted, no swap file, no modeline.
---@param buf integer
---@param filetype string
---@param writable? boolean whether the user may change its text
function M.set_options(buf, filetype, writable)
  folder_clash.watch()
  neo_tree.watch()
  local options = {
    buftype = "nofile",
    bufhidden = "hide",
    buflisted = false,
    swapfile = false,
    modeline = false,
    undofile = false,
    modifiable = writable == true,
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { buf = buf })
  end
  if not writable then
    vim.bo[buf].undolevels = -1
    vim.api.nvim_create_autocmd("InsertEnter", {
      buffer = buf,
      desc = "rat: this buffer is read-only",
      command = "stopinsert",
    })
  end
  if vim.bo[buf].filetype ~= filetype then
    vim.bo[buf].filetype = filetype
  end
  vim.bo[buf].modified = false
  link.guard_keys(buf)
end

--- Returns the buffer with this name, and creates it if there is none.
---@param name string
---@param filetype string
---@param writable? boolean
---@return integer buf
function M.make(name, filetype, writable)
  local buf = M.find(name)
  if not buf then
    buf = vim.api.nvim_create_buf(false, true)
    M.name(buf, name)
  end
  M.set_options(buf, filetype, writable)
  return buf
end

--- Creates a buffer that the user edits and applies with |:write|. |:edit|! brings it back as it is.
---@param name string
---@param filetype string
---@param write fun(buf: integer)
---@param read fun(buf: integer)
---@return integer buf
function M.editable(name, filetype, write, read)
  local buf = vim.api.nvim_create_buf(false, true)
  M.name(buf, name)
  M.set_options(buf, filetype, true)
  vim.bo[buf].buftype = "acwrite"
  for event, action in pairs({ BufWriteCmd = write, BufReadCmd = read }) do
    vim.api.nvim_create_autocmd(event, {
      buffer = buf,
      desc = "rat: apply what was edited, or show it as it is",
      callback = function()
        action(buf)
      end,
    })
  end
  return buf
end

--- Replaces rows of a buffer.
---@param buf integer
---@param first integer row; -1 appends
---@param last integer end exclusive; -1 for the end of the buffer
---@param lines string[]
function M.splice(buf, first, last, lines)
  local modifiable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, first, last, false, lines)
  vim.bo[buf].modifiable = modifiable
  vim.bo[buf].modified = false
end

--- Replaces all lines of a buffer.
---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  M.splice(buf, 0, -1, lines)
end

--- Replaces the lines of a buffer that differ, so that its windows stay where they are.
---@param buf integer
---@param new string[]
function M.update(buf, new)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local fewer, before, after = math.min(#old, #new), 0, 0
  while before < fewer and old[before + 1] == new[before + 1] do
    before = before + 1
  end
  while after < fewer - before and old[#old - after] == new[#new - after] do
    after = after + 1
  end
  if before + after == #old and #old == #new then
    return
  end
  M.splice(buf, before, #old - after, vim.list_slice(new, before + 1, #new - after))
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, vim.cmd.diffupdate)
  end
end

--- Changes a buffer without an undo step, and forgets those before: what fills a page is nothing that the user did, and
--- |u| would leave a page without text, which |:write| may apply.
---@param buf integer
---@param change fun(buf: integer, lines: string[]) such as `fill`
---@param lines string[]
function M.load(buf, change, lines)
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  change(buf, lines)
  vim.bo[buf].undolevels = levels
  vim.bo[buf].modified = false
end

--- Whether nothing in a buffer can be undone.
---@param buf integer
---@return boolean
function M.is_unchanged(buf)
  return vim.api.nvim_buf_call(buf, vim.fn.undotree).seq_last == 0
end

--- Whether a buffer has no text.
---@param buf integer
---@return boolean
function M.is_empty(buf)
  return vim.api.nvim_buf_line_count(buf) == 1
    and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
end

--- Inserts lines at the beginning of a buffer.
---@param buf integer
---@param lines string[]
function M.insert(buf, lines)
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, lines)
  vim.bo[buf].modified = false
end

--- Appends lines to a buffer.
---@param buf integer
---@param lines string[]
function M.append(buf, lines)
  M.splice(buf, -1, -1, lines)
end

--- Highlights a buffer like a file of this name. 'filetype' stays empty, so that no filetype plugin or language server
--- attaches to it.
---@param buf integer
---@param path string
---@param lines string[]
function M.highlight_like(buf, path, lines)
  local filetype = vim.filetype.match({ filename = path, contents = lines }) or ""
  local language = vim.treesitter.language.get_lang(filetype)
  if filetype ~= "" and not pcall(vim.treesitter.start, buf, language) then
    vim.bo[buf].syntax = filetype
  end
end

---@class rat.Span
---@field first integer byte column
---@field last integer end exclusive
---@field group string

--- Highlights parts of the lines of a buffer, in place of those that were highlighted before.
---@param buf integer
---@param spans rat.Span[][] by line, from the first one on
function M.highlight_spans(buf, spans)
  vim.api.nvim_buf_clear_namespace(buf, SPANS, 0, -1)
  for line, found in ipairs(spans) do
    for _, span in ipairs(found) do
      vim.api.nvim_buf_set_extmark(buf, SPANS, line - 1, span.first, {
        end_col = span.last,
        hl_group = span.group,
      })
    end
  end
end

--- Creates a buffer for one side of a comparison. It is wiped out with its window.
---@param path string of the file
---@param side string part of the buffer's name
---@param lines string[]
---@param writable? boolean whether the user may change its text
---@return integer buf
function M.side(path, side, lines, writable)
  local buf = vim.api.nvim_create_buf(false, true)
  M.set_options(buf, "", writable)
  vim.bo[buf].bufhidden = "wipe"
  M.load(buf, M.fill, lines)
  local name = names.last_part(path)
  M.name(buf, ("rat://diff/%d/%s/%s"):format(buf, side, name))
  M.highlight_like(buf, name, lines)
  return buf
end

--- The window of the latest hint.
local hint_win ---@type integer?

--- Shows lines in a floating window at the cursor, as |vim.diagnostic.open_float()| does: it closes once the cursor moves,
--- and is entered if it is shown again.
---@param lines string[]
---@param title string
---@param syntax string
function M.hint(lines, title, syntax)
  if hint_win and vim.api.nvim_win_is_valid(hint_win) then
    return vim.api.nvim_set_current_win(hint_win)
  end
  local buf, about = vim.api.nvim_create_buf(false, true), vim.api.nvim_get_current_buf()
  M.set_options(buf, "rathint")
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].syntax = syntax
  M.fill(buf, lines)
  local width = vim.fn.strdisplaywidth(title) + 2
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  hint_win = float.open(buf, {
    relative = "cursor",
    row = 1,
    col = 0,
    width = math.max(1, math.min(width, vim.o.columns - 4)),
    height = math.max(1, math.min(#lines, math.floor(vim.o.lines / 2) - 2)),
    title = " " .. title .. " ",
  }, true)
  local group = vim.api.nvim_create_augroup("rat_hint", {})
  local function close()
    vim.api.nvim_create_augroup("rat_hint", {})
    float.close(buf)
  end
  vim.api.nvim_create_autocmd({ "CursorMoved", "InsertEnter" }, {
    group = group,
    buffer = about,
    desc = "rat: close a hint",
    callback = close,
  })
  vim.api.nvim_create_autocmd("BufEnter", {
    group = group,
    desc = "rat: close a hint that is about another buffer",
    callback = function(event)
      if event.buf ~= about and event.buf ~= buf then
        vim.schedule(close)
      end
    end,
  })
  vim.keymap.set("n", "q", close, { buffer = buf, nowait = true, desc = "Close" })
end

--- Shows lines in a floating window in the middle of the screen. `q` or leaving it closes it.
---@param lines string[]
---@param title string
function M.float(lines, title)
  local buf = vim.api.nvim_create_buf(false, true)
  M.set_options(buf, "rathelp")
  vim.bo[buf].bufhidden = "wipe"
  M.fill(buf, lines)
  local width = vim.fn.strdisplaywidth(title) + 2
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  ---@param needed integer lines of the screen
  local function place(needed)
    local wide = math.max(1, math.min(width, vim.o.columns - 4))
    local height = math.max(1, math.min(needed, vim.o.lines - 6))
    return {
      relative = "editor",
      row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
      col = math.max(0, math.floor((vim.o.columns - wide) / 2) - 1),
      width = wide,
      height = height,
      title = " " .. title .. " ",
      footer = " q close ",
      zindex = 60,
    }
  end
  local win = float.open(buf, place(#lines))
  local wrapping = { wrap = true, linebreak = true, breakindent = true, breakindentopt = "shift:2" }
  for name, value in pairs(wrapping) do
    vim.wo[win][name] = value
  end
  local function fit()
    -- The width first, which decides how many lines wrap.
    float.move(win, place(#lines))
    float.move(win, place(vim.api.nvim_win_text_height(win, {}).all))
  end
  fit()
  float.on_resize(win, fit)
  local function close()
    float.close(buf)
  end
  for _, lhs in ipairs({ "q", "<Esc>", "g?" }) do
    vim.keymap.set("n", lhs, close, { buffer = buf, nowait = true, desc = "Close" })
  end
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    callback = function()
      -- A window cannot be closed during WinLeave.
      vim.schedule(close)
    end,
  })
end

return M
