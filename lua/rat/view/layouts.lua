--- Knows which windows show a chat, by tab page, and what belongs in each. It opens, closes and changes no window.
local registry = require("rat.chat.registry")
local splits = require("rat.view.splits")

local api = vim.api
local M = {}

---@class rat.Layout
---@field chat rat.Chat
---@field windows table<rat.View, integer> the open ones
---@field before rat.SavedSplits the user's windows before the chat opened
---@field size rat.Size

--- Layouts by tab page.
---@type table<integer, rat.Layout>
M.all = {}

--- The windows that we have opened or that a session file has restored, with what belongs in them.
---@type table<integer, {layout: rat.Layout, view: rat.View}>
M.claimed = {}

--- Makes a window one of a layout.
---@param layout rat.Layout
---@param view rat.View
---@param win integer
function M.claim(layout, view, win)
  layout.windows[view] = win
  M.claimed[win] = { layout = layout, view = view }
end

--- Returns a window of a tab page that shows a buffer, such as one that the user has split off.
---@param tab integer
---@param buf? integer
---@return integer?
local function other_window(tab, buf)
  return vim.iter(buf and splits.tiled(tab) or {}):find(function(win)
    return api.nvim_win_get_buf(win) == buf
  end)
end

--- Returns the layout of a tab page after removing windows that the user has closed or that show another buffer.
---@param tab? integer
---@return rat.Layout?
function M.of(tab)
  tab = tab or api.nvim_get_current_tabpage()
  local layout = M.all[tab]
  if not layout then
    return nil
  end
  for view, win in pairs(layout.windows) do
    local buf = api.nvim_win_is_valid(win)
      and api.nvim_win_get_tabpage(win) == tab
      and api.nvim_win_get_buf(win)
    local own = layout.chat.buffers[view]
    if buf ~= own then
      layout.windows[view] = other_window(tab, own)
    end
  end
  return layout
end

---@param layout rat.Layout?
---@return boolean
function M.is_empty(layout)
  return not layout or next(layout.windows) == nil
end

--- Returns the windows of a tab page that show a chat, including those that the user has split off.
---@param chat rat.Chat
---@param tab integer
---@return integer[]
function M.windows_of(chat, tab)
  return vim.tbl_filter(function(win)
    return registry.of(api.nvim_win_get_buf(win)) == chat
  end, splits.tiled(tab))
end

--- Returns the windows of a tab page that show the views of a chat, one for each, restored from a session file or opened by
--- hand.
---@param chat rat.Chat
---@param tab integer
---@return table<rat.View, integer>
function M.existing(chat, tab)
  local found = {}
  for _, win in ipairs(splits.tiled(tab)) do
    local owner, view = registry.of(api.nvim_win_get_buf(win))
    if owner == chat and view and not found[view] then
      found[view] = win
    end
  end
  return found
end

return M
