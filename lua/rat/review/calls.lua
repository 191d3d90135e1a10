--- Calls of the Lua API that the binary answers later.
local rpc = require("rat.rpc")

local M = {}

---@alias rat.ChangesOptions {scope: rat.notify.Scope?, path: string?, turn: integer?, tool: string?}

---@type table<integer, fun(items: any[])>
local callbacks = {}
local last = 0

--- Returns a number for a call, whose answer is passed to the callback.
---@param callback fun(items: any[])
---@return integer
local function expect(callback)
  last = last + 1
  callbacks[last] = callback
  return last
end

--- Handles the answer to a call.
---@param number integer
---@param items any[]
function M.answer(number, items)
  local callback = callbacks[number]
  callbacks[number] = nil
  if callback then
    callback(items)
  end
end

--- Passes the kept turns to a callback.
---@param chat integer? without one, there are none
---@param callback fun(turns: rat.msg.ListedTurn[])
function M.turns(chat, callback)
  if not chat then
    return callback({})
  end
  rpc.notify("turns", { chat = chat, request = expect(callback) })
end

--- Passes pending hunks to a callback.
---@param chat integer? without one, there are none
---@param opts rat.ChangesOptions
---@param callback fun(changes: rat.msg.Change[])
function M.changes(chat, opts, callback)
  if not chat then
    return callback({})
  end
  local path = opts.path and (vim.uv.fs_realpath(opts.path) or opts.path)
  local request = expect(function(changes)
    callback(vim.tbl_filter(function(change)
      return (not path or change.path == path)
        and (not opts.turn or change.turn == opts.turn)
        and (not opts.tool or change.tool == opts.tool)
    end, changes))
  end)
  rpc.notify("list_changes", { chat = chat, scope = opts.scope or "all", request = request })
end

return M
