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
