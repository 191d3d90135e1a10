--- What goes with the next prompt: keeps it, lets it be removed. Makes no attachments.
local chat = require("rat.chat")

local M = {}

--- Attached before there was a chat.
---@type rat.Attachment[]
local early = {}

---@param attachment rat.Attachment
---@return string
function M.title(attachment)
  local first, last = attachment.first, attachment.last
  if not first then
    return attachment.label
  end
  return first == last and ("%s:%d"):format(attachment.label, first)
    or ("%s:%d-%d"):format(attachment.label, first, last)
end

---@param of rat.Chat
local function show(of)
  require("rat.drafts").changed(of)
  require("rat.above").show(of)
end

--- Whether it is whole lines, which are replaced when they come again, and no part of them.
---@param attachment rat.Attachment
---@return boolean
local function is_whole(attachment)
  return attachment.first == nil or attachment.text == nil or attachment.text:sub(-1) == "\n"
end

--- Attaches something to the next prompt; the same lines of the same file replace what was there.
---@param attachment rat.Attachment
---@return rat.Chat? of the chat it goes to, if there is one
function M.add(attachment)
  local of = chat.current()
  local list = of and of.attachments or early
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
  if of then
    show(of)
  end
  return of
end

--- Takes what is attached: it goes with one prompt and then is gone.
---@param of? rat.Chat
---@return rat.Attachment[]
function M.take(of)
  local taken = of and of.attachments or early
  if of then
    of.attachments = {}
    show(of)
  else
    early = {}
  end
  return taken
end

--- Gives what was attached before there was a chat to a new one.
---@param of rat.Chat
function M.settle(of)
  vim.list_extend(of.attachments, early)
  early = {}
  show(of)
end

--- Takes back what was attached to a prompt that was not sent.
---@param of rat.Chat
---@param attachments rat.Attachment[]
function M.give_back(of, attachments)
  of.attachments = vim.list_extend(attachments, of.attachments)
  show(of)
end

--- Removes an attachment; of several the user chooses which.
---@param of rat.Chat
function M.remove(of)
  if #of.attachments <= 1 then
    M.take(of)
    return
  end
  local opts = { prompt = "Remove which attachment?", format_item = M.title }
  require("rat.select").open(of.attachments, opts, function(_, index)
    if index then
      table.remove(of.attachments, index)
      show(of)
    end
  end)
end

return M
