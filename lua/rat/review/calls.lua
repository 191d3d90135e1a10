--- Calls of the Lua API that the binary answers later.
local M = {}

---@type table<integer, fun(items: table[])>
local callbacks = {}
local last = 0

--- Returns a number for a call, whose answer is passed to the callback.
---@param callback fun(items: table[])
---@return integer
function M.new(callback)
  last = last + 1
  callbacks[last] = callback
  return last
end

--- Handles the answer to a call.
---@param number integer
---@param items table[]
function M.answer(number, items)
  local callback = callbacks[number]
  callbacks[number] = nil
  if callback then
    callback(items)
  end
end

return M
