--- Keeps a repeated key from doing what the user did not mean. Of keys pressed in quick succession, all answer only what was
--- waiting when the first one was pressed; and the key that closes a window, or leaves Insert mode, does nothing to what is below it.
local notify = require("rat.util.notify")

local M = {}

--- A key pressed within this time after another one may be held down, in milliseconds. Keyboards repeat a key after up to
--- 660 ms by default, and then more often.
local REPEAT_MS = 750

local last_press = -math.huge
--- The highest id that was waiting at the first press.
local newest = 0
--- The id that the user was told of last.
local told = 0

--- Records that the user presses a key that answers.
---@param newest_waiting integer the highest id of what waits for an answer, 0 if nothing does; ids only grow
function M.press(newest_waiting)
  local now = vim.uv.now()
  if now - last_press > REPEAT_MS then
    newest = newest_waiting
  end
  last_press = now
end

--- Returns whether the key just pressed can be meant for a request or question. Tells the user if not.
---@param id integer
---@return boolean
function M.is_meant(id)
  if id <= newest then
    return true
  end
  if told ~= id then
    told = id
    notify.info("Another request has just arrived. Look at it before you answer.")
  end
  return false
end

local closed_at = -math.huge

--- Records that the user has closed a window, or left Insert mode, by <C-c>.
function M.closed()
  closed_at = vim.uv.now()
end

--- Returns whether a <C-c> may be one more for what is closed, or left, already.
---@return boolean
function M.was_just_closed()
  return vim.uv.now() - closed_at < REPEAT_MS
end

return M
