--- Determines the chat that commands act on.
local agents = require("rat.config.agents")
local registry = require("rat.chat.registry")
local window = require("rat.view.window")

local M = {}

---@param path string
---@param folder string
---@return boolean
local function is_in(path, folder)
  return vim.startswith(path .. "/", (folder:gsub("/*$", "/")))
end

--- Returns the chat of the current folder, else of the nearest folder above it.
---@param list rat.Chat[] the most recent first
---@return rat.Chat?
local function chat_of_folder(list)
  local here, best = vim.fn.getcwd(), nil
  for _, chat in ipairs(list) do
    if is_in(here, chat.cwd) and (not best or #chat.cwd > #best.cwd) then
      best = chat
    end
  end
  return best
end

--- Returns the chat of the current window, else the one that the tab page shows.
---@return rat.Chat?
local function on_screen()
  return registry.of(vim.api.nvim_get_current_buf()) or window.visible()
end

--- Returns all chats, and those of them with a running binary. Without those about changes in place, which are meant only where
--- they are shown.
---@return rat.Chat[] all the most recent first
---@return rat.Chat[] connected
local function chats()
  local all = vim.tbl_filter(function(chat)
    return chat.edit == nil
  end, registry.list())
  local connected = vim.tbl_filter(function(chat)
    return chat.id ~= nil
  end, all)
  return all, connected
end

--- Returns the chat that commands act on: the one of the current window, else the one that the tab page shows, else the one
--- of the current folder, else the one used last. For the last two, chats with a running binary are preferred, and those in
--- the background come last.
---@return rat.Chat?
function M.get()
  local all, connected = chats()
  local chat = on_screen() or chat_of_folder(connected) or connected[1]
  return chat or chat_of_folder(all) or all[1] or registry.all()[1]
end

--- Whether what is written here can only be meant for this chat's folder.
---@param chat rat.Chat
---@return boolean
local function is_of_here(chat)
  local file = vim.api.nvim_buf_get_name(0)
  return agents.has_own_folder(chat.agent) or (file:match("^/") ~= nil and is_in(file, chat.cwd))
end

--- Returns the chat that gets what the user writes or attaches here: as |M.get()|, but not one of another folder that is not
--- even on the screen. Its agent would work in the wrong project.
---@return rat.Chat? # nil if one has to be started here
function M.for_prompt()
  local all, connected = chats()
  return on_screen()
    or chat_of_folder(connected)
    or vim.iter(connected):find(is_of_here)
    or chat_of_folder(all)
    or vim.iter(all):find(is_of_here)
end

return M
