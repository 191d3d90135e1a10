--- Determines the chat that commands act on.
local registry = require("rat.chat.registry")
local window = require("rat.view.window")

local M = {}

--- Returns the chat of the current folder, else of the nearest folder above it.
---@param list rat.Chat[] the most recent first
---@return rat.Chat?
local function chat_of_folder(list)
  local here, best = vim.fn.getcwd() .. "/", nil
  for _, chat in ipairs(list) do
    local is_above = vim.startswith(here, (chat.cwd:gsub("/*$", "/")))
    if is_above and (not best or #chat.cwd > #best.cwd) then
      best = chat
    end
  end
  return best
end

--- Returns the chat that commands act on: the one of the current window, else the one that the tab page shows, else the one
--- of the current folder, else the one used last. For the last two, chats with a running binary are preferred.
---@return rat.Chat?
function M.get()
  local here = registry.of(vim.api.nvim_get_current_buf()) or window.visible()
  if here then
    return here
  end
  local list = registry.list()
  local connected = vim.tbl_filter(function(chat)
    return chat.id ~= nil
  end, list)
  return chat_of_folder(connected) or connected[1] or chat_of_folder(list) or list[1]
end

return M
