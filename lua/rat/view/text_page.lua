--- Shows pages of text that the binary sends: information, protocol traffic, the output of a tool call.
local names = require("rat.chat.names")
local page = require("rat.view.page")
local registry = require("rat.chat.registry")
local scratch = require("rat.view.scratch")

local M = {}

--- Returns the buffer of a page that is open.
---@param id integer the chat
---@param kind rat.Page
---@return integer?
local function find(id, kind)
  local chat = registry.get(id)
  return chat and scratch.find(names.page(chat, kind))
end

--- Whether a page of which a chat has one is open.
---@param id integer the chat
---@param kind rat.Page
---@return boolean
function M.is_open(id, kind)
  return find(id, kind) ~= nil
end

--- Closes a page of which a chat has one.
---@param id integer the chat
---@param kind rat.Page
function M.close(id, kind)
  local buf = find(id, kind)
  if buf then
    vim.api.nvim_buf_delete(buf, { force = true })
  end
end

---@alias rat.TextPage rat.msg.Scratch

--- Shows a page in a split of its own, or appends more text to one that is open.
---@param text rat.TextPage
function M.show(text)
  local chat = registry.get(text.chat)
  if not chat then
    return
  end
  local name = names.page(chat, text.kind, text.id)
  if text.more then
    local buf = scratch.find(name)
    return buf and page.extend(buf, function()
      scratch.append(buf, text.lines)
    end)
  end
  local buf = scratch.make(name, "")
  -- Only 'syntax' is set, not 'filetype': the text may be an agent's, and no filetype plugin should run on it.
  vim.bo[buf].syntax = text.filetype
  vim.bo[buf].bufhidden = "wipe"
  scratch.fill(buf, text.lines)
  if text.like then
    scratch.highlight_like(buf, text.like, text.lines)
  end
  local win = page.open(buf, text.title, { focus = text.focus, wrap = true })
  if text.at_end then
    page.show_end(win)
  end
end

return M
