--- Has a window show where an agent works: the one that the user has chosen with |:RatFollow|, or one that the option `follow`
--- allows. It is never the one the user is in, and it takes no focus.
local config = require("rat.config")
local current_chat = require("rat.chat.current")
local listeners = require("rat.rpc.listeners")
local location = require("rat.view.location")
local notify = require("rat.util.notify")

local api = vim.api
local M = {}

--- Larger files are not shown by themselves: reading them takes too long.
local MAX_BYTES = 2 * 1024 * 1024

--- The newest place that was not shown yet.
---@type {chat: integer, path: string, line: integer?}?
local newest

---@param win integer
---@return boolean
local function is_free(win)
  return win ~= api.nvim_get_current_win()
    and location.is_usable(win)
    and (vim.o.hidden or not vim.bo[api.nvim_win_get_buf(win)].modified)
end

--- Returns the window that follows on this tab page.
---@return integer?
local function window()
  local wins = api.nvim_tabpage_list_wins(0)
  local chosen = vim.iter(wins):find(function(win)
    return vim.w[win].rat_follow and location.is_usable(win)
  end)
  if chosen or not config.get().follow then
    return chosen and is_free(chosen) and chosen or nil
  end
  local last = vim.fn.win_getid(vim.fn.winnr("#"))
  return last ~= 0 and is_free(last) and last or vim.iter(wins):find(is_free)
end

local function show()
  local place = newest
  newest = nil
  local chat = place and current_chat.get()
  if not place or not chat or chat.id ~= place.chat or vim.fn.getcmdwintype() ~= "" then
    return
  end
  local win, path = window(), location.resolve(place.path, chat.cwd)
  local stat = path and vim.uv.fs_stat(path)
  if win and path and stat and stat.type == "file" and stat.size <= MAX_BYTES then
    location.show_in(win, path, place.line)
  end
end

---@param call rat.event.ToolCall
local function on_tool_call(call)
  local place = call.locations and call.locations[#call.locations]
  if not place or call.replayed then
    return
  end
  -- Of several that come at once, the last one counts.
  local is_scheduled = newest ~= nil
  newest = { chat = call.chat, path = place.path, line = place.line }
  if not is_scheduled then
    vim.schedule(notify.guard("follow", show))
  end
end

local is_listening = false

--- Begins to listen to agents.
function M.start()
  if not is_listening then
    is_listening = true
    listeners.add("tool_call", on_tool_call)
  end
end

--- Has the current window follow, or not any more.
function M.toggle()
  local win = api.nvim_get_current_win()
  if vim.w.rat_follow then
    vim.w.rat_follow = nil
    return notify.info("This window does not follow the agent any more")
  elseif not location.is_usable(win) then
    return notify.warn("This window cannot follow: use :RatFollow in a window with a file")
  end
  for _, other in ipairs(api.nvim_tabpage_list_wins(0)) do
    vim.w[other].rat_follow = nil
  end
  vim.w.rat_follow = true
  M.start()
  notify.info("This window follows the agent while you are in another one")
end

return M
