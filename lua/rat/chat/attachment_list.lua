--- Manages the attachments of the next prompt: adds, removes, takes and returns them. It creates none.
local current_chat = require("rat.chat.current")
local drafts = require("rat.chat.drafts")
local icons = require("rat.view.icons")
local notify = require("rat.util.notify")
local registry = require("rat.chat.registry")
local rpc = require("rat.rpc")
local text_of = require("rat.util.text")
-- `rat.ask.chooser` is loaded on first use.

local M = {}

--- Attachments that were added before there was a chat.
---@type rat.Attachment[]
local early = {}

--- Returns the title of an attachment: its label, lines and columns.
---@param attachment rat.Attachment
---@return string
function M.title(attachment)
  local first, last = attachment.first, attachment.last
  if not first then
    return attachment.label
  end
  local title = first == last and ("%s:%d"):format(attachment.label, first)
    or ("%s:%d-%d"):format(attachment.label, first, last)
  return attachment.part and ("%s (%s)"):format(title, attachment.part) or title
end

--- Sizes of files that are attached by their path, so that the disk is asked once.
---@type table<rat.Attachment, integer>
local file_sizes = setmetatable({}, { __mode = "k" })

--- Returns the size of an attachment, such as `1.2 KiB`.
---@param attachment rat.Attachment
---@return string
local function size_of(attachment)
  local path = attachment.path
  if path and not file_sizes[attachment] then
    local stat = vim.uv.fs_stat(path)
    file_sizes[attachment] = stat and stat.size or 0
  end
  return text_of.size(file_sizes[attachment] or #(attachment.text or ""))
end

--- Describes an attachment in a list of them.
---@param attachment rat.Attachment
---@return string
function M.describe(attachment)
  return ("%s (%s)"):format(M.title(attachment), size_of(attachment))
end

---@type fun(chat: rat.Chat)[]
local listeners = {}

--- Calls a listener whenever the attachments of a chat have changed.
---@param listener fun(chat: rat.Chat)
function M.on_change(listener)
  listeners[#listeners + 1] = listener
end

---@param chat rat.Chat
local function changed(chat)
  drafts.changed(chat)
  for _, listener in ipairs(listeners) do
    listener(chat)
  end
end

--- Whether an attachment consists of whole lines, not of a part of them.
---@param attachment rat.Attachment
---@return boolean
local function is_whole(attachment)
  return attachment.part == nil
end

--- Attaches something to the next prompt. It replaces an attachment of the same lines of the same file.
---@param attachment rat.Attachment
---@return rat.Chat? chat the chat it was attached in, if there is one
function M.add(attachment)
  local chat = current_chat.for_prompt()
  local list = chat and chat.attachments or early
  for i, other in ipairs(list) do
    if
      other.uri == attachment.uri
      and other.first == attachment.first
      and other.last == attachment.last
      and is_whole(other) == is_whole(attachment)
      and (is_whole(attachment) or other.text == attachment.text)
    then
      table.remove(list, i)
      break
    end
  end
  list[#list + 1] = attachment
  if chat then
    changed(chat)
  end
  return chat
end

--- Returns the attachments of the next prompt, without removing them.
---@param chat rat.Chat? nil: those that were added before there was a chat
---@return rat.Attachment[]
function M.all(chat)
  return chat and chat.attachments or early
end

--- Removes and returns all attachments, to be sent with a prompt.
---@param chat? rat.Chat
---@return rat.Attachment[]
function M.take_all(chat)
  local taken = chat and chat.attachments or early
  if chat then
    chat.attachments = {}
    changed(chat)
  else
    early = {}
  end
  return taken
end

--- Moves attachments that were added before there was a chat to a new one.
---@param chat rat.Chat
function M.take_early(chat)
  vim.list_extend(chat.attachments, early)
  early = {}
  changed(chat)
end

--- Puts the attachments of a prompt that was not sent back, before the others.
---@param chat rat.Chat
---@param attachments rat.Attachment[]
function M.give_back(chat, attachments)
  chat.attachments = vim.list_extend(attachments, chat.attachments)
  changed(chat)
end

--- Removes an attachment or a queued prompt. If there are several, the user chooses one.
---@param chat rat.Chat
function M.remove(chat)
  ---@type (rat.Attachment|rat.QueuedPrompt)[]
  local items = vim.list_slice(chat.attachments)
  vim.list_extend(items, registry.queued(chat))
  local function remove(item)
    if item.number then
      chat.sent[item.text] = nil
      return rpc.notify("queue_drop", { chat = chat.id, number = item.number })
    end
    chat.attachments = vim.tbl_filter(function(other)
      return other ~= item
    end, chat.attachments)
    changed(chat)
  end
  if #items == 0 then
    return notify.info("Nothing is attached or queued")
  elseif #items == 1 then
    return remove(items[1])
  end
  local function describe(item)
    return item.number and icons.get("queued") .. " " .. text_of.first_line(item.text)
      or M.describe(item)
  end
  local opts = { prompt = "Remove which?", format_item = describe }
  require("rat.ask.chooser").open(items, opts, function(item)
    if item then
      remove(item)
    end
  end)
end

return M
