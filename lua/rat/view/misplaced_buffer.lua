--- Deals with a window of the chat that shows another buffer. What a picker, an explorer or a command has opened there moves to
--- a window of the user's, and the chat's own buffer is shown again. If that was deleted, the window goes with it.
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

--- Closes a window whose view was deleted, as |:bdelete| does: plugins that delete a buffer without closing its windows show
--- another one there first, which would be in a window with the place and the size of the chat's. Neovim's last window stays,
--- and is the user's from now on.
---@param win integer window of the chat
---@param own integer the chat's buffer that belonged in it
---@return boolean closed
function M.close_deleted(win, own)
  if not api.nvim_win_is_valid(win) or api.nvim_buf_is_loaded(own) then
    return false
  end
  if registry.of(api.nvim_win_get_buf(win)) then
    return false
  end
  local tab = api.nvim_win_get_tabpage(win)
  if #splits.tiled(tab) > 1 or #api.nvim_list_tabpages() > 1 then
    return (pcall(api.nvim_win_close, win, true))
  end
  splits.release(win)
  return false
end

return M
