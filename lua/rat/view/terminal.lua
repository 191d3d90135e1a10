--- Terminal buffers: what commands of agents write, live. Runs nothing, and takes no keys for the commands.
local names = require("rat.names")
local scratch = require("rat.scratch")

local M = {}

--- Lines above the window that are kept.
local SCROLLBACK = 5000

---@class rat.Terminal
---@field buf integer
---@field channel integer

---@type table<string, rat.Terminal> by the buffer's name
local terminals = {}

--- The one of this name, while its buffer is there.
---@param name string
---@return rat.Terminal?
local function find(name)
  local found = terminals[name]
  return found and vim.api.nvim_buf_is_valid(found.buf) and found or nil
end

--- Whether a buffer is one of these.
---@param buf integer
---@return boolean
function M.owns(buf)
  local found = find(vim.api.nvim_buf_get_name(buf))
  return found ~= nil and found.buf == buf
end

---@param buf integer
---@param title string
local function show(buf, title)
  scratch.split(buf, title, { focus = true, wrap = false })
  -- At the end of its buffer a window follows.
  vim.cmd("normal! G")
end

--- Shows a terminal in a buffer of its own; the binary sends what belongs there.
---@param of rat.Chat
---@param id string the terminal's
function M.open(of, id)
  local name = names.page(of, "terminal", id)
  local found = find(name)
  if found then
    return show(found.buf, vim.b[found.buf].rat_title)
  end
  require("rat.rpc").notify("terminal", { chat = of.id, terminal = id, show = true })
end

--- Makes the buffer.
---@param payload {chat: integer, terminal: string, title: string}
---@param name string
---@return rat.Terminal
local function make(payload, name)
  local buf = scratch.make(name, "ratterminal")
  local title = payload.title:gsub("%s+", " ")
  vim.b[buf].rat_title = title
  show(buf, title)
  -- Many begin to insert when a terminal opens: nobody reads what would be typed here.
  local ignored = vim.o.eventignore
  vim.o.eventignore = "TermOpen"
  local ok, channel = pcall(vim.api.nvim_open_term, buf, {})
  vim.o.eventignore = ignored
  assert(ok, channel)
  -- A line takes some kilobytes of Neovim's memory.
  vim.bo[buf].scrollback = SCROLLBACK
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      terminals[name] = nil
      local closed = { chat = payload.chat, terminal = payload.terminal, show = false }
      require("rat.rpc").notify("terminal", closed)
    end,
  })
  return { buf = buf, channel = channel }
end

--- The binary says what a command wrote.
---@param payload {chat: integer, terminal: string, title: string, open: boolean, bytes: string}
function M.arrived(payload)
  local of = require("rat.chat").get(payload.chat)
  if not of then
    return
  end
  local name = names.page(of, "terminal", payload.terminal)
  local found = find(name)
  if not found and payload.open then
    found = make(payload, name)
    terminals[name] = found
  end
  if found and payload.bytes ~= "" then
    vim.api.nvim_chan_send(found.channel, payload.bytes)
  end
end

return M
