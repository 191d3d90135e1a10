--- Moves a buffer that a picker, an explorer or a command has opened in a window of the chat to a window of the user's, and
--- shows the chat's own buffer again.
local location = require("rat.view.location")
local registry = require("rat.chat.registry")
local splits = require("rat.view.splits")

local api = vim.api
local M = {}

--- Returns the window that the buffer is moved to. An explorer that was moved a moment ago may open another buffer in its
--- old window; that one goes to the explorer's new window.
---@param win integer window of the chat
---@param buf integer
---@return integer
local function window_for(win, buf)
  local here = api.nvim_get_current_win()
  local shown = api.nvim_win_get_buf(here)
  local is_explorer = here ~= win and vim.bo[shown].buftype ~= "" and vim.bo[shown].filetype ~= ""
  if is_explorer and vim.bo[shown].filetype == vim.bo[buf].filetype then
    return here
  end
  return location.window(win)
end

--- Moves the buffer that a window of a chat shows to a window of the user's.
---@param win integer window of the chat
---@param own integer the chat's buffer that belongs in it
---@return boolean moved
function M.move(win, own)
  if not api.nvim_win_is_valid(win) or api.nvim_win_get_buf(win) == own then
    return false
  end
  local misplaced = api.nvim_win_get_buf(win)
  -- If the chat's buffer was deleted, the window now belongs to the user.
  if not api.nvim_buf_is_loaded(own) or registry.of(misplaced) then
    return false
  end
  local view = api.nvim_win_call(win, vim.fn.winsaveview)
  local is_here = api.nvim_get_current_win() == win
  local target = window_for(win, misplaced)
  -- The target comes first: a buffer that no window shows may be wiped out ('bufhidden').
  splits.show(target, misplaced)
  splits.show(win, own)
  api.nvim_win_call(target, function()
    vim.fn.winrestview(view)
  end)
  if is_here then
    splits.enter(target)
  end
  return true
end

return M
