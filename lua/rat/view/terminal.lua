--- Shows the output of agents' commands in terminal buffers, live. It runs nothing and sends no keys to the commands.
local names = require("rat.chat.names")
local page = require("rat.view.page")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local scratch = require("rat.view.scratch")

local M = {}

--- 'scrollback' of these buffers. A line takes some kilobytes of Neovim's memory.
local SCROLLBACK = 5000

---@class rat.Terminal
---@field buf integer
---@field channel integer
---@field columns integer width of the screen that its lines were wrapped for
---@field over? boolean whether the command has ended and the channel is closed
---@field stale? boolean whether output arrived after that, which the buffer lacks

---@type table<string, rat.Terminal> by the name of the buffer
local terminals = {}

--- Returns the terminal with this buffer name, if the buffer still exists.
---@param name string
---@return rat.Terminal?
local function find(name)
  local found = terminals[name]
  return found and vim.api.nvim_buf_is_valid(found.buf) and found or nil
end

--- Whether a buffer is one of these terminals.
---@param buf integer
---@return boolean
function M.owns(buf)
  local found = find(vim.api.nvim_buf_get_name(buf))
  return found ~= nil and found.buf == buf
end

---@param buf integer
---@param title string
local function show(buf, title)
  page.open(buf, title, { focus = true, wrap = false })
  -- A window with the cursor at the end of a terminal buffer follows the output.
  vim.cmd("normal! G")
end

--- Opens the page of a terminal. If its buffer is missing or out of date, the binary is asked for the output.
---@param chat rat.Chat
---@param id string id of the terminal
function M.open(chat, id)
  local name = names.page(chat, "terminal", id)
  local found = find(name)
  -- Output in the buffer stays wrapped for the width of the screen at that time.
  local is_other_width = found and found.over and found.columns ~= vim.o.columns
  if found and not found.stale and not is_other_width then
    return show(found.buf, vim.b[found.buf].rat_title)
  elseif found then
    vim.api.nvim_buf_delete(found.buf, { force = true })
  end
  rpc.notify("terminal", { chat = chat.id, terminal = id, show = true })
end

--- Creates the buffer of a terminal and shows it.
---@param payload rat.msg.TerminalOutput
---@param name string
---@return rat.Terminal
local function make(payload, name)
  local buf = scratch.make(name, "ratterminal")
  vim.b[buf].rat_title = payload.title
  show(buf, payload.title)
  -- Many users start Insert mode on TermOpen, but nothing would read what is typed here.
  local ignored = vim.o.eventignore
  vim.o.eventignore = "TermOpen"
  local ok, channel = pcall(vim.api.nvim_open_term, buf, {})
  vim.o.eventignore = ignored
  assert(ok, channel)
  vim.bo[buf].scrollback = SCROLLBACK
  vim.api.nvim_create_autocmd("TermEnter", {
    buffer = buf,
    desc = "rat: commands read nothing",
    command = "stopinsert",
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      terminals[name] = nil
      local closed = { chat = payload.chat, terminal = payload.terminal, show = false }
      rpc.notify("terminal", closed)
    end,
  })
  return { buf = buf, channel = channel, columns = vim.o.columns }
end

--- Closes the channel of a terminal whose command has ended, so that its buffer can be deleted without a "!".
---@param terminal rat.Terminal
local function finish(terminal)
  terminal.over = true
  -- Neovim writes "[Process exited 0]", whatever the exit status was. The escape sequence SOS, which takes the text after
  -- it as its argument, keeps that from being shown.
  vim.api.nvim_chan_send(terminal.channel, "\27X")
  local ignored = vim.o.eventignore
  vim.o.eventignore = "TermClose"
  pcall(vim.fn.chanclose, terminal.channel)
  vim.o.eventignore = ignored
end

--- Handles output of a command from the binary.
---@param payload rat.msg.TerminalOutput
function M.arrived(payload)
  local chat = registry.get(payload.chat)
  if not chat then
    return
  end
  local name = names.page(chat, "terminal", payload.terminal)
  local found = find(name)
  if not found and payload.open then
    found = make(payload, name)
    terminals[name] = found
  elseif found and payload.open then
    show(found.buf, payload.title)
  end
  if not found then
    return
  elseif vim.b[found.buf].rat_title ~= payload.title then
    vim.b[found.buf].rat_title = payload.title
    page.set_title(found.buf, payload.title)
  end
  if payload.bytes ~= "" then
    found.stale = found.over
    if not found.over then
      vim.api.nvim_chan_send(found.channel, payload.bytes)
    end
  end
  if payload.over and not found.over then
    finish(found)
  end
end

return M
