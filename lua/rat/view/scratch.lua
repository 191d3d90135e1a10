--- Makes, finds and fills buffers of the plugin's own; what stands in the views of a chat is `ui`'s.
local M = {}

--- While a buffer gets its name here, nobody else has to read it.
local naming = false

--- Whether a buffer is being named by `name`.
---@return boolean
function M.naming()
  return naming
end

--- Gives a buffer its name.
---@param buf integer
---@param name string
function M.name(buf, name)
  naming = true
  local ok, problem = pcall(vim.api.nvim_buf_set_name, buf, name)
  naming = false
  assert(ok, problem)
end

--- The buffer with exactly this name. (|bufnr()| takes a pattern and finds others.)
---@param name string
---@return integer?
function M.find(name)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buf) == name then
      return buf
    end
  end
end

--- Gives a buffer the options of a view: no file, hidden, unlisted, no swap, no modeline.
---@param buf integer
---@param filetype string
---@param writable? boolean the user types in it
function M.dress(buf, filetype, writable)
  require("rat.lookalike").watch()
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
      desc = "rat: nothing can be written here",
      command = "stopinsert",
    })
  end
  if vim.bo[buf].filetype ~= filetype then
    vim.bo[buf].filetype = filetype
  end
  vim.bo[buf].modified = false
  require("rat.location").guard_keys(buf)
end

--- The buffer of this name, made if there is none.
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
  M.dress(buf, filetype, writable)
  return buf
end

---@param buf integer
---@param first integer row; -1 is behind the last
---@param lines string[]
local function fill(buf, first, lines)
  local modifiable = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, first, -1, false, lines)
  vim.bo[buf].modifiable = modifiable
  vim.bo[buf].modified = false
end

--- Puts lines in place of all there are.
---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  fill(buf, 0, lines)
end

--- Whether nothing is written in a buffer.
---@param buf integer
---@return boolean
function M.is_empty(buf)
  return vim.api.nvim_buf_line_count(buf) == 1
    and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
end

--- Puts lines before all there are.
---@param buf integer
---@param lines string[]
function M.insert(buf, lines)
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, lines)
  vim.bo[buf].modified = false
end

--- Highlights a text as a file of this name would be, but without a filetype: no plugin and no server takes it for one.
---@param buf integer
---@param path string
---@param lines string[]
local function highlight_like(buf, path, lines)
  local filetype = vim.filetype.match({ filename = path, contents = lines }) or ""
  local language = vim.treesitter.language.get_lang(filetype)
  if filetype ~= "" and not pcall(vim.treesitter.start, buf, language) then
    vim.bo[buf].syntax = filetype
  end
end

--- One side of a comparison with a file. It goes with its window.
---@param path string
---@param side string its name in the buffer's
---@param lines string[]
---@param writable? boolean the user changes it
---@return integer buf
function M.side(path, side, lines, writable)
  local buf = vim.api.nvim_create_buf(false, true)
  M.dress(buf, "", writable)
  vim.bo[buf].bufhidden = "wipe"
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  M.fill(buf, lines)
  vim.bo[buf].undolevels = levels
  local name = require("rat.names").last_part(path)
  M.name(buf, ("rat://diff/%d/%s/%s"):format(buf, side, name))
  highlight_like(buf, name, lines)
  return buf
end

--- Shows a buffer in a split of its own, closed with `q`.
---@param buf integer
---@param title string
---@param opts {focus: boolean, wrap: boolean}
function M.split(buf, title, opts)
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, desc = "Close", nowait = true })
  local win = vim.fn.bufwinid(buf)
  if win == -1 then
    local beside = require("rat.location").users_window() or 0
    win = require("rat.room").open(buf, { split = "below", win = beside })
  end
  local bar = require("rat.status").escape(title) .. "%=%#RatKey#q%* close "
  local options = { winbar = bar, wrap = opts.wrap, number = false, list = false }
  require("rat.dress").set(win, options)
  if opts.focus then
    require("rat.room").enter(win)
  end
end

---@class rat.Scratch
---@field chat integer
---@field kind "info"|"trace"|"output"|"content"
---@field id? string which tool call or content
---@field title string
---@field filetype string
---@field like? string the name of a file it is like
---@field more boolean it goes on what is there
---@field lines string[]
---@field focus boolean

--- Shows lines in a split of their own, closed with `q`.
---@param scratch rat.Scratch
function M.show(scratch)
  local of = require("rat.chat").get(scratch.chat)
  if not of then
    return
  end
  local name = require("rat.names").page(of, scratch.kind, scratch.id)
  if scratch.more then
    local buf = M.find(name)
    return buf and fill(buf, -1, scratch.lines)
  end
  local buf = M.make(name, "")
  -- The text is somebody else's: highlighted, but no filetype plugin runs on it.
  vim.bo[buf].syntax = scratch.filetype
  vim.bo[buf].bufhidden = "wipe"
  M.fill(buf, scratch.lines)
  if scratch.like then
    highlight_like(buf, scratch.like, scratch.lines)
  end
  M.split(buf, scratch.title, { focus = scratch.focus, wrap = true })
end

--- Shows lines in a float in the middle of the screen, closed with `q` or by leaving it.
---@param lines string[]
---@param title string
function M.float(lines, title)
  local buf = vim.api.nvim_create_buf(false, true)
  M.dress(buf, "rathelp")
  vim.bo[buf].bufhidden = "wipe"
  M.fill(buf, lines)
  local width = vim.fn.strdisplaywidth(title) + 2
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, vim.o.columns - 4)
  local height = math.min(#lines, vim.o.lines - 6)
  local win = require("rat.float").open(buf, {
    relative = "editor",
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    title = " " .. title .. " ",
    footer = " q closes ",
    zindex = 60,
  })
  vim.wo[win].wrap = false
  local function close()
    require("rat.float").close(buf)
  end
  for _, lhs in ipairs({ "q", "<Esc>", "g?" }) do
    vim.keymap.set("n", lhs, close, { buffer = buf, nowait = true, desc = "Close" })
  end
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    callback = function()
      -- A window cannot be closed while it is being left.
      vim.schedule(close)
    end,
  })
end

return M
