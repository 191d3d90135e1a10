--- The option `diagnostics = "note"`: the errors that a turn has brought into the files it changed go with the next prompt, so
--- that an agent learns of them without asking.
local baseline = require("rat.tools.baseline")
local config = require("rat.config")
local resolve = require("rat.context.resolve")

local M = {}

--- How many errors are told.
local MOST = 20

---@class rat.tools.Turn
---@field before rat.tools.Baseline what was wrong when it began
---@field files table<string, true> what it has changed

--- The turn that each chat has had last.
---@type table<integer, rat.tools.Turn>
local turns = {}

---@return boolean
local function is_on()
  return config.get().diagnostics == "note"
end

--- A turn has begun in a chat.
---@param chat integer
function M.began(chat)
  turns[chat] = is_on() and { before = baseline.now(), files = {} } or nil
end

--- The agent of a chat has changed a file.
---@param chat integer
---@param path string
function M.changed(chat, path)
  local turn = turns[chat]
  if turn then
    turn.files[path] = true
  end
end

--- A chat was closed.
---@param chat integer
function M.closed(chat)
  turns[chat] = nil
end

--- Whether something may have to be told with the next prompt of a chat.
---@param chat integer
---@return boolean
function M.has_changes(chat)
  return is_on() and turns[chat] ~= nil and next(turns[chat].files) ~= nil
end

--- Finds what is wrong since the last turn of a chat. It is told once.
---@param chat integer
---@param callback fun(attachments: rat.Attachment[])
function M.collect(chat, callback)
  local turn = turns[chat]
  turns[chat] = nil
  local files = vim.tbl_keys(turn.files)
  table.sort(files)
  require("rat.tools.diagnostics").new_errors(files, turn.before, function(lines)
    if #lines == 0 then
      return callback({})
    end
    local told = vim.list_slice(lines, 1, MOST)
    if #lines > MOST then
      told[#told + 1] = ("… and %d more"):format(#lines - MOST)
    end
    local text = "Errors in files that your last turn changed, which were not there before:\n"
      .. table.concat(told, "\n")
    local item = { text = text .. "\n", label = "new errors" }
    resolve.items({ item }, nil, callback)
  end)
end

return M
