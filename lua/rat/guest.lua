--- Moves a buffer that a picker, an explorer or a command opened in a window of the chat to a window of the user's. The
--- chat's own buffer comes back.
local room = require("rat.room")

local api = vim.api
local M = {}

--- Moves what a window of a chat shows to a window of the user's.
---@param win integer the window of the chat
---@param own integer its buffer
---@return boolean moved
function M.move(win, own)
  if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) == own then
    return false
  end
  local guest = api.nvim_win_get_buf(win)
  -- If its own buffer was deleted, the window is the user's.
  if not api.nvim_buf_is_loaded(own) or require("rat.chat").of(guest) then
    return false
  end
  local view = api.nvim_win_call(win, vim.fn.winsaveview)
  local is_here = api.nvim_get_current_win() == win
  local target = require("rat.location").window(win)
  -- In this order: a buffer that is shown nowhere may be wiped out.
  room.show(target, guest)
  room.show(win, own)
  api.nvim_win_call(target, function()
    vim.fn.winrestview(view)
  end)
  if is_here then
    room.enter(target)
  end
  return true
end

return M
