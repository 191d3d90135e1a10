--- Maps the keys of our buffers as the user has chosen them with the option `keys`.
local config = require("rat.config")

local M = {}

--- Returns the key in place of one of ours.
---@param lhs string
---@return string? chosen nil if the user wants none
function M.chosen(lhs)
  local code = vim.keycode(lhs)
  for own, other in pairs(config.get().keys) do
    if vim.keycode(own) == code then
      return other or nil
    end
  end
  return lhs
end

--- Names a key as it is now, for a sentence about what it does. Where the user wants none, our own is named.
---@param lhs string
---@return string
function M.name(lhs)
  return M.chosen(lhs) or lhs
end

--- Returns keys as words, without those that the user wants no key for.
---@param keys string[][] each a key and what it does
---@return string[]
function M.words(keys)
  return vim.tbl_map(function(key)
    return key[1] .. " " .. key[2]
  end, M.current(keys))
end

--- Returns the keys for a |'winbar'|, without those that the user wants no key for.
---@param keys string[][] each a key and what it does
---@return string
function M.bar(keys)
  local parts = vim.tbl_map(function(key)
    return ("%%#RatKey#%s%%* %s"):format((key[1]:gsub("%%", "%%%%")), key[2])
  end, M.current(keys))
  return table.concat(parts, "  ")
end

--- Keys that words of the binary's name, as it writes them.
local NAMED = { "<CR>", "g<CR>", "ga", "gr", "gd", "gA" }
for number = 1, 9 do
  NAMED[#NAMED + 1] = "g" .. number
end

--- Returns what the user has in place of keys that the binary names, by these.
---@return table<string, string> # empty where they want none
function M.changed()
  local changed = vim.empty_dict()
  for _, lhs in ipairs(NAMED) do
    local key = M.chosen(lhs)
    if key ~= lhs then
      changed[lhs] = key or ""
    end
  end
  return changed
end

--- Maps a key in a buffer, or what the user has chosen in its place.
---@param modes string|string[]
---@param lhs string our key
---@param run fun(): any
---@param opts vim.keymap.set.Opts
function M.map(modes, lhs, run, opts)
  local chosen = M.chosen(lhs)
  if chosen then
    vim.keymap.set(modes, chosen, run, opts)
  end
end

--- Returns keys with their descriptions as they are now, without those that the user wants no key for.
---@generic K: string[]
---@param keys K[] each begins with the key
---@return K[]
function M.current(keys)
  local list = {}
  for _, key in ipairs(keys) do
    local chosen = M.chosen(key[1])
    if chosen then
      local copy = vim.list_slice(key)
      copy[1] = chosen
      list[#list + 1] = copy
    end
  end
  return list
end

return M
