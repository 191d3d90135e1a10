--- The completion source for blink.cmp, |rat-blink|: the `module` of a provider. Only blink.cmp calls `new()`.
local source = require("rat.complete.source")

local M = {}

---@class rat.BlinkSource
local Source = {}
Source.__index = Source

---@return rat.BlinkSource
function M.new()
  return setmetatable({}, Source)
end

---@return boolean
function Source.enabled()
  return source.is_prompt()
end

---@return string[]
function Source.get_trigger_characters()
  return source.triggers()
end

---@param callback fun(response: table)
---@return fun() cancel
function Source.get_completions(_, _, callback)
  return source.request(function(items)
    callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
end

--- Whether blink.cmp is enabled in the current buffer with a provider of this module.
---@return boolean
function M.is_active()
  if not require("blink.cmp.config").enabled() then
    return false
  end
  local providers = require("blink.cmp.sources.lib").get_enabled_providers("default")
  return vim.iter(vim.tbl_values(providers)):any(function(provider)
    return provider.config.module == "rat.blink"
  end)
end

return M
