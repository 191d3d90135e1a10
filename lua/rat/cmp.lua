--- The source "rat" for nvim-cmp, |rat-cmp|. It is used only where the user lists it among their sources.
local source = require("rat.complete.source")

local M = {}

---@class rat.CmpSource
local Source = {}
Source.__index = Source

---@return boolean
function Source.is_available()
  return source.is_prompt()
end

---@return string
function Source.get_position_encoding_kind()
  return "utf-8"
end

--- Matches the text between the start of the completion and the cursor, whatever characters it has: a file name may
--- contain any.
---@return string a |pattern|
function Source.get_keyword_pattern()
  local start = source.start()
  return start and ([[\%%%dc.*]]):format(start + 1) or [[@\S*]]
end

---@return string[]
function Source.get_trigger_characters()
  return source.triggers()
end

---@param callback fun(response: table)
function Source.complete(_, _, callback)
  source.request(function(items)
    callback({ items = items, isIncomplete = true })
  end)
end

local registered = false

--- Registers the source if nvim-cmp is loaded. Further calls do nothing.
function M.register()
  if not registered and package.loaded.cmp then
    registered = true
    package.loaded.cmp.register_source("rat", setmetatable({}, Source))
  end
end

--- Whether nvim-cmp is enabled in the current buffer with this source.
---@return boolean
function M.is_active()
  M.register()
  local config = package.loaded.cmp.get_config()
  local enabled = config.enabled
  if type(enabled) == "function" then
    enabled = enabled()
  end
  return enabled and vim.iter(config.sources):any(function(one)
    return one.name == "rat"
  end)
end

return M
