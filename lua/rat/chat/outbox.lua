--- Sends prompts in their order, each once what it mentions has been collected. A prompt comes back if something that it
--- mentions is missing.
local after_turn = require("rat.tools.after_turn")
local attachment = require("rat.context.attachment")
local attachment_list = require("rat.chat.attachment_list")
local config = require("rat.config")
local drafts = require("rat.chat.drafts")
local mention = require("rat.chat.mention")
local notify = require("rat.util.notify")
local resolve = require("rat.context.resolve")
local rpc = require("rat.rpc")

local M = {}

---@class rat.Message
---@field text string
---@field attachments rat.Attachment[] what the user attached, later also what the text mentions
---@field chat? rat.Chat nil if the agent is still being started
---@field now? boolean whether to cancel a running turn for it; nil: as configured
---@field given? rat.Attachment[] what the user attached

---@class rat.Outgoing
---@field message rat.Message
---@field found rat.Attachment[][] what it mentions, in the order of the text
---@field outstanding integer how many of these are still being collected
---@field problems string[]

--- In the order in which they were sent.
---@type rat.Outgoing[]
local outbox = {}

---@type fun(chat: rat.Chat, text: string)
local give_back = function() end

--- Sets what puts a prompt back where the user wrote it.
---@param action fun(chat: rat.Chat, text: string)
function M.on_missing(action)
  give_back = action
end

---@param message rat.Message
local function forget(message)
  local chat = message.chat
  if chat then
    chat.outgoing = vim.tbl_filter(function(other)
      return other ~= message
    end, chat.outgoing)
    drafts.changed(chat)
  end
end

--- Whether two attachments are the same lines of the same file.
---@param one rat.Attachment
---@param other rat.Attachment
---@return boolean
local function is_same(one, other)
  return one.uri == other.uri
    and one.first == other.first
    and one.last == other.last
    and one.part == other.part
end

--- Adds what the prompt mentions to what the user attached. A file may be among both, or have come back with a prompt that
--- was not sent: then its newest text counts.
---@param entry rat.Outgoing
---@return rat.Attachment[]
local function with_mentions(entry)
  local all = vim.list_slice(entry.message.attachments)
  for _, list in ipairs(entry.found) do
    for _, found in ipairs(list) do
      local at = #all + 1
      for i, other in ipairs(all) do
        at = is_same(found, other) and i or at
      end
      all[at] = found
    end
  end
  return all
end

---@param entry rat.Outgoing
local function send(entry)
  local message = entry.message
  local attachments = with_mentions(entry)
  if message.chat then
    message.chat.sent[message.text] = attachments
  end
  local now = message.now
  if now == nil then
    now = config.get().during_turn == "interrupt"
  end
  rpc.request("prompt", {
    chat = message.chat and message.chat.id,
    text = message.text,
    attachments = attachments,
    now = now or nil,
  })
end

--- Whether the user wants to see this prompt again, since something that it mentions is missing.
---@param entry rat.Outgoing
---@return boolean
local function comes_back(entry)
  local chat = entry.message.chat
  return #entry.problems > 0 and chat ~= nil and chat.insisted ~= entry.message.text
end

--- Gives a prompt back. If it is sent again as it is, it goes without what is missing.
---@param entry rat.Outgoing
local function return_to_user(entry)
  local message = entry.message
  local chat = message.chat --[[@as rat.Chat]]
  if not vim.list_contains(chat.outgoing, message) then
    return -- The chat was closed.
  end
  forget(message)
  attachment_list.give_back(chat, message.given or {})
  give_back(chat, message.text)
  chat.insisted = message.text
  local text = "%s. Send the prompt again to send it without."
  notify.warn(text:format(table.concat(entry.problems, "; ")))
end

--- Sends complete prompts from the start of the outbox, up to the first one that still waits.
local function flush()
  while outbox[1] and outbox[1].outstanding == 0 do
    local entry = table.remove(outbox, 1) --[[@as rat.Outgoing]]
    local chat = entry.message.chat
    if comes_back(entry) then
      -- Scheduled, since what sent it may not have emptied the prompt yet.
      vim.schedule(function()
        return_to_user(entry)
      end)
    else
      if #entry.problems > 0 then
        notify.info(table.concat(entry.problems, "; ") .. ". The prompt was sent without.")
      end
      if chat then
        chat.insisted = nil
      end
      send(entry)
      forget(entry.message)
    end
  end
end

--- Takes back what has not been sent in a chat that is closed: it is in the chat's draft.
---@param chat rat.Chat
function M.withdraw(chat)
  outbox = vim.tbl_filter(function(entry)
    return entry.message.chat ~= chat
  end, outbox)
  chat.outgoing = {}
  flush()
end

--- Collects what a prompt mentions, and sends it then.
---@param message rat.Message
function M.add(message)
  local chat = message.chat
  local cwd = chat and chat.cwd or vim.fn.getcwd()
  local paths, missing = mention.read(message.text, cwd)
  local contexts = mention.contexts(message.text)
  if #missing > 0 then
    local text = #missing == 1 and "%s is not a file. It is sent as text."
      or "%s are not files. They are sent as text."
    notify.info(text:format(table.concat(missing, ", ")))
  end
  message.given = vim.list_slice(message.attachments)
  local number = chat and chat.id
  local tells_errors = number ~= nil and after_turn.has_changes(number)
  local count = #paths + #contexts + (tells_errors and 1 or 0)
  local entry = { message = message, found = {}, outstanding = count, problems = {} }
  outbox[#outbox + 1] = entry
  if chat and entry.outstanding > 0 then
    table.insert(chat.outgoing, message)
    drafts.changed(chat)
  end
  local function arrived(index, attachments)
    entry.found[index] = attachments
    entry.outstanding = entry.outstanding - 1
    if entry.outstanding == 0 then
      flush()
    end
  end
  if number and tells_errors then
    after_turn.collect(number, function(attachments)
      arrived(count, attachments)
    end)
  end
  for i, one in ipairs(contexts) do
    resolve.mention(one, cwd, function(found)
      if found.problem then
        table.insert(entry.problems, ("%s: %s"):format(one.word, found.problem))
      end
      arrived(i, found.attachments)
    end)
  end
  for i, path in ipairs(paths) do
    attachment.file(path, function(found)
      arrived(#contexts + i, { found })
    end)
  end
  flush()
end

return M
