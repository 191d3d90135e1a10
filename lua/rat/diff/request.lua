--- Requests diffs from the binary and records which ones the user asked for. `rat.diff` shows them when they arrive.
local rpc = require("rat.rpc")

local M = {}

--- Keys of permission requests whose diff the user asked for: it opens when it arrives.
---@type table<string, true>
local requested = {}

--- Returns the key that identifies a permission request.
---@param chat integer number of the chat
---@param id integer? number of the request; nil for the diff of a tool call without one
---@return string
function M.key(chat, id)
  return ("%d:%s"):format(chat, id or "")
end

--- Requests the diff of a permission request, to be shown once the user is idle.
---@param chat rat.Chat
---@param id integer
function M.offer(chat, id)
  rpc.notify("diff", { chat = chat.id, id = id })
end

--- Requests the diff of a permission request, to be shown as soon as it arrives.
---@param chat rat.Chat
---@param id integer
function M.open(chat, id)
  requested[
    M.key(chat.id --[[@as integer]], id)
  ] = true
  rpc.notify("diff", { chat = chat.id, id = id })
end

--- Whether the user asked for the diff that has arrived. Clears the record, so a second call returns false.
---@param key string
---@return boolean
function M.take_request(key)
  local was_requested = requested[key] == true
  requested[key] = nil
  return was_requested
end

--- Clears the record for a permission request that was decided.
---@param key string
function M.forget(key)
  requested[key] = nil
end

return M
